"""The recursion over the cells of an alignment, with affine gaps, and the trace of its best path.

States of cell (i, j): M, position i is matched with j; E, i is opposite a gap; F, j is opposite a gap. M follows any
state, E follows M or E, F follows any state: F is never followed by E. So gaps in both sequences between two matches
have a single path, a set of matches has a single path, and the recursion is exact for any signs of the scores (the
usual form, in which a gap opens from the best state, is wrong if opening scores better than extending).

With C the running sum of the scores of extending, F[j] = C[j] + max_{k<j} (max(M, E)[k] + open[k] − C[k + 1]), so
each row takes two vector loops and one running maximum.

Trace bits of a cell: 1, E came from E; 2, F came from F; 4, E is better than M; 8, F is better than both; in modes with
free ends also 16, a path that starts here is at least as good, and 32, the best last match of the column so far. A
comparison of 64-bit floats gives 64-bit lanes, so each column collects the bits of 16 rows (10 with free ends) in one
64-bit word: no lane changes its width.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.features.biology.aligned import N_ORDERS

GLOBAL, LOCAL, SEMIGLOBAL = 0, 1, 2
MODES = ("global", "local", "semiglobal")
#: Scores of unaligned positions before or after a position, free or as a gap: rows of a table.
FREE_BEFORE, SCORED_BEFORE, FREE_AFTER, SCORED_AFTER = 0, 1, 2, 3
#: Rows of the scratch space of floats.
N_BUFFERS = 19

_ROWS_GLOBAL, _BITS_GLOBAL = 16, 4
_ROWS_FREE, _BITS_FREE = 10, 6


def n_words(n: int) -> int:
    """Return the number of words of a column in the trace of n rows, in any mode."""
    return -(-n // _ROWS_FREE)


@jit
def extend_matches(scores, before, match_above, gap_above, shift, opening, extending, match, gap, merged, m):
    """Compute M, E and max(M, E) + shift of one row from the row above."""
    for j in range(1, m + 1):
        matched = scores[j - 1] + before[j - 1]
        opened = match_above[j] + opening
        extended = gap_above[j] + extending
        best_gap = extended if extended > opened else opened
        better = best_gap if best_gap > matched else matched
        match[j] = matched
        gap[j] = best_gap
        merged[j] = better + shift[j]


@jit
def running_maximum(values, out, m):
    """Compute out[j] = max(out[0], values[:j]) for j = 1 … m.

    A maximum waits for the one before it, so only one of four does: those within four values come first.
    """
    most = out[0]
    fours = m // 4 * 4
    for j in range(0, fours, 4):
        a, b, c, d = values[j], values[j + 1], values[j + 2], values[j + 3]
        ab = b if b > a else a
        cd = d if d > c else c
        abc = c if c > ab else ab
        abcd = cd if cd > ab else ab
        out[j + 1] = a if a > most else most
        out[j + 2] = ab if ab > most else most
        out[j + 3] = abc if abc > most else most
        most = abcd if abcd > most else most
        out[j + 4] = most
    for j in range(fours, m):
        most = values[j] if values[j] > most else most
        out[j + 1] = most


@jit
def close_row(match_above, gap_above, match, gap, merged, running, sums, opening, extending, best, words, at, m):
    """Write the best state of each cell to `best`, and the trace bits of the row to `words`."""
    from_gap, from_column = np.int64(1) << at, np.int64(2) << at
    in_gap, in_column = np.int64(4) << at, np.int64(8) << at
    none = np.int64(0)
    for j in range(1, m + 1):
        matched, gapped = match[j], gap[j]
        column = running[j] + sums[j]
        better = gapped if gapped > matched else matched
        bits = words[j]
        bits = bits | (from_gap if gap_above[j] + extending > match_above[j] + opening else none)
        bits = bits | (from_column if running[j - 1] > merged[j - 1] else none)
        bits = bits | (in_gap if gapped > matched else none)
        bits = bits | (in_column if column > better else none)
        words[j] = bits
        best[j] = column if column > better else better


@jit
def close_local_row(match_above, gap_above, match, gap, merged, running, sums, opening, extending, best, words, at, m):
    """Do what `close_row` does, and let paths start at the cells of the row, if unaligned ends score 0."""
    from_gap, from_column = np.int64(1) << at, np.int64(2) << at
    in_gap, in_column, start = np.int64(4) << at, np.int64(8) << at, np.int64(16) << at
    none = np.int64(0)
    for j in range(1, m + 1):
        matched, gapped = match[j], gap[j]
        column = running[j] + sums[j]
        better = gapped if gapped > matched else matched
        bits = words[j]
        bits = bits | (from_gap if gap_above[j] + extending > match_above[j] + opening else none)
        bits = bits | (from_column if running[j - 1] > merged[j - 1] else none)
        bits = bits | (in_gap if gapped > matched else none)
        bits = bits | (in_column if column > better else none)
        better = column if column > better else better
        words[j] = bits | (start if better <= 0.0 else none)
        best[j] = better if better > 0.0 else 0.0


@jit
def start_row(first, first_columns, second, second_columns, best, words, at, m):
    """Let paths start at the cells of a row: they replace the best state, where they are at least as good."""
    start, none = np.int64(16) << at, np.int64(0)
    for j in range(1, m + 1):
        one, other, before = first + first_columns[j], second + second_columns[j], best[j]
        fresh = other if other > one else one
        words[j] = words[j] | (start if fresh >= before else none)
        best[j] = fresh if fresh > before else before


@jit
def end_local_row(match, finals, words, at, m):
    """Let paths end at the cells of a row: `finals` is the best score of a path whose last match is in a column."""
    last, none = np.int64(32) << at, np.int64(0)
    for j in range(1, m + 1):
        total, before = match[j], finals[j]
        words[j] = words[j] | (last if total > before else none)
        finals[j] = total if total > before else before


@jit
def end_row(match, first, first_columns, second, second_columns, finals, words, at, m):
    """Do what `end_local_row` does, with scores of unaligned ends."""
    last, none = np.int64(32) << at, np.int64(0)
    for j in range(1, m + 1):
        one, other, before = first + first_columns[j], second + second_columns[j], finals[j]
        total = match[j] + (other if other > one else one)
        words[j] = words[j] | (last if total > before else none)
        finals[j] = total if total > before else before


@inlined
def bits_at(words, i, j, rows, width):
    """Return the trace bits of cell (i, j), counted from 1."""
    return words[(i - 1) // rows, j] >> (width * ((i - 1) % rows))


@inlined
def state_at(bits):
    """Return the best state of a cell: 0 for M, 1 for E, 2 for F."""
    return 2 if bits & 8 else (1 if bits & 4 else 0)


@jit
def best_alignment(scores, row_open, row_extend, col_open, col_extend, row_end, col_end, mode, words, buffers, code):
    """Write the code of the best alignment: the orders of the gaps at both ends, and the partner of each row or −1.

    Parameters
    ----------
    scores : array of shape (n, m)
        Scores of matches.
    row_open, row_extend, col_open, col_extend : arrays
        Scores of positions opposite a gap: of the first position of a gap, and of the others.
    row_end, col_end : arrays
        Scores of unaligned positions at the ends, in modes with free ends.
    mode : int
        GLOBAL, LOCAL or SEMIGLOBAL.
    words, buffers : arrays
        Scratch space: `n_words` × (m + 1) of int64, N_BUFFERS × (max(n, m) + 2) of float64.
    code : array of int32
        N_ORDERS + n symbols.
    """
    n, m = scores.shape
    code[:] = -1
    code[0] = code[1] = 0
    if n == 0 or m == 0:
        return
    match_a, match_b, gap_a, gap_b, best_a, best_b = (
        buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], buffers[5],
    )  # fmt: skip
    merged, running, shift, sums, finals = buffers[6], buffers[7], buffers[8], buffers[9], buffers[10]
    row_ends, col_ends = buffers[11:15], buffers[15:19]
    free = mode != GLOBAL
    rows, width = (_ROWS_FREE, _BITS_FREE) if free else (_ROWS_GLOBAL, _BITS_GLOBAL)
    sums[0] = 0.0
    for j in range(m):
        sums[j + 1] = sums[j] + col_extend[j]
        shift[j] = col_open[j] - sums[j + 1]
    shift[m] = 0.0
    if free:
        score_ends(row_open, row_extend, row_end, mode, row_ends)
        score_ends(col_open, col_extend, col_end, mode, col_ends)
    plain = mode == LOCAL and not row_end.any() and not col_end.any()
    match_a[0], gap_a[0], best_a[0] = -np.inf, -np.inf, 0.0
    for j in range(1, m + 1):
        match_a[j] = gap_a[j] = finals[j] = -np.inf
        best_a[j] = col_ends[FREE_BEFORE, j] if free else col_open[0] + (sums[j] - sums[1])
    words[: (n + rows - 1) // rows, : m + 1] = 0
    running[0] = -np.inf
    row_gap = 0.0
    for i in range(1, n + 1):
        opening, extending = row_open[i - 1], row_extend[i - 1]
        row_gap = opening if i == 1 else row_gap + extending
        match_b[0] = -np.inf
        gap_b[0] = -np.inf if free else row_gap
        best_b[0] = row_ends[FREE_BEFORE, i] if free else row_gap
        merged[0] = gap_b[0] + shift[0]
        q = (i - 1) // rows
        at = width * (i - 1 - q * rows)
        extend_matches(scores[i - 1], best_a, match_a, gap_a, shift, opening, extending, match_b, gap_b, merged, m)
        running_maximum(merged, running, m)
        if plain:
            close_local_row(
                match_a, gap_a, match_b, gap_b, merged, running, sums, opening, extending, best_b, words[q], at, m
            )
            end_local_row(match_b, finals, words[q], at, m)
        else:
            close_row(
                match_a, gap_a, match_b, gap_b, merged, running, sums, opening, extending, best_b, words[q], at, m
            )
        if free and not plain:
            # unaligned positions of one sequence alone are free
            first_free = -np.inf if i == n else row_ends[FREE_AFTER, i]
            col_ends[FREE_AFTER, m] = 0.0 if i == n else -np.inf
            start_row(
                row_ends[FREE_BEFORE, i], col_ends[SCORED_BEFORE], row_ends[SCORED_BEFORE, i], col_ends[FREE_BEFORE],
                best_b, words[q], at, m,
            )  # fmt: skip
            end_row(
                match_b, first_free, col_ends[SCORED_AFTER], row_ends[SCORED_AFTER, i], col_ends[FREE_AFTER], finals,
                words[q], at, m,
            )  # fmt: skip
        match_a, match_b = match_b, match_a
        gap_a, gap_b = gap_b, gap_a
        best_a, best_b = best_b, best_a
    if not free:
        trace(words, n, m, state_at(bits_at(words, n, m, rows, width)), rows, width, False, code)
        return
    best, last = row_ends[FREE_BEFORE, n] + col_ends[FREE_BEFORE, m], 0
    for j in range(1, m + 1):
        if finals[j] > best:
            best, last = finals[j], j
    if last == 0:
        return
    i = n
    while not bits_at(words, i, last, rows, width) & 32:
        i -= 1
    if mode == SEMIGLOBAL and i < n and last < m:
        second = row_ends[SCORED_AFTER, i] + col_ends[FREE_AFTER, last]
        code[1] = row_ends[FREE_AFTER, i] + col_ends[SCORED_AFTER, last] > second
    i, j = trace(words, i, last, 0, rows, width, True, code)
    if mode == SEMIGLOBAL and i > 0 and j > 0:
        first = row_ends[FREE_BEFORE, i] + col_ends[SCORED_BEFORE, j]
        code[0] = row_ends[SCORED_BEFORE, i] + col_ends[FREE_BEFORE, j] > first


@jit
def score_ends(opening, extending, end, mode, out):
    """Write the scores of the positions before and after each position, all unaligned: free, or as a gap.

    In local mode, both are free.
    """
    n = len(end)
    out[FREE_BEFORE, 0] = out[SCORED_BEFORE, 0] = out[FREE_AFTER, n] = out[SCORED_AFTER, n] = 0.0
    gap = 0.0
    for i in range(n):
        out[FREE_BEFORE, i + 1] = out[FREE_BEFORE, i] + end[i]
        gap = opening[i] if i == 0 else gap + extending[i]
        out[SCORED_BEFORE, i + 1] = gap if mode == SEMIGLOBAL else out[FREE_BEFORE, i + 1]
    gap = 0.0
    for i in range(n - 1, -1, -1):
        out[FREE_AFTER, i] = out[FREE_AFTER, i + 1] + end[i]
        out[SCORED_AFTER, i] = opening[i] + gap if mode == SEMIGLOBAL else out[FREE_AFTER, i]
        gap += extending[i]


@jit
def trace(words, i, j, state, rows, width, free, code):
    """Write the matches of the path that ends in a state of cell (i, j); return the cell before its first match."""
    while i > 0 and j > 0:
        if state == 0:
            code[N_ORDERS + i - 1] = j - 1
            i -= 1
            j -= 1
            if i == 0 or j == 0:
                break
            bits = bits_at(words, i, j, rows, width)
            if free and bits & 16:
                break
            state = state_at(bits)
        elif state == 1:
            state = 1 if bits_at(words, i, j, rows, width) & 1 else 0
            i -= 1
        else:
            opened = not bits_at(words, i, j, rows, width) & 2
            j -= 1
            if opened and j > 0:
                state = 1 if bits_at(words, i, j, rows, width) & 4 else 0
    return i, j
