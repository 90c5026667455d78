"""maxmargin explain: the prediction for one example of a file, its runner-up, and the features that decide."""

from __future__ import annotations

import json

import pytest

import maxmargin as mm
from maxmargin.formats import read_svmhmm, read_svmlight


def without_words(out):
    """The output of a sentence without the lines of its words."""
    return "".join(line for line in out.splitlines(keepends=True) if not line.startswith("  token "))


def test_explain_a_sentence(run, models):
    model = mm.load("tagger.mm")
    X, _ = model.read("test.conll")
    out, why = run("explain", "tagger.mm", "test.conll", "--example", "3").out, model.explain(X[2])
    assert without_words(out) == f"{why}\n"
    changed = [t for t, (best, other) in enumerate(zip(why.prediction, why.runner_up, strict=True)) if best != other]
    words = [token if isinstance(token, str) else token[0] for token in X[2]]
    assert [line for line in out.splitlines() if line.startswith("  token ")] == [
        f"  token {t + 1} ({words[t]}): {why.prediction[t]}, not {why.runner_up[t]}" for t in changed
    ]
    out = run("explain", "tagger.mm", "plain.conll").out
    assert without_words(out) == f"{model.explain(X[0])}\n", "labels are not needed"
    found = json.loads(run("explain", "tagger.mm", "test.conll", "--json", "--top", "2").out)
    why = model.explain(X[0], n_features=2)
    assert found["prediction"] == why.prediction and found["margin"] == why.margin
    assert found["contributions"] == [list(pair) for pair in why.contributions]
    bad = run("explain", "tagger.mm", "test.conll", "--example", "21")
    assert bad.code == 1 and "test.conll: --example 21: the file has 20 examples" in bad.err


def test_explain_rows_and_sequences(run, models):
    X, _ = read_svmlight("test.svm")
    assert run("explain", "rows.mm", "test.svm", "--example", "2").out == (
        f"{mm.load('rows.mm').explain(X.toarray()[1])}\n"
    )
    model = mm.load("sequences.mm")
    X, _ = read_svmhmm("test.hmm", n_features=model.n_features_in_)
    assert run("explain", "sequences.mm", "test.hmm").out == f"{model.explain(X[0])}\n"


SENTENCE = "1\tshe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\treads\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def test_explain_a_tree(run, tmp_path):
    (tmp_path / "f.conllu").write_text(SENTENCE)
    assert run("fit", "parser", "f.conllu", "-o", "m.mm", "-q").code == 0
    why = mm.load("m.mm").explain([("she", "PRON"), ("reads", "VERB")])
    out = run("explain", "m.mm", "f.conllu").out
    assert without_words(out) == f"{why}\n"
    assert out.startswith("[2, 0] (score ")
    assert "\n  token 1 (she): 2, not 0\n" in out


def test_a_ranking_says_what_to_look_at_instead(run, tmp_path):
    (tmp_path / "f").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    assert run("fit", "ranker", "f", "-o", "m.mm", "-q", "--measure", "pairwise").code == 0
    bad = run("explain", "m.mm", "f")
    assert bad.code == 1 and "Ranking cannot explain an output: use the scores w·x of the documents" in bad.err


@pytest.mark.parametrize("example", ["0", "x"])
def test_examples_are_counted_from_one(run, models, example):
    assert run("explain", "rows.mm", "test.svm", "--example", example).code == 2
