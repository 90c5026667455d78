"""Runs and judgements of TREC, and names of documents of LETOR."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import FormatError

LETOR = "2 qid:7 1:0.5 2:1 #docid = GX0-1 inc = 1\n0 qid:7 1:0.1 #docid = GX0-2\n1 qid:8 2:1 # inc = 2 docid=GX1-1\n"


def test_a_run(tmp_path):
    scores = [0.1, 2.0, 0.1, 1 / 3, -1e-9]
    mm.formats.write_trec_run(tmp_path / "run", ["b", "a", "b", "a", "b"], ["d1", "d2", "d3", "d4", "d5"], scores)
    assert (tmp_path / "run").read_text().splitlines() == [
        "b Q0 d1 1 0.1 maxmargin",
        "b Q0 d3 2 0.1 maxmargin",
        "b Q0 d5 3 -1e-09 maxmargin",
        "a Q0 d2 1 2.0 maxmargin",
        f"a Q0 d4 2 {1 / 3!r} maxmargin",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["q 1"], ["d"], [1.0]), r"groups\[0\]: expected a name without spaces, found 'q 1'"),
        (([1], ["d 1"], [1.0]), r"documents\[0\]: expected a name without spaces"),
        (([1, 1], ["d", "e"], [1.0, np.nan]), r"scores\[1\]: expected a finite number, found nan"),
        (([1, 1], ["d"], [1.0, 2.0]), r"2 groups, 1 documents and scores of shape \(2,\) differ"),
    ],
)
def test_runs_that_cannot_be_written(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        mm.formats.write_trec_run(tmp_path / "run", *arguments)
    assert not (tmp_path / "run").exists()


def test_judgements(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("301 0 FR-1 1\n301 0 FR-2 -2\n\n302 0 FR-1 0\n301 0 FR-1 1\n")
    assert mm.formats.read_trec_qrels(path) == {"301": {"FR-1": 1, "FR-2": -2}, "302": {"FR-1": 0}}
    for text, message in (
        ("301 0 FR-1 1\n301 0 FR-1 2\n", ":2: document 'FR-1' of query '301' has two judgements, 1 and 2"),
        ("301 FR-1 1\n", ":1: expected QUERY ITERATION DOCUMENT RELEVANCE, found '301 FR-1 1'"),
        ("\n", ": no judgements"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            mm.formats.read_trec_qrels(path)


def test_names_of_documents(tmp_path):
    path = tmp_path / "letor.txt"
    path.write_text(LETOR)
    X, y, qid, names = mm.formats.read_letor(path, documents=True)
    assert names == ["GX0-1", "GX0-2", "GX1-1"]
    assert (X.shape, y.tolist(), qid.tolist()) == ((3, 2), [2, 0, 1], [7, 7, 8])
    assert len(mm.formats.read_letor(path)) == 3
    path.write_text(LETOR + "1 qid:8 1:2 # no name\n")
    with pytest.raises(FormatError, match=":4: expected a comment with docid = NAME, found ' no name'"):
        mm.formats.read_letor(path, documents=True)
