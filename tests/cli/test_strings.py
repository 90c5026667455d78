"""Trees in brackets, structures of RNA, alignments and motifs on the command line, in the formats of these fields."""

from __future__ import annotations

import json
import random

import pytest

import maxmargin as mm
from maxmargin.formats import read_aligned_fasta, read_dot_bracket, read_fasta, read_trees

TREES = """(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))
(S (NP (PRP it)) (VP (VBZ runs)))
"""


def test_grammar(run, tmp_path):
    (tmp_path / "trees.mrg").write_text(TREES)
    result = run("fit", "grammar", "trees.mrg", "-o", "m.mm", "--horizontal", "2", "--jobs", "1")
    assert result.code == 0, result.err
    assert "trees.mrg: 2 trees" in result.err
    model = mm.load("m.mm")
    assert (model.horizontal, model.loss) == (2, "constituents")
    lines = "the_DT dog_NN sees_VBZ a_DT cat_NN\n\nit_PRP runs_VBZ\n"
    out = run("predict", "m.mm", "-", input=lines).out
    assert out == TREES, "tokens word_TAG in, brackets out"
    assert run("predict", "m.mm", "trees.mrg", "-o", "out.mrg").code == 0
    assert read_trees("out.mrg") == read_trees("trees.mrg"), "trees stand for their sentences"
    found = json.loads(run("evaluate", "m.mm", "out.mrg", "--json").out)
    assert (found["f1"], found["exact"], found["n_trees"]) == (1.0, 1.0, 2)
    bad = run("predict", "m.mm", "-", input="the_DT dog_NN\nthe dog_NN\n")
    assert bad.code == 1 and "standard input:2: expected tokens word_TAG" in bad.err
    bad = run("fit", "grammar", "-", "-o", "no.mm", input="(S (NP x)\n")
    assert bad.code == 1 and "standard input:1: unbalanced brackets" in bad.err


FOLDED = ">a hairpin\nGGGAAAACCC\n(((....)))\n>b\nGCGAAAGCAA\n((....))..\n"


def test_folder(run, tmp_path):
    (tmp_path / "train.dbn").write_text(FOLDED)
    result = run("fit", "folder", "train.dbn", "-o", "m.mm", "--jobs", "1")
    assert result.code == 0, result.err
    assert "train.dbn: 2 sequences, 20 bases" in result.err
    model = mm.load("m.mm")
    expected = model.predict(["GGGAAAACCC", "GCGAAAGCAA"])
    fasta = ">a hairpin\nGGGAAAACCC\n>b\nGCGAAAGCAA\n"
    out = run("predict", "m.mm", "-", input=fasta).out
    assert out == f">a hairpin\nGGGAAAACCC\n{expected[0]}\n>b\nGCGAAAGCAA\n{expected[1]}\n"
    (tmp_path / "out.dbn").write_text(out)
    assert [record.structure for record in read_dot_bracket("out.dbn")] == expected
    assert run("predict", "m.mm", "out.dbn").out == out, "structures of the input are not used"
    mm.formats.write_ct("out.ct", read_dot_bracket("out.dbn"))
    found = json.loads(run("evaluate", "m.mm", "out.ct", "--json").out)
    assert (found["f1"], found["n_sequences"]) == (1.0, 2)
    mm.formats.write_bpseq("b.bpseq", [("b", "GCGAAAGCAA", "((....))..")])
    assert run("predict", "m.mm", "b.bpseq").out.splitlines()[1:] == ["GCGAAAGCAA", expected[1]]
    bad = run("fit", "folder", "-", "-o", "no.mm", input=FOLDED.replace("((....))..", "(.)......."))
    assert bad.code == 1 and "standard input: record 2 (b), position 0: the bases G and G" in bad.err
    bad = run("predict", "m.mm", "-", input=">a\nGGGAAAACCC\n>b\nGC7AA\n")
    assert bad.code == 1 and "standard input: record 2 (b)" in bad.err
    bad = run("fit", "folder", "-", "-o", "no.mm", input=">a\nGGGAAAACCC\n(((....)))))\n")
    assert bad.code == 1 and "standard input:1: a sequence of 10 bases with a structure of 12" in bad.err


def test_aligner(run, tmp_path):
    (tmp_path / "train.fa").write_text(">a one\nACGGT\n>b\nAC-GT\n>c\nTTGCA\n>d\n-TGCA\n")
    result = run("fit", "aligner", "train.fa", "-o", "m.mm", "--alphabet", "ACGT", "--features", "simple", "-q")
    assert result.code == 0, result.err
    model = mm.load("m.mm")
    assert (model.alphabet, model.features, model.C) == ("ACGT", "simple", "auto")
    X, Y = read_aligned_fasta("train.fa")
    aligned = model.predict(X)
    out = run("predict", "m.mm", "train.fa", "-o", "out.fa")
    assert (out.code, out.err) == (0, "")
    assert read_aligned_fasta("out.fa") == (X, aligned)
    assert read_fasta("out.fa")[0][::2] == ("a", "one")
    found = json.loads(run("evaluate", "m.mm", "train.fa", "--json").out)
    assert found == {"recall": model.score(X, Y), "n_pairs": 2}
    bad = run("predict", "m.mm", "-", input=">a\nACGT\n")
    assert bad.code == 1 and "standard input: expected pairs of records, found 1 records" in bad.err


def test_motif(run, tmp_path):
    rng = random.Random(0)
    without = ["".join(rng.choices("ACGT", k=16)) for _ in range(12)]
    holding = [x[:h] + "TTGACC" + x[h + 6 :] for x, h in zip(without, rng.choices(range(10), k=12), strict=True)]
    (tmp_path / "with.fa").write_text("".join(f">p{i} label=1\n{x}\n" for i, x in enumerate(holding)))
    (tmp_path / "without.fa").write_text("".join(f">n{i} label=0\n{x}\n" for i, x in enumerate(without)))
    both = (tmp_path / "with.fa").read_text() + (tmp_path / "without.fa").read_text()
    options = ["--length", "6", "--background-order", "0", "--n-restarts", "1", "-q"]
    assert run("fit", "motif", "with.fa", "-o", "m.mm", "--negatives", "without.fa", *options).code == 0
    assert run("fit", "motif", "-", "-o", "again.mm", *options, input=both).code == 0
    model = mm.load("m.mm")
    assert (model.coef_ == mm.load("again.mm").coef_).all(), "two files, or labels in titles"
    sites = model.sites(holding)
    (tmp_path / "out.fa").write_text(run("predict", "m.mm", "with.fa").out)
    for record, site, x in zip(read_fasta("out.fa"), sites, holding, strict=True):
        where = f" site={site.position + 1}-{site.position + 6} strand=+" if site.label == "1" else ""
        assert (record.sequence, record.description) == (x, f"label={site.label}{where}")
    again = json.loads(run("evaluate", "m.mm", "out.fa", "--json").out)
    assert again == {"accuracy": 1.0, "n_sequences": 12}, "the output has the format of the input"
    bad = run("fit", "motif", "-", "-o", "no.mm", input=">a\nACGT\n")
    assert bad.code == 1 and "record 1 ('a'): expected label=0 or label=1 in the title" in bad.err


@pytest.mark.parametrize("option", ["--checkpoint", "--resume", "--zero-based"])
def test_options_that_a_task_does_not_have(run, tmp_path, option):
    assert run("fit", "motif", "with.fa", "-o", "m.mm", option).code == 2
