"""FASTA, dot-bracket and CT files: what is read, written and refused."""

from __future__ import annotations

import gzip

import pytest

import maxmargin as mm
from maxmargin.formats import FastaRecord, FoldedSequence, FormatError

FOLDED = [FoldedSequence("a", "GGGAAACCC", "(((...)))", "first one"), FoldedSequence("b", "GCAUAUGC", "((....))")]
KNOT = FoldedSequence("knot", "GGGAAACCCUUU", "(([[.))..]].")


@pytest.fixture
def write(tmp_path):
    def go(text, name="file"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return go


def test_fasta(write, tmp_path):
    path = write(">one the first\nACG\nU ac\n\n>two\r\nGG\r\n")
    records = mm.formats.read_fasta(path)
    assert mm.formats.read_fasta(write(">one\tthe first\nAC\n", "tab")) == [FastaRecord("one", "AC", "the first")]
    assert records == [FastaRecord("one", "ACGUac", "the first"), FastaRecord("two", "GG", "")]
    long = FastaRecord("long", "ACGU" * 50)
    mm.formats.write_fasta(tmp_path / "out", [*records, long, ("x", "AC")])
    assert mm.formats.read_fasta(tmp_path / "out") == [*records, long, FastaRecord("x", "AC")]
    assert max(map(len, (tmp_path / "out").read_text().splitlines())) == 80


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ACG\n>a\nAC\n", ":1: expected a line that begins with '>', found 'ACG'"),
        (">a\n>b\nAC\n", ":1: expected a sequence after '>a', found none"),
        ("\n", ": no sequences: expected lines that begin with '>', found none"),
    ],
)
def test_bad_fasta(write, text, message):
    with pytest.raises(FormatError, match=message):
        mm.formats.read_fasta(write(text))


def test_dot_bracket(write, tmp_path):
    text = ">a first one\nGGGAA\nACCC\n(((..\n.))) (-1.20)\n# comment\n\n>b\nGCAUAUGC\n((....))\n"
    assert mm.formats.read_dot_bracket(write(text)) == FOLDED
    untitled = mm.formats.read_dot_bracket(write("GGGAAACCC\n(((...))) ( -1.2)\nGCAUAUGC\n((....))\n"))
    assert [(r.name, r.sequence, r.structure) for r in untitled] == [("", *r[1:3]) for r in FOLDED]
    mm.formats.write_dot_bracket(tmp_path / "out", [*FOLDED, KNOT, ("", "AAAA", "....")])
    assert mm.formats.read_dot_bracket(tmp_path / "out") == [*FOLDED, KNOT, FoldedSequence("", "AAAA", "....")]
    packed = tmp_path / "out.gz"
    packed.write_bytes(gzip.compress((tmp_path / "out").read_bytes()))
    assert len(mm.formats.read_dot_bracket(packed)) == 4


def test_output_of_folding_programs(write):
    ensemble = "(((...))) (-1.20)\n{({,..}}) [ -1.40]\n(((...))) { -1.20 d=0.3}\n(((...))) {-1.2 MEA=8.1}\n"
    text = f">a first one\nGGGAAACCC\n{ensemble} frequency of mfe structure in ensemble 0.7; ensemble diversity 1.1  \n"
    assert mm.formats.read_dot_bracket(write(text)) == FOLDED[:1]
    untitled = FoldedSequence("", *FOLDED[0][1:3])
    assert mm.formats.read_dot_bracket(write(text.split("\n", 1)[1] * 2)) == [untitled, untitled]
    several = mm.formats.read_dot_bracket(
        write(">a [0.6]\nGGGAAACCC  -120 100\n(((...))) -1.20\n......... 0.00\n>b\nA\n.\n")
    )
    assert [tuple(r[:3]) for r in several] == [
        ("a", "GGGAAACCC", "(((...)))"), ("a", "GGGAAACCC", "........."), ("b", "A", "."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nGGGAAACCC\n", ":1: expected a sequence and its structure, found no structure"),
        (">a\n(((...)))\n", ":1: expected a sequence and its structure, found no sequence"),
        (">a\nGGGAAACCC\n((...))\n", ":1: a sequence of 9 bases with a structure of 7 positions"),
        ("GGGAAACCC\n(((...)..\n", ":1: structure, position 0: unbalanced brackets"),
        ("# nothing\n", ": no structures: expected sequences with dot-bracket lines, found none"),
    ],
)
def test_bad_dot_bracket(write, text, message):
    with pytest.raises(FormatError, match=message):
        mm.formats.read_dot_bracket(write(text))


def test_ct(write, tmp_path):
    rows = "1 G 0 2 5 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 A 3 5 0 4\n5 C 4 0 1 5\n"
    text = f"# made by hand\n  5  dG = -1.5  tiny one two\n{rows}"
    assert mm.formats.read_ct(write(text)) == [FoldedSequence("tiny", "GAAAC", "(...)", "one two")]
    for title in (
        "5 tiny one two", "5\tdG = -1.5\ttiny one two", "5 ENERGY=-1.5 tiny one two", "5 dG=.5 tiny one two",
        "5 ENERGY = -1.5 [initially -1.8] tiny one two", "5 ENERGY = tiny one two",
        "Filename: x.ct\nOrganism: Homo sapiens\nAccession Number: X1\n;note\n5 tiny one two",
    ):  # fmt: skip
        assert mm.formats.read_ct(write(f"{title}\n{rows}"))[0] == ("tiny", "GAAAC", "(...)", "one two"), title
    assert [r.name for r in mm.formats.read_ct(write(f"5 dG = -1.5\n{rows}\n5 energetic\n{rows}"))] == ["", "energetic"]
    mm.formats.write_ct(tmp_path / "out", [*FOLDED, KNOT])
    assert mm.formats.read_ct(tmp_path / "out") == [*FOLDED, KNOT]
    with pytest.raises(ValueError, match="record 0: 2 bases with a structure of 3 positions"):
        mm.formats.write_ct(tmp_path / "out", [("a", "AC", "...")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("five bases\n", ":1: expected LENGTH TITLE, found 'five bases'"),
        ("2 a\n1 G 0 2 0 1\n", r":2: expected the number, the letter, .* \(2 of 2\), found 'the end of the file'"),
        ("1 a\n1 G 0 2\n", r":2: expected the number, the letter, two neighbours and the partner"),
        ("2 a\n1 G 0 2 0 1\n3 G 0 2 0 1\n", ":3: expected base 2 with a partner up to 2"),
        ("2 a\n1 G 0 2 9 1\n2 G 0 2 0 1\n", ":2: expected base 1 with a partner up to 2"),
        ("2 a\n1 G 0 2 2 1\n2 C 1 0 0 2\n", "'a': the partner of base 1 is 2, but that of base 2 is 0"),
        ("2 a\n1 G 0 2 1 1\n2 C 1 0 0 2\n", "'a': the partner of base 1 is itself"),
        ("\n", ": no structures: expected a line LENGTH TITLE, found none"),
    ],
)
def test_bad_ct(write, text, message):
    with pytest.raises(FormatError, match=message):
        mm.formats.read_ct(write(text))
