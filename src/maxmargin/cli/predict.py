"""``maxmargin predict``: label new data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded

if TYPE_CHECKING:
    from maxmargin.cli._data import Kind


@guarded
def predict(
    model: opt.Model,
    data: opt.Input,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file; - for standard output.")
    ] = "-",
    scores: Annotated[bool, typer.Option("--scores", help="Write scores too.")] = False,
    topk: Annotated[int | None, typer.Option("--topk", min=1, help="Write the k best instead of the best.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Another format: trec, of a ranker.")
    ] = None,
    zero_based: opt.ZeroBased = False,
    debug: opt.Debug = False,
) -> None:
    """Label new data: columns get one more, the column of CoNLL-U is filled, sequences and rows get a label per line.

    Parsers, rankers and other models write the format of their input, or one line per example.

    Columns may already contain labels, which are ignored. With --topk k, columns and sequences get the k best
    labellings side by side ("_" if there are fewer; in CoNLL-U the others in MISC), rows the k best labels. With
    --scores, a comment before each sequence lists the scores of its labellings; for rows, a tab-separated score for
    each label follows, named in the first line, or with --topk each label is followed by its own.
    """
    from maxmargin.cli._data import TaskModel, load_model
    from maxmargin.cli._examples import Request
    from maxmargin.formats.streams import write_text

    kind = load_model(model, zero_based)
    if isinstance(kind, TaskModel):
        forms = kind.task.forms
        if topk is not None:
            raise ValueError("--topk is for taggers and multiclass models")
        if form is not None and form not in forms:
            raise ValueError(
                f"--format: models of the task {kind.task.name} write {' or '.join(forms) or 'one format'}"
            )
        request = Request(zero_based, scores=scores, form=form or "")
        texts = kind.task.predictions(kind.model, data, request)
    elif form is not None:
        raise ValueError("--format is for rankers")
    elif kind.name == "columns":
        texts = _columns(kind, data, scores, topk)
    elif kind.name in ("sequences", "attributes"):
        end = "\n" if kind.name == "attributes" else ""
        texts = _sequences(kind.model, kind.read(data, labelled=False)[0], scores, topk, end)
    else:
        texts = _rows(kind.model, kind.read(data)[0], scores, topk)
    with write_text(output) as file:
        for text in texts:
            file.write(text)


def _columns(kind: Kind, source: str, scores: bool, topk: int | None) -> Iterator[str]:
    from maxmargin.estimators.text.column_tagger import tagged_columns

    with kind.read_as_columns(source):
        yield from tagged_columns(kind.model, source, lambda X: _labellings(kind.model, X, scores, topk))


def _sequences(model: Any, X: Any, scores: bool, topk: int | None, end: str = "") -> Iterator[str]:
    for lines, comment in _labellings(model, X, scores, topk):
        yield f"{comment}\n" if comment else ""
        yield "".join(" ".join(line) + "\n" for line in lines) + end


def _labellings(model: Any, X: Any, scores: bool, topk: int | None) -> Iterator[tuple[list[list[str]], str]]:
    """Yield the labels of every sequence, one or k per token, and a comment with the scores or nothing."""
    if topk is None and not scores:
        for y in model.predict(X):
            yield [[str(label)] for label in y], ""
        return
    for x in X:
        best = model.topk(x, topk or 1)
        comment = "# scores " + " ".join(f"{score:.6g}" for _, score in best) if scores else ""
        missing = [["_"] * len(best[0][0])] * ((topk or 1) - len(best))
        columns = [[str(label) for label in y] for y, _ in best] + missing
        yield [[*line] for line in zip(*columns, strict=True)], comment


def _rows(model: Any, X: Any, scores: bool, topk: int | None) -> Iterator[str]:
    import numpy as np

    names = [str(label) for label in model.classes_.tolist()]
    if topk is None and not scores:
        yield "".join(f"{label}\n" for label in model.predict(X).tolist())
        return
    values = model.decision_scores(X)
    if values.ndim == 1:  # the score of the second of two labels
        values = np.column_stack([-values, values])
    order = np.argsort(-values, axis=1, kind="stable")[:, : topk or 1]
    if topk is None:
        yield "\t".join(["# label", *names]) + "\n"
    for row, best in zip(values.tolist(), order.tolist(), strict=True):
        if topk is None:
            yield "\t".join([names[best[0]], *(f"{value:.6g}" for value in row)]) + "\n"
        else:
            yield " ".join(f"{names[k]}:{row[k]:.6g}" if scores else names[k] for k in best) + "\n"
