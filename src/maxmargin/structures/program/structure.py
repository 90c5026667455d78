"""Decisions of linear and mixed-integer programs, whose objective is learnt (Taskar et al. 2005).

Ψ(x, z) = ± Σ_j z_j x_j        Δ(z, ẑ) = Σ_j |ẑ_j − z_j| over the variables whose true value is at a bound
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._base.checks import finite_number, is_list, positive_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import ONLY, kept_offsets, offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.highs import (
    INFEASIBLE,
    UNBOUNDED,
    Polyhedron,
    polyhedron,
    ranked_solutions,
    solve,
    violated,
)
from maxmargin.core.planes import NO_OUTPUT, Planes
from maxmargin.core.polytopes import Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.core.sums import PERTURB
from maxmargin.features.decision_forms import (
    INDICES,
    SET,
    VECTOR,
    indices_of,
    is_index_set,
    is_indices,
    written,
)
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table, costs_of
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.formed import FormedStructure
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

    Examples
    --------
    >>> import maxmargin as mm
    >>> values = [[3.0], [2.0], [2.0]]  # a feature of each of three items
    >>> at_most_two = mm.ProgramInput(values, A=[[1.0, 1.0, 1.0]], high=2.0)
    >>> model = mm.StructuralSVM(mm.Program(), C=1.0).fit([at_most_two], [[1, 1, 0]])
    >>> model.predict([mm.ProgramInput(values, A=[[1.0, 1.0, 1.0]], high=1.0)])
    [[1, 0, 0]]
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


class Program(FormedStructure):
    """The best decision of a linear or mixed-integer program, by features of its variables.

    The score of variable j is s_j = w·x_j, and the decision maximises s·z subject to low ≤ A z ≤ high and lower ≤ z ≤
    upper, where some variables are integers. Each x is a `ProgramInput`, or anything from which `build` makes one. Each
    z is a list of m numbers, or, if all variables are 0 or 1, the indices of those that are 1, as a list or a set;
    predictions have the form of the training outputs. HiGHS (Huangfu and Hall 2018) finds the argmaxes. Of
    decisions that differ in continuous variables only, `topk` returns the best one.

    The loss is ``Σ |ẑ_j − z_j|`` over the variables whose true value z_j is at its lower or upper bound, because only
    there it is linear: the number of wrong entries if all variables are 0 or 1. Variables strictly between their bounds
    do not count. If single variables have different costs, the output is a `PartCosts`: `false` for a variable above
    its true value, `missed` for one below, each a number or of shape (m,).

    Parameters
    ----------
    build : callable or None, default=None
        ``build(x)`` returns the `ProgramInput` of an input; None if inputs are `ProgramInput`.
    sense : {"max", "min"}, default="max"
        Whether w·x_j is the gain or the cost of a unit of variable j.
    time_limit : float or None, default=None
        Seconds after which a search for integers stops. The best decision found is used, and the bound that HiGHS
        proves keeps the certificate valid (`Certificate.primal_bound`). None for no limit.
    gap : float, default=0.0
        Relative gap at which a search for integers stops, with the same consequence.
    decision : {"auto", "vector", "indices", "set"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`, and raises an error if outputs have different forms or if
        several forms fit all of them.

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
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope"})
    learns: ClassVar[dict[str, type]] = {"variables_": VariableEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"variables_": "variables"}
    forms: ClassVar[tuple[str, ...]] = (VECTOR, INDICES, SET)
    described: ClassVar[dict[str, str]] = {VECTOR: "vectors"}

    def __init__(
        self,
        build: Any = None,
        *,
        sense: str = "max",
        time_limit: float | None = None,
        gap: float = 0.0,
        decision: str = "auto",
    ) -> None:
        self.build, self.sense, self.time_limit, self.gap = build, sense, time_limit, gap
        self.decision = decision

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether argmaxes are optimal: without a time limit and a gap."""
        return self.time_limit is None and not self.gap

    def check_parameters(self) -> None:
        super().check_parameters()
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
            if learn:
                binary = [bool((space.lower >= 0.0).all() and (space.upper <= 1.0).all()) for space in spaces]
                self._recognise(
                    Y,
                    sizes,
                    lambda form, y, i: _read_decision(y, form, spaces[i], places[i]),
                    {
                        VECTOR: lambda y, i: is_list(y) and len(y) == sizes[i],
                        INDICES: lambda y, i: binary[i] and is_indices(y, sizes[i]),
                        SET: lambda y, i: binary[i] and is_index_set(y, sizes[i]),
                    },
                )
            truths = [
                _read_decision(costs_of(y).output, self.form_, space, at)
                for y, space, at in zip(Y, spaces, places, strict=True)
            ]
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

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        """Return the code of a decision; indices say nothing about the variables after the last one."""
        return code_of_decision(_numbers_of(costs_of(y).output, self.form_, where))

    def output_of(self, code: CodeArray) -> Any:
        z = decision_of(code)
        if self.form_ != VECTOR:
            return written(np.flatnonzero(z > 0.5), self.form_, len(z))
        return [int(v) if v == np.rint(v) else v for v in z.tolist()]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return ``Σ |ẑ_j − z_j|`` over all variables, with their costs if y has costs.

        The limits of the variables are not known here, so variables strictly between them count as well.
        """
        z, z_hat = decision_of(self.code_of(y, "y")), decision_of(self.code_of(y_hat, "y_hat"))
        if self.form_ == VECTOR and len(z) != len(z_hat):
            raise ValueError(f"y has {len(z)} variables but y_hat has {len(z_hat)}")
        costs = [np.size(c) for c in (y.false, y.missed) if np.ndim(c)] if isinstance(y, PartCosts) else []
        size = max(len(z), len(z_hat), *costs)
        z, z_hat = (np.pad(numbers, (0, size - len(numbers))) for numbers in (z, z_hat))
        given = costs_above_and_below(y, len(z), "y")
        return float(given[0] @ np.maximum(z_hat - z, 0.0) + given[1] @ np.maximum(z - z_hat, 0.0))

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all decisions of a program of integers with finite bounds, for tests."""
        given = self._input(x, Place("X", 0))
        rows = self.variables_.encode([given.features])[0]
        space = read_polyhedron(given, rows.shape[0], "x")
        if not space.integer.all() or not np.isfinite(space.lower + space.upper).all():
            raise ValueError("x: only programs of integers with finite bounds can be enumerated")
        ranges = [range(int(np.ceil(a)), int(np.floor(b)) + 1) for a, b in zip(space.lower, space.upper, strict=True)]
        if np.prod([float(len(r)) for r in ranges]) > MOST_DECISIONS:
            raise ValueError(f"x: more than {MOST_DECISIONS} decisions to enumerate")
        decisions = (np.array(z, float) for z in product(*ranges))
        return (self.output_of(code_of_decision(z)) for z in decisions if violated(z, space) is None)

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> ProgramExamples:
        examples = super().encode(X, Y)
        assert isinstance(examples, ProgramExamples)
        return examples


def _numbers_of(decision: Any, form: str, where: Where, size: int | None = None) -> FloatArray:
    """Return the numbers of a decision; of indices, at least up to the last one."""
    if form != VECTOR:
        indices = indices_of(decision, form, where, "variable", size)
        z = np.zeros(int(indices.max(initial=-1)) + 1 if size is None else size)
        z[indices] = 1.0
        return z
    try:
        z = np.asarray(decision, float)
    except (TypeError, ValueError):
        z = np.zeros((0, 0))
    if isinstance(decision, str) or not is_list(decision) or z.ndim != 1 or not np.isfinite(z).all():
        raise error_at(where, f"expected a decision, a list of finite numbers, found {decision!r:.60}")
    return z


def _read_decision(decision: Any, form: str, space: Polyhedron, where: Where) -> CodeArray:
    """Return the code of a decision; raise an error if it is not one of its program."""
    z = _numbers_of(decision, form, where, len(space.lower))
    if len(z) != len(space.lower):
        raise error_at(where, f"{len(z)} numbers, but the program has {len(space.lower)} variables")
    fault = violated(z, space)
    if fault is not None:
        raise error_at(where, f"the decision breaks the constraints of its program: {fault}")
    return code_of_decision(np.where(space.integer, np.rint(z), z))


def read_polyhedron(x: ProgramInput, m: int, where: Where) -> Polyhedron:
    """Return the constraints of a program of m variables; raise ValueError if they cannot be read."""
    return polyhedron(*x[1:], m, where)


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
            "all variables are strictly between their bounds, so the loss is 0 for all decisions; tighten them",
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

    data: ClassVar[dict[str, str]] = {"polyhedra": ""}
    smallest_chunk, optional_parts = 1, True
    why_not_summable = (
        "to count the decisions that meet linear constraints is #P-hard (Valiant 1979); use Knapsack for one "
        f"constraint with whole weights, Path for flows without cycles; for other programs {PERTURB}"
    )

    def __init__(
        self, structure: Program, block: Block, polyhedra: list[Polyhedron], truths: Any, costs: FloatArray | None
    ) -> None:
        self.polyhedra = polyhedra
        self.exact, self.bounded = structure.exact, not structure.exact
        self.whole_counts = all(bool(space.integer.all()) for space in polyhedra)
        assert block.offsets is not None
        code_offsets = offsets_of(1 + 2 * np.diff(block.offsets))
        settings = (-1.0 if structure.time_limit is None else float(structure.time_limit), float(structure.gap))
        super().__init__(structure, [block], code_offsets, truths, [costs], settings)
        self.operations += 2e5 * self.n_examples

    def _most_parts(self) -> list[IntArray]:
        return [np.asarray(self.n_parts[0])]

    def _set_sizes(self) -> None:
        """Set bounds on plane entries; sums are exact in float32 only if decisions are small integers too."""
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
            solution = solve(values[starts[r] : starts[r + 1]], self.polyhedra[i], limit, self.settings[1])
            code, upper[r] = codes[self.code_offsets[i] : self.code_offsets[i + 1]], solution.upper
            if solution.z is not None:
                code[:] = code_of_decision(solution.z)
            elif solution.status == INFEASIBLE:
                code[0] = NO_OUTPUT
            elif solution.status == UNBOUNDED:
                raise StructureError.at(
                    Place("X", i), "the program is unbounded under the present weights; give bounds or constraints"
                )
            elif self.known:  # the true decision is feasible, and HiGHS found no other one in time
                code[:] = self.truths[self.code_offsets[i] : self.code_offsets[i + 1]]
            else:
                raise StructureError.at(
                    Place("X", i), f"no decision found within time_limit={limit}: {solution.message}; raise the limit"
                )
        return upper if self.bounded else None

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether the ranking lists all decisions: only those of integers can be listed one after the other."""
        return super().closes and self.whole_counts

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        values = self.augmented(scores, ONLY, np.full(1, scale))[0].values
        program = self.structure
        for total, z in ranked_solutions(values, self.polyhedra[0], program.time_limit, float(program.gap)):
            yield code_of_decision(z), total

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the best score of a decision with z_j ≥ 1, for each variable j; all must be integers."""
        values, space, limit = scores[0].values, self.polyhedra[0], None if self.settings[0] < 0 else self.settings[0]
        if not space.integer.all():
            raise TypeError("Program has no decision scores of continuous variables: use topk or explain")
        best, forced = solve(values, space, limit, self.settings[1]).z, np.full(len(values), -np.inf)
        if best is None:
            return None
        for j in range(len(values)):
            z: FloatArray | None = best
            if best[j] < 1.0 and space.upper[j] >= 1.0:
                lower = space.lower.copy()
                lower[j] = 1.0
                z = solve(values, space._replace(lower=lower), limit, self.settings[1]).z
            if z is not None and z[j] >= 1.0:
                forced[j] = float(values @ z)
        return [forced]

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
        offsets = offsets_of(self.n_parts[0][ids])
        symbols = codes[spans(ids, self.code_offsets)]
        z = np.delete(symbols, 2 * offsets[:-1] + np.arange(len(ids))).view(np.float64)
        used = z != 0.0
        return [Planes(kept_offsets(used, offsets), places(offsets)[used].astype(np.uint32), z[used])]

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        rest: list[AnyArray] = []
        for space in self.polyhedra:
            rest += [space.A.indptr, space.A.indices, space.A.data, *space[1:]]
        return *super().digest_arrays(), *rest
