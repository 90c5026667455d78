"""Ranking against enumeration of all rankings, for every measure."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.structures.ranking.outputs import RankedDocuments, SwappedPairs
from maxmargin.structures.ranking.positions import best_of_each
from maxmargin.structures.ranking.structure import Ranking
from maxmargin.testing.conformance import StructureConformance, every_case
from tests.helpers.instances.ranking import AllPairs, AveragePrecisionOrders, Positions


class TestPositions(StructureConformance):
    n_cases, n_checked = -(-StructureConformance.n_cases // 2), 1

    def instance(self, seed):
        return Positions(seed)


class PairConformance(StructureConformance):
    """Features of pairs depend on the labels: without them, outputs are rankings in which all pairs count.

    `check_structure` would compare these rankings with outputs that have labels.
    """

    n_cases, n_checked = -(-StructureConformance.n_cases // 4), 0

    @every_case
    def test_prediction_without_truths(self, case):
        examples = case.structure.encode(case.unlabelled())
        answers = case.decoded(np.arange(case.n), np.ones(case.n), examples)
        assert not answers.losses.any()
        for i, output in enumerate(examples.outputs(answers)):
            scores = case.dense[i] @ case.w
            assert isinstance(output, RankedDocuments)
            if case.whole:
                assert list(output) == np.argsort(-scores, kind="stable").tolist()
            assert (np.diff(scores[list(output)]) <= 1e-9).all()

    @every_case
    def test_the_four_methods_agree_with_the_batch(self, case):
        s, w, scales = case.structure, case.w, np.full(case.n, 0.7)
        answers = case.decoded(np.arange(case.n), scales)
        for i, (x, y) in enumerate(zip(case.inputs(), case.Y, strict=True)):
            self._check_joint_features(case, i, x, y)
            rankings = list(s.enumerate(x))
            assert {tuple(r) for r in rankings} == set(permutations(range(len(y))))
            scores = [float(w @ s.joint_feature(x, ranking)) for ranking in rankings]
            assert float(w @ s.joint_feature(x, s.argmax(w, x))) == pytest.approx(max(scores), abs=1e-9)
            found = s.loss_augmented_argmax(w, x, y, 0.7)
            assert case.name(found) == case.name(case.found(answers, i))

    @every_case
    def test_rankings_have_the_losses_of_their_swapped_pairs(self, case):
        for i, y in enumerate(case.Y):
            pairs = case.pairs(i)
            for order in permutations(range(len(y))):
                place = np.argsort(order)
                swapped = case.swapped(i, [(a, b) for a, b in pairs if place[a] > place[b]])
                assert case.structure.loss(y, RankedDocuments(order)) == pytest.approx(case.loss(i, swapped), abs=1e-12)


class TestAllPairs(PairConformance):
    def instance(self, seed):
        return AllPairs(seed)


class TestAveragePrecision(PairConformance):
    def instance(self, seed):
        return AveragePrecisionOrders(seed)


def test_ties_do_not_force_documents_of_equal_gain_apart():
    """The completion is the ranking of best score among the equally good ones."""
    structure, x = Ranking(measure="ndcg@3").fit([np.eye(4)], [[1, 0, 1, 1]]), np.eye(4)
    completed = structure.complete(np.array([0.1, 9.0, 0.3, 0.2]), x, [1, 0, 1, 1])
    assert completed == (2, 3, 0)
    assert structure.loss([1, 0, 1, 1], completed) == 0.0


def test_candidates_of_an_assignment_are_the_best_of_each_gain():
    found, gains = best_of_each(np.array([1.0, 5.0, 3.0, 3.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.7, 0.7]), 2)
    assert found.tolist() == [1, 2, 3, 4]
    assert gains.tolist() == [0.0, 0.0, 0.7, 0.7]


def test_many_documents():
    """Sorting and assignment on long lists, where enumeration ends."""
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(300, 4)), rng.integers(0, 3, 300), rng.normal(size=4)
    for weights in ("discount", [1.0, 0.9, 0.5, 0.5, 0.1]):
        s = Ranking(measure="ndcg@5", position_weights=weights).fit([x], [y])
        found = s.loss_augmented_argmax(w, x, y, 3.0)

        def worth(output, s=s):
            return w @ s.joint_feature(x, output) + 3.0 * s.loss(y, output)

        best = worth(found)
        for _ in range(300):
            other = list(found)
            other[rng.integers(5)] = next(j for j in rng.permutation(300) if j not in found)
            assert worth(RankedDocuments(other)) <= best + 1e-9
            assert worth(RankedDocuments(rng.permutation(found).tolist())) <= best + 1e-9


@pytest.mark.parametrize(
    ("measure", "X", "Y", "message"),
    [
        ("ndcg@2", [np.eye(2), np.eye(2)], [[1, 0], [0, 0]], "Y[1]: the query has no relevant document"),
        ("ndcg@2", [np.eye(2)], [[1, -1]], "Y[0], document 1: relevance must be at least 0 for NDCG"),
        ("ndcg@2", [np.eye(2)], [[1, 2000]], "Y[0], document 1: the gains of relevance 2000 are too large"),
        ("ndcg@2", [np.eye(2)], [[1, 0, 0]], "X[0]: 2 documents but 3 relevance labels"),
        ("ndcg@2", [np.eye(2)], [[1, np.nan]], "Y[0], document 1: relevance must be finite"),
        ("ap", [np.eye(2)], [[0, -1]], "Y[0]: the query has no relevant document"),
        ("pairwise", [np.eye(2)], [[1, 1]], "Y[0]: the query has no two documents of different relevance"),
        ("precision@2", [np.eye(2)], [[0, 0]], "Y[0]: the query has no relevant document"),
        ("ndcg@0", [np.eye(2)], [[1, 0]], "k of the measure must be an integer ≥ 1, found 0"),
        ("precision", [np.eye(2)], [[1, 0]], "measure must be 'ndcg@k', 'precision@k'"),
        ("ndgc@5", [np.eye(2)], [[1, 0]], "found 'ndgc@5'"),
        (5, [np.eye(2)], [[1, 0]], "found 5"),
        ("ap@5", [np.eye(2)], [[1, 0]], "found 'ap@5'"),
    ],
)
def test_bad_input(measure, X, Y, message):
    with pytest.raises(ValueError) as error:
        Ranking(measure=measure).fit(X, Y)
    assert message in str(error.value)


@pytest.mark.parametrize("weights", ["discounts", [], [0.0], [1.0, 2.0], [1.0, -1.0], [np.nan], [[1.0]], None, ["a"]])
def test_position_weights_must_not_rise(weights):
    with pytest.raises(ValueError, match="position_weights must be"):
        Ranking(position_weights=weights).fit([np.eye(2)], [[1, 0]])


@pytest.mark.parametrize("parameters", [{"gain": "log"}, {"discount": None}])
def test_gain_and_discount_are_names(parameters):
    with pytest.raises(ValueError, match="must be '"):
        Ranking(**parameters).fit([np.eye(2)], [[1, 0]])


def test_outputs_that_are_not_rankings():
    structure = Ranking(measure="ndcg@2").fit([np.eye(3)], [[1, 0, 0]])
    for documents in [(0,), (0, 0), (0, 3), (0, 1, 2)]:
        with pytest.raises(ValueError, match="expected 2 distinct documents between 0 and 2"):
            structure.loss([1, 0, 0], RankedDocuments(documents))
    with pytest.raises(ValueError, match="expected RankedDocuments"):
        structure.loss([1, 0, 0], [0, 1, 0])
    pairs = Ranking(measure="pairwise").fit([np.eye(3)], [[1, 0, 0]])
    with pytest.raises(ValueError, match="expected counts of swapped pairs of 3 documents"):
        pairs.loss([1, 0, 0], SwappedPairs(((1, 0), (0, 0), (0, 0)), 2))


@pytest.mark.parametrize("structure", [mm.Ranking(measure="pairwise"), mm.Ranking(measure="precision@2")])
def test_a_kernel_equals_its_explicit_features(structure):
    """(a·b)² in two dimensions has the features a², √2 ab, b²."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 2)) for _ in range(5)]
    Y = [(x[:, 0] ** 2 > 0.5).astype(float) for x in X]
    explicit = [np.stack([x[:, 0] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1) for x in X]
    kernel = mm.Kernel("poly", degree=2, gamma=1.0)
    plain = mm.StructuralSVM(structure, tol=1e-8).fit(explicit, Y)
    model = mm.StructuralSVM(structure, tol=1e-8, kernel=kernel).fit(X, Y)
    if structure.measure != "pairwise":  # who is first is latent: rounding may decide which local optimum is found
        assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=0.02)
        return
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-7)
    # ½‖w‖² makes the optimum unique: ½‖w − w*‖² ≤ P(w) − D. Predictions may still differ, since hinges have their kinks
    # where documents are tied, optima are often at kinks, and rounding decides between tied documents.
    apart = sum(np.sqrt(2 * max(m.certificate_.primal - m.certificate_.dual, 1e-12)) for m in (plain, model))
    for x, found, expected in zip(explicit, model.decision_scores(X), plain.decision_scores(explicit), strict=True):
        assert (np.abs(found - expected) <= apart * np.linalg.norm(x, axis=1)).all()


