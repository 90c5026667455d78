"""Pieces of large files: they begin with records, contain those of the whole file in order, and name its lines."""

import gzip
import io
import re

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.formats import pieces as module
from maxmargin.formats.pieces import checked_size, pieces
from maxmargin.formats.streams import Piece

COLUMNS = (
    "\ufeff# a comment\n\n-DOCSTART- O\n\n# text = Ana sings\nAna PER\nsings O\n\n\n \t\nTom PER\r\n\r\n"
    "# two more\n# three of\n# lines O\nOslo LOC\n\n-DOCSTART- O\nhe O\n# O\n# O\n\n"
    "\ufeffRio LOC\n\nit O\n\n# the end\n\n\n"
)
CONLLU = "".join(
    f"# sent_id = {k}\n\n"[: 13 + 2 * (k % 2)]
    + f"1\tw{k}\t_\tX\t_\t_\t0\troot\t_\t_\n1.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    for k in range(9)
)
ROWS = "# no row\n1 1:0.5 3:2 # 1\n\n   \n# 2 1:3\n2 2:1\r\n-1 1:7\n#\n3 1:1\n"
TREES = "(S\n (NP (N ana))\n(VP (V sings)))\n\n(S (NP (N tom))\n(VP (V met)\n(NP (N ana))))(S (N a))\n ( (S (N b)) )\n"
PAIRS = ";c\n>1\nAC-\nGT\n>2\nACC\n\nGT\n >3\nTTAG\n>4 > not a record\nT-AG\n;>5\n>5\nA\n>6\nA\n>7\nG\n>8\nG\n"
TEXTS = {"conll": COLUMNS, "conllu": CONLLU, "svmlight": ROWS, "trees": TREES, "fasta": PAIRS}


def written(folder, text, name="whole.txt"):
    path = folder / name
    path.write_bytes(text.encode())
    return str(path)


def flat(values):
    return [x.tolist() if isinstance(x, np.ndarray) else x for x in values]


def read(files):
    X, Y = files.read()
    if hasattr(X, "toarray"):
        X = [np.trim_zeros(row, "b") for row in X.toarray()]
    return flat(X), None if Y is None else flat(Y)


@pytest.mark.parametrize("format", TEXTS)
def test_pieces_have_the_records_of_the_whole_file_in_order(format, tmp_path):
    if format == "conllu":
        pytest.importorskip("conllu")
    path, counts = written(tmp_path, TEXTS[format]), set()
    whole = read(mm.Files(path, format=format))
    for size in range(1, len(TEXTS[format].encode()) + 2):
        files = mm.Files(path, format=format, split=size)
        found = [read(part) for part in files.parts()]
        counts.add(len(found))
        assert [x for X, _ in found for x in X] == whole[0]
        assert whole[1] is None or [y for _, Y in found for y in Y] == whole[1]
        assert all(len(X) for X, _ in found)
        assert sum(part.size for part in files.parts()) == len(TEXTS[format].encode())
    assert len(counts) > 2 and max(counts) > len(whole[0]) // 2


