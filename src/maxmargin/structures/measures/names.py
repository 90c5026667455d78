"""Measures of contingency tables by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maxmargin.structures.measures.measures import (
    AtSize,
    Fraction,
    Linear,
    Matthews,
    Measure,
    RecallAtPrecision,
    f_beta,
)
from maxmargin.structures.measures.user_measure import Given

#: Names of measures of tables; their numbers are examples.
NAMES = ("f1", "f0.5", "prbep", "precision@10", "recall@10", "recall@precision=0.9", "error", "mcc", "jaccard")

#: Names that end with a number: β, k, the least precision, the greatest false positive rate.
_WITH_NUMBER = re.compile(r"(f|precision@|recall@|recall@precision=|roc_auc@fpr=)(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")

#: Other names of measures, most of them those of scikit-learn's scorers.
SYNONYMS = {
    "accuracy": "error", "zero_one": "error", "balanced_accuracy": "balanced", "matthews_corrcoef": "mcc",
    "f1_score": "f1", "jaccard_score": "jaccard", "auc": "roc_auc", "roc_auc_score": "roc_auc",
    "ap": "average_precision", "average_precision_score": "average_precision",
}  # fmt: skip

#: What to use in place of scikit-learn's names that cannot be maximised as they are.
_INSTEAD = {
    "precision": "one row predicted positive reaches it: use 'precision@10', 'recall@precision=0.9' or 'f0.5'",
    "recall": "all rows predicted positive reach it: use 'recall@10', 'recall@precision=0.9' or 'f2'",
    "fbeta": "β is part of the name: use 'f2' or 'f0.5'",
    "precision@k": "k is part of the name: use 'precision@10'",
    "recall@k": "k is part of the name: use 'recall@10'",
    "recall_at_precision": "the precision is part of the name: use 'recall@precision=0.9'",
    "roc_auc_ovr": "use 'roc_auc', which learns one label versus rest",
    "roc_auc_ovo": "use 'roc_auc', which learns one label versus rest",
}

#: Averages of scikit-learn's names, with the parameter that has their meaning.
_AVERAGES = {
    "macro": "average='macro'", "micro": "average='micro'", "weighted": "average='macro' (no weighted means)",
    "samples": "average='micro' (no means over rows)",
}  # fmt: skip


def usual_name(measure: Any) -> Any:
    """Return the name that this library has for a measure; others are returned unchanged."""
    return SYNONYMS.get(measure, measure) if isinstance(measure, str) else measure


def parsed_measure(measure: Any) -> tuple[Any, str]:
    """Return the usual name of a measure and the number at its end: ``"f2"`` is ``("f", "2")``."""
    measure = usual_name(measure)
    name_and_number = _WITH_NUMBER.fullmatch(measure) if isinstance(measure, str) else None
    return (name_and_number[1], name_and_number[2]) if name_and_number else (measure, "")


def measure_of(measure: Any, others: tuple[str, ...] = ()) -> Measure:
    """Return the measure of a name or a function; raise ValueError for a name that is not valid.

    `others` are names that are valid too, for the error message.
    """
    if callable(measure):
        return Given(measure)
    name, number = parsed_measure(measure)
    if name in ("precision@", "recall@"):
        return AtSize(_counted(measure, number), name == "recall@")
    if name == "f":
        return f_beta(_above_zero(measure, number, "β", np.inf))
    if name == "recall@precision=":
        return RecallAtPrecision(_above_zero(measure, number, "the precision", 1.0))
    measure = name
    simple: dict[str, Measure] = {
        "prbep": AtSize(), "error": Linear(), "balanced": Linear(True), "mcc": Matthews(),
        "jaccard": Fraction(1.0, 0.0, 1.0),
    }  # fmt: skip
    if not (isinstance(measure, str) and measure in simple):
        advice = _advice(measure)
        if advice:
            raise ValueError(f"measure={measure!r}: {advice}")
        raise ValueError(
            f"measure must be {', '.join(map(repr, (*NAMES, *others)))} (with other numbers too) or a function of "
            f"(tp, fp, fn, tn), found {measure!r:.60}"
        )
    return simple[measure]


def _counted(measure: str, number: str) -> int:
    if not number.isdecimal() or int(number) < 1:
        raise ValueError(f"measure={measure!r}: k must be an integer ≥ 1, found {number}")
    return int(number)


def _above_zero(measure: str, number: str, what: str, most: float) -> float:
    value = float(number)
    if not 0.0 < value <= most or np.isinf(value):
        raise ValueError(
            f"measure={measure!r}: {what} must be above 0{'' if np.isinf(most) else f' and at most {most:g}'}"
        )
    return value


def _advice(measure: Any) -> str:
    """Return advice for a name of scikit-learn that has another form here; otherwise an empty string."""
    if not isinstance(measure, str):
        return ""
    name, _, average = measure.rpartition("_")
    if average in _AVERAGES and usual_name(name) in ("f1", "jaccard", "roc_auc", "average_precision"):
        return f"use MeasureSVC(measure={usual_name(name)!r}, {_AVERAGES[average]})"
    return _INSTEAD.get(measure, "")
