"""``maxmargin fit``: the model it writes is the one Python would fit with the same options."""

import gzip

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.cli import _training as labels
from maxmargin.cli._data import detect_format
from maxmargin.formats import read_conll, read_svmhmm, read_svmlight


def test_a_tagger_of_columns(run, files):
    result = run("fit", "tagger", "train.conll", "-o", "m.mm", "-C", "0.5", "--tol", "1e-3", "--seed", "3")
    assert result.code == 0, result.err
    assert result.out == ""
    assert "60 sequences" in result.err
    assert "columns: word 0, label 2; not used: 1 (--columns 0,1 would use 1 too)" in result.err
    assert "stopped: tol" in result.err
    model = mm.load("m.mm")
    X, Y = mm.ColumnTagger().read("train.conll")
    assert [[token[:1] for token in x] for x in read_conll("train.conll")[0]] == X
    expected = mm.ColumnTagger(C=0.5, tol=1e-3, random_state=3, constraints="bio").fit(X, Y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.get_params()["constraints"] == "bio"
    assert model.verbose == 0


def test_template_options(run, files):
    arguments = ["--window", 1, "--affixes", 2, "--no-shape", "--no-pairs", "--jobs", 1]
    assert run("fit", "tagger", "train.conll", "-o", "m.mm", "-q", *arguments).code == 0
    assert mm.load("m.mm").templates == mm.TokenTemplates(1, 2, False, False)


def test_columns_of_a_file(run, files):
    (files / "first.conll").write_text("".join(
        " ".join([*line.split()[::-1], "extra"]) + "\n" if line else "\n"
        for line in (files / "train.conll").read_text().splitlines()
    ))  # fmt: skip
    result = run("fit", "tagger", "first.conll", "-o", "m.mm", "--label-column", 0, "--columns", "2,-1")
    assert (result.code, "columns: word 2, also 3, label 0; not used: 1 (" in result.err) == (0, True), result.err
    model = mm.load("m.mm")
    assert (model.columns, model.label_column, model.width, model.n_columns_in_) == ([2, 3], 0, 4, 2)
    assert model.classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    X, Y = model.read("first.conll")
    assert X[0][0][1] == "extra" and model.predict(X) == Y
    predicted = run("predict", "m.mm", "first.conll").out
    assert predicted.splitlines()[0].split()[-1] == Y[0][0], "after the label"
    without = "\n".join(line.partition(" ")[2] for line in (files / "first.conll").read_text().splitlines()) + "\n"
    assert run("predict", "m.mm", "-", input=without).out == (files / "first.conll").read_text(), "where the label is"
    alone = run("predict", "m.mm", "-", input="Ana extra\nSilva extra\n").out
    assert alone == "Ana extra B-PER\nSilva extra I-PER\n"
    result = run("predict", "m.mm", "-", input="Ana\n")
    assert "expected 4 columns, as in the training data, or one less without labels, or a file of the 2" in result.err


def test_options_for_smaller_models(run, files):
    assert run("fit", "tagger", "train.conll", "-o", "m.mm", "-q", "--min-count", 3, "--seen-pairs").code == 0
    model = mm.load("m.mm")
    expected = mm.ColumnTagger(min_count=3, seen_pairs=True, constraints="bio")
    X, Y = expected.read("train.conll")
    np.testing.assert_array_equal(model.coef_, expected.fit(X, Y).coef_)
    assert len(model.coef_) < len(expected.set_params(min_count=1).fit(X, Y).coef_)


def test_a_tagger_of_sequences(run, files):
    assert run("fit", "tagger", "train.hmm", "-o", "m.mm", "-C", "1").code == 0
    X, Y = read_svmhmm("train.hmm")
    np.testing.assert_array_equal(mm.load("m.mm").coef_, mm.SequenceTagger(C=1.0).fit(X, Y).coef_)


def test_multiclass(run, files):
    options = ["-C", "2", "--loss", "1=3,2=0.5", "--no-intercept", "--bound", "slack", "--slack", "quadratic"]
    result = run("fit", "multiclass", "train.svm", "-o", "m.mm", *options)
    assert result.code == 0, result.err
    assert "90 rows, 3 features, 3 labels" in result.err
    X, y = read_svmlight("train.svm")
    expected = mm.MulticlassSVM(
        C=2.0, loss={1: 3.0, 2: 0.5}, fit_intercept=False, bound="slack", slack="quadratic"
    ).fit(X, y)
    np.testing.assert_array_equal(mm.load("m.mm").coef_, expected.coef_)


def test_gzip_and_standard_input(run, files):
    data = (files / "train.conll").read_bytes()
    (files / "packed").write_bytes(gzip.compress(data))
    for name, given in (("packed", None), ("-", data), ("-", gzip.compress(data))):
        assert run("fit", "tagger", name, "-o", f"{len(given or b'')}.mm", "-q", input=given).code == 0
    found = [mm.load(path).coef_ for path in sorted(files.glob("*.mm"))]
    assert len(found) == 3
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def relabelled(text, labels):
    """The same lines with other labels: in the last column of columns, else in front."""
    lines, labels = [], iter(labels)
    for line in text.splitlines():
        cells = line.split(" ")
        if line:
            cells[-1 if ":" not in line else 0] = str(next(labels))
        lines.append(" ".join(cells))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("what", "kind"), [("tagger", "conll"), ("tagger", "hmm"), ("multiclass", "svm")])
