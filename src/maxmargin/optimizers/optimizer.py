"""`Optimizer`: any function that returns the best decision for given costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence, Set
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._base.checks import check_flag, is_list, whole_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.structure import Bounded, StructureError
from maxmargin.features.decision_forms import INDICES, SET, VECTOR

#: Distance from an integer that counts as rounding error of a solver.
WHOLE_WITHIN = 1e-6
COSTS, FORMS = ("any", "nonnegative"), ("auto", VECTOR, INDICES)


class Decided(NamedTuple):
    """Decisions of a batch.

    Attributes
    ----------
    decisions : ndarray of shape (n, m)
        A decision per row.
    lower : ndarray of shape (n,)
        Proven lower bounds on the least costs if the optimiser is not exact; −∞ if nothing is proven.
    """

    decisions: FloatArray
    lower: FloatArray


class Optimizer:
    """An optimiser with linear costs, min c·z over feasible decisions z, given by one function.

    Joint features, losses and loss-augmented argmaxes follow from it, because a linear loss is only a shift of the
    costs. `CostLearner` learns the costs.

    Parameters
    ----------
    solve : callable
        ``solve(costs)``, or ``solve(costs, instance)`` where instances are given, returns the best decision for a
        vector of m costs: a vector of m numbers, or the indices of the variables that are 1, see `decision`. Costs may
        be negative during training, even if true costs are not, see `costs`. With ``exact=False`` it may return
        `Bounded` with a proven bound on the best total instead (a lower bound if `sense` is "min"), with None as its
        decision if none was found in time: training then uses the known one, prediction raises an error.
    n_variables : int or None, default=None
        m; None if it follows from the data.
    sense : {"min", "max"}, default="min"
        Whether the total is minimised or maximised.
    batch : bool, default=False
        Whether `solve` takes an array of shape (n, m), and a list of n instances, and returns an array of shape (n, m).
    exact : bool, default=True
        Whether decisions are optimal. If not, certificates are estimates, or use the bounds in `Bounded`.
    feasible : callable or None, default=None
        ``feasible(decision)`` or ``feasible(decision, instance)``: whether a decision is allowed. If given, every
        decision is checked.
    integral : bool or None, default=None
        Whether decisions are integers; None means that they are if all known decisions are.
    costs : {"any", "nonnegative"}, default="any"
        "nonnegative" if `solve` needs costs ≥ 0, as Dijkstra's algorithm does. A `CostLearner` then learns from known
        decisions only, from features ≥ 0 with weights ≥ 0, and with a loss that never makes a cost negative.
    decision : {"auto", "vector", "indices"}, default="auto"
        What a list or array that `solve` returns is: m numbers, or the indices of the variables that are 1. "auto"
        means indices if its length is not m; an optimiser that returns both kinds, or a list that may be either, raises
        an error. Sets are always indices.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> cheapest_two = mm.Optimizer(lambda costs: set(np.argsort(costs)[:2].tolist()), n_variables=4)
    >>> cheapest_two.solve([3.0, 1.0, 2.0, 5.0])
    array([0., 1., 1., 0.])
    """

    #: Name of a ready optimiser in model files; empty for a user's function.
    kind: ClassVar[str] = ""
    #: Whether decisions are checked; those of ready optimisers are right.
    checked: ClassVar[bool] = True
    #: Multiply-adds of one call per variable; a call of Python costs about this many.
    operations: float = 20000.0

    def __init__(
        self,
        solve: Callable[..., Any],
        n_variables: int | None = None,
        sense: str = "min",
        batch: bool = False,
        exact: bool = True,
        feasible: Callable[..., bool] | None = None,
        integral: bool | None = None,
        costs: str = "any",
        decision: str = "auto",
    ) -> None:
        if not callable(solve):
            raise TypeError(f"solve must be a function of the costs, found {type(solve).__name__}")
        if feasible is not None and not callable(feasible):
            raise TypeError(f"feasible must be a function of a decision or None, found {type(feasible).__name__}")
        if sense not in ("min", "max"):
            raise ValueError(f"sense must be 'min' or 'max', found {sense!r}")
        check_flag(batch, "batch")
        check_flag(exact, "exact")
        if integral is not None:
            check_flag(integral, "integral")
        self.n_variables = None if n_variables is None else whole_number(n_variables, "n_variables")
        self.function, self.sense, self.batch, self.exact = solve, sense, bool(batch), bool(exact)
        self.feasible, self.integral = feasible, integral
        for name, value, known in (("costs", costs, COSTS), ("decision", decision, FORMS)):
            if value not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, found {value!r}")
        self.costs, self.decision = costs, decision
        self._reader = DecisionReader(decision)

    def __repr__(self) -> str:
        name = self.kind or getattr(self.function, "__name__", type(self.function).__name__)
        return f"Optimizer({name}, n_variables={self.n_variables}, sense={self.sense!r})"

    def __deepcopy__(self, memo: Any) -> Optimizer:
        """Return the optimiser itself, which does not change: a solver behind it need not be copied."""
        return self

    @property
    def sign(self) -> float:
        """1 if totals are minimised, −1 if they are maximised."""
        return 1.0 if self.sense == "min" else -1.0

    def solve(self, costs: Any, instance: Any = None) -> FloatArray:
        """Return the best decision for these costs.

        Parameters
        ----------
        costs : array-like of shape (m,)
            Costs, or values if `sense` is "max".
        instance : object, default=None
            Passed on to the function if it is not None.

        Returns
        -------
        ndarray of shape (m,)
            The decision.
        """
        row = _finite_costs(costs)
        instances = None if instance is None else [instance]
        return self.decide(self.sign * row[None], instances, np.zeros(1, np.int64)).decisions[0]

    # ------------------------------------------------------------------ ready ones

    @staticmethod
    def shortest_path(arcs: Any, source: Any, sink: Any) -> Optimizer:
        """Return the optimiser of paths in a directed graph without cycles, compiled and batched.

        Parameters
        ----------
        arcs : sequence of pairs
            (from, to) of each variable; nodes are any hashable objects.
        source, sink : object
            First and last node of a path.

        Returns
        -------
        Optimizer
            Its decisions have 1 for the arcs of the cheapest path.
        """
        from maxmargin.optimizers.ready import ShortestPath

        return ShortestPath(arcs, source, sink)

    @staticmethod
    def assignment(n: int, n_columns: int | None = None) -> Optimizer:
        """Return the optimiser of assignments of rows to columns (scipy's ``linear_sum_assignment``).

        Parameters
        ----------
        n : int
            Number of rows.
        n_columns : int or None, default=None
            Number of columns; None means n. Variable i · n_columns + j assigns row i to column j. Each row and each
            column has at most one partner, and those of the smaller side all have one.

        Returns
        -------
        Optimizer
            Its decisions have 1 for the pairs of the cheapest assignment.
        """
        from maxmargin.optimizers.ready import Assignment

        return Assignment(n, n_columns)

    @staticmethod
    def knapsack(weights: Any, capacity: Any) -> Optimizer:
        """Return the optimiser of knapsacks: the most valuable items within all capacities, compiled and batched.

        Branch and bound is exact, but may take long for hundreds of items of similar value.

        Parameters
        ----------
        weights : array-like of shape (m,) or (k, m)
            Weight of each item, for each of k capacities.
        capacity : float or array-like of shape (k,)
            Capacities.

        Returns
        -------
        Optimizer
            Its decisions have 1 for the items taken; costs are values, since its sense is "max".
        """
        from maxmargin.optimizers.ready import Knapsack

        return Knapsack(weights, capacity)

    @staticmethod
    def milp(
        A: Any,
        *,
        low: Any = -np.inf,
        high: Any = np.inf,
        lower: Any = 0.0,
        upper: Any = 1.0,
        integer: Any = True,
        sense: str = "min",
        time_limit: float | None = None,
    ) -> Optimizer:
        """Return the optimiser of a (mixed-integer) linear program, low ≤ A z ≤ high, lower ≤ z ≤ upper (HiGHS).

        The parameters are those of `ProgramInput`.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (k, m)
            Coefficients of the constraints. An instance, if given, is a tuple (A, low, high) of its own.
        low, high : float or array-like of shape (k,), default=-inf and inf
            Limits of A z; equal ones for an equation.
        lower, upper : float or array-like of shape (m,), default=0.0 and 1.0
            Limits of z.
        integer : bool or array-like of shape (m,), default=True
            Which variables are integers.
        sense : {"min", "max"}, default="min"
            Whether the total is minimised or maximised.
        time_limit : float or None, default=None
            Seconds for each program. A program that stops there returns its best decision with HiGHS's bound, so
            certificates stay valid. If it found none, training uses the known decision with that bound.

        Returns
        -------
        Optimizer
            The optimiser.

        Examples
        --------
        >>> import maxmargin as mm
        >>> two_of_three = mm.Optimizer.milp([[1, 1, 1]], low=2, high=2)
        >>> two_of_three.solve([3.0, 1.0, 2.0])
        array([0., 1., 1.])
        """
        from maxmargin.optimizers.ready import MixedInteger

        return MixedInteger(A, low, high, lower, upper, integer, sense, time_limit)

    # ------------------------------------------------------------------ batches

    def decide(
        self, costs: FloatArray, instances: Sequence[Any] | None, ids: IntArray, known: FloatArray | None = None
    ) -> Decided:
        """Return decisions that minimise the costs, one per row, whatever `sense` is.

        Parameters
        ----------
        costs : ndarray of shape (n, m)
            Costs to minimise.
        instances : sequence or None
            The instance of each row.
        ids : ndarray of shape (n,)
            Indices of the examples, for error messages.
        known : ndarray of shape (n, m), optional
            Feasible decisions, which are used where a search found none in time.
        """
        self._check_width(costs.shape[1])
        if self.costs == "nonnegative":
            costs = self._nonnegative(costs, ids)
        lower = np.full(len(costs), -np.inf)
        if self.batch:
            decisions = self._batched(costs, instances, ids)
        else:
            decisions = self._single(costs, instances, ids, known, lower)
        if self.checked:
            _check_numbers(decisions, ids)
            decisions = rounded(decisions)
            self.check_feasible(decisions, instances, [Place("X", i) for i in ids.tolist()], "solve returned")
        return Decided(decisions, lower)

    def _check_width(self, m: int) -> None:
        if self.n_variables is not None and m != self.n_variables:
            raise ValueError(f"the optimizer has {self.n_variables} variables, found {m} costs")

    def _nonnegative(self, costs: FloatArray, ids: IntArray) -> FloatArray:
        """Return costs without the rounding errors below 0; raise StructureError if one is clearly below 0."""
        given = self.sign * costs
        least = given.min(axis=1, initial=0.0)
        bad = np.flatnonzero(least < -WHOLE_WITHIN * np.abs(given).max(axis=1, initial=0.0))
        if len(bad):
            raise StructureError.at(
                Place("X", ids[bad[0]]), f"the optimizer has costs='nonnegative', found the cost {least[bad[0]]:.6g}"
            )
        return self.sign * np.maximum(given, 0.0)

    def _single(
        self,
        costs: FloatArray,
        instances: Sequence[Any] | None,
        ids: IntArray,
        known: FloatArray | None,
        lower: FloatArray,
    ) -> FloatArray:
        decisions = np.empty_like(costs)
        for r, i in enumerate(ids.tolist()):
            more = () if instances is None else (instances[r],)
            asked = self.sign * costs[r]
            decision = _called(Place("X", i), self.function, asked, *more, hint=self._hint(asked))
            if type(decision) is Bounded:
                lower[r], decision = self.sign * float(decision.upper), decision.output
                if decision is None and known is not None:
                    decision = known[r]
                elif decision is None:
                    raise StructureError.at(Place("X", i), "solve found no decision in time; raise its time limit")
            decisions[r] = self._reader.read(decision, costs.shape[1], Place("X", i), "solve returned")
        return decisions

    def _hint(self, costs: FloatArray) -> str:
        """Return what to say if `solve` fails for these costs: whether that may be due to negative ones."""
        if self.costs != "any" or self.kind or (costs >= 0.0).all():
            return ""
        return (
            "; some of the costs are negative, as they may be during training: if your solver needs costs ≥ 0, "
            "pass costs='nonnegative' to the Optimizer"
        )

    def _batched(self, costs: FloatArray, instances: Sequence[Any] | None, ids: IntArray) -> FloatArray:
        more = () if instances is None else (instances,)
        first = Place("X", int(ids[0])) if len(ids) else "X"
        asked = self.sign * costs
        returned = _called(first, self.function, asked, *more, hint=self._hint(asked))
        try:
            decisions = np.asarray(returned, float)
        except (TypeError, ValueError):
            raise StructureError(
                f"solve returned {returned!r:.60}, expected an array of numbers of shape {costs.shape}; a function "
                f"that returns indices needs batch=False"
            ) from None
        if decisions.shape != costs.shape:
            raise StructureError(
                f"solve returned an array of shape {decisions.shape} for costs of shape {costs.shape}, expected the "
                f"same shape; a function of a single vector of costs needs batch=False"
            )
        return decisions.copy()

    def check_feasible(
        self, decisions: FloatArray, instances: Sequence[Any] | None, places: Sequence[Where], what: str
    ) -> None:
        """Raise an error that names the first infeasible decision."""
        if self.feasible is None:
            return
        for r, decision in enumerate(decisions):
            more = () if instances is None else (instances[r],)
            if not _called(places[r], self.feasible, decision, *more):
                raise error_at(places[r], f"{what} an infeasible decision, {shown(decision)}")


def as_optimizer(optimizer: Any) -> Optimizer:
    """Return an `Optimizer`, also for an object with a method ``solve(costs, instance)``."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    if isinstance(optimizer, type) or not callable(getattr(optimizer, "solve", None)):
        raise TypeError(
            f"optimizer must be a maxmargin.Optimizer or an object with solve(costs, instance), found {optimizer!r:.60}"
        )
    options = {
        name: getattr(optimizer, name)
        for name in ("n_variables", "sense", "batch", "exact", "integral")
        if hasattr(optimizer, name)
    }
    for name in ("costs", "decision"):  # also names that a user's object may have for something else
        if isinstance(getattr(optimizer, name, None), str):
            options[name] = getattr(optimizer, name)
    return Optimizer(optimizer.solve, **options)


#: What to do about decisions whose form is not clear.
DECLARE_FORM = "pass decision='vector' or decision='indices' to the Optimizer"


class DecisionReader:
    """Reader of decisions that are vectors of m numbers, or the indices of the variables that are 1.

    All lists that one reader reads are of the same form.

    Parameters
    ----------
    form : {"auto", "vector", "indices"}, default="auto"
        What lists and arrays are; "auto" goes by their lengths.
    """

    def __init__(self, form: str = "auto") -> None:
        self.form, self._first, self._sets, self._only_both = form, dict[str, str](), 0, True

    @property
    def form_read(self) -> str:
        """The form of all decisions read: "vector", "indices", or "set" if all were sets."""
        if self._sets and not self._first:
            return SET
        return INDICES if INDICES in self._first else VECTOR

    @property
    def ambiguous(self) -> bool:
        """Whether all decisions read were [0, 1] of two variables: vectors, or the indices of both."""
        return self.form == "auto" and VECTOR in self._first and self._only_both

    def read(self, answer: Any, m: int, where: Where, what: str) -> FloatArray:
        """Return a decision as a vector of m numbers."""
        as_set = isinstance(answer, set | frozenset)
        listed = sorted(answer) if as_set else answer
        expected = {"auto": f"{m} numbers or indices", "vector": f"{m} numbers", "indices": "indices"}[self.form]
        if not is_list(listed):
            raise error_at(where, f"{what} {answer!r:.60}, expected a decision: {expected}")
        try:
            vector: FloatArray = np.asarray(listed, float)
        except (TypeError, ValueError):
            raise error_at(where, f"{what} {answer!r:.60}, expected a decision: {expected}") from None
        form = "indices" if as_set or self.form == "indices" or vector.shape != (m,) else "vector"
        if form == "vector":
            self._check_form(form, vector, m, where, what)
            return vector
        indices = np.asarray(listed)
        whole = indices.ndim == 1 and (indices.dtype.kind in "iu" or not len(indices))
        distinct = whole and len(np.unique(indices)) == len(indices)
        if (self.form == "vector" and not as_set) or not distinct or (indices < 0).any() or (indices >= m).any():
            size = f"an array of shape {vector.shape}" if vector.ndim != 1 else f"{len(vector)} numbers"
            wanted = f"{m} numbers" if self.form == "vector" else f"{m} numbers, or distinct indices from 0 to {m - 1}"
            raise error_at(where, f"{what} {size}, expected a decision: {wanted}")
        if as_set:
            self._sets += 1
        else:
            self._check_form(form, vector, m, where, what)
        decision = np.zeros(m)
        decision[indices.astype(np.int64)] = 1.0
        return decision

    def _check_form(self, form: str, vector: FloatArray, m: int, where: Where, what: str) -> None:
        """Raise an error if lists of both forms occur, or if a vector may as well be all indices in some order."""
        if self.form != "auto":
            self._first.setdefault(form, "")
            return
        self._only_both = self._only_both and (not vector.size or vector.tolist() == [0.0, 1.0])
        if form == "vector" and m > 2 and np.array_equal(np.sort(vector), np.arange(m)):
            raise error_at(
                where,
                f"{what} {vector.tolist()!s:.60}, either {m} numbers or the indices of all variables: {DECLARE_FORM}",
            )
        if vector.size or form == "vector":
            self._first.setdefault(form, f"{vector.tolist()!s:.60}")
        if len(self._first) == 2:
            shown = f"{self._first['vector']}, {m} numbers, and {self._first['indices']}, indices"
            raise error_at(where, f"{what} lists of two kinds, {shown}: {DECLARE_FORM}")


def rounded(decisions: FloatArray) -> FloatArray:
    """Return the decisions without rounding errors of solvers beside integers."""
    whole = np.rint(decisions)
    return np.where(np.abs(decisions - whole) <= WHOLE_WITHIN, whole, decisions)


def shown(decision: FloatArray) -> str:
    """Return a decision as short text: the indices of its nonzero variables if all others are 1."""
    ones = np.flatnonzero(decision)
    text = f"variables {ones.tolist()}" if (decision[ones] == 1).all() else str(decision.tolist())
    return text if len(text) <= 80 else text[:79] + "…"


def _finite_costs(costs: Any) -> FloatArray:
    """Return a vector of costs; raise ValueError if it is not one, or if a cost is not finite."""
    try:
        row: FloatArray = np.asarray(costs, float)
    except (TypeError, ValueError):
        row = np.zeros((0, 0))
    if row.ndim != 1:
        raise ValueError(f"expected a vector of costs, a number for each variable, found {costs!r:.60}")
    bad = np.flatnonzero(~np.isfinite(row))
    if len(bad):
        raise ValueError(f"costs must be finite, found {row[bad[0]]} for variable {bad[0]}")
    return row


def _check_numbers(decisions: FloatArray, ids: IntArray) -> None:
    bad = np.flatnonzero(~np.isfinite(decisions).all(axis=1))
    if len(bad):
        decision = decisions[bad[0]]
        j = int(np.flatnonzero(~np.isfinite(decision))[0])
        raise StructureError.at(Place("X", ids[bad[0]]), f"solve returned {decision[j]} for variable {j}")


def _accepts(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    """Return whether a function can be called with these arguments; True if that cannot be known."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # no signature, as for some functions in C
        pass
    return True


def _called(place: Where, function: Callable[..., Any], *arguments: Any, hint: str = "") -> Any:
    """Call a user's function; its errors carry the place of the example."""
    try:
        return function(*arguments)
    except Exception as error:
        name = getattr(function, "__name__", type(function).__name__)
        ready = isinstance(getattr(function, "__self__", None), Optimizer)  # its messages speak for themselves
        message = str(error) if ready else f"{name} raised {type(error).__name__}: {error}"
        if isinstance(error, TypeError) and not _accepts(function, arguments):
            message += (
                "; it was called without an instance: instances= passes one for each example"
                if len(arguments) == 1
                else "; it was called with an instance: add a parameter for it, or leave out instances="
            )
        else:
            message += hint
        raise (
            StructureError.at(place, message) if isinstance(place, Place) else StructureError(f"{place}: {message}")
        ) from error


def cost_rows(costs: Sequence[Any], widths: IntArray, name: str) -> list[FloatArray]:
    """Return costs as vectors; raise an error that names the first of the wrong length or with a value not finite."""
    if len(widths) and (widths == widths[0]).all():
        try:
            table = np.array(costs, float)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.shape == (len(widths), widths[0]) and np.isfinite(table).all():
            return list(table)
    rows = []
    for i, row in enumerate(costs):
        place = Place(name, i)
        try:
            vector: FloatArray = np.asarray(row, float)
        except (TypeError, ValueError):
            hint = "; for decisions, set loss='hamming' or pass decisions=" if isinstance(row, Set) else ""
            raise error_at(place, f"expected {widths[i]} costs, found {row!r:.60}{hint}") from None
        if vector.shape != (widths[i],):
            shown = len(vector) if vector.ndim == 1 else f"an array of shape {vector.shape}"
            raise error_at(place, f"expected {widths[i]} costs, one for each variable, found {shown}")
        bad = np.flatnonzero(~np.isfinite(vector))
        if len(bad):
            raise error_at(place, f"costs must be finite, found {vector[bad[0]]} for variable {bad[0]}")
        rows.append(vector)
    return rows
