"""Bad input ends with one sentence and exit code 1, bad usage with 2; nothing is written."""

import gzip
import os
import subprocess
import sys

import pytest

import maxmargin as mm


def one_sentence(result, *parts):
    assert result.code == 1, result.out + result.err
    assert result.err.startswith("maxmargin: ")
    assert result.err.count("\n") == 1, result.err
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


BAD_TRAINING = [
    ("tagger", b"a b O\nc O\n", "data:2: expected 3 columns as on line 1, found 2"),
    ("tagger", b"", "data: expected a line of columns for each token, found no tokens"),
    ("tagger", b"a\nb\n", "data: expected a label and at least one more column"),
    ("tagger", b"Coru\xf1a O\nb X\n", "data:1: expected UTF-8 text"),
    ("tagger", gzip.compress(b"a O\nb X\n" * 500, mtime=0)[:-20], "data: the gzip file is truncated"),
    ("tagger", b"a O\nb O\n", "expected at least two classes"),
    ("tagger", b"1 1:1\n2 2:1\n", "data: these are svmlight rows without qid, for `maxmargin fit multiclass`"),
    ("tagger", b"1 qid:1 1:x\n", "data:1: expected FEATURE:VALUE"),
    ("tagger", b"1 qid:1 1:1\n2 1:1\n", "data:2: expected TAG qid:NUMBER"),
    ("multiclass", b"1 1:1\n2 3\n", "data:2: expected FEATURE:VALUE"),
    ("multiclass", b"", "data: no rows"),
    ("multiclass", b"1 1:1\n1 2:1\n", "class"),
    ("multiclass", b"Ana B-PER\n", "data:1: expected a number as label, found 'Ana'"),
    ("multiclass", b"1 qid:1 1:1\n2 qid:1 2:1\n", "data: expected svmlight rows"),
]


@pytest.mark.parametrize(("what", "data", "sentence"), BAD_TRAINING)
def test_bad_training_data(run, tmp_path, what, data, sentence):
    (tmp_path / "data").write_bytes(data)
    one_sentence(run("fit", what, "data", "-o", "m.mm", "-q"), sentence)
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--label-column", "5"], "there is no label column 5: lines have 3 columns, numbered 0 to 2"),
        (["--columns", "0,2"], "the column 2 is the label, so it cannot be a column to predict it from"),
        (["--columns", "0,3"], "there is no column 3: lines have 3 columns, numbered 0 to 2"),
        (["--columns", "form"], "expected CoNLL-U, or a file of the column form alone, one token per line, found 3"),
        (["--loss", "B-ORG=2"], "--loss: unknown label 'B-ORG'; the labels are B-LOC, B-PER, I-LOC, I-PER, O"),
        (["--loss", "counts"], "--loss: expected hamming, hamming-share, zero-one or LABEL=COST,LABEL=COST"),
        (["--loss", "O=-1"], "costs must be finite and not negative"),
        (["--tol", "0"], "maxmargin: --tol must be a number > 0"),
        (["--jobs", "0"], "--jobs must be -1 (all cores) or a positive number"),
        (["--constraints", "bioes"], "is forbidden by the constraints"),
        (["--dev", "missing"], "missing: No such file or directory"),
        (["-C", "1,2", "--dev", "test.svm"], "test.svm: expected CoNLL columns, found svmlight rows"),
        (["-C", "1,2", "--dev", "plain.conll"], "plain.conll: expected 3 columns, one of them labels, found 2"),
        (["--dev", "plain.conll"], "plain.conll: expected 3 columns, one of them labels, found 2"),
        (["--dev", "test.svm"], "test.svm: expected CoNLL columns, found svmlight rows"),
        (["--checkpoint", "no/c"], "no/c: cannot be written, the directory"),
    ],
)
def test_bad_options_for_these_data(run, files, arguments, sentence):
    one_sentence(run("fit", "tagger", "train.conll", "-o", "m.mm", "-q", *arguments), sentence)
    assert not (files / "m.mm").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["-o", "-"], ["-o", "m.mm", "-C", "many"], ["-o", "m.mm", "-C", "0"], ["-o", "m.mm", "-C", "1,2"],
        ["-o", "m.mm", "--resume"], ["-o", "m.mm", "--window", "-1"], ["-o", "m.mm", "--format", "xml"],
        ["-o", "m.mm", "--unknown"],
        ["-o", "m.mm", "-C", "1,2", "--dev", "test.conll", "--checkpoint", "c"],
    ],
)  # fmt: skip
def test_bad_usage(run, files, arguments):
    result = run("fit", "tagger", "train.conll", *arguments)
    assert result.code == 2
    assert "Usage" in result.err
    assert not (files / "m.mm").exists()


