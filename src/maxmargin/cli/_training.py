"""A fit on the command line: one C, or the best of several on development data; constraints and costs of labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import maxmargin
from maxmargin.cli._data import Kind
from maxmargin.cli._messages import say
from maxmargin.cli._scores import Scores, scores_of
from maxmargin.structures.chain.constraints import SCHEMES, repair_bio


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


# ---------------------------------------------------------------------- what follows from the labels of training data


TAGGER_LOSSES = ("hamming", "hamming-share", "zero-one")

#: Maximum fraction of entities that begin with I- in labels that count as BIO with a few errors.
_SLIPS = 0.05

#: Prefixes of schemes that mark the last token of an entity.
_CLOSED = {"bioes": {"O", "B", "I", "E", "S"}, "bilou": {"O", "B", "I", "L", "U"}}


def constrain(wanted: str, Y: list[list[Any]]) -> tuple[str | None, list[list[Any]], str]:
    """Return the constraints, labels that satisfy them, and a message about both."""
    labels = {label for y in Y for label in y}
    if wanted == "none":
        return None, Y, ""
    if wanted in ("bio", "iob2"):
        return _bio(Y)
    if wanted in SCHEMES:
        return wanted, Y, f"constraints: {wanted}"
    if not all(isinstance(label, str) for label in labels):
        return None, Y, ""
    if _prefixes(labels) <= {"O", "B", "I"} and {"O", "B"} <= _prefixes(labels):
        begins = sum(label.startswith("B-") for y in Y for label in y)
        scheme, repaired, note = _bio(Y)
        if _changes(Y, repaired) <= _SLIPS * (begins + _changes(Y, repaired)):
            return scheme, repaired, note
    for scheme, prefixes in _CLOSED.items():
        if not _prefixes(labels) <= {"O", "B", "I"} and _prefixes(labels) <= prefixes and _obeys(scheme, labels, Y):
            return scheme, Y, f"constraints: {scheme}"
    return None, Y, ""


def _prefixes(labels: Iterable[Any]) -> set[str]:
    """Return the prefixes of labels, before the hyphens."""
    return {label.partition("-")[0] for label in labels if label == "O" or "-" in label} | {
        f"{label} as a whole" for label in labels if label != "O" and "-" not in label
    }


def _bio(Y: list[list[Any]]) -> tuple[str, list[list[Any]], str]:
    repaired = repair_bio(Y)
    n = _changes(Y, repaired)
    note = f"; {n} I- that continued no entity changed to B-" if n else ""
    return "bio", repaired, f"constraints: bio{note}"


def _changes(Y: list[list[Any]], repaired: list[list[Any]]) -> int:
    return sum(a != b for y, z in zip(Y, repaired, strict=True) for a, b in zip(y, z, strict=True))


def _obeys(scheme: str, labels: set[Any], Y: list[list[Any]]) -> bool:
    rules = SCHEMES[scheme](sorted(labels))
    forbidden, start, end = set(rules.transitions), set(rules.start), set(rules.end)
    return not any(y and (y[0] in start or y[-1] in end or any(pair in forbidden for pair in pairwise(y))) for y in Y)


def costs(text: str, labels: set[Any], names: tuple[str, ...]) -> Any:
    """Return a loss by its name, or the costs in ``B-PER=2,I-PER=2`` by label."""
    if text in names:
        return text
    by_name = {str(label): label for label in labels}
    by_label = {}
    for part in text.split(","):
        name, equals, cost = part.rpartition("=")
        try:
            value = float(cost)
        except ValueError:
            equals = ""
            value = 0.0
        if not equals:
            raise ValueError(f"--loss: expected {', '.join(names)} or LABEL=COST,LABEL=COST, found {text!r}")
        if name not in by_name:
            raise ValueError(f"--loss: unknown label {name!r}; the labels are {', '.join(sorted(by_name))}")
        by_label[by_name[name]] = value
    return by_label
