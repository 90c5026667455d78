"""Inspection of a fitted model: its support planes, its weights, single decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import whole_number
from maxmargin._base.extras import missing_package
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.structure import Structure, check_names, has_topk, plain_output
from maxmargin.custom.any_values import equal, own_copy
from maxmargin.custom.joint_features import sparse_vector
from maxmargin.problem import Problem
from maxmargin.solvers.base import State

#: Largest number of outputs that are scored to find a runner-up.
MOST_ENUMERATED = 10_000
#: Longest text of an output that is shown whole, and number of differences that are listed.
LONGEST_SHOWN, MOST_DIFFERENCES = 400, 5


@dataclass(frozen=True)
class SupportPlane:
    """One plane with a dual value above 0. ``Σ alpha · plane`` approaches `coef_` − `prior` as the gap closes.

    Attributes
    ----------
    example : int
        Index of the example in X.
    output : object
        The competing output; None if it was lost (user-defined structures in a resumed fit).
    alpha : float
        Dual value.
    value : float
        b of the plane: the loss, or its square root for quadratic slack; with a prior minus its share of the margin.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.rows()
    >>> plane = mm.MulticlassSVM(C=1.0).fit(X, y).support_[0]
    >>> bool(plane.output != y[plane.example]), plane.value  # the competing class, and its loss
    (True, 1.0)
    """

    example: int
    output: Any
    alpha: float
    value: float


@dataclass(frozen=True)
class Support:
    """The planes with a dual value above 0, as a sequence of `SupportPlane` and as arrays.

    Attributes
    ----------
    examples : ndarray of shape (n_planes,)
        Index of the example of each plane in X.
    outputs : list
        Competing outputs.
    alphas : ndarray of shape (n_planes,)
        Dual values.
    values : ndarray of shape (n_planes,)
        b of each plane.
    rows : Planes
        The planes as sparse rows.
    dim : int
        Number of weights.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.rows()
    >>> support = mm.MulticlassSVM(C=1.0).fit(X, y).support_
    >>> len(support) == len(support.alphas), bool((support.alphas > 0.0).all())
    (True, True)
    """

    examples: IntArray
    outputs: list[Any]
    alphas: FloatArray
    values: FloatArray
    rows: Planes
    dim: int

    @cached_property
    def planes(self) -> sp.csr_array:
        """The planes as a sparse matrix of `dim` columns, created at first access."""
        return self.rows.matrix(self.dim)

    @classmethod
    def of(cls, problem: Problem, state: State, positions: IntArray) -> Support | None:
        """Return the support of a solver's state; None if the solver keeps only sums of planes."""
        support = state.support(problem)
        if support is None:
            return None
        keys = support["key"]
        if problem.references is not None:
            keys = problem.references.swapped(keys, support["example"])
        outputs = problem.examples.outputs_of(support["example"], keys, support["codes"])
        where = positions[support["example"]]
        return cls(where, outputs, support["alpha"], support["value"], support["planes"], problem.dim)

    def outputs_by_example(self, positions: IntArray) -> dict[int, list[Any]]:
        """Return the outputs of each example, those of greatest dual value first; `positions` are those of `of`."""
        by_example: dict[int, list[Any]] = {}
        example = dict(zip(positions.tolist(), range(len(positions)), strict=True))
        for k in np.argsort(-self.alphas, kind="stable").tolist():
            by_example.setdefault(example[int(self.examples[k])], []).append(self.outputs[k])
        return by_example

    def __len__(self) -> int:
        return len(self.examples)

    @overload
    def __getitem__(self, position: int) -> SupportPlane: ...

    @overload
    def __getitem__(self, position: slice) -> Support: ...

    def __getitem__(self, position: int | slice) -> SupportPlane | Support:
        """Return one plane, or some of them as a `Support`."""
        if isinstance(position, slice):
            chosen = np.arange(len(self))[position]
            return Support(
                self.examples[position], self.outputs[position], self.alphas[position], self.values[position],
                self.rows.rows(chosen), self.dim,
            )  # fmt: skip
        return SupportPlane(
            int(self.examples[position]), self.outputs[position], float(self.alphas[position]),
            float(self.values[position]),
        )  # fmt: skip

    def __iter__(self) -> Iterator[SupportPlane]:
        return (self[position] for position in range(len(self)))


@dataclass(frozen=True)
class Explanation:
    """Why an output won.

    Attributes
    ----------
    prediction : object
        The output of the argmax, as in `predict`.
    score : float
        Its score.
    runner_up : object
        The best other output, or None.
    margin : float
        Score of the prediction minus that of the runner-up; infinite without another output, and below 0 if an
        argmax that is not exact missed a better output.
    contributions : list of (str, float)
        Names and amounts of the weights that contribute most to the margin, largest first.
    rest : float
        Contribution of all other weights: the margin is the sum of `rest` and the amounts.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.words()
    >>> why = mm.ColumnTagger().fit(X, Y).explain(["Ana", "sings"])
    >>> why.prediction, why.runner_up
    (['PER', 'O'], ['PER', 'LOC'])
    >>> abs(sum(amount for _, amount in why.contributions) + why.rest - why.margin) < 1e-9
    True
    """

    prediction: Any
    score: float
    runner_up: Any
    margin: float
    contributions: list[tuple[str, float]]
    rest: float = 0.0

    def __str__(self) -> str:
        only = self.runner_up is None and self.margin == float("inf")
        why = "is the only output" if only else f"beats {_shortened(self.runner_up)} by {self.margin:.4g}"
        lines = [f"{_shortened(self.prediction)} (score {self.score:.4g}) {why}"]
        lines += [] if only else _differences(self.prediction, self.runner_up)
        lines += [f"  {amount:+.4g}  {name}" for name, amount in self.contributions]
        lines += [f"  {self.rest:+.4g}  all others"] if self.rest else []
        return "\n".join(lines)


