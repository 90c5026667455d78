"""``maxmargin inspect``: the content and the certificate of a model file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import typer

from maxmargin._base.extras import missing_package
from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, print_json, say

#: (feature, weight) of the largest weights, by label.
Weights: TypeAlias = dict[str, list[tuple[str, float]]]


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
    """Show the certificate of a model, its largest weights (of each label, of parts, of relations) and transitions."""
    import maxmargin
    from maxmargin.formats.streams import check_standard_output

    if as_json or plot is None:
        check_standard_output()
    estimator = maxmargin.load(model)
    if plot is not None:
        _draw(estimator, kind, plot)
        say(f"wrote {plot}")
    content = content_of(estimator, top)
    if as_json:
        print_json(content)
    elif plot is None:
        _show(model, content, has_numbered_features(estimator))


def content_of(model: Any, top: int) -> dict[str, Any]:
    """Return everything that is shown, as plain values."""
    from maxmargin.parts.structure import PartStructure

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
            "proven": certificate.proven,
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
    elif isinstance(model.structure_, PartStructure):
        content["top_weights"] = _top_weights_by_block(model, top)
    if "top_weights" not in content:
        names = partial(_names_at, model._explained_names())
        content["largest_weights"] = _largest(weights.reshape(-1, 1), ["all"], names, top)["all"]
    if hasattr(model, "transitions_"):
        content["transitions"] = _transitions(model)
    if hasattr(model, "relation_structure_"):
        content["relations"] = _top_weights_of_relations(model, top)
    return content


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _has_weights_by_label(model: Any) -> bool:
    """Return whether each feature has a weight per label; those of a motif have not."""
    return hasattr(model, "transitions_") or model.coef_.ndim == 2


def _top_weights(model: Any, top: int) -> Weights:
    """Return the features with the largest weights for each label, largest first."""
    if hasattr(model, "transitions_"):
        return _top_weights_of_chain(model.structure_, model._flat_weights(), top)
    given, table = getattr(model, "feature_names_in_", None), model.coef_.T
    if table.shape[1] == 1:  # two labels: what speaks for the second speaks against the first
        table = table * [-1.0, 1.0]
    return _largest(
        table,
        map(str, model.classes_.tolist()),
        lambda columns: [f"x{j}" if given is None else str(given[j]) for j in columns],
        top,
    )


def _top_weights_of_chain(structure: Any, weights: Any, top: int) -> Weights:
    """Return the features of tokens with the largest weights for each label."""
    tokens, table = structure.tokens_, structure.split_weights(weights)["tokens"]

    def names(columns: list[int]) -> list[str]:
        width = tokens.output_width
        known = dict(zip(columns, tokens.names_of([j for j in columns if j < width]), strict=False))
        return [known.get(j, "intercept") for j in columns]

    return _largest(table, map(str, structure.labels_.values), names, top)


def _top_weights_of_relations(model: Any, top: int) -> Weights:
    """Return the features with the largest weights for each relation of a parser."""
    from maxmargin.estimators.text.relations import readable_feature

    by_relation = _top_weights_of_chain(model.relation_structure_, model.relation_coef_, top)
    return {
        relation: [(readable_feature(name, model.tags_), weight) for name, weight in best]
        for relation, best in by_relation.items()
    }


def _top_weights_by_block(model: Any, top: int) -> Weights:
    """Return the features with the largest weights of each block of a structure over parts."""
    largest: Weights = {}
    tables = model.structure_.tables()
    for name, weights in model.structure_.split_weights(model._flat_weights()).items():
        columns, outputs = tables[name]
        labels = [name] if outputs is None else [f"{name}, {output}" for output in outputs]
        largest |= _largest(weights.reshape(len(weights), -1), labels, partial(_names_at, columns), top)
    return largest


def _names_at(names: Sequence[str], at: list[int]) -> list[str]:
    return [str(names[j]) for j in at]


def _largest(table: Any, labels: Iterable[str], names: Callable[[list[int]], list[str]], top: int) -> Weights:
    """Return the largest positive weights of each column of a table; only the rows that are shown get a name.

    `names` is called once, with all rows in ascending order.
    """
    import numpy as np

    flat = np.asarray(table).ravel()
    at = np.flatnonzero(flat > 0)
    values, (rows, columns) = flat[at], np.divmod(at, table.shape[1])
    order = np.lexsort((rows, -values, columns))
    ends = np.searchsorted(columns[order], np.arange(table.shape[1] + 1))
    chosen = [order[a : min(b, a + top)] for a, b in pairwise(ends.tolist())]
    shown = sorted({int(rows[k]) for some in chosen for k in some})
    name_of = dict(zip(shown, names(shown), strict=True))
    pairs = zip(labels, chosen, strict=True)
    return {label: [(name_of[int(rows[k])], float(values[k])) for k in some] for label, some in pairs}


def has_numbered_features(model: Any) -> bool:
    """Return whether features of rows or tokens have no names but x0, x1 and so on."""
    if not hasattr(model, "classes_"):
        return False
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
    shown = (
        "C", "loss", "constraints", "bound", "slack", "templates", "columns", "label_column", "fit_intercept", "tol",
    )  # fmt: skip
    typer.echo(f"{path}: {content['estimator']}")
    typer.echo("  " + ", ".join(f"{name}={parameters[name]}" for name in shown if name in parameters))
    typer.echo(f"  {content['n_weights']} weights, {content['n_nonzero_weights']} of them not 0")
    typer.echo(f"  {content['summary']}")
    typer.echo(f"  stopped after {content['n_iter']} steps: {content['stop_reason']}")
    label = "label" if "labels" in content else "part"
    for entry, what in (("top_weights", label), ("relations", "relation")):
        if any(content.get(entry, {}).values()):
            typer.echo()
            rows = [
                [label if first else "", name, f"{weight:.3f}"]
                for label, best in content[entry].items()
                for first, (name, weight) in zip([True] + [False] * len(best), best, strict=False)
            ]
            print_table([what, "feature", "weight"], rows, left=2)
    if content.get("largest_weights"):
        typer.echo()
        print_table(["feature", "weight"], [[name, f"{weight:.3f}"] for name, weight in content["largest_weights"]])
    if any(content.get("top_weights", {}).values()) and numbered_features:
        typer.echo("x0 is the first feature: number 1 in svmlight and SVM-hmm files.")
    if "transitions" in content:
        typer.echo()
        print_transitions(content["labels"], content["transitions"])


def _draw(model: Any, kind: Picture, path: str) -> None:
    import io

    from maxmargin._base.archive import replacing
    from maxmargin.formats.streams import check_writable

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
