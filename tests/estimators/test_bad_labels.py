"""Invalid labels and invalid `classes` raise a clear error before any work starts."""

import numpy as np
import pandas as pd
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
        (["a", "b", float("nan"), "a"], r"^Y\[2\]: expected a label, found nan$"),
        ([1.0, 2.0, float("nan"), 1.0], r"^Y\[2\]: expected a label, found nan$"),
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
    labels = ["a", 2.5, 1, ("b", "c")]
    assert mm.StructuralSVM(mm.Multiclass()).fit(np.eye(4), labels).predict(np.eye(4)) == labels


def test_numbers_of_several_types_are_one_kind():
    model = mm.MulticlassSVM().fit(np.eye(3), [True, np.int8(2), 3.0])
    assert model.classes_.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("bad", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_missing_labels_name_their_place(bad):
    def refused(sentence, model, inputs, labels, **more):
        with pytest.raises(ValueError, match=rf"^{sentence}"):
            model.fit(inputs, labels, **more)

    row, words = ["a", "b", bad, "a"], [["x", "y"], ["z", "x"]]
    as_objects = np.empty(4, object)
    as_objects[:] = row
    for y in (row, as_objects):
        refused(r"Y\[2\]: expected", mm.MulticlassSVM(), np.eye(4), y)
        refused(r"Y\[2\]: expected a label, found", mm.StructuralSVM(mm.Multiclass()), np.eye(4), y)
    refused(r"Y\[2\]: ", mm.StructuralSVM(mm.Multiclass(classes=["a", "b"])), np.eye(4), row)
    refused(
        r"Y\[1\], position 1: expected a label, found", mm.SequenceTagger(), [np.eye(2)] * 2, [["a", "b"], ["a", bad]]
    )
    for constraints in (None, "bio"):
        tagger = mm.ColumnTagger(constraints=constraints)
        refused(r"Y\[1\], position 1: expected a label, found", tagger, words, [["O", "B-X"], ["O", bad]])
    refused(r"Y\[2\]: expected", mm.MotifFinder(length=2, background_order=0), ["ACGT"] * 4, [0, 1, bad, 1])
    for labels in ([bad, 1, bad, 1], [1, 0, bad, 0], [mm.outputs.MotifSite(bad), 0, 1, 1]):
        place = next(i for i, y in enumerate(labels) if getattr(y, "label", y) is bad)
        refused(rf"Y\[{place}\]: expected a label", mm.StructuralSVM(mm.Motif(length=2)), ["ACGT"] * 4, labels)
    refused(r"Y\[1\], item 1: ", mm.ForestClustering(), [np.ones((3, 3, 1))] * 2, [[0, 0, 1], [0, bad, 1]])
    refused(
        r"y\[2\]: relevance", mm.StructuredRanker(measure="precision@1"), np.eye(4), [0, 1, bad, 1], groups=[0, 0, 1, 1]
    )
    refused(r"Y\[1\]", mm.StructuralSVM(mm.Ranking(measure="precision@1")), [np.eye(3)] * 2, [[0, 0, 1], [0, bad, 1]])
    refused(r"Y\[1\]: ", mm.StructuralSVM(mm.Tree()), [np.ones((3, 3, 1))] * 2, [[0, 1], [0, bad]])
