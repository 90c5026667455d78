"""Choices of items within a capacity, whose values are learnt.

Ψ(x, z) = Σ_j z_j x_j        Δ(z, ẑ) = number of items that only one of z and ẑ has
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import finite_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import kept_offsets, offsets_among, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.highs import Polyhedron, solve
from maxmargin.algorithms.subset_sums import subset_samples, subset_sums
from maxmargin.core.planes import NO_OUTPUT, Planes
from maxmargin.core.scores import Scores
from maxmargin.core.sums import PERTURB
from maxmargin.features.decision_forms import INDICES, SET, VECTOR, indices_of, written
from maxmargin.features.graphs.graphs import check_row_counts, read_allowed
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, costs_of, part_costs
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.parts.formed import FormedStructure
from maxmargin.structures.knapsack import _jit
from maxmargin.structures.knapsack import _states as states

#: Entries of the table of a dynamic program above which a list of states is used.
LARGEST_TABLE = 1 << 25
#: Length of a list of states above which HiGHS is used.
MOST_STATES = 1 << 21
#: Excess over the capacity that is taken for rounding, relative to the capacity.
ROUNDING = 1e-9


class ItemEncoder(SequenceEncoder):
    """Encoder of the feature rows of items."""

    row = "item"


class Knapsack(FormedStructure):
    """The most valuable items within a capacity, by features of the items.

    Each x is a tuple (features, weights, capacity), optionally with `allowed` added:

    - features: a row for each item, as an array (m, d), a sparse matrix, or a list of dicts or lists of strings;
    - weights: m numbers ≥ 0; the weights of the chosen items add up to at most the capacity, a number ≥ 0;
    - allowed: an array of m bools; the score of other items is −∞.

    Each z lists 1 for each chosen item and 0 for each other item, or the indices of the chosen items, or it is a set of
    them; predictions have the form of the training outputs. If single items have different costs, it is a `PartCosts`
    with costs of shape (m,).

    Argmaxes are exact: a table over capacities if weights are integers, a list of undominated choices (Nemhauser
    and Ullmann 1969) if they are not, or if the table would be large. Only if the list would be large too, HiGHS
    (Huangfu and Hall 2018) decides, within its tolerance of 10⁻⁶.

    Parameters
    ----------
    decision : {"auto", "vector", "indices", "set"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`, and raises an error if outputs have different forms or if
        several forms fit all of them.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.array([[3.0, 0.0], [2.0, 1.0], [2.0, 0.0]]), [3, 2, 2], 4
    >>> model = mm.StructuralSVM(mm.Knapsack(), C=10.0).fit([x], [[0, 1, 1]])
    >>> model.predict([x])
    [[0, 1, 1]]
    """

    output_name: ClassVar[str] = "choice"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "sums"})
    learns: ClassVar[dict[str, type]] = {"items_": ItemEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"items_": "items"}
    forms: ClassVar[tuple[str, ...]] = (VECTOR, INDICES, SET)

    def __init__(self, *, decision: str = "auto") -> None:
        self.decision = decision

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> KnapsackExamples:
        inputs = [_read(x, Place("X", i)) for i, x in enumerate(X)]
        features = [x.features for x in inputs]
        matrix, offsets = self.items_.fit(features) if learn else self.items_.encode(features)
        check_row_counts(offsets, np.array([len(x.weights) for x in inputs], np.int64), "item", "weights")
        forbidden = None
        if any(x.allowed is not None for x in inputs):
            masks = [np.zeros(len(x.weights), bool) if x.allowed is None else ~x.allowed for x in inputs]
            forbidden = np.concatenate(masks)
        truths, costs = None, None
        if Y is not None:
            if learn:
                self._recognise(
                    Y,
                    [len(x.weights) for x in inputs],
                    lambda form, y, i: self._choice(y, form, inputs[i], Place("Y", i)),
                )
            pairs = list(zip(Y, inputs, strict=True))
            truths = [self._choice(costs_of(y).output, self.form_, x, Place("Y", i)) for i, (y, x) in enumerate(pairs)]
            rows = [_cost_row(y, code, Place("Y", i)) for i, (y, code) in enumerate(zip(Y, truths, strict=True))]
            costs = np.concatenate([*rows, np.zeros(0)])
        weights = np.concatenate([*(x.weights for x in inputs), np.zeros(0)])
        capacities = np.array([x.capacity for x in inputs])
        return KnapsackExamples(self, Block(matrix, offsets, forbidden=forbidden), weights, capacities, truths, costs)

    @staticmethod
    def _choice(chosen: Any, form: str, x: _Input, where: Where) -> CodeArray:
        """Return the code of a choice; raise an error if it is not one of its knapsack."""
        code = np.zeros(len(x.weights), np.int32)
        code[indices_of(chosen, form, where, "item", len(code))] = 1
        total = float(x.weights @ code)
        if total > x.capacity * (1.0 + ROUNDING):
            raise error_at(where, f"the chosen items weigh {total:g}, but the capacity is {x.capacity:g}")
        blocked = np.flatnonzero(~x.allowed & (code == 1)) if x.allowed is not None else np.zeros(0, int)
        if len(blocked):
            raise error_at(where, f"item {blocked[0]} is forbidden by X")
        return code

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        """Return 1 for each chosen item; a list or set of indices says nothing about the items after the last one."""
        chosen = y.output if isinstance(y, PartCosts) else y
        items = indices_of(chosen, self.form_, where, "item")
        code = np.zeros(len(chosen) if self.form_ == VECTOR else int(items.max(initial=-1)) + 1, np.int32)
        code[items] = 1
        return code

    def output_of(self, code: CodeArray) -> Any:
        return written(np.flatnonzero(code), self.form_, len(code))

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of items that only one choice has, or the costs of false and missed items."""
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if self.form_ == VECTOR and len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} items but y_hat has {len(predicted)}")
        costs = [np.size(c) for c in (y.false, y.missed) if np.ndim(c)] if isinstance(y, PartCosts) else []
        size = max(len(true), len(predicted), *costs)
        true, predicted = (np.pad(code, (0, size - len(code))) for code in (true, predicted))
        return float(_cost_row(y, true, "y") @ (predicted - true))

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all choices of allowed items within the capacity, for tests."""
        read = _read(x, "x")
        most = np.ones(len(read.weights), int) if read.allowed is None else read.allowed.astype(int)
        choices = (np.array(z) for z in product(*(range(m + 1) for m in most)))
        return (self.output_of(z) for z in choices if float(read.weights @ z) <= read.capacity * (1.0 + ROUNDING))


class _Input(NamedTuple):
    """One input, read."""

    features: Any
    weights: FloatArray
    capacity: float
    allowed: AnyArray | None


def _read(x: Any, where: Where) -> _Input:
    if not isinstance(x, tuple | list) or len(x) not in (3, 4):
        shown = f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__
        raise error_at(where, f"expected (features, weights, capacity[, allowed]), found {shown}")
    features, given, capacity = x[:3]
    try:
        weights = np.asarray(given, float)
    except (TypeError, ValueError):
        weights = np.zeros((0, 0))
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise error_at(where, f"weights must be finite numbers ≥ 0, one for each item, found {given!r:.60}")
    if len(weights) == 0:
        raise error_at(where, "expected at least one item, found none")
    try:
        capacity = finite_number(capacity.item() if isinstance(capacity, np.generic) else capacity, "the capacity")
    except ValueError as error:
        raise error_at(where, str(error)) from None
    allowed = read_allowed(x[3], weights.shape, "items", where) if len(x) == 4 else None
    return _Input(features, weights, capacity, allowed)


def _cost_row(y: Any, code: CodeArray, where: Where) -> FloatArray:
    """Return l of every item: false costs, minus missed costs for the chosen items."""
    return part_costs(costs_of(y, 1.0, 1.0), code.shape, code == 1, where)


class KnapsackExamples(PartExamples):
    """Items of all knapsacks; the code of a choice is 1 for each chosen item and 0 for the others."""

    data: ClassVar[dict[str, str]] = {"weights": "code_offsets", "capacities": ""}
    derived: ClassVar[dict[str, str]] = {"entries": "", "tabled": ""}
    nested = optional_parts = True

    def __init__(
        self,
        structure: Knapsack,
        block: Block,
        weights: FloatArray,
        capacities: FloatArray,
        truths: Any,
        costs: FloatArray | None,
    ) -> None:
        self.weights, self.capacities = weights, capacities
        assert block.offsets is not None
        self._set_tables(block.offsets)
        super().__init__(structure, [block], block.offsets, truths, [costs])
        lists = np.diff(block.offsets)[~self.tabled].astype(float)
        self.operations += float(self.entries[self.tabled].sum()) + float((50.0 * lists**2).sum())

    def _set_tables(self, offsets: IntArray) -> None:
        """Decide which examples are solved by a table: whole weights, and not too many entries."""
        whole = np.array([bool((w == np.rint(w)).all()) for w in np.split(self.weights, offsets[1:-1])], bool)
        totals = np.add.reduceat(self.weights, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
        self.entries = np.diff(offsets) * (1.0 + np.minimum(np.floor(self.capacities), totals))
        self.tabled = whole[: len(offsets) - 1] & (self.entries <= LARGEST_TABLE)

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        values, starts = scores[0]
        rows = np.flatnonzero(self.tabled[ids])
        if len(rows):
            whole, room = self._whole_weights
            _jit.best_choices(ids[rows], values, starts[rows], whole, self.code_offsets, room, codes)
        for r in np.flatnonzero(~self.tabled[ids]).tolist():
            i = int(ids[r])
            span = slice(*self.code_offsets[i : i + 2])
            own, capacity = values[starts[r] : starts[r + 1]], float(self.capacities[i]) * (1.0 + ROUNDING)
            if not states.best_choice(own, self.weights[span], capacity, MOST_STATES, codes[span]):
                codes[span] = self._by_highs(own, i)

    @property
    def _whole_weights(self) -> tuple[IntArray, IntArray]:
        """Weights and capacities as integers, for the examples with a table."""
        limit, room = float(LARGEST_TABLE), np.floor(self.capacities * (1.0 + ROUNDING))
        return np.minimum(self.weights, limit).astype(np.int64), np.minimum(room, limit).astype(np.int64)

    def _by_highs(self, scores: FloatArray, i: int) -> CodeArray:
        m, weights = len(scores), self.weights[slice(*self.code_offsets[i : i + 2])]
        size = float(self.capacities[i]) or 1.0
        space = Polyhedron(
            sp.csr_array(weights[None] / size), np.array([-np.inf]), np.array([self.capacities[i] / size]),
            np.zeros(m), (weights <= self.capacities[i]).astype(float), np.ones(m, bool),
        )  # fmt: skip
        solution = solve(scores, space, None, 0.0)
        if solution.z is None:
            return np.full(m, NO_OUTPUT, np.int32)
        chosen = solution.z.astype(np.int32)
        for j in np.argsort(scores).tolist():  # items beyond the capacity, within HiGHS' tolerance
            if weights @ chosen <= self.capacities[i] * (1.0 + ROUNDING):
                break
            chosen[j] = 0
        return chosen

    # ------------------------------------------------------------------ sums over outputs

    @property
    def summable(self) -> bool:  # type: ignore[override]
        """Whether all examples have tables over capacities."""
        return bool(self.tabled.all())

    @property
    def why_not_summable(self) -> str:  # type: ignore[override]
        """The first example without a table, and what to do."""
        i = int(np.flatnonzero(~self.tabled)[0])
        if self.entries[i] > LARGEST_TABLE:
            what = f"a table over its capacities has {self.entries[i]:.3g} entries, more than {LARGEST_TABLE}; use "
            what += "coarser weights"
        else:
            what = "its weights are not integers; multiply weights and capacity so that they are, or round them"
        return f"sums over choices need weights that are integers. X[{i}]: {what}, or {PERTURB}"

    def _subsets(self, scores: list[Scores], ids: IntArray) -> tuple[Any, ...]:
        """Return the arguments of sums over subsets."""
        if not self.tabled[ids].all():
            raise self.not_summable()
        (values, starts), (weights, room) = scores[0], self._whole_weights
        return starts, values, self.code_offsets[ids], weights, room[ids], False

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        into = coefficients, log_partitions, expected_scores, marginals[0]
        subset_sums(*self._subsets(scores, ids), *into)

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.zeros((n, int(scores[0].starts[-1])), np.int32)
        subset_samples(*self._subsets(scores, ids), seeds, codes)
        return codes

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        offsets = offsets_among(ids, self.code_offsets)
        chosen = codes[spans(ids, self.code_offsets)] == 1
        return [counted_once(kept_offsets(chosen, offsets), places(offsets)[chosen])]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Return scores of +∞ for forced and −∞ for forbidden items."""
        changed = scores[0].values.copy()
        changed[[p for _, p in forced if changed[p] > -np.inf]] = np.inf
        changed[[p for _, p in forbidden]] = -np.inf
        return [Scores(changed, scores[0].starts)]
