"""Kernels over working sets: see `working_sets` for the layout and the formula of a block step.

Arguments that recur: `first, count, alpha, value, start, stop, age` are the slots, `room, gram_first, gram` the inner
products of an example's planes (row 0, the truth's, holds the diagonal), `index, entry` the pool of plane entries.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel
from maxmargin.planes import add_multiple, sparse_dot, sparse_dots

LEFT_OUT = -1e300  # score of a slot that takes no part in a block step
SMALLEST_GAP = 1e-13  # relative to the scores of a block: below it a step is lost in rounding


@inlined
def block_scores(base, used, since, ridge, alpha, value, start, stop, age, score, index, entry, w):
    """Scores s_j of the slots that are active or not older than `since`.

    Returns Σ α (b − a·w), the mass of the planes, the largest score and its slot, the least over α > 0, operations.
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
    """Take the price of mass off the scores; the largest (at least the truth's 0), its slot, the least over α > 0."""
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
    """Restricted duality gap of one example: penalty of its hinge plus the dual's price, less Σ α (b − a·w)."""
    if ridge > 0.0:
        hinge = max(0.0, high + ridge * mass)
        return 0.5 * hinge * hinge / ridge + 0.5 * ridge * mass * mass - present
    return budget * high - present


@inlined
def first_equal(values, wanted, used):
    """The first slot after the truth's with this value, the last one where none has it (what is not a number)."""
    j = 1
    while j < used - 1 and values[j] != wanted:
        j += 1
    return j


@inlined
def best_source(base, used, diagonal, row, best, high, ridge, softness, alpha, gram, score, gain):
    """From which slot most is gained by moving mass to slot `best`, and how much mass; no mass where nothing is."""
    of_best, product = (gram[diagonal + best], 2.0) if best > 0 else (ridge / softness, 0.0)
    most, source, mass = 0.0, 0, 0.0
    if best > 0:
        q = of_best * softness + ridge
        mass = min(high / q, alpha[base])
        most = mass * (high - 0.5 * mass * q)
    first_alpha, first_norm, first_product = np.uint64(base), np.uint64(diagonal), np.uint64(row)
    for j in range(np.uint64(1), np.uint64(used)):  # loops apart from each other, so that they vectorise
        d = high - score[j]
        q = max((of_best + gram[first_norm + j] - product * gram[first_product + j]) * softness, 1e-300)
        g = min(d / q, alpha[first_alpha + j])
        gain[j] = g * (d - 0.5 * g * q)
    greatest = 0.0
    for j in range(np.uint64(1), np.uint64(used)):
        greatest = max(greatest, gain[j])
    if greatest > most:
        source = first_equal(gain, greatest, used)
        d = high - score[source]
        q = max((of_best + gram[diagonal + source] - product * gram[row + source]) * softness, 1e-300)
        mass = min(d / q, alpha[base + source])
    return source, mass


@inlined
def shift_scores(base, used, row, other, rise, gained, lost, alpha, gram, score):
    """The scores after a move; the highest, at least 0, and the lowest of the slots with mass (the truth's is 0)."""
    first_alpha, first_gained, first_lost = np.uint64(base), np.uint64(row), np.uint64(other)
    high, low = 0.0, 0.0 if alpha[base] > 0.0 else 1e300
    for j in range(np.uint64(1), np.uint64(used)):  # a slot left out stays so: no sum matters to its score
        score[j] -= rise + gained * gram[first_gained + j] - lost * gram[first_lost + j]
    for j in range(np.uint64(1), np.uint64(used)):
        high = max(high, score[j])
    for j in range(np.uint64(1), np.uint64(used)):
        low = min(low, score[j] if alpha[first_alpha + j] > 0.0 else 1e300)
    return high, low


