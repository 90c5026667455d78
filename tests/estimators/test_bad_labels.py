"""Invalid labels and invalid `classes` raise a clear error before any work starts."""

import numpy as np
import pytest

import maxmargin as mm

X, Y = mm.datasets.make_chains(6, random_state=0)
ROWS, LABELS = mm.datasets.make_multiclass(20, random_state=0)


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ([0, 1, 2, 3, 2], r"classes\[4\]: expected each label once, found 2, which is classes\[2\] as well"),
        (np.array([0, 0, 1]), r"classes\[1\]: expected each label once, found 0, which is classes\[0\] as well"),
        ({0, 1, 2, 3}, r"classes must be a list of labels in order, found set \{0, 1, 2, 3\}"),
        ({0: "a", 1: "b"}, "classes must be a list of labels in order, found dict"),
        (5, "classes must be a list of labels in order, found int 5"),
        ("abcd", "classes must be a list of labels in order, found str 'abcd'"),
        (np.array(5), "classes must be a list of labels in order, found ndarray"),
        (iter([0, 1, 2, 3]), "classes must be a list of labels in order, found list_iterator"),
        ([0, 1, [2], 3], r"classes\[2\]: labels must be hashable \(strings, numbers, tuples\), found list \[2\]"),
        ([0.0, 1.0, float("nan")], r"classes\[2\]: expected a label, found nan"),
    ],
)
def test_classes_that_name_no_labels_in_order(classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.MulticlassSVM(classes=classes).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger(classes=classes).fit(X, Y)
    with pytest.raises(ValueError, match=sentence):
        mm.MotifFinder(length=2, classes=classes).fit(["ACGT", "AAGT"], [0, 1])
    if not hasattr(classes, "__next__"):  # scikit-learn cannot clone those
        with pytest.raises(ValueError, match=sentence):
            mm.StructuralSVM(mm.Multiclass(classes=classes)).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"A", "B"}, r"Y\[1\]: expected a sequence of labels, found set \{"),
        (frozenset("AB"), r"Y\[1\]: expected a sequence of labels, found frozenset"),
        ({"A": 0, "B": 1}, r"Y\[1\]: expected a sequence of labels, found dict"),
        (b"AB", r"Y\[1\]: expected a sequence of labels, found bytes b'AB'"),
        (bytearray(b"AB"), r"Y\[1\]: expected a sequence of labels, found bytearray"),
        ("AB", r"Y\[1\]: expected a sequence of labels, found str 'AB'"),
    ],
)
def test_labels_of_tokens_that_are_in_no_order(labels, sentence):
    tokens = [np.eye(2), np.eye(2)]
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger().fit(tokens, [["A", "B"], labels])
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger(classes=["A", "B"]).fit(tokens, [["A", "B"], labels])
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger().fit(tokens, [["A", "B"]] * 2).score(tokens, [["A", "B"], labels])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", "b", None, "a"], r"^Y\[2\]: expected text as Y\[0\] is, found NoneType None$"),
        ([None, "b", "a", "a"], r"^Y\[0\]: expected a string or a number, found NoneType None$"),
        ([None] * 4, r"^Y\[0\]: expected a string or a number, found NoneType None$"),
        ([0, 1, 1, "a"], r"^Y\[3\]: expected a number as Y\[0\] is, found str 'a'$"),
        (["a", 1, "b", "a"], r"^Y\[1\]: expected text as Y\[0\] is, found int 1$"),
        (["a", "b", float("nan"), "a"], r"^Y\[2\]: expected text as Y\[0\] is, found float nan$"),
        (["a", ("b", "c"), "b", "a"], r"^Y\[1\]: expected text as Y\[0\] is, found tuple \('b', 'c'\)$"),
    ],
)
def test_rows_of_labels_of_several_kinds(labels, sentence):
    as_objects = np.empty(len(labels), object)
    as_objects[:] = labels
    for y in (labels, tuple(labels), as_objects):
        with pytest.raises(ValueError, match=sentence):
            mm.MulticlassSVM().fit(np.eye(4), y)
        with pytest.raises(ValueError, match=sentence):
            mm.MotifFinder(length=2, background_order=0).fit(["ACGT"] * 4, y)


def test_labels_of_several_kinds_are_for_a_structure():
    labels = ["a", None, 1, ("b", "c")]
    assert mm.StructuralSVM(mm.Multiclass()).fit(np.eye(4), labels).predict(np.eye(4)) == labels


def test_numbers_of_several_types_are_one_kind():
    model = mm.MulticlassSVM().fit(np.eye(3), [True, np.int8(2), 3.0])
    assert model.classes_.tolist() == [1.0, 2.0, 3.0]
