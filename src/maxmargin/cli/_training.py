"""A fit on the command line: one C, or the best of several on development data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import maxmargin
from maxmargin.cli._data import Kind
from maxmargin.cli._messages import say
from maxmargin.cli._scores import Scores, scores_of


@dataclass(frozen=True)
class Plan:
    """What to fit, and where to write it; without values of C, with that of the estimator.

    Attributes
    ----------
    Cs : numbers in ascending order, or ``"auto"`` alone.
    """

    Cs: list[Any]
    output: str
    dev: str | None
    checkpoint: str | None
    resume: bool


@dataclass(frozen=True)
class Training:
    """A model to fit, its training data, and how development data are read and scored.

    Attributes
    ----------
    model : the estimator.
    X, Y : training data.
    groups : the query or the family of each example; None if there are none.
    read : returns the development data of a file.
    scores : returns the scores of a fitted model on development data: an object with `value`, the number by which
        models are compared, and a text.
    """

    model: Any
    X: Any
    Y: Any
    groups: Any = None
    _: KW_ONLY
    read: Callable[[str], Any]
    scores: Callable[[Any, Any], Any]

    def given_groups(self) -> dict[str, Any]:
        """Return the groups as an argument, if there are any."""
        return {} if self.groups is None else {"groups": self.groups}


def of_kind(kind: Kind, X: Any, Y: Any) -> Training:
    """Return the training of a tagger or a classifier of rows."""

    def scores(model: Any, dev: Any) -> Scores:
        return scores_of(kind.is_tagger, dev[1], model.predict(dev[0]))

    return Training(kind.model, X, Y, read=lambda path: _read_dev(kind, path, X), scores=scores)


def fit(training: Training, plan: Plan, quiet: bool) -> None:
    """Fit the model and write it."""
    # Read before the fit so that an invalid file is reported at once.
    dev = None if plan.dev is None else training.read(plan.dev)
    if len(plan.Cs) > 1:
        assert dev is not None
        _save(_choose(training, plan, dev, quiet), plan.output, quiet)
        return
    model = training.model.set_params(C=plan.Cs[0]) if plan.Cs else training.model
    begun = plan.resume and plan.checkpoint is not None and os.path.exists(plan.checkpoint)
    resumed = {"resume": plan.checkpoint} if begun else {}
    model.fit(training.X, training.Y, **training.given_groups(), **resumed)
    _save(model, plan.output, quiet)
    if dev is not None and not quiet:
        say(f"{plan.dev}: {training.scores(model, dev)}")


def _choose(training: Training, plan: Plan, dev: Any, quiet: bool) -> Any:
    """Return the model of the best C on the development data; ties go to the smallest C."""
    models = maxmargin.regularization_path(training.model, training.X, training.Y, plan.Cs, **training.given_groups())
    results = []
    for model in models:
        scores = training.scores(model, dev)
        say(f"C = {model.C:g}: {scores}, gap {model.certificate_.gap:.2g}, {model.certificate_.seconds:.1f} s", quiet)
        results.append(scores.value)
    return models[max(range(len(models)), key=lambda i: (results[i], -models[i].C))]


def _save(model: Any, path: str, quiet: bool) -> None:
    model.verbose = 0
    model.save(path)
    say(f"C = {getattr(model, 'C_', model.C):g}: {model.certificate_}; stopped: {model.stop_reason_}", quiet)
    say(f"wrote {path}: {len(model._flat_weights())} weights, {os.path.getsize(path) / 1e6:.1f} MB", quiet)


def _read_dev(kind: Kind, dev: str, X: Any) -> tuple[Any, Any]:
    """Return the development data, as wide as the training data."""
    if kind.name == "rows":
        return kind.read(dev, width=X.shape[1])
    return kind.read(dev, width=X[0].shape[1] if kind.name == "sequences" else None)