@inlined
def block_step(
    base, used, gram_base, room, ridge, w, curvature, clock, moves, best, high, low, alpha, start, stop, age, gram,
    score, change, gain, index, entry,
):  # fmt: skip
    """Up to `moves` moves of mass, each from the slot where most is gained to the slot of best score; operations.

    The scores follow through the Gram matrix; w gets the sum at the end.
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


@kernel
def block_pass(
    order, skip_below, since, w, curvature, clock, moves, first, count, alpha, value, start, stop, age, room,
    gram_first, gram, gap, ridge, budget, index, entry,
):  # fmt: skip
    """See `WorkingSets.sweep`."""
    most = room.max()
    score, change, gain = np.zeros((3, most))
    total, operations = 0.0, 0
    for i in order:
        used = count[i]
        if used > 1 and gap[i] > skip_below:
            base = first[i]
            present, mass, high, best, low, n = block_scores(
                base, used, since, ridge[i], alpha, value, start, stop, age, score, index, entry, w
            )
            gap[i] = block_gap(present, mass, high, ridge[i], budget[i])
            operations += n
            if high - low > SMALLEST_GAP:
                operations += block_step(
                    base, used, gram_first[i], room[i], ridge[i], w, curvature, clock, moves, best, high, low, alpha,
                    start, stop, age, gram, score, change, gain, index, entry,
                )  # fmt: skip
        total += gap[i]
    return total, operations


@kernel
def match_keys(ids, keys, oldest, slot, first, count, alpha, value, start, stop, age, key, room, gram_first, gram):
    """See `WorkingSets.match`."""
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


@inlined
def move_slot(base, source, target, used, alpha, value, start, stop, age, key, room, gram_base, gram):
    """Put slot `source` in the place of slot `target`."""
    s, t = base + source, base + target
    alpha[t], value[t], age[t], key[t] = alpha[s], value[s], age[s], key[s]
    start[t], stop[t] = start[s], stop[s]
    for m in range(used):
        gram[gram_base + target * room + m] = gram[gram_base + source * room + m]
    for m in range(used):
        gram[gram_base + m * room + target] = gram[gram_base + m * room + source]
    gram[gram_base + target * room + target] = gram[gram_base + source * room + source]
    alpha[s], value[s], start[s], stop[s] = 0.0, 0.0, 0, 0


@inlined
def write_entries(indices, values, p, q_end, end, scratch, index, entry):
    """Put a plane, whose sums are in `scratch`, at the end of the pool; the new end.

    A long plane over few weights names them again and again: its entries are summed, where the pool holds the sums
    exactly.
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
    """`block_scores` of all slots, and the inner products of their planes with one more, in the same go."""
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


