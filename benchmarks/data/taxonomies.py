"""Documents with classes of a tree: web pages (LSHTC, dry run) and questions (TREC)."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from maxmargin.datasets.real import data_folder


@dataclass(frozen=True)
class Documents:
    """Counts of terms, classes, and the tree of the classes.

    Attributes
    ----------
    X : CSR matrix
        Counts.
    y : ndarray
        Class of each document.
    edges : list of (parent, child)
        The tree.
    """

    X: Any
    y: np.ndarray
    edges: list[tuple[Any, Any]]

    def take(self, rows: np.ndarray) -> Documents:
        """Return some documents, and the tree of all classes."""
        return Documents(self.X[rows], self.y[rows], self.edges)


def web_pages(*files: str) -> Documents:
    """Return the pages of some files of `taxonomy_lshtc_small`, without terms that occur in none of them."""
    folder = data_folder("taxonomy_lshtc_small")
    with gzip.open(folder / "cat_hier.txt.gz", "rt") as lines:
        paths = [[0, *map(int, line.split())] for line in lines]
    parts = [load_svmlight_file(str(folder / f"{file}.svm.gz")) for file in files]
    width = max(X.shape[1] for X, _ in parts)
    rows = [sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X, _ in parts]
    X = sp.vstack(rows).tocsr()
    X = X[:, np.unique(X.indices)]
    y = np.concatenate([y for _, y in parts]).astype(int)
    return Documents(X, y, sorted({edge for path in paths for edge in pairwise(path)}))


def questions() -> tuple[Documents, Documents]:
    """Return the training and the test part of `taxonomy_qc`: words and pairs of words, present or absent."""
    folder = data_folder("taxonomy_qc")
    parts = []
    for name in ("train", "test"):
        with gzip.open(folder / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            parts.append([line.rstrip("\n").split("\t") for line in lines])
    reader = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+", dtype=np.float64)
    reader.fit(text for _, text in parts[0])
    labels = [np.array([label for label, _ in part]) for part in parts]
    tops = sorted({label.split(":")[0] for part in labels for label in part})
    known = sorted({label for part in labels for label in part})
    edges = [*(("ROOT", top) for top in tops), *((label.split(":")[0], label) for label in known)]
    train, test = (
        Documents(reader.transform([text for _, text in part]), y, edges) for part, y in zip(parts, labels, strict=True)
    )
    return train, test


def pruned(edges: list[tuple[Any, Any]], classes: np.ndarray) -> list[tuple[Any, Any]]:
    """Return the edges above some classes."""
    parent = {child: above for above, child in edges}
    kept = set()
    for node in classes.tolist():
        while node in parent and (parent[node], node) not in kept:
            kept.add((parent[node], node))
            node = parent[node]
    return sorted(kept)


def per_class(y: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return k random rows of each class, and all other rows."""
    order = rng.permutation(len(y))
    chosen = np.sort(np.concatenate([order[y[order] == label][:k] for label in np.unique(y)]))
    return chosen, np.setdiff1d(np.arange(len(y)), chosen)
