"""Rows of varying length, compared with lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin._base.ragged import (
    Ragged,
    batches,
    kept_offsets,
    offsets_among,
    offsets_of,
    places,
    renumbered,
    row_sums,
    spans,
    split_rows,
)

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=8)


def flat(rows):
    return [value for row in rows for value in row]


@given(ROWS, st.randoms())
def test_rows_are_taken_in_any_order(rows, random):
    ragged = Ragged.of([np.array(row, np.int32) for row in rows], np.int32)
    ids = np.array([random.randrange(len(rows)) for _ in range(4)])
    taken = ragged.take(ids)
    assert [row.tolist() for row in ragged] == rows
    assert [row.tolist() for row in taken] == [rows[i] for i in ids]
    assert taken[1].tolist() == rows[ids[1]]
    assert (len(taken), taken.lengths.tolist()) == (4, [len(rows[i]) for i in ids])
    assert taken.offsets.tolist() == offsets_among(ids, ragged.offsets).tolist()
    assert ragged.values[spans(ids, ragged.offsets)].tolist() == taken.values.tolist()
    assert taken.values.dtype == np.int32


@given(ROWS)
def test_what_follows_from_offsets(rows):
    offsets, values = offsets_of([len(row) for row in rows]), np.array(flat(rows), np.int64)
    assert offsets.dtype == np.int64
    assert places(offsets).tolist() == flat([list(range(len(row))) for row in rows])
    assert row_sums(values, offsets).tolist() == [sum(row) for row in rows]
    kept = values > 0
    left = [[value for value in row if value > 0] for row in rows]
    assert kept_offsets(kept, offsets).tolist() == offsets_of([len(row) for row in left]).tolist()
    assert [values[kept][number] for number in renumbered(kept) if number >= 0] == flat(left)
    assert split_rows(flat(rows), [len(row) for row in rows]) == rows


def test_there_may_be_no_rows():
    nothing = Ragged.of([], np.float64)
    assert len(nothing) == 0
    assert nothing.values.dtype == np.float64
    assert offsets_of([]).tolist() == [0]
    assert spans(np.zeros(0, np.int64), nothing.offsets).tolist() == []
    assert nothing.take(np.zeros(0, np.int64)).offsets.tolist() == [0]


def test_batches_end_where_the_sum_passes_a_multiple():
    assert batches(np.array([2, 2, 2, 2]), 4) == [slice(0, 1), slice(1, 3), slice(3, 4)]
    assert batches(np.array([1, 50, 1]), 4) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert batches(np.array([1, 1]), 4) == [slice(0, 2)]


@pytest.mark.parametrize("lengths", [[1, 1], [3, -1], [4]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ValueError, match=rf"expected {sum(lengths)} letters in total, found {len('xyz')}"):
        split_rows("xyz", lengths, "letters")
