"""Decisions of linear and mixed-integer programs, whose objective is learnt (Taskar et al. 2005).

Ψ(x, z) = ± Σ_j z_j x_j        Δ(z, ẑ) = Σ_j |ẑ_j − z_j| over the variables whose true value is at a bound
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._checked import finite_number, is_list, positive_number, whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import NO_OUTPUT, spans
from maxmargin.core.errors import Place, Where, error_at
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.encoding.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.program._highs import (
    INFEASIBLE,
    UNBOUNDED,
    Polyhedron,
    best_solutions,
    no_constraints,
    solve,
    violated,
)
from maxmargin.structures.program._integral import has_whole_vertices

#: Distance from a bound at which a value is at the bound.
AT_BOUND = 1e-9
#: Most decisions that `enumerate` yields.
MOST_DECISIONS = 1 << 20


class ProgramInput(NamedTuple):
    """One program: features of its variables, and its constraints low ≤ A z ≤ high, lower ≤ z ≤ upper.

    Parameters
    ----------
    features : array, sparse matrix or list
        A row for each of m variables: an array (m, d), a sparse matrix, or a list of dicts or lists of strings.
    A : array or sparse matrix of shape (k, m), optional
        Coefficients of the constraints; None for none.
    low, high : float or array of shape (k,), default=-inf, inf
        Limits of A z.
    lower, upper : float or array of shape (m,), default=0.0, 1.0
        Limits of z.
    integer : bool or array of bool of shape (m,), default=True
        Which variables are integers.
    """

    features: Any
    A: Any = None
    low: Any = -np.inf
    high: Any = np.inf
    lower: Any = 0.0
    upper: Any = 1.0
    integer: Any = True


class VariableEncoder(SequenceEncoder):
    """Encoder of the feature rows of variables."""

    row = "variable"


class Program(PartStructure):
    """The best decision of a linear or mixed-integer program, by features of its variables.

    The score of variable j is s_j = w·x_j, and the decision maximises s·z subject to low ≤ A z ≤ high and lower ≤ z ≤
    upper, where some variables are integers. Each x is a `ProgramInput`, or anything from which `build` makes one. Each
    z is a list of m numbers. HiGHS (Huangfu and Hall 2018) finds the argmaxes.

    The loss is Σ |ẑ_j − z_j| over the variables whose true value z_j is at its lower or upper bound, because only there
    it is linear: the number of wrong entries if all variables are 0 or 1. Variables strictly between their bounds do
    not count. If single variables have different costs, the output is a `PartCosts`: `false` for a variable above its
    true value, `missed` for one below, each a number or of shape (m,).

    Parameters
    ----------
    build : callable or None, default=None
        ``build(x)`` returns the `ProgramInput` of an input; None if inputs are `ProgramInput`.
    sense : {"max", "min"}, default="max"
        Whether w·x_j is the gain or the cost of a unit of variable j.
    time_limit : float or None, default=None
        Seconds after which a search for integers stops. The best decision found is used, and the proven bound of HiGHS
        keeps the certificate valid (`Certificate.primal_bound`). None for no limit.
    gap : float, default=0.0
        Relative gap at which a search for integers stops, with the same consequence.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = mm.ProgramInput(np.eye(3), A=[[2.0, 3.0, 4.0]], high=5.0)  # three items, and 5 to spend
    >>> model = mm.StructuralSVM(mm.Program(), C=10.0).fit([x], [[1, 1, 0]])
    >>> model.predict([x])
    [[1, 1, 0]]
    """

    output_name: ClassVar[str] = "decision"
    learns: ClassVar[dict[str, type]] = {"variables_": VariableEncoder}
    kernel_rows: ClassVar[tuple[str, ...]] = ("variables_",)

    def __init__(
        self, build: Any = None, *, sense: str = "max", time_limit: float | None = None, gap: float = 0.0
    ) -> None:
        self.build, self.sense, self.time_limit, self.gap = build, sense, time_limit, gap

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether argmaxes are optimal: without a time limit and a gap."""
        return self.time_limit is None and not self.gap

    def check_parameters(self) -> None:
        if self.build is not None and not callable(self.build):
            raise ValueError(f"build must be a function, or None, found {self.build!r:.60}")
        if self.sense not in ("min", "max"):
            raise ValueError(f"sense must be 'min' or 'max', found {self.sense!r}")
        if self.time_limit is not None:
            positive_number(self.time_limit, "time_limit")
        finite_number(self.gap, "gap")

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> ProgramExamples:
        inputs = [self._input(x, Place("X", i)) for i, x in enumerate(X)]
        features = [x.features for x in inputs]
        matrix, offsets = self.variables_.fit(features) if learn else self.variables_.encode(features)
        sizes = np.diff(offsets).tolist()
        spaces = [read_polyhedron(x, m, Place("X", i)) for i, (x, m) in enumerate(zip(inputs, sizes, strict=True))]
        truths, costs = None, None
        if Y is not None:
            places = [Place("Y", i) for i in range(len(X))]
            truths = [self._truth(y, space, at) for y, space, at in zip(Y, spaces, places, strict=True)]
            rows = [
                cost_row(y, decision_of(code), space, at, learn)
                for y, code, space, at in zip(Y, truths, spaces, places, strict=True)
            ]
            costs = np.concatenate([*rows, np.zeros(0)])
        block = Block(-matrix if self.sense == "min" else matrix, offsets)
        return ProgramExamples(self, block, spaces, truths, costs)

    def _input(self, x: Any, where: Place) -> ProgramInput:
        """Return the program of an input."""
        if self.build is not None:
            try:
                x = self.build(x)
            except Exception as error:
                raise StructureError.at(where, f"build raised {type(error).__name__}: {error}") from error
        if not isinstance(x, ProgramInput):
            what = "x" if self.build is None else "build(x)"
            raise error_at(where, f"expected {what} to be a ProgramInput, found {type(x).__name__}")
        return x

    def _truth(self, y: Any, space: Polyhedron, where: Where) -> CodeArray:
        code = self.code_of(y, where)
        z = decision_of(code)
        if len(z) != len(space.lower):
            raise error_at(where, f"{len(z)} numbers, but the program has {len(space.lower)} variables")
        fault = violated(z, space)
        if fault is not None:
            raise error_at(where, f"the decision breaks the constraints of its program: {fault}")
        z[space.integer] = np.rint(z[space.integer])
        return code_of_decision(z)

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        decision = y.output if isinstance(y, PartCosts) else y
        try:
            z = np.asarray(decision, float)
        except (TypeError, ValueError):
            z = np.zeros((0, 0))
        if isinstance(decision, str) or not is_list(decision) or z.ndim != 1 or not np.isfinite(z).all():
            raise error_at(where, f"expected a decision, a list of finite numbers, found {decision!r:.60}")
        return code_of_decision(z)

    def output_of(self, code: CodeArray) -> list[float]:
        return [int(v) if v == np.rint(v) else v for v in decision_of(code).tolist()]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Σ |ẑ_j − z_j| over all variables, with their costs if y has costs.

        The bounds of the program are not known here, so that variables strictly between them count as well.
        """
        z, z_hat = decision_of(self.code_of(y, "y")), decision_of(self.code_of(y_hat, "y_hat"))
        if len(z) != len(z_hat):
            raise ValueError(f"y has {len(z)} variables but y_hat has {len(z_hat)}")
        given = costs_above_and_below(y, len(z), "y")
        return float(given[0] @ np.maximum(z_hat - z, 0.0) + given[1] @ np.maximum(z - z_hat, 0.0))

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """Yield all decisions of a program of integers with finite bounds, for tests."""
        given = self._input(x, Place("X", 0))
        rows = self.variables_.encode([given.features])[0]
        space = read_polyhedron(given, rows.shape[0], "x")
        if not space.integer.all() or not np.isfinite(space.lower + space.upper).all():
            raise ValueError("x: only programs of integers with finite bounds can be enumerated")
        ranges = [range(int(np.ceil(a)), int(np.floor(b)) + 1) for a, b in zip(space.lower, space.upper, strict=True)]
        if np.prod([float(len(r)) for r in ranges]) > MOST_DECISIONS:
            raise ValueError(f"x: more than {MOST_DECISIONS} decisions to enumerate")
        decisions = map(list, product(*ranges))
        return (z for z in decisions if violated(np.array(z, float), space) is None)

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best decisions with their scores, best first; fewer if there are fewer.

        Of the decisions that differ in continuous variables only, the best one is returned.
        """
        examples = self.encode([x])
        (scores, _), space = examples.scores(np.asarray(w, float), np.zeros(1, np.int64))[0], examples.polyhedra[0]
        found = best_solutions(scores, space, whole_number(k, "k"), self.time_limit, float(self.gap))
        return [(self.output_of(code_of_decision(z)), score) for score, z in found]

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> ProgramExamples:
        examples = super().encode(X, Y)
        assert isinstance(examples, ProgramExamples)
        return examples


