"""Ragged sequences in every form, and the sentence for each that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.features.text.sequences import SequenceEncoder

TABLES = [np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros((0, 2)), np.array([[3.0, 4.0]])]
STACKED, OFFSETS = [[1, 0], [0, 2], [3, 4]], [0, 2, 2, 3]


def encode(X):
    matrix, offsets = SequenceEncoder().fit(X)
    return (matrix.toarray() if sp.issparse(matrix) else matrix).tolist(), offsets.tolist()


@pytest.mark.parametrize(
    "X",
    [
        TABLES,
        [table.tolist() for table in TABLES],
        [list(table) for table in TABLES],
        [tuple(map(tuple, table)) for table in TABLES],
        [table.astype(np.float32) for table in TABLES],
        [table.astype(int) for table in TABLES],
        [sp.csr_array(table) for table in TABLES],
        [sp.csr_matrix(table) for table in TABLES],
        [sp.coo_array(table) for table in TABLES],
        [sp.csc_array(table) for table in TABLES],
        [sp.csr_array(TABLES[0]), [], TABLES[2]],
        [TABLES[0], np.zeros(0), TABLES[2]],
        [TABLES[0], (), sp.csr_array(TABLES[2])],
        [[{"a": 1.0}, {"b": 2.0}], [], [{"a": 3.0, "b": 4.0}]],
        [[["a"], ["b", "b"]], [], [["a"] * 3 + ["b"] * 4]],
        [({"a": 1}, ("b", "b")), (), ({"b": 4, "a": 3},)],
        [np.array([{"a": 1.0}, {"b": 2.0}], object), np.array([], object), np.array([{"a": 3.0, "b": 4.0}], object)],
        [[["a"], ["b", "b"]], np.zeros((0, 2), object), np.array([["a"] * 3 + ["b"] * 4], object)],
        [table.astype(object) for table in TABLES],
        [TABLES[0].astype(object), [], TABLES[2]],
    ],
)
def test_all_forms_give_the_same_rows(X):
    assert encode(X) == (STACKED, OFFSETS)


def test_an_array_of_equal_lengths_is_a_list_of_sequences():
    assert encode(np.arange(12.0).reshape(2, 3, 2)) == (np.arange(12.0).reshape(6, 2).tolist(), [0, 3, 6])


@pytest.mark.parametrize(
    "X",
    [
        [[{"a": 1.0}, {"b": 1.0}], [{"b": 1.0}, {"a": 1.0}]],
        [[["a"], ["b"]], [["b"], ["a"]]],
    ],
)
def test_tokens_of_equal_lengths_in_an_array_of_objects(X):
    """numpy makes an array of two or three dimensions of them."""
    array = np.array(X, dtype=object)
    assert array.ndim > 1
    assert encode(array) == encode(list(array)) == encode(X) == ([[1, 0], [0, 1], [0, 1], [1, 0]], [0, 2, 4])
    model = mm.SequenceTagger().fit(array, [[0, 1], [1, 0]])
    assert model.predict(array) == model.predict(X) == [[0, 1], [1, 0]]


def test_empty_sequences_first_and_only_empty_at_prediction():
    encoder = SequenceEncoder()
    matrix, offsets = encoder.fit([[], np.ones((1, 3)), []])
    assert matrix.shape == (1, 3) and offsets.tolist() == [0, 0, 1, 1]
    matrix, offsets = encoder.encode([[], []])
    assert matrix.shape == (0, 3) and offsets.tolist() == [0, 0, 0]
    named = SequenceEncoder()
    named.fit([[], [["a"]]])
    matrix, offsets = named.encode([[]])
    assert matrix.shape == (0, 1) and offsets.tolist() == [0, 0]


def test_column_names():
    numeric, named = SequenceEncoder(), SequenceEncoder()
    numeric.fit([np.ones((1, 2))])
    named.fit([[{"w": "x", "b": 1}]])
    assert list(numeric.column_names()) == ["x0", "x1"]
    assert numeric.column_names()[1:] == ["x1"]
    assert named.column_names() == ["w:x", "b"]


GOOD = np.ones((2, 2))


def test_texts_in_data_frames_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"length": [1.0, 2.0], "word": [3.0, "b"]})
    message = r"X\[1\], token 1: expected a number in column 1, found str 'b'; .*to_dict\('records'\)"
    with pytest.raises(ValueError, match=message):
        SequenceEncoder().fit([GOOD, frame])
    SequenceEncoder().fit([frame.to_dict("records")])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([GOOD, np.ones((2, 3))], "X[1]: 3 features per token, expected 2"),
        ([GOOD, [], sp.csr_array(np.ones((1, 1)))], "X[2]: 1 features per token, expected 2"),
        ([GOOD, [[1.0, 2.0], [3.0]]], "X[1]: expected an array (T, d)"),
        ([GOOD, np.array([[1.0, 2.0], [3.0, np.nan]])], "X[1], token 1: features must be finite, found nan"),
        ([[], GOOD, np.array([[-np.inf, 2.0]])], "X[2], token 0: features must be finite, found -inf"),
        ([GOOD, [], sp.csr_array([[0, 0], [0, 0], [0, np.inf]])], "X[2], token 2: features must be finite, found inf"),
        ([[{"a": 1.0}], [{}, {"a": np.nan}]], "X[1], token 1: features must be finite, found nan"),
        ([[{"a": 1.0}], [{"a": 1.0}, {"a": None}]], "X[1], token 1: feature 'a' has a value of type NoneType"),
        ([[{"a": 1.0}], [["a"], 7]], "X[1], token 1: expected a dict or a list of strings, found int"),
        ([[["a"]], ["abc"]], "X[1], token 0: expected a dict or a list of strings, found str"),
        ([[{"a": 1.0}], GOOD], "X[1]: expected a list of tokens as in the other sequences, found numbers"),
        ([GOOD, [{"a": 1.0}]], "X[0]: expected a list of tokens as in the other sequences, found numbers"),
        ([[["a"]], sp.csr_array(GOOD)], "X[1]: expected a list of tokens as in the other sequences, found numbers"),
        ([[{"a": 1.0}], [[1.0, 2.0]]], "X[1], token 0: expected names of features (strings), found float 1.0"),
        ([[["a"]], [["b"], [1.0]]], "X[1], token 1: expected names of features (strings), found float 1.0"),
        ([[["a"]], "abc"], "X[1]: expected an array (T, d), a sparse matrix, or a list of tokens"),
        ([GOOD, "abc"], "X[1]: expected an array (T, d), a sparse matrix, or a list of tokens"),
        ([GOOD, 7], "X[1]: expected an array (T, d), a sparse matrix, or a list of tokens"),
        ([GOOD, None], "found NoneType None"),
        ([[{"a": 1.0}], [{"a": 10**400}]], "X[1], token 0: int too large to convert to float"),
        ([[{"a": 1.0}], [{"a": b"\xff"}]], "X[1], token 0: expected text, or bytes in UTF-8"),
        ([[{"a": 1.0}], [{}, {"a": ["b", None]}]], "X[1], token 1: feature 'a' is a list with NoneType None"),
        ([[b"John", b"lives"]], "X[0]: expected an array (T, d)"),
        ([GOOD, b"abc"], "found bytes b'abc'"),
        ([GOOD, {"a": 1.0}], "found dict {'a': 1.0}"),
        ([{("a",), ("b",)}], "X[0]: expected an array (T, d), a sparse matrix, or a list of tokens"),
        ([[{"a": None}]], "expected a number, a text, or a list or dict of them; leave out features without"),
        ([GOOD, 1j * GOOD], "X[1]: features must be real numbers, found complex128"),
        ([GOOD, sp.csr_array(1j * GOOD)], "X[1]: features must be real numbers, found complex128"),
        ([GOOD, [[1j, 2.0]]], "X[1]: expected an array (T, d)"),
        ([GOOD, [[10**400, 2.0]]], "X[1]: expected an array (T, d)"),
        ([GOOD, np.ones(3)], "X[1]: expected an array (T, d)"),
        ([GOOD, np.ones((1, 2, 3))], "found an array of shape (1, 2, 3)"),
        ([["John", "lives"]], "X[0]: expected an array (T, d)"),
        ([GOOD, ["John", "lives"]], "X[1]: expected an array (T, d)"),
        ([[], []], "every sequence is empty: there is nothing to learn from"),
    ],
)
def test_bad_sequences_are_named(X, message):
    with pytest.raises(ValueError) as error:
        SequenceEncoder().fit(X)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("known", "X", "message"),
    [
        ([GOOD], [GOOD, np.ones((1, 3))], "X[1]: 3 features per token, expected 2"),
        ([GOOD], [[], [{"a": 1.0}]], "X[1]: expected rows of numbers as in the other sequences, found names"),
        ([GOOD], [[["a"]]], "X[0]: expected rows of numbers as in the other sequences, found names"),
        ([[["a"]]], [GOOD], "X[0]: expected a list of tokens as in the other sequences, found numbers"),
        ([[["a"]]], [[], [[1.0, 2.0]]], "X[1], token 0: expected names of features (strings), found float 1.0"),
        ([[["a"]]], [[["a"]], "abc"], "X[1]: expected an array (T, d)"),
    ],
)
def test_sequences_unlike_those_of_training_are_named(known, X, message):
    encoder = SequenceEncoder()
    encoder.fit(known)
    with pytest.raises(ValueError) as error:
        encoder.encode(X)
    assert message in str(error.value)


def test_the_place_can_be_called_otherwise():
    with pytest.raises(ValueError, match=r"X\[0\]\[1\], token 0: features must be finite, found nan"):
        SequenceEncoder("[1]").fit([np.array([[np.nan]])])


def test_data_frames_are_their_values():
    pandas = pytest.importorskip("pandas")
    arrays = [np.arange(6.0).reshape(3, 2), np.ones((1, 2))]
    frames = [pandas.DataFrame(x, columns=["a", "b"], index=range(5, 5 + len(x))) for x in arrays]
    matrix, offsets = SequenceEncoder().fit(frames)
    np.testing.assert_array_equal(matrix, np.concatenate(arrays))
    np.testing.assert_array_equal(offsets, [0, 3, 4])
    named = SequenceEncoder()
    named.fit([pandas.Series([{"a": 1.0}, {"b": 1.0}], index=[7, 8])])
    assert named.column_names() == ["a", "b"]


@pytest.mark.parametrize(("X", "width"), [([np.zeros((0, 2)), np.zeros((0, 2))], 2), ([[], []], 0)])
def test_only_empty_sequences_where_that_is_fine(X, width):
    encoder = SequenceEncoder(may_be_empty=True)
    matrix, offsets = encoder.fit(X)
    assert matrix.shape == (0, encoder.width) == (0, width)
    np.testing.assert_array_equal(offsets, [0, 0, 0])


@pytest.mark.parametrize("length", [3, 60])  # rows are searched in two ways
def test_names_that_occur_twice_are_added_at_their_first_place(length):
    others = [f"n{k}" for k in range(length)]
    X = [[["b", "a", "b", *others], ["a"]], [[*others, "a", "a", "b", "a"]]]
    encoder = SequenceEncoder()
    matrix, _ = encoder.fit(X)
    names = encoder.column_names()
    rows = [
        [(names[c], v) for c, v in zip(row.indices, row.data, strict=True)]
        for row in (matrix[[r]] for r in range(matrix.shape[0]))
    ]
    assert rows[0] == [("b", 2.0), ("a", 1.0), *((name, 1.0) for name in others)]
    assert rows[1] == [("a", 1.0)]
    assert rows[2] == [*((name, 1.0) for name in others), ("a", 3.0), ("b", 1.0)]
    again = encoder.encode(X)[0]
    assert np.array_equal(again.toarray(), matrix.toarray())


@pytest.mark.parametrize("min_count", [1, 2])
def test_encoders_of_parts_merge_into_that_of_all(min_count):
    parts = [[[["a", "b"], ["c"]]], [[["d", "b"]], [["a"], ["d", "d"]]], [[["e"]]]]
    encoders = [SequenceEncoder() for _ in parts]
    for encoder, X in zip(encoders, parts, strict=True):
        encoder.fit(X)
    whole, merged = SequenceEncoder(min_count=min_count), SequenceEncoder(min_count=min_count)
    matrix, _ = whole.fit([x for X in parts for x in X])
    columns = merged.merge(encoders)
    assert merged.column_names() == whole.column_names()
    assert np.array_equal(merged.encode([x for X in parts for x in X])[0].toarray(), matrix.toarray())
    for encoder, numbers in zip(encoders, columns, strict=True):
        found = [merged.column_names()[c] if c >= 0 else None for c in numbers]
        assert found == [n if n in merged.column_names() else None for n in encoder.column_names()]


def test_encoders_of_names_and_of_numbers_do_not_merge():
    named, numeric = SequenceEncoder(), SequenceEncoder()
    named.fit([[["a"]]])
    numeric.fit([np.ones((1, 2))])
    with pytest.raises(ValueError, match="part 1 of the data has numbers as features, part 0 has names"):
        SequenceEncoder().merge([named, numeric])
    wide = SequenceEncoder()
    wide.fit([np.ones((1, 3))])
    with pytest.raises(ValueError, match="part 1 of the data has 3 features per token, expected 2"):
        SequenceEncoder().merge([numeric, wide])
