"""Scores of predictions: entities where labels form them, else right labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from maxmargin.metrics import EntityScores, entity_f1, is_entity_scheme, token_accuracy


@dataclass(frozen=True)
class Scores:
    """What predictions are worth.

    Attributes
    ----------
    accuracy : share of right labels.
    n_labels, n_sequences : how many there were; sequences are None for rows.
    entities : where labels form entities.
    """

    accuracy: float
    n_labels: int
    n_sequences: int | None
    entities: EntityScores | None = None

    @property
    def value(self) -> float:
        """The number by which models are chosen."""
        return self.accuracy if self.entities is None else self.entities.f1

    def __str__(self) -> str:
        right = f"{100 * self.accuracy:.2f} % of labels right"
        return right if self.entities is None else f"F1 {100 * self.entities.f1:.2f}, {right}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
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
    """Scores of labels compared as they are written, so that 1 and "1" are the same."""
    if not sequences:
        Y, Y_hat = [[str(label) for label in Y]], [[str(label) for label in Y_hat]]
        return Scores(token_accuracy(Y, Y_hat), len(Y[0]), None)
    Y, Y_hat = ([[str(label) for label in y] for y in part] for part in (Y, Y_hat))
    both = {label for part in (Y, Y_hat) for y in part for label in y}
    entities = entity_f1(Y, Y_hat) if is_entity_scheme(both) else None
    return Scores(token_accuracy(Y, Y_hat), sum(map(len, Y)), len(Y), entities)


def unknown_labels(sequences: bool, Y: Any, classes: Any) -> Counter[str]:
    """Labels that a model can never predict, with their numbers."""
    known = {str(label) for label in classes}
    flat = (label for y in Y for label in y) if sequences else iter(Y)
    return Counter(name for name in map(str, flat) if name not in known)
