"""A fit as the command line runs it: one C, or the best of several on development data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import maxmargin
from maxmargin.cli.data import Kind
from maxmargin.cli.messages import say
from maxmargin.cli.scores import scores_of


@dataclass(frozen=True)
class Plan:
    """What to fit, and where to keep it."""

    Cs: list[float]
    output: str
    dev: str | None
    checkpoint: str | None
    resume: bool


def fit(kind: Kind, X: Any, Y: Any, plan: Plan, quiet: bool) -> None:
    """Fit the model of `kind`, and write it."""
    model = kind.model
    if len(plan.Cs) > 1:
        best = _choose(kind, X, Y, plan, quiet)
    else:
        best = model.set_params(C=plan.Cs[0])
        if plan.resume and plan.checkpoint is not None and os.path.exists(plan.checkpoint):
            best.resume(plan.checkpoint, X, Y)
        else:
            best.fit(X, Y)
        if plan.dev is not None:
            say(f"{plan.dev}: {_score(best, kind, plan.dev)}", quiet)
    best.verbose = 0
    best.save(plan.output)
    say(f"C = {best.C:g}: {best.certificate_}; stopped: {best.stop_reason_}", quiet)
    say(f"wrote {plan.output}: {len(best._flat_weights())} weights, {os.path.getsize(plan.output) / 1e6:.1f} MB", quiet)


def _choose(kind: Kind, X: Any, Y: Any, plan: Plan, quiet: bool) -> Any:
    """The model of the best C on the development data; of equals the smallest C."""
    assert plan.dev is not None
    # Read before the fit, so that a bad file is told of at once; the columns are those of the training data.
    dev_X, dev_Y = _read_dev(kind, plan.dev, X)
    models = maxmargin.regularization_path(kind.model, X, Y, plan.Cs)
    results = []
    for model in models:
        scores = scores_of(kind.is_tagger, dev_Y, model.predict(dev_X))
        say(f"C = {model.C:g}: {scores}, gap {model.certificate_.gap:.2g}, {model.certificate_.seconds:.1f} s", quiet)
        results.append(scores.value)
    return models[max(range(len(models)), key=lambda i: (results[i], -models[i].C))]


def _score(model: Any, kind: Kind, dev: str) -> Any:
    X, Y = Kind(model, kind.name, kind.zero_based).read(dev)
    return scores_of(kind.is_tagger, Y, model.predict(X))


def _read_dev(kind: Kind, dev: str, X: Any) -> tuple[Any, Any]:
    if kind.name == "columns":
        dev_X, dev_Y = kind.read(dev)
        width, found = len(X[0][0]), len(dev_X[0][0])
        if found != width:
            raise ValueError(f"{dev}: expected {width + 1} columns as in the training data, found {found + 1}")
        return dev_X, dev_Y
    return kind.read(dev, width=X.shape[1] if kind.name == "rows" else X[0].shape[1])