def read_polyhedron(x: ProgramInput, m: int, where: Where) -> Polyhedron:
    """Return the constraints of a program of m variables; raise ValueError if they cannot be read."""
    A = _matrix(x.A, m, where)
    k = A.shape[0]
    low, high = _numbers(x.low, k, "low", where), _numbers(x.high, k, "high", where)
    lower, upper = _numbers(x.lower, m, "lower", where), _numbers(x.upper, m, "upper", where)
    for name, first, second, bad in (("constraint", low, high, low > high), ("variable", lower, upper, lower > upper)):
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            raise error_at(where, f"infeasible: {name} {j} must be at least {first[j]:g} and at most {second[j]:g}")
    integer = np.asarray(x.integer)
    if integer.dtype != bool or (integer.ndim and integer.shape != (m,)):
        raise error_at(where, f"integer must be True, False or {m} bools, found {x.integer!r:.60}")
    return Polyhedron(A, low, high, lower, upper, np.broadcast_to(integer, (m,)))


def _matrix(A: Any, m: int, where: Where) -> Any:
    if A is None:
        return no_constraints(m)
    try:
        matrix = sp.csr_array(A) if sp.issparse(A) else np.asarray(A, float)
    except (TypeError, ValueError):
        raise error_at(where, f"A must be a matrix of numbers, found {A!r:.60}") from None
    if matrix.ndim != 2 or matrix.shape[1] != m:
        raise error_at(where, f"A has shape {matrix.shape}, but there are features of {m} variables")
    matrix = sp.csr_array(matrix)
    if not np.isfinite(matrix.data).all():
        raise error_at(where, "A must have finite numbers only")
    return matrix


