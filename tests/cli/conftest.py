"""A command line to call, and small data to call it on."""

import random
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from maxmargin.cli.app import app


def columns(n, seed, labels=True):
    """Sentences with names, in three columns (or two)."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        for _ in range(rng.randint(1, 5)):
            if rng.random() < 0.4:
                kind = rng.choice(["PER", "LOC"])
                first, second = {
                    "PER": (["Ana", "Tom", "Mia"], ["Silva", "Baker"]),
                    "LOC": (["New", "San"], ["York", "Paz"]),
                }[kind]
                lines += [f"{rng.choice(first)} NP B-{kind}", f"{rng.choice(second)} NP I-{kind}"]
            else:
                lines.append(f"{rng.choice(['sings', 'walks', 'ñandú', 'in'])} X O")
        lines.append("")
    return "\n".join(line if labels else line.rpartition(" ")[0] for line in lines) + "\n"


def rows(n, seed, n_classes=3):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        k = rng.randrange(n_classes)
        values = [rng.gauss(3.0 * (j == k), 1.0) for j in range(n_classes)]
        lines.append(f"{k + 1} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(values)))
    return "\n".join(lines) + "\n"


def sequences(n, seed):
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        tag = rng.choice([1, 2])
        for _ in range(rng.randint(1, 5)):
            lines.append(f"{tag} qid:{i} {tag}:1 {rng.randint(3, 6)}:1 # token")
            tag = 3 - tag if rng.random() < 0.3 else tag
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call the program in its own directory; the result has exit_code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, input=None):
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return call


@pytest.fixture
def files(tmp_path):
    """Training and test files of each kind, in the directory of `run`."""
    for name, text in {
        "train.conll": columns(60, 0), "test.conll": columns(20, 1), "plain.conll": columns(20, 1, labels=False),
        "train.svm": rows(90, 0), "test.svm": rows(30, 1), "train.hmm": sequences(30, 0), "test.hmm": sequences(10, 1),
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def models(run, files):
    """A model of each kind: tagger.mm, sequences.mm, rows.mm."""
    assert run("fit", "tagger", "train.conll", "-o", "tagger.mm", "-q").code == 0
    assert run("fit", "tagger", "train.hmm", "-o", "sequences.mm", "-q").code == 0
    assert run("fit", "multiclass", "train.svm", "-o", "rows.mm", "-q").code == 0
    return files