@pytest.mark.parametrize("best", [0, 2])
def test_the_best_C_on_development_data_is_taken(run, files, what, kind, best):
    """The development labels are what one of the models predicts, so that this one is the best."""
    swapped = {"conll": ("-PER", "-LOC"), "hmm": ("1 qid", "2 qid"), "svm": ("1 1:", "2 1:")}[kind]
    read = {"conll": read_conll, "hmm": read_svmhmm, "svm": read_svmlight}[kind]
    train, dev, apart = f"train.{kind}", f"dev.{kind}", "\n\n" if kind == "conll" else "\n"
    parts = (files / train).read_text(encoding="utf-8").split(apart)
    text = apart.join(part.replace(*swapped) if i % 3 == 0 else part for i, part in enumerate(parts))
    (files / train).write_text(text, encoding="utf-8")

    estimators = {"conll": mm.ColumnTagger(constraints="bio"), "hmm": mm.SequenceTagger(), "svm": mm.MulticlassSVM()}
    X, Y = estimators[kind].read(train) if kind == "conll" else read(train)
    models = mm.regularization_path(estimators[kind], X, Y, [1e-4, 1e-2, 10.0])
    predicted = [[*m.predict(X)] if kind == "svm" else [v for y in m.predict(X) for v in y] for m in models]
    assert predicted[0] != predicted[2]
    (files / dev).write_text(relabelled(text, predicted[best]), encoding="utf-8")

    result = run("fit", what, train, "-o", "m.mm", "-C", "10,1e-4,0.01", "--dev", dev)
    assert result.code == 0, result.err
    said = [line for line in result.err.splitlines() if "of labels right, gap" in line]
    assert [line.split(":")[0] for line in said] == ["C = 0.0001", "C = 0.01", "C = 10"]
    assert "100.00 % of labels right" in said[best]
    assert ("F1" in result.err) == (kind == "conll")
    chosen = mm.load("m.mm")
    assert models[best].C == chosen.C
    np.testing.assert_array_equal(chosen.coef_, models[best].coef_)


def test_one_C_is_scored_on_development_data(run, files):
    assert "test.svm: " in run("fit", "multiclass", "train.svm", "-o", "m.mm", "--dev", "test.svm").err


def test_a_tie_takes_the_smaller_C(run, files):
    assert run("fit", "multiclass", "train.svm", "-o", "m.mm", "-C", "1,1.0000001", "--dev", "train.svm").code == 0
    assert mm.load("m.mm").C == 1.0


