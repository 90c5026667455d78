"""Sums over all structures: log-partition, expected terms, pair probabilities and samples.

The recursion is that of `_jit.py` with sums of products in place of maxima of sums; each structure has one derivation.
Expected numbers of terms are the derivatives of log Z by their scores, so rows are gone through once more, in reverse
order (the outside algorithm). Both directions take O(n³ + n² · longest loop) steps in vectorised loops.

Sums are kept as numbers, divided by exp(rate) for each base. The rate is 0 at first, and becomes the mean of log Z per
base so far whenever numbers leave their range. Entries below `TINY` are raised to it, so nothing is lost by
underflow; the probability of such entries, which is an upper bound on the error, is known afterwards. If it is not
negligible, or if scores are large, the sequence is summed in logarithms (`_log_sums.py`), which takes longer.

`joined[i, j]` is the sum over two branches or more of a multi-loop from i to j. The other arguments are those of
`_jit.py`; scores of terms are concatenated (`FoldingTerms.flat_scores`).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import draw, uniform
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.folding._jit import AFTER, CLOSED, most_options, next_nodes, options
from maxmargin.structures.folding._log_sums import add_expected, fill_logs
from maxmargin.structures.folding._scores import (
    B1,
    BP,
    CL,
    D3,
    D5,
    HM,
    I11,
    IM,
    LONGEST_HAIRPIN,
    N_LETTERS,
    SMALL,
    ST,
    SYMBOLS,
    row,
    tables_in,
    view,
)  # fmt: skip
from maxmargin.structures.folding._sum_loops import (
    TAIL,
    back_branches,
    back_bulges,
    back_interior,
    back_join,
    bulge_sums,
    interior_sums,
    join_sums,
)  # fmt: skip

#: Least entry of a table, and the greatest: their products are numbers too.
TINY, HUGE = 1e-140, 1e140
#: Most that the scores of one loop and of its branch may add up to: exp(300) · HUGE is a number.
MOST_SCORE = 300.0
#: Most probability of entries that were raised to `TINY`.
MOST_LOST = 1e-12
#: Trials to find the rate.
MOST_TRIALS = 5
#: Rows whose interior loops are summed again, and kept, at a time.
BLOCK = 32


@inlined
def outer_factor(x, i, j, letters):
    """Return exp of the score of the pair (i, j) as a branch."""
    pair = x[j] * SYMBOLS + x[i]
    factor = letters[CL + pair]
    if j + 1 < len(x):
        factor *= letters[D3 + pair * SYMBOLS + x[j + 1]]
    if i > 0:
        factor *= letters[D5 + pair * SYMBOLS + x[i - 1]]
    return factor


@inlined
def inner_factor(x, i, j, letters):
    """Return exp of the score of the pair (i, j) as it closes a multi-loop, without its end."""
    pair = x[i] * SYMBOLS + x[j]
    return letters[D3 + pair * SYMBOLS + x[i + 1]] * letters[D5 + pair * SYMBOLS + x[j - 1]]


@inlined
def exp_of(score):
    """Return exp(score), without computing it for 0."""
    return 1.0 if score == 0.0 else np.exp(score)


@jit
def largest_loop(flat, most):
    """Return an upper bound on the absolute score of a loop with its pairs, without scores of pairs."""
    letters, hairpin, bulge, size, skew, small, loops = tables_in(flat, most)
    total = 0.0
    for first, stop in (
        (BP, ST),
        (ST, CL),
        (CL, HM),
        (HM, IM),
        (IM, D3),
        (D3, D5),
        (D5, B1),
        (B1, I11),
        (I11, N_LETTERS),
    ):
        total += (3.0 if first == CL else 2.0) * largest(letters[first:stop])
    shape = max(largest(hairpin), largest(bulge), largest(size) + largest(skew), largest(small.ravel()))
    for score in loops:
        total += abs(score)
    return total + shape


@jit
def largest(scores):
    """Return the greatest absolute value, without −∞."""
    most = 0.0
    for score in scores:
        if score > -np.inf:
            most = max(most, abs(score))
    return most


@jit
def scale(flat, most, n, rate, hair, factors):
    """Write the factors of lengths and loops, divided by exp(rate) for each of their bases."""
    _, hairpin, bulge, size, skew, small, loops = tables_in(flat, most)
    _, _, by_bulge, by_size, by_skew, by_small, by_loops = tables_in(factors, most)
    for length in range(n):
        hair[length] = np.exp(hairpin[min(length, LONGEST_HAIRPIN)] - rate * (length + 2))
    for length in range(most + 1):
        by_bulge[length] = np.exp(bulge[length] - rate * (length + 2))
        by_size[length] = np.exp(size[length] - rate * (length + 2))
    for difference in range(len(skew)):
        by_skew[difference] = np.exp(skew[difference])
    for left in range(SMALL + 1):
        for right in range(SMALL + 1):
            by_small[left, right] = np.exp(small[left, right] - rate * (left + right + 2))
    by_loops[0] = np.exp(loops[0] + loops[2] - 2.0 * rate)  # the pair that closes a multi-loop is a branch of it
    by_loops[1], by_loops[2] = np.exp(loops[1] - rate), np.exp(loops[2])
    by_loops[3], by_loops[4] = np.exp(loops[3] - rate), np.exp(loops[4])


@jit
def fill_sums(x, pairs, least, most, squeeze, hair, factors, closed, single, several, joined, after):
    """Fill the tables, rows from the last to the first; return the row where numbers leave the range, and a number.

    The row is −1 if none does. `squeeze` is exp(−2 rate).
    """
    n = len(x)
    letters, _, bulge, size, skew, small, loops = tables_in(factors, most)
    most = min(most, n)
    pads, ring = most + 8, most + 8
    inside, edge = np.zeros((ring, n + pads)), np.zeros((ring, n + pads))
    sizes, none = np.empty((2, most + 1, n + 1)), np.zeros(n + 1)
    interior, bulged, from_single = np.empty(n), np.empty(n), np.zeros(n)
    bulge, size = bulge[: most + 1], size[: most + 1]
    multi, unpaired, branch = loops[0], loops[1], loops[2]
    after[n] = 1.0
    for i in range(n - 1, -1, -1):
        at, below, now, before, mine = row(n, i), row(n, i + 1), i % 2, (i + 1) % 2, i % ring
        for j in range(i, n):
            closed[at + j] = single[at + j] = several[at + j] = joined[at + j] = 0.0
            interior[j] = bulged[j] = 0.0
        for t in range(n + pads):
            inside[mine, t] = edge[mine, t] = 0.0
        after[i] = after[i + 1] * loops[3]
        if i + least + 1 < n:
            interior_sums(i, n, least, pads, inside, sizes[now], sizes[before], none, size, skew, small, interior)
            bulge_sums(i, n, least, pads, edge, bulge, bulged)
        best, high = 0.0, after[i]
        for j in range(i + least + 1, n):
            best *= unpaired
            pair = x[i] * SYMBOLS + x[j]
            if letters[BP + pair] > 0.0 and pairs[at + j] > -np.inf:
                end = letters[CL + pair]
                score = hair[j - i - 1] * end
                if j >= i + 2:
                    seen = view(x, i, j, i + 1, j - 1)
                    mismatch = end * letters[IM + seen]
                    score *= letters[HM + seen]
                    score += closed[below + j - 1] * letters[ST + seen] * squeeze
                    score += bulged[j] * end + interior[j] * mismatch
                    score += (bulge[1] * end) * (
                        edge[(i + 2) % ring, pads + j - 1] * letters[B1 + x[i + 1]]
                        + edge[(i + 1) % ring, pads + j - 2] * letters[B1 + x[j - 1]]
                    )
                    both = letters[I11 + x[i + 1] * SYMBOLS + x[j - 1]]
                    score += inside[(i + 2) % ring, pads + j - 2] * small[1, 1] * both * mismatch
                    score += joined[below + j - 1] * multi * end * inner_factor(x, i, j, letters)
                score = max(score * letters[BP + pair] * exp_of(pairs[at + j]), TINY)
                closed[at + j], high = score, max(high, score)
                end = letters[CL + x[j] * SYMBOLS + x[i]]
                edge[mine, pads + j] = score * end
                if i > 0 and j + 1 < n:
                    inside[mine, pads + j] = score * end * letters[IM + view(x, j, i, j + 1, i - 1)]
                score *= outer_factor(x, i, j, letters)
                best += score * branch
                after[i] += score * loops[4] * after[j + 1]
            best = max(best, TINY)
            single[at + j] = best
        if i + least + 1 < n:
            for j in range(i + least + 1, n):
                from_single[j] = single[at + j] + from_single[j] * unpaired
            join_sums(i, n, least, from_single, single, several, joined)
            for j in range(i + least + 1, n):
                high = max(high, several[at + j])
        high = max(high, after[i])
        if high >= HUGE:
            return i, high
        if after[i] <= TINY:
            return i, after[i]
    return -1, 0.0


@jit
def fill_ends(p, x, letters, closed, pads, inside, edge):
    """Write row p of `inside` and `edge`, from `closed`."""
    n, mine = len(x), p % len(inside)
    for t in range(n + pads):
        inside[mine, t] = edge[mine, t] = 0.0
    if p >= n:
        return
    at = row(n, p)
    for q in range(p + 1, n):
        if closed[at + q] > 0.0:
            value = closed[at + q] * letters[CL + x[q] * SYMBOLS + x[p]]
            edge[mine, pads + q] = value
            if p > 0 and q + 1 < n:
                inside[mine, pads + q] = value * letters[IM + view(x, q, p, q + 1, p - 1)]


@jit
def expected_by_slopes(
    x, pairs, least, most, squeeze, hair, factors, closed, single, several, joined, after, found, probable
):
    """Write the expected numbers of terms to `found` and pair probabilities to `probable`, given filled tables.

    Rows of `joined` are replaced by slopes, the derivatives of log Z. Returns the probability of entries that were
    raised to `TINY`.
    """
    n, lost, in_loops, in_pairs = len(x), 0.0, 0.0, 0.0
    letters, _, bulge, size, skew, small, loops = tables_in(factors, most)
    n_letters, n_hairpin, n_bulge, n_size, n_skew, n_small, n_loops = tables_in(found, most)
    most = min(most, n)
    bulge, size = bulge[: most + 1], size[: most + 1]
    multi, unpaired, branch = loops[0], loops[1], loops[2]
    pads, rows, warm, block = most + 8, most + 8, most // 2, min(BLOCK, n)
    ring = block + warm + most + 4
    inside, edge = np.empty((ring, n + pads)), np.empty((ring, n + pads))
    inside_slopes, edge_slopes = np.zeros((rows, n + pads)), np.zeros((rows, n + pads))
    kept, blank = np.empty((block + warm + 1, most + 1, n + 1)), np.zeros((most + 1, n + 1))
    interior, unused, none = np.empty((block, n)), np.empty(n), np.zeros(n + TAIL)
    size_slopes = np.zeros((2, most + 1, n + TAIL))
    of_interior, of_bulged = np.zeros(n + TAIL), np.zeros(n + TAIL)
    up, stacked = np.zeros((2, n)), np.zeros((2, n))
    of_several, of_from, of_single, of_after = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n + 1)
    of_after[0] = 1.0 / after[0]
    for p in range(ring - block):
        fill_ends(p, x, letters, closed, pads, inside, edge)
    for i in range(n):
        k = i % block
        if k == 0:
            for p in range(i + ring - block, i + ring):
                fill_ends(p, x, letters, closed, pads, inside, edge)
            top = min(i + block + warm, n) - 1
            for p in range(top, i - 1, -1):
                longest = most - 2 * max(p - (i + block - 1), 0)
                total = interior[p - i] if p < i + block else unused
                for j in range(n):
                    total[j] = 0.0
                interior_sums(
                    p, n, least, pads, inside, kept[p - i], blank if p == top else kept[p - i + 1], none,
                    size[: longest + 1], skew, small, total,
                )  # fmt: skip
        at, below, now, then, mine = row(n, i), row(n, i + 1), i % 2, (i + 1) % 2, i % rows
        of_after[i + 1] += of_after[i] * loops[3]
        n_loops[3] += of_after[i] * loops[3] * after[i + 1]
        if i + least + 1 >= n:
            continue
        back_join(i, n, least, up[now], single, of_several, joined)
        for j in range(i + least + 1, n):
            of_from[j] = of_several[j] + of_from[j] * unpaired
            of_single[j] = of_from[j]
        back_branches(i, n, least, several, joined, of_single)
        for j in range(n):
            up[then, j] = stacked[then, j] = of_interior[j] = of_bulged[j] = 0.0
        slope = 0.0
        for j in range(n - 1, i + least, -1):
            slope = of_single[j] + slope * unpaired
            if single[at + j] == TINY:
                lost += slope * TINY
            value = closed[at + j]
            if value == 0.0:
                continue
            back = x[j] * SYMBOLS + x[i]
            outer = outer_factor(x, i, j, letters)
            as_branch, outside = slope * outer * branch, of_after[i] * outer * loops[4]
            of_after[j + 1] += outside * value
            outside *= after[j + 1]
            end = letters[CL + back]
            as_edge = edge_slopes[mine, pads + j] * end
            as_inside = inside_slopes[mine, pads + j] * end
            if i > 0 and j + 1 < n:
                seen = IM + view(x, j, i, j + 1, i - 1)
                as_inside *= letters[seen]
                n_letters[seen] += as_inside * value
            total = as_branch + outside + as_edge + as_inside + stacked[now, j]
            p = total * value
            probable[at + j] = p
            if value == TINY:
                lost += p
            in_pairs += p
            n_loops[2] += as_branch * value
            n_loops[4] += outside * value
            n_letters[CL + back] += (total - stacked[now, j]) * value
            if j + 1 < n:
                n_letters[D3 + back * SYMBOLS + x[j + 1]] += (as_branch + outside) * value
            if i > 0:
                n_letters[D5 + back * SYMBOLS + x[i - 1]] += (as_branch + outside) * value
            pair = x[i] * SYMBOLS + x[j]
            n_letters[BP + pair] += p
            total *= letters[BP + pair] * exp_of(pairs[at + j])
            end = total * letters[CL + pair]
            share = end * hair[j - i - 1]
            if j == i + 1:
                n_hairpin[0] += share
                n_letters[CL + pair] += p
                continue
            seen = view(x, i, j, i + 1, j - 1)
            share *= letters[HM + seen]
            n_hairpin[min(j - i - 1, LONGEST_HAIRPIN)] += share
            in_loops += share * (j - i - 1)
            n_letters[HM + seen] += share
            share = total * letters[ST + seen] * squeeze
            stacked[then, j - 1] = share
            share *= closed[below + j - 1]
            n_letters[ST + seen] += share
            n_letters[CL + pair] += p - share  # all other loops have the term
            of_bulged[j] = end
            base = bulge[1] * end * letters[B1 + x[i + 1]]
            share = base * edge[(i + 2) % ring, pads + j - 1]
            edge_slopes[(i + 2) % rows, pads + j - 1] += base
            n_letters[B1 + x[i + 1]] += share
            n_bulge[1] += share
            base = bulge[1] * end * letters[B1 + x[j - 1]]
            share = base * edge[(i + 1) % ring, pads + j - 2]
            edge_slopes[(i + 1) % rows, pads + j - 2] += base
            n_letters[B1 + x[j - 1]] += share
            n_bulge[1] += share
            mismatch = end * letters[IM + seen]
            of_interior[j] = mismatch
            both = I11 + x[i + 1] * SYMBOLS + x[j - 1]
            base = mismatch * small[1, 1] * letters[both]
            share = base * inside[(i + 2) % ring, pads + j - 2]
            inside_slopes[(i + 2) % rows, pads + j - 2] += base
            n_letters[both] += share
            n_small[1, 1] += share
            n_letters[IM + seen] += share + mismatch * interior[k, j]
            base = end * multi * inner_factor(x, i, j, letters)
            up[then, j - 1] = base
            share = base * joined[below + j - 1]
            n_loops[0] += share
            n_loops[2] += share
            n_letters[D3 + pair * SYMBOLS + x[i + 1]] += share
            n_letters[D5 + pair * SYMBOLS + x[j - 1]] += share
        for t in range(n + pads):
            inside_slopes[mine, t] = edge_slopes[mine, t] = 0.0
        back_interior(
            i, n, least, pads, of_interior, inside, inside_slopes, kept[k], size_slopes[now], size_slopes[then], none,
            size, skew, small, n_size, n_skew, n_small,
        )  # fmt: skip
        back_bulges(i, n, least, pads, of_bulged, edge, edge_slopes, bulge, n_bulge)
    for length in range(1, most + 1):
        in_loops += length * (n_bulge[length] + n_size[length])
    for left in range(1, SMALL + 1):
        for right in range(1, SMALL + 1):
            in_loops += (left + right) * n_small[left, right]
    # every base is in a pair, outside of all pairs, or in one of these loops
    n_loops[1] = max(n - 2.0 * in_pairs - n_loops[3] - in_loops, 0.0)
    return lost


@inlined
def sum_scaled(
    x, pairs, least, most, flat, bound, hair, factors, closed, single, several, joined, after, found, probable
):
    """Write expected terms and pair probabilities; return log Z, the rate, and whether they are right."""
    n, rate = len(x), 0.0
    bound += 2.0 * largest(pairs)
    for _ in range(MOST_TRIALS):
        if not bound + abs(rate) * (min(most, n) + 4) <= MOST_SCORE:
            break
        scale(flat, most, n, rate, hair, factors)
        squeeze = np.exp(-2.0 * rate)
        i, value = fill_sums(x, pairs, least, most, squeeze, hair, factors, closed, single, several, joined, after)
        if i >= 0:
            if value == np.inf or value == 0.0:
                break
            rate += np.log(value) / (n - i)
            continue
        log_z = np.log(after[0]) + rate * n
        lost = expected_by_slopes(
            x, pairs, least, most, squeeze, hair, factors, closed, single, several, joined, after, found, probable
        )
        return log_z, rate, lost <= MOST_LOST
    return 0.0, 0.0, False


@jit
def exp_letters(flat, factors):
    """Write exp of the scores that depend on bases."""
    for t in range(N_LETTERS):
        factors[t] = np.exp(flat[t])


@jit
def sum_structures(
    begin, ids, symbols, offsets, pairs, starts, least, most, flat, coefficients, log_partitions, expected_scores,
    counts, pair_sums,
):  # fmt: skip
    """Write log Z and E[score] of each example; add coefficient · marginals of terms, and write those of pairs.

    Begins with the given example, and returns the first one that must be summed in logarithms (`sum_in_logs`), which
    few are: that function is compiled only if there is one.
    """
    longest = 0
    for i in ids:
        longest = max(longest, offsets[i + 1] - offsets[i])
    packed = longest * (longest + 1) // 2
    closed, single, several, joined = np.empty(packed), np.empty(packed), np.empty(packed), np.empty(packed)
    after, hair, expected = np.empty(longest + 1), np.empty(longest), np.empty(len(flat))
    factors, bound = np.empty(len(flat)), largest_loop(flat, most)
    exp_letters(flat, factors)
    for r in range(begin, len(ids)):
        x, own = symbols[offsets[ids[r]] : offsets[ids[r] + 1]], pairs[starts[r] : starts[r + 1]]
        probable = pair_sums[starts[r] : starts[r + 1]]
        for t in range(len(flat)):
            expected[t] = 0.0
        log_z, _, right = sum_scaled(
            x, own, least, most, flat, bound, hair, factors, closed, single, several, joined, after, expected, probable
        )
        if not right:
            return r
        log_partitions[r] = log_z
        expected_scores[r] = add_expected(expected, flat, probable, own, coefficients[r], counts)
    return len(ids)


@jit
def logs_of(n, rate, closed, single, several, after):
    """Replace the sums of scaled tables by their logarithms."""
    for i in range(n):
        at = row(n, i)
        for j in range(i, n):
            shift = rate * (j - i + 1)
            closed[at + j] = np.log(closed[at + j]) + shift
            single[at + j] = np.log(single[at + j]) + shift
            several[at + j] = np.log(several[at + j]) + shift
    for i in range(n + 1):
        after[i] = np.log(after[i]) + rate * (n - i)


@jit
def sample_structures(ids, ends, symbols, offsets, pairs, starts, least, most, flat, seeds, codes):
    """Write structures drawn from the distribution of each example, one row of `codes` for each sample.

    `codes` holds −1. If there is no structure, the first symbol of the code is `NO_OUTPUT`.
    """
    longest = 0
    for i in ids:
        longest = max(longest, offsets[i + 1] - offsets[i])
    packed = longest * (longest + 1) // 2
    closed, single, several, joined = np.empty(packed), np.empty(packed), np.empty(packed), np.empty(packed)
    after, hair, expected, probable = np.empty(longest + 1), np.empty(longest), np.empty(len(flat)), np.empty(packed)
    factors, bound = np.empty(len(flat)), largest_loop(flat, most)
    exp_letters(flat, factors)
    letters, hairpin, bulge, size, skew, small, loops = tables_in(flat, most)
    room = most_options(longest, most)
    values, heads = np.empty(room), np.empty((room, 2), np.int64)
    waiting, state = np.empty((2 * longest + 4, 3), np.int64), np.zeros(1, np.uint64)
    for r in range(len(ids)):
        x, own = symbols[offsets[ids[r]] : offsets[ids[r] + 1]], pairs[starts[r] : starts[r + 1]]
        n = len(x)
        _, rate, right = sum_scaled(
            x, own, least, most, flat, bound, hair, factors, closed, single, several, joined, after, expected, probable
        )
        if right:
            logs_of(n, rate, closed, single, several, after)
        else:
            fill_logs(x, own, least, most, flat, closed, single, several, joined, after)
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            code = codes[m, ends[r] : ends[r + 1]]
            if after[0] == -np.inf:
                code[0] = NO_OUTPUT
                continue
            waiting[0, 0], waiting[0, 1], waiting[0, 2] = AFTER, 0, 0
            top = 1
            while top > 0:
                top -= 1
                kind, i, j = waiting[top, 0], waiting[top, 1], waiting[top, 2]
                if kind == AFTER and i >= n:
                    continue
                if kind == CLOSED:
                    code[i], code[j] = j, i
                number = options(
                    kind, i, j, x, own, least, letters, hairpin, bulge, size, skew, small, loops, closed, single,
                    several, after, values, heads,
                )  # fmt: skip
                t = draw(values, number, uniform(state))
                if t < 0:  # a node that was raised to TINY has no derivation: begin again
                    for k in range(n):
                        code[k] = -1
                    waiting[0, 0], waiting[0, 1], waiting[0, 2] = AFTER, 0, 0
                    top = 1
                    continue
                top += next_nodes(kind, i, j, heads[t, 0], heads[t, 1], waiting[top:])
