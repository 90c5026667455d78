"""Labelled brackets by evalb's conventions, by hand."""

from __future__ import annotations

import pytest

import maxmargin as mm
from maxmargin.metrics import bracket_scores


def test_brackets_are_labels_and_spans():
    scores = bracket_scores(["(S (NP A B) (VP C))"], ["(S A (NP B) (VP C))"])
    assert scores == pytest.approx((2 / 3, 2 / 3, 2 / 3, 0.0, 3, 3, 2))


def test_roots_and_tags_do_not_count():
    for root in ("TOP", "ROOT", "S1", ""):
        scores = bracket_scores([f"({root} (NP (A a) (B b)))"], [f"({root} (A a) (B b))"])
        assert (scores.n_true, scores.n_predicted, scores.f1) == (1, 0, 0.0)
    assert bracket_scores(["(TOP A B)"], ["(TOP A B)"]).f1 == 1.0
    assert bracket_scores(["(TOP A B)"], ["(TOP (NP A B))"]).f1 == 0.0


def test_punctuation_is_removed():
    true, other = "(TOP (S (NP A ,) (VP B) .))", "(TOP (S (NP A) , (VP B .)))"
    assert bracket_scores([true], [other]).f1 == 1.0
    assert bracket_scores([true], [other], punctuation=()).f1 == pytest.approx(1 / 3)
    assert bracket_scores(["(TOP (S (PRN , :) A))"], ["(TOP (S , : A))"]).f1 == 1.0, "a bracket over nothing"


def test_particles_count_as_adverbs():
    assert bracket_scores(["(TOP (PRT A) B)"], ["(TOP (ADVP A) B)"]).f1 == 1.0
    assert bracket_scores(["(TOP (PRT A) B)"], ["(TOP (ADVP A) B)"], same_labels={}).f1 == 0.0


def test_repeated_brackets_count_as_often_as_they_occur():
    scores = bracket_scores(["(TOP (NP (NP A B)))"], ["(TOP (NP A B))"], leaves="tags")
    assert (scores.n_true, scores.n_predicted, scores.n_matched) == (2, 1, 1)


def test_sums_over_sentences_and_weights():
    Y = ["(S (NP A B))", "(S (NP A B) (VP C))"]
    Y_hat = ["(S (NP A B))", None]
    scores = bracket_scores(Y, Y_hat)
    assert scores == pytest.approx((1.0, 2 / 5, 4 / 7, 0.5, 5, 2, 2))
    assert bracket_scores(Y, Y_hat, sample_weight=[1, 0]).f1 == 1.0
    with pytest.raises(ValueError, match=r"Y_hat\[0\]: a tree of 1 tokens, expected 2 as in Y\[0\]"):
        bracket_scores(["(S A B)"], ["(S A)"])
    with pytest.raises(ValueError, match="Y has 2 trees but Y_hat has 1"):
        bracket_scores(Y, Y_hat[:1])


def test_the_public_name():
    assert mm.metrics.bracket_scores is bracket_scores


def test_traces_are_removed():
    true, other = "(TOP (S (NP (-NONE- *)) (VP (VB go)) (. .)))", "(TOP (S (VP (VB go)) (. .)))"
    scores = bracket_scores([true], [other])
    assert (scores.n_true, scores.n_predicted, scores.f1) == (2, 2, 1.0), "NP is over nothing else"
    assert bracket_scores([true], [other], punctuation=()).f1 == 1.0
