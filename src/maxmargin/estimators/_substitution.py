"""The parameter `prior` of aligners: a vector of weights, or a substitution matrix or log odds with weights of gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin._checked import positive_number
from maxmargin._types import FloatArray
from maxmargin.estimators._prior import centre, check_prior
from maxmargin.io.formats.biopython import matrix_values, named_matrix

#: Scores of BLAST for BLOSUM62: 11 for the first position of a gap and 1 for the others; and the factor of all scores.
DEFAULTS = {"matrix": "BLOSUM62", "open": -11.0, "extend": -1.0, "scale": 0.1}
#: The name of the prior that is learnt from the training pairs.
LOG_ODDS = "log-odds"


def matrix_prior(prior: Any) -> dict[str, Any] | None:
    """Return the settings of a prior that is a substitution matrix; None if it is a vector or None."""
    if isinstance(prior, Mapping):
        unknown = [name for name in prior if name not in DEFAULTS]
        if unknown:
            raise ValueError(f"prior must be a dict with the keys {', '.join(DEFAULTS)}, found {unknown[0]!r}")
        tuned = {"open": None, "extend": None} if is_log_odds(prior.get("matrix")) else {}
        return DEFAULTS | tuned | dict(prior)
    if isinstance(prior, str) or getattr(prior, "alphabet", None) is not None:
        return matrix_prior({"matrix": prior})
    return None


def is_log_odds(matrix: Any) -> bool:
    """Return whether the matrix of a prior is the log odds of the training pairs."""
    return isinstance(matrix, str) and matrix == LOG_ODDS


def check_substitution_prior(prior: Any, log_odds: bool = True) -> None:
    """Raise ValueError if the prior is not valid; `log_odds` says whether log odds are available."""
    settings = matrix_prior(prior)
    if settings is None:
        check_prior(prior)
        return
    learnt = log_odds and is_log_odds(settings["matrix"])
    if not learnt:
        named_matrix(settings["matrix"])
    positive_number(settings["scale"], "prior['scale']")
    for name in ("open", "extend"):
        if learnt and settings[name] is None:
            continue
        if not isinstance(settings[name], int | float) or not np.isfinite(settings[name]):
            raise ValueError(f"prior[{name!r}] must be a finite number, found {settings[name]!r}")


def substitution_centre(prior: Any, structure: Any, size: int, log_odds: Any = None) -> FloatArray | None:
    """Return w₀: scores of a substitution matrix and of gaps, 0 for all other weights.

    `log_odds` is a fitted `LogOddsAligner` if the prior consists of log odds.
    """
    settings = matrix_prior(prior)
    if settings is None:
        return centre(prior, size)
    weights = np.zeros(size)
    opening, extending = settings["open"], settings["extend"]
    if log_odds is None:
        structure.substitution_weights(weights)[:] = matrix_values(settings["matrix"], structure.alphabet)
    else:
        _copy_matches(log_odds.structure_, log_odds.coef_, structure, weights)
        opening = log_odds.gap_open_ if opening is None else opening
        extending = log_odds.gap_extend_ if extending is None else extending
    if structure.gaps == "affine":
        weights[-2] = opening
    weights[-1] = extending
    return weights * float(settings["scale"])


def _copy_matches(source: Any, given: FloatArray, target: Any, weights: FloatArray) -> None:
    """Copy the weights of matches by the templates that two structures of the same data have in common."""
    of_source, of_target = (structure.positions_.template_spans() for structure in (source, target))
    for template, span in of_source.items():
        weights[of_target[template]] = given[span]