@kernel
def insert_planes(
    ids, slot, indptr, indices, values, losses, keys, codes, code_offsets, scratch, end, w, curvature, clock, moves,
    most_slots, key, first, count, alpha, value, start, stop, age, room, gram_first, gram, gap, ridge, budget, index,
    entry,
):  # fmt: skip
    """See `WorkingSets.insert`."""
    most = room.max()
    score, change, gain, product = np.zeros((4, most))
    row, operations = 0, 0
    for r in range(len(ids)):
        i, k = ids[r], slot[r]
        base, used, gram_base, stride = first[i], count[i], gram_first[i], room[i]
        if k >= 0:
            present, mass, high, best, low, n = block_scores(
                base, used, 0, ridge[i], alpha, value, start, stop, age, score, index, entry, w
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
                else:  # full: the oldest inactive plane goes, else the one of least mass, which the truth takes
                    k = 1
                    for j in range(2, used):
                        a_j, a_k = alpha[base + j], alpha[base + k]
                        if a_j < a_k or (a_j == a_k and age[base + j] < age[base + k]):
                            k = j
                    gone, alpha[base + k] = alpha[base + k], 0.0
                    alpha[base] += gone
                    add_multiple(index, entry, start[base + k], stop[base + k], -gone * (1.0 / curvature), w)
                    present, mass, high, best, low, n = block_scores(
                        base, used, 0, ridge[i], alpha, value, start, stop, age, score, index, entry, w
                    )
                    operations += n
                    s = losses[i] - sparse_dot(indices, values, p, q_end, w) - ridge[i] * mass
                slot_k = base + k
                for q in range(code_offsets[i], code_offsets[i + 1]):
                    index[end], entry[end] = np.uint32(codes[q]), 0.0
                    end += 1
                alpha[slot_k], value[slot_k], age[slot_k], key[slot_k] = 0.0, losses[i], clock, keys[i]
                start[slot_k] = end
                end = write_entries(indices, values, p, q_end, end, scratch, index, entry)
                stop[slot_k] = end
                product[k] = sparse_dot(index, entry, start[slot_k], end, scratch)
                for j in range(1, used):
                    gram[gram_base + k * stride + j] = product[j]
                    gram[gram_base + j * stride + k] = product[j]
                gram[gram_base + k] = product[k]
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


@kernel
def move_blocks(
    full, rooms, slots_end, gram_end, first, count, alpha, value, start, stop, age, key, room, gram_first, gram
):
    """Move the blocks in `full` behind the others, with `rooms` slots each."""
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


@kernel
def gram_anew(ids, first, count, start, stop, room, gram_first, gram, index, entry, scratch):
    """The inner products of the planes of ids."""
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


@kernel
def live_entries(first, count, start, stop, code_length):
    """Entries and code symbols of all planes held."""
    total = 0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            total += stop[s] - start[s] + code_length[i]
    return total


@kernel
def move_planes(first, count, start, stop, code_length, index, entry, to_index, to_entry):
    """See `WorkingSets.compact`."""
    end = 0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            p, length = start[s] - code_length[i], stop[s] - start[s]
            for q in range(p, stop[s]):
                to_index[end], to_entry[end] = index[q], entry[q]
                end += 1
            start[s], stop[s] = end - length, end
    return end


@kernel
def plane_masses(first, count, alpha):
    """Σ_j α_ij over the planes of each example."""
    out = np.zeros(len(count))
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            out[i] += alpha[s]
    return out


@kernel
def best_slots(ids, first, count, value, start, stop, index, entry, w):
    """max_j b_j − a_j·w over the planes held for each of ids, at least 0; its slot (0: the truth)."""
    hinges, slots = np.zeros(len(ids)), np.zeros(len(ids), np.int32)
    for r in range(len(ids)):
        base = first[ids[r]]
        for j in range(1, count[ids[r]]):
            s = base + j
            score = value[s] - sparse_dot(index, entry, start[s], stop[s], w)
            if score > hinges[r]:
                hinges[r], slots[r] = score, j
    return hinges, slots


@kernel
def sum_slots(slots, coefficients, first, start, stop, index, entry, out):
    """out += Σ_i coefficients[i] a of slots[i]; the truth adds nothing."""
    for i in range(len(slots)):
        if slots[i] > 0:
            s = first[i] + slots[i]
            add_multiple(index, entry, start[s], stop[s], coefficients[i], out)


@kernel
def add_mass(slots, masses, first, alpha):
    """α += masses[i] on slots[i]; the truth's share is settled by `scale_alpha`."""
    for i in range(len(slots)):
        if slots[i] > 0:
            alpha[first[i] + slots[i]] += masses[i]


@kernel
def dual_gain(first, count, alpha, value):
    """Σ α b, example by example."""
    total = 0.0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            total += alpha[s] * value[s]
    return total


@kernel
def add_planes(first, count, alpha, start, stop, index, entry, out):
    """out += Σ α a."""
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            if alpha[s] != 0.0:
                add_multiple(index, entry, start[s], stop[s], alpha[s], out)


@kernel
def weighted_norms(ids, by_alpha, first, count, alpha, value, gram_first, gram):
    """Σ g ‖a‖² and Σ g b over the planes of ids, with g = α or 1."""
    squares, values = 0.0, 0.0
    for i in ids:
        for j in range(1, count[i]):
            g = alpha[first[i] + j] if by_alpha else 1.0
            squares += g * gram[gram_first[i] + j]
            values += g * value[first[i] + j]
    return squares, values


@kernel
def scale_alpha(factors, first, count, alpha, budget, unlimited):
    """See `WorkingSets.scale_alpha`."""
    for i in range(len(count)):
        mass = 0.0
        for s in range(first[i] + 1, first[i] + count[i]):
            alpha[s] *= factors[i]
            mass += alpha[s]
        alpha[first[i]] = unlimited if budget[i] > 1e299 else max(0.0, budget[i] - mass)
