"""Explained decisions and named weights, of structures of one's own."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.estimators.explain import explain
from maxmargin.exceptions import StructureError
from tests.helpers.reused_features import ReusedFeatures

LABELS = (0, 1, 2)


class Labels(mm.Structure):
    """Multiclass over vectors of two numbers, with all that `explain` asks for."""

    size = 6

    def joint_feature(self, x, y):
        psi = np.zeros(6)
        psi[2 * y : 2 * y + 2] = x
        return psi

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return max(LABELS, key=lambda y: w[2 * y : 2 * y + 2] @ x)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(LABELS, key=lambda k: w[2 * k : 2 * k + 2] @ x + scale * (k != y))

    def enumerate(self, x):
        return LABELS


class MisNamed(Labels):
    """A name too few."""

    def feature_names(self):
        return list("abcde")


class Last(Labels):
    """The last of equally good labels, while `enumerate` begins with the first."""

    def argmax(self, w, x):
        return max(reversed(LABELS), key=lambda y: w[2 * y : 2 * y + 2] @ x)


class LastRanked(Last):
    """The same, with a `topk` that begins with the first."""

    def topk(self, w, x, k):
        scores = {y: w[2 * y : 2 * y + 2] @ x for y in LABELS}
        return [(y, scores[y]) for y in sorted(LABELS, key=lambda y: -scores[y])[:k]]


NAMES = np.array(list("abcdef"), object)
X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.where(X[:, 0] > 0, 0, np.where(X[:, 1] > 0, 1, 2)).tolist()


def test_names_that_are_not_one_for_each_weight():
    model = mm.StructuralSVM(MisNamed()).fit(X, Y)
    for look in (lambda: model.explain(X[0]), model.weights_frame):
        with pytest.raises(StructureError, match="feature_names must return one name for each of 6 weights, found 5"):
            look()


def test_contributions_and_the_rest_are_the_margin():
    model = mm.StructuralSVM(Labels()).fit(X, Y)
    whole = model.explain(X[0])
    assert len(whole.contributions) == 4 and whole.rest == 0.0
    assert sum(amount for _, amount in whole.contributions) == pytest.approx(whole.margin)
    assert "all others" not in str(whole)
    for n in range(4):
        part = model.explain(X[0], n_features=n)
        assert part.contributions == whole.contributions[:n]
        assert abs(part.rest) > 1e-3
        assert sum(amount for _, amount in part.contributions) + part.rest == pytest.approx(part.margin)
        assert str(part).splitlines()[-1] == f"  {part.rest:+.4g}  all others"


@pytest.mark.parametrize("n_features", [-1, 2.0, "all"])
def test_a_number_of_features_that_is_none(n_features):
    model = mm.StructuralSVM(Labels()).fit(X, Y)
    with pytest.raises(ValueError, match=f"n_features must be an integer ≥ 0, found {n_features!r}"):
        model.explain(X[0], n_features=n_features)


@pytest.mark.parametrize("structure", [Last(), LastRanked()])
@pytest.mark.parametrize(
    ("w", "prediction", "runner_up"),
    [([0.0, 0, 0, 0, 0, 0], 2, 0), ([1.0, 0, 0, 0, 1, 0], 2, 0), ([1.0, 0, 1, 0, 0, 0], 1, 0)],
)
def test_the_prediction_among_equals_is_that_of_predict(structure, w, prediction, runner_up):
    w, x = np.array(w), np.array([1.0, 0.0])
    decision = explain(structure, w, x, NAMES, 10)
    assert decision.prediction == prediction == structure.argmax(w, x)
    assert (decision.runner_up, decision.margin) == (runner_up, 0.0)
    assert decision.score == w[2 * prediction]
    assert sum(amount for _, amount in decision.contributions) == 0.0


def test_an_argmax_that_misses_the_best():
    class First(Labels):
        def argmax(self, w, x):
            return 0

    decision = explain(First(), np.array([1.0, 0, 3.0, 0, 2.0, 0]), np.array([1.0, 0.0]), NAMES, 10)
    assert (decision.prediction, decision.score, decision.runner_up, decision.margin) == (0, 1.0, 1, -2.0)
    assert decision.contributions == [("c", -3.0), ("a", 1.0)]


def test_outputs_that_are_arrays():
    class Arrays(Labels):
        def joint_feature(self, x, y):
            return super().joint_feature(x, int(y[0]))

        def argmax(self, w, x):
            return [super().argmax(w, x)]

        def enumerate(self, x):
            return [np.array([y]) for y in LABELS]

    decision = explain(Arrays(), np.array([1.0, 0, 3.0, 0, 2.0, 0]), np.array([1.0, 0.0]), NAMES, 10)
    assert (decision.prediction, decision.runner_up, decision.margin) == ([1], np.array([2]), 1.0)


def test_a_single_output_has_no_runner_up():
    class Only(Labels):
        def enumerate(self, x):
            return [1]

        def argmax(self, w, x):
            return 1

    decision = explain(Only(), np.arange(6.0), np.array([1.0, 0.0]), NAMES, 10)
    assert (decision.prediction, decision.score, decision.runner_up) == (1, 2.0, None)
    assert (decision.margin, decision.contributions, decision.rest) == (float("inf"), [], 0.0)
    assert str(decision) == "1 (score 2) is the only output"


class Reusing(ReusedFeatures, Labels):
    size = 6


@pytest.mark.parametrize("form", ["dense", "pair", "dict"])
def test_joint_features_that_are_one_object_filled_anew(form):
    w = np.random.default_rng(1).normal(size=6)
    for x in X:
        assert explain(Reusing(form), w, x, NAMES, 10) == explain(Labels(), w, x, NAMES, 10)


def sentences():
    return [["Ana", "met", "Tom"], ["Tom", "sings"]], [["PER", "O", "PER"], ["PER", "O"]]


def named_features(X, Y):
    return [[{f"f{j}": value for j, value in enumerate(row)} for row in x] for x in X], Y


LISTS = {
    "arrays": (mm.SequenceTagger(), mm.datasets.make_chains(10, random_state=0)),
    "dicts": (mm.SequenceTagger(), named_features(*mm.datasets.make_chains(10, random_state=0))),
    "words": (mm.ColumnTagger(), sentences()),
    "rows": (mm.MulticlassSVM(), mm.datasets.make_multiclass(30, random_state=0)),
    "strings": (mm.MotifFinder(length=2, background_order=0), (["ACGT", "ATTT", "ACGG", "CCCT"], [1, 0, 1, 0])),
}


@pytest.mark.parametrize(("model", "data"), LISTS.values(), ids=LISTS)
def test_one_input_is_told_from_a_list_of_them(model, data):
    X, Y = data
    model.fit(X, Y)
    assert len(model.topk(X[0], 2)) == 2
    for n in (len(X), 1):
        with pytest.raises(ValueError, match=f"^topk takes one input x, found a list of {n} inputs$"):
            model.topk(X[:n], 2)
        with pytest.raises(ValueError, match=f"^explain takes one input x, found a list of {n} inputs$"):
            model.explain(X[:n])


def test_an_input_that_cannot_be_read_is_told_as_ever():
    X, y = mm.datasets.make_multiclass(30, random_state=0)
    with pytest.raises(ValueError, match="X has 1 features, expected 10"):
        mm.MulticlassSVM().fit(X, y).topk(X[0][:1], 2)


def test_several_sparse_rows_are_not_one_input():
    X, y = mm.datasets.make_multiclass(20, random_state=0)
    model = mm.MulticlassSVM().fit(X, y)
    assert [label for label, _ in model.topk(sp.csr_array(X[:1]), 2)] == [label for label, _ in model.topk(X[0], 2)]
    with pytest.raises(ValueError, match="topk takes one input x, found a list of 3 inputs"):
        model.topk(sp.csr_array(X[:3]), 2)
    rows = mm.StructuralSVM(mm.Multiclass()).fit(X, y)
    with pytest.raises(ValueError, match=r"X\[1\]: expected one row, found 2"):
        rows.predict([sp.csr_array(X[:1]), sp.csr_array(X[:2])])


class Endless(mm.Structure):
    """More outputs than anyone can list."""

    def joint_feature(self, x, y):
        return np.array([x, 1.0]) * (1.0 if y == 1 else 1.0 / (2.0 + y))

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w @ [x, 1.0] > 0 else 0

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((0, 1), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    def enumerate(self, x):
        return itertools.count()


def test_an_endless_enumeration_ends():
    model = mm.StructuralSVM(Endless()).fit([1.0, -1.0], [1, 0])
    with pytest.raises(ValueError, match=r"enumerate\(x\) has more than 10000 outputs.* Endless needs topk"):
        model.explain(1.0)
