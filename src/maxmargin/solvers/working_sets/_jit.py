"""Compiled functions for steps on working sets, and for their upkeep.

`working_sets` describes the layout and the formula of a block step.

Recurring arguments: `first, count, alpha, value, start, stop, age` are the slots, `room, gram_first, gram` the inner
products of an example's planes (row 0, the row of the truth, holds the diagonal), `index, entry` the pool of plane
entries.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit, largest, prefetch
from maxmargin.core.planes import add_multiple, sparse_dot, sparse_dots

LEFT_OUT = -1e300  # score of a slot that is excluded from a block step
AHEAD = 2  # examples after which those loaded in the background are needed
LINE = 16  # indices in a cache line
SMALLEST_GAP = 1e-13  # relative to the scores of a block; a step for a smaller gap is lost in rounding


@jit
def block_scores(base, used, since, ridge, alpha, value, start, stop, age, score, index, entry, w):
    """Compute the scores s_j of the slots that are active or not older than `since`.

    Returns Σ α (b − a·w), the mass of the planes, the largest score and its slot, the smallest score of the slots with
    α > 0, and the operations.
    """
    present, mass, operations = 0.0, 0.0, 0
    for j in range(1, used):
        s = base + j
        if alpha[s] == 0.0 and age[s] < since:
            score[j] = LEFT_OUT
            continue
        score[j] = value[s] - sparse_dot(index, entry, start[s], stop[s], w)
        present += alpha[s] * score[j]
        mass += alpha[s]
        operations += stop[s] - start[s]
    high, best, low = score_range(base, used, ridge * mass, alpha, score)
    return present, mass, high, best, low, operations


@inlined
def score_range(base, used, price, alpha, score):
    """Subtract the price of mass from the scores and return their range.

    Returns the largest score (at least 0, that of the truth), its slot, and the smallest score of the slots with α > 0.
    """
    score[0], high, best, low = 0.0, 0.0, 0, 1e300
    if alpha[base] > 0.0:
        low = 0.0
    for j in range(1, used):
        if score[j] > LEFT_OUT:
            score[j] -= price
            if score[j] > high:
                high, best = score[j], j
            if alpha[base + j] > 0.0 and score[j] < low:
                low = score[j]
    return high, best, low


@inlined
def block_gap(present, mass, high, ridge, budget):
    """Return the restricted duality gap of one example.

    It is the penalty of the hinge plus the price in the dual, minus Σ α (b − a·w).
    """
    if ridge > 0.0:
        hinge = max(0.0, high + ridge * mass)
        return 0.5 * hinge * hinge / ridge + 0.5 * ridge * mass * mass - present
    return budget * high - present


@inlined
def first_equal(values, wanted, used):
    """Return the first slot after the truth with this value.

    If no slot has the value (because it is not a number), the last slot is returned.
    """
    j = 1
    while j < used - 1 and values[j] != wanted:
        j += 1
    return j


@inlined
def best_mass(rise, square, most):
    """Return the mass g ≤ most that maximises g · rise − ½ g² · square, and the maximum."""
    mass = min(rise / square, most)
    return mass, mass * (rise - 0.5 * mass * square)


@inlined
def best_source(base, used, diagonal, row, best, high, ridge, softness, alpha, gram, score, gain):
    """Return the slot from which moving mass to slot `best` gains most, and the mass to move.

    The mass is 0 if no move gains anything.
    """
    of_best, product = (gram[diagonal + best], 2.0) if best > 0 else (ridge / softness, 0.0)
    most, source, mass = 0.0, 0, 0.0
    if best > 0:
        mass, most = best_mass(high, of_best * softness + ridge, alpha[base])
    first_alpha, first_norm, first_product = np.uint64(base), np.uint64(diagonal), np.uint64(row)
    for j in range(np.uint64(1), np.uint64(used)):  # separate loops so that they vectorise
        square = max((of_best + gram[first_norm + j] - product * gram[first_product + j]) * softness, 1e-300)
        _, gain[j] = best_mass(high - score[j], square, alpha[first_alpha + j])
    greatest = 0.0
    for j in range(np.uint64(1), np.uint64(used)):
        greatest = max(greatest, gain[j])
    if greatest > most:
        source = first_equal(gain, greatest, used)
        square = max((of_best + gram[diagonal + source] - product * gram[row + source]) * softness, 1e-300)
        mass, _ = best_mass(high - score[source], square, alpha[base + source])
    return source, mass


@inlined
def shift_scores(base, used, row, other, rise, gained, lost, alpha, gram, score):
    """Update the scores after a move and return their range.

    Returns the largest score, at least 0, and the smallest score of the slots with mass (the score of the truth is 0).
    """
    first_alpha, first_gained, first_lost = np.uint64(base), np.uint64(row), np.uint64(other)
    high, low = 0.0, 0.0 if alpha[base] > 0.0 else 1e300
    for j in range(
        np.uint64(1), np.uint64(used)
    ):  # an excluded slot stays excluded: its score is so low that no sum changes it
        score[j] -= rise + gained * gram[first_gained + j] - lost * gram[first_lost + j]
    for j in range(np.uint64(1), np.uint64(used)):
        high = max(high, score[j])
    for j in range(np.uint64(1), np.uint64(used)):
        low = min(low, score[j] if alpha[first_alpha + j] > 0.0 else 1e300)
    return high, low


@jit
def block_step(
    base, used, gram_base, room, ridge, w, curvature, clock, moves, best, high, low, alpha, start, stop, age, gram,
    score, change, gain, index, entry,
):  # fmt: skip
    """Make up to `moves` moves of mass and return the operations.

    Each move goes from the slot with the largest gain to the slot with the best score. The scores are updated with the
    Gram matrix, and w once at the end.

    This function is compiled once, not into each caller, which would double the time of a first fit. So all callers
    pass the same types: counts as int64.
    """
    for j in range(used):
        change[j] = 0.0
    tolerance, softness = 0.02 * (high - low), 1.0 / curvature
    for _ in range(moves):
        row = gram_base + best * room
        source, mass = best_source(base, used, gram_base, row, best, high, ridge, softness, alpha, gram, score, gain)
        if mass <= 0.0:
            break
        alpha[base + source] = max(alpha[base + source] - mass, 0.0)
        alpha[base + best] += mass
        change[best] += mass
        change[source] -= mass
        rise, step = ridge * mass * ((best > 0) - (source > 0)), mass * softness
        high, low = shift_scores(
            base, used, row, gram_base + source * room, rise, step * (best > 0), step * (source > 0), alpha, gram, score
        )
        if high - low <= tolerance:
            break
        best = first_equal(score, high, used) if high > 0.0 else 0
    operations = 0
    for j in range(1, used):
        s = base + j
        if alpha[s] > 0.0:
            age[s] = clock
        if change[j] != 0.0:
            operations += stop[s] - start[s]
            add_multiple(index, entry, start[s], stop[s], change[j] * softness, w)
    return operations


@inlined
def fetch_slots(i, first, count, alpha, value, start, stop, age, gram_first, gram):
    """Load the first slots of an example in the background."""
    base = first[i]
    prefetch(count, i)
    prefetch(alpha, base)
    prefetch(value, base)
    prefetch(start, base)
    prefetch(stop, base)
    prefetch(age, base)
    prefetch(gram, gram_first[i])


@inlined
def fetch_plane(first, stop, index, entry):
    """Load a plane in the background."""
    for q in range(first, stop, LINE):
        prefetch(index, q)
        prefetch(entry, q)


@inlined
def fetch_planes(i, since, first, count, alpha, start, stop, age, index, entry):
    """Load the planes of an example in the background: those that are active or not older than `since`."""
    for s in range(first[i] + 1, first[i] + count[i]):
        if alpha[s] != 0.0 or age[s] >= since:
            fetch_plane(start[s], stop[s], index, entry)


@jit
def block_pass(
    order, skip_below, since, w, curvature, clock, moves, first, count, alpha, value, start, stop, age, room,
    gram_first, gram, gap, ridge, budget, index, entry,
):  # fmt: skip
    """Implement `WorkingSets.sweep`."""
    most = largest(room)
    score, change, gain = np.zeros(most), np.zeros(most), np.zeros(most)
    total, operations = 0.0, 0
    for r in range(len(order)):
        i = order[r]
        if r + AHEAD < len(order) and gap[order[r + AHEAD]] > skip_below:
            fetch_planes(order[r + AHEAD], since, first, count, alpha, start, stop, age, index, entry)
        used = np.int64(count[i])
        if used > 1 and gap[i] > skip_below:
            base = first[i]
            present, mass, high, best, low, n = block_scores(
                base, used, since, ridge[i], alpha, value, start, stop, age, score, index, entry, w
            )
            gap[i] = block_gap(present, mass, high, ridge[i], budget[i])
            operations += n
            if high - low > SMALLEST_GAP:
                operations += block_step(
                    base, used, gram_first[i], np.int64(room[i]), ridge[i], w, curvature, clock, moves, best, high, low,
                    alpha, start, stop, age, gram, score, change, gain, index, entry,
                )  # fmt: skip
        total += gap[i]
    return total, operations


@inlined
def write_entries(indices, values, p, q_end, end, scratch, index, entry):
    """Append a plane, whose sums are in `scratch`, to the pool and return the new end.

    A long plane over few weights repeats their indices: its entries are summed if the pool stores the sums exactly.
    """
    first, summed = end, q_end - p > len(scratch)
    if summed:
        for q in range(p, q_end):
            f = indices[q]
            if scratch[f] != 0.0:
                index[end], entry[end] = f, scratch[f]
                summed = summed and entry[end] == scratch[f]
                scratch[f] = 0.0
                end += 1
        for q in range(first, end):
            scratch[index[q]] = entry[q]
    if not summed:
        if end > first:
            for q in range(p, q_end):
                scratch[indices[q]] = 0.0
            add_multiple(indices, values, p, q_end, 1.0, scratch)
        end = first
        for q in range(p, q_end):
            index[end], entry[end] = indices[q], values[q]
            end += 1
    return end


@inlined
def scores_and_products(base, used, ridge, alpha, value, start, stop, score, product, index, entry, w, plane):
    """Compute `block_scores` of all slots together with the inner products of their planes with `plane`."""
    present, mass, operations = 0.0, 0.0, 0
    for j in range(1, used):
        s = base + j
        with_w, product[j] = sparse_dots(index, entry, start[s], stop[s], w, plane)
        score[j] = value[s] - with_w
        present += alpha[s] * score[j]
        mass += alpha[s]
        operations += stop[s] - start[s]
    high, best, low = score_range(base, used, ridge * mass, alpha, score)
    return present, mass, high, best, low, operations


@inlined
def weakest_slot(base, used, alpha, age):
    """Return the slot of least mass, and the oldest of these if there are several."""
    weakest = 1
    for j in range(2, used):
        a_j, a_k = alpha[base + j], alpha[base + weakest]
        if a_j < a_k or (a_j == a_k and age[base + j] < age[base + weakest]):
            weakest = j
    return weakest


@inlined
def write_products(k, used, gram_base, stride, product, gram):
    """Write row and column k of an example's inner products, and its diagonal entry."""
    for j in range(1, used):
        gram[gram_base + k * stride + j] = product[j]
        gram[gram_base + j * stride + k] = product[j]
    gram[gram_base + k] = product[k]


