"""``maxmargin evaluate``: compare predictions with the labels of a file."""

from __future__ import annotations

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, print_json, say


@guarded
def evaluate(
    model: opt.Model, data: opt.Input, as_json: opt.AsJson = False, zero_based: opt.ZeroBased = False,
    debug: opt.Debug = False,
) -> None:  # fmt: skip
    """Compare predictions with the labels of a file: entities if labels form them, otherwise accuracy.

    Parsers, rankers and other models have the scores that are usual for them.

    Where the model has probabilities and its loss allows it, both decisions are compared: the best output (map), and
    that of least expected loss (risk).
    """
    from maxmargin.cli._data import TaskModel, load_model
    from maxmargin.cli._examples import Request, shown_number
    from maxmargin.cli._scores import scores_of, scores_of_decisions, unknown_labels
    from maxmargin.cli._tables import print_entities
    from maxmargin.formats.streams import check_standard_output

    check_standard_output()
    kind = load_model(model, zero_based)
    if isinstance(kind, TaskModel):
        request = Request(zero_based)
        task_scores = kind.task.scores(kind.model, kind.task.examples(kind.model, data, request), request).as_dict()
        if as_json:
            print_json(task_scores)
            return
        for name, value in task_scores.items():
            typer.echo(f"{name} {shown_number(value)}")
        return
    X, Y = kind.read(data)
    unknown = unknown_labels(kind.is_tagger, Y, kind.model.classes_)
    if unknown:
        shown = ", ".join(f"{label} ({n})" for label, n in unknown.most_common(10))
        say(f"maxmargin: warning: {data} has labels that the model does not know, so they count as wrong: {shown}")
    scores = scores_of(kind.is_tagger, Y, kind.model.predict(X))
    decisions = scores_of_decisions(kind, X, Y, scores)
    if as_json:
        by_decision = {"decisions": {name: some.as_dict() for name, some in decisions.items()}} if decisions else {}
        print_json({**scores.as_dict(), **by_decision, "unknown_labels": dict(unknown)})
        return
    if scores.entities is not None:
        print_entities(scores.entities)
    what = f"tokens of {scores.n_sequences} sequences" if scores.n_sequences is not None else "rows"
    typer.echo(f"{100 * scores.accuracy:.2f} % right of {scores.n_labels} {what}")
    for name, some in decisions.items():
        typer.echo(f"decode={name}: {some}{' (as the model predicts)' if name == kind.model.decode else ''}")
