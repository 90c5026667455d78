"""TemplateEncoder: the columns, names and rows of the strings that templates return, through a vocabulary."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin._base.errors import ExampleError
from maxmargin.features.text import template_encoder as module
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.features.text.template_encoder import TemplateEncoder

CASES = settings(derandomize=True, deadline=None, max_examples=150)

WORDS = ["Ana", "ana", "a", "de", "IBM", "12", "x-Y", "perro", "", " ", "a b", "b c", "a\\", "\\ b", "ÑandúßΣ", "İ",
         "٣", "𝔸𝔹", "\ud800", "\u00a0", "Ana Ana"]  # fmt: skip
WORD = st.one_of(st.sampled_from(WORDS), st.text(max_size=3))
TEMPLATES = st.builds(
    mm.TokenTemplates, window=st.integers(0, 3), affixes=st.integers(0, 5), shape=st.booleans(), pairs=st.booleans(),
    columns=st.sampled_from([None, (), (0,), (1,), (2, 1), (1, 1)]), word=st.integers(0, 2),
)  # fmt: skip
SENTENCES = st.lists(st.lists(st.tuples(WORD, st.sampled_from(["N", "V", "", "N V"]), WORD), max_size=5), max_size=4)


def by_strings(templates, X, new, min_count=1):
    """The rows of X and of new sentences as lists of names, and all names, through strings."""
    encoder = SequenceEncoder(min_count=min_count)
    learnt, _ = encoder.fit([templates(x) for x in X])
    rows, _ = encoder.encode([templates(x) for x in new])
    names = encoder.column_names()
    return named(learnt.indptr, learnt.indices, names, learnt.data), named(rows.indptr, rows.indices, names), names


def named(indptr, indices, names, counts=None):
    counts = np.ones(len(indices), int) if counts is None else counts.astype(int)
    entries = [name for f, count in zip(indices, counts, strict=True) for name in [names[f]] * count]
    ends = np.concatenate([[0], np.cumsum(counts)])[indptr]
    return [sorted(entries[a:b]) for a, b in pairwise(ends)]


@CASES
@given(TEMPLATES, SENTENCES, SENTENCES, st.integers(1, 3), st.booleans())
def test_rows_and_names_are_those_of_strings(templates, X, new, min_count, constant):
    X = [[("Ana", "N", "x")], *X]
    learnt, rows, names = by_strings(templates, X, new, min_count)
    encoder = TemplateEncoder(templates, constant, min_count)
    found, offsets = encoder.fit(X)
    assert encoder.column_names() == names
    assert offsets.tolist() == np.cumsum([0, *map(len, X)]).tolist()
    assert len(set(names)) == len(names) == encoder.width == found.n_columns - constant
    names = [*names, "constant"]
    extra = ["constant"] * constant
    assert named(found.indptr, found.indices, names) == [sorted([*row, *extra]) for row in learnt]
    for other in (encoder, pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)):
        predicted, _ = other.encode(new)
        assert named(predicted.indptr, predicted.indices, names) == [sorted([*row, *extra]) for row in rows]
        again, _ = other.encode(X)
        np.testing.assert_array_equal(again.indices, found.indices)
        np.testing.assert_array_equal(again.indptr, found.indptr)


def test_tables_grow(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_TABLE", 2)
    rng = np.random.default_rng(0)
    X = [[f"w{k}" for k in rng.integers(200, size=rng.integers(8))] for _ in range(300)]
    templates = mm.TokenTemplates()
    _, rows, names = by_strings(templates, X, X[:20])
    encoder = TemplateEncoder(templates, False)
    encoder.fit(X)
    assert encoder.column_names() == names
    predicted, _ = encoder.encode(X[:20])
    assert named(predicted.indptr, predicted.indices, names) == rows


def test_the_types_kept_are_limited(monkeypatch):
    encoder = TemplateEncoder(mm.TokenTemplates())
    encoder.fit([["a", "b"], ["c"]])
    monkeypatch.setattr(module, "MOST_TYPES", 4)
    expected = TemplateEncoder(mm.TokenTemplates())
    expected.fit([["a", "b"], ["c"]])
    for k in range(10):
        x = [f"w{k}", "a", "c"]
        np.testing.assert_array_equal(encoder.encode([x])[0].indices, expected.encode([x])[0].indices)
        assert len(encoder._types) <= 7


def test_tokens_as_lists_arrays_and_words():
    pairs = [[("Ana", "N"), ("runs", "V")], [], [("Oslo", "N")]]
    encoder = TemplateEncoder(mm.TokenTemplates())
    expected, _ = encoder.fit(pairs)
    for X in ([[list(token) for token in x] for x in pairs], [np.array(x, object).reshape(-1, 2) for x in pairs]):
        np.testing.assert_array_equal(encoder.encode(X)[0].indices, expected.indices)
    words = TemplateEncoder(mm.TokenTemplates())
    expected, _ = words.fit([["Ana", "runs"]])
    np.testing.assert_array_equal(words.encode([[("Ana",), ("runs",)]])[0].indices, expected.indices)
    np.testing.assert_array_equal(words.encode([np.array(["Ana", "runs"])])[0].indices, expected.indices)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a"], [("b", "c")]], r"X\[1\], token 0: 2 columns, expected 1"),
        ([[["a", "b"]], [["a"]]], r"X\[1\], token 0: 1 columns, expected 2"),
        ([["a", 3]], r"X\[0\], token 1: expected a word or a tuple of columns, found 3"),
        ([[3]], r"X\[0\], token 0: expected a word or a tuple of columns, found 3"),
        ([["a"], "b c"], r"X\[1\]: expected a list of words"),
        ([[("a", None)]], r"X\[0\], token 0: expected words or tuples of strings, found \('a', None\)"),
        ([[], []], "every sequence is empty"),
    ],
)
def test_bad_sentences(X, message):
    with pytest.raises(ValueError, match=message):
        TemplateEncoder(mm.TokenTemplates()).fit(X)


def test_missing_columns():
    with pytest.raises(ValueError, match="the templates use column 2, but tokens have 2 columns"):
        TemplateEncoder(mm.TokenTemplates(columns=(2,))).fit([[("a", "b")]])
    encoder = TemplateEncoder(mm.TokenTemplates())
    encoder.fit([[("a", "b")]])
    with pytest.raises(ExampleError, match=r"X\[0\], token 0: 1 columns, expected 2"):
        encoder.encode([["a"]])


def test_states_that_do_not_fit_are_refused():
    encoder = TemplateEncoder(mm.TokenTemplates(window=1, affixes=0))
    encoder.fit([["a", "b", "A"]])
    state = encoder.get_state()

    def refused(**changes):
        with pytest.raises(ValueError, match=r"of a model must be|do not belong|must be bytes|must be an array"):
            TemplateEncoder(mm.TokenTemplates(window=1, affixes=0)).set_state({**state, **changes})

    triple = int(np.flatnonzero(state["field"] == state["field"].max())[0])
    for name, at, value in (
        ("field", 0, 60_000), ("left", 0, 99), ("left", 0, -1), ("left", triple, triple), ("left", triple, 0),
        ("left", triple, -1), ("right", triple, -1), ("right", triple, 99),
    ):  # fmt: skip
        array = state[name].copy()
        array[at] = value
        refused(**{name: array})
    refused(**{name: np.append(state[name], state[name][0]) for name in ("field", "left", "right")})
    refused(left=state["left"][:-1])
    refused(values=state["values"][:-1])
    refused(values=[state["values"][0]] * len(state["values"]))
    assert TemplateEncoder(mm.TokenTemplates(window=1, affixes=0)).set_state(state).width == encoder.width


def test_min_count_makes_the_model_smaller():
    X = [["Ana", "runs"], ["Ana", "sings"], ["Tom", "runs"]]
    encoder = TemplateEncoder(mm.TokenTemplates(), min_count=2)
    rows, _ = encoder.fit(X)
    names = encoder.column_names()
    assert "word=Ana" in names
    assert "word=Tom" not in names
    assert not any("sings" in value for known in encoder._values for value in known)
    assert rows.indices.max() == encoder.width == len(names)


@CASES
@given(TEMPLATES, SENTENCES, SENTENCES, SENTENCES, st.integers(1, 3), st.booleans())
def test_encoders_of_parts_merge_into_that_of_all(templates, first, second, third, min_count, constant):
    parts, counts = [], []
    for X in (first, second, third):
        if any(X):
            part = TemplateEncoder(templates, constant)
            rows, _ = part.fit(X)
            parts.append(part)
            counts.append(np.bincount(rows.indices, minlength=part.width)[: part.width])
    if not parts:
        return
    everything = first + second + third
    whole, merged = (TemplateEncoder(templates, constant, min_count) for _ in range(2))
    rows, _ = whole.fit(everything)
    columns = merged.merge([part.get_state() for part in parts], counts)
    assert merged.column_names() == whole.column_names()
    assert np.array_equal(merged.encode(everything)[0].indices, rows.indices)
    names = [*merged.column_names(), None]
    for part, numbers in zip(parts, columns, strict=True):
        assert [names[c] for c in numbers] == [n if n in names else None for n in part.column_names()]
