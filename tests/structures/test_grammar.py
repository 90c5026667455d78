"""Grammars against all trees of short sentences."""

from __future__ import annotations

from itertools import pairwise
from math import lgamma

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.features.text.treebank import read_tree, tags_of
from maxmargin.structures.grammar.examples import GrammarExamples
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.grammar import Treebank

TREES = ["(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP DT NN)))"]
X = [["DT", "NN", "VBZ"], ["PRP", "VBZ", "DT", "NN"]]


class TestGrammar(StructureConformance):
    bad_input = (
        (mm.Grammar(), ["DT NN"], ["(S DT NN)"], "X[0]: expected a list of tags or of pairs (word, tag)"),
        (mm.Grammar(), [["DT"]], ["(S (NP DT)"], "Y[0]: unbalanced brackets"),
        (mm.Grammar(), [["DT"]], ["(S DT))"], "Y[0]: unbalanced brackets: found ) without a ("),
        (mm.Grammar(), [["DT"]], ["()"], "Y[0]: an empty tree: () has no children"),
        (mm.Grammar(), [["DT"]], [""], "Y[0]: an empty tree"),
        (mm.Grammar(), [["DT"]], [("S",)], "Y[0]: an empty tree: (S) has no children"),
        (mm.Grammar(), [["DT"]], [()], "Y[0]: expected (label, child, …), found an empty tree"),
        (mm.Grammar(), [["DT"]], [("S", 3)], "Y[0]: expected leaves that are strings"),
        (mm.Grammar(), [["DT"]], [None], "Y[0]: expected a tree: a string in brackets"),
        (mm.Grammar(), [["DT"]], ["(S DT) (S DT)"], "Y[0]: expected one tree in brackets, found 2"),
        (mm.Grammar(), [["NN", "VB"]], ["(S DT NN)"], "Y[0]: the tree has the tags 'DT NN', but X[0] has 'NN VB'"),
        (mm.Grammar(), [[("a", "DT"), "NN"]], ["(S DT NN)"], "found both"),
        (mm.Grammar(), [[("a", "b", "c")]], ["(S DT)"], "X[0], token 1: expected a tag or a pair (word, tag)"),
        (mm.Grammar(leaves="words"), [["DT", "NN"]], ["(S (DT a) NN)"], "Y[0]"),
        (mm.Grammar(cost="hamming"), X, TREES, "the loss of a grammar must be 'f1', 'constituents' or 'zero-one'"),
        (mm.Grammar(horizontal=-1), X, TREES, "horizontal must be an integer ≥ 0"),
        (mm.Grammar(parent_annotation=2), X, TREES, "parent_annotation must be True or False"),
        (mm.Grammar(span_features=["middle"]), X, TREES, "span_features must be True, False or a list"),
        (mm.Grammar(span_features=["words"]), X, TREES, "'words' needs"),
        (mm.Grammar(leaves="both"), X, TREES, "leaves must be 'auto', 'tags' or 'words'"),
        (mm.Grammar(glue=None), X, TREES, "glue must be True or False"),
    )

    def instance(self, seed):
        return Treebank(seed)


def catalan(n):
    return lgamma(2 * n + 1) - lgamma(n + 2) - lgamma(n + 1)


ALL_BINARY = ["(S (S a a) (S a a))", "(S a (S a (S a a)))", "(S (S a a) a)"]


@pytest.mark.parametrize("score", [0.0, -3.0, 40.0, 10_000.0, -10_000.0])
@pytest.mark.parametrize("n", [12, 90])
def test_sums_over_all_binary_trees(n, score):
    """There are as many as the Catalan numbers; a constituent of l leaves divides them into two such numbers.

    Scores of 40 for 89 rules would overflow without scales of tokens; ±10⁴ need logarithms.
    """
    grammar = mm.Grammar(cost="constituents", leaves="tags")
    grammar.fit([tags_of(read_tree(y, "y")) for y in ALL_BINARY], ALL_BINARY)
    examples, ids = grammar.encode([["a"] * n]), np.zeros(1, int)
    scores = examples.scores(np.full(examples.dim, score), ids)
    sums = examples.sums(scores, ids)
    count = catalan(n - 1)
    assert sums.log_partitions[0] == pytest.approx((n - 1) * score + count, rel=1e-12)
    assert sums.expected_scores[0] == pytest.approx((n - 1) * score, rel=1e-10, abs=1e-10)
    assert sums.marginals[0].sum() == pytest.approx(n - 1, rel=1e-10)
    table = examples.arranged_marginals(sums.marginals, 0)[:, :, 0]
    for i, j in ((0, n), (0, 2), (3, 9), (n - 8, n - 1)):
        assert table[i, j] == pytest.approx(np.exp(catalan(j - i - 1) + catalan(n - (j - i)) - count), rel=1e-9)
    assert table[4, 5] == 0.0


