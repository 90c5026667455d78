"""CRFsuite's format: labels first, then attributes with optional values."""

import gzip

import pytest

import maxmargin as mm
from maxmargin.exceptions import FormatError
from maxmargin.formats import read_crfsuite
from maxmargin.formats.crfsuite import looks_like_crfsuite


@pytest.fixture
def file(tmp_path):
    def make(text):
        path = tmp_path / "data.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def test_labels_attributes_and_sequences(file):
    X, Y = read_crfsuite(file("\nB-NP\tw=the\tpos=DT\nI-NP\tw=dog\n \n\nO\tw=.\n"))
    assert X == [[["w=the", "pos=DT"], ["w=dog"]], [["w=."]]]
    assert Y == [["B-NP", "I-NP"], ["O"]]


def test_values_and_escapes(file):
    X, _ = read_crfsuite(file("A\tw=a\\:b\tlen:2.5\tlen:1\tback\\\\slash\nA\tw=\\:\\:\nA\tx:-1e-3\nA\t\tz\\n\n"))
    assert X == [[{"w=a:b": 1.0, "len": 3.5, "back\\slash": 1.0}, ["w=::"], {"x": -0.001}, ["z\\n"]]]


def test_gzip_and_windows_lines(file):
    assert read_crfsuite(file(gzip.compress(b"A\tx=1\r\n\r\nB\ty=2\r\n"))) == ([[["x=1"]], [["y=2"]]], [["A"], ["B"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line with a label and attributes for each token, found no tokens"),
        ("A\tb=1\n\tb=1\n", "data.txt:2: expected a label and a tab at the beginning"),
        (
            "A\tw=http://x\n",
            r"data.txt:1: expected .*, found 'w=http://x'; write a colon .* as \\:",
        ),
        ("A\tb:nan\n", "data.txt:1: expected a name, or name:number, found 'b:nan'"),
        ("A\tb:inf\n", "data.txt:1: expected a name, or name:number"),
        ("A\t:1\n", "data.txt:1: expected a name, or name:number"),
        ("@weight:2\nA\tb\n", "data.txt:1: declarations such as '@weight:2' are not supported"),
        ("Ana NP B-PER\n", "expected attributes after the labels, separated by tabs, found none"),
    ],
)
def test_what_is_wrong_is_named(file, text, message):
    with pytest.raises(FormatError, match=message):
        read_crfsuite(file(text))


def test_labels_may_be_missing(file):
    assert read_crfsuite(file("\tb=1\n"), labelled=False) == ([[["b=1"]]], [[""]])


def test_a_tagger_learns_from_it(file):
    X, Y = read_crfsuite(file("A\tx\ty:0.5\nB\ty\n\nB\ty\nA\tx\n" * 3))
    model = mm.SequenceTagger(C=1.0).fit(X, Y)
    assert model.predict(X) == Y
    assert model.structure_.tokens_.column_names() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B-NP\tw[0]=the\tpos=DT\nI-NP\tw[0]=dog\tpos=NN\tw[-1]=the\n", True),
        ("A\tx:0.5\ty:2\n\nB\tx:1\n", True),
        ("the\tDT\tB-NP\ndog\tNN\tI-NP\n", False),
        ("the DT B-NP\n", False),
        ("a=b\tx=1\tO\n", False),
        ("1\tzum\tzu\tADP\t_\tCase=Dat|Number=Sing\t0\troot\t_\t_\n", False),
        ("10:30\tCD\tO\n=\tSYM\tO\n", False),
        ("", False),
    ],
)
def test_recognised_by_its_attributes(text, expected):
    assert looks_like_crfsuite(text.split("\n")) is expected
