"""`Decisions`: the structure of decisions that an optimiser takes under predicted linear costs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin._checked import check_flag, finite_number, whole_number
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.errors import Place, error_at
from maxmargin.core.structure import Compiled, StructureError
from maxmargin.optimizers.optimizer import Optimizer, as_decision, as_optimizer, rounded, shown
from maxmargin.parts.blocks import Block
from maxmargin.structures.decisions.examples import DecisionExamples
from maxmargin.structures.decisions.inputs import WEIGHTS, FeatureEncoder, Inputs, Truth, cost_rows


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
    cost : "hamming" or callable, default="hamming"
        Loss of a decision where decisions are known: the number of wrong variables, or ``cost(decision)`` that returns
        the coefficients l of a linear loss l·(ẑ − z). Where costs are known, the loss is the regret.
    standardize : bool, default=True
        Whether features are centred and divided by their standard deviation, and costs divided by their mean absolute
        value.
    centre : bool, default=True
        Whether standardised features are centred; False keeps nonnegative features nonnegative.
    intercept : float, default=1.0
        Value of the constant feature of an example: large values make its weights practically unregularised, 0 leaves
        it out.
    """

    no_kernel: ClassVar[str] = "predicted costs are linear in the features, which may be transformed before"
    output_name: ClassVar[str] = "decision"

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
        as_optimizer(self.optimizer)
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be {' or '.join(map(repr, WEIGHTS))}, found {self.weights!r}")
        check_loss(self.cost)
        check_flag(self.standardize, "standardize")
        check_flag(self.centre, "centre")
        finite_number(self.intercept, "intercept")

    # ------------------------------------------------------------------ encoding

    def fit(self, X: Any, Y: Sequence[Any]) -> Self:
        self.check_parameters()
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Any, Y: Sequence[Any]) -> DecisionExamples:
        inputs, optimizer = Inputs.of(X, self.weights), as_optimizer(self.optimizer)
        if len(inputs) != len(Y):
            raise ValueError(f"X has {len(inputs)} examples but Y has {len(Y)}")
        truths = [y if isinstance(y, Truth) else Truth(y) for y in Y]
        self.encoders_ = [FeatureEncoder(shared) for shared in self._kinds()]
        parts = self._parts(inputs)
        rows = []
        for k, (encoder, part) in enumerate(zip(self.encoders_, parts, strict=True)):
            constant = 0.0 if k else float(self.intercept)
            rows.append(encoder.fit(part, inputs.names[k], bool(self.standardize), bool(self.centre), constant))
        self.regret_, self.cost_scale_ = truths[0].costs is not None, 1.0
        self.n_variables_ = self._width(optimizer, truths[0]) if self.weights != "shared" else -1
        self.whole_ = True
        examples = self._examples(optimizer, inputs, rows, truths, learn=True)
        self.size = examples.dim
        return examples

    def encode(self, X: Any, Y: Sequence[Any] | None = None) -> DecisionExamples:
        inputs = Inputs.of(X, self.weights)
        given = zip(self.encoders_, self._parts(inputs), inputs.names, strict=False)
        rows = [encoder.encode(part, names) for encoder, part, names in given]
        truths = None if Y is None else [y if isinstance(y, Truth) else Truth(y) for y in Y]
        return self._examples(as_optimizer(self.optimizer), inputs, rows, truths, learn=False)

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
        offsets = blocks[-1].part_offsets(n)
        widths = np.diff(offsets)
        if self.weights == "both" and (widths != self.n_variables_).any():
            i = int(np.flatnonzero(widths != self.n_variables_)[0])
            raise error_at(Place("X", i), f"features of {widths[i]} variables, expected {self.n_variables_}")
        known = None
        costs = self._true_costs(truths, widths)
        if learn and costs is not None and self.standardize:
            scale = float(np.abs(np.concatenate(costs)).mean())
            self.cost_scale_ = scale if scale > 0 else 1.0
        if inputs.known is not None:
            known = np.concatenate(cost_rows(inputs.known, widths, "known_costs")) / self.cost_scale_
        if truths is None:
            nothing = np.zeros(int(offsets[-1]))
            return self._made(optimizer, blocks, offsets, known, inputs, None, nothing)
        decisions = self._true_decisions(optimizer, inputs, truths, costs, widths)
        flat = np.concatenate(decisions)
        fractional = np.flatnonzero(np.rint(flat) != flat)
        if learn:
            self.whole_ = len(fractional) == 0 if optimizer.integral is None else optimizer.integral
        if self.whole_ and len(fractional):
            i = int(np.searchsorted(offsets, fractional[0], "right")) - 1
            j = fractional[0] - offsets[i]
            raise StructureError.at(
                Place("Y", i), f"expected whole numbers, found {flat[fractional[0]]:.6g} for variable {j}"
            )
        if costs is not None:
            losses = optimizer.sign / self.cost_scale_ * np.concatenate(costs)
        elif self.regret_:  # the truths are outputs without costs, whose joint features are wanted
            losses = np.zeros(len(flat))
        else:
            each = [linear_loss(self.cost, z, Place("Y", i)) for i, z in enumerate(decisions)]
            if learn and callable(self.cost):
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
        return cost_rows([truth.costs for truth in truths], widths, "Y")

    def _true_decisions(
        self,
        optimizer: Optimizer,
        inputs: Inputs,
        truths: list[Truth],
        costs: list[FloatArray] | None,
        widths: IntArray,
    ) -> list[FloatArray]:
        """Return the known decisions, or those that the optimiser takes under the true costs."""
        decisions: list[Any] = [None] * len(truths)
        for i, truth in enumerate(truths):
            if truth.decision is not None:
                decisions[i] = rounded(as_decision(truth.decision, int(widths[i]), Place("Y", i), "found"))
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
            found = optimizer.decide(np.stack([losses[i] for i in ids]), _instances(inputs, ids), ids).decisions
            for i, z in zip(ids.tolist(), found, strict=True):
                least = float(losses[i] @ (z - decisions[i]))
                if least < -1e-6 * float(np.abs(losses[i]).sum()):
                    raise error_at(
                        Place("Y", i),
                        f"the loss of the decision {shown(z)} is {least:.6g}, but losses must be ≥ 0: loss(decision) "
                        f"returns the coefficients l of l·(ẑ − z), such as 1 − 2z",
                    )

    # ------------------------------------------------------------------ use

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the loss of a decision, or its regret in units of `cost_scale_` if y is a `Truth` with costs."""
        truth = y if isinstance(y, Truth) else Truth(y)
        width = len(y_hat)
        if truth.costs is not None:
            optimizer = as_optimizer(self.optimizer)
            c = optimizer.sign * np.asarray(truth.costs, float) / self.cost_scale_
            best = truth.decision if truth.decision is not None else optimizer.solve(truth.costs)
            return max(0.0, float(c @ (as_decision(y_hat, width, "y_hat", "found") - np.asarray(best, float))))
        true = rounded(as_decision(truth.decision, width, "y", "found"))
        change = rounded(as_decision(y_hat, width, "y_hat", "found")) - true
        return max(0.0, float(linear_loss(self.cost, true, "y") @ change))

    def _joint_features(self, examples: Any) -> FloatArray:
        psi: FloatArray = examples.joint_features()
        return psi

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

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best decisions with their scores, best first, for 0/1 decisions.

        After a decision is found, the others are partitioned by the first variable in which they differ from it
        (Lawler 1972): one call of the optimiser for each variable, with costs that force the values before it.
        """
        examples = self.encode(x if isinstance(x, Inputs) else self._single_input(x))
        only, optimizer = np.zeros(1, np.int64), as_optimizer(self.optimizer)
        scores = examples.factor * examples.costs(np.asarray(w, float), only)[0]
        force, instances = 1.0 + 2.0 * float(np.abs(scores).sum()), examples.instances
        number, waiting, found = count(), list[Any](), list[tuple[Any, float]]()

        def ask(fixed: dict[int, float]) -> None:
            costs = scores.copy()
            for j, value in fixed.items():
                costs[j] += force * (0.5 - value) * 2.0
            z = optimizer.decide(costs[None], instances, only).decisions[0]
            if all(z[j] == value for j, value in fixed.items()):
                heapq.heappush(waiting, (float(scores @ z), next(number), z, fixed))

        ask({})
        while len(found) < whole_number(k, "k") and waiting:
            total, _, z, fixed = heapq.heappop(waiting)
            if not ((z == 0) | (z == 1)).all():
                raise TypeError("k best decisions need 0/1 decisions")
            found.append((z.astype(np.int64), -total))
            fixed = dict(fixed)
            for j in range(len(z) if len(found) < k else 0):
                if j not in fixed:
                    ask({**fixed, j: 1.0 - z[j]})
                    fixed[j] = z[j]
        return found

    def _single_input(self, x: Any) -> Any:
        if self.weights != "both":
            return [x]
        return [x[0]], [x[1]]

    def argmax(self, w: FloatArray, x: Any) -> Any:
        return self._single(self.encode(x if isinstance(x, Inputs) else self._single_input(x)), w, 0.0)

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) as a dense vector."""
        inputs = x if isinstance(x, Inputs) else self._single_input(x)
        return self._joint_features(self.encode(inputs, [y]))

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._single(self.encode(x if isinstance(x, Inputs) else self._single_input(x), [y]), w, scale)

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all decisions, by `topk`, for tests of small optimisers."""
        return (z for z, _ in self.topk(np.zeros(int(self.size or 0)), x, 10**6))

    # ------------------------------------------------------------------ names and saving

    def feature_names(self) -> AnyArray:
        names: list[str] = []
        for encoder, shared in zip(self.encoders_, self._kinds(), strict=True):
            columns = encoder.column_names()
            names += columns if shared else [f"{c} → {j}" for c in columns for j in range(self.n_variables_)]
        return np.array(names, object)

    def _learnt(self) -> dict[str, Any]:
        return {
            "encoders": [encoder.get_state() for encoder in self.encoders_], "n_variables": self.n_variables_,
            "regret": self.regret_, "cost_scale": self.cost_scale_, "whole": self.whole_,
        }  # fmt: skip

    def _set_learnt(self, learnt: Any) -> None:
        self.check_parameters()
        kinds = self._kinds()
        self.encoders_ = [
            FeatureEncoder(s).set_state(state) for s, state in zip(kinds, learnt["encoders"], strict=True)
        ]
        self.n_variables_, self.regret_ = int(learnt["n_variables"]), bool(learnt["regret"])
        self.cost_scale_, self.whole_ = float(learnt["cost_scale"]), bool(learnt["whole"])
        self.size = sum(
            len(encoder.column_names()) * (1 if shared else self.n_variables_)
            for encoder, shared in zip(self.encoders_, kinds, strict=True)
        )

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        lengths = np.array([len(z) for z in outputs], np.int64)
        return {"decisions": np.concatenate([*outputs, np.zeros(0)]).astype(float), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        flat, ends = np.asarray(packed["decisions"], float), [0, *np.cumsum(packed["lengths"]).tolist()]
        if ends[-1] != len(flat):
            raise ValueError(f"expected decisions of {ends[-1]} numbers in total, found {len(flat)}")
        kind = np.int64 if self.whole_ else np.float64
        return [flat[a:b].astype(kind) for a, b in pairwise(ends)]


def check_loss(loss: Any) -> None:
    """Raise ValueError unless the loss is known or a function."""
    if not callable(loss) and loss != "hamming":
        raise ValueError(f"loss must be 'hamming' or a function of a decision, found {loss!r}")


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
            f"the Hamming loss needs 0/1 decisions, found {decision[bad[0]]:.6g} for variable {bad[0]}; pass a "
            f"function that returns the coefficients of a linear loss",
        )
    return 1.0 - 2.0 * decision


def _instances(inputs: Inputs, ids: IntArray) -> list[Any] | None:
    return None if inputs.instances is None else [inputs.instances[i] for i in ids.tolist()]


def _by_width(ids: IntArray, widths: IntArray) -> Iterator[IntArray]:
    for m in np.unique(widths[ids]):
        yield ids[widths[ids] == m]