def test_samples_of_long_sentences_have_the_marginals_of_constituents():
    grammar = mm.Grammar(leaves="tags", span_features=True)
    trees = [*ALL_BINARY, "(S (S a a a) (N a) b)", "(S (N (S a a)) (S (N b) a))", "(S a (N a b) (N (S a a) b))"]
    grammar.fit([tags_of(read_tree(y, "y")) for y in trees], trees)
    x, ids, n = list("aabaaabaabaa"), np.zeros(1, int), 3000
    examples = grammar.encode([x])
    scores = examples.scores(0.3 * np.random.default_rng(0).normal(size=examples.dim), ids)
    codes = examples.samples(scores, ids, n, np.array([3], np.uint64))
    assert len({code.tobytes() for code in codes}) > 100
    for block, values in enumerate(examples.sums(scores, ids).marginals):
        counts, squares = np.zeros(len(values)), np.zeros(len(values))
        for code in codes:
            found = examples.parts(ids, code)[block]
            each = np.bincount(found.indices, found.values, len(values))
            counts, squares = counts + each, squares + each**2
        deviation = np.sqrt(np.maximum(squares / n - (counts / n) ** 2, 0.0) / n)
        assert (np.abs(counts / n - values) <= 5.0 * deviation + 3.0 / n).all()


def test_numbers_and_logarithms_have_the_same_sums():
    """A score of 200 of a rule that no tree of the sentence uses is too large for numbers."""
    trees = [*ALL_BINARY, "(S (S a a a) (N a) b)", "(S (N (S a a)) (S (N b) a))", "(S (N c c) a)"]
    grammar = mm.Grammar(leaves="tags", span_features=True, cost="constituents")
    grammar.fit([tags_of(read_tree(y, "y")) for y in trees], trees)
    examples, ids = grammar.encode([list("aabaaabaabaaaabaaabba")]), np.zeros(1, int)
    scores = examples.scores(np.random.default_rng(1).normal(size=examples.dim), ids)
    numbers = examples.sums(scores, ids)
    scores[0].values[grammar.rules_.column_names().index("N → c c")] = 200.0
    logarithms = examples.sums(scores, ids)
    assert numbers.log_partitions[0] == pytest.approx(logarithms.log_partitions[0], rel=1e-12)
    assert numbers.expected_scores[0] == pytest.approx(logarithms.expected_scores[0], rel=1e-10)
    for some, other in zip(numbers.marginals, logarithms.marginals, strict=True):
        np.testing.assert_allclose(some, other, atol=1e-10)


def test_sentences_without_trees_have_no_probabilities():
    grammar = mm.Grammar(leaves="tags").fit(X, TREES)
    ids = np.arange(3)
    examples = grammar.encode([X[0], ["VBZ", "VBZ"], []])
    scores = examples.scores(np.zeros(examples.dim), ids)
    sums = examples.sums(scores, ids)
    np.testing.assert_array_equal(sums.log_partitions, [0.0, -np.inf, -np.inf])
    codes = examples.samples(scores, ids, 2, np.ones(3, np.uint64))
    a, b, c = (codes[:, p:q] for p, q in pairwise(examples.code_offsets))
    assert examples.output(0, 0, a[1]) == TREES[0] and (b[:, 0] == NO_OUTPUT).all() and c.shape == (2, 0)


def test_constituents_may_have_scores_of_their_own():
    """Scores of −∞ exclude a constituent from argmaxes, sums and samples; a label on the same span counts twice."""
    trees = ["(TOP (A (A (B p q))))", "(TOP (A (B p q)))", "(TOP (B p q))"]
    grammar = mm.Grammar(cost="constituents", leaves="tags").fit([["p", "q"]] * 3, trees)
    examples, ids = grammar.encode([["p", "q"]]), np.zeros(1, int)
    scores = examples.scores(np.zeros(examples.dim), ids)
    a = grammar.rules_.labels.index("A")
    own = scores[-1].values.reshape(3, 2, len(grammar.rules_.labels))
    own[1, :, a] = 1.0, 2.0
    sums = examples.sums(scores, ids)
    assert sums.log_partitions[0] == pytest.approx(np.log(np.exp(3.0) + np.exp(1.0) + 1.0))
    probability = np.array([np.exp(3.0), np.exp(1.0), 1.0]) / np.exp(sums.log_partitions[0])
    assert examples.arranged_marginals(sums.marginals, 0)[0, 2, a] == pytest.approx(probability[:2].sum())
    answers = examples.empty_answers()
    for values, expected in (((1.0, 2.0), trees), ((1.0, -np.inf), trees[1:]), ((-np.inf, 2.0), trees[2:])):
        own[1, :, a] = values
        examples.decode_scores(scores, ids, np.zeros(1), answers)
        assert examples.output(0, 0, answers.codes) == expected[0]
        codes = examples.samples(scores, ids, 200, np.ones(1, np.uint64))
        assert {examples.output(0, 0, code) for code in codes} == set(expected)
        assert examples.sums(scores, ids).entropies[0] == pytest.approx(
            {3: -probability @ np.log(probability), 2: np.log(1 + np.e) - np.e / (1 + np.e), 1: 0.0}[len(expected)]
        )


