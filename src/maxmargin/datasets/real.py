"""Loaders of real data, which are not part of the package.

Data are read from the directory in MAXMARGIN_DATA, otherwise from the user's cache, into which public data are fetched.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.datasets.fetch import SOURCES, cache_folder, fetched
from maxmargin.formats.conll import read_conll


def data_folder(name: str) -> Path:
    """Return the folder of a data set; raise FileNotFoundError if it is absent and cannot be fetched."""
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
    """Load handwritten words (Kassel 1995; Taskar et al. 2003): 128 binary pixels per letter, labels "a" to "z".

    They are fetched from Taskar's page if ``MAXMARGIN_DATA`` is not set (extra ``data``).

    Parameters
    ----------
    folds : set of int or None, default=None
        Folds to load, from 0 to 9; None for all.

    Returns
    -------
    X : list of ndarray of shape (T, 128)
        Pixels of the letters of each word.
    Y : list of ndarray of shape (T,)
        The letters.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.load_ocr_letters({0})  # doctest: +SKIP
    >>> len(X), X[0].shape, "".join(Y[0])  # doctest: +SKIP
    (626, (9, 128), 'ommanding')
    """
    with np.load(data_folder("ocr_letters") / "letters.npz", allow_pickle=False) as file:
        pixels, labels, offsets, fold = (file[name] for name in ("pixels", "labels", "offsets", "folds"))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[labels]
    words = [i for i in range(len(fold)) if folds is None or int(fold[i]) in folds]
    spans = [slice(offsets[i], offsets[i + 1]) for i in words]
    return [np.unpackbits(pixels[s], axis=1).astype(float) for s in spans], [letters[s] for s in spans]


def load_conll2002(part: str = "train") -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Load Spanish news with named entities (CoNLL-2002, Tjong Kim Sang 2002).

    They are fetched from NLTK's data if ``MAXMARGIN_DATA`` is not set (extra ``data``); the licence allows research
    only.

    Parameters
    ----------
    part : {"train", "testa", "testb", "train.first300"}, default="train"
        Part to load.

    Returns
    -------
    X : list of list of (str, str)
        Word and part of speech of each token of each sentence.
    Y : list of list of str
        BIO labels.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.load_conll2002("train.first300")  # doctest: +SKIP
    >>> X[0][0], Y[0][0]  # doctest: +SKIP
    (('Melbourne', 'NP'), 'B-LOC')
    """
    sentences, labels = read_conll(data_folder("conll2002_esp") / f"esp.{part}.gz")
    return [[(word, pos) for word, pos in sentence] for sentence in sentences], labels
