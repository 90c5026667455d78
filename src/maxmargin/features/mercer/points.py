"""Features of parts by their kernel values with points: distinct training parts, or landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular

from maxmargin._base.checks import finite_number, stored_array, whole_number
from maxmargin._base.errors import Place
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.mercer.distinct_rows import canonical, rows_from_state, rows_state
from maxmargin.features.mercer.function import KernelFunction
from maxmargin.features.mercer.gram import RANK_TOLERANCE

#: Fraction of Σ|β| that the coefficients left out of an expansion may have together.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class PointFeatures:
    """φ(x) = F k(P, x): kernel values with points P, turned into coordinates by a factor F.

    With the lower triangular L_P, the rows of the Cholesky factor that belong to the points, F is L_P⁻¹: inner products
    of φ are kernel values. With F = S^(−1/2) Uᵀ of the eigenvectors of the points' Gram matrix they are those of the
    Nyström method. After a fit F is dropped: w·φ(x) = Σ_p β_p k(p, x) with β = Fᵀ w, so the features of a fitted
    model are kernel values, and its weights are β.

    Attributes
    ----------
    function : KernelFunction or None
        The kernel; None if it is precomputed.
    points : matrix or ndarray of int
        The rows of the points; with a precomputed kernel, their columns.
    n_inputs : int
        Number of columns in the rows of parts.
    places : ndarray of int of shape (n_points, 2), optional
        Example and part of each point in the training data; None for means.
    row : str
        Name of a part.
    triangle, factor : ndarray, optional
        L_P, or Fᵀ, which are both None in a fitted model.
    lost : float
        Fraction of the trace of the Gram matrix that the features lack.
    """

    function: KernelFunction | None
    points: Any
    n_inputs: int
    places: IntArray | None
    row: str
    triangle: FloatArray | None = None
    factor: FloatArray | None = None
    lost: float = 0.0

    by_points: ClassVar[bool] = True

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.points.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return self.n_points if self.factor is None else int(self.factor.shape[1])

    def values(self, rows: Any) -> FloatArray:
        """Return the kernel values of rows with the points."""
        if self.function is not None:
            return self.function.values(canonical(rows), self.points)
        columns = rows[:, self.points]
        table: FloatArray = columns.toarray() if hasattr(columns, "toarray") else np.ascontiguousarray(columns, float)
        return table

    def transform(self, rows: Any) -> FloatArray:
        """Return the features of rows."""
        values = self.values(rows)
        if self.triangle is not None:
            if not len(self.triangle) or not len(values):
                return values
            return np.ascontiguousarray(solve_triangular(self.triangle, values.T, lower=True).T)
        return values if self.factor is None else values @ self.factor

    def coefficients(self, weights: FloatArray) -> FloatArray:
        """Return β = Fᵀ w, of shape (n_points, K), for weights of shape (width, K)."""
        if self.triangle is not None and len(weights):
            beta: FloatArray = solve_triangular(self.triangle, weights, lower=True, trans=1)
            return beta
        return weights if self.factor is None else self.factor @ weights

    def projected(self, weights: FloatArray, support: FloatArray, share: float) -> FloatArray:
        """Return the nearest weights that are sums over fewer points.

        These are the points of which the weights `support` are sums, and those with the largest coefficients:
        as many as leave at most a `share` of the coefficients to all others.
        """
        if self.triangle is None:
            return weights
        kept = _considerable(self.coefficients(support), NEGLIGIBLE)
        if share < 1.0:
            kept = np.union1d(kept, _considerable(self.coefficients(weights), share))
        if len(kept) == len(weights):
            return weights
        rows = self.triangle[kept]
        try:
            within = cho_factor(self._gram(kept, rows), lower=True, overwrite_a=True)
        except LinAlgError:  # nearly equal parts
            return weights
        return rows.T @ cho_solve(within, rows @ weights)

    def _gram(self, kept: IntArray, rows: FloatArray) -> FloatArray:
        """Return the kernel values of some points with each other, whose rows of the triangle are given."""
        if self.function is None or callable(self.function.kernel):
            return rows @ rows.T
        points = self.points[kept]
        return self.function.values(points, points)

    def expanded(self, weights: FloatArray) -> tuple[PointFeatures, FloatArray]:
        """Return the features without their factor, and β for these weights, of shape (width, K).

        Points with negligible coefficients are left out.
        """
        beta = self.coefficients(weights)
        kept = _considerable(beta, NEGLIGIBLE)
        places = None if self.places is None else self.places[kept]
        return replace(self, points=self.points[kept], places=places, triangle=None, factor=None), beta[kept]

    def names(self, columns: Any) -> list[str]:
        """Return the name of each feature."""
        if self.factor is not None or self.triangle is not None:
            return [f"component {j}" for j in range(self.width)]
        kernel = "kernel" if self.function is None else self.function.name
        if self.places is None:
            return [f"{kernel}(landmark {j})" for j in range(self.n_points)]
        part = f", {self.row} " if self.row else ""
        return [f"{kernel}({Place('X', i)}{part}{t if part else ''})" for i, t in self.places.tolist()]

    def moved(self, positions: IntArray) -> PointFeatures:
        """Return the features with the indices of examples in the user's data."""
        if self.places is None:
            return self
        return replace(self, places=np.column_stack([positions[self.places[:, 0]], self.places[:, 1]]))

    def get_state(self) -> dict[str, Any]:
        """Return the features as plain values and arrays."""
        precomputed = self.function is None
        return {
            "kind": "points",
            "function": None if self.function is None else self.function.get_state(),
            "points": {"columns": self.points} if precomputed else rows_state(self.points),
            "n_inputs": self.n_inputs,
            "places": self.places,
            "row": self.row,
            "triangle": self.triangle,
            "factor": self.factor,
            "lost": self.lost,
        }

    @classmethod
    def from_state(cls, state: Any) -> PointFeatures:
        """Return the features of a state; raise ValueError if it is damaged."""
        function, n_inputs = state["function"], whole_number(state["n_inputs"], "n_inputs", 0)
        if function is None:
            points: Any = np.asarray(state["points"]["columns"])
            sound = points.ndim == 1 and points.dtype == np.int64
            sound = sound and bool(((points >= 0) & (points < n_inputs)).all())
        else:
            points = rows_from_state(state["points"])
            sound = points.shape[1] == n_inputs
        if not sound:
            raise ValueError("the points of a kernel do not fit its features")
        n, places = points.shape[0], state["places"]
        if places is not None:
            stored_array(places, "places of points", np.int64, (n, 2), 0)
        factors = {name: state[name] for name in ("triangle", "factor")}
        for (name, table), width in zip(factors.items(), (n, None), strict=True):
            if table is not None:
                stored_array(table, f"the {name} of a kernel", np.float64, (n, width))
        return cls(
            None if function is None else KernelFunction.from_state(function), points, n_inputs, places,
            str(state["row"]), **factors, lost=finite_number(state["lost"], "lost", -np.inf),
        )  # fmt: skip