@pytest.mark.parametrize("structure", [mm.Ranking(measure="pairwise"), mm.Ranking(measure="precision@2")])
def test_ramps_with_a_kernel(structure, tmp_path):
    """The local solution of a ramp depends on rounding, but is at least as good as the convex one it starts from."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 2)) for _ in range(5)]
    Y = [(x[:, 0] ** 2 > 0.5).astype(float) for x in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            mm.StructuralSVM(structure, kernel=mm.Kernel("poly", degree=2), bound=bound) for bound in ("margin", "ramp")
        ]
        convex, ramp = (model.fit(X, Y) for model in models)
    assert ramp.certificate_.primal <= convex.certificate_.primal * 1.001
    ramp.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").predict(X) == ramp.predict(X)


@pytest.mark.parametrize("weights", ["discount", [1.0, 0.9, 0.8, 0.7]])
def test_small_scores_order_documents_of_equal_gain(weights):
    """Scores of 1e-150 cannot change a sum with a gain, but decide among equal gains."""
    x, y = np.array([[1.0], [4.0], [3.0], [2.0]]), [1, 0, 0, 0]
    structure = Ranking(measure="ndcg", position_weights=weights).fit([x], [y])
    for scale in (1e-150, 1e-3):
        assert structure.loss_augmented_argmax(np.array([scale]), x, y, 1.0) == (1, 2, 3, 0)
