"""A fit on the command line: one C, or the best of several on development data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import maxmargin
from maxmargin.cli._data import Kind
from maxmargin.cli._messages import say
from maxmargin.cli._scores import Scores, scores_of


@dataclass(frozen=True)
class Plan:
    """What to fit, and where to write it."""

    Cs: list[float]
    output: str
    dev: str | None
    checkpoint: str | None
    resume: bool


def fit(kind: Kind, X: Any, Y: Any, plan: Plan, quiet: bool) -> None:
    """Fit the model of `kind` and write it."""
    # Read before the fit so that an invalid file is reported at once.
    dev = None if plan.dev is None else _read_dev(kind, plan.dev, X)
    if len(plan.Cs) > 1:
        assert dev is not None
        _save(_choose(kind, X, Y, plan, dev, quiet), plan.output, quiet)
        return
    model = kind.model.set_params(C=plan.Cs[0])
    begun = plan.resume and plan.checkpoint is not None and os.path.exists(plan.checkpoint)
    model.fit(X, Y, resume=plan.checkpoint if begun else None)
    _save(model, plan.output, quiet)
    if dev is not None and not quiet:
        say(f"{plan.dev}: {_scores(kind, model, dev)}")


def _choose(kind: Kind, X: Any, Y: Any, plan: Plan, dev: tuple[Any, Any], quiet: bool) -> Any:
    """Return the model of the best C on the development data; ties go to the smallest C."""
    models = maxmargin.regularization_path(kind.model, X, Y, plan.Cs)
    results = []
    for model in models:
        scores = _scores(kind, model, dev)
        say(f"C = {model.C:g}: {scores}, gap {model.certificate_.gap:.2g}, {model.certificate_.seconds:.1f} s", quiet)
        results.append(scores.value)
    return models[max(range(len(models)), key=lambda i: (results[i], -models[i].C))]


def _save(model: Any, path: str, quiet: bool) -> None:
    model.verbose = 0
    model.save(path)
    say(f"C = {model.C:g}: {model.certificate_}; stopped: {model.stop_reason_}", quiet)
    say(f"wrote {path}: {len(model._flat_weights())} weights, {os.path.getsize(path) / 1e6:.1f} MB", quiet)


def _scores(kind: Kind, model: Any, dev: tuple[Any, Any]) -> Scores:
    X, Y = dev
    return scores_of(kind.is_tagger, Y, model.predict(X))


def _read_dev(kind: Kind, dev: str, X: Any) -> tuple[Any, Any]:
    """Return the development data, as wide as the training data."""
    if kind.name == "rows":
        return kind.read(dev, width=X.shape[1])
    return kind.read(dev, width=X[0].shape[1] if kind.name == "sequences" else None)
