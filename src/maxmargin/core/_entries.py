"""Sums of sparse rows inside kernels: equal indices are added up, so that what cancels is gone.

`sums` is a dense row of zeros that is lent and given back as zeros, `touched` holds the indices that are in use.
"""

from __future__ import annotations

from maxmargin._compile import inlined


@inlined
def add_entry(index, value, sums, touched, count):
    """sums[index] += value; the new number of touched indices."""
    if sums[index] == 0.0:
        touched[count] = index
        count += 1
    sums[index] += value
    return count


@inlined
def write_entries(sums, touched, count, factor, out_index, out_value, p):
    """Write what is not 0, times factor, from position p on; the position behind. An index touched twice is 0 when it
    comes up again."""
    for t in range(count):
        index = touched[t]
        if sums[index] != 0.0:
            out_index[p], out_value[p] = index, factor * sums[index]
            sums[index] = 0.0
            p += 1
    return p
