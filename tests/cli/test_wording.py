"""Messages on the command line name its options, not Python's parameters, and advise nothing that it does not have."""

from __future__ import annotations

import re

import pytest

from maxmargin.cli._task_fit import fit_command
from maxmargin.cli._tasks import TASKS
from maxmargin.cli._wording import flags_of, in_options
from maxmargin.cli.fit import multiclass, tagger

FOLDED = ">a\nGGGAAAACCC\n(((....)))\n>b\n{}\n{}\n"


def flags(task):
    """The options of ``fit TASK``."""
    return flags_of({"tagger": tagger, "multiclass": multiclass}.get(task) or command_of(task))


def command_of(task):
    return fit_command(next(other for other in TASKS if other.name == task))


def failed(run, tmp_path, task, data, *options):
    """The message with which ``fit TASK`` fails on these data."""
    (tmp_path / "data").write_text(data)
    result = run("fit", task, "data", "-o", "m.mm", "--jobs", "1", *options)
    assert result.code == 1, result.err
    return result.err.splitlines()[-1].removeprefix("maxmargin: ")


@pytest.mark.parametrize(
    ("sequence", "structure", "message"),
    [
        ("GCGAAAGGAA", "(......)..", "the bases G and G (0 and 7) do not pair if --canonical; use --no-canonical; or "
         "--impossible drop"),
        ("AGACAAAAAA", ".(.)......", "the pair 1, 3 closes a hairpin of 1 bases, less than --min-hairpin 3; use a "
         "smaller --min-hairpin; or --impossible drop"),
        (f"G{'A' * 40}GAAAACAAC", f"({'.' * 40}(....)..)", "the pair 0, 49 closes a bulge or an interior loop of 42 "
         "bases, more than --max-loop 30; use a greater --max-loop; or --impossible drop"),
    ],
)  # fmt: skip
def test_what_a_message_advises_is_an_option_that_works(run, tmp_path, sequence, structure, message):
    data = FOLDED.format(sequence, structure)
    at = structure.index("(")
    assert failed(run, tmp_path, "folder", data) == f"data: record 2 (b), position {at}: {message}"
    for option in (["--no-canonical"], ["--min-hairpin", "1"], ["--max-loop", "42"], ["--impossible", "drop"]):
        if option[0] in message:
            assert run("fit", "folder", "data", "-o", "m.mm", "--jobs", "1", "-q", *option).code == 0


def test_queries_that_cannot_be_learnt_from(run, tmp_path):
    data = "1 qid:1 1:1\n0 qid:1 1:0\n0 qid:2 1:1\n0 qid:2 1:0\n1 qid:3 1:1\n0 qid:3 1:0.5\n"
    assert failed(run, tmp_path, "ranker", data, "--no-drop-empty") == (
        "query 2 has no relevant document (no label above 0), so it cannot be learnt from; leave its rows out, or set "
        "--drop-empty to leave out all such queries (1 here)"
    )
    assert "--drop-empty leaves them out without this note" in run("fit", "ranker", "data", "-o", "m.mm").err
    assert "warning" not in run("fit", "ranker", "data", "-o", "m.mm", "--drop-empty").err


