"""maxmargin report: one page of HTML about a model and what it does to a test file."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.cli._report_test import _by_size, _confusions, _constituents, _distance
from tests.cli.test_rows import letor, rows


class Page(HTMLParser):
    """Headings, cells by table, marked cells and addresses of a page; every element that is opened is closed."""

    VOID = ("meta", "br", "path", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.tables, self.marked, self.addresses = [], [], [], [], []
        self.texts = []
        self.feed(text)
        assert self.open == [], "unclosed elements"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "td" and (given.get("class") or "").startswith("wrong"):
            self.marked.append("")
        if tag not in self.VOID:
            self.open.append((tag, given.get("class")))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, kind = self.open[-1] if self.open else ("", None)
        if tag == "h2":
            self.headings.append(data)
        if tag in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if tag == "td" and (kind or "").startswith("wrong"):
            self.marked[-1] += data
        self.texts.append(data)

    def table(self, first):
        return next(table for table in self.tables if table and table[0][:1] == [first])


WITHOUT_TEST = ["Model", "Certificate", "Data", "Weights that matter"]
WITH_TEST = [*WITHOUT_TEST, "Errors", "Examples that went wrong"]


def page_of(run, *arguments):
    result = run("report", *arguments, "-o", "page.html")
    assert result.code == 0, result.err
    assert "wrote page.html" in result.err
    text = Path("page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert all(address.startswith("#") for address in page.addresses), "the page needs nothing else"
    assert "url(" not in text and "<script" not in text and "@import" not in text
    return page, text


def test_a_tagger(run, models):
    page, text = page_of(run, "tagger.mm", "--test", "test.conll", "--examples", "3")
    assert page.headings == WITH_TEST
    model = mm.load("tagger.mm")
    X, Y = model.read("test.conll")
    found = model.predict(X)
    assert ["objective", f"{model.certificate_.primal:.6g}"] in page.table("objective")
    assert text.count("<svg") == 2
    accuracy = np.mean([a == b for y, z in zip(Y, found, strict=True) for a, b in zip(y, z, strict=True)])
    assert ["accuracy", f"{accuracy:.4f}"] in page.table("score")
    confusions = page.table("true \\ predicted")
    labels = confusions[0][1:]
    counted = {(row[0], name): int(n) for row in confusions[1:] for name, n in zip(labels, row[1:], strict=True)}
    for (true, other), n in counted.items():
        expected = sum(
            (a, b) == (true, other) for y, z in zip(Y, found, strict=True) for a, b in zip(y, z, strict=True)
        )
        assert n == expected
    wrong = [i for i, (y, z) in enumerate(zip(Y, found, strict=True)) if y != z]
    if wrong:
        assert f"{len(wrong)} of 20 examples have an error" in text
        assert page.marked
    else:
        assert "None." in page.texts


def test_a_model_with_errors_shows_the_worst_first_with_explanations(run, files):
    lines = (files / "train.conll").read_text().splitlines()
    rng = np.random.default_rng(0)
    noisy = [line if not line or rng.random() < 0.7 else line.rpartition(" ")[0] + " O" for line in lines]
    (files / "noisy.conll").write_text("\n".join(noisy) + "\n")
    assert run("fit", "tagger", "noisy.conll", "-o", "m.mm", "-q", "--constraints", "none", "-C", "0.01").code == 0
    page, text = page_of(run, "m.mm", "--test", "test.conll", "--examples", "4")
    losses = [float(loss) for loss in re.findall(r"<h3>example \d+: loss ([\d.]+)</h3>", text)]
    assert 1 <= len(losses) <= 4 and losses == sorted(losses, reverse=True) and losses[-1] > 0
    assert text.count("Why the model prefers its prediction") == len(losses)
    assert "beats" in text and page.marked


def test_without_a_test_file_and_without_weights(run, models):
    page, _ = page_of(run, "rows.mm", "--top", "0")
    assert page.headings == WITHOUT_TEST


def test_rows(run, models):
    page, text = page_of(run, "rows.mm", "--test", "test.svm")
    assert page.headings == WITH_TEST
    assert page.table("true \\ predicted")[0] == ["true \\ predicted", "1", "2", "3"]
    assert "x0 is the first feature" in text


def test_sequences_of_numbered_features(run, models):
    page, _ = page_of(run, "sequences.mm", "--test", "test.hmm")
    assert page.headings == WITH_TEST


SENTENCES = """1\tshe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\treads\t_\tVERB\t_\t_\t0\troot\t_\t_

1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tdog\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\truns\t_\tVERB\t_\t_\t0\troot\t_\t_