@jit
def insert_planes(
    ids, slot, indptr, indices, values, losses, keys, codes, code_offsets, scratch, end, w, curvature, clock, moves,
    key, first, count, alpha, value, start, stop, age, room, gram_first, gram, gap, ridge, budget, index, entry,
):  # fmt: skip
    """Implement `WorkingSets.insert`."""
    most, everything = largest(room), np.int64(0)
    score, change, gain, product = np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most)
    row, operations = 0, 0
    for r in range(len(ids)):
        i, k = ids[r], slot[r]
        if r + 2 * AHEAD < len(ids):
            fetch_slots(ids[r + 2 * AHEAD], first, count, alpha, value, start, stop, age, gram_first, gram)
        if r + AHEAD < len(ids):
            fetch_planes(ids[r + AHEAD], everything, first, count, alpha, start, stop, age, index, entry)
        base, used, gram_base, stride = first[i], np.int64(count[i]), gram_first[i], np.int64(room[i])
        if k >= 0:
            present, mass, high, best, low, n = block_scores(
                base, used, everything, ridge[i], alpha, value, start, stop, age, score, index, entry, w
            )
            operations += n
            if k > 0:
                age[base + k] = clock
        else:
            p, q_end = indptr[row], indptr[row + 1]
            row += 1
            add_multiple(indices, values, p, q_end, 1.0, scratch)
            present, mass, high, best, low, n = scores_and_products(
                base, used, ridge[i], alpha, value, start, stop, score, product, index, entry, w, scratch
            )
            s = losses[i] - sparse_dot(indices, values, p, q_end, w) - ridge[i] * mass
            operations += 2 * n + q_end - p
            if s > high + 1e-12 * (abs(losses[i]) + high):
                k = used
                if used < stride:
                    used += 1
                else:  # full: drop the oldest inactive plane, or the plane of least mass, which goes to the truth
                    k = weakest_slot(base, used, alpha, age)
                    gone, alpha[base + k] = alpha[base + k], 0.0
                    alpha[base] += gone
                    add_multiple(index, entry, start[base + k], stop[base + k], -gone * (1.0 / curvature), w)
                    present, mass, high, best, low, n = block_scores(
                        base, used, everything, ridge[i], alpha, value, start, stop, age, score, index, entry, w
                    )
                    operations += n
                    s = losses[i] - sparse_dot(indices, values, p, q_end, w) - ridge[i] * mass
                for q in range(code_offsets[i], code_offsets[i + 1]):
                    index[end], entry[end] = np.uint32(codes[q]), 0.0
                    end += 1
                t = base + k
                alpha[t], value[t], age[t], key[t], start[t] = 0.0, losses[i], clock, keys[i], end
                stop[t] = end = write_entries(indices, values, p, q_end, end, scratch, index, entry)
                product[k] = sparse_dot(index, entry, start[t], end, scratch)
                write_products(k, used, gram_base, stride, product, gram)
                score[k] = s
                high, best, low = score_range(base, used, 0.0, alpha, score)
            for q in range(np.uint64(p), np.uint64(q_end)):
                scratch[indices[q]] = 0.0
        count[i] = used
        gap[i] = block_gap(present, mass, high, ridge[i], budget[i])
        if high - low > SMALLEST_GAP:
            operations += block_step(
                base, used, gram_base, stride, ridge[i], w, curvature, clock, moves, best, high, low, alpha, start,
                stop, age, gram, score, change, gain, index, entry,
            )  # fmt: skip
    return end, operations


