"""Compiled functions of `TemplateEncoder`: numbers of values to columns of features.

A feature of one value has its column in `single`, at the base of its field plus the value. A feature of two values has
a 64-bit key, (base of its conjunction + left value) · 2³² + right value, in a hash table with linear probing; keys are
compared in full, so different features never share a column. The bases of conjunctions do not overlap.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import HASH_START, mix_step

#: Key of an empty place of a table.
EMPTY = np.int64(-1)


@inlined
def place_of(key, keys):
    """Return the place of a key, or the empty place where it belongs."""
    mask = np.int64(len(keys) - 1)
    at = mix_step(HASH_START, key) & mask
    while keys[at] != key and keys[at] != EMPTY:
        at = (at + 1) & mask
    return at


@jit
def insert_keys(new_keys, new_columns, keys, columns):
    """Add keys with their columns to a table with enough empty places."""
    for q in range(len(new_keys)):
        at = place_of(new_keys[q], keys)
        keys[at], columns[at] = new_keys[q], new_columns[q]


@inlined
def fact_at(token, first, stop, types, facts, fact):
    """Return the value of a fact of a token; 0, the empty string, outside the sentence."""
    if token < first or token >= stop:
        return np.int64(0)
    return np.int64(facts[types[token], fact])


@jit
def encode_sentences(
    sentence, offsets, types, facts, own_base, shifts, seen_facts, seen_base, outside_base, conjunctions,
    conjunction_base, learn, constant, single, keys, columns, n_columns, room, indptr, indices,
):  # fmt: skip
    """Write the columns of all features of each token, from a sentence on; new features get the next column.

    Rows end with one more entry if `constant`. If `learn` is false, new features are left out. Return the next
    sentence, which is not the last one if the table has no room, the number of columns, and the room left in the table.
    """
    column_of = np.empty(len(conjunctions), np.int64)
    while sentence < len(offsets) - 1:
        first, stop = offsets[sentence], offsets[sentence + 1]
        if learn and room < (stop - first) * len(conjunctions):
            break
        for t in range(first, stop):
            q = indptr[t]
            for j in range(len(own_base)):
                value = facts[types[t], j]
                if value >= 0:
                    at = own_base[j] + value
                    column = single[at]
                    if column < 0 and learn:
                        column = single[at] = n_columns
                        n_columns += 1
                    if column >= 0:
                        indices[q] = column
                        q += 1
            for s in range(len(shifts)):
                other = t + shifts[s]
                inside = first <= other < stop
                for j in range(len(seen_facts) if inside else 1):
                    at, value = outside_base[s], np.int64(0)
                    if inside:
                        at, value = seen_base[s, j], np.int64(facts[types[other], seen_facts[j]])
                    if value >= 0:
                        column = single[at + value]
                        if column < 0 and learn:
                            column = single[at + value] = n_columns
                            n_columns += 1
                        if column >= 0:
                            indices[q] = column
                            q += 1
            for c in range(len(conjunctions)):
                fact, of = conjunctions[c, 0], conjunctions[c, 3]
                right = fact_at(t + conjunctions[c, 2], first, stop, types, facts, fact)
                left = column_of[of] if of >= 0 else fact_at(t + conjunctions[c, 1], first, stop, types, facts, fact)
                column_of[c] = -1
                if left < 0 or right < 0:
                    continue
                key = ((conjunction_base[c] + left) << 32) | right
                at = place_of(key, keys)
                if keys[at] == key:
                    column_of[c] = columns[at]
                elif learn:
                    keys[at], columns[at], column_of[c] = key, n_columns, n_columns
                    n_columns += 1
                    room -= 1
                if column_of[c] >= 0:
                    indices[q] = column_of[c]
                    q += 1
            if constant:
                indices[q] = 0
                q += 1
            indptr[t + 1] = q
        sentence += 1
    return sentence, n_columns, room


@jit
def merge_columns(
    field, left, right, bases, n_singles, of_columns, single, keys, columns, n_columns, numbers,
):  # fmt: skip
    """Add the columns of another encoder, given by field and numbers of values here; return the number of columns.

    `bases` are those of the values of a field; where ``of_columns[field]``, the left value is a column there.
    ``numbers[q]`` becomes the column here of column q there. The table must have enough empty places.
    """
    for q in range(len(field)):
        f = field[q]
        if f < n_singles:
            at = bases[f] + left[q]
            if single[at] < 0:
                single[at] = n_columns
                n_columns += 1
            numbers[q] = single[at]
            continue
        value = numbers[left[q]] if of_columns[f] else left[q]
        key = ((bases[f] + value) << 32) | right[q]
        at = place_of(key, keys)
        if keys[at] != key:
            keys[at], columns[at] = key, n_columns
            n_columns += 1
        numbers[q] = columns[at]
    return n_columns


@jit
def keep_columns(numbers, constant, indptr, indices):
    """Renumber the columns of rows in place, without those numbered −1; the constant, a last entry, stays."""
    q = 0
    first = indptr[0]
    for r in range(len(indptr) - 1):
        stop = indptr[r + 1]
        for p in range(first, stop):
            if constant and p == stop - 1:
                indices[q] = indices[p]
                q += 1
            elif numbers[indices[p]] >= 0:
                indices[q] = numbers[indices[p]]
                q += 1
        first = stop
        indptr[r + 1] = q
    return q
