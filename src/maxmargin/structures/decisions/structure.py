"""`Decisions`: the structure of decisions that an optimiser takes under predicted linear costs."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import count
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import check_flag, finite_number, positive_number, stored_array, whole_number
from maxmargin._base.errors import Place, callers_level, error_at
from maxmargin._base.ragged import ONLY, split_rows
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.structure import Compiled, StructureError, WeightTable
from maxmargin.features.decision_forms import INDICES, SET, VECTOR, written
from maxmargin.optimizers.optimizer import (
    DECLARE_FORM,
    DecisionReader,
    Optimizer,
    as_optimizer,
    cost_rows,
    rounded,
    shown,
)
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import forcing_bonus
from maxmargin.structures.decisions.examples import DecisionExamples
from maxmargin.structures.decisions.inputs import WEIGHTS, FeatureEncoder, Inputs, Truth

#: Losses of known decisions by name.
LOSSES = ("hamming", "missed", "false")


class Decisions(Compiled):
    """Decisions of an optimiser with predicted costs ĉ_j = w·φ_j; `CostLearner` is its estimator.

    Each x holds the features of an example, or of each of its variables. Each y is a decision as the optimiser returns
    it.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser, or an object with ``solve(costs, instance)``.
    weights : {"per-variable", "shared", "both"}, default="per-variable"
        A vector of weights for each variable, applied to the d features of the example; one vector of weights for all
        variables, applied to the features of each variable, (m, d); or both, for pairs of these features.
    cost : {"hamming", "missed", "false"} or callable, default="hamming"
        Loss of a decision where decisions are known: the number of wrong variables, of those that are 1 in the known
        decision only or in the other one only, or ``cost(decision)`` that returns the coefficients l of a linear loss
        l·(ẑ − z). Where costs are known, the loss is the regret.
    standardize : bool, default=True
        Whether features are centred and divided by their standard deviation, and costs divided by their mean absolute
        value.
    centre : bool, default=True
        Whether standardised features are centred; False keeps nonnegative features nonnegative.
    intercept : float, default=1.0
        Value of the constant feature of an example: large values make its weights practically unregularised, 0 leaves
        it out.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.decisions()  # features, and the best assignments of three by three
    >>> model = mm.StructuralSVM(mm.Decisions(mm.Optimizer.assignment(3)), C=10.0).fit(X, Y)
    >>> model.predict(X[:1])[0].reshape(3, 3)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """

    no_kernel: ClassVar[str] = "predicted costs are linear in the features, which may be transformed before"
    output_name: ClassVar[str] = "decision"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk"})

    def __init__(
        self,
        optimizer: Any,
        *,
        weights: str = "per-variable",
        cost: str | Callable[..., Any] = "hamming",
        standardize: bool = True,
        centre: bool = True,
        intercept: float = 1.0,
    ) -> None:
        self.optimizer, self.weights, self.cost = optimizer, weights, cost
        self.standardize, self.centre, self.intercept = standardize, centre, intercept

    def check_parameters(self) -> None:
        optimizer = as_optimizer(self.optimizer)
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be {' or '.join(map(repr, WEIGHTS))}, found {self.weights!r}")
        check_loss(self.cost)
        if optimizer.costs == "nonnegative" and not callable(self.cost) and self.cost != one_sided(optimizer):
            raise ValueError(
                f"the optimizer has costs='nonnegative' and sense={optimizer.sense!r}: the loss must be "
                f"{one_sided(optimizer)!r}, which never makes a cost negative, found {self.cost!r}"
            )
        check_flag(self.standardize, "standardize")
        check_flag(self.centre, "centre")
        finite_number(self.intercept, "intercept")

    # ------------------------------------------------------------------ encoding

    def _paired(self, X: Any, Y: Any, learn: bool) -> DecisionExamples:
        return super()._paired(Inputs.of(X, self.weights), Y, learn)

    def _encoded(self, X: Inputs, Y: Sequence[Any] | None, learn: bool) -> DecisionExamples:
        optimizer = as_optimizer(self.optimizer)
        truths = None if Y is None else [y if isinstance(y, Truth) else Truth(y) for y in Y]
        if learn:
            assert truths is not None
            rows = self._fitted_rows(X, optimizer, truths)
        else:
            given = zip(self.encoders_, self._parts(X), X.names, strict=False)
            rows = [encoder.encode(part, names) for encoder, part, names in given]
        return self._examples(optimizer, X, rows, truths, learn)

    def _fitted_rows(self, inputs: Inputs, optimizer: Optimizer, truths: list[Truth]) -> list[Any]:
        """Learn what follows from the inputs and the first truth, and return the rows of each block."""
        self.encoders_ = [FeatureEncoder(shared) for shared in self._kinds()]
        parts = self._parts(inputs)
        rows = []
        for k, (encoder, part) in enumerate(zip(self.encoders_, parts, strict=True)):
            constant = 0.0 if k else float(self.intercept)
            centre = bool(self.centre) and optimizer.costs == "any"
            rows.append(encoder.fit(part, inputs.names[k], bool(self.standardize), centre, constant))
        self.regret_, self.cost_scale_ = truths[0].costs is not None, 1.0
        self.n_variables_ = self._width(optimizer, truths[0]) if self.weights != "shared" else -1
        self.whole_, self.form_ = True, VECTOR
        return rows

    def _kinds(self) -> list[bool]:
        """Return for each block whether its weights are shared by all variables."""
        return {"per-variable": [False], "shared": [True], "both": [False, True]}[self.weights]

    def _parts(self, inputs: Inputs) -> list[Any]:
        return list(inputs.features) if inputs.paired else [inputs.features]

    @staticmethod
    def _width(optimizer: Optimizer, truth: Truth) -> int:
        if optimizer.n_variables is not None:
            return optimizer.n_variables
        known = truth.decision if truth.costs is None else truth.costs
        if isinstance(known, set | frozenset) or np.ndim(known) != 1:
            raise ValueError("the number of variables is unknown: pass n_variables to the optimizer")
        return len(known)

    def _examples(
        self, optimizer: Optimizer, inputs: Inputs, rows: list[Any], truths: list[Truth] | None, learn: bool
    ) -> DecisionExamples:
        blocks = [
            Block(matrix, offsets, 1 if shared else self.n_variables_)
            for (matrix, offsets), shared in zip(rows, self._kinds(), strict=True)
        ]
        n = len(inputs)
        if optimizer.costs == "nonnegative":
            for (matrix, starts), encoder in zip(rows, self.encoders_, strict=True):
                check_nonnegative(matrix, starts, encoder.column_names())
        offsets = blocks[-1].part_offsets(n)
        widths = np.diff(offsets)
        if self.weights == "both" and (widths != self.n_variables_).any():
            i = int(np.flatnonzero(widths != self.n_variables_)[0])
            raise error_at(Place("X", i), f"features of {widths[i]} variables, expected {self.n_variables_}")
        known = None
        costs = self._true_costs(truths, widths)
        if learn and costs is not None and optimizer.costs == "nonnegative":
            raise ValueError(
                "the optimizer has costs='nonnegative', but learning from costs asks it about 2ĉ − c, which may be "
                "negative: pass decisions= only, those that the optimizer takes under these costs"
            )
        if learn and costs is not None and self.standardize:
            scale = float(np.abs(np.concatenate(costs)).mean())
            self.cost_scale_ = scale if scale > 0 else 1.0
        if inputs.known is not None:
            known = np.concatenate(cost_rows(inputs.known, widths, "known_costs")) / self.cost_scale_
            if optimizer.costs == "nonnegative" and (known < 0.0).any():
                i = int(np.searchsorted(offsets, np.flatnonzero(known < 0.0)[0], "right")) - 1
                raise error_at(Place("known_costs", i), "costs must be ≥ 0: the optimizer has costs='nonnegative'")
        if truths is None:
            nothing = np.zeros(int(offsets[-1]))
            return self._made(optimizer, blocks, offsets, known, inputs, None, nothing)
        decisions = self._true_decisions(optimizer, inputs, truths, costs, widths, learn)
        flat = np.concatenate(decisions)
        fractional = np.flatnonzero(np.rint(flat) != flat)
        if learn:
            self.whole_ = len(fractional) == 0 if optimizer.integral is None else optimizer.integral
        if self.whole_ and len(fractional):
            i = int(np.searchsorted(offsets, fractional[0], "right")) - 1
            j = fractional[0] - offsets[i]
            raise StructureError.at(
                Place("Y", i), f"expected integers, found {flat[fractional[0]]:.6g} for variable {j}"
            )
        if costs is not None:
            losses = optimizer.sign / self.cost_scale_ * np.concatenate(costs)
        elif self.regret_:  # the truths are outputs without costs, whose joint features are wanted
            losses = np.zeros(len(flat))
        else:
            each = [linear_loss(self.cost, z, Place("Y", i)) for i, z in enumerate(decisions)]
            if learn and callable(self.cost) and optimizer.costs == "nonnegative":
                check_one_sided(optimizer, decisions, each)
            elif learn and callable(self.cost):
                self._check_losses(optimizer, inputs, decisions, each, widths)
            losses = np.concatenate(each)
        return self._made(optimizer, blocks, offsets, known, inputs, flat, losses)

    def _made(
        self, optimizer: Optimizer, blocks: list[Block], offsets: IntArray, known: FloatArray | None, inputs: Inputs,
        decisions: FloatArray | None, losses: FloatArray,
    ) -> DecisionExamples:  # fmt: skip
        return DecisionExamples(
            self, optimizer, blocks, offsets, known, inputs.instances, decisions, losses, 2.0 if self.regret_ else 1.0,
            self.whole_,
        )  # fmt: skip

    def _true_costs(self, truths: list[Truth] | None, widths: IntArray) -> list[FloatArray] | None:
        if truths is None or not self.regret_ or all(truth.costs is None for truth in truths):
            return None
        alone = all(truth.decision is None for truth in truths)
        return cost_rows([truth.costs for truth in truths], widths, "Y" if alone else "costs")

    def _true_decisions(
        self,
        optimizer: Optimizer,
        inputs: Inputs,
        truths: list[Truth],
        costs: list[FloatArray] | None,
        widths: IntArray,
        learn: bool = False,
    ) -> list[FloatArray]:
        """Return the known decisions, or those that the optimiser takes under the true costs."""
        decisions: list[Any] = [None] * len(truths)
        reader = DecisionReader(optimizer.decision)
        for i, truth in enumerate(truths):
            if truth.decision is not None:
                decisions[i] = rounded(reader.read(truth.decision, int(widths[i]), Place("Y", i), "found"))
        if learn:
            _check_one_form(truths)
            self.form_ = reader.form_read
            if reader.ambiguous and optimizer.checked and optimizer.feasible is None:
                warnings.warn(
                    f"all decisions are [0, 1], either vectors or the indices of both variables, and are read as "
                    f"vectors: {DECLARE_FORM}",
                    UserWarning,
                    stacklevel=callers_level(),
                )
        given = np.array([i for i, z in enumerate(decisions) if z is not None], np.int64)
        missing = np.array([i for i, z in enumerate(decisions) if z is None], np.int64)
        for ids in _by_width(given, widths):
            places = [Place("Y", i) for i in ids.tolist()]
            what = "expected a feasible decision, found"
            optimizer.check_feasible(np.stack([decisions[i] for i in ids]), _instances(inputs, ids), places, what)
        for ids in _by_width(missing, widths):
            assert costs is not None
            table = optimizer.sign * np.stack([costs[i] for i in ids])
            for i, z in zip(ids, optimizer.decide(table, _instances(inputs, ids), ids).decisions, strict=True):
                decisions[i] = z
        return decisions

    @staticmethod
    def _check_losses(
        optimizer: Optimizer, inputs: Inputs, decisions: list[FloatArray], losses: list[FloatArray], widths: IntArray
    ) -> None:
        """Raise an error if a user's loss is negative: the optimiser looks for the decision of least loss."""
        for ids in _by_width(np.arange(len(losses)), widths):
            best = optimizer.decide(np.stack([losses[i] for i in ids]), _instances(inputs, ids), ids).decisions
            for i, z in zip(ids.tolist(), best, strict=True):
                least = float(losses[i] @ (z - decisions[i]))
                if least < -1e-6 * float(np.abs(losses[i]).sum()):
                    raise error_at(
                        Place("Y", i),
                        f"the loss of the decision {shown(z)} is {least:.6g}, but losses must be ≥ 0: loss(decision) "
                        f"returns the coefficients l of l·(ẑ − z), such as 1 − 2z",
                    )

    # ------------------------------------------------------------------ use

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the loss of a vector; its regret in units of `cost_scale_` if y is a `Truth` with costs."""
        truth = y if isinstance(y, Truth) else Truth(y)
        width, optimizer = len(y_hat), as_optimizer(self.optimizer)
        if truth.costs is not None:
            c = optimizer.sign * np.asarray(truth.costs, float) / self.cost_scale_
            best = truth.decision if truth.decision is not None else optimizer.solve(truth.costs)
            return max(0.0, float(c @ (np.asarray(y_hat, float) - np.asarray(best, float))))
        true = rounded(DecisionReader(optimizer.decision).read(truth.decision, width, "y", "found"))
        change = rounded(np.asarray(y_hat, float)) - true
        return max(0.0, float(linear_loss(self.cost, true, "y") @ change))

    def predicted_costs(self, w: FloatArray, examples: DecisionExamples) -> list[FloatArray]:
        """Return the predicted costs of each example in the user's units, known ones included."""
        rows: list[Any] = [None] * examples.n_examples
        everyone = np.arange(examples.n_examples)
        for ids in _by_width(everyone, examples.widths):
            for i, row in zip(ids, self.cost_scale_ * examples.costs(w, ids), strict=True):
                rows[i] = row
        return rows

    def judged(self, inputs: Inputs, truths: list[Truth]) -> list[tuple[FloatArray, FloatArray]]:
        """Return the true costs and the known or optimal decision of each example."""
        if self.weights == "shared":
            widths = np.diff(self.encoders_[0].encode(inputs.features, None)[1])
        else:
            widths = np.full(len(inputs), self.n_variables_)
        costs = cost_rows([truth.costs for truth in truths], widths, "Y")
        decisions = self._true_decisions(as_optimizer(self.optimizer), inputs, truths, costs, widths)
        return list(zip(costs, decisions, strict=True))

    def written(self, decision: AnyArray) -> Any:
        """Return a decision in the form of the known decisions: a vector, or the indices of variables that are 1."""
        return decision if self.form_ == VECTOR else written(np.flatnonzero(decision), self.form_, len(decision))

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best decisions with their scores, best first, for 0/1 decisions.

        After a decision is found, the others are partitioned by the first variable in which they differ from it
        (Lawler 1972): one call of the optimiser for each variable, with costs that force the values before it.
        """
        examples = self.encode(x if isinstance(x, Inputs) else self._single_input(x))
        optimizer = as_optimizer(self.optimizer)
        scores = examples.factor * examples.costs(np.asarray(w, float), ONLY)[0]
        if optimizer.costs == "nonnegative":
            return self._topk_of_nonnegative(examples, scores, whole_number(k, "k"))
        force, instances = forcing_bonus(scores), examples.instances
        number, waiting, best = count(), list[Any](), list[tuple[Any, float]]()

        def ask(fixed: dict[int, float]) -> None:
            costs = scores.copy()
            for j, value in fixed.items():
                costs[j] += force * (0.5 - value) * 2.0
            z = optimizer.decide(costs[None], instances, ONLY).decisions[0]
            if all(z[j] == value for j, value in fixed.items()):
                heapq.heappush(waiting, (float(scores @ z), next(number), z, fixed))

        ask({})
        while len(best) < whole_number(k, "k") and waiting:
            total, _, z, fixed = heapq.heappop(waiting)
            if not ((z == 0) | (z == 1)).all():
                raise TypeError("k best decisions need 0/1 decisions")
            best.append((z.astype(np.int64), -total))
            fixed = dict(fixed)
            for j in range(len(z) if len(best) < k else 0):
                if j not in fixed:
                    ask({**fixed, j: 1.0 - z[j]})
                    fixed[j] = z[j]
        return best

    @staticmethod
    def _topk_of_nonnegative(examples: DecisionExamples, scores: FloatArray, k: int) -> list[tuple[Any, float]]:
        """Return the k best decisions of an optimiser that needs costs ≥ 0: variables are forbidden, never forced.

        Decisions other than z lack a variable of z, if none contains another one (as with paths); so the best of them
        is the best of those without one of its variables.
        """
        if examples.optimizer.sense == "max":
            raise TypeError("k best decisions of an optimizer with costs='nonnegative' need sense='min'")
        number, force = count(), forcing_bonus(scores)
        waiting, best, seen, asked = list[Any](), list[tuple[Any, float]](), set[bytes](), set[frozenset[int]]()

        def ask(forbidden: frozenset[int]) -> None:
            asked.add(forbidden)
            costs = scores.copy()
            costs[list(forbidden)] += force
            z = examples.optimizer.decide(costs[None], examples.instances, ONLY).decisions[0]
            if not z[list(forbidden)].any():
                heapq.heappush(waiting, (float(scores @ z), next(number), z, forbidden))

        ask(frozenset())
        while len(best) < k and waiting:
            total, _, z, forbidden = heapq.heappop(waiting)
            if z.tobytes() not in seen:
                seen.add(z.tobytes())
                best.append((z.astype(np.int64), -total))
            for j in np.flatnonzero(z).tolist() if len(best) < k else ():
                if forbidden | {j} not in asked:
                    ask(forbidden | {j})
        return best

    def _single_input(self, x: Any) -> Any:
        if self.weights != "both":
            return [x]
        return [x[0]], [x[1]]

    def argmax(self, w: FloatArray, x: Any) -> Any:
        return self._single(self.encode(x if isinstance(x, Inputs) else self._single_input(x)), w, 0.0)

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) as a dense vector."""
        inputs = x if isinstance(x, Inputs) else self._single_input(x)
        return self.encode(inputs, [y]).joint_features()

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._single(self.encode(x if isinstance(x, Inputs) else self._single_input(x), [y]), w, scale)

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all decisions, by `topk`, for tests of small optimisers."""
        return (z for z, _ in self.topk(np.zeros(int(self.size or 0)), x, 10**6))

    # ------------------------------------------------------------------ names and saving

    def tables(self) -> dict[str, WeightTable]:
        variables = [str(j) for j in range(self.n_variables_)]
        return {
            "shared" if shared else "per-variable": WeightTable(encoder.column_names(), None if shared else variables)
            for encoder, shared in zip(self.encoders_, self._kinds(), strict=True)
        }

    def _learnt(self) -> dict[str, Any]:
        return {
            "encoders": [encoder.get_state() for encoder in self.encoders_], "n_variables": self.n_variables_,
            "regret": self.regret_, "cost_scale": self.cost_scale_, "whole": self.whole_, "form": self.form_,
        }  # fmt: skip

    def _set_learnt(self, learnt: Any) -> None:
        kinds = self._kinds()
        self.encoders_ = [
            FeatureEncoder(s).set_state(state) for s, state in zip(kinds, learnt["encoders"], strict=True)
        ]
        self.n_variables_, expected = learnt["n_variables"], as_optimizer(self.optimizer).n_variables
        if self.weights == "shared":
            self.n_variables_ = -1
        elif expected not in (None, whole_number(self.n_variables_, "n_variables", 0)):
            raise ValueError(f"{self.n_variables_} variables, but the optimizer has {expected}")
        for name in ("regret", "whole"):
            check_flag(learnt[name], name)
        self.regret_, self.whole_ = learnt["regret"], learnt["whole"]
        self.cost_scale_ = positive_number(learnt["cost_scale"], "cost_scale")
        if learnt["form"] not in (VECTOR, INDICES, SET):
            raise ValueError(f"expected the form of decisions, found {learnt['form']!r:.60}")
        self.form_ = learnt["form"]
        self._set_size()

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        lengths = np.array([len(z) for z in outputs], np.int64)
        return {"decisions": np.concatenate([*outputs, np.zeros(0)]).astype(float), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        flat = stored_array(packed["decisions"], "decisions", np.float64, (None,))
        kind = np.int64 if self.whole_ else np.float64
        return [z.astype(kind) for z in split_rows(flat, packed["lengths"])]


def check_loss(loss: Any) -> None:
    """Raise ValueError unless the loss is known or a function."""
    if not callable(loss) and loss not in LOSSES:
        raise ValueError(f"loss must be {', '.join(map(repr, LOSSES))} or a function of a decision, found {loss!r}")


def one_sided(optimizer: Optimizer) -> str:
    """Return the loss that never makes a cost negative: it adds to costs to minimise, or to values to maximise."""
    return "missed" if optimizer.sense == "min" else "false"


def check_one_sided(optimizer: Optimizer, decisions: list[FloatArray], losses: list[FloatArray]) -> None:
    """Raise an error if a user's loss may be negative or make costs negative, for an optimiser that needs costs ≥ 0."""
    for i, (z, coefficients) in enumerate(zip(decisions, losses, strict=True)):
        zero = z == 0 if optimizer.sense == "min" else z != 0
        bad = np.flatnonzero((optimizer.sign * coefficients > 0.0) | (zero & (coefficients != 0.0)))
        if len(bad):
            rule = (
                "≤ 0 where the decision is 1, and 0"
                if optimizer.sense == "min"
                else "≥ 0 where the decision is 0, and 0"
            )
            raise error_at(
                Place("Y", i),
                f"the optimizer has costs='nonnegative': the coefficients of the loss must be {rule} elsewhere; "
                f"found {coefficients[bad[0]]:.6g} for variable {bad[0]}, which is {z[bad[0]]:.6g}",
            )


