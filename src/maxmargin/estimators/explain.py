"""Ways to look inside a fitted model: the planes it rests on, its weights, one decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._checked import whole_number
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.planes import Planes
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures._joint_features import sparse_vector
from maxmargin.structures.base import Structure, StructureError


@dataclass(frozen=True)
class SupportPlane:
    """One active plane. ``Σ alpha · plane`` is the weights that attain the lower bound: `coef_` as the gap closes.

    Attributes
    ----------
    example : position of the example in X.
    output : the competing output; None where it is no longer known (own structures after `resume`).
    alpha : dual value.
    value : b of the plane: the loss, or its root for quadratic slack.
    """

    example: int
    output: Any
    alpha: float
    value: float


@dataclass(frozen=True)
class Support:
    """The planes with a dual value above 0, as a sequence of `SupportPlane` and as arrays."""

    examples: IntArray
    outputs: list[Any]
    alphas: FloatArray
    values: FloatArray
    rows: Planes
    dim: int

    @cached_property
    def planes(self) -> sp.csr_array:
        """The planes as a matrix of `dim` columns, made when it is first asked for."""
        return self.rows.matrix(self.dim)

    @classmethod
    def of(cls, problem: Problem, state: State, positions: IntArray) -> Support | None:
        found = state.support(problem)
        if found is None:
            return None
        keys = found["key"]
        if problem.references is not None:
            keys = problem.references.swapped(keys, found["example"])
        outputs = [
            problem.examples.output(i, key, code)
            for i, key, code in zip(found["example"].tolist(), keys.tolist(), found["codes"], strict=True)
        ]
        where = positions[found["example"]]
        return cls(where, outputs, found["alpha"], found["value"], found["planes"], problem.dim)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, position: int) -> SupportPlane:
        return SupportPlane(
            int(self.examples[position]), self.outputs[position], float(self.alphas[position]),
            float(self.values[position]),
        )  # fmt: skip

    def __iter__(self) -> Iterator[SupportPlane]:
        return (self[position] for position in range(len(self)))


@dataclass(frozen=True)
class Decision:
    """Why an output won.

    Attributes
    ----------
    prediction, score : the best output and its score.
    runner_up, margin : the second best, and by how much it lost; None and infinite where there is no other.
    contributions : (name, amount) of the weights that tell the two apart most, largest first: `n_features` of them.
    rest : the sum over all other weights; together with the amounts shown it is the margin.
    """

    prediction: Any
    score: float
    runner_up: Any
    margin: float
    contributions: list[tuple[str, float]]
    rest: float = 0.0

    def __str__(self) -> str:
        lines = [f"{self.prediction!r} (score {self.score:.4g}) beats {self.runner_up!r} by {self.margin:.4g}"]
        lines += [f"  {amount:+.4g}  {name}" for name, amount in self.contributions]
        lines += [f"  {self.rest:+.4g}  all others"] if self.rest else []
        return "\n".join(lines)


def explain(structure: Structure, w: FloatArray, x: Any, names: AnyArray, n_features: int) -> Decision:
    """The best output of x against the second best."""
    n_features = whole_number(n_features, "n_features", 0)
    check_names(names, len(w))
    best = _two_best(structure, w, x)
    (prediction, score) = best[0]
    if len(best) == 1:
        return Decision(prediction, score, None, float("inf"), [])
    runner_up, second = best[1]
    difference = np.zeros(len(w))
    for sign, output in ((1.0, prediction), (-1.0, runner_up)):
        indices, values, _ = sparse_vector(structure.joint_feature(x, output))
        np.add.at(difference, indices.astype(int), sign * values)
    amounts = w * difference
    order = np.argsort(-np.abs(amounts), kind="stable")
    contributions = [(str(names[j]), float(amounts[j])) for j in order[:n_features] if amounts[j] != 0]
    rest = float(amounts[order[n_features:]].sum())
    return Decision(prediction, score, runner_up, score - second, contributions, rest)


def _two_best(structure: Structure, w: FloatArray, x: Any) -> list[tuple[Any, float]]:
    if hasattr(structure, "topk"):
        return list(structure.topk(w, x, 2))
    if hasattr(structure, "enumerate"):
        scored = []
        for output in structure.enumerate(x):
            indices, values, _ = sparse_vector(structure.joint_feature(x, output))
            scored.append((output, float(values @ w[indices.astype(int)])))
        return sorted(scored, key=lambda pair: -pair[1])[:2]
    raise TypeError(f"to name a runner-up, {type(structure).__name__} needs topk(w, x, k) or enumerate(x)")


def check_names(names: AnyArray, size: int) -> None:
    """One name for each weight, else a sentence."""
    if names.shape != (size,):
        found = len(names) if names.ndim == 1 else f"an array of shape {names.shape}"
        raise StructureError(f"feature_names must give one name for each of {size} weights, found {found}")


def weights_frame(names: AnyArray, w: FloatArray) -> Any:
    """Names and weights as a pandas frame, largest first."""
    check_names(names, len(w))
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("weights as a data frame need pandas: pip install 'maxmargin[data]'") from None
    order = np.argsort(-np.abs(w), kind="stable")
    return pd.DataFrame({"feature": names[order], "weight": w[order]})
