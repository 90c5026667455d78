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
    """Compare predictions with the labels of a file: entities if labels form them, otherwise accuracy."""
    from maxmargin.cli._data import load_model
    from maxmargin.cli._scores import scores_of, unknown_labels
    from maxmargin.cli._tables import print_entities
    from maxmargin.io.formats.streams import check_standard_output

    check_standard_output()
    kind = load_model(model, zero_based)
    X, Y = kind.read(data)
    unknown = unknown_labels(kind.is_tagger, Y, kind.model.classes_)
    if unknown:
        shown = ", ".join(f"{label} ({n})" for label, n in unknown.most_common(10))
        say(f"maxmargin: warning: {data} has labels that the model does not know, so they count as wrong: {shown}")
    found = scores_of(kind.is_tagger, Y, kind.model.predict(X))
    if as_json:
        print_json({**found.as_dict(), "unknown_labels": dict(unknown)})
        return
    if found.entities is not None:
        print_entities(found.entities)
    what = f"tokens of {found.n_sequences} sequences" if found.n_sequences is not None else "rows"
    typer.echo(f"{100 * found.accuracy:.2f} % right of {found.n_labels} {what}")
