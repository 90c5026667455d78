"""Costs of single parts, passed together with an output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import FloatArray


class PartCosts(NamedTuple):
    """An output with costs of single parts.

    The loss of ŷ is Σ false_p over the parts that only ŷ has, plus Σ missed_p over the parts that only y has. Pass it
    instead of y, to `fit` and to `loss`.

    Parameters
    ----------
    output : Any
        The true output y.
    false : float or array, default=1.0
        The cost of each part that ŷ has and y does not have, in the shape in which the structure takes features of
        parts.
    missed : float or array, default=0.0
        The cost of each part that y has and ŷ does not have, in the same shape.

    Examples
    --------
    >>> import maxmargin as mm
    >>> costs = mm.PartCosts([1, 0, 3, 2], false=1.0, missed=3.0)  # missing a pair is worse than adding one
    >>> mm.Matching(perfect=False).loss(costs, [1, 0, -1, -1])
    3.0
    """

    output: Any
    false: Any = 1.0
    missed: Any = 0.0


def costs_of(y: Any, false: float = 1.0, missed: float = 0.0) -> PartCosts:
    """Return y as `PartCosts`, by default with these costs."""
    if isinstance(y, PartCosts) and isinstance(y.output, PartCosts):
        raise ValueError("PartCosts of PartCosts: expected an output with one set of costs")
    return y if isinstance(y, PartCosts) else PartCosts(y, false, missed)


def cost_table(costs: Any, shape: tuple[int, ...], what: str, where: Where) -> FloatArray:
    """Return costs ≥ 0 as an array of this shape; a number applies to all parts."""
    try:
        table = np.asarray(costs, float)
    except (TypeError, ValueError):
        raise error_at(where, f"{what} costs must be numbers, found {costs!r:.60}") from None
    if table.ndim and table.shape != shape:
        raise error_at(where, f"{what} costs have shape {table.shape}, expected {shape} or a number")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise error_at(where, f"{what} costs must be finite numbers ≥ 0, found {float(table.min())}")
    return np.broadcast_to(table, shape)


def part_costs(
    given: PartCosts,
    shape: tuple[int, ...],
    true: Any,
    where: Where,
    select: Callable[[FloatArray], FloatArray] = np.asarray,
) -> FloatArray:
    """Return l of every part of an example: false costs, minus missed costs for the parts of the truth.

    Parameters
    ----------
    given : PartCosts
        The costs.
    shape : tuple of int
        The shape of costs of single parts.
    true : index
        The parts of the truth among those that `select` returns.
    where : Place or str
        The place of the output, for error messages.
    select : callable, optional
        Returns the costs of parts from such a table; by default the table itself.
    """
    costs = select(cost_table(given.false, shape, "false", where)).copy()
    costs[true] = -select(cost_table(given.missed, shape, "missed", where))[true]
    return costs
