"""Scores of single loops, and the tables that compiled functions share. Arguments are those of `_jit.py`."""

from __future__ import annotations

from maxmargin._base.jit import inlined

#: Number of symbols, and of bases on one side of a small interior loop.
SYMBOLS, SMALL = 5, 4
#: Where the tables of `letters` begin: base pairs, stacked pairs, pairs that close a loop, mismatches in hairpins and
#: in interior loops, bases at the 3' and at the 5' side of a branch, single bulged bases, both bases of 1 × 1 loops.
BP, ST, CL, HM, IM, D3, D5, B1, I11 = 0, 25, 650, 675, 1300, 1925, 2050, 2175, 2180
N_LETTERS = 2205
#: Hairpins of this length or more have the same score.
LONGEST_HAIRPIN = 30


@inlined
def row(n, i):
    """Return the position from which columns of row i of a packed table are counted."""
    return i * n - i * (i + 1) // 2


@inlined
def view(x, a, b, c, d):
    """Return the number of the pair (a, b) with the neighbours c of a and d of b."""
    return ((x[a] * SYMBOLS + x[b]) * SYMBOLS + x[c]) * SYMBOLS + x[d]


@inlined
def inner_end(x, i, j, letters):
    """Return the score of the pair (i, j) as it closes a multi-loop."""
    pair = x[i] * SYMBOLS + x[j]
    return letters[CL + pair] + letters[D3 + pair * SYMBOLS + x[i + 1]] + letters[D5 + pair * SYMBOLS + x[j - 1]]


@inlined
def outer_end(x, i, j, letters):
    """Return the score of the pair (i, j) as a branch of a multi-loop, or outside of all pairs."""
    pair = x[j] * SYMBOLS + x[i]
    score = letters[CL + pair]
    if j + 1 < len(x):
        score += letters[D3 + pair * SYMBOLS + x[j + 1]]
    if i > 0:
        score += letters[D5 + pair * SYMBOLS + x[i - 1]]
    return score


@inlined
def hairpin_score(x, i, j, letters, hairpin):
    """Return the score of the hairpin that (i, j) closes."""
    score = hairpin[min(j - i - 1, LONGEST_HAIRPIN)] + letters[CL + x[i] * SYMBOLS + x[j]]
    return score + letters[HM + view(x, i, j, i + 1, j - 1)] if j > i + 1 else score


@inlined
def interior_score(x, i, j, p, q, letters, bulge, size, skew, small):
    """Return the score of the loop between the pairs (i, j) and (p, q): stacked, bulge or interior."""
    left, right = p - i - 1, j - q - 1
    if left == 0 and right == 0:
        return letters[ST + view(x, i, j, p, q)]
    score = letters[CL + x[i] * SYMBOLS + x[j]] + letters[CL + x[q] * SYMBOLS + x[p]]
    if left == 0 or right == 0:
        score += bulge[left + right]
        if left + right == 1:
            score += letters[B1 + (x[i + 1] if left == 1 else x[j - 1])]
        return score
    score += small[left, right] if left <= SMALL and right <= SMALL else size[left + right] + skew[abs(left - right)]
    if left == 1 and right == 1:
        score += letters[I11 + x[i + 1] * SYMBOLS + x[j - 1]]
    return score + letters[IM + view(x, i, j, i + 1, j - 1)] + letters[IM + view(x, q, p, q + 1, p - 1)]


@inlined
def tables_in(flat, most):
    """Return the tables of scores that are concatenated in `flat`: letters, hairpin, bulge, size, skew, small, loops.

    `most` is the maximum number of unpaired bases in a bulge or an interior loop.
    """
    hairpin = N_LETTERS + LONGEST_HAIRPIN + 1
    bulge = hairpin + most + 1
    size = bulge + most + 1
    skew = size + most - 1
    small = skew + (SMALL + 1) * (SMALL + 1)
    return (
        flat[:N_LETTERS], flat[N_LETTERS:hairpin], flat[hairpin:bulge], flat[bulge:size], flat[size:skew],
        flat[skew:small].reshape(SMALL + 1, SMALL + 1), flat[small:],
    )  # fmt: skip
