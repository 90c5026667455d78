"""scikit-learn's conventions: its own checks where rows are rows, ours where inputs are ragged."""

import dataclasses
from typing import Self, get_type_hints

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.datasets import toy
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.exceptions import InexactArgmaxWarning, NotSeparableError
from maxmargin.registry import public_estimators

#: Estimators of rows and labels, which pass scikit-learn's own checks.
PLAIN = [mm.MeasureSVC, mm.MulticlassSVM, mm.TaxonomyClassifier]
#: For every other estimator, by its class: a name, the estimator and data (X, Y) or (X, Y, groups) to check it on.
CASES = {
    mm.ColumnTagger: [("words", mm.ColumnTagger(), toy.words)],
    mm.ConstituencyParser: [("trees of tags", mm.ConstituencyParser(), toy.constituents)],
    mm.CostLearner: [
        ("costs", mm.CostLearner(mm.Optimizer.assignment(3), C=0.1), toy.costs),
        ("decisions", mm.CostLearner(mm.Optimizer.assignment(3), loss="hamming"), toy.decisions),
    ],
    mm.CutSegmenter: [("images", mm.CutSegmenter(features="channels"), toy.images)],
    mm.DecoyRanker: [("decoys", mm.DecoyRanker(alphabet="ACGT", solver="auto"), toy.decoys)],
    mm.DependencyParser: [("parser", mm.DependencyParser(), toy.phrases)],
    mm.DiverseSelector: [("results", mm.DiverseSelector(k=2), toy.search_results)],
    mm.ForestClustering: [("clusters", mm.ForestClustering(), toy.places)],
    mm.GraphLabeler: [
        ("graphs", mm.GraphLabeler(), toy.graphs),
        ("grids", mm.GraphLabeler(), toy.images),
    ],
    mm.MotifFinder: [("motif", mm.MotifFinder(length=4, background_order=0, n_restarts=2), toy.strings)],
    mm.MultilabelSVM: [
        ("label sets", mm.MultilabelSVM(pairs="all"), toy.label_sets),
        ("label sets, F1", mm.MultilabelSVM(pairs="tree", loss="f1", C=5.0), toy.label_sets),
    ],
    mm.PairwiseAligner: [("alignments", mm.PairwiseAligner(alphabet="ACGT"), toy.alignments)],
    mm.RNAFolder: [("folder", mm.RNAFolder(C=0.1), toy.molecules)],
    mm.SequenceTagger: [
        ("tagger", mm.SequenceTagger(), toy.chains),
        ("tagger of named tokens", mm.SequenceTagger(), toy.named_tokens),
    ],
    mm.StructuralSVM: [
        ("chain", mm.StructuralSVM(mm.Chain()), toy.chains),
        ("slack", mm.StructuralSVM(mm.Chain(), bound="slack", slack="quadratic"), toy.chains),
        ("multiclass", mm.StructuralSVM(mm.Multiclass()), toy.rows),
        ("own", mm.StructuralSVM(toy.Sign(sparse=True)), toy.signs),
        ("latent", mm.StructuralSVM(mm.Forest()), toy.places),
    ],
    mm.StructuredRanker: [
        ("ndcg", mm.StructuredRanker(measure="ndcg@3"), toy.queries),
        ("pairs", mm.StructuredRanker(measure="pairwise", drop_empty=True), toy.queries),
    ],
}


def checks(estimator, X, Y, groups=None):
    return mm.testing.structured_estimator_checks(estimator, X, Y, groups=groups)


CHECKS = [
    pytest.param(check, id=f"{case}: {name}")
    for cases in CASES.values()
    for case, estimator, data in cases
    for name, check in checks(estimator, *data())
]


@pytest.mark.filterwarnings("ignore:all rows (have the same score|are predicted):UserWarning")  # of random labels
@parametrize_with_checks([kind() for kind in PLAIN])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS)
def test_structured_checks(check):
    check()