def _considerable(beta: FloatArray, share: float) -> IntArray:
    """Return the points with the largest coefficients; all others have at most a share of Σ|β|."""
    sizes = np.abs(beta).sum(axis=1)
    order = np.argsort(sizes, kind="stable")
    n_dropped = int(np.searchsorted(np.cumsum(sizes[order]), share * sizes.sum(), "right"))
    return np.sort(order[n_dropped:])


def nystrom_factor(gram: FloatArray) -> FloatArray:
    """Return U S^(−1/2) of the eigenvectors and eigenvalues of the landmarks' Gram matrix, small ones left out."""
    values, vectors = eigh(gram)
    kept = values > RANK_TOLERANCE * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, bool)
    return np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))


#: Rows and iterations of Lloyd's algorithm: landmarks need not be converged means.
MOST_ROWS, MOST_STEPS = 20_000, 10


def mean_landmarks(rows: Any, count: int, seed: int) -> FloatArray | None:
    """Return k-means of dense rows (Zhang, Tsang and Kwok 2008)."""
    from sklearn.cluster import KMeans  # here, since the import takes long

    rng = np.random.default_rng(seed)
    if len(rows) > MOST_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))]
    start = rows[np.sort(rng.choice(len(rows), count, replace=False))]
    centres: FloatArray = KMeans(count, init=start, n_init=1, max_iter=MOST_STEPS).fit(rows).cluster_centers_
    return np.unique(centres, axis=0)


def seeded_landmarks(rows: Any, count: int, seed: int) -> IntArray:
    """Return rows that are far from each other, the first step of k-means (Arthur and Vassilvitskii 2007)."""
    from sklearn.cluster import kmeans_plusplus  # here, since the import takes long

    if sp.issparse(rows):
        rows = sp.csr_matrix(rows)  # scikit-learn requires 32-bit indices of a matrix
    _, landmarks = kmeans_plusplus(rows, count, random_state=seed)
    return np.unique(landmarks).astype(np.int64)


def leverage_landmarks(values: Any, diagonal: FloatArray, count: int, seed: int) -> IntArray:
    """Return rows drawn by approximate ridge leverage scores (Alaoui and Mahoney 2015; Musco and Musco 2017).

        l_i ∝ k_ii − k_iS (K_SS + λ I)⁻¹ k_Si,    S a uniform sample

    Parameters
    ----------
    values : callable
        Returns the kernel values of all rows with some of them.
    diagonal : ndarray
        Kernel value of each row with itself.
    count : int
        Number of landmarks.
    seed : int
        Seed of both draws.
    """
    rng, n = np.random.default_rng(seed), len(diagonal)
    sample = np.sort(rng.choice(n, count, replace=False))
    table = values(sample)
    within = table[sample]
    ridge = max(float(diagonal.mean()) / count, RANK_TOLERANCE * float(diagonal.max()), 1e-300)
    within[np.diag_indices(count)] += ridge
    explained = np.einsum("ij,ji->i", table, cho_solve(cho_factor(within, lower=True), table.T))
    scores = np.maximum(diagonal - explained, 0.0) + 1e-12 * float(diagonal.max())
    chosen: IntArray = np.sort(rng.choice(n, count, replace=False, p=scores / scores.sum()))
    return chosen