def check_nonnegative(matrix: Any, starts: IntArray, names: list[str]) -> None:
    """Raise an error that names the first example with a feature below 0, for an optimiser that needs costs ≥ 0."""
    coordinates = sp.coo_array(matrix)
    bad = np.flatnonzero(coordinates.data < 0.0)
    if len(bad):
        row, column = (int(axis[bad[0]]) for axis in (coordinates.row, coordinates.col))
        i = int(np.searchsorted(starts, row, "right")) - 1
        raise error_at(
            Place("X", i),
            f"the optimizer has costs='nonnegative': features must be ≥ 0, found {coordinates.data[bad[0]]:.6g} "
            f"for {names[column]}; shift it, or split it into max(x, 0) and max(−x, 0)",
        )


def linear_loss(loss: Any, decision: FloatArray, where: Any) -> FloatArray:
    """Return the coefficients l of the loss l·(ẑ − z) for a known decision z."""
    if callable(loss):
        coefficients = np.asarray(loss(decision), float)
        if coefficients.shape != decision.shape or not np.isfinite(coefficients).all():
            raise error_at(
                where,
                f"loss must return {len(decision)} finite coefficients, found an array of shape {coefficients.shape}",
            )
        return coefficients
    bad = np.flatnonzero((decision != 0) & (decision != 1))
    if len(bad):
        raise error_at(
            where,
            f"the loss {loss!r} needs 0/1 decisions, found {decision[bad[0]]:.6g} for variable {bad[0]}; pass a "
            f"function that returns the coefficients of a linear loss",
        )
    if loss == "missed":
        return -decision
    return 1.0 - decision if loss == "false" else 1.0 - 2.0 * decision


def _instances(inputs: Inputs, ids: IntArray) -> list[Any] | None:
    return None if inputs.instances is None else [inputs.instances[i] for i in ids.tolist()]


def _check_one_form(truths: list[Truth]) -> None:
    """Raise an error if some decisions are sets of indices and others are not."""
    known = [(i, isinstance(truth.decision, Set)) for i, truth in enumerate(truths) if truth.decision is not None]
    other = next((i for i, is_set in known if is_set != known[0][1]), None)
    if other is not None:
        this, before = ("a set", "lists") if not known[0][1] else ("a list", "sets")
        raise error_at(
            Place("Y", other),
            f"decisions have different forms: this is {this}, but those before it are {before}; use one form for all",
        )


def _by_width(ids: IntArray, widths: IntArray) -> Iterator[IntArray]:
    for m in np.unique(widths[ids]):
        yield ids[widths[ids] == m]