def test_repeated_labels_of_small_scores_are_not_lost():
    grammar = mm.Grammar(cost="constituents", leaves="tags").fit([["p", "q"]], ["(TOP (A (A (B p q))))"])
    examples, ids = grammar.encode([["p", "q"]]), np.zeros(1, int)
    scores = examples.scores(np.zeros(examples.dim), ids)
    scores[-1].values.reshape(3, 2, 2)[1, :, grammar.rules_.labels.index("A")] = 5.0, -1000.0
    sums = examples.sums(scores, ids)
    assert sums.log_partitions[0] == pytest.approx(-995.0) and sums.expected_scores[0] == pytest.approx(-995.0)


@pytest.mark.parametrize(("cost", "message"), [("f1", "1 − F1 of trees"), ("zero-one", "the zero-one loss of trees")])
def test_losses_that_are_not_sums_have_no_decisions_of_least_risk(cost, message):
    examples, ids = mm.Grammar(cost=cost, leaves="tags").fit(X, TREES).encode(X, TREES), np.arange(2)
    scores = examples.scores(np.zeros(examples.dim), ids)
    sums = examples.sums(scores, ids)
    with pytest.raises(ValueError, match=f"{message} is not a sum over constituents; use the loss 'constituents'"):
        examples.risk_scores(sums.marginals, scores, ids)
    with pytest.raises(ValueError, match="is not a sum over constituents"):
        examples.augmented(scores, ids, np.ones(2))


def test_gaps_of_single_numbers_of_constituents_are_closed(monkeypatch):
    """The search over intervals alone is not exact: some instances need the chart with a slot for each number."""
    calls = []
    slots = GrammarExamples._slots

    def counted(self, scores, r, i, mu, eta, width, ranked, first, codes):
        calls.append(ranked)
        return slots(self, scores, r, i, mu, eta, width, ranked, first, codes)

    monkeypatch.setattr(GrammarExamples, "_slots", counted)
    for seed in range(12):
        case = Treebank(seed, cost="f1")
        for scale in (0.5, 3.0):
            case.w = case.weights() * 0.3
            ids, scales = np.arange(case.n), np.full(case.n, scale)
            case.check(case.decoded(ids, scales), ids, lambda rise, loss, _: rise + scale * loss)  # noqa: B023
    assert calls and not any(calls)


def test_repeated_labels_in_a_chain_count_as_often_as_they_occur():
    trees = ["(TOP (A (A (B p q))))", "(TOP (A (B p q)))"]
    for cost, expected in (("constituents", 1.0), ("f1", 1.0 - 4.0 / 5.0)):
        grammar = mm.Grammar(cost=cost, leaves="tags").fit([["p", "q"]] * 2, trees)
        assert grammar.loss(*trees) == pytest.approx(expected)
        w = -grammar.joint_feature(["p", "q"], trees[0])
        examples = grammar.encode([["p", "q"]], trees[:1])
        answers = examples.empty_answers()
        examples.decode(w, np.zeros(1, np.int64), np.ones(1), answers)
        assert answers.losses[0] == pytest.approx(expected)


@pytest.mark.parametrize("span_features", [False, True])
def test_both_charts_find_the_best_tree_of_long_sentences(span_features):
    """The chart by starts and the one with slots are different recursions; enumeration covers short sentences only."""
    rng = np.random.default_rng(0)

    def tree(depth, top=True):
        if depth == 0 or (not top and rng.random() < 0.3):
            return str(rng.choice(list("pqr")))
        return (str(rng.choice(list("ABCD"))), *(tree(depth - 1, False) for _ in range(rng.choice([1, 2, 2, 3, 4]))))

    trees = [("TOP", tree(4)) for _ in range(25)]
    X = [tags_of(some) for some in trees]
    grammar = mm.Grammar(cost="constituents", leaves="tags", span_features=span_features).fit(X, trees)
    assert max(map(len, X)) >= 15
    for x in sorted(X, key=len)[-2:]:
        w = rng.normal(size=grammar.encode([x]).dim)
        (best, score), (other, second) = grammar.topk(w, x, 2)
        assert score >= second and best != other
        for found in (best, grammar.argmax(w, x)):  # trees that use the same rules may be equally good
            assert w @ grammar.joint_feature(x, found) == pytest.approx(score)
