"""Sums over loops for the columns of a row, elementwise, so they are vectorised; and their derivatives.

The functions are those of `_loops.py` with products and sums in place of sums and maxima, and their reverses: given the
derivatives of log Z by the results, they add the derivatives by the arguments, and return how often each length of a
loop is expected. `inside` and `edge` are as there; so are the positions in `inside_slopes` and `edge_slopes`, the
derivatives by them. Slopes of columns have `TAIL` zeros at their end.
"""

from __future__ import annotations

from maxmargin._base.jit import jit
from maxmargin.structures.folding._scores import SMALL, row

#: Zeros after the last column of slopes, so a column and those after it are read together.
TAIL = 8


@jit
def add_1(to, a, by_a, count):
    """Add a row, times its factor."""
    for t in range(count):
        to[t] += a[t] * by_a


@jit
def add_4(to, a, b, c, d, by_a, by_b, by_c, by_d, count):
    """Add four rows, each times its own factor."""
    for t in range(count):
        to[t] += (a[t] * by_a + b[t] * by_b) + (c[t] * by_c + d[t] * by_d)


@jit
def dot(a, b, count):
    """Return Σ a b."""
    total = 0.0
    for t in range(count):
        total += a[t] * b[t]
    return total


@jit
def dot_4(of, a, b, c, d, count):
    """Return the products of one row with four."""
    u, v, y, z = 0.0, 0.0, 0.0, 0.0
    for t in range(count):
        p = of[t]
        u += p * a[t]
        v += p * b[t]
        y += p * c[t]
        z += p * d[t]
    return u, v, y, z


@jit
def grow(new, old, left, right, total, skewed, sized, count):
    """Set `new` to the sums over interior loops of one size, and add them to the total."""
    for t in range(count):
        u = (left[t] + right[t]) * skewed + old[t]
        new[t] = u
        total[t] += u * sized


@jit
def begin(new, left, right, total, skewed, sized, count):
    """Add loops to `new` whose sides are too long for `small` by one base."""
    for t in range(count):
        u = (left[t] + right[t]) * skewed
        new[t] += u
        total[t] += u * sized


@jit
def interior_sums(i, n, least, pads, inside, sizes, older, none, size, skew, small, total):
    """Add the sum over interior loops inside (i, j) other than 1 × 1 to total[j], without terms of the outer pair.

    As in `_loops.interior_loops`, except that the loop with two sides of SMALL + 1 bases is counted once.
    """
    most, ring = len(size) - 1, len(inside)
    for left in range(1, min(SMALL, most - 1) + 1):
        first = i + left + least + 4
        if first >= n:
            break
        source = inside[(i + 1 + left) % ring, pads + first - 5 :]
        add_4(
            total[first:], source[3:], source[2:], source[1:], source,
            small[left, 1] if left > 1 else 0.0, small[left, 2], small[left, 3], small[left, 4], n - first,
        )  # fmt: skip
    for length in range(SMALL + 2, most + 1):
        first = i + length + least + 3
        if first >= n:
            break
        count = n - first
        new, to = sizes[length, first:], total[first:]
        old = older[length - 2, first - 1 :] if length >= SMALL + 4 else none
        grow(
            new, old, inside[(i + 2) % ring, pads + first - length :], inside[(i + length) % ring, pads + first - 2 :],
            to, skew[length - 2], size[length], count,
        )  # fmt: skip
        side = length - SMALL - 1
        if 2 <= side <= SMALL + 1:
            begin(
                new, inside[(i + 1 + side) % ring, pads + first - SMALL - 2 :],
                inside[(i + SMALL + 2) % ring, pads + first - 1 - side :] if side <= SMALL else none, to,
                skew[SMALL + 1 - side], size[length], count,
            )  # fmt: skip


@jit
def back_4(slopes, source, to, by_a, by_b, by_c, by_d, count):
    """Add slopes of four columns in succession, each times its factor, to those of a row; return products with it."""
    u, v, y, z = 0.0, 0.0, 0.0, 0.0
    for t in range(count):
        a, b, c, d, p = slopes[t], slopes[t + 1], slopes[t + 2], slopes[t + 3], source[t]
        to[t] += (a * by_a + b * by_b) + (c * by_c + d * by_d)
        u += p * a
        v += p * b
        y += p * c
        z += p * d
    return u * by_a, v * by_b, y * by_c, z * by_d


@jit
def back_1(slopes, source, to, by, count):
    """Add the slopes of columns times a factor to those of a row; return their product with it."""
    u = 0.0
    for t in range(count):
        to[t] += slopes[t] * by
        u += slopes[t] * source[t]
    return u * by


