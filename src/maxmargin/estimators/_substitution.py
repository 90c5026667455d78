"""The parameter `prior` of aligners: a vector of weights, or a substitution matrix with weights of gaps."""

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


def matrix_prior(prior: Any) -> dict[str, Any] | None:
    """Return the settings of a prior that is a substitution matrix; None if it is a vector or None."""
    if isinstance(prior, Mapping):
        unknown = [name for name in prior if name not in DEFAULTS]
        if unknown:
            raise ValueError(f"prior must be a dict with the keys {', '.join(DEFAULTS)}, found {unknown[0]!r}")
        return DEFAULTS | dict(prior)
    if isinstance(prior, str) or getattr(prior, "alphabet", None) is not None:
        return DEFAULTS | {"matrix": prior}
    return None


def check_substitution_prior(prior: Any) -> None:
    """Raise ValueError if the prior is not valid."""
    settings = matrix_prior(prior)
    if settings is None:
        check_prior(prior)
        return
    named_matrix(settings["matrix"])
    positive_number(settings["scale"], "prior['scale']")
    for name in ("open", "extend"):
        if not isinstance(settings[name], int | float) or not np.isfinite(settings[name]):
            raise ValueError(f"prior[{name!r}] must be a finite number, found {settings[name]!r}")


def substitution_centre(prior: Any, structure: Any, size: int) -> FloatArray | None:
    """Return w₀: scores of a substitution matrix and of gaps, 0 for all other weights."""
    settings = matrix_prior(prior)
    if settings is None:
        return centre(prior, size)
    weights = np.zeros(size)
    structure.substitution_weights(weights)[:] = matrix_values(settings["matrix"], structure.alphabet)
    if structure.gaps == "affine":
        weights[-2] = settings["open"]
    weights[-1] = settings["extend"]
    return weights * float(settings["scale"])
