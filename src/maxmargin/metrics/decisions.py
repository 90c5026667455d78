"""Metrics of decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.optimizers.optimizer import DecisionReader, as_optimizer, cost_rows, rounded

#: Difference of totals, relative to the sum of absolute costs, above which it is not a rounding error.
IMPOSSIBLE = 1e-6


def regret(costs: Any, decisions: Any, optimizer: Any, *, instances: Any = None, normalize: bool = True) -> float:
    """Return how much worse decisions are than optimal ones under the true costs.

    The regret of a decision z is ``c·z − c·z*`` (``c·z* − c·z`` if the optimiser maximises). The normalised regret is
    the sum of regrets divided by ``Σ |c·z*|`` (Elmachtoub and Grigas 2022).

    Parameters
    ----------
    costs : array-like of shape (n, m), or sequence of vectors
        True costs.
    decisions : array-like of shape (n, m), or sequence of vectors
        Decisions to be judged. A ready optimiser, or one with `feasible`, raises ValueError if one is not feasible.
    optimizer : Optimizer
        Finds the optimal decisions.
    instances : sequence of length n, default=None
        What the optimiser gets besides costs.
    normalize : bool, default=True
        Whether to return the normalised regret; otherwise the mean regret.

    Returns
    -------
    float
        The regret, 0 if all decisions are optimal.

    Raises
    ------
    ValueError
        If a decision is better than the one that an exact optimiser returns: it is not feasible, or the optimiser is
        wrong.

    Examples
    --------
    >>> import maxmargin as mm
    >>> pairs = mm.Optimizer.assignment(2)
    >>> mm.metrics.regret([[1.0, 5.0, 5.0, 2.0]], [[0, 1, 1, 0]], pairs, normalize=False)
    7.0
    """
    optimizer = as_optimizer(optimizer)
    n = len(costs)
    if len(decisions) != n or (instances is not None and len(instances) != n):
        raise ValueError(f"{n} rows of costs but {len(decisions)} decisions, expected as many")
    if n == 0:
        raise ValueError("expected at least one decision, found none")
    widths = np.array([np.shape(row)[-1] if np.ndim(row) else 0 for row in costs])
    totals, best, reader = np.empty(n), np.empty(n), DecisionReader(optimizer.decision)
    for i, row in enumerate(cost_rows(costs, widths, "costs")):
        place, instance = f"decisions[{i}]", None if instances is None else [instances[i]]
        z = rounded(reader.read(decisions[i], len(row), place, "found"))
        optimizer.check_feasible(z[None], instance, [place], "found")
        totals[i] = row @ z
        best[i] = row @ optimizer.solve(row, None if instance is None else instance[0])
        if optimizer.exact and optimizer.sign * (totals[i] - best[i]) < -IMPOSSIBLE * float(np.abs(row).sum()):
            raise ValueError(
                f"{place}: its total {totals[i]:.6g} is better than {best[i]:.6g} of the decision that the optimizer "
                f"returns for these costs, so it is not feasible, or the optimizer is wrong (is its sense "
                f"{optimizer.sense!r}?) or a heuristic, which needs exact=False"
            )
    return total_regret(optimizer.sign * (totals - best), best, normalize)


def total_regret(regrets: FloatArray, best: FloatArray, normalize: bool) -> float:
    """Return the normalised or the mean regret, for the regret and the optimal total of each example."""
    if not normalize:
        return float(regrets.mean())
    size = float(np.abs(best).sum())
    return float(regrets.sum()) / size if size > 0 else float(regrets.sum())
