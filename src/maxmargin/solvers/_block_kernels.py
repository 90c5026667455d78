"""Kernels over working sets: see `working_sets` for the layout and the formula of a block step.

Arguments that recur: `first, count, alpha, value, start, stop, age` are the slots, `room, gram_first, gram` the inner
products of an example's planes (row 0, the truth's, holds the diagonal), `index, entry` the pool of plane entries.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel
from maxmargin.planes import sparse_dot

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
    score[0], high, best, low = 0.0, 0.0, 0, 1e300
    if alpha[base] > 0.0:
        low = 0.0
    for j in range(1, used):
        if score[j] > LEFT_OUT:
            score[j] -= ridge * mass
            if score[j] > high:
                high, best = score[j], j
            if alpha[base + j] > 0.0 and score[j] < low:
                low = score[j]
    return present, mass, high, best, low, operations


@inlined
def block_gap(present, mass, high, ridge, budget):
    """Restricted duality gap of one example: penalty of its hinge plus the dual's price, less Σ α (b − a·w)."""
    if ridge > 0.0:
        hinge = max(0.0, high + ridge * mass)
        return 0.5 * hinge * hinge / ridge + 0.5 * ridge * mass * mass - present
    return budget * high - present


@inlined
def block_step(
    base, used, gram_base, room, ridge, w, curvature, clock, moves, best, high, low, alpha, start, stop, age, gram,
    score, change, index, entry,
):  # fmt: skip
    """Up to `moves` moves of mass, each from the slot where most is gained to the slot of best score; operations.

    The scores follow through the Gram matrix; w gets the sum at the end.
    """
    for j in range(used):
        change[j] = 0.0
    tolerance, softness = 0.02 * (high - low), 1.0 / curvature
    for _ in range(moves):
        row, of_best, product = gram_base + best * room, gram[gram_base + best], 2.0
        if best == 0:
            of_best, product = ridge * curvature, 0.0
        most, source, mass = 0.0, -1, 0.0
        if best > 0:
            q = of_best * softness + ridge
            g = min(high / q, alpha[base])
            most, mass = g * (high - 0.5 * g * q), g
            source = 0 if most > 0.0 else -1
        for j in range(1, used):
            d = high - score[j]
            q = max((of_best + gram[gram_base + j] - product * gram[row + j]) * softness, 1e-300)
            g = max(min(d / q, alpha[base + j]), 0.0)
            gain = g * (d - 0.5 * g * q)
            better = gain > most
            most = gain if better else most
            source = j if better else source
            mass = g if better else mass
        if source < 0:
            break
        alpha[base + source] = max(alpha[base + source] - mass, 0.0)
        alpha[base + best] += mass
        change[best] += mass
        change[source] -= mass
        rise, other = ridge * mass * ((best > 0) - (source > 0)), gram_base + source * room
        gained, lost = mass * softness * (best > 0), mass * softness * (source > 0)
        high, low = 0.0, 0.0 if alpha[base] > 0.0 else 1e300
        for j in range(1, used):  # a slot that is left out stays so: its score is too low for any sum to matter
            now = score[j] - (rise + gained * gram[row + j] - lost * gram[other + j])
            score[j] = now
            high = max(high, now)
            low = min(low, now if alpha[base + j] > 0.0 else 1e300)
        if high - low <= tolerance:
            break
        best = 0
        for j in range(1, used if high > 0.0 else 1):
            if score[j] == high:
                best = j
                break
    operations = 0
    for j in range(1, used):
        s = base + j
        if alpha[s] > 0.0:
            age[s] = clock
        if change[j] != 0.0:
            f = change[j] / curvature
            operations += stop[s] - start[s]
            for q in range(start[s], stop[s]):
                w[index[q]] += f * entry[q]
    return operations


@kernel
def block_pass(
    order, skip_below, since, w, curvature, clock, moves, first, count, alpha, value, start, stop, age, room,
    gram_first, gram, gap, ridge, budget, index, entry,
):  # fmt: skip
    """See `WorkingSets.sweep`."""
    most = room.max()
    score, change = np.zeros((2, most))
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
                    start, stop, age, gram, score, change, index, entry,
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
    """Put a plane at the end of the pool, and its sums into `scratch`; the new end.

    A long plane over few weights names them again and again: its entries are summed, where the pool holds the sums
    exactly.
    """
    first, summed = end, q_end - p > len(scratch)
    for q in range(p, q_end):
        scratch[indices[q]] += values[q]
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
            for q in range(p, q_end):
                scratch[indices[q]] += values[q]
        end = first
        for q in range(p, q_end):
            index[end], entry[end] = indices[q], values[q]
            end += 1
    return end


@kernel
def insert_planes(
    ids, slot, indptr, indices, values, losses, keys, codes, code_offsets, scratch, end, w, curvature, clock, moves,
    most_slots, key, first, count, alpha, value, start, stop, age, room, gram_first, gram, gap, ridge, budget, index,
    entry,
):  # fmt: skip
    """See `WorkingSets.insert`."""
    most = room.max()
    score, change = np.zeros((2, most))
    row, operations = 0, 0
    for r in range(len(ids)):
        i, k = ids[r], slot[r]
        base, used, gram_base, stride = first[i], count[i], gram_first[i], room[i]
        present, mass, high, best, low, n = block_scores(
            base, used, 0, ridge[i], alpha, value, start, stop, age, score, index, entry, w
        )
        operations += n
        if k > 0:
            age[base + k] = clock
        elif k < 0:
            p, q_end = indptr[row], indptr[row + 1]
            row += 1
            s = losses[i] - sparse_dot(indices, values, p, q_end, w) - ridge[i] * mass
            operations += q_end - p
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
                    for q in range(start[base + k], stop[base + k]):
                        w[index[q]] -= gone / curvature * entry[q]
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
                for j in range(1, used):
                    t = base + j
                    g = sparse_dot(index, entry, start[t], stop[t], scratch)
                    gram[gram_base + k * stride + j] = g
                    gram[gram_base + j * stride + k] = g
                    operations += stop[t] - start[t]
                gram[gram_base + k] = gram[gram_base + k * stride + k]
                for q in range(p, q_end):
                    scratch[indices[q]] = 0.0
                score[k] = s
                high, low, best = 0.0, 1e300, 0
                if alpha[base] > 0.0:
                    low = 0.0
                for j in range(1, used):
                    if score[j] > high:
                        high, best = score[j], j
                    if alpha[base + j] > 0.0 and score[j] < low:
                        low = score[j]
        count[i] = used
        gap[i] = block_gap(present, mass, high, ridge[i], budget[i])
        if high - low > SMALLEST_GAP:
            operations += block_step(
                base, used, gram_base, stride, ridge[i], w, curvature, clock, moves, best, high, low, alpha, start,
                stop, age, gram, score, change, index, entry,
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
            for q in range(start[s], stop[s]):
                scratch[index[q]] += entry[q]
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
            for q in range(start[s], stop[s]):
                out[index[q]] += coefficients[i] * entry[q]


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
                for q in range(start[s], stop[s]):
                    out[index[q]] += alpha[s] * entry[q]


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
