"""maxmargin inspect: what a model file holds, as text, JSON and pictures."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.cli._messages import print_json


def test_inspect(run, models):
    model = mm.load("tagger.mm")
    found = json.loads(run("inspect", "tagger.mm", "--json", "--top", "3").out)
    assert found["certificate"]["primal"] == model.certificate_.primal
    assert found["stop_reason"] == "tol"
    assert found["labels"] == model.classes_.tolist()
    assert found["n_weights"] == len(model.coef_)
    frame = model.weights_frame()
    best = frame[(frame.label == "B-PER") & ~frame.feature.isin(["transition", "start", "end"])]
    assert found["top_weights"]["B-PER"][0][1] == best.weight.max()
    assert all(len(weights) <= 3 for weights in found["top_weights"].values())
    pairs = {(row["from"], row["to"]): row["weight"] for row in found["transitions"]}
    assert ("O", "I-PER") not in pairs
    assert (None, "I-PER") not in pairs
    assert pairs["O", "O"] == model.transitions_[-1, -1]
    assert pairs["O", None] == model.end_[-1]
    text = run("inspect", "tagger.mm").out
    for part in ("relative gap", "stopped after", "window=2", "transitions (· forbidden)", "B-PER"):
        assert part in text


def test_inspect_other_models(run, models):
    text = run("inspect", "rows.mm").out
    assert "MulticlassSVM" in text
    assert "x0 is the first feature" in text
    assert "transitions" not in text
    assert "transitions" in run("inspect", "sequences.mm", "--top", "0").out


def test_named_features_are_not_counted(run, models):
    note = "x0 is the first feature"
    X = [[{"word=Ana": 1.0}, {"word=sings": 1.0}], [{"word=Tom": 1.0}]]
    mm.SequenceTagger(C=1.0).fit(X, [["PER", "O"], ["PER"]]).save("named.mm")
    assert "word=Ana" in run("inspect", "named.mm").out
    for model in ("named.mm", "tagger.mm"):
        assert note not in run("inspect", model).out
    assert note in run("inspect", "sequences.mm").out


def test_inspect_of_many_labels(run, tmp_path):
    pairs = [(k, k % 20 + 1) for k in range(1, 21)]
    (tmp_path / "f").write_text("\n".join(f"{tag} qid:{pair[0]} {tag}:1" for pair in pairs for tag in pair))
    assert run("fit", "tagger", "f", "-o", "m.mm", "-q", "-C", "1").code == 0
    assert "strongest transitions" in run("inspect", "m.mm").out


def test_inspect_python_models(run, tmp_path):
    """Whatever has a certificate can be inspected, also what the command line cannot feed."""
    X, Y = mm.datasets.make_chains(10)
    mm.StructuralSVM(mm.Chain()).fit(X, Y).save("m.mm")
    assert "StructuralSVM" in run("inspect", "m.mm").out
    result = run("predict", "m.mm", "-", input="a b\n")
    assert result.code == 1
    assert "contains a StructuralSVM, whose data are not files of the command line" in result.err
    assert "maxmargin.load('m.mm').predict(X)" in result.err


def test_inspect_a_parser(run, tmp_path):
    words = [[("she", "PRON"), ("reads", "VERB"), ("books", "NOUN")], [("he", "PRON"), ("writes", "VERB")]]
    pairs = [[(2, "nsubj"), (0, "root"), (2, "obj")], [(2, "nsubj"), (0, "root")]]
    parser = mm.DependencyParser(C=1.0, labelled=True).fit(words, pairs)
    parser.save("parser.mm")
    found = json.loads(run("inspect", "parser.mm", "--json", "--top", "3").out)
    best = parser.coef_.argsort()[::-1][:3]
    assert [weight for _, weight in found["top_weights"]["arcs"]] == parser.coef_[best].tolist()
    names = list(parser.feature_names_out)
    assert all(parser.coef_[names.index(name)] == weight for name, weight in found["top_weights"]["arcs"])
    assert list(found["relations"]) == ["nsubj", "obj", "root"]
    table = parser.relation_structure_.split_weights(parser.relation_coef_)["tokens"]
    for weights, column in zip(found["relations"].values(), table.T, strict=True):
        assert [weight for _, weight in weights] == sorted(column[column > 0])[::-1][:3]
    assert "arc=<root>" in {name for name, _ in found["relations"]["root"]}
    text = run("inspect", "parser.mm").out
    for part in ("arcs", "relation", "nsubj", "upos=PRON"):
        assert part in text
    assert "column" not in text and "x0 is the first feature" not in text
    (tmp_path / "f.conllu").write_text("1\tshe\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n")
    assert run("predict", "parser.mm", "f.conllu").out.startswith("1\tshe\t_\tPRON\t_\t_\t0\t")


def test_inspect_other_structures_over_parts(run, tmp_path):
    model = mm.RNAFolder().fit(["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."])
    model.save("m.mm")
    found = json.loads(run("inspect", "m.mm", "--json", "--top", "1").out)["top_weights"]
    assert max(weights[0][1] for weights in found.values() if weights) == model.coef_.max()


def test_a_model_that_needs_a_function(run, tmp_path):
    rows = np.random.default_rng(0).normal(size=(8, 2))
    solver = mm.Optimizer(lambda costs: {int(costs.argmin())}, 3)
    mm.CostLearner(solver).fit(rows, costs=5.0 + rows @ np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0]])).save("m.mm")
    result = run("inspect", "m.mm")
    assert result.code == 1
    assert "pass your own in Python: maxmargin.load(path, functions={'solve': …})" in result.err


def test_numbers_that_json_does_not_have(run, tmp_path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    mm.MulticlassSVM(C=math.inf).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).save("m.mm")
    found = json.loads(run("inspect", "m.mm", "--json").out, parse_constant=refuse)
    assert found["parameters"]["C"] == "inf"


def test_every_number_that_json_does_not_have(capsys):
    print_json({"a": [-math.inf, (math.nan, 1.5)], "b": {"c": np.float64("inf")}, "d": True})
    assert json.loads(capsys.readouterr().out) == {"a": ["-inf", ["nan", 1.5]], "b": {"c": "inf"}, "d": True}


@pytest.mark.slow
def test_characters_that_standard_output_does_not_have(models):
    def inspect(*arguments, encoding="ascii"):
        command = [sys.executable, "-m", "maxmargin", "inspect", "tagger.mm", "--top", "50", *arguments]
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(command, cwd=models, env=environment, capture_output=True, check=False)

    text = inspect()
    assert (text.returncode, text.stderr) == (0, b"")
    assert b"transitions (. forbidden)" in text.stdout
    assert b"\\xf1and\\xfa" in text.stdout
    utf8 = inspect(encoding="utf-8").stdout.decode()
    assert "transitions (· forbidden)" in utf8
    assert "ñandú" in utf8
    assert json.loads(inspect("--json").stdout) == json.loads(inspect("--json", encoding="utf-8").stdout)


def test_inspect_weights_that_belong_to_no_label(run, tmp_path):
    strings = ["TTGA", "CTTG", "ACAC", "CACA"] * 3
    finder = mm.MotifFinder(length=3, background_order=0, n_restarts=1).fit(strings, [1, 1, 0, 0] * 3)
    finder.save("m.mm")
    found = json.loads(run("inspect", "m.mm", "--json").out)
    assert found["labels"] == [0, 1]
    assert found["n_weights"] == len(finder.coef_)
    assert "top_weights" not in found
    best = sorted(zip(finder.coef_.tolist(), finder.feature_names_out, strict=True), reverse=True)[:5]
    assert [weight for _, weight in found["largest_weights"]] == [weight for weight, _ in best]
    assert found["largest_weights"][0][0] == best[0][1]
    text = run("inspect", "m.mm").out
    assert f"{best[0][1]}   " in text and f"{best[0][0]:.3f}" in text
    assert "MotifFinder\n  C=0.1, " in text
    assert f"{len(finder.coef_)} weights, " in text
    pytest.importorskip("matplotlib")
    assert run("inspect", "m.mm", "--plot", "p.png").code == 0


@pytest.mark.parametrize(("kind", "name"), [("convergence", "c.png"), ("transitions", "t.svg")])
def test_pictures(run, models, kind, name):
    pytest.importorskip("matplotlib")
    result = run("inspect", "tagger.mm", "--plot", name, "--kind", kind)
    assert (result.code, result.out) == (0, "")
    assert (models / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