@pytest.mark.parametrize("format", ["conll", "trees", "svmlight", "fasta"])
def test_only_the_neighbourhood_of_targets_is_read(format, monkeypatch):
    """A file of 3 MB in pieces of 1 MB: a few lines are read, or the bytes in which a tree is sure to end."""
    monkeypatch.setattr(module, "TREES", 1000)
    record = {"conll": "Ana PER\nsings O\n\n", "trees": "(S (N a))\n", "svmlight": "1 1:2\n", "fasta": ">1\nA\n"}[
        format
    ]
    text = record.encode() * (3_000_000 // len(record))

    class Counted(io.BytesIO):
        taken = 0

        def readline(self, *size):
            line = super().readline(*size)
            Counted.taken += len(line)
            return line

        def __next__(self):
            Counted.taken += len(line := super().__next__())
            return line

        def read(self, *size):
            Counted.taken += len(data := super().read(*size))
            return data

    starts = list(module._starts(Counted(text), module._NEXT[format], 1_000_000))
    assert len(starts) in (2, 3) and Counted.taken < 10_000
    assert all(text[start - len(record) : start + len(record)].count(record.strip().encode()) for start in starts)


def test_what_stays_whole(tmp_path):
    packed = tmp_path / "a.conll.gz"
    packed.write_bytes(gzip.compress(COLUMNS.encode()))
    assert len(mm.Files(packed, format="conll", split=10).parts()) == 1
    plus = written(tmp_path, "# global.columns = ID FORM\n1\ta\n\n1\tb\n\n", "plus.conllu")
    assert len(mm.Files(plus, format="conllu", split=10).parts()) == 1
    trees = written(tmp_path, TREES, "a.mrg")
    assert len(mm.Files(trees, format="trees", split=1).parts()) == 4
    assert len(mm.Files(trees, format="trees", split=1, clean=True).parts()) == 1
    assert len(mm.Files(trees, format="trees", split=None).parts()) == 1
    assert len(mm.Files(trees, format="trees").parts()) == 1
    assert pieces(written(tmp_path, "Ana PER\n" * 20, "one.conll"), "conll", 10) == [str(tmp_path / "one.conll")]


@pytest.mark.parametrize(("size", "expected"), [("64MB", 64_000_000), ("5 kB", 5000), ("2GB", 2 * 10**9), (7, 7)])
def test_sizes(size, expected):
    assert checked_size(size) == expected


@pytest.mark.parametrize("size", ["64", "MB", "1.5GB", "0MB", "9TB"])
def test_invalid_sizes(size, tmp_path):
    with pytest.raises(ValueError, match="split must be a number of bytes, a text such as '64MB', or None, found"):
        mm.Files(written(tmp_path, ROWS), format="svmlight", split=size)


@pytest.mark.parametrize("size", [0, 2.5, True])
def test_sizes_that_are_no_whole_numbers(size, tmp_path):
    with pytest.raises(ValueError, match="split must be an integer ≥ 1"):
        mm.Files(written(tmp_path, ROWS), format="svmlight", split=size)


ERRORS = {
    "columns": ("conll", "Ana PER\n\n" * 9 + "Tom\n\n" + "he O\n\n" * 9, ":19: expected 2 columns as on line 1,"),
    "no label": ("conll", "\n\nAna\tPER\n" * 9 + "\nTom\t\n\n" + "he\tO\n\n" * 9, ":29: expected a label in column 1"),
    "text": ("conll", "Ana PER\n\n" * 9 + "T\udcff O\n\n" + "he O\n\n" * 9, ":19: expected UTF-8 text"),
    "rows": ("svmlight", "1 1:1\n" * 9 + "1 1\n" + "2 1:1\n" * 9, ":10: expected FEATURE:VALUE"),
    "trees": ("trees", "(S (N a))\n" * 9 + "(S)\n" + "(S (N b))\n" * 9, ":10: an empty tree"),
    "lengths": ("fasta", ">1\nA\n" * 9 + ">2\nAC\n" + ">1\nA\n" * 8, ":17: this record and the next one have"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("size", [1, 30, 80])
def test_errors_name_the_line_of_the_file(case, size, tmp_path):
    format, text, message = ERRORS[case]
    path = tmp_path / "whole.txt"
    path.write_bytes(text.encode(errors="surrogateescape"))
    expected = None
    for split in (None, size):
        with pytest.raises(mm.exceptions.FormatError, match=f"whole.txt{message}") as error:
            for part in mm.Files(path, format=format, split=split).parts():
                part.read()
        assert expected in (None, str(error.value))
        expected = str(error.value)


def test_places_of_examples_are_lines_of_the_file(tmp_path):
    path = written(tmp_path, COLUMNS)
    whole = mm.Files(path, format="conll")
    X, _ = whole.read()
    parts = mm.Files(path, format="conll", split=1).parts()
    found = [part.place(i) for part in parts for i in range(len(part.read()[0]))]
    assert found == [whole.place(i) for i in range(len(X))]
    assert found[0].endswith(":6")


def test_pairs_need_an_even_number_of_records(tmp_path):
    path = written(tmp_path, PAIRS + ">9\nA\n")
    for size in (1, 40):
        with pytest.raises(mm.exceptions.FormatError, match=re.escape(f"{path}: expected pairs of records, found 9")):
            mm.Files(path, format="fasta", split=size).parts()


def test_groups_of_rows(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'maxmargin[parquet]'")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'maxmargin[parquet]'")
    table = pandas.DataFrame(np.arange(60.0).reshape(20, 3), columns=["a", "b", "c"])
    table["kind"] = np.where(np.arange(20) % 3, "yes", "no")
    for index in (None, np.arange(20)[::-1]):
        (table if index is None else table.set_index(index)).to_parquet(tmp_path / "t.parquet", row_group_size=3)
        for columns in (None, ["c", "a"]):
            options = {"format": "parquet", "target": "kind", "columns": columns}
            parts = mm.Files(tmp_path / "t.parquet", **options, split=1).parts()
            X, Y = mm.Files(tmp_path / "t.parquet", **options).read()
            found = [part.read() for part in parts]
            assert [len(labels) for _, labels in found] == [3] * 6 + [2]
            assert np.array_equal(np.concatenate([rows.toarray() for rows, _ in found]), X.toarray())
            assert np.concatenate([labels for _, labels in found]).tolist() == Y.tolist()
    assert len(mm.Files(tmp_path / "t.parquet", format="parquet", target="kind").parts()) == 1


def test_a_piece_is_not_longer_than_it_says(tmp_path):
    path = written(tmp_path, "Ana PER\n\nTom PER\n\nhe O\n")
    reader = mm.formats.ColumnReader(Piece(path, 9, 18))
    assert [sentence.tokens for sentence in reader] == [[("Tom", "PER")], []] and reader.first_line == 1
