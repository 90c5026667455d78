"""Tsochantaridis et al. 2004, table 1: classes of a taxonomy with 2 and 4 training documents each.

The paper has patents of WIPO-alpha, section D (160 groups, 1,710 documents, 3- and 5-fold cross-validation), which are
not public. Here: web pages of the Open Directory (LSHTC dry run, both crawled files pooled: the 132 leaves with 5 pages
or more; 2 or 4 pages of each for training and the rest for test) and TREC questions (fine classes with 5 questions or
more, below 6 coarse ones; 2 or 4 questions of each, tested on the other questions of the training part; and the whole
training part with its own test part). Features are tf-idf of the terms that occur in three training pages, or words and
pairs of words, with rows of norm 1. *flat* has weights for classes only, *tax* for all nodes above them; *0/1* trains
with the zero-one loss and *tree* with the height of the first common ancestor.

C is 10 throughout: on one more draw of pages, 4 per class, 10 was better than 1 for all four models, by both measures
(with terms of two pages, and gap 0.01). On one more draw of questions, 4 per class, 0.1, 1 and 100 did not change which
model is better. Draws overlap in documents. Gap 0.02. The parts were run one by one in two processes with the functions
of this module, and the results were combined.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

import maxmargin as mm
from benchmarks.data.taxonomies import Documents, per_class, pruned, questions, web_pages
from benchmarks.papers import publish
from benchmarks.report import table

MODELS = (("flat", "0/1"), ("tax", "0/1"), ("flat", "tree"), ("tax", "tree"))
C, DRAWS, SIZES, TOL = 10.0, 3, (4, 2), 2e-2
#: Accuracy and tree loss by number of documents per class, in the order of MODELS.
PAPER = {
    4: ((28.32, 1.36), (28.32, 1.32), (27.47, 1.30), (29.74, 1.21)),
    2: ((20.20, 1.54), (20.46, 1.51), (20.20, 1.39), (21.73, 1.33)),
}


def pages() -> Documents:
    """Return the pages of leaves with at least 5 pages, with their tree."""
    found = web_pages("task1_validation_crawl", "task1_test_crawl")
    labels, counts = np.unique(found.y, return_counts=True)
    kept = found.take(np.flatnonzero(np.isin(found.y, labels[counts >= 5])))
    return Documents(kept.X, kept.y, pruned(found.edges, np.unique(kept.y)))


def weighted(train: Any, test: Any, counts: bool) -> tuple[Any, Any]:
    """Return rows of norm 1: tf-idf of counts, or features that are present; terms of the training part only."""
    seen = np.flatnonzero(np.bincount(train.indices, minlength=train.shape[1]) >= (3 if counts else 1))
    train, test = train[:, seen], test[:, seen]
    if not counts:
        return normalize(train), normalize(test)
    scale = TfidfTransformer(sublinear_tf=True).fit(train)
    return scale.transform(train), scale.transform(test)


def trained(model: tuple[str, str], train: Documents, X: Any) -> Any:
    """Return a classifier of one of MODELS; all know the same classes and losses."""
    tree = mm.Taxonomy(hierarchy=train.edges).fit(X, train.y)
    loss = "zero-one" if model[1] == "0/1" else tree.costs_
    hierarchy = train.edges if model[0] == "tax" else None
    classes = tree.labels_.values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: many classes for so few documents
        return mm.TaxonomyClassifier(hierarchy=hierarchy, classes=classes, loss=loss, C=C, tol=TOL, n_jobs=1).fit(
            X, train.y
        )


def measured(model: tuple[str, str], train: Documents, test: Documents, counts: bool) -> dict[str, float]:
    """Return accuracy (%), tree loss and CPU seconds of one fit."""
    X, held = weighted(train.X, test.X, counts)
    began = time.process_time()
    found = trained(model, train, X)
    seconds = time.process_time() - began
    predicted = found.predict(held)
    return {
        "accuracy": 100.0 * float((predicted == test.y).mean()),
        "tree": mm.metrics.tree_loss(test.y, predicted, hierarchy=train.edges),
        "seconds": seconds,
        "gap": float(found.certificate_.gap),
    }


def drawn(data: Documents, k: int, seed: int) -> tuple[Documents, Documents]:
    chosen, rest = per_class(data.y, k, np.random.default_rng(seed))
    return data.take(chosen), data.take(rest)


def experiment(name: str, data: Documents, k: int, counts: bool) -> dict[str, Any]:
    """Measure all models on the same draws."""
    found: dict[str, Any] = {"classes": len(np.unique(data.y)), "test": len(drawn(data, k, 0)[1].y)}
    for model in MODELS:
        draws = [measured(model, *drawn(data, k, seed), counts) for seed in range(DRAWS)]
        found[" ".join(model)] = draws
        means = [float(np.mean([draw[what] for draw in draws])) for what in ("accuracy", "tree", "seconds")]
        print(name, k, *model, *(f"{mean:.3f}" for mean in means), file=sys.stderr, flush=True)
    return found


def run() -> dict[str, Any]:
    train, test = questions()
    labels, counts = np.unique(train.y, return_counts=True)
    frequent = train.take(np.flatnonzero(np.isin(train.y, labels[counts >= 5])))
    result: dict[str, Any] = {"pages": {}, "questions": {}}
    web = pages()
    for k in SIZES:
        result["pages"][str(k)] = experiment("pages", web, k, True)
        result["questions"][str(k)] = experiment("questions", frequent, k, False)
    result["whole"] = {" ".join(model): measured(model, train, test, False) for model in MODELS}
    return result


def _change(pairs: list[tuple[float, float]], row: int) -> str:
    """Return the change from the first model to the last, in per cent of the first."""
    return f"{100.0 * (pairs[-1][row] / pairs[0][row] - 1.0):+.1f} %"


def _rows(name: str, pairs: list[tuple[float, float]], errors: list[tuple[float, float]] | None) -> list[list[Any]]:
    def cell(m: int, row: int) -> str:
        text = f"{pairs[m][row]:.2f}"
        return text if errors is None else f"{text} ± {errors[m][row]:.2f}"

    return [
        [
            name if row == 0 else "",
            ("accuracy", "tree loss")[row],
            *(cell(m, row) for m in range(4)),
            _change(pairs, row),
        ]
        for row in range(2)
    ]


def _whole(result: dict[str, Any]) -> list[tuple[float, float]]:
    found = [result["whole"][" ".join(model)] for model in MODELS]
    return [(one["accuracy"], one["tree"]) for one in found]


def markdown(result: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for k in SIZES:
        rows += _rows(f"paper, {k} per class", list(PAPER[k]), None)
        for data in ("pages", "questions"):
            part = result[data][str(k)]
            draws = [[(d["accuracy"], d["tree"]) for d in part[" ".join(model)]] for model in MODELS]
            means = [tuple(np.mean(one, axis=0).tolist()) for one in draws]
            errors = [tuple((np.std(one, axis=0, ddof=1) / np.sqrt(DRAWS)).tolist()) for one in draws]
            rows += _rows(f"{data}, {k} per class", means, errors)
    if "whole" in result:
        rows += _rows("questions, all 5,452", _whole(result), None)
    seconds = [float(np.mean([d["seconds"] for d in result["pages"]["4"][" ".join(model)]])) for model in MODELS]
    return (
        "# Classes of a taxonomy (Tsochantaridis et al. 2004, table 1)\n\n"
        + str(__doc__).split("\n\n", 1)[1]
        + "\n"
        + table(["", "", *(" ".join(m) for m in MODELS), "tax tree against flat 0/1"], rows)
        + f"\n\nMeans of {DRAWS} draws with standard errors; the paper's figures are of other data. CPU seconds of a "
        f"fit on pages, 4 per class: {', '.join(f'{s:.1f}' for s in seconds)} (in the same order), on a loaded machine."
    )


if __name__ == "__main__":
    publish("p1_taxonomy", run, markdown)
