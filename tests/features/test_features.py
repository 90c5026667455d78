"""Names to columns, dicts to values, and rows whose dense and sparse products agree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.features.rows.rows import Rows
from maxmargin.features.text.vocabulary import Vocabulary, is_named

CASES = settings(derandomize=True, deadline=None, max_examples=120)


def learnt(tokens):
    """Each token as {name: value}, through the vocabulary and back."""
    vocabulary = Vocabulary()
    matrix = vocabulary.encode(tokens, learn=True)
    names = list(vocabulary.columns)
    assert matrix.shape == (len(tokens), len(names))
    return [{names[j]: v for j, v in enumerate(row) if v != 0} for row in matrix.toarray().tolist()], names


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ({"bias": 1.0}, {"bias": 1}),
        ({"n": 3, "m": -2.5}, {"n": 3, "m": -2.5}),
        ({"caps": True, "digit": False}, {"caps": 1}),
        ({"flag": np.True_}, {"flag": 1}),
        ({"n": np.float32(0.5), "k": np.int8(3), "half": Fraction(1, 2)}, {"n": 0.5, "k": 3, "half": 0.5}),
        ({"word": "casa"}, {"word:casa": 1}),
        ({"word": ""}, {"word:": 1}),
        ({"suffixes": ["sa", "asa"]}, {"suffixes:sa": 1, "suffixes:asa": 1}),
        ({"suffixes": ("sa", "sa")}, {"suffixes:sa": 2}),
        ({"vector": np.array([0.5, 2.0])}, {"vector:0": 0.5, "vector:1": 2}),
        ({"vector": np.array([[1.0], [2.0]])}, {"vector:0": 1, "vector:1": 2}),
        (
            {"next": {"word": "no", "caps": True, "deep": {"n": 2}}},
            {"next:word:no": 1, "next:caps": 1, "next:deep:n": 2},
        ),
        ({1: 2.0}, {"1": 2}),
        ({b"word": b"caf\xc3\xa9", "n": {b"w": b""}}, {"word:café": 1, "n:w:": 1}),
        ({"word": np.bytes_(b"a"), "other": bytearray(b"b")}, {"word:a": 1, "other:b": 1}),
        ({"suffixes": [b"sa", "asa"], "prefixes": {b"c"}}, {"suffixes:sa": 1, "suffixes:asa": 1, "prefixes:c": 1}),
        (
            {"suffixes": np.array(["1", "2"]), "prefixes": np.array([b"1"])},
            {"suffixes:1": 1, "suffixes:2": 1, "prefixes:1": 1},
        ),
        ({"ids": {7, 8}}, {"ids:7": 1, "ids:8": 1}),
        ({"vector": np.array([0.5, 2.0], object)}, {"vector:0": 0.5, "vector:1": 2}),
        ([b"a", "b", "a"], {"a": 2, "b": 1}),
        ({b"a"}, {"a": 1}),
        ({}, {}),
        (["a", "b", "a"], {"a": 2, "b": 1}),
        (("a",), {"a": 1}),
        ({"a"}, {"a": 1}),
        (frozenset({"a"}), {"a": 1}),
        ([], {}),
    ],
)
def test_a_token_becomes_named_values(token, expected):
    assert learnt([token])[0] == [expected]
    # The same beside a token of the other kind, which takes the other path through the code.
    assert learnt([token, {"other": 1.0}, ["more"]])[0] == [expected, {"other": 1}, {"more": 1}]


def test_a_feature_given_twice_adds_up():
    assert learnt([{"a": {"b": 1.0}, "a:b": 2.0}])[0] == [{"a:b": 3}]


def test_columns_come_in_the_order_of_first_sight():
    assert learnt([["b", "a"], ["c", "a"]])[1] == ["b", "a", "c"]
    assert learnt([{"b": 1.0, "a": "x"}, {"a": "y", "b": 2.0}])[1] == ["b", "a:x", "a:y"]


def test_sets_are_read_in_sorted_order_so_that_columns_repeat_from_process_to_process():
    names = [f"n{j:02}" for j in range(40)]
    assert learnt([set(names)])[1] == names
    assert learnt([{"s": frozenset(names)}])[1] == [f"s:{name}" for name in names]


@pytest.mark.parametrize("as_dicts", [False, True])
def test_names_never_seen_are_left_out_at_prediction(as_dicts):
    vocabulary = Vocabulary()
    tokens = [["b", "a"], ["new", "a", "newer"], ["newest"], [], ["b", "new", "b"]]
    if as_dicts:
        tokens = [{name: float(token.count(name)) for name in token} for token in tokens]
    vocabulary.encode(tokens[:1], learn=True)
    matrix = vocabulary.encode(tokens, learn=False)
    assert len(vocabulary) == 2
    assert matrix.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [0, 0], [2, 0]]


@pytest.mark.parametrize("bad", [None, ["c"]])
def test_a_token_that_cannot_be_read_leaves_the_vocabulary_as_it_was(bad):
    vocabulary = Vocabulary()
    vocabulary.encode([["a"]], learn=True)
    with pytest.raises(TypeError):
        vocabulary.encode([["b", bad]], learn=True)
    assert vocabulary.columns == {"a": 0}


def test_names_kept_are_strings_of_their_own():
    names = [np.str_("a"), "".join(["é", "𝔸"]), "", "\ud800"]
    vocabulary = Vocabulary()
    vocabulary.encode([names], learn=True)
    assert list(vocabulary.columns.items()) == [(name, f) for f, name in enumerate(names)]
    assert {type(name) for name in vocabulary.columns} == {str}
    assert vocabulary.encode([[*names, "b"]], learn=False).toarray().tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"x": None}, "feature 'x' has a value of type NoneType"),
        ({"x": {"y": None}}, "feature 'x:y' has a value of type NoneType"),
        ({"x": 1j}, "feature 'x' has a value of type complex"),
        ({"x": Decimal(1)}, "feature 'x' has a value of type Decimal"),
        ({"x": ["a", None]}, "feature 'x' is a list with NoneType None, expected strings"),
        ({"x": [1.0, None]}, "feature 'x' is a list with NoneType None, expected strings"),
        ({"x": [["a"], ["b"]]}, "feature 'x' is a list with list ['a'], expected strings"),
        ({"x": [[1.0], [2.0]]}, "feature 'x' is a list with list [1.0], expected strings"),
        ({"x": np.array([1j])}, "feature 'x' is a list with complex 1j, expected strings"),
        (b"word", "expected a dict or a list of strings, found bytes"),
        (["a", bytearray(b"b")], "expected names of features (strings), found bytearray bytearray(b'b')"),
        (7, "expected a dict or a list of strings, found int"),
        ("word", "expected a dict or a list of strings, found str"),
        ([1.0, 2.0], "expected names of features (strings), found float 1.0"),
        (["a", None], "expected names of features (strings), found NoneType None"),
        ({"a", 3}, "expected names of features (strings), found int 3"),
        (["a", ["b"]], "expected names of features (strings), found list ['b']"),
        (["a", {"b": 1.0}], "expected names of features (strings), found dict {'b': 1.0}"),
    ],
)
def test_tokens_that_cannot_be_read(token, message):
    for tokens in ([token], [token, {"a": 1.0}], [{"a": 1.0}, token]):
        for learn in (True, False):
            with pytest.raises(TypeError) as error:
                Vocabulary().encode(tokens, learn)
            assert message in str(error.value)


@pytest.mark.parametrize("token", [{"x": b"\xff"}, {b"\xff": 1.0}, {"x": [b"\xff"]}, ["a", b"\xff"], {b"\xff"}])
def test_bytes_that_are_no_text(token):
    for learn in (True, False):
        with pytest.raises(ValueError, match=r"expected text, or bytes in UTF-8, found b'\\xff'"):
            Vocabulary().encode([token], learn)


def test_bytes_and_strings_are_the_same_names():
    vocabulary = Vocabulary()
    vocabulary.encode([["a", b"b"]], learn=True)
    assert vocabulary.columns == {"a": 0, "b": 1}
    assert vocabulary.encode([[b"a", "b", b"c"], [b"b"]], learn=False).toarray().tolist() == [[1, 1], [0, 1]]


def test_which_tokens_are_named():
    assert is_named([b"a", "b"]) and not is_named(b"word") and not is_named(b"")
    assert is_named({"a": 1.0}) and is_named(["a", "b"]) and is_named(("a",)) and is_named({"a"}) and is_named([])
    assert not is_named([1.0]) and not is_named("word") and not is_named(np.array([1.0])) and not is_named(3.0)


@CASES
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 6), st.integers(0, 9)),
    n_labels=st.integers(1, 4),
    constant=st.booleans(),
    density=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
)
def test_dense_and_sparse_rows_score_alike(seed, shape, n_labels, constant, density):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=shape) * (rng.random(shape) < density)
    weights = rng.normal(size=(shape[1] + constant, n_labels))
    full = np.hstack([table, np.ones((shape[0], 1))]) if constant else table
    for rows in (np.arange(shape[0]), rng.permutation(shape[0]), rng.integers(0, shape[0], shape[0]), np.array([0])):
        expected = full[rows] @ weights
        for matrix in (table, np.asfortranarray(table), sp.csr_array(table), sp.coo_array(table), sp.csc_matrix(table)):
            encoded = Rows(matrix, constant)
            assert encoded.n_columns == full.shape[1]
            np.testing.assert_allclose(encoded.scores(weights, rows), expected, atol=1e-12)
    as_csr = sp.csr_array((encoded.data, encoded.indices, encoded.indptr), shape=full.shape)
    np.testing.assert_array_equal(as_csr.toarray(), full)
    np.testing.assert_array_equal(encoded.counts(), np.diff(encoded.indptr))


def test_full_rows_are_multiplied_densely_and_empty_ones_sparsely():
    assert Rows(np.ones((3, 4)), False).dense is not None
    assert Rows(np.eye(4), False).dense is None
    assert Rows(sp.csr_array(np.ones((3, 4))), True).dense is None


def test_float32_is_exact_only_where_nothing_is_lost():
    assert Rows(np.array([[1.0, 0.5], [2.0**-20, -3.0]]), True).float32_exact
    assert not Rows(np.array([[0.1]]), True).float32_exact
    assert not Rows(np.array([[1e300]]), True).float32_exact
    assert not Rows(np.array([[2.0**24 + 1]]), True).float32_exact