@inlined
def move_slot(base, source, target, used, alpha, value, start, stop, age, key, room, gram_base, gram):
    """Move slot `source` to slot `target`."""
    s, t = base + source, base + target
    alpha[t], value[t], age[t], key[t] = alpha[s], value[s], age[s], key[s]
    start[t], stop[t] = start[s], stop[s]
    for m in range(used):
        gram[gram_base + target * room + m] = gram[gram_base + source * room + m]
    for m in range(used):
        gram[gram_base + m * room + target] = gram[gram_base + m * room + source]
    gram[gram_base + target * room + target] = gram[gram_base + source * room + source]
    alpha[s], value[s], start[s], stop[s] = 0.0, 0.0, 0, 0


@jit
def match_keys(ids, keys, oldest, slot, first, count, alpha, value, start, stop, age, key, room, gram_first, gram):
    """Implement `WorkingSets.match`."""
    for r in range(len(ids)):
        i = ids[r]
        base, wanted, j = first[i], keys[i], 1
        slot[r] = 0 if wanted == 0 else -1
        while j < count[i]:
            s = base + j
            if alpha[s] == 0.0 and age[s] < oldest and key[s] != wanted:
                last = count[i] - 1
                move_slot(base, last, j, count[i], alpha, value, start, stop, age, key, room[i], gram_first[i], gram)
                count[i] = last
            else:
                if key[s] == wanted:
                    slot[r] = j
                j += 1


