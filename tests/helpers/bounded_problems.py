"""Small problems with lower bounds on weights, and their optimum by SLSQP."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.structures.multiclass import Multiclass
from tests.helpers.problems import Case, new_examples


def bounds(kind: str, dim: int, seed: int = 0) -> np.ndarray:
    """Lower bounds of a kind: 0 for all weights, 0 for some, or of either sign."""
    rng = np.random.default_rng(seed)
    some = rng.random(dim) < 0.6
    return {
        "all 0": np.zeros(dim),
        "some 0": np.where(some, 0.0, -np.inf),
        "mixed": np.where(some, 0.4 * rng.normal(size=dim), -np.inf),
        "above 0": np.where(some, 0.3 * rng.random(dim), -np.inf),
    }[kind]


def dim(case: Case) -> int:
    return case.stacked()[0].shape[1]


def bounded(case: Case, lower: np.ndarray) -> Problem:
    examples = new_examples(case.structure)
    objective = Objective(case.C, case.weights, case.slack, lower)
    return Problem(examples, Bound(case.rescaling, case.slack), objective, centre=case.centre)


def limits(lower: np.ndarray) -> list[tuple[float | None, None]]:
    return [(bound if np.isfinite(bound) else None, None) for bound in lower]


def optimum(case: Case, lower: np.ndarray) -> float:
    """The least objective over w ≥ lower, as a program in (w, ξ); with a centre in (w − w₀, ξ)."""
    lower = lower if case.centre is None else lower - case.centre
    rows, values, owner = case.stacked()
    n, d, power = case.n_examples, rows.shape[1], 2 if case.slack == "quadratic" else 1
    matrix, start = np.hstack([rows, np.eye(n)[owner]]), np.maximum(lower, 0.0)
    found = minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + case.budgets @ v[d:] ** power / power,
        np.concatenate([start, np.full(n, (values - rows @ start).max(initial=0.0))]),
        jac=lambda v: np.concatenate([v[:d], case.budgets * v[d:] ** (power - 1)]),
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
        constraints={"type": "ineq", "fun": lambda v: matrix @ v - values, "jac": lambda v: matrix},
        bounds=limits(lower) + [(0.0, None)] * n,
    )  # fmt: skip
    return case.primal(np.maximum(found.x[:d], lower))


def rows(seed: int, n: int = 10, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Points that weights without bounds can tell apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, (X @ rng.normal(size=(width, 3)) + 0.1 * rng.normal(size=3)).argmax(axis=1)


def multiclass(X: np.ndarray, y: np.ndarray, C: float, lower: np.ndarray | None, slack: str = "linear") -> Problem:
    examples = Multiclass(classes=[0, 1, 2]).fit_encode(X, y)
    return Problem(examples, Bound("margin", slack), Objective(C, np.ones(len(y)), slack, lower))


def margins(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows of all planes of `multiclass`; their values are 1."""
    wide = np.hstack([X, np.ones((len(X), 1))])
    pairs = [(i, k, c) for i, k in enumerate(y) for c in range(3) if c != k]
    return np.array([np.kron(wide[i], np.eye(3)[k] - np.eye(3)[c]) for i, k, c in pairs])


def hard_optimum(A: np.ndarray, lower: np.ndarray) -> float | None:
    """The least ½‖w‖² with A w ≥ 1 and w ≥ lower; None where no w is within them by a clear margin."""
    d, some = A.shape[1], np.flatnonzero(np.isfinite(lower))
    program = linprog(
        np.append(np.zeros(d), -1.0), b_ub=np.zeros(len(A) + len(some)), bounds=[(-1.0, 1.0)] * d + [(0.0, 1.0)],
        A_ub=np.vstack([np.hstack([-A, np.ones((len(A), 1))]), np.hstack([-np.eye(d)[some], lower[some, None]])]),
    )  # fmt: skip
    if -program.fun < 1e-7:
        return None
    found = minimize(
        lambda w: 0.5 * w @ w, program.x[:-1] / -program.fun, jac=lambda w: w, method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13}, bounds=limits(lower),
        constraints={"type": "ineq", "fun": lambda w: A @ w - 1.0, "jac": lambda w: A},
    )  # fmt: skip
    assert found.success
    return float(found.fun)
