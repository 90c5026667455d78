"""``maxmargin predict``, ``evaluate`` and ``inspect``."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.cli.messages import print_json
from maxmargin.formats import read_conll, read_svmhmm, read_svmlight
from maxmargin.metrics import entity_f1, token_accuracy


def test_columns_get_one_more(run, models):
    model = mm.load("tagger.mm")
    X, Y = read_conll("test.conll")
    assert run("predict", "tagger.mm", "test.conll", "-o", "out").code == 0
    again, predicted = read_conll("out")
    assert predicted == model.predict(X)
    assert [[token[:2] for token in x] for x in again] == X
    assert [[token[2] for token in x] for x in again] == Y
    plain = run("predict", "tagger.mm", "plain.conll").out
    assert [line.split()[2] for line in plain.splitlines() if line] == [label for y in predicted for label in y]


def test_other_lines_stay(run, models):
    text = "# id 1\n-DOCSTART- O\n\nAna\tNP\nSilva\tNP\n\n\n# end\n"
    result = run("predict", "tagger.mm", "-", input=text)
    assert result.out == "# id 1\n-DOCSTART- O\n\nAna\tNP\tB-PER\nSilva\tNP\tI-PER\n\n\n# end\n"


def test_batches_change_nothing(run, models, monkeypatch):
    whole = run("predict", "tagger.mm", "test.conll").out
    monkeypatch.setattr("maxmargin.cli.using._BATCH", 7)
    assert run("predict", "tagger.mm", "test.conll").out == whole


def test_the_k_best_of_a_sentence(run, models):
    model = mm.load("tagger.mm")
    result = run("predict", "tagger.mm", "-", "--topk", "3", "--scores", input="Ana NP\nsings X\n")
    best = model.topk([("Ana", "NP"), ("sings", "X")], 3)
    lines = result.out.splitlines()
    assert lines[0].split()[:2] == ["#", "scores"]
    assert [float(s) for s in lines[0].split()[2:]] == pytest.approx([score for _, score in best], rel=1e-5)
    assert lines[1].split() == ["Ana", "NP", *(y[0] for y, _ in best)]
    assert lines[2].split() == ["sings", "X", *(y[1] for y, _ in best)]


def test_fewer_labellings_than_asked_for(run, models):
    result = run("predict", "sequences.mm", "-", "--topk", "4", input="1 qid:1 1:1\n")
    assert sorted(result.out.split()) == ["1", "2", "_", "_"]


def test_sequences_get_a_tag_per_line(run, models):
    X, _ = read_svmhmm("test.hmm", n_features=mm.load("sequences.mm").n_features_in_)
    tags = [tag for y in mm.load("sequences.mm").predict(X) for tag in y]
    assert run("predict", "sequences.mm", "test.hmm").out.split() == [str(tag) for tag in tags]
    scored = run("predict", "sequences.mm", "test.hmm", "--scores").out.splitlines()
    assert [line for line in scored if not line.startswith("# scores ")] == [str(tag) for tag in tags]
    assert len(scored) == len(tags) + len(X)


def test_rows_get_a_label_per_line(run, models):
    model = mm.load("rows.mm")
    X, _ = read_svmlight("test.svm")
    assert run("predict", "rows.mm", "test.svm").out.split() == [str(k) for k in model.predict(X)]
    lines = run("predict", "rows.mm", "test.svm", "--scores").out.splitlines()
    assert lines[0] == "# label\t1\t2\t3"
    table = np.array([[float(cell) for cell in line.split("\t")] for line in lines[1:]])
    np.testing.assert_allclose(table[:, 1:], model.decision_function(X), rtol=1e-4)
    np.testing.assert_array_equal(table[:, 0], model.predict(X))
    best = run("predict", "rows.mm", "test.svm", "--topk", "2").out.splitlines()
    order = np.argsort(-model.decision_function(X), axis=1)[:, :2]
    assert [line.split() for line in best] == model.classes_[order].astype(str).tolist()
    first = run("predict", "rows.mm", "test.svm", "--topk", "2", "--scores").out.split()[0]
    assert first.split(":")[0] == best[0].split()[0]
    assert float(first.split(":")[1]) == pytest.approx(model.decision_function(X)[0].max(), rel=1e-5)


def test_two_classes_and_features_that_training_lacks(run, tmp_path):
    (tmp_path / "two.svm").write_text("1 1:1\n-1 2:1\n1 1:2\n-1 2:2\n")
    assert run("fit", "multiclass", "two.svm", "-o", "two.mm", "-q").code == 0
    given = "1 1:1 9:5\n-1\n-1 2:1\n"
    assert run("predict", "two.mm", "-", input=given).out.split()[::2] == ["1", "-1"]
    assert run("predict", "two.mm", "-", "--topk", "2", input=given).out.splitlines()[0] == "1 -1"
    lines = run("predict", "two.mm", "-", "--scores", input=given).out.splitlines()
    assert lines[0] == "# label\t-1\t1"
    assert len(lines[1].split("\t")) == 3


def test_zero_based_files(run, tmp_path):
    (tmp_path / "zero.svm").write_text("1 0:1\n2 1:1\n")
    assert run("fit", "multiclass", "zero.svm", "-o", "z.mm", "-q").code == 1
    assert run("fit", "multiclass", "zero.svm", "-o", "z.mm", "-q", "--zero-based").code == 0
    assert mm.load("z.mm").n_features_in_ == 2
    assert run("predict", "z.mm", "zero.svm", "--zero-based").out.split() == ["1", "2"]


def test_a_model_reads_its_format_whatever_the_first_line_looks_like(run, models):
    (models / "times").write_text("7 19:30\nsings X\n")
    result = run("predict", "tagger.mm", "times")
    assert (result.code, result.err) == (0, "")
    assert [line.split()[:2] for line in result.out.splitlines()] == [["7", "19:30"], ["sings", "X"]]
    assert run("predict", "tagger.mm", "-", input="7 19:30\nsings X\n").out == result.out
    assert json.loads(run("evaluate", "tagger.mm", "-", "--json", input="7 19:30 O\n").out)["n_labels"] == 1


def test_evaluate_entities(run, models):
    X, Y = read_conll("test.conll")
    Y_hat = mm.load("tagger.mm").predict(X)
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


def test_inspect(run, models):
    model = mm.load("tagger.mm")
    found = json.loads(run("inspect", "tagger.mm", "--json", "--top", "3").out)
    assert found["certificate"]["primal"] == model.certificate_.primal
    assert found["stop_reason"] == "tol"
    assert found["labels"] == model.classes_.tolist()
    assert found["n_weights"] == len(model.coef_)
    frame = model.weights_frame()
    best = frame[frame.feature.str.endswith("→ B-PER") & ~frame.feature.str.startswith(("O ", "B-", "I-", "start"))]
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
    assert "holds a StructuralSVM whose inputs no file format here describes" in result.err


def test_numbers_that_json_does_not_have(run, tmp_path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    mm.MulticlassSVM(C=math.inf).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).save("m.mm")
    found = json.loads(run("inspect", "m.mm", "--json").out, parse_constant=refuse)
    assert found["parameters"]["C"] == "inf"


def test_every_number_that_json_does_not_have(capsys):
    print_json({"a": [-math.inf, (math.nan, 1.5)], "b": {"c": np.float64("inf")}, "d": True})
    assert json.loads(capsys.readouterr().out) == {"a": ["-inf", ["nan", 1.5]], "b": {"c": "inf"}, "d": True}


def test_characters_that_standard_output_does_not_have(models):
    def inspect(*arguments, encoding="ascii"):
        command = [sys.executable, "-m", "maxmargin.cli", "inspect", "tagger.mm", "--top", "50", *arguments]
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
    text = run("inspect", "m.mm").out
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