@pytest.mark.parametrize("kind", public_estimators())
def test_every_estimator_is_checked(kind):
    assert kind in PLAIN or kind in CASES, (
        f"{kind.__name__} is not checked: add it to CASES in {__name__}, with data that it can learn from, or to PLAIN "
        f"if it passes scikit-learn's own checks"
    )
    assert all(type(estimator) is kind for _, estimator, _ in CASES.get(kind, ()))


def test_sample_weight_is_checked_where_there_is_one():
    assert "sample_weight" in dict(checks(mm.SequenceTagger(), *toy.chains()))
    assert "sample_weight" not in dict(checks(mm.StructuredRanker(), *toy.queries()))


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


class Boasting(mm.SequenceTagger):
    """Claims to have reached its tolerance."""

    def fit(self, X, Y, sample_weight=None):
        super().fit(X, Y, sample_weight)
        self.stop_reason_ = "tol"
        return self


class Silent(mm.SequenceTagger):
    """Does not say that it has reached its tolerance."""

    def fit(self, X, Y, sample_weight=None):
        super().fit(X, Y, sample_weight)
        self.stop_reason_ = "max_iter"
        return self


class Optimistic(mm.SequenceTagger):
    """Claims that every objective is the optimum."""

    def fit(self, X, Y, sample_weight=None):
        super().fit(X, Y, sample_weight)
        self.certificate_ = dataclasses.replace(self.certificate_, dual=self.certificate_.primal)
        return self


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (ForgetsNothing(), "parameters_are_kept"),
        (Moody(), "repeats_bit_for_bit"),
        (Boasting(tol=1e-3, max_iter=2), "certificate"),
        (Silent(), "certificate"),
        (Optimistic(), "certificate"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_checks_can_fail(estimator, name):
    with pytest.raises(AssertionError):
        dict(checks(estimator, *toy.chains()))[name]()


def test_structured_checks_end_in_assertion_errors():
    class RaisesSomethingElse(mm.SequenceTagger):
        def predict(self, X):
            return [self.coef_ for _ in X]  # AttributeError where it is not fitted

    X, Y = mm.datasets.make_chains(12, random_state=0)
    with pytest.raises(AssertionError, match="AttributeError"):
        dict(checks(RaisesSomethingElse(), X, Y))["unfitted"]()


def test_structured_checks_suit_any_trade_off():
    X, Y = mm.datasets.make_chains(12, random_state=0)
    dict(mm.testing.structured_estimator_checks(mm.SequenceTagger(C=0.123), X, Y))["clone_and_set_params"]()


@pytest.mark.parametrize("kind", [mm.StructuralSVM, mm.SequenceTagger, mm.StructuredRanker])
@pytest.mark.parametrize("method", ["fit", "set_params"])
def test_type_checkers_know_what_comes_back(kind, method):
    function = getattr(kind, method)
    if function.__module__.startswith("maxmargin"):  # scikit-learn declares its own to type checkers only
        assert get_type_hints(function)["return"] is Self


def test_what_is_caught_and_annotated_is_public():
    X, y = mm.datasets.make_multiclass(30, random_state=0)
    model = mm.MulticlassSVM().fit(X, y)
    assert isinstance(model.explain(X[0]), mm.outputs.Explanation)
    assert isinstance(model.support_, mm.outputs.Support)
    assert isinstance(mm.check_structure(model.structure_, X[:2], y[:2]), mm.outputs.Report)
    with pytest.raises(NotSeparableError):
        mm.MulticlassSVM(C=np.inf).fit(np.zeros((2, 1)), ["a", "b"])
    assert issubclass(InexactArgmaxWarning, UserWarning)
    assert get_type_hints(mm.load)["return"] is MaxMarginEstimator


@pytest.mark.parametrize("max_iter", [1.5, 0, -1, True, np.inf, "2"])
def test_steps_are_counted(max_iter):
    with pytest.raises(ValueError, match=rf"max_iter must be an integer ≥ 1, found {max_iter!r}"):
        mm.SequenceTagger(max_iter=max_iter).fit(None, None)
