"""Scores of all cells of an alignment, and sums of features over some cells, from integer keys of positions.

Template t gives cell (i, j) the weight ``offsets[t] + keys[row_fields[t], i] · widths[t] + keys[col_fields[t], j]``, so
nothing of size cells × features exists. Templates with the same row field form a group: rows with equal keys have
equal contributions, which are gathered once per distinct key. A group whose keys follow from those of a finer group
(residue from residue and structure) adds its rows to those of the finer group first, if that is much smaller than the
table. Groups without templates of their own join coarse groups so that fewer rows are added to each row of the table.

Products are features with values: template b adds Σ_{k,l} r_k(i) c_l(j) w_kl, for columns r and c of numbers.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.entries import add_entry


@jit
def gather(weights, keys, out, m):
    """Write the weight of each key."""
    for j in range(m):
        out[j] = weights[keys[j]]


@jit
def gather_more(weights, keys, out, m):
    """Add the weight of each key."""
    for j in range(m):
        out[j] += weights[keys[j]]


@jit
def add_row(row, out, m):
    """Add one row."""
    for j in range(m):
        out[j] += row[j]


@jit
def add_multiple_of_row(factor, row, out, m):
    """Add a multiple of a row."""
    for j in range(m):
        out[j] += factor * row[j]


@jit
def add_two_rows(a, b, out, m):
    """Add two rows."""
    for j in range(m):
        out[j] += a[j] + b[j]


@jit
def write_two_rows(a, b, out, m):
    """Write the sum of two rows."""
    for j in range(m):
        out[j] = a[j] + b[j]


@jit
def write_three_rows(a, b, c, out, m):
    """Write the sum of three rows."""
    for j in range(m):
        out[j] = (a[j] + b[j]) + c[j]


@jit
def add_four_rows(a, b, c, d, out, m):
    """Add four rows."""
    for j in range(m):
        out[j] += (a[j] + b[j]) + (c[j] + d[j])


@jit
def score_table(
    row, n, col, m, keys, groups, group_fields, group_stops, finer, col_fields, offsets, widths, numbers, products, w,
    slots, ids, group_lists, members, rows, table,
):  # fmt: skip
    """Write the scores of the cells of positions row … row + n and col … col + m.

    Parameters
    ----------
    keys, numbers : arrays of shape (fields, positions)
        Keys, and columns of numbers, of all positions.
    groups : int
        Number of groups; the templates of group g, if any, end at ``group_stops[g]``, its row field is
        ``group_fields[g]``.
    finer : array of shape (groups, most)
        Groups after g whose keys determine those of g, then −1.
    products : array of shape (n_products, 5)
        First column and number of columns, of rows and of columns, and offset of the weights.
    slots, ids, group_lists, members, rows : arrays
        Scratch space: the maximum number of keys, all −1, also on return; groups × n; 4 × groups; the maximum number of
        distinct keys of all groups; the same number × m.
    """
    used, n_top, n_direct = 0, 0, 0
    top, direct, firsts, stops = group_lists[0], group_lists[1], group_lists[2], group_lists[3]
    most = most_distinct(n)
    for g in range(groups):
        field, first, begin = keys[group_fields[g]], used, group_stops[g - 1] if g else 0
        many = False
        for i in range(n):
            key = field[row + i]
            if slots[key] < 0:
                if used - first == most:
                    many = True
                    break
                slots[key] = used
                members[used] = i
                used += 1
            ids[g, i] = slots[key]
        for r in range(first, used):
            slots[field[row + members[r]]] = -1
        if many:
            used = first
            direct[n_direct] = g
            n_direct += 1
            continue
        firsts[g], stops[g] = first, used
        for r in range(first, used):
            key, out = np.int64(field[row + members[r]]), rows[r]
            if begin == group_stops[g]:
                out[:m] = 0.0
            for t in range(begin, group_stops[g]):
                weights = w[offsets[t] + key * widths[t] :]
                if t == begin:
                    gather(weights, keys[col_fields[t], col:], out, m)
                else:
                    gather_more(weights, keys[col_fields[t], col:], out, m)
        top[n_top] = g
        n_top += 1
    n_kept = link_groups(top, n_top, finer, firsts, stops, ids, members, rows, m)
    for i in range(n):
        out = table[i]
        k = start_row(top, n_kept, ids, i, rows, out, m)
        while k + 4 <= n_kept:
            add_four_rows(
                rows[ids[top[k], i]], rows[ids[top[k + 1], i]], rows[ids[top[k + 2], i]], rows[ids[top[k + 3], i]],
                out, m,
            )  # fmt: skip
            k += 4
        for k in range(n_direct):
            g = direct[k]
            key = np.int64(keys[group_fields[g], row + i])
            for t in range(group_stops[g - 1] if g else 0, group_stops[g]):
                gather_more(w[offsets[t] + key * widths[t] :], keys[col_fields[t], col:], out, m)
        for b in range(len(products)):
            r, n_r, c, n_c, offset = products[b]
            for q in range(n_c):
                factor = 0.0
                for k in range(n_r):
                    factor += numbers[r + k, row + i] * w[offset + k * n_c + q]
                if factor != 0.0:
                    add_multiple_of_row(factor, numbers[c + q, col:], out, m)


@inlined
def most_distinct(n):
    """Return the maximum number of distinct keys of n rows whose contributions are gathered once per key.

    A gather takes four times as long as an addition, so this is worthwhile even if few keys are repeated.
    """
    return n - n // 4


@jit
def start_row(top, n_kept, ids, i, rows, out, m):
    """Write the sum of the rows of the first groups so that the number of the others is a multiple of four.

    Return the number of groups that were added.
    """
    rest = n_kept % 4
    if rest == 0 and n_kept > 0:
        rest = 4
    if rest == 0:
        out[:] = 0.0
    elif rest == 1:
        out[:] = rows[ids[top[0], i], :m]  # not a loop, which would be merged with additions, in another order
    elif rest == 2:
        write_two_rows(rows[ids[top[0], i]], rows[ids[top[1], i]], out, m)
    elif rest == 3:
        write_three_rows(rows[ids[top[0], i]], rows[ids[top[1], i]], rows[ids[top[2], i]], out, m)
    else:
        write_two_rows(rows[ids[top[0], i]], rows[ids[top[1], i]], out, m)
        add_two_rows(rows[ids[top[2], i]], rows[ids[top[3], i]], out, m)
    return rest


@jit
def link_groups(top, n_top, finer, firsts, stops, ids, members, rows, m):
    """Add the rows of groups to those of finer groups with rows; return the number of groups left, first in `top`."""
    kept = 0
    for a in range(n_top):
        g, into = top[a], -1
        for f in finer[g]:
            for b in range(a + 1, n_top):
                if into < 0 and top[b] == f:
                    into = f
        if into < 0:
            top[kept] = g
            kept += 1
            continue
        for r in range(firsts[into], stops[into]):
            add_row(rows[ids[g, members[r]]], rows[r], m)
    return kept


@jit
def sum_cells(
    ids, row_starts, n_rows, col_starts, n_cols, ptr, cells, counts, keys, row_fields, col_fields, offsets, widths,
    numbers, products, is_tied, tied, terms, touched, total, out_ptr, out_index, out_value,
):  # fmt: skip
    """Write Σ count · φ over the cells of each example, without zeros.

    If weights are tied, `tied` has the weight number of each pair of keys and of each product.
    `total` must contain zeros, one for each weight, also on return; `touched` has room for all features of an example,
    `terms` for all templates and positions: they are next to each other for each position, so cells are fast.
    """
    used = 0
    for r in range(len(ids)):
        row, n, col, m = row_starts[ids[r]], n_rows[ids[r]], col_starts[ids[r]], n_cols[ids[r]]
        n_touched = 0
        if ptr[r] < ptr[r + 1]:
            write_terms(row, n, keys, row_fields, widths, offsets, terms)
            write_terms(col, m, keys, col_fields, np.ones_like(widths), np.zeros_like(offsets), terms[n:])
        for k in range(ptr[r], ptr[r + 1]):
            cell = np.uint64(cells[k])
            i, j = row + np.int64(cell // np.uint64(m)), col + np.int64(cell % np.uint64(m))
            of_row, of_col = terms[i - row], terms[n + j - col]
            count = counts[k]
            for t in range(len(offsets)):
                at = of_row[t] + of_col[t]
                if is_tied:
                    at = np.uint64(tied[at])
                n_touched = add_entry(at, count, total, touched, n_touched)
            for b in range(len(products)):
                a, n_a, c, n_c, offset = products[b]
                for p in range(n_a):
                    for q in range(n_c):
                        value = counts[k] * numbers[a + p, i] * numbers[c + q, j]
                        if value != 0.0:
                            index = np.uint64(offset + p * n_c + q)
                            if is_tied:
                                index = np.uint64(tied[index])
                            n_touched = add_entry(index, value, total, touched, n_touched)
        for k in range(n_touched):
            at = touched[k]
            out_index[used], out_value[used] = at, total[at]
            used += total[at] != 0.0
            total[at] = 0.0
        out_ptr[r + 1] = used


@jit
def add_tables(
    ids, row_starts, n_rows, col_starts, n_cols, starts, values, keys, row_fields, col_fields, offsets, widths, numbers,
    products, slots, found, rows, out,
):  # fmt: skip
    """Add Σ value · φ over all cells of the pairs to `out`, for weights that are not tied.

    Rows of values with equal keys are added first. `slots` has −1 for each key, also on return; `found` and `rows` are
    scratch space, of the size of the largest table.
    """
    for r in range(len(ids)):
        row, n, col, m = row_starts[ids[r]], n_rows[ids[r]], col_starts[ids[r]], n_cols[ids[r]]
        table = values[starts[r] : starts[r] + n * m].reshape(n, m)
        for t in range(len(row_fields)):
            new = True
            for u in range(t):
                new = new and row_fields[u] != row_fields[t]
            if not new:
                continue
            field, n_distinct = keys[row_fields[t]], 0
            for i in range(n):
                key = np.int64(field[row + i])
                if slots[key] < 0:
                    slots[key], found[n_distinct] = n_distinct, key
                    for j in range(m):
                        rows[n_distinct, j] = 0.0
                    n_distinct += 1
                add_row(table[i], rows[slots[key]], m)
            for u in range(t, len(row_fields)):
                if row_fields[u] == row_fields[t]:
                    columns = keys[col_fields[u]]
                    for k in range(n_distinct):
                        first = offsets[u] + found[k] * widths[u]
                        for j in range(m):
                            out[first + np.int64(columns[col + j])] += rows[k, j]
            for k in range(n_distinct):
                slots[found[k]] = -1
        for b in range(len(products)):
            a, n_a, c, n_c, offset = products[b]
            for i in range(n):
                for q in range(n_c):
                    total = 0.0
                    for j in range(m):
                        total += table[i, j] * numbers[c + q, col + j]
                    for p in range(n_a):
                        out[offset + p * n_c + q] += numbers[a + p, row + i] * total


@jit
def write_terms(first, n, keys, fields, factors, offsets, terms):
    """Write the term of each position first … first + n in the index of the weight of each template."""
    for t in range(len(fields)):
        field, factor, offset = keys[fields[t]], factors[t], offsets[t]
        for p in range(n):
            terms[p, t] = np.uint64(offset + np.int64(field[first + p]) * factor)


@jit
def score_tables(
    pairs, row_starts, n_rows, col_starts, n_cols, keys, groups, group_fields, group_stops, finer, col_fields, offsets,
    widths, numbers, products, w, starts, slots, ids, group_lists, members, rows, out,
):  # fmt: skip
    """Apply `score_table` to each of the pairs."""
    for r in range(len(pairs)):
        e = pairs[r]
        n, m = n_rows[e], n_cols[e]
        score_table(
            row_starts[e], n, col_starts[e], m, keys, groups, group_fields, group_stops, finer, col_fields, offsets,
            widths, numbers, products, w, slots, ids, group_lists, members, rows,
            out[starts[r] : starts[r] + n * m].reshape(n, m),
        )  # fmt: skip
