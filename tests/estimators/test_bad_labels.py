"""Labels that can be none, and `classes` that name none in order, get a sentence before any work starts."""

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
