"""Scores of predictions: entities if labels form them, otherwise accuracy."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass
from typing import Any

from maxmargin.metrics import EntityScores, entity_f1, is_entity_scheme, token_accuracy


@dataclass(frozen=True)
class Scores:
    """Scores of predictions.

    Attributes
    ----------
    accuracy : fraction of correct labels.
    n_labels, n_sequences : their numbers; n_sequences is None for rows.
    entities : scores of entities, if labels form them.
    """

    accuracy: float
    n_labels: int
    n_sequences: int | None
    entities: EntityScores | None = None

    @property
    def value(self) -> float:
        """Return the number by which models are compared."""
        return self.accuracy if self.entities is None else self.entities.f1

    def __str__(self) -> str:
        right = f"{100 * self.accuracy:.2f} % of labels right"
        return right if self.entities is None else f"F1 {100 * self.entities.f1:.2f}, {right}"

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as a dict for JSON."""
        content: dict[str, Any] = {"accuracy": self.accuracy, "n_labels": self.n_labels}
        if self.n_sequences is not None:
            content["n_sequences"] = self.n_sequences
        if self.entities is not None:
            content["entities"] = _numbers(self.entities)
            content["entities"]["types"] = {kind: _numbers(part) for kind, part in self.entities.types.items()}
        return content


def _numbers(part: Any) -> dict[str, Any]:
    names = ("precision", "recall", "f1", "n_right", "n_predicted", "n_true")
    return {name: getattr(part, name) for name in names}


def scores_of(sequences: bool, Y: Any, Y_hat: Any) -> Scores:
    """Return scores of labels compared as strings so that 1 and "1" are equal."""
    if not sequences:
        Y, Y_hat = [[str(label) for label in Y]], [[str(label) for label in Y_hat]]
        return Scores(token_accuracy(Y, Y_hat), len(Y[0]), None)
    Y, Y_hat = ([[str(label) for label in y] for y in part] for part in (Y, Y_hat))
    both = {label for part in (Y, Y_hat) for y in part for label in y}
    entities = entity_f1(Y, Y_hat) if is_entity_scheme(both) else None
    return Scores(token_accuracy(Y, Y_hat), sum(map(len, Y)), len(Y), entities)


def scores_of_decisions(kind: Any, X: Any, Y: Any, own: Scores) -> dict[str, Scores]:
    """Return the scores of the best outputs ("map") and of those of least expected loss ("risk").

    Parameters
    ----------
    kind : the model, as `load_model` returns it.
    X, Y : inputs and their labels.
    own : scores of the model's own decision.

    Returns
    -------
    Empty if the model has no probabilities, or a loss that is not a sum over parts.
    """
    if not hasattr(kind.model, "predict_marginals"):
        return {}
    other = copy(kind.model).set_params(decode="map" if kind.model.decode == "risk" else "risk")
    try:
        other_scores = scores_of(kind.is_tagger, Y, other.predict(X))
    except (TypeError, ValueError):  # the same inputs were predicted by the other decision: the loss has no least risk
        return {}
    both = {kind.model.decode: own, other.decode: other_scores}
    return {name: both[name] for name in ("map", "risk")}


def unknown_labels(sequences: bool, Y: Any, classes: Any) -> Counter[str]:
    """Return labels that a model cannot predict, with their numbers."""
    known = {str(label) for label in classes}
    flat = (label for y in Y for label in y) if sequences else iter(Y)
    return Counter(name for name in map(str, flat) if name not in known)
