"""Labels of any kind to codes and back."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.core.planes import Answers
from maxmargin.features.rows.labels import Labels
from maxmargin.structures.chain.structure import Chain
from maxmargin.structures.multiclass import Multiclass

KINDS = {
    "strings": (["b", "a", "b", "c"], ["a", "b", "c"]),
    "ints": ([3, 1, 2, 1], [1, 2, 3]),
    "negative": ([-1, 1, 0, -7], [-7, -1, 0, 1]),
    "floats": ([0.5, -2.0, 0.5], [-2.0, 0.5]),
    "bools": ([True, False, True], [False, True]),
    "tuples": ([(1, 2), (0, 5), (1, 2)], [(0, 5), (1, 2)]),
    "ragged tuples": ([("a",), ("a", "b"), ()], [(), ("a",), ("a", "b")]),
    "one-tuples": ([("b",), ("a",)], [("a",), ("b",)]),
    "mixed": (["1", 1, "a", (2,)], [1, "1", "a", (2,)]),
    "numpy ints": ([np.int64(4), np.int32(2), np.int8(4)], [2, 4]),
    "numpy strings": ([np.str_("x"), "y", "x"], ["x", "y"]),
    "unicode": (["ß", "é", "z"], ["z", "ß", "é"]),
}
each_kind = pytest.mark.parametrize(("given_labels", "expected"), KINDS.values(), ids=KINDS)


@each_kind
def test_classes_are_distinct_plain_and_sorted(given_labels, expected):
    labels = Labels(given_labels)
    if any(v is None for v in expected):
        assert sorted(map(repr, labels.values)) == sorted(map(repr, expected))
        assert Labels(given_labels[::-1]).values == labels.values  # the order of the data does not matter
    else:
        assert labels.values == expected
    assert not any(isinstance(v, np.generic) for v in labels.values)


@each_kind
def test_codes_lead_back_to_the_labels(given_labels, expected):
    labels = Labels(given_labels)
    codes = labels.encode(given_labels, "Y")
    assert codes.dtype == np.int32
    assert [labels.values[c] for c in codes] == given_labels
    assert labels.array()[codes].tolist() == given_labels
    assert [type(v) for v in labels.array().tolist()] == [type(v) for v in labels.values]


@each_kind
def test_arrays_of_labels_are_read_like_lists(given_labels, expected):
    array = np.empty(len(given_labels), object)
    for r, label in enumerate(given_labels):
        array[r] = label
    np.testing.assert_array_equal(
        Labels(given_labels).encode(array, "Y"), Labels(given_labels).encode(given_labels, "Y")
    )


@each_kind
def test_structures_predict_the_labels_themselves(given_labels, expected):
    n = len(given_labels)
    X = np.eye(n)
    for structure, data, truths in (
        (Multiclass(), X, given_labels),
        (Chain(), [X], [given_labels]),
    ):
        examples = structure.fit(data, truths).encode(data, truths)
        answers = Answers.empty(examples.n_examples, n)
        # Weights that score each row's own label highest: entry (row, label).
        w = np.zeros(examples.dim)
        for r, code in enumerate(structure.labels_.encode(given_labels, "Y")):
            w[r * len(structure.labels_) + code] = 1.0
        examples.decode(w, np.arange(examples.n_examples), np.zeros(examples.n_examples), answers)
        assert list(examples.outputs(answers)) == truths
        assert (answers.keys == 0).all()


def test_given_classes_keep_their_order():
    labels = Labels(["z", "a", "m", "a"], given=True)
    assert labels.values == ["z", "a", "m"]
    assert labels.encode(["m", "z"], "Y").tolist() == [2, 0]
    chain = Chain(classes=np.array(["z", "a"])).fit([np.ones((1, 1))], [["a"]])
    assert chain.labels_.values == ["z", "a"]
    assert chain.encode([np.ones((1, 1))], [["z"]]).truths.tolist() == [0]


@pytest.mark.parametrize("label", ["q", 9, None, (1, 2), ["unhashable"], np.str_("q")])
def test_an_unknown_label_is_named_with_its_place(label):
    labels = Labels(["a", "b"])
    with pytest.raises(ValueError) as error:
        labels.encode(["a", label], "Y[7]")
    assert str(error.value).startswith(f"Y[7], position 1: unknown label {label!r}; the classes are 'a', 'b'. ")
    assert "classes=" in str(error.value)


def test_long_lists_of_classes_are_cut_short():
    with pytest.raises(ValueError) as error:
        Labels(range(20)).encode([99], "Y[0]")
    assert "the classes are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …" in str(error.value)


def test_labels_that_cannot_be_looked_up():
    for structure, X, Y in (
        (Chain(), [np.ones((2, 1))], [[["a"], ["b"]]]),
        (Multiclass(), np.ones((2, 1)), [["a"], ["b"]]),
    ):
        with pytest.raises(
            ValueError, match=r"labels must be hashable \(strings, numbers, tuples\), found list \['a'\]"
        ):
            structure.fit(X, Y)


@pytest.mark.parametrize(
    ("structure", "X", "Y", "sentence"),
    [
        (Chain(), [np.ones((2, 1))] * 2, [["a", "b"], ["a", ["b"]]], r"Y\[1\], position 1: labels must be hashable"),
        (Chain(), [np.ones((2, 1))] * 2, [["a", "b"], 3], r"Y\[1\]: expected a sequence of labels, found int 3"),
        (Chain(), [np.ones((2, 1))] * 2, [[0.0, 1.0], [np.nan, 1.0]], r"Y\[1\], position 0: expected a label, found n"),
        (Multiclass(), np.eye(3), ["a", ["b"], "c"], r"Y\[1\]: labels must be hashable"),
        (Multiclass(), np.eye(3), [0.0, 1.0, float("nan")], r"Y\[2\]: expected a label, found nan"),
    ],
)
def test_what_can_be_no_label_is_named_with_its_place(structure, X, Y, sentence):
    with pytest.raises(ValueError, match=sentence):
        structure.fit(X, Y)
