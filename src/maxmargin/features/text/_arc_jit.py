"""Compiled functions for the features of the arcs of sentences, as integers.

A feature is a key of 63 bits: a code in the upper 11, which is the template and the direction and distance of the arc,
and below it the values of up to four atoms. The nodes of a sentence are the root and its n words; `words` and `tags`
hold them with one node before the root and one after the last word, so node v is at position v + 1 of its
sentence, which has n + 3 positions. `atoms` holds the values of the atoms of an arc: the words of head and child, then
for each column of tags those of `TAG_ATOMS`. Row t of `templates` lists the atoms of template t, −1 after the last.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit

WORD_BITS, TAG_BITS, CODE_SHIFT = 17, 9, 52
#: Tags of head and child, and of the words before and after each.
TAG_ATOMS = 6
#: Distances 1, 2, 3, 4, 5 – 9 and 10 or more, to the left or to the right; 0 stands for any.
N_BUCKETS, N_PLACES = 6, 13
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inlined
def place_of(h, m):
    """Return the direction and distance of an arc, 1 … 12: left, then right."""
    distance = abs(h - m)
    bucket = distance - 1 if distance < 5 else 4 if distance < 10 else 5
    return 1 + bucket + (N_BUCKETS if m > h else 0)


@inlined
def set_atoms(words, tags, base, h, m, atoms):
    """Write the values of the atoms of an arc."""
    head, child = base + h + 1, base + m + 1
    atoms[0], atoms[1] = words[head], words[child]
    for c in range(len(tags)):
        at = 2 + c * TAG_ATOMS
        atoms[at], atoms[at + 1] = tags[c, head], tags[c, child]
        atoms[at + 2], atoms[at + 3] = tags[c, head - 1], tags[c, head + 1]
        atoms[at + 4], atoms[at + 5] = tags[c, child - 1], tags[c, child + 1]


@inlined
def packed(template, atoms):
    """Return the values of a template's atoms as one number."""
    value = np.int64(0)
    for k in range(len(template)):
        a = template[k]
        if a >= 0:
            value = (value << (WORD_BITS if a < 2 else TAG_BITS)) | atoms[a]
    return value


@inlined
def between_key(n_templates, direction, head_tag, tag, child_tag):
    """Return the key of a tag between head and child; the direction is 0 or 1."""
    code = n_templates * N_PLACES + 1 + N_BUCKETS * direction
    return (np.int64(code) << CODE_SHIFT) | (((head_tag << TAG_BITS) | tag) << TAG_BITS) | child_tag


@inlined
def slot_of(key, shift):
    """Return the first slot of a key in a table of 2^(64 − shift) slots."""
    return np.int64((np.uint64(key) * _SPREAD) >> np.uint64(shift))


@inlined
def find(key, slots, columns, shift):
    """Return the column of a key, −1 if it is unknown."""
    at = slot_of(key, shift)
    while slots[at] != key:
        if slots[at] < 0:
            return -1
        at = (at + 1) & (len(slots) - 1)
    return columns[at]


@jit
def fill_table(keys, slots, columns, shift):
    """Write the column of each key to an open-addressing table of free slots (−1); return whether keys are distinct."""
    for column in range(len(keys)):
        at = slot_of(keys[column], shift)
        while slots[at] >= 0:
            if slots[at] == keys[column]:
                return False
            at = (at + 1) & (len(slots) - 1)
        slots[at], columns[at] = keys[column], column
    return True


@jit
def true_arc_keys(offsets, words, tags, heads, templates, out):
    """Write the feature keys of all arcs in true trees and return their number.

    `offsets` are those of the words of sentences; sentence i begins at position offsets[i] + 3 i.
    """
    used, n_templates = 0, len(templates)
    atoms, seen = np.empty(2 + len(tags) * TAG_ATOMS, np.int64), np.full(1 << TAG_BITS, -1, np.int64)
    for i in range(len(offsets) - 1):
        base = offsets[i] + 3 * i
        for m in range(1, offsets[i + 1] - offsets[i] + 1):
            arc = offsets[i] + m - 1
            h = np.int64(heads[arc])
            set_atoms(words, tags, base, h, m, atoms)
            place = place_of(h, m)
            for t in range(n_templates):
                value = packed(templates[t], atoms)
                out[used] = (np.int64(t * N_PLACES) << CODE_SHIFT) | value
                out[used + 1] = (np.int64(t * N_PLACES + place) << CODE_SHIFT) | value
                used += 2
            if len(tags) > 0:
                low, high = (h, m) if h < m else (m, h)
                for v in range(low + 1, high):
                    tag = tags[0, base + v + 1]
                    if seen[tag] != arc:
                        seen[tag] = arc
                        out[used] = between_key(n_templates, 1 if m > h else 0, atoms[2], tag, atoms[3])
                        used += 1
    return used


@inlined
def tags_towards(tags, base, m, step, last, n_tags, seen, stamp, between_tags, counts):
    """List the tags from m on towards `last` as they first occur; counts[h] is how many lie between m and h."""
    v = m
    while v != last:
        v += step
        counts[v] = n_tags
        tag = tags[0, base + v + 1]
        if seen[tag] != stamp:
            seen[tag], between_tags[n_tags] = stamp, tag
            n_tags += 1
    return n_tags


@jit
def arc_rows(first, stop, offsets, words, tags, templates, parents, slots, columns, shift, indptr, out):
    """Write the columns of known features for all arcs in the sentences first … stop; return their number.

    Arcs are ordered by child and then by head. A feature is looked up only if that of its parent template, which has
    some of its atoms, is known: otherwise it is unknown too.
    """
    used, row, n_templates, with_tags = 0, 0, len(templates), len(tags) > 0
    atoms, known = np.empty(2 + len(tags) * TAG_ATOMS, np.int64), np.empty(n_templates, np.bool_)
    seen, stamp = np.full(1 << TAG_BITS, -1, np.int64), 0
    between_tags = np.empty(1 << (TAG_BITS + 1), np.int64)
    for i in range(first, stop):
        base, n = offsets[i] + 3 * i, offsets[i + 1] - offsets[i]
        counts = np.zeros(n + 1, np.int64)
        for m in range(1, n + 1):
            n_left = 0
            if with_tags:
                n_left = tags_towards(tags, base, m, -1, 0, 0, seen, 2 * stamp, between_tags, counts)
                tags_towards(tags, base, m, 1, n, n_left, seen, 2 * stamp + 1, between_tags, counts)
            stamp += 1
            for h in range(n + 1):
                if h != m:
                    set_atoms(words, tags, base, h, m, atoms)
                    place = place_of(h, m)
                    for t in range(n_templates):
                        known[t] = False
                        if parents[t] >= 0 and not known[parents[t]]:
                            continue
                        value = packed(templates[t], atoms)
                        column = find((np.int64(t * N_PLACES) << CODE_SHIFT) | value, slots, columns, shift)
                        if column < 0:
                            continue
                        known[t], out[used] = True, column
                        used += 1
                        column = find((np.int64(t * N_PLACES + place) << CODE_SHIFT) | value, slots, columns, shift)
                        if column >= 0:
                            out[used] = column
                            used += 1
                    if with_tags:
                        direction = 1 if m > h else 0
                        for k in range(n_left if m < h else 0, counts[h]):
                            key = between_key(n_templates, direction, atoms[2], between_tags[k], atoms[3])
                            column = find(key, slots, columns, shift)
                            if column >= 0:
                                out[used] = column
                                used += 1
                row += 1
                indptr[row] = used
    return used
