"""Rows of features in svmlight's format: classifiers of a measure, rankers, taxonomies, sets of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.cli._examples import Examples, Request, TaskScores
from maxmargin.formats.fasta import numbered_lines
from maxmargin.formats.streams import FormatError
from maxmargin.formats.svmlight import read_label_sets, read_letor, read_svmlight
from maxmargin.formats.trec import run_lines
from maxmargin.metrics import mean_average_precision, ndcg_at_k


def read_rows(model: Any, source: str, request: Request) -> Examples:
    """Return rows with one label each."""
    X, y = read_svmlight(source, zero_based=request.zero_based, n_features=_width(model, request))
    return Examples(source, X, y, f"{X.shape[0]} rows, {X.shape[1]} features, {len(np.unique(y))} labels")


def row_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the rows of a file at once; labels are not used."""
    yield read_rows(model, source, request)


def _width(model: Any, request: Request) -> int | None:
    """Return the number of features of a fitted model, or that of the training data."""
    width: int | None = getattr(model, "n_features_in_", request.width)
    return width


def _accuracy(y: Any, y_hat: Any) -> float:
    return float(np.mean(np.asarray(y) == np.asarray(y_hat)))


def _labels(labels: Any) -> Iterator[str]:
    yield "".join(f"{label}\n" for label in labels)


def _table(scores: Any) -> Iterator[str]:
    """Yield a line per row: its scores, separated by tabs."""
    for row in np.asarray(scores).reshape(len(scores), -1).tolist():
        yield "\t".join(f"{value:.6g}" for value in row) + "\n"


# ---------------------------------------------------------------------- measures


def write_labels(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield a label per line; with scores, the score of the second of two labels, or those of all labels."""
    yield from _table(model.decision_function(examples.X)) if request.scores else _labels(model.predict(examples.X))


def score_measure(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the measure of the model, and the share of right labels."""
    name = model.measure if isinstance(model.measure, str) else "measure"
    values = {name: float(model.score(examples.X, examples.Y))}
    return TaskScores(
        {**values, "accuracy": _accuracy(examples.Y, model.predict(examples.X)), "n_rows": len(examples.Y)}
    )


# ---------------------------------------------------------------------- rankings


def read_queries(model: Any, source: str, request: Request) -> Examples:
    """Return documents with their relevance and their query; with their names if a TREC run is to be written."""
    X, y, queries, *names = read_letor(
        source, zero_based=request.zero_based, n_features=_width(model, request), documents=request.form == "trec"
    )
    size = f"{X.shape[0]} documents of {len(np.unique(queries))} queries, {X.shape[1]} features"
    return Examples(source, X, y, size, queries, records=names[0] if names else None)


def query_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the documents of a file at once; relevance is not used."""
    yield read_queries(model, source, request)


def write_ranking(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the score of each document, or the lines of a TREC run."""
    scores = model.predict(examples.X)
    if request.form == "trec":
        yield from run_lines(examples.groups, examples.records, scores)
    else:
        yield from (f"{score!r}\n" for score in scores.tolist())


def score_ranking(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the measure of the model, NDCG@10 and mean average precision."""
    y, queries = examples.Y, examples.groups
    scores = model.predict(examples.X)
    values = {
        model.measure: float(model.score(examples.X, y, groups=queries)),
        "ndcg@10": float(ndcg_at_k(y, scores, queries, 10, gain=model.gain, discount=model.discount)),
        "map": float(mean_average_precision(y, scores, queries)),
    }
    return TaskScores({**values, "n_documents": len(y), "n_queries": len(np.unique(queries))})


# ---------------------------------------------------------------------- taxonomies


def read_classes(model: Any, source: str, request: Request) -> Examples:
    """Return rows with classes, which are compared as texts, as a file of a hierarchy has them."""
    if request.training and "hierarchy" in request.files:
        model.set_params(hierarchy=read_hierarchy(request.files["hierarchy"]))
    rows = read_rows(model, source, request)
    return Examples(source, rows.X, np.array([str(label) for label in rows.Y.tolist()], object), rows.size)


def class_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the rows of a file at once; labels are not used."""
    yield read_rows(model, source, request)


def write_classes(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield a class per line; with scores, the score of each class."""
    yield from _table(model.decision_scores(examples.X)) if request.scores else _labels(model.predict(examples.X))


def score_classes(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the share of right classes, and the mean loss where the model knows all classes."""
    predicted = model.predict(examples.X)
    values: dict[str, Any] = {"accuracy": _accuracy(examples.Y, predicted)}
    if set(examples.Y) <= set(model.classes_.tolist()):
        values["mean_loss"] = float(model.losses(examples.Y, predicted).mean())
    return TaskScores({**values, "n_rows": len(examples.Y)})


def read_hierarchy(source: str) -> dict[str, str | list[str]]:
    """Return the parent of each node, or its parents, of a file of lines ``CHILD PARENT``."""
    parents: dict[str, list[str]] = {}
    for number, line in numbered_lines(source):
        if line.startswith("#"):
            continue
        names = line.split()
        if len(names) != 2:
            raise FormatError(source, number, f"expected CHILD PARENT, found {line!r:.60}")
        parents.setdefault(names[0], []).append(names[1])
    if not parents:
        raise FormatError(source, None, "expected lines CHILD PARENT, found none")
    return {child: above[0] if len(above) == 1 else above for child, above in parents.items()}


# ---------------------------------------------------------------------- sets of labels


def read_sets(model: Any, source: str, request: Request) -> Examples:
    """Return rows with a table of labels, a column for each number up to the greatest label of the training data."""
    X, sets = read_label_sets(source, zero_based=request.zero_based, n_features=_width(model, request))
    known = (
        len(model.classes_)
        if hasattr(model, "classes_")
        else 1 + max((max(some, default=0) for some in sets), default=0)
    )
    Y = np.zeros((len(sets), known), np.int64)
    for row, some in enumerate(sets):
        strange = [label for label in some if label >= known]
        if strange:
            raise ValueError(f"{source}: the label {strange[0]} of row {row + 1} is not one of the training data")
        Y[row, some] = 1
    return Examples(source, X, Y, f"{X.shape[0]} rows, {X.shape[1]} features, labels up to {known - 1}")


def set_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the rows of a file at once; labels are not used."""
    X, _ = read_label_sets(source, zero_based=request.zero_based, n_features=_width(model, request))
    yield Examples(source, X)


def write_sets(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the labels of each row, separated by commas, which may be none; or the score of each label."""
    if request.scores:
        yield from _table(model.decision_function(examples.X))
        return
    for row in model.predict(examples.X):
        yield ",".join(map(str, np.flatnonzero(row).tolist())) + "\n"


def score_sets(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the share of rows without a wrong label, the Hamming loss, and the mean F1 of rows."""
    predicted = model.predict(examples.X)
    common = (predicted & examples.Y).sum(1)
    total = predicted.sum(1) + examples.Y.sum(1)
    f1 = np.where(total > 0, 2.0 * common / np.maximum(total, 1), 1.0)
    values = {
        "subset_accuracy": float(model.score(examples.X, examples.Y)),
        "hamming_loss": float(np.mean(predicted != examples.Y)),
        "f1": float(f1.mean()),
    }
    return TaskScores({**values, "n_rows": len(predicted)})
