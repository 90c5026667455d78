"""Bytes and lines: gzip by its magic bytes, UTF-8 or a clear error, standard streams, complete files."""

import gzip
import io
import os
import stat
import sys
import types

import pytest

from maxmargin.exceptions import FormatError
from maxmargin.formats import streams
from maxmargin.formats.streams import check_writable, first_bytes, line_blocks, read_bytes, write_text


def lines(path):
    return [(first + i, line) for first, block in line_blocks(path) for i, line in enumerate(block)]


@pytest.fixture
def give(monkeypatch):
    """Puts bytes on standard input, as a pipe has them or as a test runner does."""

    def put(data, peekable):
        raw = io.BytesIO(data)
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BufferedReader(raw) if peekable else raw))

    return put


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named(tmp_path, mark):
    path = tmp_path / "windows.txt"
    path.write_bytes("\ufeffAna B-PER\n".encode(mark))
    with pytest.raises(FormatError, match=r"windows\.txt: .*found UTF-16; convert it: iconv -f utf-16 -t utf-8"):
        lines(path)
    path.write_bytes(b"a\n" + "\ufeff".encode(mark))  # the mark of UTF-16 only at the start
    with pytest.raises(FormatError, match=r"windows\.txt:2: .*iconv -f latin1"):
        lines(path)


@pytest.mark.parametrize("name", ["plain.txt", "plain.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path, name, packed):
    data = "één\ntwee\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    assert read_bytes(tmp_path / name) == data
    assert lines(tmp_path / name) == [(1, "één"), (2, "twee")]
    assert first_bytes(tmp_path / name, 4) == data[:4]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_blocks(tmp_path, monkeypatch, block):
    """LF and CRLF end lines, other separators of Unicode do not; the mark at the beginning is none of the text."""
    text = "ä b\r\n\r\nnext\x85\u2028still\x0bnext\n\nlast"
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + text.encode())
    monkeypatch.setattr(streams, "_BLOCK", block)
    expected = ["ä b", "", "next\x85\u2028still\x0bnext", "", "last"]
    assert lines(tmp_path / "f") == list(enumerate(expected, 1))


@pytest.mark.parametrize("block", [5, 1000])
def test_bad_bytes_are_told_with_their_line(tmp_path, monkeypatch, block):
    monkeypatch.setattr(streams, "_BLOCK", block)
    (tmp_path / "f").write_bytes(b"one\ntwo\nCoru\xf1a\nfour\n")
    with pytest.raises(FormatError, match=r"f:3: expected UTF-8 text, found the byte 0xf1; .*iconv"):
        lines(tmp_path / "f")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda b: b[:-9], "truncated"),
        (lambda b: b[:20] + b"\0" * 10 + b[30:], "damaged"),
        (lambda b: b[:2], "truncated"),
    ],
)
def test_broken_gzip(tmp_path, damage, sentence):
    packed = gzip.compress(os.urandom(3000).hex().encode())
    (tmp_path / "f.gz").write_bytes(damage(packed))
    with pytest.raises(FormatError, match=f"f.gz: the gzip file is {sentence}"):
        read_bytes(tmp_path / "f.gz")


@pytest.mark.parametrize("peekable", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(give, peekable, packed):
    data = b"one\ntwo\n" * 10
    give(gzip.compress(data) if packed else data, peekable)
    assert first_bytes("-")[:8] == b"one\ntwo\n"
    assert len(lines("-")) == 20, "looking at the beginning takes nothing away"
    give(b"\xff\n", peekable)
    with pytest.raises(FormatError, match="standard input:1: expected UTF-8"):
        lines("-")


def test_files_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    with write_text(path) as file:
        file.write("ñ\n")
    assert path.read_bytes() == "ñ\n".encode()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    with pytest.raises(RuntimeError), write_text(path) as file:
        file.write("half")
        raise RuntimeError
    assert path.read_text() == "ñ\n"
    assert os.listdir(tmp_path) == ["out"]


def test_devices_are_written_to_and_not_replaced():
    before = os.stat(os.devnull)
    with write_text(os.devnull) as file:
        file.write("gone")
    assert os.stat(os.devnull).st_rdev == before.st_rdev


def test_standard_output_is_utf8_whatever_the_locale(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with write_text("-") as file:
        file.write("ñ\n")
    assert raw.getvalue() == "ñ\n".encode()
    assert not sys.stdout.closed
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with write_text("-") as file:
        file.write("ñ\n")
    assert sys.stdout.getvalue() == "ñ\n"


def test_what_cannot_be_written_is_told_before(tmp_path, monkeypatch):
    check_writable(tmp_path / "new")
    with pytest.raises(IsADirectoryError, match="it is a directory"):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the directory .* does not exist"):
        check_writable(tmp_path / "no" / "file")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="permission denied"), write_text(tmp_path / "new"):
        pass
