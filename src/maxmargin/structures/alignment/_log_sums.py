"""Sums over all alignments of a pair in logarithms, for scores of any size, and samples.

Of a semi-global end with positions of both sequences, both orders are outputs. Order 0 has free rows and columns
opposite a gap (all free in local mode), order 1 the reverse; `begins` and `finishes` say which of them exist. Other
arguments are those of `_sums.py`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import draw, log_add, uniform
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.features.biology.aligned import N_ORDERS
from maxmargin.structures.alignment.recursion import (
    FREE_AFTER,
    FREE_BEFORE,
    GLOBAL,
    LOCAL,
    SCORED_AFTER,
    SCORED_BEFORE,
    SEMIGLOBAL,
    score_ends,
)


@inlined
def begins(order, i, j, mode):
    """Return whether i rows and j columns before the first match may have an order."""
    return (mode == LOCAL or i > 0 or j == 0) if order == 0 else (mode == SEMIGLOBAL and j > 0)


@inlined
def finishes(order, i, j, n, m, mode):
    """Return whether the positions after the match of row i and column j, counted from 1, may have an order."""
    return (mode == LOCAL or i < n or j == m) if order == 0 else (mode == SEMIGLOBAL and j < m)


@inlined
def end_score(order, rows, cols, free, scored, i, j):
    """Return the score of unaligned ends: `free` and `scored` are rows of the tables of ends."""
    return rows[free, i] + cols[scored, j] if order == 0 else rows[scored, i] + cols[free, j]


@inlined
def forward_tables(tables, n, m):
    """Return the tables of a pair: contiguous, since loops over rows whose stride is not known are not vectorised."""
    size = (n + 1) * (m + 1)
    return (
        tables[0, :size].reshape(n + 1, m + 1), tables[1, :size].reshape(n + 1, m + 1),
        tables[2, :size].reshape(n + 1, m + 1),
    )  # fmt: skip


@jit
def whole_log(match, gap, column, rows, cols, i, j, mode):
    """Return the logarithm of the sum over all states of a cell, and over paths that start there."""
    total = log_add(log_add(match[i, j], gap[i, j]), column[i, j])
    if mode != GLOBAL:
        for order in range(2):
            if begins(order, i, j, mode):
                total = log_add(total, end_score(order, rows, cols, FREE_BEFORE, SCORED_BEFORE, i, j))
    return total


@jit
def end_log(rows, cols, i, j, n, m, mode):
    """Return the logarithm of the sum over the orders of what follows the last match."""
    total = -np.inf
    for order in range(2):
        if finishes(order, i, j, n, m, mode):
            total = log_add(total, end_score(order, rows, cols, FREE_AFTER, SCORED_AFTER, i, j))
    return total


@jit
def forward_logs(scores, row_open, row_extend, col_open, col_extend, rows, cols, mode, match, gap, column):
    """Write the logarithms of the forward sums of all states; return log Z."""
    n, m = scores.shape
    log_z = -np.inf if mode == GLOBAL else rows[FREE_BEFORE, n] + cols[FREE_BEFORE, m]
    for i in range(n + 1):
        for j in range(m + 1):
            match[i, j] = gap[i, j] = column[i, j] = -np.inf
            if i == 0 and j == 0:
                match[i, j] = 0.0 if mode == GLOBAL else -np.inf
            if i > 0 and j > 0 and scores[i - 1, j - 1] > -np.inf:
                match[i, j] = scores[i - 1, j - 1] + whole_log(match, gap, column, rows, cols, i - 1, j - 1, mode)
            if i > 0:
                gap[i, j] = log_add(match[i - 1, j] + row_open[i - 1], gap[i - 1, j] + row_extend[i - 1])
            if j > 0:
                opened = log_add(match[i, j - 1], gap[i, j - 1]) + col_open[j - 1]
                column[i, j] = log_add(opened, column[i, j - 1] + col_extend[j - 1])
            if mode != GLOBAL and i > 0 and j > 0:
                log_z = log_add(log_z, match[i, j] + end_log(rows, cols, i, j, n, m, mode))
    return whole_log(match, gap, column, rows, cols, n, m, mode) if mode == GLOBAL else log_z


@jit
def backward_logs(
    scores, row_open, row_extend, col_open, col_extend, rows, cols, mode, match, gap, column, log_z, coefficient,
    buffers, matches, row_gaps, col_gaps, fronts, backs,
):  # fmt: skip
    """Write the same as `backward_sums`, from logarithms."""
    n, m = scores.shape
    match_back, match_below, gap_back, gap_below, column_back = (
        buffers[0], buffers[1], buffers[2], buffers[3], buffers[4],
    )  # fmt: skip
    expected = 0.0
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            final = -log_z if mode == GLOBAL and i == n and j == m else -np.inf
            down = gap_below[j] if i < n else -np.inf
            right = column_back[j + 1] if j < m else -np.inf
            follow = scores[i, j] + match_below[j + 1] if i < n and j < m else -np.inf
            after = log_add(log_add(follow, final), right + col_open[j] if j < m else -np.inf)
            gap_back[j] = log_add(after, down + row_extend[i] if i < n else -np.inf)
            match_back[j] = log_add(after, down + row_open[i] if i < n else -np.inf)
            if j < m:
                col_gaps[0, j] += np.exp(log_add(match[i, j], gap[i, j]) + col_open[j] + right)
            if i < n:
                row_gaps[0, i] += np.exp(match[i, j] + row_open[i] + down)
            column_back[j] = log_add(log_add(follow, final), right + col_extend[j] if j < m else -np.inf)
            for order in range(2 if mode != GLOBAL else 0):
                if begins(order, i, j, mode):
                    p = np.exp(end_score(order, rows, cols, FREE_BEFORE, SCORED_BEFORE, i, j) + follow)
                    fronts[order, i] += p
                    fronts[3 - order, j] += p
                if i > 0 and j > 0 and finishes(order, i, j, n, m, mode):
                    score = end_score(order, rows, cols, FREE_AFTER, SCORED_AFTER, i, j) - log_z
                    match_back[j] = log_add(match_back[j], score)
                    p = np.exp(match[i, j] + score)
                    backs[order, i] += p
                    backs[3 - order, j] += p
            if i > 0 and j > 0:
                p = np.exp(match[i, j] + match_back[j])
                matches[i - 1, j - 1] = coefficient * p
                row_gaps[1, i - 1] += p
                col_gaps[1, j - 1] += p
                if p > 0.0:
                    expected += p * scores[i - 1, j - 1]
        match_back, match_below = match_below, match_back
        gap_back, gap_below = gap_below, gap_back
    return expected


@jit
def draw_end(rows, cols, n, m, mode, row_totals, match, weights, state):
    """Return the last match of a free alignment, (0, 0) for none, and the order of what follows it."""
    weights[0] = rows[FREE_BEFORE, n] + cols[FREE_BEFORE, m]
    for i in range(1, n + 1):
        weights[i] = row_totals[i]
    i = draw(weights, n + 1, uniform(state))
    if i == 0:
        return 0, 0, 0
    for j in range(1, m + 1):
        weights[j - 1] = match[i, j] + end_log(rows, cols, i, j, n, m, mode)
    j = draw(weights, m, uniform(state)) + 1
    for order in range(2):
        allowed = finishes(order, i, j, n, m, mode)
        score = end_score(order, rows, cols, FREE_AFTER, SCORED_AFTER, i, j)
        weights[order] = score if allowed else -np.inf
    return i, j, draw(weights, 2, uniform(state))


@jit
def sample_one(
    row_open, row_extend, col_open, col_extend, rows, cols, mode, match, gap, column, row_totals, weights, state, code
):
    """Write an alignment drawn by its probability, given the logarithms of forward sums."""
    n, m = len(row_open), len(col_open)
    i, j, now = n, m, 0
    if mode == GLOBAL:
        weights[0], weights[1], weights[2] = match[n, m], gap[n, m], column[n, m]
        now = draw(weights, 3, uniform(state))
    else:
        i, j, order = draw_end(rows, cols, n, m, mode, row_totals, match, weights, state)
        code[1] = order == 0 and mode == SEMIGLOBAL and 0 < i < n and j < m
    while i > 0 or j > 0:
        if now == 0:
            code[N_ORDERS + i - 1] = j - 1
            i, j = i - 1, j - 1
            weights[0], weights[1], weights[2] = match[i, j], gap[i, j], column[i, j]
            for order in range(2 if mode != GLOBAL else 0):
                score = end_score(order, rows, cols, FREE_BEFORE, SCORED_BEFORE, i, j)
                weights[3 + order] = score if begins(order, i, j, mode) else -np.inf
            now = draw(weights, 3 if mode == GLOBAL else 5, uniform(state))
            if now > 2:
                code[0] = now == 4 and i > 0 and j > 0
                return
        elif now == 1:
            weights[0], weights[1] = match[i - 1, j] + row_open[i - 1], gap[i - 1, j] + row_extend[i - 1]
            i, now = i - 1, draw(weights, 2, uniform(state))
        else:
            weights[0], weights[1] = match[i, j - 1] + col_open[j - 1], gap[i, j - 1] + col_open[j - 1]
            weights[2] = column[i, j - 1] + col_extend[j - 1]
            j, now = j - 1, draw(weights, 3, uniform(state))


@jit
def sample_alignments(
    ids, n_rows, n_cols, cells, cell_starts, gaps, gap_starts, ends, end_starts, n_outputs, mode, seeds, tables,
    buffers, code_starts, codes,
):  # fmt: skip
    """Write alignments drawn by their probabilities, one row of `codes` for each sample.

    If there is no alignment, the first symbol of the code is `NO_OUTPUT`.
    """
    state = np.zeros(1, np.uint64)
    for r in range(len(ids)):
        n, m, first = n_rows[ids[r]], n_cols[ids[r]], cell_starts[r]
        gap_scores = gaps[gap_starts[r] : gap_starts[r] + (n + m) * n_outputs]
        opening, extending = gap_scores[0::n_outputs].copy(), gap_scores[n_outputs - 1 :: n_outputs].copy()
        match, gap, column = forward_tables(tables, n, m)
        rows, columns, row_totals, weights = buffers[2:6], buffers[6:10], buffers[10], buffers[11]
        if mode != GLOBAL:
            free = ends[end_starts[r] : end_starts[r] + n + m]
            score_ends(opening[:n], extending[:n], free[:n], mode, rows)
            score_ends(opening[n:], extending[n:], free[n:], mode, columns)
        log_z = forward_logs(
            cells[first : first + n * m].reshape(n, m), opening[:n], extending[:n], opening[n:], extending[n:], rows,
            columns, mode, match, gap, column,
        )  # fmt: skip
        for i in range(1, n + 1 if mode != GLOBAL else 1):
            row_totals[i] = -np.inf
            for j in range(1, m + 1):
                row_totals[i] = log_add(row_totals[i], match[i, j] + end_log(rows, columns, i, j, n, m, mode))
        state[0] = seeds[r]
        for k in range(codes.shape[0]):
            code = codes[k, code_starts[r] : code_starts[r + 1]]
            if log_z == -np.inf:
                code[0] = NO_OUTPUT
                continue
            sample_one(
                opening[:n], extending[:n], opening[n:], extending[n:], rows, columns, mode, match, gap, column,
                row_totals, weights, state, code,
            )  # fmt: skip
