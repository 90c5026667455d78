"""Measures, rankings, taxonomies and sets of labels on the command line: svmlight rows in, a line per row out."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.formats import read_letor, read_svmlight


def rows(n, seed, n_classes=3):
    """Rows whose largest feature is usually that of their label."""
    rng, lines = np.random.default_rng(seed), []
    for _ in range(n):
        label = int(rng.integers(n_classes))
        values = rng.normal(size=n_classes) + 2.0 * (np.arange(n_classes) == label)
        lines.append(f"{label + 1} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(values)))
    return "\n".join(lines) + "\n"


def test_measure(run, tmp_path):
    (tmp_path / "train.svm").write_text(rows(60, 0, 2))
    (tmp_path / "test.svm.gz").write_bytes(gzip.compress(rows(20, 1, 2).encode()))
    options = ["--measure", "roc_auc", "-C", "0.1,1", "--dev", "test.svm.gz", "--jobs", "1", "--tol", "0.05"]
    result = run("fit", "measure", "train.svm", "-o", "m.mm", *options)
    assert result.code == 0, result.err
    assert "train.svm: 60 rows, 2 features, 2 labels" in result.err
    assert "C = 0.1: roc_auc 0." in result.err or "C = 0.1: roc_auc 1." in result.err
    model = mm.load("m.mm")
    assert (model.measure, model.tol, model.bound) == ("roc_auc", 0.05, mm.MeasureSVC().bound)
    X, y = read_svmlight("test.svm.gz")
    assert run("predict", "m.mm", "test.svm.gz").out.split() == [str(label) for label in model.predict(X)]
    scores = [float(line) for line in run("predict", "m.mm", "test.svm.gz", "--scores").out.split()]
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-4)
    found = json.loads(run("evaluate", "m.mm", "test.svm.gz", "--json").out)
    assert found == {"roc_auc": model.score(X, y), "accuracy": float(np.mean(model.predict(X) == y)), "n_rows": 20}
    assert run("evaluate", "m.mm", "test.svm.gz").out.splitlines()[0] == f"roc_auc {model.score(X, y):.4f}"
    assert "MeasureSVC" in run("inspect", "m.mm").out
    assert "x1" in run("inspect", "m.mm").out or "x0" in run("inspect", "m.mm").out
    assert "test.svm:2: expected FEATURE:VALUE" not in result.err
    (tmp_path / "bad.svm").write_text("1 1:1\n2 1:x\n")
    bad = run("predict", "m.mm", "bad.svm", "-o", "out")
    assert bad.code == 1 and "bad.svm:2: expected FEATURE:VALUE" in bad.err
    assert not (tmp_path / "out").exists()
    bad = run("fit", "measure", "train.svm", "-o", "no.mm", "--measure", "speed")
    assert bad.code == 1 and "speed" in bad.err and not (tmp_path / "no.mm").exists()


def letor(n, seed):
    """Queries of four documents, of which the first feature tells the relevance."""
    rng, lines = np.random.default_rng(seed), []
    for q in range(n):
        for d, relevance in enumerate(rng.permutation([2, 1, 0, 0]).tolist()):
            first = relevance / 2 + 0.2 * rng.random()
            lines.append(f"{relevance} qid:{q + 1} 1:{first:.4f} 2:{rng.random():.4f} #docid = D{q}{d}")
    return "\n".join(lines) + "\n"


def test_ranker(run, tmp_path):
    (tmp_path / "train.txt").write_text(letor(12, 0))
    (tmp_path / "test.txt").write_text(letor(4, 1))
    result = run("fit", "ranker", "train.txt", "-o", "m.mm", "--measure", "ndcg@2", "--dev", "test.txt")
    assert result.code == 0, result.err
    assert "train.txt: 48 documents of 12 queries, 2 features" in result.err
    assert "test.txt: ndcg@2 " in result.err
    model = mm.load("m.mm")
    X, y, queries, names = read_letor("test.txt", documents=True)
    assert [float(line) for line in run("predict", "m.mm", "test.txt").out.split()] == model.predict(X).tolist()
    trec = run("predict", "m.mm", "-", "--format", "trec", input=letor(4, 1)).out
    mm.formats.write_trec_run("run.txt", queries, names, model.predict(X))
    assert trec == (tmp_path / "run.txt").read_text()
    found = json.loads(run("evaluate", "m.mm", "test.txt", "--json").out)
    assert found["ndcg@2"] == model.score(X, y, groups=queries)
    assert found["map"] == mm.metrics.mean_average_precision(y, model.predict(X), queries)
    assert (found["n_documents"], found["n_queries"]) == (16, 4)
    bad = run("predict", "m.mm", "-", "--format", "trec", input="1 qid:1 1:1\n")
    assert bad.code == 1 and "standard input:1: expected a comment with docid = NAME" in bad.err
    bad = run("fit", "ranker", "-", "-o", "no.mm", input="1 qid:1 1:1\n1 1:1\n")
    assert bad.code == 1 and "standard input:2: expected qid:QUERY" in bad.err
    assert run("predict", "m.mm", "test.txt", "--format", "json").code == 1


def test_taxonomy(run, tmp_path):
    (tmp_path / "train.svm").write_text(rows(40, 0))
    (tmp_path / "tree.txt").write_text("# classes of rows(40, 0)\n1 pets\n2 pets\npets all\n3 all\n")
    result = run("fit", "taxonomy", "train.svm", "-o", "m.mm", "--hierarchy", "tree.txt", "--loss", "tree", "-q")
    assert result.code == 0, result.err
    model = mm.load("m.mm")
    assert model.hierarchy == {"1": "pets", "2": "pets", "pets": "all", "3": "all"}
    assert (model.loss, sorted(model.nodes_)) == ("tree", ["1", "2", "3", "pets"])
    X, y = read_svmlight("train.svm")
    predicted = model.predict(X).tolist()
    assert run("predict", "m.mm", "train.svm").out.split() == predicted
    lines = run("predict", "m.mm", "train.svm", "--scores").out.splitlines()
    np.testing.assert_allclose([float(cell) for cell in lines[0].split("\t")], model.decision_scores(X)[0], rtol=1e-4)
    found = json.loads(run("evaluate", "m.mm", "train.svm", "--json").out)
    assert found["accuracy"] == np.mean([a == str(b) for a, b in zip(predicted, y, strict=True)])
    assert found["mean_loss"] == model.losses([str(label) for label in y], predicted).mean()
    (tmp_path / "tree.txt").write_text("1 pets\n2\n")
    bad = run("fit", "taxonomy", "train.svm", "-o", "no.mm", "--hierarchy", "tree.txt")
    assert bad.code == 1 and "tree.txt:2: expected CHILD PARENT, found '2'" in bad.err


SETS = "0,2 1:1 3:1\n1 2:1\n 3:1 # no label\n0,1 1:1 2:1\n2 3:2\n0 1:2\n\n"


def test_multilabel(run, tmp_path):
    (tmp_path / "train.svm").write_text(SETS)
    result = run("fit", "multilabel", "train.svm", "-o", "m.mm", "-C", "10", "--pairs", "none")
    assert result.code == 0, result.err
    assert "train.svm: 6 rows, 3 features, labels up to 2" in result.err
    model = mm.load("m.mm")
    assert model.pairs is None and len(model.pair_coef_) == 0
    X = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 2], [2, 0, 0]])
    sets = [",".join(map(str, np.flatnonzero(row))) for row in model.predict(X)]
    assert run("predict", "m.mm", "train.svm").out == "".join(f"{labels}\n" for labels in sets)
    assert sets[3] == "0,1" and sets[0] in ("0", "0,2")  # rows with feature 2 alone contradict each other
    assert len(run("predict", "m.mm", "train.svm", "--scores").out.splitlines()[0].split("\t")) == 3
    Y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    found = json.loads(run("evaluate", "m.mm", "train.svm", "--json").out)
    assert found["subset_accuracy"] == model.score(X, Y)
    assert found["hamming_loss"] == np.mean(model.predict(X) != Y)


@pytest.mark.parametrize(("text", "message"), [
    ("0 1:1\nx,1 1:1\n", "standard input:2: expected numbers from 0 as labels, found 'x,1'"),
    ("0 1:1\n1 2\n", "standard input:2: expected FEATURE:VALUE"),
    ("", "standard input: no rows"),
])  # fmt: skip
def test_errors_of_sets_name_the_line(run, tmp_path, text, message):
    result = run("fit", "multilabel", "-", "-o", "m.mm", input=text)
    assert result.code == 1 and message in result.err
    assert not (tmp_path / "m.mm").exists()
