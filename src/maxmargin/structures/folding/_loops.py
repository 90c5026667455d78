"""Loops over the columns of a row of the recursion, elementwise so that they are vectorised.

`inside` and `edge` hold the last rows of pairs that end a loop: closed[p, q] with the terms of the pair as the inner
end of an interior loop, and of a bulge. Row p is at p modulo the number of rows, column q at `pads` + q.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.structures.folding._scores import SMALL, row


@jit
def raise_1(to, a, plus_a, count):
    """Set to[t] = max(to[t], a[t] + plus_a)."""
    for t in range(count):
        v = a[t] + plus_a
        to[t] = v if v > to[t] else to[t]


@jit
def raise_4(to, a, b, c, d, plus_a, plus_b, plus_c, plus_d, count):
    """Set to[t] to the maximum of itself and four rows, each with its own summand."""
    for t in range(count):
        u = a[t] + plus_a
        v = b[t] + plus_b
        u = v if v > u else u
        v = c[t] + plus_c
        z = d[t] + plus_d
        v = z if z > v else v
        u = v if v > u else u
        to[t] = u if u > to[t] else to[t]


@jit
def grow(new, old, left, right, best, skewed, sized, count):
    """Set `new` to the best interior loops of one size, and raise `best` to them."""
    for t in range(count):
        u = left[t] if left[t] > right[t] else right[t]
        u += skewed
        u = old[t] if old[t] > u else u
        new[t] = u
        u += sized
        best[t] = u if u > best[t] else best[t]


@jit
def begin(new, left, right, best, skewed, sized, count):
    """Add loops to `new` whose sides are too long for `small` by one base."""
    for t in range(count):
        u = left[t] if left[t] > right[t] else right[t]
        u += skewed
        new[t] = u if u > new[t] else new[t]
        u += sized
        best[t] = u if u > best[t] else best[t]


@jit
def interior_loops(i, n, least, pads, inside, sizes, older, none, size, skew, small, best):
    """Set best[j] to the best interior loop inside (i, j) other than 1 × 1, without terms of the outer pair.

    A loop of `small` is looked up. The others depend on length and difference of their sides only, and one with sides
    l and r inside (i, j) has the difference of one with l − 1 and r − 1 inside (i + 1, j − 1): the best of each
    length follows from the best that is two shorter, and from those with a side of one base (Lyngsø et al. 1999).
    """
    most, ring = len(size) - 1, len(inside)
    for left in range(1, min(SMALL, most - 1) + 1):
        first = i + left + least + 4
        if first >= n:
            break
        source = inside[(i + 1 + left) % ring, pads + first - 5 :]
        raise_4(
            best[first:], source[3:], source[2:], source[1:], source,
            small[left, 1] if left > 1 else -np.inf, small[left, 2], small[left, 3], small[left, 4], n - first,
        )  # fmt: skip
    for length in range(SMALL + 2, most + 1):
        first = i + length + least + 3
        if first >= n:
            break
        count = n - first
        new, to = sizes[length, first:], best[first:]
        old = older[length - 2, first - 1 :] if length >= SMALL + 4 else none
        grow(
            new, old, inside[(i + 2) % ring, pads + first - length :], inside[(i + length) % ring, pads + first - 2 :],
            to, skew[length - 2], size[length], count,
        )  # fmt: skip
        side = length - SMALL - 1
        if 2 <= side <= SMALL + 1:
            begin(
                new, inside[(i + 1 + side) % ring, pads + first - SMALL - 2 :],
                inside[(i + SMALL + 2) % ring, pads + first - 1 - side :], to,
                skew[SMALL + 1 - side], size[length], count,
            )  # fmt: skip


@jit
def bulges(i, n, least, pads, edge, bulge, best):
    """Set best[j] to the best bulge of two bases or more inside (i, j), without terms of the outer pair."""
    most, ring = len(bulge) - 1, len(edge)
    length = 2
    while length <= most:
        first = i + length + least + 3
        if first >= n:
            return
        count, to = n - first, best[first:]
        row_of, source = edge[(i + 1) % ring], pads + first - 1
        if length + 3 <= most:
            raise_4(
                to, row_of[source - length :], row_of[source - length - 1 :], row_of[source - length - 2 :],
                row_of[source - length - 3 :], bulge[length], bulge[length + 1], bulge[length + 2], bulge[length + 3],
                count,
            )  # fmt: skip
            raise_4(
                to, edge[(i + 1 + length) % ring, source:], edge[(i + 2 + length) % ring, source:],
                edge[(i + 3 + length) % ring, source:], edge[(i + 4 + length) % ring, source:],
                bulge[length], bulge[length + 1], bulge[length + 2], bulge[length + 3], count,
            )  # fmt: skip
            length += 4
        else:
            raise_1(to, row_of[source - length :], bulge[length], count)
            raise_1(to, edge[(i + 1 + length) % ring, source:], bulge[length], count)
            length += 1


@jit
def join_branches(i, n, least, from_single, pairs_up, single, several):
    """Set several[i, ·] = max(from_single, pairs_up) and pairs_up[j] = max_k several[i, k] + single[k + 1, j].

    Entry k of pairs_up is final before several[i, k] is used: the branch after k has at least least + 2 bases.
    """
    at, k = row(n, i), i + least + 1
    together = 4 if least >= 2 else 1
    while k < n:
        last = min(k + together, n)
        for m in range(k, last):
            several[at + m] = max(from_single[m], pairs_up[m])
        if together == 4 and k + 5 + least < n:
            first = k + 5 + least
            for m in range(k, k + 3):
                below = row(n, m + 1)
                for j in range(m + 2 + least, first):
                    v = several[at + m] + single[below + j]
                    if v > pairs_up[j]:
                        pairs_up[j] = v
            raise_4(
                pairs_up[first:], single[row(n, k + 1) + first :], single[row(n, k + 2) + first :],
                single[row(n, k + 3) + first :], single[row(n, k + 4) + first :],
                several[at + k], several[at + k + 1], several[at + k + 2], several[at + k + 3], n - first,
            )  # fmt: skip
        else:
            for m in range(k, last):
                first = m + 2 + least
                if first < n:
                    raise_1(pairs_up[first:], single[row(n, m + 1) + first :], several[at + m], n - first)
        k = last
