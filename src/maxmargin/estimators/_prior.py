"""The parameter `prior`: weights w₀ that the regulariser ½‖w − w₀‖² prefers."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import FloatArray


def check_prior(prior: Any) -> None:
    """Raise ValueError unless the prior is None or a vector of finite numbers."""
    if prior is None:
        return
    try:
        vector = np.asarray(prior, float)
    except (TypeError, ValueError):
        raise ValueError(f"prior must be None or a vector of weights, found {prior!r:.60}") from None
    if vector.ndim != 1:
        raise ValueError(f"prior must be None or a vector of weights, found an array of shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise ValueError(f"prior[{bad[0]}] must be a finite number, found {vector[bad[0]]}")


def centre(prior: Any, size: int) -> FloatArray | None:
    """Return the prior as an array; raise ValueError unless it has one number per weight."""
    if prior is None:
        return None
    vector = np.array(prior, float)
    if len(vector) != size:
        raise ValueError(f"prior has {len(vector)} weights, but these data have {size}; pass coef_ of a model of them")
    return vector