"""
TREES = "(S (NP (DT the) (NN dog)) (VP (VBZ runs)))\n(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN cat))))\n"
FOLDED = ">a\nGGGAAAACCC\n(((....)))\n>b\nGCGAAAGCAA\n((....))..\n"
PAIRS = ">a\nACGGT\n>b\nAC-GT\n>c\nTTGCA\n>d\n-TGCA\n"
MOTIFS = "".join(f">s{i} label={i % 2}\n{'ACGTTTGAAC' if i % 2 else 'ACGACCACGT'}\n" for i in range(12))
#: Arguments of fit after the command, training data, and test data with an error for any model.
TASKS = {
    "parser": ([], SENTENCES, SENTENCES.replace("2\tdet", "3\tdet")),
    "grammar": (["--loss", "f1", "--no-span-features"], TREES, TREES.replace("(VP (VBZ runs))", "(X (VBZ runs))")),
    "measure": ([], rows(40, 0, 2), rows(20, 1, 2)),
    "ranker": ([], letor(6, 0), letor(3, 1)),
    "multilabel": ([], "0,1 1:1 2:1\n0 1:1\n1 2:1\n", "1 1:1 2:1\n0 1:1\n"),
    "folder": (["--prior", "none"], FOLDED, FOLDED.replace("(((....)))", "((......))")),
    "aligner": (
        ["--alphabet", "ACGT", "--features", "simple", "--prior", "none"],
        PAIRS,
        PAIRS.replace("AC-GT", "ACG-T"),
    ),
    "motif": (["--length", "4", "--n-restarts", "1"], MOTIFS, MOTIFS.replace("label=1", "label=0", 1)),
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task(run, tmp_path, task):
    options, train, test = TASKS[task]
    (tmp_path / "train").write_text(train)
    (tmp_path / "test").write_text(test)
    fitted = run("fit", task, "train", "-o", "m.mm", "-q", *options)
    assert fitted.code == 0, fitted.err
    page, text = page_of(run, "m.mm", "--test", "test")
    assert page.headings == WITH_TEST
    scores = dict(page.table("score")[1:])
    evaluated = dict(line.split(" ", 1) for line in run("evaluate", "m.mm", "test").out.splitlines())
    assert scores == evaluated
    assert "examples have an error" in text or task in ("measure", "ranker")


def test_taxonomy(run, tmp_path):
    (tmp_path / "h").write_text("1 animal\n2 animal\n3 life\nanimal life\n")
    (tmp_path / "train").write_text("1 1:1\n2 2:1\n3 3:1\n")
    (tmp_path / "test").write_text("1 1:1\n1 2:1\n3 3:1\n")
    assert run("fit", "taxonomy", "train", "-o", "m.mm", "-q", "--hierarchy", "h").code == 0
    page, text = page_of(run, "m.mm", "--test", "test")
    assert "1 of 3 examples have an error" in text
    assert page.marked == ["1", "2"]


def test_bad_arguments(run, models):
    assert run("report", "tagger.mm", "-o", "-").code == 2
    assert run("report", "tagger.mm").code == 2
    missing = run("report", "tagger.mm", "--test", "nothing.conll", "-o", "page.html")
    assert missing.code == 1 and "nothing.conll" in missing.err
    assert run("report", "tagger.mm", "-o", "no/such/folder/page.html").code == 1


def test_many_labels_are_listed():
    pairs = [(str(k), str(k)) for k in range(30)] + [("3", "4")] * 5 + [("7", "8")] * 2
    often, missed = _confusions(pairs)
    assert often.rows == [["3", "4", 5], ["7", "8", 2]]
    assert missed.rows == [["3", 5 / 6, 6], ["7", 2 / 3, 3]]


def test_errors_by_size():
    sizes, losses = np.array([1, 1, 2, 2, 5, 5, 9, 9]), np.array([0, 0, 0, 0.5, 0, 1, 1, 1.0])
    (table,) = _by_size(sizes, losses)
    assert sum(row[1] for row in table.rows) == 8
    assert table.rows[-1][0].endswith("to 9") and table.rows[-1][2] > table.rows[0][2]
    assert list(_by_size(np.ones(3), np.ones(3))) == []


def test_constituents():
    assert dict(_constituents("(S (NP DT NN) (VP VBZ))")) == {("S", 0, 3): 1, ("NP", 0, 2): 1, ("VP", 2, 3): 1}
    assert [_distance(3, head) for head in (0, 2, 5, 6, 30)] == [
        "0 root", "1 word", "2 words", "3 to 6 words", "7 words and more",
    ]  # fmt: skip
