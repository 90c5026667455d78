"""Loaders of real data. The data are not part of the package: they are read from the directory in MAXMARGIN_DATA, else
from the user's cache, into which public ones are fetched."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from maxmargin._types import AnyArray, FloatArray
from maxmargin.datasets.fetch import SOURCES, cache_folder, fetched
from maxmargin.io.formats.conll import read_conll


def data_folder(name: str) -> Path:
    """The folder of one data set; a sentence when it is not there and cannot be fetched."""
    root = os.environ.get("MAXMARGIN_DATA")
    if not root:
        if name in SOURCES:
            return fetched(name, cache_folder())
        raise FileNotFoundError(f"data set {name!r}: set MAXMARGIN_DATA to the directory that holds it")
    folder = Path(root) / name
    if not folder.is_dir():
        raise FileNotFoundError(f"data set {name!r}: no folder {name} in MAXMARGIN_DATA")
    return folder


def load_ocr_letters(folds: set[int] | None = None) -> tuple[list[FloatArray], list[AnyArray]]:
    """Handwritten words (Kassel, Taskar): per letter 128 binary pixels, labels "a" … "z"; all words or some folds.

    Fetched from Taskar's page where ``MAXMARGIN_DATA`` is not set (extra ``data``).
    """
    with np.load(data_folder("ocr_letters") / "letters.npz", allow_pickle=False) as file:
        pixels, labels, offsets, fold = (file[name] for name in ("pixels", "labels", "offsets", "folds"))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[labels]
    words = [i for i in range(len(fold)) if folds is None or int(fold[i]) in folds]
    spans = [slice(offsets[i], offsets[i + 1]) for i in words]
    return [np.unpackbits(pixels[s], axis=1).astype(float) for s in spans], [letters[s] for s in spans]


def load_conll2002(part: str = "train") -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Spanish news with named entities: sentences of (word, part of speech), and their BIO labels.

    ``part`` is ``"train"``, ``"testa"``, ``"testb"`` or ``"train.first300"``. Fetched from NLTK's data where
    ``MAXMARGIN_DATA`` is not set (extra ``data``); its licence allows research only.
    """
    sentences, labels = read_conll(data_folder("conll2002_esp") / f"esp.{part}.gz")
    return [[(word, pos) for word, pos in sentence] for sentence in sentences], labels
