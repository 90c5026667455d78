"""Entities of BIO, IOB2 and BIOES labels, counted by conlleval's rules.

An entity is correct if its type and both of its ends are correct. Precision is the fraction of predicted entities that
are correct, recall the fraction of true entities that are found, F1 their harmonic mean (Tjong Kim Sang and Buchholz,
CoNLL-2000).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from maxmargin.metrics.tokens import paired

Span = tuple[int, int, str]

#: Prefixes that always begin an entity, and prefixes that end one. L and U of BILOU are E and S.
_BEGINS = frozenset("BSU")
_ENDS = frozenset("ESLU")
_PREFIXES = frozenset("BIESLU")


def _parts(label: Any) -> tuple[str, str] | None:
    """Return ('B', 'PER') for 'B-PER', ('O', '') for 'O'; None for labels of another scheme."""
    prefix, hyphen, kind = str(label).partition("-")
    if prefix == "O" and not hyphen:
        return "O", ""
    return (prefix, kind) if prefix in _PREFIXES and (kind or not hyphen) else None


def is_entity_scheme(labels: Iterable[Any]) -> bool:
    """Return whether labels form entities: O, B-X, I-X (E-X, S-X, L-X, U-X) with a typed entity, or B, I and O.

    Parameters
    ----------
    labels : iterable
        Labels, in any order.

    Returns
    -------
    bool
        Whether `entity_spans` can read them.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.metrics.is_entity_scheme(["O", "B-PER", "I-PER"]), mm.metrics.is_entity_scheme(["noun", "verb"])
    (True, False)
    """
    distinct = {str(label) for label in labels}
    parts = [_parts(label) for label in distinct]
    return None not in parts and (distinct >= {"B", "O"} or any(part is not None and part[1] for part in parts))


def entity_spans(labels: Sequence[Any]) -> list[Span]:
    """Return the entities of a label sequence.

    As in conlleval, an I-X that continues no entity of type X begins one.

    Parameters
    ----------
    labels : sequence
        Labels of one sequence.

    Returns
    -------
    list of (int, int, str)
        First token, the token after the last, and the type of each entity.

    Examples
    --------
    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    """
    if isinstance(labels, str | bytes):
        raise ValueError(f"expected a sequence of labels, found the string {labels!r:.60}")
    spans: list[Span] = []
    start, open_kind = -1, None
    for t, label in enumerate(labels):
        parts = _parts(label)
        if parts is None:
            raise ValueError(f"position {t}: expected O, B-TYPE, I-TYPE, E-TYPE or S-TYPE, found {label!r}")
        prefix, kind = parts
        if open_kind is not None and (prefix == "O" or prefix in _BEGINS or kind != open_kind):
            spans.append((start, t, open_kind))
            open_kind = None
        if prefix == "O":
            continue
        if open_kind is None:
            start, open_kind = t, kind
        if prefix in _ENDS:
            spans.append((start, t + 1, open_kind))
            open_kind = None
    if open_kind is not None:
        spans.append((start, len(labels), open_kind))
    return spans


@dataclass(frozen=True)
class TypeScores:
    """Counts of entities, with precision, recall and F1; ratios 0/0 are 0, as in conlleval.

    Attributes
    ----------
    n_right : int
        Number of predicted entities that are correct.
    n_predicted, n_true : int
        Numbers of predicted and of true entities.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.entity_f1([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> scores.types["LOC"].n_true, scores.types["LOC"].recall
    (1, 0.0)
    """

    n_right: int
    n_predicted: int
    n_true: int

    @property
    def precision(self) -> float:
        """Fraction of predicted entities that are correct."""
        return self.n_right / self.n_predicted if self.n_predicted else 0.0

    @property
    def recall(self) -> float:
        """Fraction of true entities that are predicted."""
        return self.n_right / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.n_right / (self.n_predicted + self.n_true) if self.n_right else 0.0


@dataclass(frozen=True)
class EntityScores(TypeScores):
    """Scores of all entities together, and of each type.

    Attributes
    ----------
    types : dict of str to TypeScores
        Scores by type.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.entity_f1([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> scores.precision, scores.recall, sorted(scores.types)
    (1.0, 0.5, ['LOC', 'PER'])
    """

    types: dict[str, TypeScores] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = [("all", self), *self.types.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(
            f"{name:{width}s}  precision {100 * s.precision:6.2f} %  recall {100 * s.recall:6.2f} %  "
            f"F1 {100 * s.f1:6.2f}  ({s.n_right} right, {s.n_predicted} predicted, {s.n_true} true)"
            for name, s in rows
        )


def entity_f1(Y_true: Any, Y_pred: Any) -> EntityScores:
    """Return precision, recall and F1 of the entities, overall and for each type.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences of labels
        True and predicted labels, of the same lengths.

    Returns
    -------
    EntityScores
        The scores.

    Examples
    --------
    >>> scores = entity_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    >>> scores.f1, scores.types["LOC"].f1
    (0.5, 1.0)
    """
    right: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    true: Counter[str] = Counter()
    for i, (y, y_hat) in enumerate(paired(Y_true, Y_pred)):
        expected, predicted_spans = _spans_of(y, i, "true"), _spans_of(y_hat, i, "predicted")
        true.update(span[2] for span in expected)
        predicted.update(span[2] for span in predicted_spans)
        right.update(span[2] for span in set(expected) & set(predicted_spans))
    types = {kind: TypeScores(right[kind], predicted[kind], true[kind]) for kind in sorted(true | predicted)}
    return EntityScores(right.total(), predicted.total(), true.total(), types)


def entity_f1_score(Y_true: Any, Y_pred: Any) -> float:
    """Return F1 of all entities together; ``sklearn.metrics.make_scorer(entity_f1_score)`` makes a scorer.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences of labels
        True and predicted labels, of the same lengths.

    Returns
    -------
    float
        F1, between 0 and 1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.metrics.entity_f1_score([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    0.6666666666666666
    """
    return entity_f1(Y_true, Y_pred).f1


def _spans_of(labels: Sequence[Any], i: int, what: str) -> list[Span]:
    try:
        return entity_spans(labels)
    except ValueError as error:
        raise ValueError(f"sequence {i} of {what} labels, {error}") from None
