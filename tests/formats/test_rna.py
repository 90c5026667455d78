"""FASTA, dot-bracket, CT, bpseq and Stockholm files: what is read, written and refused."""

from __future__ import annotations

import gzip

import pytest

import maxmargin as mm
from maxmargin.exceptions import FormatError
from maxmargin.formats import FastaRecord, FoldedSequence

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


def test_bpseq(write, tmp_path):
    text = "# comment\nFilename: x\n>a first one\n" + "".join(
        f"{i} {base} {j}\n" for i, (base, j) in enumerate(zip("GGGAAACCC", (9, 8, 7, 0, 0, 0, 3, 2, 1), strict=True), 1)
    )
    assert mm.formats.read_bpseq(write(text)) == FOLDED[:1]
    mm.formats.write_bpseq(tmp_path / "out", [*FOLDED, KNOT, ("", "AAAA", "....")])
    assert mm.formats.read_bpseq(tmp_path / "out") == [*FOLDED, KNOT, FoldedSequence("", "AAAA", "....")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 G\n", ":1: expected NUMBER BASE PARTNER, found '1 G'"),
        ("1 G 0\n3 G 0\n", ":2: expected base 2, found '3 G 0'"),
        ("2 G 0\n", ":1: expected base 1, found '2 G 0'"),
        ("1 G 2\n2 G 0\n", ":1: the partner of base 1 is 2, which is not paired with base 1"),
        ("1 G 5\n2 G 0\n", ":1: the partner of base 1 is 5"),
        ("# nothing\n", ": no structures: expected lines NUMBER BASE PARTNER, found none"),
    ],
)
def test_bad_bpseq(write, text, message):
    with pytest.raises(FormatError, match=message):
        mm.formats.read_bpseq(write(text))


STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID  5S
#=GF AC  RF00001
one      GGG-AAA
two      AGAAAAA
#=GC SS_cons <<<.AA.
#=GC RF      xxxxxxx

one      CCCuu
two      UUCaa
#=GC SS_cons >>>aa
//
# STOCKHOLM 1.0
#=GF ID  other
three    GCAAAGC
#=GC SS_cons ((...))
//
"""


def test_stockholm(write):
    """Pairs of the consensus with a gap or of other bases are left out; interleaved rows; several families."""
    assert mm.formats.read_stockholm(write(STOCKHOLM)) == [
        FoldedSequence("one", "GGGAAACCCuu", "(((AA.)))aa".replace("AA", "[[").replace("aa", "]]"), "RF00001"),
        FoldedSequence("two", "AGAAAAAUUCaa", ".((....))...", "RF00001"),
        FoldedSequence("three", "GCAAAGC", "((...))", "other"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one GGG\n", ":1: expected '# STOCKHOLM 1.0', found 'one GGG'"),
        ("# STOCKHOLM 1.0\none GGG\n", ":1: expected '//' at the end of the alignment, found none"),
        ("# STOCKHOLM 1.0\none GGG\n//\n", ":1: expected a consensus structure, #=GC SS_cons, found none"),
        ("# STOCKHOLM 1.0\none GGG\n#=GC SS_cons ..\n//\n", ":1: 'one': a row of 3 columns, but the consensus"),
        ("# STOCKHOLM 1.0\none GGG\n#=GC SS_cons ..>\n//\n", ":1: SS_cons, position 2: unbalanced brackets"),
        ("# STOCKHOLM 1.0\none\n//\n", ":2: expected the name and the row of a sequence, found 'one'"),
        ("# STOCKHOLM 1.0\n//\n", ": no sequences"),
    ],
)
def test_bad_stockholm(write, text, message):
    with pytest.raises(FormatError, match=message):
        mm.formats.read_stockholm(write(text))


def test_structures_by_the_suffix_of_the_file(write, tmp_path):
    assert len(mm.formats.read_structures(write(STOCKHOLM, "x.stk"))) == 3
    for name, save in (("x.bpseq", mm.formats.write_bpseq), ("x.CT", mm.formats.write_ct), ("x.txt", None)):
        (save or mm.formats.write_dot_bracket)(tmp_path / name, FOLDED)
        assert mm.formats.read_structures(tmp_path / name) == FOLDED
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        assert mm.formats.read_structures(packed) == FOLDED