@jit
def back_grow(slopes, new, size_slopes, outer, left, right, to_left, to_right, sized, skewed, count):
    """Reverse `grow`: set the slopes of one size; return the expected numbers of its length and of its difference."""
    of_size, of_skew = 0.0, 0.0
    for t in range(count):
        a = slopes[t]
        u = a * sized + outer[t]
        size_slopes[t] = u
        of_size += a * new[t]
        u *= skewed
        of_skew += u * (left[t] + right[t])
        to_left[t] += u
        to_right[t] += u
    return of_size * sized, of_skew


@jit
def back_interior(
    i, n, least, pads, slopes, inside, inside_slopes, sizes, size_slopes, outer, none, size, skew, small, n_size,
    n_skew, n_small,
):  # fmt: skip
    """Reverse `interior_sums`, given the slopes of `total`: add those of `inside` and the expected numbers of loops.

    `size_slopes` are written, and `outer` are those of the row before: the loops of (i, j) are in those of (i − 1,
    j + 1) that are longer by two.
    """
    most, ring, rows = len(size) - 1, len(inside), len(inside_slopes)
    for left in range(1, min(SMALL, most - 1) + 1):
        p = i + 1 + left
        q = p + least + 1
        if q + 2 >= n:
            break
        a, b, c, d = back_4(
            slopes[q + 2 :], inside[p % ring, pads + q :], inside_slopes[p % rows, pads + q :],
            small[left, 1] if left > 1 else 0.0, small[left, 2], small[left, 3], small[left, 4], n - q - 2,
        )  # fmt: skip
        n_small[left, 1] += a
        n_small[left, 2] += b
        n_small[left, 3] += c
        n_small[left, 4] += d
    for length in range(SMALL + 2, most + 1):
        first = i + length + least + 3
        if first >= n:
            break
        count, near, far = n - first, i + 2, i + length
        own, to = slopes[first:], size_slopes[length, first:]
        longer = outer[length + 2, first + 1 :] if length + 2 <= most else none
        of_size, of_skew = back_grow(
            own, sizes[length, first:], to, longer, inside[near % ring, pads + first - length :],
            inside[far % ring, pads + first - 2 :], inside_slopes[near % rows, pads + first - length :],
            inside_slopes[far % rows, pads + first - 2 :], size[length], skew[length - 2], count,
        )  # fmt: skip
        n_size[length] += of_size
        n_skew[length - 2] += of_skew
        side = length - SMALL - 1
        if 2 <= side <= SMALL + 1:
            p, at = i + 1 + side, pads + first - SMALL - 2
            n_skew[SMALL + 1 - side] += back_1(
                to, inside[p % ring, at:], inside_slopes[p % rows, at:], skew[SMALL + 1 - side], count
            )
            if side <= SMALL:
                p, at = i + SMALL + 2, pads + first - 1 - side
                n_skew[SMALL + 1 - side] += back_1(
                    to, inside[p % ring, at:], inside_slopes[p % rows, at:], skew[SMALL + 1 - side], count
                )


@jit
def bulge_sums(i, n, least, pads, edge, bulge, total):
    """Add the sum over bulges of two bases or more inside (i, j) to total[j], without terms of the outer pair."""
    most, ring = len(bulge) - 1, len(edge)
    length = 2
    while length <= most:
        first = i + length + least + 3
        if first >= n:
            return
        count, to = n - first, total[first:]
        row_of, source = edge[(i + 1) % ring], pads + first - 1
        if length + 3 <= most:
            add_4(
                to, row_of[source - length :], row_of[source - length - 1 :], row_of[source - length - 2 :],
                row_of[source - length - 3 :], bulge[length], bulge[length + 1], bulge[length + 2], bulge[length + 3],
                count,
            )  # fmt: skip
            add_4(
                to, edge[(i + 1 + length) % ring, source:], edge[(i + 2 + length) % ring, source:],
                edge[(i + 3 + length) % ring, source:], edge[(i + 4 + length) % ring, source:],
                bulge[length], bulge[length + 1], bulge[length + 2], bulge[length + 3], count,
            )  # fmt: skip
            length += 4
        else:
            add_1(to, row_of[source - length :], bulge[length], count)
            add_1(to, edge[(i + 1 + length) % ring, source:], bulge[length], count)
            length += 1


