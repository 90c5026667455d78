"""maxmargin predict: labels for columns, sequences and rows."""

import json

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.formats import read_conll, read_svmhmm, read_svmlight


def test_columns_get_one_more(run, models):
    model = mm.load("tagger.mm")
    X, Y = read_conll("test.conll")
    assert run("predict", "tagger.mm", "test.conll", "-o", "out").code == 0
    again, predicted = read_conll("out")
    assert predicted == model.predict(model.read("test.conll")[0]) == model.predict([[t[0] for t in x] for x in X])
    assert [[token[:2] for token in x] for x in again] == X
    assert [[token[2] for token in x] for x in again] == Y
    plain = run("predict", "tagger.mm", "plain.conll").out
    assert [line.split()[2] for line in plain.splitlines() if line] == [label for y in predicted for label in y]


def test_other_lines_stay(run, models):
    text = "# id 1\n-DOCSTART- O\n\nAna\tNP\nSilva\tNP\n\n\n# end\n"
    result = run("predict", "tagger.mm", "-", input=text)
    assert result.out == "# id 1\n-DOCSTART-\tO\tO\n\nAna\tNP\tB-PER\nSilva\tNP\tI-PER\n\n\n# end\n"


def test_all_lines_have_the_same_number_of_columns(run, models):
    """As conlleval requires."""
    text = "-DOCSTART- -X- O\n\nAna NP B-PER\nSilva NP I-PER\n\n-DOCSTART- -X- O\n\nsings X O\n"
    out = run("predict", "tagger.mm", "-", input=text).out
    assert out.splitlines()[0] == "-DOCSTART- -X- O O"
    longer = run("predict", "tagger.mm", "-", input=text.replace("-X- O", "-X- -X- O")).out
    assert longer.splitlines()[0] == "-DOCSTART- -X- -X- O"
    assert {len(line.split()) for line in (out + longer).splitlines() if line} == {4}


def test_batches_change_nothing(run, models, monkeypatch):
    whole = run("predict", "tagger.mm", "test.conll").out
    monkeypatch.setattr("maxmargin.estimators.text.column_tagger.BATCH", 7)
    assert run("predict", "tagger.mm", "test.conll").out == whole


def test_the_k_best_of_a_sentence(run, models):
    model = mm.load("tagger.mm")
    result = run("predict", "tagger.mm", "-", "--topk", "3", "--scores", input="Ana NP\nsings X\n")
    best = model.topk(["Ana", "sings"], 3)
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