@pytest.mark.parametrize("what", ["tagger", "multiclass"])
def test_standard_input_is_read_once(run, files, what):
    result = run("fit", what, "-", "-o", "m.mm", "--dev", "-", input="a O\n")
    assert result.code == 2
    assert "standard input is used for the training data" in result.err


@pytest.mark.parametrize(("what", "train", "dev"), [
    ("tagger", "train.conll", "missing"), ("tagger", "train.conll", "plain.conll"), ("tagger", "train.hmm", "test.svm"),
    ("multiclass", "train.svm", "test.conll"),
])  # fmt: skip
def test_development_data_are_checked_before_the_fit(run, files, monkeypatch, what, train, dev):
    def fit(*_):
        raise AssertionError("the fit has begun")

    monkeypatch.setattr(mm.ColumnTagger, "fit", fit)
    monkeypatch.setattr(mm.SequenceTagger, "fit", fit)
    monkeypatch.setattr(mm.MulticlassSVM, "fit", fit)
    one_sentence(run("fit", what, train, "-o", "m.mm", "-q", "--dev", dev), dev)


def test_a_model_is_kept_though_scoring_it_fails(run, files, monkeypatch):
    def predict(*_):
        raise MemoryError("there is none left")

    monkeypatch.setattr(mm.ColumnTagger, "predict", predict)
    result = run("fit", "tagger", "train.conll", "-o", "m.mm", "--dev", "test.conll")
    assert (result.code, result.err.splitlines()[-1]) == (1, "maxmargin: there is none left")
    assert mm.load("m.mm").classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def test_missing_files(run, models):
    one_sentence(run("fit", "tagger", "nothing", "-o", "m.mm"), "nothing: No such file or directory")
    one_sentence(run("predict", "nothing.mm", "test.conll"), "nothing.mm: No such file or directory")
    one_sentence(run("predict", "tagger.mm", "nothing"), "nothing: No such file or directory")
    one_sentence(run("evaluate", "tagger.mm", "."), ".: Is a directory")
    one_sentence(run("inspect", "-"), "")


def test_what_cannot_be_written(run, models):
    began = (models / "tagger.mm").read_bytes()
    one_sentence(run("fit", "tagger", "train.conll", "-o", "no/m.mm"), "no/m.mm: cannot be written, the directory")
    one_sentence(run("fit", "tagger", "train.conll", "-o", "."), ".: cannot be written, it is a directory")
    one_sentence(run("predict", "tagger.mm", "test.conll", "-o", "no/out"), "no/out: cannot be written")
    one_sentence(run("inspect", "tagger.mm", "--plot", "no/p.png"), "no/p.png: cannot be written")
    (models / "old").write_text("old")
    (models / "late").write_text("Ana NP\n" * 3 + "\n" + "Ana\n")
    one_sentence(run("predict", "tagger.mm", "late", "-o", "old"), "late:5: expected 2 columns as on line 1, found 1")
    assert (models / "old").read_text() == "old"
    assert (models / "tagger.mm").read_bytes() == began
    assert not list(models.glob(".*"))


