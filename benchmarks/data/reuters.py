"""Reuters-21578, ModApte split: the 90 categories with training and test documents, as tf-idf."""

from __future__ import annotations

import csv
import gzip
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from maxmargin._base.types import AnyArray
from maxmargin.datasets.real import data_folder


class Reuters(NamedTuple):
    """Documents and their categories.

    Attributes
    ----------
    train, test : csr_matrix
        tf-idf of 9603 and 3299 documents.
    train_labels, test_labels : ndarray of shape (n, 90)
        Which document has which category.
    names : list of str
        The categories, the most frequent one in training first.
    """

    train: csr_matrix
    test: csr_matrix
    train_labels: AnyArray
    test_labels: AnyArray
    names: list[str]


def load_reuters() -> Reuters:
    """Return the ModApte split; words that occur in at least two training documents, sublinear tf-idf, unit length."""
    csv.field_size_limit(10**9)
    path = data_folder("reuters") / "reuters21578.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        documents = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    parts = [
        [d for d in documents if d["lewissplit"].strip('"') == part and d["topics_attr"] == "YES"]
        for part in ("TRAIN", "TEST")
    ]
    topics = [[set(d["topics"].split("|")) - {""} for d in part] for part in parts]
    found = set.union(*topics[0]) & set.union(*topics[1])
    counts = {name: sum(name in some for some in topics[0]) for name in found}
    names = sorted(found, key=lambda name: (-counts[name], name))
    labels = [np.array([[name in some for name in names] for some in part], np.int8) for part in topics]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    train, test = (transform(f"{d['title']} {d['body']}" for d in part)
                   for transform, part in zip((words.fit_transform, words.transform), parts, strict=True))  # fmt: skip
    return Reuters(train.tocsr(), test.tocsr(), labels[0], labels[1], names)
