"""Ready optimisers: shortest paths, assignments, knapsacks, mixed-integer programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from maxmargin._base.checks import is_list, positive_number, whole_number
from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.algorithms.highs import INFEASIBLE, LIMIT, UNBOUNDED, Polyhedron, polyhedron, solve, violated
from maxmargin.core.structure import Bounded
from maxmargin.optimizers import _jit
from maxmargin.optimizers.optimizer import Optimizer, shown

#: Violation of a constraint, relative to its terms, that counts as rounding error.
FEASIBLE_WITHIN = 1e-6


class Ready(Optimizer, ABC):
    """Base of ready optimisers: what a model file needs to make them again."""

    checked: ClassVar[bool] = False

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the optimiser again."""

    def __repr__(self) -> str:
        return f"Optimizer.{self.kind}(n_variables={self.n_variables}, sense={self.sense!r})"


class ShortestPath(Ready):
    """Cheapest path from a source to a sink of a directed graph without cycles; see `Optimizer.shortest_path`."""

    kind: ClassVar[str] = "shortest_path"
    operations: float = 4.0

    def __init__(self, arcs: Any, source: Any, sink: Any) -> None:
        graph = hasattr(arcs, "edges")  # iteration would yield its nodes, which may be pairs
        listed = list(arcs) if isinstance(arcs, Iterable) and not graph else []
        if not listed or not all(is_list(arc) and len(arc) == 2 for arc in listed):
            raise ValueError(
                f"arcs must be a list of pairs (from, to), at least one, found {arcs!r:.60}; for a graph of networkx "
                f"pass its edges, in the order of the costs"
            )
        self.arcs, self.source, self.sink = [tuple(arc) for arc in listed], source, sink
        names = list(dict.fromkeys([source, sink, *(node for arc in self.arcs for node in arc)]))
        number = {name: k for k, name in enumerate(names)}
        ends = np.array([[number[a], number[b]] for a, b in self.arcs], np.int64)
        order = _relaxing_order(ends, len(names))
        if order is None:
            raise ValueError(
                "the arcs form a cycle; costs may be negative during training, so the shortest path would be "
                "unbounded: pass an acyclic graph, or an optimizer of your own"
            )
        self._heads, self._tails = ends[order, 1], np.column_stack([ends[order, 0], order])
        self._ends, self._n_nodes = ends, len(names)
        if source == sink or not _reaches(ends[order], 0, 1, len(names)):
            raise ValueError(f"there is no path from {source!r} to {sink!r}")
        super().__init__(self._paths, len(self.arcs), "min", batch=True, integral=True)

    def arguments(self) -> dict[str, Any]:
        """Return arcs, source and sink."""
        return {"arcs": self.arcs, "source": self.source, "sink": self.sink}

    def _paths(self, costs: FloatArray, instances: Any = None) -> FloatArray:
        decisions = np.zeros(costs.shape)
        _jit.shortest_paths(np.ascontiguousarray(costs), self._tails, self._heads, 0, 1, self._n_nodes, decisions)
        return decisions

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        flow = np.zeros((len(decisions), self._n_nodes))
        for j, (a, b) in enumerate(self._ends.tolist()):
            flow[:, a] += decisions[:, j]
            flow[:, b] -= decisions[:, j]
        flow[:, 0] -= 1.0
        flow[:, 1] += 1.0
        binary = ((decisions == 0) | (decisions == 1)).all(axis=1)
        _first_wrong(binary & (flow == 0).all(axis=1), decisions, places, f"{what} a decision that is not a path:")


class Assignment(Ready):
    """Cheapest assignment of rows to columns; see `Optimizer.assignment`."""

    kind: ClassVar[str] = "assignment"

    def __init__(self, n: int, n_columns: int | None = None) -> None:
        self.n = whole_number(n, "n")
        self.n_columns = self.n if n_columns is None else whole_number(n_columns, "n_columns")
        self.operations = 10.0 * min(self.n, self.n_columns)
        super().__init__(self._assignments, self.n * self.n_columns, "min", batch=True, integral=True)

    def arguments(self) -> dict[str, Any]:
        """Return the numbers of rows and columns."""
        return {"n": self.n, "n_columns": self.n_columns}

    def _assignments(self, costs: FloatArray, instances: Any = None) -> FloatArray:
        decisions = np.zeros((len(costs), self.n, self.n_columns))
        for table, decision in zip(costs.reshape(decisions.shape), decisions, strict=True):
            decision[linear_sum_assignment(table)] = 1.0
        return decisions.reshape(costs.shape)

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        tables = decisions.reshape(-1, self.n, self.n_columns)
        once = (tables.sum(axis=1) <= 1).all(axis=1) & (tables.sum(axis=2) <= 1).all(axis=1)
        full = tables.sum(axis=(1, 2)) == min(self.n, self.n_columns)
        binary = ((decisions == 0) | (decisions == 1)).all(axis=1)
        _first_wrong(once & full & binary, decisions, places, f"{what} a decision that is not an assignment:")


