"""What solvers that only sum planes need of a problem."""

from __future__ import annotations

from typing import Protocol

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.objective import Objective


class Decodable(Protocol):
    """A convex problem whose planes can be found and summed.

    `Problem` is one, over the outputs of a structure; `together.HeldProblem` is another, over the planes held. Solvers
    with working sets need a `Problem`, because they keep planes one by one.
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
        """The ids of all examples."""
        ...

    @property
    def hinges(self) -> FloatArray:
        """b − w·a of the planes found last, at least 0."""
        ...

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """Find the most violated plane of each of ids, at w."""
        ...

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ slopes[i] a of the planes found last."""
        ...

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """Return P(w) by the hinges found last, and a proven upper bound."""
        ...
