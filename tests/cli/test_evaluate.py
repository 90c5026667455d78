"""maxmargin evaluate: predictions compared with the labels of a file."""

import json

import pytest

import maxmargin as mm
from maxmargin.metrics import entity_f1, token_accuracy


def test_evaluate_entities(run, models):
    model = mm.load("tagger.mm")
    X, Y = model.read("test.conll")
    Y_hat = model.predict(X)
    found = json.loads(run("evaluate", "tagger.mm", "test.conll", "--json").out)
    scores = entity_f1(Y, Y_hat)
    assert found["accuracy"] == token_accuracy(Y, Y_hat)
    assert (found["n_sequences"], found["n_labels"]) == (len(Y), sum(map(len, Y)))
    assert found["entities"]["f1"] == scores.f1
    assert found["entities"]["types"]["PER"]["n_true"] == scores.types["PER"].n_true
    assert found["unknown_labels"] == {}
    text = run("evaluate", "tagger.mm", "test.conll").out
    assert {"all", "LOC", "PER"} <= {line.split()[0] for line in text.splitlines()}
    assert f"{100 * scores.f1:.2f}" in text


def test_evaluate_tokens_and_rows(run, models):
    for model, data in (("sequences.mm", "test.hmm"), ("rows.mm", "test.svm")):
        found = json.loads(run("evaluate", model, data, "--json").out)
        assert 0.5 < found["accuracy"] <= 1.0
        assert "entities" not in found
        assert f"{100 * found['accuracy']:.2f} % right of {found['n_labels']} " in run("evaluate", model, data).out


@pytest.mark.parametrize(("model", "data", "unknown"), [
    ("tagger.mm", "Ana NP B-ORG\nsings X O\n", "B-ORG"), ("sequences.mm", "7 qid:1 1:1\n1 qid:1 1:1\n", "7"),
    ("rows.mm", "9 1:3\n1 1:3\n", "9"),
])  # fmt: skip
def test_labels_that_training_lacks_count_as_wrong(run, models, model, data, unknown):
    result = run("evaluate", model, "-", "--json", input=data)
    assert result.code == 0
    assert json.loads(result.out)["unknown_labels"] == {unknown: 1}
    assert json.loads(result.out)["accuracy"] <= 0.5
    assert f"does not know, so they count as wrong: {unknown} (1)" in result.err


@pytest.mark.parametrize(("model", "data"), [("tagger.mm", "test.conll"), ("rows.mm", "test.svm")])
def test_both_decisions_are_compared(run, models, model, data):
    found = json.loads(run("evaluate", model, data, "--json").out)
    loaded = mm.load(model)
    assert list(found["decisions"]) == ["map", "risk"]
    assert found["decisions"]["map"] == {name: found[name] for name in found["decisions"]["map"]}
    if model == "tagger.mm":
        X, Y = loaded.read(data)
        risky = token_accuracy(Y, loaded.set_params(decode="risk").predict(X))
        assert found["decisions"]["risk"]["accuracy"] == risky
    lines = run("evaluate", model, data).out.splitlines()[-2:]
    assert [line.split(":")[0] for line in lines] == ["decode=map", "decode=risk"]
    assert [line.endswith("(as the model predicts)") for line in lines] == [True, False]
    loaded.set_params(decode="risk").save("risky.mm")
    again = json.loads(run("evaluate", "risky.mm", data, "--json").out)
    assert again["decisions"] == found["decisions"]
    assert again["accuracy"] == found["decisions"]["risk"]["accuracy"]


def test_a_loss_without_least_risk_has_one_decision(run, models):
    assert run("fit", "tagger", "train.conll", "-o", "whole.mm", "--loss", "zero-one").code == 0
    assert "decisions" not in json.loads(run("evaluate", "whole.mm", "test.conll", "--json").out)
    assert "decode=" not in run("evaluate", "whole.mm", "test.conll").out