@jit
def move_blocks(
    full, rooms, slots_end, gram_end, first, count, alpha, value, start, stop, age, key, room, gram_first, gram
):
    """Move the blocks in `full` to the end, with a capacity of `rooms` slots each."""
    for r in range(len(full)):
        i = full[r]
        base, used, old, new = first[i], count[i], room[i], rooms[r]
        for j in range(used):
            s, t = base + j, slots_end + j
            alpha[t], value[t], start[t], stop[t] = alpha[s], value[s], start[s], stop[s]
            age[t], key[t] = age[s], key[s]
            for m in range(used):
                gram[gram_end + j * new + m] = gram[gram_first[i] + j * old + m]
        first[i], gram_first[i], room[i] = slots_end, gram_end, new
        slots_end += new
        gram_end += new * new
    return slots_end, gram_end


@jit
def live_ends(first, count, start, stop, code_length):
    """Return where the entries and code symbols of the held planes of each example end if nothing lies between them."""
    ends = np.zeros(len(count) + 1, np.int64)
    for i in range(len(count)):
        end = ends[i]
        for s in range(first[i] + 1, first[i] + count[i]):
            end += stop[s] - start[s] + code_length[i]
        ends[i + 1] = end
    return ends


@jit
def move_planes(begin, end, ends, first, count, start, stop, code_length, index, entry, to_index, to_entry):
    """Move the planes of examples begin … end − 1 as `WorkingSets.compact` does."""
    for i in range(begin, end):
        at = ends[i]
        for s in range(first[i] + 1, first[i] + count[i]):
            p, symbols = start[s] - code_length[i], code_length[i]
            length = stop[s] - p
            copy_into(to_index[at : at + length], index[p : p + length])
            copy_into(to_entry[at : at + length], entry[p : p + length])
            start[s], stop[s] = at + symbols, at + length
            at += length


