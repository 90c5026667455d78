"""Sums over all alignments of a pair: log-partition and marginals, by forward and backward sums.

States and transitions are those of `recursion.py`, in which a set of matches has a single path.

Sums are kept as numbers, those of a row divided by the greatest of the row above. Entries below `TINY` are raised to
it, so nothing is lost by underflow; the probability of such entries, which is at most TINY times the backward
sums, bounds the error. If it is not negligible, or if scores are large, the pair is summed in logarithms
(`_log_sums.py`), which takes longer.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import log_add
from maxmargin.structures.alignment._log_sums import backward_logs, begins, finishes, forward_logs, forward_tables
from maxmargin.structures.alignment.recursion import (
    FREE_AFTER,
    FREE_BEFORE,
    GLOBAL,
    LOCAL,
    SCORED_AFTER,
    SCORED_BEFORE,
    score_ends,
)

#: Least entry of a row.
TINY = 1e-200
#: Most probability of entries that were raised to `TINY`.
MOST_LOST = 1e-12
#: Greatest score of a part, greatest total of the positive scores of gaps in a row, and greatest logarithm of the
#: factors of unaligned ends, for sums that are not in logarithms.
MOST_SCORE, MOST_RISE, MOST_END = 100.0, 200.0, 300.0
#: Rows of the scratch space of floats, of max(n, m) + 5 numbers, and of that of probabilities.
N_SUM_BUFFERS, N_TOTALS = 26, 12


# ---------------------------------------------------------------------- sums that are not in logarithms


@jit
def forward_row(exps, above, match_above, gap_above, inverse, opening, extending, match, gap, both, m):
    """Compute M, E and M + E of one row from the row above."""
    for j in range(1, m + 1):
        matched = exps[j - 1] * above[j - 1] * inverse
        gapped = match_above[j] * opening + gap_above[j] * extending
        matched = matched if matched > TINY else TINY
        gapped = gapped if gapped > TINY else TINY
        match[j] = matched
        gap[j] = gapped
        both[j] = matched + gapped


@jit
def scan_row(both, opening, extending, runs, column, m):
    """Compute F of one row. Sums within four columns come first, so only one of four waits for the one before."""
    carry, fours = 0.0, m // 4 * 4
    for j in range(0, fours, 4):
        a = both[j] * opening[j]
        b = both[j + 1] * opening[j + 1] + a * extending[j + 1]
        c = both[j + 2] * opening[j + 2] + b * extending[j + 2]
        d = both[j + 3] * opening[j + 3] + c * extending[j + 3]
        column[j + 1] = a + carry * runs[j]
        column[j + 2] = b + carry * runs[j + 1]
        column[j + 3] = c + carry * runs[j + 2]
        carry = d + carry * runs[j + 3]
        column[j + 4] = carry
    for j in range(fours, m):
        carry = both[j] * opening[j] + carry * extending[j]
        column[j + 1] = carry


@jit
def close_sums(both, column, whole, m):
    """Compute the sum of all states of each cell; return the greatest."""
    most = 0.0
    for j in range(1, m + 1):
        total = both[j] + (column[j] if column[j] > TINY else TINY)
        whole[j] = total
        most = total if total > most else most
    return most


@jit
def add_starts(first, first_columns, second, second_columns, whole, m):
    """Add paths that start at the cells of a row; return the greatest sum."""
    most = 0.0
    for j in range(1, m + 1):
        total = whole[j] + (first * first_columns[j] + second * second_columns[j])
        whole[j] = total
        most = total if total > most else most
    return most


@jit
def follow_row(exps, match_below, inverse, follow, m):
    """Compute the sums over paths that go on with a match."""
    for j in range(m):
        follow[j] = exps[j] * match_below[j + 1] * inverse


@jit
def scan_back(follow, extending, runs, column, m):
    """Compute the backward sums of F of one row, from the last column; that of column m is given."""
    fours, carry = m // 4 * 4, column[m]
    for j in range(m - 1, fours - 1, -1):
        carry = follow[j] + carry * extending[j]
        column[j] = carry
    for j in range(fours - 4, -1, -4):
        a = follow[j + 3]
        b = follow[j + 2] + a * extending[j + 2]
        c = follow[j + 1] + b * extending[j + 1]
        d = follow[j] + c * extending[j]
        column[j + 3] = a + carry * runs[j + 3]
        column[j + 2] = b + carry * runs[j + 2]
        column[j + 1] = c + carry * runs[j + 1]
        carry = d + carry * runs[j]
        column[j] = carry


@jit
def back_row(follow, column, col_open, gap_below, opening, extending, match_above, match, gap, m):
    """Compute the backward sums of M and E of one row, those of the last column aside.

    Return the sum of all, and the products of those of E with M of the row above.
    """
    total, opened = 0.0, 0.0
    for j in range(m):
        after = follow[j] + col_open[j] * column[j + 1]
        gapped = after + gap_below[j] * extending
        matched = after + gap_below[j] * opening
        gap[j] = gapped
        match[j] = matched
        total += gapped + matched + column[j]
        opened += match_above[j] * gapped
    return total, opened


@jit
def add_ends(first, first_columns, second, second_columns, match, m):
    """Add paths that end with a match to the backward sums of M; return the sum of what is added."""
    total = 0.0
    for j in range(1, m):
        end = first * first_columns[j] + second * second_columns[j]
        match[j] += end
        total += end
    return total


@jit
def count_row(match, both, match_back, column_back, scores, coefficient, matches, opened, matched, m):
    """Write the marginals of matches; add those of matched columns, and of gaps that open, without their factors.

    Return E[score] of the matches of the row, and the probability of all.
    """
    expected, total = 0.0, 0.0
    for j in range(m):
        opened[j] += both[j] * column_back[j + 1]
    for j in range(m):
        p = match[j + 1] * match_back[j + 1] if match[j + 1] > TINY else 0.0
        matches[j] = coefficient * p
        matched[j] += p
        total += p
        expected += p * scores[j] if p > 0.0 else 0.0
    return expected, total


@jit
def shares(sums, factor, columns, totals, m):
    """Add the probabilities of paths that start, or end, in a row, given the sums of the rest; return their total."""
    total = 0.0
    for j in range(1, m):
        p = factor * columns[j] * sums[j]
        totals[j] += p
        total += p
    return total


@inlined
def greatest(values):
    """Return the greatest value, −∞ if there is none."""
    most = -np.inf
    for value in values:
        most = value if value > most else most
    return most


@jit
def fits(scores, opening, extending, col_ends, mode):
    """Return whether sums of a pair can be kept as numbers: scores that are small are raised to `TINY`."""
    most, rise = max(greatest(opening), greatest(extending)), 0.0
    for score in extending:
        rise += max(score, 0.0)
    for i in range(scores.shape[0]):
        most = max(most, greatest(scores[i]))
    for kind in range(4 if mode != GLOBAL else 0):
        if greatest(col_ends[kind]) > MOST_END:
            return False
    return most <= MOST_SCORE and rise <= MOST_RISE


@jit
def forward_sums(exps, row_open, row_extend, ends, col_ends, mode, cols, match, both, inverses, logs, buffers):
    """Write the forward sums of M and M + E, and the scales of rows; return log Z and whether they are right.

    ``match[i]`` and ``both[i]`` times exp(logs[i]) are the sums. `ends` has the scores of ends of rows, `cols`
    exponentials of scores of columns: opening, extending, runs of extending forward and backward, and the factors of
    ends in both orders, before and after.
    """
    n, m = exps.shape
    above, whole, gap_above, gap, column = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    log_z, scale, most = -np.inf, 0.0, 1.0
    for i in range(n + 1):
        if i == 0:
            for j in range(m + 1):
                match[0, j] = gap[j] = both[0, j] = 0.0
            match[0, 0] = both[0, 0] = 1.0 if mode == GLOBAL else 0.0
        else:
            inverses[i] = 1.0 / most
            scale += np.log(most)
            opening, extending = np.exp(row_open[i - 1]) * inverses[i], np.exp(row_extend[i - 1]) * inverses[i]
            match[i, 0] = 0.0
            gap[0] = both[i, 0] = match[i - 1, 0] * opening + gap_above[0] * extending
            forward_row(
                exps[i - 1], above, match[i - 1], gap_above, inverses[i], opening, extending, match[i], gap, both[i], m
            )
        logs[i] = scale
        scan_row(both[i], cols[0], cols[1], cols[2], column, m)
        most, whole[0] = close_sums(both[i], column, whole, m), both[i, 0]
        if mode != GLOBAL:
            free, scored = ends[FREE_BEFORE, i] - scale, ends[SCORED_BEFORE, i] - scale
            if free > MOST_END or scored > MOST_END:
                return 0.0, False
            first = np.exp(free) if begins(0, i, 1, mode) else 0.0
            second = np.exp(scored) if begins(1, i, 1, mode) else 0.0
            most = add_starts(first, cols[4], second, cols[5], whole, m)
            whole[0] += np.exp(free)
        most = max(most, whole[0])
        if most == 0.0:
            return 0.0, False
        if mode != GLOBAL and i > 0 and m > 0:
            high = max(ends[FREE_AFTER, i], ends[SCORED_AFTER, i])
            if high > -np.inf:
                first = np.exp(ends[FREE_AFTER, i] - high) if finishes(0, i, 0, n, m, mode) else 0.0
                second = np.exp(ends[SCORED_AFTER, i] - high) if finishes(1, i, 0, n, m, mode) else 0.0
                total = match[i, m] * np.exp(ends[FREE_AFTER, i] - high)
                for j in range(1, m):
                    total += match[i, j] * (first * cols[6, j] + second * cols[7, j])
                if total > 0.0:
                    log_z = log_add(log_z, scale + high + np.log(total))
        above, whole = whole, above
        gap_above, gap = gap, gap_above
    if mode == GLOBAL:
        return scale + np.log(above[m]), True
    return log_add(log_z, ends[FREE_BEFORE, n] + col_ends[FREE_BEFORE, m]), True


@jit
def backward_sums(
    scores, exps, row_open, row_extend, ends, mode, cols, match, both, inverses, logs, log_z, coefficient, buffers,
    matches, row_gaps, col_gaps, fronts, backs,
):  # fmt: skip
    """Write marginals of matches, gaps that open and unaligned ends; return E[score] of matches, and if all is right.

    `row_gaps` and `col_gaps` have the probabilities that a position opens a gap, and that it is matched; `fronts` and
    `backs` those that rows 0 … i − 1 before, or i … after, are unaligned ends: free rows, rows opposite a gap, and
    likewise columns.
    """
    n, m = exps.shape
    match_back, match_below, gap_back, gap_below = buffers[0], buffers[1], buffers[2], buffers[3]
    column_back, follow = buffers[4], buffers[5]
    expected, total = 0.0, 0.0
    for j in range(m + 1):
        match_below[j] = gap_below[j] = follow[j] = 0.0
    for i in range(n, -1, -1):
        opening = extending = final = 0.0
        if i < n:
            opening, extending = np.exp(row_open[i]) * inverses[i + 1], np.exp(row_extend[i]) * inverses[i + 1]
            follow_row(exps[i], match_below, inverses[i + 1], follow, m)
        elif mode == GLOBAL:
            final = np.exp(logs[n] - log_z)
        column_back[m] = final
        scan_back(follow, cols[1], cols[3], column_back, m)
        sums, opened = back_row(
            follow, column_back, cols[0], gap_below, opening, extending, match[max(i - 1, 0)], match_back, gap_back, m
        )
        gap_back[m] = gap_below[m] * extending + final
        match_back[m] = gap_below[m] * opening + final
        if mode != GLOBAL and i > 0 and m > 0:
            free, scored = ends[FREE_AFTER, i] + logs[i] - log_z, ends[SCORED_AFTER, i] + logs[i] - log_z
            if free > MOST_END or scored > MOST_END:
                return 0.0, False
            first = np.exp(free) if finishes(0, i, 0, n, m, mode) else 0.0
            second = np.exp(scored) if finishes(1, i, 0, n, m, mode) else 0.0
            sums += add_ends(first, cols[6], second, cols[7], match_back, m)
            match_back[m] += np.exp(free)
            backs[0, i] = match[i, m] * np.exp(free) + shares(match[i], first, cols[6], backs[3], m)
            backs[1, i] = shares(match[i], second, cols[7], backs[2], m)
        total += sums + gap_back[m] + match_back[m] + final
        if i > 0:
            row_gaps[0, i - 1] = (opened + match[i - 1, m] * gap_back[m]) * np.exp(row_open[i - 1]) * inverses[i]
            score, row_gaps[1, i - 1] = count_row(
                match[i], both[i], match_back, column_back, scores[i - 1], coefficient, matches[i - 1], col_gaps[0],
                col_gaps[1], m,
            )  # fmt: skip
            expected += score
        else:
            for j in range(m):
                col_gaps[0, j] += both[0, j] * column_back[j + 1]
        if mode != GLOBAL:
            start = np.exp(ends[FREE_BEFORE, i] - logs[i])
            fronts[0, i] = start * follow[0]
            if begins(0, i, 1, mode):
                fronts[0, i] += shares(follow, start, cols[4], fronts[3], m)
            if begins(1, i, 1, mode):
                fronts[1, i] = shares(follow, np.exp(ends[SCORED_BEFORE, i] - logs[i]), cols[5], fronts[2], m)
        match_back, match_below = match_below, match_back
        gap_back, gap_below = gap_below, gap_back
    for j in range(m):
        col_gaps[0, j] *= cols[0, j]
    return expected, TINY * total <= MOST_LOST


@jit
def exp_columns(col_open, col_extend, ends, mode, cols):
    """Write the exponentials of scores of columns that `forward_sums` and `backward_sums` read."""
    m = len(col_open)
    for j in range(m):
        cols[0, j], cols[1, j] = np.exp(col_open[j]), np.exp(col_extend[j])
        cols[2, j] = cols[1, j] if j % 4 == 0 else cols[2, j - 1] * cols[1, j]
    for j in range(m - 1, -1, -1):
        cols[3, j] = cols[1, j] if j % 4 == 3 or j == m - 1 else cols[3, j + 1] * cols[1, j]
    for j in range(m + 1):
        inside = mode != GLOBAL and j > 0
        cols[4, j] = np.exp(ends[SCORED_BEFORE, j]) if inside else 0.0
        cols[5, j] = np.exp(ends[FREE_BEFORE, j]) if inside else 0.0
        inside = inside and j < m
        cols[6, j] = np.exp(ends[SCORED_AFTER, j]) if inside else 0.0
        cols[7, j] = np.exp(ends[FREE_AFTER, j]) if inside else 0.0


# ---------------------------------------------------------------------- batches


@inlined
def add_part(part, p, coefficient, scores, sums):
    """Add the probability of a part to its marginal; return the increase to E[score]."""
    if p <= 0.0 or scores[part] == -np.inf:
        return 0.0
    sums[part] += coefficient * p
    return p * scores[part]


@jit
def count_positions(
    first, n, gap_marginals, fronts, backs, kind, mode, n_outputs, coefficient, gaps, ends, gap_sums, end_sums
):
    """Add the marginals of the n positions of one sequence, opposite a gap or unaligned; return E[score] of them.

    ``gap_marginals[1]`` is the probability that a position is matched: what is left is that of extending a gap. `kind`
    is 0 for rows, 2 for columns, the rows of `fronts` and `backs` that belong to them, whose positions begin at
    `first`.
    """
    last, expected, free, scored = n_outputs - 1, 0.0, 0.0, 0.0
    left, unaligned = np.empty(n), np.zeros(n)
    for i in range(n):
        left[i] = 1.0 - gap_marginals[0, i] - gap_marginals[1, i]
        expected += add_part((first + i) * n_outputs, gap_marginals[0, i], coefficient, gaps, gap_sums)
    for i in range(n - 1 if mode != GLOBAL else -1, -1, -1):  # position i is before the first match
        free += fronts[kind, i + 1]
        scored += fronts[kind + 1, i + 1]
        if mode == LOCAL:
            unaligned[i] += free + scored
        else:
            unaligned[i] += free
            left[i] -= scored
            expected += add_part((first + i) * n_outputs + (0 if i == 0 else last), scored, coefficient, gaps, gap_sums)
    free, scored = 0.0, 0.0
    for i in range(n if mode != GLOBAL else 0):  # position i is after the last match, which is opening if it is next
        free += backs[kind, i]
        if mode == LOCAL:
            scored += backs[kind + 1, i]
            unaligned[i] += free + scored
        else:
            unaligned[i] += free
            left[i] -= scored + backs[kind + 1, i]
            at = (first + i) * n_outputs
            expected += add_part(at + last, scored, coefficient, gaps, gap_sums)
            expected += add_part(at, backs[kind + 1, i], coefficient, gaps, gap_sums)
            scored += backs[kind + 1, i]
    for i in range(n):
        if mode != GLOBAL:
            expected += add_part(first + i, unaligned[i], coefficient, ends, end_sums)
        expected += add_part((first + i) * n_outputs + last, left[i] - unaligned[i], coefficient, gaps, gap_sums)
    return expected


@jit
def clear(table):
    """Set all entries to 0."""
    for k in range(table.shape[0]):
        for t in range(table.shape[1]):
            table[k, t] = 0.0


@jit
def sum_one(
    scores, exps, gaps, ends, mode, coefficient, tables, buffers, totals, matches, gap_sums, end_sums, n_outputs
):
    """Add the marginals of one pair; return log Z and E[score]."""
    n, m = scores.shape
    opening, extending = gaps[0::n_outputs].copy(), gaps[n_outputs - 1 :: n_outputs].copy()
    row_open, row_extend, col_open, col_extend = opening[:n], extending[:n], opening[n:], extending[n:]
    match, gap, column = forward_tables(tables, n, m)
    inverses, logs, rows, columns, cols = buffers[0], buffers[1], buffers[2:6], buffers[6:10], buffers[10:18]
    row_gaps, col_gaps, fronts, backs = totals[:2], totals[2:4], totals[4:8], totals[8:12]
    if mode != GLOBAL:
        score_ends(row_open, row_extend, ends[:n], mode, rows)
        score_ends(col_open, col_extend, ends[n:], mode, columns)
    log_z, expected = 0.0, 0.0
    numbers = fits(scores, opening, extending, columns[:, : m + 1], mode)
    if numbers:
        exp_columns(col_open, col_extend, columns, mode, cols)
        log_z, numbers = forward_sums(
            exps, row_open, row_extend, rows, columns, mode, cols, match, gap, inverses, logs, buffers[18:]
        )
    if numbers:
        clear(totals)
        expected, numbers = backward_sums(
            scores, exps, row_open, row_extend, rows, mode, cols, match, gap, inverses, logs, log_z, coefficient,
            buffers[18:], matches, row_gaps, col_gaps, fronts, backs,
        )  # fmt: skip
    if not numbers:
        clear(totals)
        clear(matches)
        given = scores, row_open, row_extend, col_open, col_extend, rows, columns, mode, match, gap, column
        log_z = forward_logs(*given)
        if log_z == -np.inf:
            return log_z, 0.0
        expected = backward_logs(*given, log_z, coefficient, buffers[18:], matches, row_gaps, col_gaps, fronts, backs)
    if mode != GLOBAL:
        none = np.exp(rows[FREE_BEFORE, n] + columns[FREE_BEFORE, m] - log_z)
        fronts[0, n] += none
        fronts[2, m] += none
    expected += count_positions(
        0, n, row_gaps, fronts, backs, 0, mode, n_outputs, coefficient, gaps, ends, gap_sums, end_sums
    )
    expected += count_positions(
        n, m, col_gaps, fronts, backs, 2, mode, n_outputs, coefficient, gaps, ends, gap_sums, end_sums
    )
    return log_z, expected


@jit
def sum_alignments(
    ids, n_rows, n_cols, cells, cell_starts, exps, gaps, gap_starts, ends, end_starts, n_outputs, mode, coefficients,
    tables, buffers, totals, log_partitions, expected_scores, cell_sums, gap_sums, end_sums,
):  # fmt: skip
    """Write log Z and E[score] of each pair of ids, and coefficient · marginals; `exps` are exponentials of `cells`.

    `tables` has three rows for the tables of the largest pair, `buffers` N_SUM_BUFFERS rows and `totals` N_TOTALS.
    """
    for r in range(len(ids)):
        n, m, first = n_rows[ids[r]], n_cols[ids[r]], cell_starts[r]
        own = slice(gap_starts[r], gap_starts[r] + (n + m) * n_outputs)
        free = slice(0, 0) if mode == GLOBAL else slice(end_starts[r], end_starts[r] + n + m)
        log_partitions[r], expected_scores[r] = sum_one(
            cells[first : first + n * m].reshape(n, m), exps[first : first + n * m].reshape(n, m), gaps[own],
            ends[free], mode, coefficients[r], tables, buffers, totals,
            cell_sums[first : first + n * m].reshape(n, m), gap_sums[own], end_sums[free], n_outputs,
        )  # fmt: skip
