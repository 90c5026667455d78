"""Least squares costs: the first of two stages, predict, then optimise."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import lsq_linear
from scipy.sparse.linalg import lsqr

from maxmargin._types import FloatArray
from maxmargin.structures.decisions.examples import DecisionExamples


def least_squares(examples: DecisionExamples, weights: FloatArray, lower: FloatArray | None) -> FloatArray:
    """Return the weights of least Σ_i c_i ‖ĉ_i − c_i‖², of least length among equal ones, with w ≥ lower.

    Weights and costs are those of the encoded examples, whose losses are the true costs.
    """
    costs = examples.optimizer.sign * examples.linear
    target = costs if examples.known is None else costs - examples.known
    roots = np.sqrt(weights)
    if len(examples.blocks) == 1 and lower is None and examples.blocks[0].dense is not None:
        block = examples.blocks[0]
        per_row = np.repeat(roots, examples.widths) if block.n_outputs == 1 else roots
        table = (target.reshape(-1, block.n_outputs)) * per_row[:, None]
        found: FloatArray = np.linalg.lstsq(block.dense * per_row[:, None], table, rcond=None)[0].ravel()
        return found
    design = sp.hstack([_design(block) for block in examples.blocks], format="csr")
    scaled = sp.diags_array(np.repeat(roots, examples.widths)) @ design
    right = target * np.repeat(roots, examples.widths)
    if lower is None:
        return np.asarray(lsqr(scaled, right, atol=1e-12, btol=1e-12)[0])
    bounded = lsq_linear(scaled, right, (lower, np.full(len(lower), np.inf)), lsq_solver="lsmr")
    return np.maximum(bounded.x, lower)


def _design(block: Any) -> Any:
    """Return a row for each variable: its features at the positions of its weights."""
    rows = sp.csr_array(block.matrix())
    return rows if block.n_outputs == 1 else sp.kron(rows, sp.eye_array(block.n_outputs), format="csr")
