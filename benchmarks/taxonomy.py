"""Large taxonomies: CPU seconds, weights and memory of fits with 1,139 leaves (2,387 nodes).

*Descriptions* are 4,463 texts of the Open Directory (LSHTC dry run, task 2, 13 terms in each), tested on 1,860 texts
of its validation part. *Made up* are 1,000 documents with 50,000 terms, 100 in each: half of them from terms
of the nodes above their class, half from all terms by a power law; the same tree. Rows have norm 1, C = 1, gap 0.01,
one thread, a loaded machine. *all* has a weight for each pair of a term and a node, *seen* for those that occur below
the node or its parent (the default above 2^24 pairs). Memory is the peak of the process minus that before the fit.
"""

from __future__ import annotations

import resource
import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

import maxmargin as mm
from benchmarks.data.taxonomies import Documents, web_pages
from benchmarks.measure import Clock, isolated
from benchmarks.report import table

TERMS, PER_DOCUMENT, PER_NODE, TOL = 50_000, 100, 40, 1e-2
RUNS = (("descriptions", 4463, True), ("descriptions", 4463, False), ("made up", 1000, True))


def descriptions() -> tuple[Documents, Documents]:
    """Return the training and the validation part, as tf-idf of the terms of both."""
    found = web_pages("task2_train_rdf", "task2_validation_rdf")
    X = TfidfTransformer(sublinear_tf=True).fit(found.X[:4463]).transform(found.X)
    parts = (np.arange(4463), np.arange(4463, len(found.y)))
    train, test = (Documents(X[rows], found.y[rows], found.edges) for rows in parts)
    return train, test


def made_up(n: int) -> tuple[Documents, Documents]:
    """Return documents of the real tree, for training and for test."""
    rng = np.random.default_rng(0)
    edges = web_pages("task2_validation_rdf").edges
    parent = {child: above for above, child in edges}
    leaves = sorted(set(parent) - set(parent.values()))
    terms = {node: rng.integers(0, TERMS, PER_NODE) for node in sorted(parent)}
    power = 1.0 / np.arange(1, TERMS + 1) ** 1.05
    parts = []
    for size in (n, 1000):
        y = np.array(leaves)[rng.permutation(np.arange(size) % len(leaves))]
        columns = rng.choice(TERMS, size=(size, PER_DOCUMENT), p=power / power.sum())
        for row, node in zip(columns, y.tolist(), strict=True):
            own = []
            while node in parent:
                own.append(terms[node])
                node = parent[node]
            row[: PER_DOCUMENT // 2] = rng.choice(np.concatenate(own), PER_DOCUMENT // 2)
        counts = sp.csr_array(
            (np.ones(columns.size), columns.ravel(), np.arange(size + 1) * PER_DOCUMENT), (size, TERMS)
        )
        counts.sum_duplicates()
        parts.append(Documents(normalize(counts), y, edges))
    return parts[0], parts[1]


def measured(name: str, n: int, seen: bool) -> dict[str, Any]:
    train, test = descriptions() if name == "descriptions" else made_up(n)
    small = train.take(np.arange(100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: many classes for so few documents
        model = mm.TaxonomyClassifier(hierarchy=train.edges, seen_pairs=seen, tol=TOL, n_jobs=1)
        mm.TaxonomyClassifier(hierarchy=train.edges, seen_pairs=True, tol=0.5, n_jobs=1).fit(small.X, small.y)
        before, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, Clock()
        model.fit(train.X, train.y)
    found = model.predict(test.X)
    return {
        "seconds": clock.cpu,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before,
        "weights": len(model.coef_),
        "accuracy": 100.0 * float((found == test.y).mean()),
        "tree": mm.metrics.tree_loss(test.y, found, hierarchy=train.edges),
        "gap": float(model.certificate_.gap),
    }


def run() -> dict[str, Any]:
    rows = []
    for name, n, seen in RUNS:
        rows.append({"data": name, "n": n, "pairs": "seen" if seen else "all", **isolated(measured, name, n, seen)})
        print(rows[-1], file=sys.stderr, flush=True)
    return {"rows": rows}


def markdown(result: dict[str, Any]) -> str:
    head = ["", "documents", "pairs", "weights", "CPU s", "CPU s per 1,000", "MB", "accuracy, %", "tree loss"]
    rows = [
        [
            row["data"], row["n"], row["pairs"], f"{row['weights']:,}", row["seconds"],
            1000 * row["seconds"] / row["n"], f"{row['memory_mb']:.0f}", f"{row['accuracy']:.1f}", f"{row['tree']:.3f}",
        ]
        for row in result["rows"]
    ]  # fmt: skip
    return "# Large taxonomies\n\n" + str(__doc__).split("\n\n", 1)[1] + "\n" + table(head, rows)
