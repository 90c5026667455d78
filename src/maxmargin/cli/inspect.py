"""``maxmargin inspect``: the content and the certificate of a model file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from maxmargin._extras import missing_package
from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, print_json, say


class Picture(StrEnum):
    convergence = "convergence"
    transitions = "transitions"


@guarded
def inspect(
    model: opt.Model,
    top: Annotated[int, typer.Option("--top", min=0, help="Weights shown for each label.")] = 5,
    as_json: opt.AsJson = False,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw to this file (png, pdf, svg).")
    ] = None,
    kind: Annotated[Picture, typer.Option("--kind", help="What to draw.")] = Picture.convergence,
    debug: opt.Debug = False,
) -> None:
    """Show the certificate, the largest weights of each label and the transitions of a model."""
    import maxmargin
    from maxmargin.io.formats.streams import check_standard_output

    if as_json or plot is None:
        check_standard_output()
    estimator = maxmargin.load(model)
    if plot is not None:
        _draw(estimator, kind, plot)
        say(f"wrote {plot}")
    content = _content(estimator, top)
    if as_json:
        print_json(content)
    elif plot is None:
        _show(model, content, _has_numbered_features(estimator))


def _content(model: Any, top: int) -> dict[str, Any]:
    """Return everything that is shown, as plain values."""
    certificate = model.certificate_
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name != "callbacks"}
    weights = model._flat_weights()
    content: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "n_weights": len(weights),
        "n_nonzero_weights": int((weights != 0).sum()),
        "certificate": {
            "primal": certificate.primal, "dual": certificate.dual, "gap": certificate.gap, "exact": certificate.exact,
            "oracle_calls": certificate.oracle_calls, "seconds": certificate.seconds,
        },
        "summary": str(certificate),
        "stop_reason": model.stop_reason_,
        "n_iter": model.n_iter_,
    }  # fmt: skip
    if hasattr(model, "classes_"):
        content["labels"] = model.classes_.tolist()
        if _has_weights_by_label(model):
            content["top_weights"] = _top_weights(model, top)
    if hasattr(model, "transitions_"):
        content["transitions"] = _transitions(model)
    return content


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _has_weights_by_label(model: Any) -> bool:
    """Return whether each feature has a weight per label; those of a motif have not."""
    return hasattr(model, "transitions_") or model.coef_.ndim == 2


def _top_weights(model: Any, top: int) -> dict[str, list[tuple[str, float]]]:
    """Return the features with the largest weights for each label, largest first."""
    import numpy as np

    names, table = _weight_table(model)
    chosen = {}
    for label, column in zip(model.classes_.tolist(), np.asarray(table).T, strict=True):
        order = np.argsort(-column, kind="stable")[:top]
        chosen[str(label)] = [(names(int(j)), float(column[j])) for j in order if column[j] > 0]
    return chosen


def _weight_table(model: Any) -> tuple[Any, Any]:
    """Return row names and weights (features, labels); names of all weights would be millions of strings."""
    if hasattr(model, "transitions_"):
        tokens = model.structure_.split_weights(model._flat_weights())["tokens"]
        columns = [*model.structure_.tokens_.column_names(), "intercept"]
        return columns.__getitem__, tokens
    given = getattr(model, "feature_names_in_", None)
    return (lambda j: f"x{j}" if given is None else str(given[j])), model.coef_.T


def _has_numbered_features(model: Any) -> bool:
    """Return whether features have no names but x0, x1 and so on."""
    if hasattr(model, "transitions_"):
        tokens = model.structure_.tokens_
        return not tokens.named and tokens.names is None
    return not hasattr(model, "feature_names_in_")


def _transitions(model: Any) -> list[dict[str, Any]]:
    """Return every allowed pair with its weight; None means the start or the end."""
    structure, labels = model.structure_, model.classes_.tolist()
    rows: list[dict[str, Any]] = [
        {"from": a, "to": b, "weight": float(model.transitions_[i, j])}
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        if structure.allowed_[i, j]
    ]
    rows += [{"from": None, "to": b, "weight": float(model.start_[j])}
             for j, b in enumerate(labels) if structure.start_allowed_[j]]  # fmt: skip
    rows += [{"from": a, "to": None, "weight": float(model.end_[i])}
             for i, a in enumerate(labels) if structure.end_allowed_[i]]  # fmt: skip
    return rows


def _show(path: str, content: dict[str, Any], numbered_features: bool) -> None:
    from maxmargin.cli._tables import print_table, print_transitions

    parameters = content["parameters"]
    shown = ("C", "loss", "constraints", "bound", "slack", "templates", "label_column", "fit_intercept", "tol")
    typer.echo(f"{path}: {content['estimator']}")
    typer.echo("  " + ", ".join(f"{name}={parameters[name]}" for name in shown if name in parameters))
    typer.echo(f"  {content['n_weights']} weights, {content['n_nonzero_weights']} of them not 0")
    typer.echo(f"  {content['summary']}")
    typer.echo(f"  stopped after {content['n_iter']} steps: {content['stop_reason']}")
    if any(content.get("top_weights", {}).values()):
        typer.echo()
        rows = [
            [label if first else "", name, f"{weight:.3f}"]
            for label, best in content["top_weights"].items()
            for first, (name, weight) in zip([True] + [False] * len(best), best, strict=False)
        ]
        print_table(["label", "feature", "weight"], rows, left=2)
        if numbered_features:
            typer.echo("x0 is the first feature: number 1 in svmlight and SVM-hmm files.")
    if "transitions" in content:
        typer.echo()
        print_transitions(content["labels"], content["transitions"])


def _draw(model: Any, kind: Picture, path: str) -> None:
    import io

    from maxmargin.io.atomic import replacing
    from maxmargin.io.formats.streams import check_writable

    check_writable(path)
    try:
        import matplotlib
    except ImportError:
        raise missing_package("--plot needs", "matplotlib", "plot") from None
    matplotlib.use("agg")
    from maxmargin.plots.bounds import BoundDisplay
    from maxmargin.plots.convergence import ConvergenceDisplay
    from maxmargin.plots.transitions import TransitionDisplay

    steps: Any = BoundDisplay if model.certificate_.outer_steps else ConvergenceDisplay
    display: Any = steps if kind is Picture.convergence else TransitionDisplay
    figure = display.from_estimator(model).figure_
    picture, ending = io.BytesIO(), path.rpartition(".")[2] if "." in path else "png"
    figure.savefig(picture, format=ending, dpi=150)
    with replacing(path) as file:
        file.write(picture.getvalue())
