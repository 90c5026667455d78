"""Tsochantaridis et al. 2004, table 1: classes of a taxonomy with 2 and 4 training documents each.

The paper has patents of WIPO-alpha, section D (160 groups, 1,710 documents, 3- and 5-fold cross-validation), which are
not public. Here: web pages of the Open Directory (LSHTC dry run, both crawled files pooled: the 132 leaves with 5 pages
or more; 2 or 4 pages of each for training and the rest for test) and TREC questions (fine classes with 5 questions or
more, below 6 coarse ones; 2 or 4 questions of each, tested on the other questions of the training part; and the whole
training part with its own test part). Features are tf-idf of the terms that occur in three training pages, or words and
pairs of words, with rows of norm 1. *flat* has weights for classes only, *tax* for all nodes above them; *0/1* trains
with the zero-one loss, *tree* with the height of the first common ancestor, and *mixed*, the default of
`TaxonomyClassifier`, with three quarters of the former and one quarter of the latter relative to its maximum.

C is 1 or 10, for each model, data set and size the one of greater accuracy on a development draw (for the whole
training part: on a third of it). Draws overlap in documents. Gap 0.02. With 2 or 4 documents of each class, the
training part is separable, so the loss sets the ratio of margins: with the tree loss of questions, siblings have half
the margin of other classes. The second table shows what that does to mistakes.
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

MODELS = (("flat", "0/1"), ("tax", "0/1"), ("flat", "tree"), ("tax", "tree"), ("tax", "mixed"))
CS, DRAWS, SIZES, TOL = (1.0, 10.0), 3, (4, 2), 2e-2
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


def trained(model: tuple[str, str], train: Documents, X: Any, C: float) -> Any:
    """Return a classifier of one of MODELS; all know the same classes and losses."""
    tree = mm.Taxonomy(hierarchy=train.edges, cost="mixed" if model[1] == "mixed" else "tree").fit(X, train.y)
    loss = "zero-one" if model[1] == "0/1" else tree.costs_
    hierarchy = train.edges if model[0] == "tax" else None
    classes = tree.labels_.values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: many classes for so few documents
        return mm.TaxonomyClassifier(hierarchy=hierarchy, classes=classes, loss=loss, C=C, tol=TOL, n_jobs=1).fit(
            X, train.y
        )


def measured(model: tuple[str, str], train: Documents, test: Documents, counts: bool, C: float) -> dict[str, float]:
    """Return accuracy (%), tree loss, CPU seconds of one fit, and shares (%) of mistakes among siblings and others."""
    X, held = weighted(train.X, test.X, counts)
    began = time.process_time()
    found = trained(model, train, X, C)
    seconds = time.process_time() - began
    predicted = found.predict(held)
    parent = {child: above for above, child in train.edges}
    same = np.array([parent[a] == parent[b] for a, b in zip(predicted.tolist(), test.y.tolist(), strict=True)])
    return {
        "accuracy": 100.0 * float((predicted == test.y).mean()),
        "tree": mm.metrics.tree_loss(test.y, predicted, hierarchy=train.edges),
        "seconds": seconds,
        "C": C,
        "siblings": 100.0 * float((same & (predicted != test.y)).mean()),
        "others": 100.0 * float((~same).mean()),
        "gap": float(found.certificate_.gap),
    }


def drawn(data: Documents, k: int, seed: int) -> tuple[Documents, Documents]:
    chosen, rest = per_class(data.y, k, np.random.default_rng(seed))
    return data.take(chosen), data.take(rest)


def chosen_C(model: tuple[str, str], train: Documents, test: Documents, counts: bool) -> float:
    """Return the C of greater accuracy on development data."""
    return max(CS, key=lambda C: measured(model, train, test, counts, C)["accuracy"])


def experiment(name: str, data: Documents, k: int, counts: bool) -> dict[str, Any]:
    """Measure all models on the same draws."""
    found: dict[str, Any] = {"classes": len(np.unique(data.y)), "test": len(drawn(data, k, 0)[1].y)}
    for model in MODELS:
        C = chosen_C(model, *drawn(data, k, DRAWS), counts)
        draws = [measured(model, *drawn(data, k, seed), counts, C) for seed in range(DRAWS)]
        found[" ".join(model)] = draws
        means = [float(np.mean([draw[what] for draw in draws])) for what in ("accuracy", "tree", "seconds")]
        print(name, k, *model, C, *(f"{mean:.3f}" for mean in means), file=sys.stderr, flush=True)
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
    order = np.random.default_rng(DRAWS).permutation(len(train.y))
    learn, held = train.take(np.sort(order[len(order) // 3 :])), train.take(np.sort(order[: len(order) // 3]))
    result["whole"] = {
        " ".join(model): measured(model, train, test, False, chosen_C(model, learn, held, False)) for model in MODELS
    }
    return result


def _change(pairs: list[tuple[float, float]], row: int) -> str:
    """Return the changes from the first model to the last two, in per cent of the first."""
    return ", ".join(f"{100.0 * (pair[row] / pairs[0][row] - 1.0):+.1f} %" for pair in pairs[3:])


def _rows(name: str, pairs: list[tuple[float, float]], errors: list[tuple[float, float]] | None) -> list[list[Any]]:
    def cell(m: int, row: int) -> str:
        text = f"{pairs[m][row]:.2f}"
        return text if errors is None else f"{text} ± {errors[m][row]:.2f}"

    return [
        [
            name if row == 0 else "",
            ("accuracy", "tree loss")[row],
            *(cell(m, row) if m < len(pairs) else None for m in range(len(MODELS))),
            _change(pairs, row),
        ]
        for row in range(2)
    ]


def _mistakes(draws: list[dict[str, float]]) -> str:
    """Return the mean shares of mistakes, and C, of one model."""
    siblings, others = (float(np.mean([draw[what] for draw in draws])) for what in ("siblings", "others"))
    return f"{siblings:.1f}, {others:.1f} (C = {draws[0]['C']:g})"


def _whole(result: dict[str, Any]) -> list[tuple[float, float]]:
    found = [result["whole"][" ".join(model)] for model in MODELS]
    return [(one["accuracy"], one["tree"]) for one in found]


def markdown(result: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    mistakes: list[list[Any]] = []
    names = [" ".join(model) for model in MODELS]
    for k in SIZES:
        rows += _rows(f"paper, {k} per class", list(PAPER[k]), None)
        for data in ("pages", "questions"):
            part = result[data][str(k)]
            draws = [[(d["accuracy"], d["tree"]) for d in part[" ".join(model)]] for model in MODELS]
            means = [tuple(np.mean(one, axis=0).tolist()) for one in draws]
            errors = [tuple((np.std(one, axis=0, ddof=1) / np.sqrt(DRAWS)).tolist()) for one in draws]
            rows += _rows(f"{data}, {k} per class", means, errors)
            mistakes.append([f"{data}, {k} per class", *(_mistakes(part[name]) for name in names)])
    if "whole" in result:
        mistakes.append(["questions, all 5,452", *(_mistakes([result["whole"][name]]) for name in names)])
        rows += _rows("questions, all 5,452", _whole(result), None)
    seconds = [float(np.mean([d["seconds"] for d in result["pages"]["4"][" ".join(model)]])) for model in MODELS]
    return (
        "# Classes of a taxonomy (Tsochantaridis et al. 2004, table 1)\n\n"
        + str(__doc__).split("\n\n", 1)[1]
        + "\n"
        + table(["", "", *names, "tax tree and tax mixed against flat 0/1"], rows)
        + f"\n\nMeans of {DRAWS} draws with standard errors; the paper's figures are of other data. CPU seconds of a "
        f"fit on pages, 4 per class: {', '.join(f'{s:.1f}' for s in seconds)} (in the same order), on a loaded machine."
        "\n\nTest documents with a sibling of the true class, and with another wrong class, in %, and C:\n\n"
        + table(["", *names], mistakes)
    )


if __name__ == "__main__":
    publish("p1_taxonomy", run, markdown)
