"""Ready optimisers: shortest paths, assignments, knapsacks, mixed-integer programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from maxmargin._checked import finite_number, is_list, whole_number
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import Where, error_at
from maxmargin.core.structure import Bounded
from maxmargin.optimizers import _kernels as kernels
from maxmargin.optimizers.optimizer import Optimizer, shown
from maxmargin.structures.program._highs import LARGEST_COST, LIMIT, scaled_rows

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
        listed = list(arcs) if isinstance(arcs, Iterable) else []
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
                "the arcs form a cycle; costs may be negative during training, so that the shortest path would be "
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
        kernels.shortest_paths(np.ascontiguousarray(costs), self._tails, self._heads, 0, 1, self._n_nodes, decisions)
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
    """Cheapest assignment of n rows to n columns; see `Optimizer.assignment`."""

    kind: ClassVar[str] = "assignment"

    def __init__(self, n: int) -> None:
        self.n = whole_number(n, "n")
        self.operations = 10.0 * self.n
        super().__init__(self._assignments, self.n**2, "min", batch=True, integral=True)

    def arguments(self) -> dict[str, Any]:
        """Return n."""
        return {"n": self.n}

    def _assignments(self, costs: FloatArray, instances: Any = None) -> FloatArray:
        decisions = np.zeros((len(costs), self.n, self.n))
        for table, decision in zip(costs.reshape(decisions.shape), decisions, strict=True):
            decision[linear_sum_assignment(table)] = 1.0
        return decisions.reshape(costs.shape)

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        tables = decisions.reshape(-1, self.n, self.n)
        once = ((tables.sum(axis=1) == 1) & (tables.sum(axis=2) == 1)).all(axis=1)
        binary = ((decisions == 0) | (decisions == 1)).all(axis=1)
        _first_wrong(once & binary, decisions, places, f"{what} a decision that is not an assignment:")


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
        kernels.knapsacks(-values, self.weights, room, decisions)
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

    def __init__(
        self, A: Any, b: Any, integrality: Any, low: Any, high: Any, sense: str, time_limit: float | None
    ) -> None:
        self.A, self.b = _read_rows(A, b, "A, b")
        m = self.A.shape[1]
        self.integrality = np.broadcast_to(np.asarray(integrality, int), (m,)).copy()
        self.low, self.high = (np.broadcast_to(np.asarray(x, float), (m,)).copy() for x in (low, high))
        self.time_limit = None if time_limit is None else finite_number(time_limit, "time_limit")
        self.operations = 200.0 * float(self.A.shape[0] * m)
        whole = bool((self.integrality == 1).all())
        super().__init__(self._solved, m, sense, exact=time_limit is None, integral=True if whole else None)

    def arguments(self) -> dict[str, Any]:
        """Return the program."""
        names = ("b", "integrality", "low", "high", "sense", "time_limit")
        A = self.A.toarray() if sp.issparse(self.A) else self.A
        return {"A": A, **{name: getattr(self, name) for name in names}}

    def _rows(self, instance: Any) -> tuple[Any, FloatArray]:
        if instance is None:
            return self.A, self.b
        A, b = instance
        return _read_rows(A, b, "an instance (A, b)")

    def _solved(self, costs: FloatArray, instance: Any = None) -> Any:
        A, b = self._rows(instance)
        if A.shape[1] != len(costs):
            raise ValueError(f"A has {A.shape[1]} columns, expected one for each of {len(costs)} variables")
        options = {"mip_rel_gap": 0.0} if self.time_limit is None else {"time_limit": self.time_limit}
        size = (float(np.abs(costs).max(initial=0.0)) or 1.0) / LARGEST_COST
        rows = scaled_rows(sp.csr_array(A), np.full(len(b), -np.inf), b)
        found = milp(
            self.sign / size * costs, constraints=LinearConstraint(*rows), integrality=self.integrality,
            bounds=Bounds(self.low, self.high), options=options,
        )  # fmt: skip
        if found.x is None and found.status == LIMIT and not self.exact:
            least = found.mip_dual_bound
            return Bounded(None, self.sign * size * (-np.inf if least is None else least))
        if found.x is None:
            what = {2: "has no feasible decision", 3: "is unbounded: pass bounds"}.get(found.status, found.message)
            raise ValueError(f"the program {what}")
        decision = np.where(self.integrality == 1, np.rint(found.x), found.x)
        if self.exact:
            return decision
        least = found.mip_dual_bound
        if least is None:  # a linear program
            least = found.fun if found.status == 0 else -np.inf
        return Bounded(decision, self.sign * size * least)

    checked: ClassVar[bool] = True

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        fine = np.empty(len(decisions), bool)
        for r, z in enumerate(decisions):
            A, b = self._rows(None if instances is None else instances[r])
            sizes = FEASIBLE_WITHIN * (1.0 + abs(A) @ np.abs(z))
            whole = (np.rint(z) == z)[self.integrality == 1].all()
            within = (z >= self.low - FEASIBLE_WITHIN) & (z <= self.high + FEASIBLE_WITHIN)
            fine[r] = (A @ z <= b + sizes).all() and within.all() and whole
        _first_wrong(fine, decisions, places, f"{what} a decision that violates the constraints:")


KINDS: dict[str, type[Ready]] = {kind.kind: kind for kind in (ShortestPath, Assignment, Knapsack, MixedInteger)}


def _read_rows(A: Any, b: Any, what: str) -> tuple[Any, FloatArray]:
    """Return the constraints A z ≤ b, A dense or sparse; raise ValueError if they are not finite or do not fit."""
    A = sp.csr_array(A) if sp.issparse(A) else np.atleast_2d(np.asarray(A, float))
    b = np.atleast_1d(np.asarray(b, float))
    finite = np.isfinite(A.data if sp.issparse(A) else A).all() and np.isfinite(b).all()
    if A.ndim != 2 or b.shape != A.shape[:1] or not finite:
        raise ValueError(f"{what}: expected finite numbers and one b for each row of A, found {A.shape} and {b.shape}")
    return A, b


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
