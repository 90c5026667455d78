"""Perturb-and-MAP samples: exact where they are said to be, and reproducible everywhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import chisquare

import maxmargin as mm
from maxmargin.parts.perturbed import perturbed_samples
from maxmargin.structures.multiclass import Multiclass
from tests.helpers.instances.coverage import Candidates
from tests.helpers.instances.decisions import ListedDecisions
from tests.helpers.instances.graphs import Items, LabelledGraphs, PathGraphs, Programs
from tests.helpers.instances.matching import Assignments, Partners
from tests.helpers.instances.measures import RowsInOrder, RowsOfGivenSize
from tests.helpers.instances.ranking import AveragePrecisionOrders, Positions
from tests.helpers.instances.taxonomy import LabelSets
from tests.helpers.instances.trees import Documents

#: Structures without sums, and what their errors say.
HARD = {
    "bipartite matching": (lambda seed: Assignments(seed, 1, 1, True), "is a permanent, which is #P-hard"),
    "matching": (
        lambda seed: Partners(seed, True),
        "matchings of a graph is #P-hard .* use perturbed_samples of maxmargin.parts.perturbed, which are approximate",
    ),
    "forest": (Documents, "forests of a graph is #P-hard .* matrix-tree theorem only counts trees"),
    "cut": (LabelledGraphs, "partition function of an Ising or Potts model, which is #P-hard .* Chain"),
    "program": (Programs, "linear constraints is #P-hard .* use Knapsack for one constraint"),
    "coverage": (Candidates, "as it counts covers"),
    "decisions": (ListedDecisions, "an optimiser finds the best decision"),
    "positions": (Positions, "permanent of exp.*measure='precision@k'"),
    "average precision": (AveragePrecisionOrders, "permanent of exp.*measure='precision@k'"),
    "rows of a given size": (lambda seed: RowsOfGivenSize(seed, 1), "joins all rows of a set, .* use Multiclass"),
    "rows in order": (RowsInOrder, "no fast sum over all orders of rows is known; use Multiclass"),
    "fractional knapsack": (lambda seed: Items(seed, fractional=True), r"X\[0\]: its weights are not integers"),
}
EVERY = {name: make for name, (make, _) in HARD.items()} | {"a shared table": lambda seed: LabelSets(seed, "all")}


def drawn(examples, w, ids, n, seeds):
    return perturbed_samples(examples, examples.scores(w, ids), ids, n, seeds)


@pytest.mark.parametrize("name", HARD)
def test_structures_without_sums_say_why(name):
    make, message = HARD[name]
    case = make(3)
    ids = np.arange(case.n)
    scores = case.examples.scores(case.w, ids)
    with pytest.raises(TypeError, match=f"has no probabilities: .*{message}"):
        case.examples.sums(scores, ids)
    with pytest.raises(TypeError, match=f"has no probabilities: .*{message}"):
        case.examples.samples(scores, ids, 1, np.zeros(case.n, np.uint64))


@pytest.mark.parametrize("name", EVERY)
def test_samples_are_outputs_that_follow_from_seeds(name):
    several = 0
    for seed in range(4):
        case = EVERY[name](seed)
        examples, ids = case.examples, np.arange(case.n)
        seeds = np.arange(1, case.n + 1, dtype=np.uint64) * np.uint64(7919)
        codes = drawn(examples, case.w, ids, 12, seeds)
        np.testing.assert_array_equal(drawn(examples, case.w, ids, 12, seeds.copy()), codes)
        several += (drawn(examples, case.w, ids, 12, seeds + np.uint64(1)) != codes).any()
        answers = examples.empty_answers()
        for i in case.rng.permutation(case.n).tolist():
            a, b = examples.code_offsets[i : i + 2]
            np.testing.assert_array_equal(drawn(examples, case.w, ids[[i]], 12, seeds[[i]]), codes[:, a:b])
            for code in codes[:, a:b]:
                answers.codes[a:b] = code
                assert case.name(case.found(answers, i)) in case.psis[i]
    assert several


def follows(codes, probabilities, n):
    """A χ² test of the first symbol of codes."""
    counts = Counter(codes.tolist())
    observed = [counts[k] for k in range(len(probabilities))]
    assert sum(observed) == n
    assert chisquare(observed, n * np.asarray(probabilities)).pvalue > 1e-4


def test_outputs_of_one_part_follow_their_distribution():
    X, Y = np.array([[1.0, 0.0], [0.0, 2.0]]), ["a", "b"]
    examples = Multiclass(classes=["a", "b", "c"]).fit_encode(X, Y)
    w, ids, n = np.random.default_rng(0).normal(size=examples.dim), np.arange(2), 4000
    codes = drawn(examples, w, ids, n, np.array([1, 2], np.uint64))
    for i in range(2):
        follows(codes[:, i], softmax(examples.scores(w, ids[[i]])[0].values), n)


def test_labels_of_nodes_without_edges_follow_their_distribution():
    x = (np.array([[1.0], [-0.5]]), np.zeros((0, 2), int))
    examples = mm.Cut(classes=["a", "b"], fit_intercept=False).fit_encode([x], [["a", "b"]])
    codes = drawn(examples, np.array([0.7, 0.1]), np.arange(1), 4000, np.array([5], np.uint64))
    follows(codes[:, 0], softmax([0.7, 0.1]), 4000)
    follows(codes[:, 1], softmax([-0.35, -0.05]), 4000)


def test_independent_labels_follow_their_distribution():
    examples = mm.Multilabel(pairs=None, fit_intercept=False).fit_encode(np.ones((1, 1)), [[1, 0, 1]])
    codes = drawn(examples, np.array([-2.0, 0.0, 0.5]), np.arange(1), 4000, np.array([5], np.uint64))
    for k, score in enumerate((-2.0, 0.0, 0.5)):
        follows(codes[:, k], [1.0 - expit(score), expit(score)], 4000)


def test_rankings_follow_the_model_of_plackett_and_luce():
    examples = mm.Ranking(measure="ndcg").fit_encode([np.eye(3)], [[0, 2, 1]])
    scores = np.array([0.2, 1.0, -0.5])
    codes = drawn(examples, scores, np.arange(1), 4000, np.array([5], np.uint64))
    follows(codes[:, 0], softmax(scores), 4000)
    after = codes[codes[:, 0] == 1, 1]
    follows((after == 2).astype(int), softmax(scores[[0, 2]]), len(after))


def test_noise_would_make_costs_negative():
    case = PathGraphs(0, cycles=True)
    with pytest.raises(TypeError, match="Path has no perturb-and-MAP samples: its argmax needs costs of at least 0"):
        drawn(case.examples, case.w, np.arange(1), 1, np.zeros(1, np.uint64))


def test_forbidden_parts_stay_forbidden():
    x = (np.ones((2, 2, 1)), np.array([[True, False], [True, True]]))
    examples = mm.BipartiteMatching().fit_encode([x], [[0, 1]])
    codes = drawn(examples, np.zeros(examples.dim), np.arange(1), 50, np.array([5], np.uint64))
    assert (codes == [0, 1]).all()