class Knapsack(Ready):
    """Most valuable items within capacities; see `Optimizer.knapsack`."""

    kind: ClassVar[str] = "knapsack"
    operations: float = 200.0

    def __init__(self, weights: Any, capacity: Any) -> None:
        self.weights = np.atleast_2d(np.asarray(weights, float))
        self.capacity = np.atleast_1d(np.asarray(capacity, float))
        if self.weights.ndim != 2 or self.capacity.shape != self.weights.shape[:1]:
            raise ValueError(
                f"expected a capacity for each row of weights, found weights of shape {self.weights.shape} and "
                f"capacity of shape {self.capacity.shape}"
            )
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all() or not (self.capacity >= 0).all():
            raise ValueError("weights and capacities must be finite numbers ≥ 0")
        super().__init__(self._items, self.weights.shape[1], "max", batch=True, integral=True)

    def arguments(self) -> dict[str, Any]:
        """Return weights and capacity."""
        return {"weights": self.weights, "capacity": self.capacity}

    def _items(self, values: FloatArray, instances: Any = None) -> FloatArray:
        decisions = np.zeros(values.shape)
        room = self.capacity * (1.0 + 1e-12)  # sums of weights have rounding errors
        _jit.knapsacks(-values, self.weights, room, decisions)
        return decisions

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        within = (decisions @ self.weights.T <= self.capacity * (1.0 + FEASIBLE_WITHIN)).all(axis=1)
        binary = ((decisions == 0) | (decisions == 1)).all(axis=1)
        _first_wrong(within & binary, decisions, places, f"{what} items beyond the capacity:")


class MixedInteger(Ready):
    """Mixed-integer program, solved by HiGHS; see `Optimizer.milp`."""

    kind: ClassVar[str] = "milp"
    checked: ClassVar[bool] = True

    def __init__(
        self, A: Any, low: Any, high: Any, lower: Any, upper: Any, integer: Any, sense: str, time_limit: float | None
    ) -> None:
        m = _n_columns(A, "A")
        self.space = polyhedron(A, low, high, lower, upper, integer, m, "the program")
        self.time_limit = None if time_limit is None else positive_number(time_limit, "time_limit")
        self.operations = 200.0 * float(self.space.A.shape[0] * m)
        whole = True if self.space.integer.all() else None
        super().__init__(self._solved, m, sense, exact=time_limit is None, integral=whole)

    def arguments(self) -> dict[str, Any]:
        """Return the program."""
        limits = {name: getattr(self.space, name) for name in ("low", "high", "lower", "upper", "integer")}
        return {"A": self.space.A.toarray(), **limits, "sense": self.sense, "time_limit": self.time_limit}

    def _program(self, instance: Any) -> Polyhedron:
        if instance is None:
            return self.space
        if not isinstance(instance, tuple | list) or len(instance) != 3:
            raise ValueError(f"an instance must be (A, low, high), found {instance!r:.60}")
        space, m = self.space, _n_columns(instance[0], "A of the instance")
        if m != len(space.lower):
            raise ValueError(
                f"A of the instance has {m} columns, expected one for each of {len(space.lower)} variables"
            )
        A, low, high = instance
        return polyhedron(A, low, high, space.lower, space.upper, space.integer, m, "the instance")

    def _solved(self, costs: FloatArray, instance: Any = None) -> Any:
        solution = solve(-self.sign * costs, self._program(instance), self.time_limit, 0.0)
        if solution.z is None and not (solution.status == LIMIT and not self.exact):
            what = {INFEASIBLE: "has no feasible decision", UNBOUNDED: "is unbounded: pass lower and upper"}
            raise ValueError(f"the program {what.get(solution.status, solution.message)}")
        return solution.z if self.exact else Bounded(solution.z, -self.sign * solution.upper)

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        for r, z in enumerate(decisions):
            fault = violated(z, self._program(None if instances is None else instances[r]))
            if fault is not None:
                raise error_at(places[r], f"{what} a decision that violates the constraints, {shown(z)}: {fault}")


def _n_columns(A: Any, what: str) -> int:
    """Return the number of columns of a matrix; raise ValueError if it is none."""
    shape = np.shape(A) if not sp.issparse(A) else A.shape
    if len(shape) != 2:
        raise ValueError(f"{what} must be a matrix, a row for each constraint, found shape {shape}")
    return int(shape[1])


KINDS: dict[str, type[Ready]] = {kind.kind: kind for kind in (ShortestPath, Assignment, Knapsack, MixedInteger)}


def _first_wrong(fine: Any, decisions: FloatArray, places: Sequence[Where], what: str) -> None:
    wrong = np.flatnonzero(~fine)
    if len(wrong):
        raise error_at(places[wrong[0]], f"{what} {shown(decisions[wrong[0]])}")


def _relaxing_order(ends: IntArray, n_nodes: int) -> IntArray | None:
    """Return an order of the arcs in which arcs into a node precede those out of it; None if there is a cycle."""
    waiting = np.bincount(ends[:, 1], minlength=n_nodes)
    outgoing: list[list[int]] = [[] for _ in range(n_nodes)]
    for k, (a, _) in enumerate(ends.tolist()):
        outgoing[a].append(k)
    ready, order = np.flatnonzero(waiting == 0).tolist(), []
    while ready:
        for k in outgoing[ready.pop()]:
            order.append(k)
            head = int(ends[k, 1])
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    return np.array(order, np.int64) if len(order) == len(ends) else None


def _reaches(ends: IntArray, first: int, last: int, n_nodes: int) -> bool:
    reached = np.zeros(n_nodes, bool)
    reached[first] = True
    for a, b in ends.tolist():
        reached[b] |= reached[a]
    return bool(reached[last])