@jit
def back_bulges(i, n, least, pads, slopes, edge, edge_slopes, bulge, n_bulge):
    """Reverse `bulge_sums`, given the slopes of `total`: add those of `edge` and the expected numbers of bulges."""
    most, ring, rows = len(bulge) - 1, len(edge), len(edge_slopes)
    near, length = i + 1, 2
    while length <= most:
        q = near + least + 1
        first = q + 1 + length
        if first >= n:
            return
        source, to = edge[near % ring, pads + q :], edge_slopes[near % rows, pads + q :]
        if length + 3 <= most:
            a, b, c, d = back_4(
                slopes[first:], source, to, bulge[length], bulge[length + 1], bulge[length + 2], bulge[length + 3],
                n - first,
            )  # fmt: skip
            n_bulge[length] += a
            n_bulge[length + 1] += b
            n_bulge[length + 2] += c
            n_bulge[length + 3] += d
            together = 4
        else:
            n_bulge[length] += back_1(slopes[first:], source, to, bulge[length], n - first)
            together = 1
        for other in range(length, length + together):
            p = i + 1 + other
            at = p + least + 2
            if at < n:
                n_bulge[other] += back_1(
                    slopes[at:], edge[p % ring, pads + at - 1 :], edge_slopes[p % rows, pads + at - 1 :], bulge[other],
                    n - at,
                )  # fmt: skip
        length += together


@jit
def join_sums(i, n, least, from_single, single, several, joined):
    """Set several[i, ·] = from_single + joined[i, ·] and joined[i, j] = Σ_k several[i, k] single[k + 1, j].

    Entry k of joined is final before several[i, k] is used: the branch after k has at least least + 2 bases.
    """
    at, k = row(n, i), i + least + 1
    together = 4 if least >= 2 else 1
    while k < n:
        last = min(k + together, n)
        for m in range(k, last):
            several[at + m] = from_single[m] + joined[at + m]
        if together == 4 and k + 5 + least < n:
            first = k + 5 + least
            for m in range(k, k + 3):
                below = row(n, m + 1)
                for j in range(m + 2 + least, first):
                    joined[at + j] += several[at + m] * single[below + j]
            add_4(
                joined[at + first :], single[row(n, k + 1) + first :], single[row(n, k + 2) + first :],
                single[row(n, k + 3) + first :], single[row(n, k + 4) + first :],
                several[at + k], several[at + k + 1], several[at + k + 2], several[at + k + 3], n - first,
            )  # fmt: skip
        else:
            for m in range(k, last):
                first = m + 2 + least
                if first < n:
                    add_1(joined[at + first :], single[row(n, m + 1) + first :], several[at + m], n - first)
        k = last


@jit
def back_join(i, n, least, up, single, slopes, joined):
    """Set slopes[k] to the derivative by several[i, k], and joined[i, ·] to the derivative by itself, given `up`.

    `up` is the part of the derivative by joined[i, ·] that does not pass through several[i, ·].
    """
    at, k = row(n, i), n - 1
    together = 4 if least >= 2 else 1
    while k > i + least:
        first = k + 2 + least
        if together == 4 and k - 3 > i + least and first < n:
            u, v, y, z = dot_4(
                joined[at + first :], single[row(n, k + 1) + first :], single[row(n, k) + first :],
                single[row(n, k - 1) + first :], single[row(n, k - 2) + first :], n - first,
            )  # fmt: skip
            for j in range(first - 3, first):
                p = joined[at + j]
                v += p * single[row(n, k) + j] if j >= first - 1 else 0.0
                y += p * single[row(n, k - 1) + j] if j >= first - 2 else 0.0
                z += p * single[row(n, k - 2) + j]
            slopes[k], slopes[k - 1], slopes[k - 2], slopes[k - 3] = u, v, y, z
            for m in range(k - 3, k + 1):
                joined[at + m] = up[m] + slopes[m]
            k -= 4
        else:
            slopes[k] = 0.0
            if first < n:
                slopes[k] = dot(joined[at + first :], single[row(n, k + 1) + first :], n - first)
            joined[at + k] = up[k] + slopes[k]
            k -= 1


@jit
def back_branches(i, n, least, several, joined, out):
    """Add the derivative by single[i, ·] as a later branch to `out`: Σ_h several[h, i − 1] · slope of joined[h, ·]."""
    first, stop = i + least + 1, i - 1 - least
    count, h = n - first, 0
    while h < stop:
        if h + 4 <= stop:
            a, b, c, d = row(n, h), row(n, h + 1), row(n, h + 2), row(n, h + 3)
            add_4(
                out[first:], joined[a + first :], joined[b + first :], joined[c + first :], joined[d + first :],
                several[a + i - 1], several[b + i - 1], several[c + i - 1], several[d + i - 1], count,
            )  # fmt: skip
            h += 4
        else:
            add_1(out[first:], joined[row(n, h) + first :], several[row(n, h) + i - 1], count)
            h += 1