@jit
def recompute_gram(ids, first, count, start, stop, room, gram_first, gram, index, entry, scratch):
    """Recompute the inner products of the planes of ids."""
    for i in ids:
        for j in range(1, count[i]):
            s = first[i] + j
            add_multiple(index, entry, start[s], stop[s], 1.0, scratch)
            for k in range(1, j + 1):
                t = first[i] + k
                g = sparse_dot(index, entry, start[t], stop[t], scratch)
                gram[gram_first[i] + j * room[i] + k] = g
                gram[gram_first[i] + k * room[i] + j] = g
            gram[gram_first[i] + j] = gram[gram_first[i] + j * room[i] + j]
            for q in range(start[s], stop[s]):
                scratch[index[q]] = 0.0


@jit
def scale_alpha(factors, first, count, alpha, budget, unlimited):
    """Implement `WorkingSets.scale_alpha`."""
    for i in range(len(count)):
        mass = 0.0
        for s in range(first[i] + 1, first[i] + count[i]):
            alpha[s] *= factors[i]
            mass += alpha[s]
        alpha[first[i]] = unlimited if budget[i] > 1e299 else max(0.0, budget[i] - mass)


@jit
def add_mass(slots, masses, first, alpha):
    """Add masses[i] to α of slots[i]; `scale_alpha` then sets the share of the truth."""
    for i in range(len(slots)):
        if slots[i] > 0:
            alpha[first[i] + slots[i]] += masses[i]


@jit
def plane_masses(first, count, alpha):
    """Return Σ_j α_ij over the planes of each example."""
    out = np.zeros(len(count))
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            out[i] += alpha[s]
    return out


