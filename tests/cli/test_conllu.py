"""CoNLL-U on the command line: columns by name, words alone by default, ten columns out."""

from __future__ import annotations

import json
import random

import pytest

import maxmargin as mm

VALUES = {"the": ("the", "DET", "DT"), "dog": ("dog", "NOUN", "NN"), "dogs": ("dog", "NOUN", "NNS"),
          "sleeps": ("sleep", "VERB", "VBZ"), "run": ("run", "VERB", "VB"), "red": ("red", "ADJ", "JJ")}  # fmt: skip


def conllu(n, seed, known=("lemma", "upos", "xpos", "head")):
    """Sentences with contractions, empty nodes and comments; columns that are not known are empty."""
    rng, lines = random.Random(seed), []
    for i in range(n):
        words = rng.choices(list(VALUES), k=rng.randint(2, 5))
        lines += [f"# sent_id = {i}", f"# text = {' '.join(words)}", "\t".join(["1-2", "".join(words[:2]), *"_" * 8])]
        for t, word in enumerate(words, 1):
            lemma, upos, xpos = VALUES[word]
            row = {"lemma": lemma, "upos": upos, "xpos": xpos, "head": "0" if t == 1 else "1"}
            cells = [*(row[name] if name in known else "_" for name in ("lemma", "upos", "xpos")), "_"]
            cells += [row["head"], "dep"] if "head" in known else ["_", "_"]
            lines.append("\t".join([str(t), word, *cells, "_", "SpaceAfter=No"]))
        lines += ["\t".join([f"{len(words)}.1", *"_" * 9]), ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "train.conllu").write_text(conllu(40, 0))
    (tmp_path / "new.conllu").write_text(conllu(10, 1, known=()))
    (tmp_path / "gold.conllu").write_text(conllu(10, 1))
    return tmp_path


def test_the_form_alone_is_used(run, data):
    result = run("fit", "tagger", "train.conllu", "-o", "m.mm")
    assert "columns: word form, label upos; not used: id, lemma, xpos, feats, head, deprel, deps, misc (" in result.err
    model = mm.load("m.mm")
    assert (model.columns, model.label_column, model.n_columns_in_) == (["form"], "upos", 1)
    assert model.predict([["the", "red", "dog"]]) == [["DET", "ADJ", "NOUN"]], "plain words, in Python too"
    assert not any("column" in name for name in model.feature_names_out)
    filled = run("predict", "m.mm", "new.conllu")
    assert (filled.out, filled.err) == (conllu(10, 1, known=("upos",)), "")
    assert json.loads(run("evaluate", "m.mm", "gold.conllu", "--json").out)["accuracy"] == 1.0
    assert run("predict", "m.mm", "-", input="the\ndog\n").out == "the DET\ndog NOUN\n"


def test_columns_by_name(run, data):
    result = run("fit", "tagger", "train.conllu", "-o", "m.mm", "--columns", "FORM,upos", "--label-column", "xpos")
    assert "columns: word form, also upos, label xpos; not used: id, lemma," in result.err
    assert run("predict", "m.mm", "gold.conllu").out == conllu(10, 1)
    empty = run("predict", "m.mm", "new.conllu")
    assert "warning: new.conllu: the column upos, which the tagger uses, is empty (_)" in empty.err
    for options, message in (
        (["--columns", "form,pos"], "there is no column 'pos': the columns are id, form, lemma, upos, xpos"),
        (["--columns", "form,upos"], "the column upos is the label"),
        (["--label-column", "feats"], "the column feats, that of the labels, is empty (_)"),
    ):
        result = run("fit", "tagger", "train.conllu", "-o", "no.mm", *options)
        assert result.code == 1 and message in result.err
    result = run("predict", "m.mm", "-", input="the dog\n\nthe dog NN\n")
    assert result.code == 1
    result = run("predict", "m.mm", "-", input="the DT NN\n")
    assert "expected CoNLL-U, or a file of the 2 columns form, upos alone, one token per line, found 3" in result.err


def test_the_k_best_are_in_misc(run, data):
    assert run("fit", "tagger", "train.conllu", "-o", "m.mm", "-q").code == 0
    out = run("predict", "m.mm", "gold.conllu", "--topk", "2", "--scores").out
    rows = [line.split("\t") for line in out.splitlines() if line and line[0] != "#"]
    assert {len(row) for row in rows} == {10}
    words = [row for row in rows if row[0].isdecimal()]
    assert all(row[9].startswith("SpaceAfter=No|Upos2=") for row in words)
    assert [line for line in out.splitlines() if line.startswith("# scores = ")]
    (data / "again.conllu").write_text(out)
    assert json.loads(run("evaluate", "m.mm", "again.conllu", "--json").out)["accuracy"] == 1.0
