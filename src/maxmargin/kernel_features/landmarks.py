"""Choice of landmarks for the Nyström method."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from maxmargin._types import FloatArray, IntArray
from maxmargin.kernel_features.gram import RANK_TOLERANCE

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
    _, found = kmeans_plusplus(rows, count, random_state=seed)
    return np.unique(found).astype(np.int64)


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
