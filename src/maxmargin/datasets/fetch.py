"""Public data sets, fetched once from their publishers into the user's cache.

The fetched data are compared with fingerprints of the data that the benchmarks used.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._base.extras import missing_package

CONLL2002 = (
    "https://raw.githubusercontent.com/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora/"
    "conll2002.zip"
)
OCR_LETTERS = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"

#: SHA-256 of the parts of CoNLL-2002, and of the words of the OCR letters in any order.
CONLL2002_PARTS = {
    "esp.train": "a20d95cab7d88a19a86f8c1ad6329325c99fbd9529ed978cbd7e31d4b01b4008",
    "esp.testa": "85c17793b77881c53d19017d9d0f1e6fb98b7ddcab54a5f24b05ed1793103c87",
    "esp.testb": "1f8f7a392c6d4979a5592a5794eed43d7869b46da6851bbcde99714149f1d016",
}
OCR_WORDS = "68f73f0d8f980677114d5eb37d175cde1901e5504509b8b5bf5fa024a95e360d"

#: Number of sentences in the small file that is taken from esp.train.
FIRST_SENTENCES = 300
PIXELS = 128


def fetched(name: str, root: Path) -> Path:
    """Return the folder of a data set below `root`, fetched if it is absent; raise KeyError if it is not public."""
    url, unpack = SOURCES[name]
    folder = root / name
    if folder.is_dir():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}.") as aside:
        made = Path(aside) / name
        made.mkdir()
        unpack(_downloaded(url, Path(aside)), made)
        try:
            os.replace(made, folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
    return folder


def cache_folder() -> Path:
    """Return the folder of this user's data sets."""
    return Path(_pooch().os_cache("maxmargin"))


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise missing_package("data sets are fetched by", "pooch", "data") from None
    return pooch


def _downloaded(url: str, folder: Path) -> Path:
    try:
        return Path(_pooch().retrieve(url, known_hash=None, path=folder))
    except OSError as error:
        raise OSError(f"{url} cannot be fetched ({error}); fetch it elsewhere, or set MAXMARGIN_DATA") from error


def _check_fingerprint(fingerprint: str, expected: str, what: str) -> None:
    if fingerprint != expected:
        raise ValueError(f"{what}: not the data that the benchmarks used, expected {expected}, found {fingerprint}")


# ---------------------------------------------------------------------- CoNLL-2002


def unpack_conll2002(archive: Path, folder: Path) -> None:
    """Write the Spanish parts, and the first sentences of the training part."""
    with zipfile.ZipFile(archive) as parts:
        for part, expected in CONLL2002_PARTS.items():
            text = parts.read(f"conll2002/{part}")
            _check_fingerprint(hashlib.sha256(text).hexdigest(), expected, part)
            _write_gzip(folder / f"{part}.gz", text)
            if part == "esp.train":
                _write_gzip(folder / f"{part}.first{FIRST_SENTENCES}.gz", first_sentences(text, FIRST_SENTENCES))


def first_sentences(text: bytes, n: int) -> bytes:
    """Return the first n sentences that are not empty, a blank line after each."""
    sentences = [block for block in text.replace(b"\r\n", b"\n").split(b"\n\n") if block.strip()]
    return b"".join(block.strip(b"\n") + b"\n\n" for block in sentences[:n])


def _write_gzip(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text, mtime=0))


# ---------------------------------------------------------------------- OCR letters


def unpack_ocr_letters(archive: Path, folder: Path) -> None:
    """Write the letters as packed arrays."""
    with gzip.open(archive, "rt", encoding="ascii") as lines:
        arrays = letter_arrays(line.split("\t") for line in lines)
    _check_fingerprint(fingerprint_of_words(arrays), OCR_WORDS, "OCR letters")
    np.savez_compressed(folder / "letters.npz", **arrays)


def letter_arrays(rows: Any) -> dict[str, Any]:
    """Return the arrays of pixels, labels, folds and ends of words.

    Rows are (id, letter, next id or −1, word, place, fold, pixels …).
    """
    pixels, labels, ends, folds = [], bytearray(), [0], bytearray()
    for _, letter, following, _, _, fold, *values in rows:
        pixels.append(np.array(values[:PIXELS], np.uint8))
        labels.append(ord(letter) - ord("a"))
        if following == "-1":
            ends.append(len(labels))
            folds.append(int(fold))
    return {
        "pixels": np.packbits(np.array(pixels), axis=1),
        "labels": np.frombuffer(bytes(labels), np.uint8),
        "offsets": np.array(ends, np.int32),
        "folds": np.frombuffer(bytes(folds), np.uint8),
    }


def fingerprint_of_words(arrays: dict[str, Any]) -> str:
    """Return the SHA-256 of all words, in an order that does not depend on the file."""
    words = [
        hashlib.sha256(bytes([fold]) + arrays["labels"][p:q].tobytes() + arrays["pixels"][p:q].tobytes()).digest()
        for fold, (p, q) in zip(arrays["folds"], pairwise(arrays["offsets"].tolist()), strict=True)
    ]
    return hashlib.sha256(b"".join(sorted(words))).hexdigest()


#: Source of each public data set, and the function that unpacks it.
SOURCES: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "conll2002_esp": (CONLL2002, unpack_conll2002),
    "ocr_letters": (OCR_LETTERS, unpack_ocr_letters),
}