@pytest.mark.slow
def test_checkpoint_and_resume(run, files):
    common = ["fit", "tagger", "train.conll", "-o", "m.mm", "--checkpoint", "c.npz", "--resume"]
    assert run(*common, "--tol", "0.3").code == 0
    rough = mm.load("m.mm")
    assert run(*common, "--tol", "1e-4").code == 0
    fine = mm.load("m.mm")
    assert run("fit", "tagger", "train.conll", "-o", "m.mm", "--tol", "1e-4").code == 0
    np.testing.assert_array_equal(fine.coef_, mm.load("m.mm").coef_)
    assert rough.n_iter_ < fine.n_iter_
    other = run(*common, "-C", "7")
    assert other.code == 1
    assert "belongs to another run: its C is" in other.err


def test_max_seconds_and_quiet(run, files):
    command = ("fit", "tagger", "train.conll", "-o", "m.mm", "--tol", "1e-12", "--max-seconds", "0.05")
    result = run(*command, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert mm.load("m.mm").stop_reason_ == "max_seconds"
    assert "maxmargin: warning: stopped after" in run(*command).err


BIO = [["B-P", "I-P", "O"]] * 20
BIOES = [["B-P", "E-P", "O", "S-P"]]


@pytest.mark.parametrize(
    ("wanted", "Y", "scheme", "note"),
    [
        ("auto", BIO, "bio", "constraints: bio"),
        ("auto", [*BIO, ["I-P", "O", "O"]], "bio", "constraints: bio; 1 I- that continued no entity changed to B-"),
        ("auto", [["I-P", "I-P", "B-P", "O", "I-P"]], None, ""),
        ("bio", [["I-P", "O"]], "bio", "constraints: bio; 1 I-"),
        ("auto", BIOES, "bioes", "constraints: bioes"),
        ("auto", [*BIOES, ["I-P", "O"]], None, ""),
        ("auto", [["N", "V"]], None, ""),
        ("auto", [["B", "I", "O"]], None, ""),
        ("auto", [[1, 2]], None, ""),
        ("none", BIO, None, ""),
    ],
)
def test_constraints(wanted, Y, scheme, note):
    found, repaired, said = labels.constrain(wanted, Y)
    assert found == scheme
    assert said.startswith(note)
    assert bool(said) == bool(note)
    assert repaired == ([mm.repair_bio(y) for y in Y] if scheme == "bio" else Y)


def test_chosen_constraints_reach_the_model(run, files):
    assert run("fit", "tagger", "train.conll", "-o", "m.mm", "-q", "--constraints", "none").code == 0
    assert mm.load("m.mm").constraints is None


@pytest.mark.parametrize("bound", ["ramp", "ramp-slack"])
def test_a_ramp_in_outer_steps(run, files, bound):
    pytest.importorskip("matplotlib")
    result = run("fit", "multiclass", "train.svm", "-o", "ramp.mm", "--bound", bound)
    assert result.code == 0, result.err
    assert "last convex problem: " in result.err and " outer steps from the start 'convex' (" in result.err
    result = run("inspect", "ramp.mm", "--plot", "steps.png")
    assert result.code == 0, result.err
    assert (files / "steps.png").stat().st_size > 1000


@pytest.mark.parametrize("first", ["7 19:30", "7 qid:1"])
def test_the_format_that_is_said_counts(run, files, first):
    text = f"{first} 1:1\n\n" + (files / "train.conll").read_text(encoding="utf-8")
    (files / "times").write_text(text, encoding="utf-8")
    arguments = ["fit", "tagger", "times", "-o", "m.mm", "-q", "--dev", "times", "--max-seconds", "1"]
    result = run(*arguments, "--format", "conll")
    assert (result.code, result.err) == (0, "")
    assert "1:1" in mm.load("m.mm").classes_.tolist()
    assert run(*arguments).code == 1


def test_a_line_is_taken_for_svmlight_only_as_a_whole(run, files):
    result = run("fit", "tagger", "-", "-o", "m.mm", "-q", input="7 19:30 O\nAna NP B-PER\n")
    assert (result.code, result.err) == (0, "")
    assert detect_format("train.svm") == "svmlight"
    (files / "wide.svm").write_text("1 " + " ".join(f"{j}:0.5" for j in range(1, 5000)) + "\n")
    assert detect_format("wide.svm") == "svmlight"
