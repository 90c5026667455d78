"""Protocol of problems for solvers that only sum planes."""

from __future__ import annotations

from typing import Protocol

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.objective import Objective


class Decodable(Protocol):
    """Convex problem whose planes can be found and summed.

    `Problem` implements it over the outputs of a structure, `together.HeldProblem` over the held planes. Solvers with
    working sets need a `Problem`, because they store planes one by one.
    """

    oracle_calls: int

    @property
    def objective(self) -> Objective: ...

    @property
    def dim(self) -> int: ...

    @property
    def n_examples(self) -> int: ...

    @property
    def everyone(self) -> IntArray:
        """Ids of all examples."""
        ...

    @property
    def hinges(self) -> FloatArray:
        """Hinges b − w·a of the planes found last, at least 0."""
        ...

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """Find the most violated plane of each example in ids, at w."""
        ...

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ slopes[i] a of the planes found last."""
        ...

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """Return P(w) from the hinges found last, and a proven upper bound."""
        ...
