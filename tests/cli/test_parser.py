"""Dependency parsers on the command line: CoNLL-U in and out, and a tagger before the parser by files."""

from __future__ import annotations

import gzip
import json
import random

import pytest

import maxmargin as mm
from maxmargin.formats import read_conll

TAGS = {"the": "DET", "red": "ADJ", "dog": "NOUN", "cat": "NOUN", "sleeps": "VERB", "runs": "VERB"}
#: Columns that a file may lack.
TREE = ("upos", "head", "deprel")


def treebank(n, seed, known=TREE):
    """Sentences "the (red) noun verb" with contractions and comments; columns that are not known are empty."""
    rng, lines = random.Random(seed), []
    for i in range(n):
        words = ["the", *["red"] * rng.randint(0, 1), rng.choice(["dog", "cat"]), rng.choice(["sleeps", "runs"])]
        lines += [f"# sent_id = {i}", "\t".join(["1-2", "thered", *"_" * 8])]
        verb, noun = len(words), len(words) - 1
        for t, word in enumerate(words, 1):
            head, relation = (noun, "det" if word == "the" else "amod")
            if t >= noun:
                head, relation = (0, "root") if t == verb else (verb, "nsubj")
            values = {"upos": TAGS[word], "head": str(head), "deprel": relation}
            row = {name: value if name in known else "_" for name, value in values.items()}
            deps = f"{head}:{relation}" if "deps" in known else "_"
            cells = [str(t), word, "_", row["upos"], "_", "_", row["head"], row["deprel"], deps, "SpaceAfter=No"]
            lines.append("\t".join(cells))
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "train.conllu").write_text(treebank(20, 0))
    (tmp_path / "gold.conllu").write_text(treebank(6, 1))
    (tmp_path / "tagged.conllu").write_text(treebank(6, 1, known=("upos",)))
    (tmp_path / "plain.conllu").write_text(treebank(6, 1, known=()))
    return tmp_path


@pytest.fixture
def parser(run, data):
    result = run("fit", "parser", "train.conllu", "-o", "parser.mm")
    assert result.code == 0, result.err
    assert "train.conllu: 20 sentences, " in result.err
    assert "used: form, upos (files to be parsed need these too), with relations" in result.err
    return data / "parser.mm"


def test_head_and_relation_are_filled(run, parser):
    result = run("predict", "parser.mm", "tagged.conllu", "-o", "out.conllu")
    assert (result.code, result.out) == (0, "")
    assert (parser.parent / "out.conllu").read_text() == treebank(6, 1), "ten columns; other lines and columns stay"
    assert {len(token) for x in read_conll("out.conllu")[0] for token in x} == {9}, "and the label"
    packed = gzip.compress(treebank(6, 1, known=("upos",)).encode())
    assert run("predict", "parser.mm", "-", input=packed).out == treebank(6, 1), "a stream, compressed"
    enhanced = run("predict", "parser.mm", "-", input=treebank(6, 1, known=("upos", "deps")))
    assert enhanced.out == treebank(6, 1), "DEPS of other heads are removed"


def test_batches_change_nothing(run, parser, monkeypatch):
    monkeypatch.setattr("maxmargin.cli._sentences._BATCH", 4)
    assert run("predict", "parser.mm", "tagged.conllu").out == treebank(6, 1)


def test_evaluate_has_both_attachment_scores(run, parser):
    wrong = treebank(6, 1).replace("\t0\troot", "\t0\tother")
    model = mm.load("parser.mm")
    found = json.loads(run("evaluate", "parser.mm", "-", "--json", input=wrong).out)
    n = found["n_words"]
    assert found == {"UAS": 1.0, "LAS": pytest.approx(1 - 6 / n), "n_words": n, "n_sentences": 6}
    assert model.score("gold.conllu") == 1.0
    assert run("evaluate", "parser.mm", "gold.conllu").out.splitlines()[:2] == ["UAS 1.0000", "LAS 1.0000"]


def test_tagger_then_parser_by_files(run, parser):
    assert run("fit", "tagger", "train.conllu", "-o", "tagger.mm", "-q").code == 0
    assert run("predict", "tagger.mm", "plain.conllu", "-o", "step1.conllu").code == 0
    assert run("predict", "parser.mm", "step1.conllu", "-o", "step2.conllu").code == 0
    assert (parser.parent / "step2.conllu").read_text() == treebank(6, 1)
    assert json.loads(run("evaluate", "tagger.mm", "step2.conllu", "--json").out)["accuracy"] == 1.0
    assert json.loads(run("evaluate", "parser.mm", "step2.conllu", "--json").out)["LAS"] == 1.0


def test_options_of_the_parser(run, data):
    options = ["--tags", "none", "--no-labelled", "--projective", "-C", "0.1,1", "--dev", "gold.conllu", "--jobs", "1"]
    result = run("fit", "parser", "train.conllu", "-o", "m.mm", *options)
    assert result.code == 0, result.err
    assert "used: form, without relations" in result.err
    assert "C = 0.1: UAS " in result.err and "C = 1: UAS " in result.err
    model = mm.load("m.mm")
    assert (model.tags_, model.labelled, model.projective, model.lift) == ([], False, True, False)
    filled = run("predict", "m.mm", "plain.conllu").out
    assert {line.split("\t")[7] for line in filled.splitlines() if line[:1].isdecimal()} == {"root", "dep", "_"}
    assert "LAS" not in json.loads(run("evaluate", "m.mm", "gold.conllu", "--json").out)
    without = run("fit", "parser", "-", "-o", "m.mm", input=treebank(5, 0, known=("upos", "head")))
    assert without.code == 0 and "without relations" in without.err, "relations are learnt if the file has them"
    assert mm.load("m.mm").C == mm.DependencyParser().C, "the default of the estimator"


@pytest.mark.parametrize(("old", "new", "message"), [
    ("\t0\troot", "\tx\troot", "bad.conllu:5: expected a head, a number from 0 to 3, found 'x'"),
    ("\t0\troot", "\t9\troot", "bad.conllu:5: expected a head, a number from 0 to 3, found '9'"),
    ("\t0\troot", "\t3\troot", "bad.conllu:3: "),
    ("3\truns", "4\truns", "bad.conllu:5: expected the id 3, as words are numbered, found '4'"),
    ("\t", " ", "bad.conllu:2: expected CoNLL-U, 10 columns separated by tabs, found 10"),
])  # fmt: skip
def test_errors_name_the_line(run, tmp_path, old, new, message):
    text = treebank(1, 3)
    assert "3\truns" in text, "the sentence has three words"
    (tmp_path / "bad.conllu").write_text(text.replace(old, new))
    result = run("fit", "parser", "bad.conllu", "-o", "m.mm", "-q")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert message in result.err
    assert not (tmp_path / "m.mm").exists()


def test_errors_of_predict(run, parser):
    result = run("predict", "parser.mm", "plain.conllu", "-o", "out")
    assert result.code == 1
    assert "plain.conllu:3: words without upos ('the', " in result.err
    assert not (parser.parent / "out").exists()
    result = run("predict", "parser.mm", "tagged.conllu", "--topk", "2")
    assert result.code == 1 and "--topk is for taggers and multiclass models" in result.err
    result = run("predict", "parser.mm", "-", input="the dog\n")
    assert result.code == 1 and "standard input:1: expected CoNLL-U" in result.err
    result = run("predict", "parser.mm", "tagged.conllu", "--format", "trec")
    assert result.code == 1 and "models of the task parser write one format" in result.err
