"""Compiled functions that maintain working sets and sum over them.

`working_sets` describes the layout, `_block_jit` the recurring arguments.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import add_multiple, sparse_dot


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
def live_entries(first, count, start, stop, code_length):
    """Return the number of entries and code symbols of all held planes."""
    total = 0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            total += stop[s] - start[s] + code_length[i]
    return total


@jit
def move_planes(first, count, start, stop, code_length, index, entry, to_index, to_entry):
    """Implement `WorkingSets.compact`."""
    end = 0
    for i in range(len(count)):
        for s in range(first[i] + 1, first[i] + count[i]):
            p, length = start[s] - code_length[i], stop[s] - start[s]
            for q in range(p, stop[s]):
                to_index[end], to_entry[end] = index[q], entry[q]
                end += 1
            start[s], stop[s] = end - length, end
    return end


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