def _numbers(values: Any, size: int, name: str, where: Where) -> FloatArray:
    try:
        numbers = np.asarray(values, float)
    except (TypeError, ValueError):
        raise error_at(where, f"{name} must be a number or {size} numbers, found {values!r:.60}") from None
    if np.isnan(numbers).any() or (numbers.ndim and numbers.shape != (size,)):
        raise error_at(where, f"{name} must be a number or {size} numbers, found {values!r:.60}")
    return np.broadcast_to(numbers, (size,))


def costs_above_and_below(y: Any, m: int, where: Where) -> tuple[FloatArray, FloatArray]:
    """Return the cost of a unit above and below the true value, for each of m variables; 1 by default."""
    if not isinstance(y, PartCosts):
        return np.ones(m), np.ones(m)
    return cost_table(y.false, (m,), "false", where), cost_table(y.missed, (m,), "missed", where)


def cost_row(y: Any, z: FloatArray, space: Polyhedron, where: Where, learn: bool) -> FloatArray:
    """Return l_j with Δ = Σ l_j (ẑ_j − z_j); raise ValueError if nothing can be learnt as no variable counts."""
    above, below = costs_above_and_below(y, len(z), where)
    room = AT_BOUND * (1.0 + np.abs(z))
    fixed = space.upper - space.lower <= 0
    at_lower, at_upper = (z <= space.lower + room) & ~fixed, (z >= space.upper - room) & ~fixed
    if learn and not fixed.all() and not (at_lower | at_upper).any():
        raise error_at(
            where,
            "all variables are strictly between their bounds, so that the loss is 0 for all decisions; tighten them",
        )
    return np.where(at_lower, above, np.where(at_upper, -below, 0.0))


def code_of_decision(z: FloatArray) -> CodeArray:
    """Return 0, then the bits of each number."""
    return np.concatenate([np.zeros(1, np.int32), (np.asarray(z, float) + 0.0).view(np.int32)])


