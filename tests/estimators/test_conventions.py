"""scikit-learn's conventions: its own checks where rows are rows, ours where inputs are ragged."""

from typing import Self, get_type_hints

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.estimators.base import MaxMarginEstimator


@parametrize_with_checks([mm.MulticlassSVM()])
def test_sklearn_checks(estimator, check):
    check(estimator)


class Rows(mm.Structure):
    """Multiclass in plain Python, with sparse joint features."""

    def __init__(self, n_features=8, n_labels=4):
        self.n_features, self.n_labels = n_features, n_labels
        self.size = n_features * n_labels

    def joint_feature(self, x, y):
        return np.arange(self.n_features) + y * self.n_features, np.asarray(x, float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def _scores(self, w, x):
        return w.reshape(self.n_labels, -1) @ x

    def argmax(self, w, x):
        return int(self._scores(w, x).argmax())

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        scores = self._scores(w, x) + scale
        scores[y] -= scale
        return int(scores.argmax())


def chains():
    return mm.datasets.make_chains(20, random_state=0)


def tokens():
    X, Y = mm.datasets.make_chains(20, random_state=1)
    named = [[{"first": str(row[0] > 0), "second": float(row[1]), "bias": True} for row in x] for x in X]
    return named, [["BIO"[v % 3] for v in y] for y in Y]


def rows():
    X, y = mm.datasets.make_multiclass(30, n_features=8, random_state=0)
    return list(X), y.tolist()


CASES = {
    "tagger": (mm.SequenceTagger(), chains),
    "tagger of named tokens": (mm.SequenceTagger(), tokens),
    "chain": (mm.StructuralSVM(mm.Chain()), chains),
    "slack": (mm.StructuralSVM(mm.Chain(), bound="slack", slack="quadratic"), chains),
    "multiclass": (mm.StructuralSVM(mm.Multiclass()), rows),
    "own": (mm.StructuralSVM(Rows()), rows),
}
CHECKS = [
    pytest.param(check, id=f"{case}: {name}")
    for case, (estimator, data) in CASES.items()
    for name, check in mm.structured_estimator_checks(estimator, *data())
]


@pytest.mark.parametrize("check", CHECKS)
def test_structured_checks(check):
    check()


class ForgetsNothing(mm.SequenceTagger):
    """Breaks a convention: fit changes a parameter."""

    def fit(self, X, Y, sample_weight=None):
        self.C = 7
        return super().fit(X, Y, sample_weight)


class Moody(mm.SequenceTagger):
    """Breaks another: two fits differ."""

    seeds = iter(range(1000))

    def fit(self, X, Y, sample_weight=None):
        super().fit(X, Y, sample_weight)
        self.coef_ = self.coef_ + next(self.seeds)
        return self


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(ForgetsNothing(), "parameters_are_kept"), (Moody(), "repeats_bit_for_bit")],
)
def test_checks_can_fail(estimator, name):
    checks = dict(mm.structured_estimator_checks(estimator, *chains()))
    with pytest.raises(AssertionError):
        checks[name]()


def test_structured_checks_end_in_assertion_errors():
    class RaisesSomethingElse(mm.SequenceTagger):
        def predict(self, X):
            return [self.coef_ for _ in X]  # AttributeError where it is not fitted

    X, Y = mm.datasets.make_chains(12, random_state=0)
    checks = dict(mm.structured_estimator_checks(RaisesSomethingElse(), X, Y))
    with pytest.raises(AssertionError, match="AttributeError"):
        checks["unfitted"]()


def test_structured_checks_suit_any_trade_off():
    X, Y = mm.datasets.make_chains(12, random_state=0)
    dict(mm.structured_estimator_checks(mm.SequenceTagger(C=0.123), X, Y))["clone_and_set_params"]()


@pytest.mark.parametrize("kind", [mm.StructuralSVM, mm.LatentStructuralSVM, mm.SequenceTagger, mm.PrecisionAtK])
@pytest.mark.parametrize("method", ["fit", "resume", "set_params"])
def test_type_checkers_know_what_comes_back(kind, method):
    function = getattr(kind, method)
    if function.__module__.startswith("maxmargin"):  # scikit-learn's own are told to type checkers only
        assert get_type_hints(function)["return"] is Self


def test_what_is_caught_and_annotated_is_public():
    X, y = mm.datasets.make_multiclass(30, random_state=0)
    model = mm.MulticlassSVM().fit(X, y)
    assert isinstance(model.explain(X[0]), mm.Decision)
    assert isinstance(model.support_, mm.Support)
    assert isinstance(mm.check_structure(model.structure_, X[:2], y[:2]), mm.Report)
    with pytest.raises(mm.NotSeparableError):
        mm.MulticlassSVM(C=np.inf).fit(np.zeros((2, 1)), ["a", "b"])
    assert issubclass(mm.InexactArgmaxWarning, UserWarning)
    assert get_type_hints(mm.load)["return"] is MaxMarginEstimator


@pytest.mark.parametrize("max_iter", [1.5, 0, -1, True, np.inf, "2"])
def test_steps_are_counted(max_iter):
    with pytest.raises(ValueError, match=rf"max_iter must be a whole number ≥ 1, found {max_iter!r}"):
        mm.SequenceTagger(max_iter=max_iter).fit(None, None)
