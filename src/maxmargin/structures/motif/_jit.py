"""Scans of sequences for a motif, and planes of motif sites.

Common arguments: `ids` are the examples of a batch; `offsets` are the offsets of their symbols; `contexts` is the
background feature of each position; `blocks` is the word of `width` symbols that begins at each position. The code of a
site is ``strands · position + strand``, or −1 for no motif.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.entries import add_entry, write_entries

ABSENT = -1


@inlined
def scan(first, windows, length, contexts, background, blocks, width, tables, prefix, scores):
    """Compute scores[s, h] = w·Ψ(x, site at h on strand s) − w·Ψ(x, no motif).

    These are the motif's weights in the window minus those of the background, a difference of prefix sums.
    """
    prefix[0] = 0.0
    for p in range(windows + length - 1):
        prefix[p + 1] = prefix[p] + background[contexts[first + p]]
    for s in range(tables.shape[0]):
        row = scores[s]
        for h in range(windows):
            row[h] = prefix[h] - prefix[h + length]
        for b in range(tables.shape[1]):
            table, begin = tables[s, b], first + b * width
            for h in range(windows):
                row[h] += table[blocks[begin + h]]


@jit
def best_sites(ids, offsets, length, contexts, background, blocks, width, tables, truths, codes, scores, truth_scores):
    """Find the best site of each example of ids, its score and the score of the true site, relative to no motif.

    Ties go to the first site.
    """
    strands, longest = tables.shape[0], 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    prefix, row = np.empty(longest + 1), np.empty((strands, longest))
    for r in range(len(ids)):
        i = ids[r]
        first, windows = offsets[i], offsets[i + 1] - offsets[i] - length + 1
        scan(first, windows, length, contexts, background, blocks, width, tables, prefix, row)
        best, code = -np.inf, 0
        for h in range(windows):
            for s in range(strands):
                if row[s, h] > best:
                    best, code = row[s, h], strands * h + s
        codes[r], scores[r] = code, best
        truth_scores[r] = row[truths[i] % strands, truths[i] // strands] if truths[i] >= 0 else 0.0


@jit
def score_sites(ids, starts, offsets, length, contexts, background, blocks, width, tables, out):
    """Write the scores of all sites of each example of ids from starts[r] on, in the order of their codes."""
    strands, longest = tables.shape[0], 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    prefix, row = np.empty(longest + 1), np.empty((strands, longest))
    for r in range(len(ids)):
        first, windows = offsets[ids[r]], (starts[r + 1] - starts[r]) // strands
        scan(first, windows, length, contexts, background, blocks, width, tables, prefix, row)
        for s in range(strands):
            for h in range(windows):
                out[starts[r] + strands * h + s] = row[s, h]


@inlined
def add_site(code, sign, first, length, n_symbols, strands, symbols, complements, contexts, sums, touched, count):
    """Add sign · (Ψ(x, site) − Ψ(x, no motif)): the counts of the motif minus those of the background in its window."""
    begin, n_contexts = first + code // strands, len(sums) - length * n_symbols
    for j in range(length):
        symbol, context = np.int64(symbols[begin + j]), np.int64(contexts[begin + j])
        if code % strands == 0:
            index = j * n_symbols + symbol
        else:
            index = (length - 1 - j) * n_symbols + np.int64(complements[symbol])
        if symbol < n_symbols:  # a wildcard counts nowhere
            count = add_entry(index, sign, sums, touched, count)
        if context < n_contexts:
            count = add_entry(length * n_symbols + context, -sign, sums, touched, count)
    return count


@jit
def site_planes(
    ids, offsets, length, n_symbols, dim, strands, symbols, complements, contexts, truths, codes, out_ptr, out_index,
    out_value,
):  # fmt: skip
    """Write rows Ψ(x, true site) − Ψ(x, coded site); return the number of entries.

    The background outside both windows cancels.
    """
    sums, touched, p = np.zeros(dim), np.empty(4 * length, np.int64), 0
    for r in range(len(ids)):
        i, count = ids[r], 0
        for code, sign in ((truths[i], 1.0), (codes[i], -1.0)):
            if code >= 0 and truths[i] != codes[i]:
                count = add_site(
                    code, sign, offsets[i], length, n_symbols, strands, symbols, complements, contexts, sums, touched,
                    count,
                )  # fmt: skip
        p = write_entries(sums, touched, count, 1.0, out_index, out_value, p)
        out_ptr[r + 1] = p
    return p
