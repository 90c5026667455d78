"""Data sets are fetched once, checked, and read as from MAXMARGIN_DATA; a server on this machine stands for theirs."""

import gzip
import io
import os
import threading
import zipfile
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.datasets import fetch

pooch = pytest.importorskip("pooch")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder whose files are to be had over HTTP, an empty cache, and no MAXMARGIN_DATA."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    for name, file in (("conll2002_esp", "conll2002.zip"), ("ocr_letters", "letter.data.gz")):
        url = f"http://127.0.0.1:{server.server_port}/{file}"
        monkeypatch.setitem(fetch.SOURCES, name, (url, fetch.SOURCES[name][1]))
    yield folder
    server.shutdown()
    server.server_close()


def letters_as_published(arrays):
    """Lines of letter.data.gz."""
    pixels, out = np.unpackbits(arrays["pixels"], axis=1), io.StringIO()
    for word, (p, q) in enumerate(zip(arrays["offsets"][:-1], arrays["offsets"][1:], strict=True)):
        for at in range(p, q):
            following = at + 2 if at + 1 < q else -1
            letter = chr(ord("a") + arrays["labels"][at])
            fields = [at + 1, letter, following, word + 1, at - p + 1, arrays["folds"][word], *pixels[at]]
            out.write("\t".join(map(str, fields)) + "\t\n")
    return gzip.compress(out.getvalue().encode())


def some_letters():
    rng = np.random.default_rng(0)
    return {
        "pixels": rng.integers(256, size=(5, 16)).astype(np.uint8),
        "labels": np.array([0, 1, 25, 2, 2], np.uint8),
        "offsets": np.array([0, 3, 5], np.int32),
        "folds": np.array([0, 9], np.uint8),
    }


def archive_of(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(f"conll2002/{name}", text)
    return file.getvalue()


def test_letters_are_fetched_once(served, monkeypatch):
    arrays = some_letters()
    monkeypatch.setattr(fetch, "OCR_WORDS", fetch.fingerprint_of_words(arrays))
    (served / "letter.data.gz").write_bytes(letters_as_published(arrays))
    X, Y = mm.datasets.load_ocr_letters()
    assert ["".join(y) for y in Y] == ["abz", "cc"]
    np.testing.assert_array_equal(np.concatenate(X), np.unpackbits(arrays["pixels"], axis=1))
    (served / "letter.data.gz").unlink()
    assert ["".join(y) for y in mm.datasets.load_ocr_letters({9})[1]] == ["cc"]


def test_words_in_another_order_are_the_same_words():
    arrays = some_letters()
    order = [3, 4, 0, 1, 2]
    other = {
        "pixels": arrays["pixels"][order], "labels": arrays["labels"][order],
        "offsets": np.array([0, 2, 5]), "folds": arrays["folds"][::-1],
    }  # fmt: skip
    assert fetch.fingerprint_of_words(other) == fetch.fingerprint_of_words(arrays)
    other["folds"] = arrays["folds"]
    assert fetch.fingerprint_of_words(other) != fetch.fingerprint_of_words(arrays)


def test_other_data_are_refused_and_nothing_is_kept(served, tmp_path):
    (served / "letter.data.gz").write_bytes(letters_as_published(some_letters()))
    with pytest.raises(ValueError, match="OCR letters: not the data that the benchmarks used"):
        mm.datasets.load_ocr_letters()
    assert list((tmp_path / "cache" / "maxmargin").iterdir()) == []
    (served / "conll2002.zip").write_bytes(archive_of(dict.fromkeys(fetch.CONLL2002_PARTS, "a b O\n")))
    with pytest.raises(ValueError, match=r"esp\.train: not the data"):
        mm.datasets.load_conll2002()


def test_a_source_that_is_gone(served):
    with pytest.raises(OSError, match=r"letter\.data\.gz cannot be fetched .* set MAXMARGIN_DATA"):
        mm.datasets.load_ocr_letters()


def test_the_first_sentences():
    text = b"\na 1\nb 2\n\n\n\nc 3\n\nd 4\n"
    assert fetch.first_sentences(text, 2) == b"a 1\nb 2\n\nc 3\n\n"


REAL = Path(os.environ.get("MAXMARGIN_DATA", ""))


@pytest.mark.slow
@pytest.mark.skipif(not (REAL / "ocr_letters").is_dir(), reason="no ocr_letters in MAXMARGIN_DATA")
def test_the_letters_the_benchmarks_read(served):
    with np.load(REAL / "ocr_letters" / "letters.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in ("pixels", "labels", "offsets", "folds")}
    (served / "letter.data.gz").write_bytes(letters_as_published(arrays))
    folder = fetch.fetched("ocr_letters", fetch.cache_folder())
    with np.load(folder / "letters.npz", allow_pickle=False) as file:
        for name, expected in arrays.items():
            np.testing.assert_array_equal(file[name], expected)


@pytest.mark.skipif(not (REAL / "conll2002_esp").is_dir(), reason="no conll2002_esp in MAXMARGIN_DATA")
def test_the_sentences_the_benchmarks_read(served):
    real = REAL / "conll2002_esp"
    texts = {part: gzip.decompress((real / f"{part}.gz").read_bytes()) for part in fetch.CONLL2002_PARTS}
    (served / "conll2002.zip").write_bytes(archive_of(texts))
    folder = fetch.fetched("conll2002_esp", fetch.cache_folder())
    for file in sorted(folder.iterdir()):
        assert gzip.decompress(file.read_bytes()) == gzip.decompress((real / file.name).read_bytes())
    assert len(list(folder.iterdir())) == 4