@jit
def largest_values(first, count, value):
    """Return max_j b_ij over the planes of each example, at least 0."""
    out = np.zeros(len(count))
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            out[i] = max(out[i], value[s])
    return out


@jit
def dual_gain(first, count, alpha, value):
    """Return Σ α b, summed by example."""
    total = 0.0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            total += alpha[s] * value[s]
    return total


@jit
def add_planes(first, count, alpha, start, stop, index, entry, out):
    """Add Σ α a to `out`."""
    for i in range(len(count)):
        j = min(i + AHEAD, len(count) - 1)
        for s in range(first[j] + 1, first[j] + count[j]):
            if alpha[s] != 0.0:
                fetch_plane(start[s], stop[s], index, entry)
        for s in range(first[i] + 1, first[i] + count[i]):
            if alpha[s] != 0.0:
                add_multiple(index, entry, start[s], stop[s], alpha[s], out)


@jit
def sum_slots(slots, coefficients, first, start, stop, index, entry, out):
    """Add Σ_i coefficients[i] a of slots[i] to `out`; the truth adds nothing."""
    for i in range(len(slots)):
        if slots[i] > 0:
            s = first[i] + slots[i]
            add_multiple(index, entry, start[s], stop[s], coefficients[i], out)


@jit
def best_slots(ids, first, count, value, start, stop, index, entry, w):
    """Return max_j b_j − a_j·w over the held planes of each example in ids, at least 0, and its slot."""
    hinges, slots = np.zeros(len(ids)), np.zeros(len(ids), np.int32)
    for r in range(len(ids)):
        base = first[ids[r]]
        for j in range(1, count[ids[r]]):
            s = base + j
            score = value[s] - sparse_dot(index, entry, start[s], stop[s], w)
            if score > hinges[r]:
                hinges[r], slots[r] = score, j
    return hinges, slots


@jit
def weighted_norms(ids, by_alpha, first, count, alpha, value, gram_first, gram):
    """Return Σ g ‖a‖² and Σ g b over the planes of ids, with g = α or 1."""
    squares, values = 0.0, 0.0
    for i in ids:
        for j in range(1, count[i]):
            g = alpha[first[i] + j] if by_alpha else 1.0
            squares += g * gram[gram_first[i] + j]
            values += g * value[first[i] + j]
    return squares, values


@jit
def copy_alpha(ids, first, room, alpha, out):
    """Implement `WorkingSets.copied_alpha`."""
    p = 0
    for i in ids:
        for s in range(first[i], first[i] + room[i]):
            out[p] = alpha[s]
            p += 1


@jit
def mix_alpha(ids, before, share, first, room, alpha):
    """Implement `WorkingSets.keep_share`."""
    p = 0
    for i in ids:
        for s in range(first[i], first[i] + room[i]):
            alpha[s] = max(before[p] + share * (alpha[s] - before[p]), 0.0)
            p += 1


@jit
def add_changes(
    ids, before, touched, n_touched, marks, first, count, room, alpha, value, start, stop, ridge, index, entry, out
):
    """Implement `WorkingSets.add_changes`."""
    gain, slope, curve, p, n, noting = 0.0, 0.0, 0.0, 0, n_touched, len(marks) > 0
    for i in ids:
        mass, more = 0.0, 0.0
        for j in range(1, count[i]):
            s = first[i] + j
            change = alpha[s] - before[p + j]
            mass += before[p + j]
            more += change
            if change != 0.0:
                gain += change * value[s]
                add_multiple(index, entry, start[s], stop[s], change, out)
                if noting:
                    for q in range(np.uint64(start[s]), np.uint64(stop[s])):
                        f = index[q]
                        if marks[f] == 0:
                            marks[f] = 1
                            touched[n] = f
                            n += 1
        slope += ridge[i] * mass * more
        curve += ridge[i] * more * more
        p += room[i]
    return gain, slope, curve, n
