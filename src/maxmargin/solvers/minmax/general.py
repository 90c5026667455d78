"""Min-max programs by Clarabel, a general interior-point solver (Goulart and Chen 2024), from the extra ``convex``.

The program is that of `program.py` with w as variables, so features stay sparse:

    min  ½‖w‖² + ½ Σ curvature z² − gains·z − lower·λ      subject to      w + Fᵀz − λ = c,  A z = b,  λ ≥ 0

and 0 ≤ z ≤ upper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import factorized

from maxmargin._base.extras import missing_package
from maxmargin._base.types import FloatArray
from maxmargin.solvers.minmax.program import ROUNDING, MinMaxProgram

#: Diagonal that is added to a singular matrix of constraints, relative to its largest entry.
SMALLEST = 1e-13
#: Least distance of a mass from its limits that corrections assume, relative to the largest mass.
NEAREST = 1e-6
#: Maximum number of corrections of masses that do not satisfy their constraints.
REPAIRS = 50


def load_clarabel() -> Any:
    """Return the module; raise ImportError that names the extra if it is missing."""
    try:
        import clarabel
    except ImportError:
        raise missing_package("method='general' needs", "clarabel", "convex") from None
    return clarabel


def solve_general(
    program: MinMaxProgram, lower: FloatArray | None, accuracy: float, seconds: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Return weights and dual masses, as accurate as Clarabel finds them, and whether the time was enough.

    The program must not be dense.
    """
    clarabel = load_clarabel()
    d, m = program.features.shape[1], len(program.gains)
    bounded = np.zeros(0, int) if lower is None else np.flatnonzero(np.isfinite(lower))
    limited = np.flatnonzero(np.isfinite(program.upper))
    n_lift, n_rows = len(bounded), len(program.b)
    lift = sp.csc_array((-np.ones(n_lift), (bounded, np.arange(n_lift))), (d, n_lift))
    below = sp.hstack([sp.csc_array((m + n_lift, d)), -sp.eye_array(m + n_lift)])
    above = sp.csc_array(
        (np.ones(len(limited)), (np.arange(len(limited)), d + limited)), (len(limited), d + m + n_lift)
    )
    rows = sp.vstack([
        sp.hstack([sp.eye_array(d), program.features.T, lift]),
        sp.hstack([sp.csc_array((n_rows, d)), program.A, sp.csc_array((n_rows, n_lift))]),
        below, above,
    ], format="csc")  # fmt: skip
    right = np.concatenate([program.centre, program.b, np.zeros(m + n_lift), program.upper[limited]])
    square = sp.diags_array(np.concatenate([np.ones(d), program.curvature, np.zeros(n_lift)]), format="csc")
    linear = np.concatenate([np.zeros(d), -program.gains, np.zeros(n_lift) if lower is None else -lower[bounded]])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit = False, min(seconds, 1e9)
    if hasattr(settings, "max_threads"):
        settings.max_threads = 1
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = accuracy
    cones = [clarabel.ZeroConeT(d + n_rows), clarabel.NonnegativeConeT(m + n_lift + len(limited))]
    outcome = clarabel.DefaultSolver(square, linear, rows, right, cones, settings).solve()
    x = np.array(outcome.x)
    if not np.isfinite(x).all():
        x = np.zeros(len(x))
    return x[:d], x[d : d + m], str(outcome.status) != "MaxTime"


def repaired(program: MinMaxProgram, z: FloatArray) -> FloatArray | None:
    """Return masses near z that satisfy all constraints up to rounding, or None if that fails.

    Corrections have the least norm relative to the distance of each mass from its limits.
    """
    assert program.A is not None
    z = np.clip(z, 0.0, program.upper)
    near = np.minimum(z, program.upper - z) + NEAREST * float(z.max(initial=0.0))
    square = sp.csc_array(program.A @ sp.diags_array(near) @ program.A.T)
    shift = SMALLEST * float(square.diagonal().max(initial=0.0)) + 1e-300
    solve = factorized(sp.csc_array(square + shift * sp.eye_array(len(program.b))))
    for _ in range(REPAIRS):
        left = program.b - program.A @ z
        if not np.isfinite(left).all():
            return None
        if np.abs(left).max(initial=0.0) <= ROUNDING * program.size(z):
            return z
        z = np.clip(z + near * (program.A.T @ solve(left)), 0.0, program.upper)
    return None
