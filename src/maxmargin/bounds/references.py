"""References, which replace the truth in differences of convex functions.

A ramp (Do et al. 2008) or latent variables (Yu and Joachims 2009) subtract the result of a second argmax,

    Σ c_i (max_ŷ (b − a·w) − max_ỹ (−ã·w)),

where (a, b) are the planes of the bound, and ỹ ranges over all outputs (ramp; ã is scaled as the bound scales it) or
over the completions of the truth (latent variables). With ỹ_i fixed, the second part is linear. The rest is a hinge
again, because the difference of two planes is a plane: (a − ã_i, b − b̃_i), with the reference itself as the plane (0,
0) and the additional constant Σ C c_i b̃_i. Structures are not aware of references; of the solvers, only those are that
keep their planes when references change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.codes import TRUTH
from maxmargin.core.planes import Planes


@dataclass(frozen=True)
class References:
    """A reference plane (ã, b̃) and its key for each example.

    The planes are relative to the encoded truth.

    Attributes
    ----------
    keys : ndarray of int64 of shape (n_examples,)
        Keys of the outputs ỹ_i.
    values : ndarray of shape (n_examples,)
        b̃_i.
    planes : Planes
        Rows ã_i.
    fixed : ndarray of shape (n_examples,)
        The part of the rises of ỹ_i, scaled as the bound scales them, that does not depend on the weights of solvers
        (a centre or fixed scores, see `problem`); otherwise 0.
    """

    keys: IntArray
    values: FloatArray
    planes: Planes
    fixed: FloatArray

    @classmethod
    def truths(cls, n_examples: int) -> References:
        """Return the truths as references."""
        nothing = Planes(np.zeros(n_examples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0))
        return cls(np.full(n_examples, TRUTH, np.int64), np.zeros(n_examples), nothing, np.zeros(n_examples))

    def rises(self, w: FloatArray) -> FloatArray:
        """Return −ã·w of every example, the amount that the bound subtracts at w."""
        return self.fixed - self.planes.dot(w)

    def levels(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return b̃ − ã·w of the examples in ids."""
        return self.values[ids] + self.fixed[ids] - self.planes.dot_of(ids, w)

    def swapped(self, keys: IntArray, ids: IntArray) -> IntArray:
        """Return keys of the structure as keys of solvers, or the reverse.

        For solvers the reference has the key of the truth, and the truth has the key of the reference.
        """
        mine = self.keys[ids]
        return np.where(keys == mine, TRUTH, np.where(keys == TRUTH, mine, keys))

    def replaced(self, other: References, take: NDArray[np.bool_], scratch: FloatArray) -> References:
        """Return the other references for the examples in `take`, and these references for all others."""
        everyone, nobody = np.arange(len(self.keys)), np.full(len(self.keys), -1)
        rows = self.planes.minus(other.planes, np.where(take, -1, everyone), nobody, scratch)
        negative = Planes(other.planes.indptr, other.planes.indices, -other.planes.values)
        planes = rows.minus(negative, everyone, np.where(take, everyone, -1), scratch)
        keys, values = np.where(take, other.keys, self.keys), np.where(take, other.values, self.values)
        return References(keys, values, planes, np.where(take, other.fixed, self.fixed))
