"""Accuracy of the labels of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def paired(Y_true: Any, Y_pred: Any) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Yield pairs of sequences; raise ValueError if their numbers or lengths differ."""
    _check_sequences("Y_true", Y_true)
    _check_sequences("Y_pred", Y_pred)
    if len(Y_true) != len(Y_pred):
        raise ValueError(f"{len(Y_true)} sequences of true labels but {len(Y_pred)} of predicted ones")
    for i, (y, y_hat) in enumerate(zip(Y_true, Y_pred, strict=True)):
        if len(y) != len(y_hat):
            raise ValueError(f"sequence {i}: {len(y)} true labels but {len(y_hat)} predicted ones")
        yield y, y_hat


def _check_sequences(name: str, Y: Any) -> None:
    for i, y in enumerate(Y):
        if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
            shown = f"{'the string ' if isinstance(y, str) else ''}{y!r:.60}"
            raise ValueError(f"{name}: expected a list of sequences of labels, found {shown} at {name}[{i}]")


def token_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Return the fraction of the tokens of all sequences with the correct label.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences of labels
        True and predicted labels, of the same lengths.

    Returns
    -------
    float
        The accuracy.

    Examples
    --------
    >>> token_accuracy([["a", "b"], ["a"]], [["a", "a"], ["a"]])
    0.6666666666666666
    """
    right = total = 0
    for y, y_hat in paired(Y_true, Y_pred):
        right += sum(a == b for a, b in zip(y, y_hat, strict=True))
        total += len(y)
    if total == 0:
        raise ValueError("there are no tokens to score")
    return float(right / total)