def decision_of(code: CodeArray) -> FloatArray:
    """Return the numbers of a code."""
    return np.ascontiguousarray(code[1:]).view(np.float64).copy()


class ProgramExamples(PartExamples):
    """Programs; the code of a decision is 0 and the bits of its numbers.

    `polyhedra` holds the constraints of each program.
    """

    smallest_chunk = 1

    def __init__(
        self, structure: Program, block: Block, polyhedra: list[Polyhedron], truths: Any, costs: FloatArray | None
    ) -> None:
        self.polyhedra = polyhedra
        self.exact, self.bounded = structure.exact, not structure.exact
        self.whole_counts = all(bool(space.integer.all()) for space in polyhedra)
        assert block.offsets is not None
        code_offsets = np.concatenate([[0], np.cumsum(1 + 2 * np.diff(block.offsets))])
        settings = (-1.0 if structure.time_limit is None else float(structure.time_limit), float(structure.gap))
        super().__init__(structure, [block], code_offsets, truths, [costs], settings)
        self.operations += 2e5 * self.n_examples

    def _most_parts(self) -> list[IntArray]:
        return [np.asarray(self.n_parts[0])]

    def _set_sizes(self) -> None:
        """Set bounds of plane entries; sums are exact in float32 only if decisions are small integers too."""
        super()._set_sizes()
        largest = max((float(np.abs(limits).max(initial=0.0)) for space in self.polyhedra
                       for limits in (space.lower, space.upper)), default=0.0)  # fmt: skip
        self.float32_exact = self.float32_exact and largest <= 1.0

    def _check_true_costs(self) -> None:
        """Accept positive costs of parts of the truth: `cost_row` gives them only to variables at a lower bound."""

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> FloatArray | None:
        values, starts = scores[0]
        limit, upper = (None if self.settings[0] < 0 else self.settings[0]), np.empty(len(ids))
        for r, i in enumerate(ids.tolist()):
            found = solve(values[starts[r] : starts[r + 1]], self.polyhedra[i], limit, self.settings[1])
            code, upper[r] = codes[self.code_offsets[i] : self.code_offsets[i + 1]], found.upper
            if found.z is not None:
                code[:] = code_of_decision(found.z)
            elif found.status == INFEASIBLE:
                code[0] = NO_OUTPUT
            elif found.status == UNBOUNDED:
                raise StructureError.at(
                    Place("X", i), "the program is unbounded under the present weights; give bounds or constraints"
                )
            elif self.known:  # the true decision is feasible, and HiGHS found no other one in time
                code[:] = self.truths[self.code_offsets[i] : self.code_offsets[i + 1]]
            else:
                raise StructureError.at(
                    Place("X", i), f"no decision found within time_limit={limit}: {found.message}; raise the limit"
                )
        return upper if self.bounded else None

    def polytope(self, example: int) -> Polytope:
        """Return the linear program without its integers."""
        return Polytope(*self.polyhedra[example][:5])

    @property
    def integral(self) -> bool:  # type: ignore[override]
        """Whether linear programs are known to have whole solutions."""
        return all(map(has_whole_vertices, self.polyhedra))

    def _check_found(self, ids: IntArray, codes: CodeArray) -> None:
        without = ids[codes[self.code_offsets[ids]] == NO_OUTPUT]
        if len(without):
            raise StructureError.at(
                Place("X", without[0]), "the program is infeasible: no decision meets all constraints"
            )

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        lengths = self.n_parts[0][ids]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        symbols = codes[spans(ids, self.code_offsets)]
        z = np.delete(symbols, 2 * indptr[:-1] + np.arange(len(ids))).view(np.float64)
        used = np.concatenate([[0], np.cumsum(z != 0.0)])
        number = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
        return [Planes(used[indptr], number[z != 0.0].astype(np.uint32), z[z != 0.0])]

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"polyhedra": [self.polyhedra[i] for i in ids.tolist()]}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        rest: list[AnyArray] = []
        for space in self.polyhedra:
            rest += [space.A.indptr, space.A.indices, space.A.data, *space[1:]]
        return *super().digest_arrays(), *rest
