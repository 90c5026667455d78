"""Grammars against all trees of short sentences."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import StructureConformance
from grammar_instances import Treebank

import maxmargin as mm
from maxmargin.encoding.treebank import tags_of
from maxmargin.structures.grammar.examples import GrammarExamples

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
        (mm.Grammar(horizontal=-1), X, TREES, "horizontal must be a whole number ≥ 0"),
        (mm.Grammar(parent_annotation=2), X, TREES, "parent_annotation must be True or False"),
        (mm.Grammar(span_features=["middle"]), X, TREES, "span_features must be True, False or a list"),
        (mm.Grammar(span_features=["words"]), X, TREES, "'words' needs"),
        (mm.Grammar(leaves="both"), X, TREES, "leaves must be 'auto', 'tags' or 'words'"),
        (mm.Grammar(glue=None), X, TREES, "glue must be True or False"),
    )

    def instance(self, seed):
        return Treebank(seed)


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
