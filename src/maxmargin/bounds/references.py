"""References: the planes that take the truth's place when a bound is a difference of two convex functions.

A ramp or a latent bound takes away what a second argmax finds (papers 4 and 5),

    Σ c_i (max_ŷ (b − a·w) − max_ỹ (−ã·w)),

where (a, b) are the planes of the bound, and ỹ runs over all outputs (ramp; ã is scaled as the bound scales it) or over
the completions of the truth (latent). With ỹ_i fixed the second part is linear, and the rest is a hinge again, because
the difference of two planes is a plane: (a − ã_i, b − b̃_i), with the reference itself as the plane (0, 0) and the
constant Σ C c_i b̃_i beside it. No structure knows the difference, and of the solvers only those that take their planes
along when references change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.codes import TRUTH
from maxmargin.core.planes import Planes


@dataclass(frozen=True)
class References:
    """For each example a plane (ã, b̃) relative to the truth that the examples were encoded with, and its key."""

    keys: IntArray
    values: FloatArray
    planes: Planes

    @classmethod
    def truths(cls, n_examples: int) -> References:
        """The truths themselves."""
        nothing = Planes(np.zeros(n_examples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0))
        return cls(np.full(n_examples, TRUTH, np.int64), np.zeros(n_examples), nothing)

    def rises(self, w: FloatArray) -> FloatArray:
        """−ã·w of every example: what the bound takes away at w."""
        return -self.planes.dot(w)

    def levels(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """b̃ − ã·w of ids."""
        return self.values[ids] - self.planes.dot_of(ids, w)

    def swapped(self, keys: IntArray, ids: IntArray) -> IntArray:
        """Keys as solvers see them, for keys as the structure has them, or the other way: the reference has the key of
        the truth, and the truth that of the reference."""
        mine = self.keys[ids]
        return np.where(keys == mine, TRUTH, np.where(keys == TRUTH, mine, keys))

    def replaced(self, other: References, take: NDArray[np.bool_], scratch: FloatArray) -> References:
        """The others where `take` says so, these elsewhere."""
        everyone, nobody = np.arange(len(self.keys)), np.full(len(self.keys), -1)
        rows = self.planes.minus(other.planes, np.where(take, -1, everyone), nobody, scratch)
        negative = Planes(other.planes.indptr, other.planes.indices, -other.planes.values)
        planes = rows.minus(negative, everyone, np.where(take, everyone, -1), scratch)
        return References(np.where(take, other.keys, self.keys), np.where(take, other.values, self.values), planes)