def _shortened(output: Any) -> str:
    """Return the text of an output; of a long one, its beginning and its length."""
    text = repr(output)
    if len(text) <= LONGEST_SHOWN:
        return text
    size = f" ({len(output)} entries)" if hasattr(output, "__len__") else ""
    return f"{text[: LONGEST_SHOWN // 2]} …{size}"


def _differences(output: Any, other: Any) -> list[str]:
    """Return where two lists differ that are too long to be shown."""
    lists = isinstance(output, list) and isinstance(other, list) and len(output) == len(other)
    if not lists or len(repr(output)) <= LONGEST_SHOWN:
        return []
    places = [p for p, pair in enumerate(zip(output, other, strict=True)) if not equal(*pair)]
    few = [f"entry {p}: {output[p]!r:.40} instead of {other[p]!r:.40}" for p in places[:MOST_DIFFERENCES]]
    rest = f"; {len(places) - len(few)} more" if len(places) > len(few) else ""
    return [f"  they differ in {len(places)} of {len(output)} entries ({'; '.join(few)}{rest})"]


def explain(structure: Structure, w: FloatArray, x: Any, names: AnyArray, n_features: int) -> Explanation:
    """Return the comparison of the output predicted for x with the best other one."""
    n_features = whole_number(n_features, "n_features", 0)
    check_names(names, len(w))
    prediction = own_copy(plain_output(structure.argmax(w, x)))  # the next call may overwrite the same object
    ranked = _ranked(structure, w, x)
    score = next((score for output, score in ranked if equal(output, prediction)), None)
    if score is None:  # one of many that are equally good, or an argmax that is not exact
        score = _score(structure, w, x, prediction)
    other = next((pair for pair in ranked if not equal(pair[0], prediction)), None)
    if other is None:
        return Explanation(prediction, score, None, float("inf"), [])
    runner_up, second = other
    amounts = _amounts(structure, w, x, prediction, runner_up)
    order = np.argsort(-np.abs(amounts), kind="stable")
    contributions = [(str(names[j]), float(amounts[j])) for j in order[:n_features] if amounts[j] != 0]
    rest = float(amounts[order[n_features:]].sum())
    return Explanation(prediction, score, runner_up, score - second, contributions, rest)


def why_not_explained(structure: Structure) -> str:
    """Return why `explain` has no runner-up to compare outputs of a structure with; an empty text if it has."""
    name = type(structure).__name__
    if hasattr(structure, "instead_of_explain"):
        return f"{name} cannot explain an output: use {structure.instead_of_explain}"
    ranked = has_topk(structure) or hasattr(structure, "enumerate")
    return "" if ranked else f"to find a runner-up, {name} needs topk(w, x, k) or enumerate(x)"


def _ranked(structure: Structure, w: FloatArray, x: Any) -> list[tuple[Any, float]]:
    """Return at least the two best outputs with their scores, best first."""
    if has_topk(structure):
        ranked = own_copy(structure.topk(w, x, 2))  # type: ignore[attr-defined]
        return [(output, float(score)) for output, score in ranked]
    outputs = map(own_copy, islice(structure.enumerate(x), MOST_ENUMERATED + 1))  # type: ignore[attr-defined]
    scored = [(output, _score(structure, w, x, output)) for output in outputs]
    if len(scored) > MOST_ENUMERATED:
        raise ValueError(
            f"enumerate(x) has more than {MOST_ENUMERATED} outputs, too many to find a runner-up: "
            f"{type(structure).__name__} needs topk(w, x, k)"
        )
    return sorted(scored, key=lambda pair: -pair[1])


def _score(structure: Structure, w: FloatArray, x: Any, output: Any) -> float:
    indices, values = _entries(structure, x, output)
    return float(values @ w[indices])


def _amounts(structure: Structure, w: FloatArray, x: Any, output: Any, other: Any) -> FloatArray:
    """Return the contribution of each weight to the difference of the scores of two outputs."""
    difference = np.zeros(len(w))
    np.add.at(difference, *_entries(structure, x, output))
    np.subtract.at(difference, *_entries(structure, x, other))
    return w * difference


def _entries(structure: Structure, x: Any, output: Any) -> tuple[IntArray, FloatArray]:
    """Return Ψ as (indices, values), copied, since a structure may reuse its arrays."""
    indices, values, _ = sparse_vector(structure.joint_feature(x, output))
    return np.array(indices, np.int64), np.array(values, float)


def weights_frame(columns: dict[str, AnyArray], w: FloatArray) -> Any:
    """Return a description of each weight and its value as a pandas frame, largest first."""
    for names in columns.values():
        check_names(names, len(w))
    try:
        import pandas as pd
    except ImportError:
        raise missing_package("weights as a data frame need", "pandas", "data") from None
    order = np.argsort(-np.abs(w), kind="stable")
    return pd.DataFrame({**{name: column[order] for name, column in columns.items()}, "weight": w[order]})