@pytest.mark.parametrize(
    ("model", "data", "sentence"),
    [
        ("tagger.mm", "test.svm", "test.svm: expected CoNLL columns, found svmlight rows"),
        ("tagger.mm", "test.hmm", "test.hmm: expected CoNLL columns, found sequences in SVM-hmm's format"),
        ("sequences.mm", "test.svm", "test.svm: expected sequences in SVM-hmm's format"),
        ("sequences.mm", "test.conll", "test.conll:1: expected TAG qid:NUMBER"),
        ("rows.mm", "test.hmm", "test.hmm: expected svmlight rows"),
        ("rows.mm", "test.conll", "test.conll:1: expected a number as label"),
        (
            "tagger.mm",
            "wide.conll",
            "wide.conll:1: expected 3 columns, as in the training data, or one less without labels",
        ),
        ("tagger.mm", "empty", "empty: expected a line of columns for each token, found no tokens"),
        ("rows.mm", "empty", "empty: no rows"),
        ("sequences.mm", "empty", "empty: no tokens"),
        ("train.conll", "test.conll", "train.conll is not a model file of maxmargin"),
        ("empty", "test.conll", "empty is empty, it is not a model file"),
        ("-", "test.conll", "a model is read from a file"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_model_and_data_that_do_not_fit(run, models, command, model, data, sentence):
    (models / "wide.conll").write_text("a b c d\n")
    (models / "empty").write_text("")
    one_sentence(run(command, model, data), sentence)


def test_evaluate_needs_labels(run, models):
    one_sentence(run("evaluate", "tagger.mm", "plain.conll"), "expected 3 columns, one of them labels, found 2")


def test_pictures_that_cannot_be(run, models):
    one_sentence(run("inspect", "tagger.mm", "--plot", "p.xyz"), "xyz")
    one_sentence(run("inspect", "rows.mm", "--plot", "p.png", "--kind", "transitions"), "no transitions_ to plot")
    assert not (models / "p.png").exists()


def test_warnings_are_sentences_too(run, models, monkeypatch):
    import warnings

    def warn(path):
        warnings.warn("this needs much memory", ResourceWarning, stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        raise MemoryError("and there is none")

    monkeypatch.setattr(mm, "load", warn)
    result = run("inspect", "rows.mm")
    assert result.err == "maxmargin: warning: this needs much memory\nmaxmargin: and there is none\n"


def test_debug_shows_where(run, tmp_path):
    with pytest.raises(FileNotFoundError):
        run("evaluate", "nothing.mm", "nothing", "--debug")


def test_errors_of_the_program_are_not_hidden(run, models, monkeypatch):
    monkeypatch.setattr(mm, "load", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("inspect", "rows.mm")


def test_without_typer():
    code = "import sys; sys.modules['typer'] = None; from maxmargin.cli import main; main()"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 1
    advice = "pip install typer, or the whole extra: pip install 'maxmargin[cli]'"
    assert out.stderr == f"maxmargin: the command line needs typer: {advice}\n"


@pytest.mark.slow
def test_a_real_process(files, tmp_path):
    """Everything once through a shell: exit codes, pipes, a reader that has had enough, no progress in a pipe."""

    def shell(command):
        program = f"{sys.executable} -W error -m maxmargin"
        return subprocess.run(
            f'maxmargin() {{ {program} "$@"; }}; {command}', shell=True, cwd=tmp_path, capture_output=True, check=False
        )

    fit = shell("gzip -c train.conll | maxmargin fit tagger - -o m.mm")
    assert (fit.returncode, fit.stdout) == (0, b""), fit.stderr
    assert b"\r" not in fit.stderr
    assert b"\x1b" not in fit.stderr
    tagged = shell("printf 'San NP\\nñandú X\\n' | LC_ALL=C maxmargin predict m.mm - -o -")
    assert tagged.stdout.decode() == "San NP B-LOC\nñandú X O\n", tagged.stderr
    many = shell("for i in 1 2 3 4 5 6 7 8; do cat test.conll test.conll; done | maxmargin predict m.mm - | head -n 1")
    assert many.stderr == b""
    missing = shell("maxmargin evaluate m.mm nothing")
    assert (missing.returncode, missing.stderr) == (1, b"maxmargin: nothing: No such file or directory\n")
    assert shell("maxmargin fit").returncode == 2
    assert shell("maxmargin --version").stdout.decode() == f"maxmargin {mm.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom maxmargin.cli.app import app\n"
        "try: app(['fit', 'tagger', '--help'])\n"
        "except SystemExit: print([m for m in ('numba', 'scipy', 'sklearn', 'numpy') if m in sys.modules])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.stdout.splitlines()[-1] == "[]", out.stderr
