"""Sums of sparse rows in compiled functions, in which entries that cancel are dropped.

`sums` is a dense row of zeros; the functions use it as scratch space and leave it zero. `touched` holds the indices in
use.
"""

from __future__ import annotations

from maxmargin._base.jit import inlined


@inlined
def add_entry(index, value, sums, touched, count):
    """Add a value to ``sums[index]`` and return the new number of touched indices.

    The index is written in any case, and then overwritten, because an unpredictable branch would cost more.
    """
    touched[count] = index
    count += sums[index] == 0.0
    sums[index] += value
    return count


@inlined
def write_entries(sums, touched, count, factor, out_index, out_value, p):
    """Write the nonzero sums times `factor` from position p on and return the end position.

    An index that was touched twice is written once: its sum is 0 the second time.
    """
    for t in range(count):
        index = touched[t]
        value = sums[index]
        out_index[p], out_value[p], sums[index] = index, factor * value, 0.0
        p += value != 0.0
    return p
