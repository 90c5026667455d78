"""Polytopes whose vertices are the outputs of a structure, in the space of its parts.

If the outputs ŷ of an example are the vertices of Z = {z : low ≤ A z ≤ high, lower ≤ z ≤ upper}, its hinge is a linear
program over the counts z of its parts,

    H(w) = max_{z ∈ Z} (s(w) + l)·(z − c(y)),

with the scores s(w) of the parts, their costs l and the counts c(y) of the truth. Min-max programs (`solvers.minmax`)
put the dual of this program in the place of the hinge (Taskar et al. 2005, section 4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import FloatArray, IntArray


class Polytope(NamedTuple):
    """The set of all z with low ≤ A z ≤ high and lower ≤ z ≤ upper.

    The first columns of A are the parts of an example, block by block in the order of `Examples.scores`; further
    columns are auxiliary variables, which have neither features nor costs.

    Attributes
    ----------
    A : array or sparse matrix of shape (k, m)
        Coefficients of the constraints.
    low, high : float or array of shape (k,)
        Limits of A z; equal for equations.
    lower, upper : float or array of shape (m,), default=0.0, inf
        Limits of z.
    """

    A: Any
    low: Any
    high: Any
    lower: Any = 0.0
    upper: Any = np.inf

    def limits(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return low, high, lower and upper as arrays."""
        k, m = self.A.shape
        sizes = k, k, m, m
        return tuple(np.broadcast_to(np.asarray(v, float), (n,)) for v, n in zip(self[1:], sizes, strict=True))  # type: ignore[return-value]


class CertificatePolytope(NamedTuple):
    """Polytope of multipliers that certify optimality.

    Attributes
    ----------
    polytope : Polytope
        Its points include all outputs.
    integral : bool
        Whether its vertices are the outputs.
    decides : bool
        Whether the truth is best in it whenever no output is better; then hard margins are exact.
    """

    polytope: Polytope
    integral: bool
    decides: bool


def entries(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Return the sparse matrix with these entries; entries at the same place are added."""
    rows, columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
    return sp.csr_array((np.broadcast_to(np.asarray(values, float), rows.shape), (rows, columns)), shape)


def flow(arcs: IntArray, n_nodes: int) -> sp.csr_array:
    """Return the matrix [node, arc], 1 where an arc leaves a node and −1 where it arrives."""
    edges = np.arange(len(arcs))
    return entries(arcs.T.ravel(), np.tile(edges, 2), np.repeat([1.0, -1.0], len(arcs)), (n_nodes, len(arcs)))
