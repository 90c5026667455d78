"""Measures of contingency tables by name."""

from __future__ import annotations

import re
from typing import Any

from maxmargin._checked import finite_number, whole_number
from maxmargin.structures.measures.given import Given
from maxmargin.structures.measures.measures import (
    AtSize,
    Fraction,
    Linear,
    Matthews,
    Measure,
    RecallAtPrecision,
    f_beta,
)

#: Names of measures of tables; those with @ may have the number in the name.
NAMES = (
    "f1", "fbeta", "prbep", "precision@k", "recall@k", "error", "balanced", "mcc", "jaccard", "recall_at_precision",
)  # fmt: skip


def measure_of(measure: Any, beta: Any, k: Any, precision: Any, others: tuple[str, ...] = ()) -> Measure:
    """Return the measure of a name or a function; raise ValueError for parameters that are not valid.

    `others` are names that are valid too, for the error message.
    """
    if callable(measure):
        return Given(measure)
    at = re.fullmatch(r"(precision|recall)@(k|\d+)", measure) if isinstance(measure, str) else None
    if at:
        return AtSize(whole_number(k if at[2] == "k" else int(at[2]), "k"), at[1] == "recall")
    if measure == "fbeta":
        if finite_number(beta, "beta") == 0.0:
            raise ValueError("beta must be a number > 0, found 0")
        return f_beta(float(beta))
    if measure == "recall_at_precision":
        if not 0.0 < finite_number(precision, "precision") <= 1.0:
            raise ValueError(f"precision must be a number above 0 and at most 1, found {precision!r}")
        return RecallAtPrecision(float(precision))
    simple: dict[str, Measure] = {
        "f1": f_beta(1.0), "prbep": AtSize(), "error": Linear(), "balanced": Linear(True), "mcc": Matthews(),
        "jaccard": Fraction(1.0, 0.0, 1.0),
    }  # fmt: skip
    if not (isinstance(measure, str) and measure in simple):
        raise ValueError(
            f"measure must be {', '.join(map(repr, (*NAMES, *others)))} (a number for k may be in the name, as in "
            f"'precision@5') or a function of (tp, fp, fn, tn), found {measure!r:.60}"
        )
    return simple[measure]