@pytest.mark.parametrize(
    ("task", "data", "options", "message"),
    [
        ("multiclass", "1 1:1\n2 2:1\n", ["--seed", "-1"], "--seed must be an integer ≥ 0, found -1"),
        ("multiclass", "1 1:1\n2 2:1\n", ["--jobs", "0"],
         "--jobs must be -1 (all cores) or a positive number, found 0"),
        ("multiclass", "1 1:1\n2 2:1\n", ["--bound", "ramp", "--slack", "quadratic"],
         "--bound ramp needs --slack linear, found 'quadratic'"),
        ("multiclass", "1 1:1\n2 2:1\n", ["--bound", "ramp", "--checkpoint", "c"],
         "--bound ramp writes no checkpoints: they are for convex bounds; leave out --checkpoint"),
        ("multiclass", "1 1:1\n2 2:1\n", ["-C", "auto"], "-C must be a number > 0, found 'auto'"),
        ("measure", "1 1:1\n2 2:1\n", ["--threshold", "cv", "--measure", "roc_auc"],
         "--threshold cv needs a measure of predicted labels, but --measure roc_auc does not depend on a threshold; "
         "use --threshold learned"),
        ("measure", "1 1:1\n2 2:1\n3 3:1\n", ["--checkpoint", "c"],
         "one label versus rest is a problem for each label, which has no checkpoint in common; use --average micro, "
         "or leave out --checkpoint"),
        ("multilabel", "".join(f"{k} 1:{k}\n" for k in range(20)), ["--pairs", "all"],
         "--pairs all enumerates all sets of up to 15 labels, found 20 labels; use --pairs tree or none"),
        ("multilabel", "0 1:1\n1 2:1\n", ["--loss", "none"], "--loss must be 'hamming' or 'f1', found 'none'"),
        ("taxonomy", "1 1:1\n2 2:1\n", ["--loss", "x"], "--loss must be 'tree', 'mixed' or 'zero-one', found 'x'"),
        ("folder", FOLDED.format("GGG", "..."), ["--prior", "x"], "--prior must be 'turner' or 'none', found 'x'"),
        ("folder", FOLDED.format("GGG", "..."), ["-C", "inf"], "RNAFolder needs a finite C, found inf"),
        ("grammar", "(S (NN a))\n(S (-NONE- *))\n", [],
         "data: example 2: an empty tree: it has only traces (-NONE-); leave it out"),
        ("motif", ">a label=1\nACGT7\n>b label=0\nACGTA\n", ["--length", "2"],
         "data: record 1 (a), position 4: character '7' is not in the alphabet 'ACGT' (or N, for any of them); leave "
         "such strings out, split them there, or name all characters with --alphabet"),
        ("aligner", ">a\nACG\n>b\nA-7\n", ["--alphabet", "ACGT"],
         "data: example 1, second sequence, position 1: character '7' is not in the alphabet 'ACGT' (or N, for any of "
         "them); leave such strings out, split them there, or name all characters with --alphabet"),
        ("tagger", "a B-X\nb O\n", ["--constraints", "bioes"],
         "example 1, position 1: the transition B-X → O is forbidden by the constraints, so it can never be "
         "predicted; correct the labels (for BIO, with --constraints bio) or remove the constraint"),
    ],
)  # fmt: skip
def test_errors(run, tmp_path, task, data, options, message):
    assert failed(run, tmp_path, task, data, *options) == message


def test_names_of_files_stay(run, tmp_path):
    for name in ("loss", "min_count"):
        assert run("fit", "grammar", name, "-o", "m.mm").err == f"maxmargin: {name}: No such file or directory\n"
        (tmp_path / name).write_text("x")
        assert run("fit", "grammar", name, "-o", "m.mm").err.startswith(f"maxmargin: {name}:1: expected a tree")


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        ("parser", "losses are small; use bound='ramp' with start=, a loss that counts, or a larger C",
         "losses are small; use a loss that counts or a larger C"),
        ("measure", "losses are small; use bound='ramp' with start=, a loss that counts, or a larger C",
         "losses are small; use --bound ramp, a loss that counts, or a larger C"),
        ("parser", "stopped with a gap of 0.1, above tol=0.01; raise max_iter, or accept it by raising tol",
         "stopped with a gap of 0.1, above --tol 0.01; accept it by raising tol"),
        ("parser", "it stopped; raise max_outer", "it stopped"),
        ("parser", "it stopped: use solver='auto'", "it stopped"),
        ("aligner", "worse (0.1): choose another C, or C='auto'; check the data",
         "worse (0.1): choose another C, or -C auto; check the data"),
        ("measure", "use MeasureSVC(measure='f1', average='macro')", "use --measure f1 --average macro"),
        ("motif", "X[2] and Y[0], position 1", "example 3 and example 1, position 1"),
        ("parser", "set projective=False, which is the default", "set --no-projective, which is the default"),
        ("measure", "expected 'recall@precision=0.9', found 'measure=f1'",
         "expected 'recall@precision=0.9', found 'measure=f1'"),
    ],
)  # fmt: skip
def test_words(task, text, expected):
    assert in_options(text, flags(task)) == expected


@pytest.mark.parametrize("task", ["tagger", "multiclass", *(task.name for task in TASKS)])
def test_options_as_they_are_written(run, task):
    """The options that messages name are those of ``--help``."""
    shown = re.sub(r"\s+", " ", run("fit", task, "--help").out)
    known = flags(task)
    assert known["tol"].yes == "--tol" and known["n_jobs"] == known["jobs"]
    for flag in known.values():
        for spelt in filter(None, (flag.yes, flag.no)):
            assert spelt[:14] in shown, spelt
