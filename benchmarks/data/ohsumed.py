"""LETOR 3.0 OHSUMED: medical documents with three degrees of relevance (Yu and Joachims 2009, section 5.3)."""

from __future__ import annotations

import gzip
import io

import numpy as np
from sklearn.datasets import load_svmlight_file

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.datasets.real import data_folder

_SUBSETS, _FEATURES = (1, 2, 3, 4, 5), 45


def load_ohsumed(*subsets: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the documents of some of the five query subsets, or of all.

    X (n, 45) is normalised per query to [0, 1]; relevance (n,) is 0, 1 or 2; groups (n,) is the query of each document.
    """
    for subset in subsets:
        if subset not in _SUBSETS:
            raise ValueError(f"the subsets of OHSUMED are 1 to 5, found {subset!r}")
    folder = data_folder("letor_ohsumed")
    text = b"".join(gzip.decompress((folder / f"S{s}.txt.gz").read_bytes()) for s in subsets or _SUBSETS)
    rows, relevance, groups = load_svmlight_file(io.BytesIO(text), n_features=_FEATURES, query_id=True)
    return rows.toarray(), relevance.astype(np.int64), groups.astype(np.int64)


def ohsumed_fold(fold: int) -> dict[str, tuple[int, ...]]:
    """Return the subsets of a fold by use: ``{"train": (1, 2, 3), "validation": (4,), "test": (5,)}`` for fold 1."""
    if fold not in _SUBSETS:
        raise ValueError(f"the folds of OHSUMED are 1 to 5, found {fold!r}")
    a, b, c, validation, test = (_SUBSETS[(fold - 1 + j) % 5] for j in range(5))
    return {"train": (a, b, c), "validation": (validation,), "test": (test,)}
