"""Gram matrices of distinct parts: planned, checked, and factored as K = L Lᵀ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigvalsh, lapack

from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray, IntArray

#: Largest Gram matrix, in bytes, that exact kernels compute: that of 15,811 distinct parts.
GRAM_BYTES = 2.0e9
#: A part whose rest after projection is a smaller fraction of the greatest kernel value adds no dimension.
RANK_TOLERANCE = 1e-12
#: Eigenvalues may be negative by this fraction of the greatest one, and entries may differ from their mirror images by
#: this fraction of the greatest one.
INDEFINITE = 1e-8


def gram_limit() -> int:
    """Return the maximum number of distinct parts whose Gram matrix is computed."""
    return int((GRAM_BYTES / 8) ** 0.5)


def check_size(n_distinct: int, what: str) -> None:
    """Raise MemoryError if the Gram matrix of this number of distinct parts is too large."""
    size = 8.0 * n_distinct**2
    remedy = "set n_components of the Kernel (Nyström), or method='expansion' for 'poly' of degree 2"
    if size > GRAM_BYTES:
        raise MemoryError(
            f"the Gram matrix of {n_distinct} distinct {what}s has {size / 1e9:.3g} GB; exact kernels compute up to "
            f"{GRAM_BYTES / 1e9:g} GB ({gram_limit()} distinct {what}s): {remedy}"
        )
    check_memory(3.0 * size, f"the Gram matrix of {n_distinct} distinct {what}s with its factor", remedy)


def check_symmetric(gram: FloatArray, part: Callable[[int], str]) -> None:
    """Raise ValueError if a Gram matrix is not symmetric; `part` names the part of a row."""
    largest = float(np.abs(gram).max(initial=0.0))
    for a in range(0, len(gram), 1024):
        differences = np.abs(gram[a : a + 1024] - gram[:, a : a + 1024].T)
        if differences.max(initial=0.0) > INDEFINITE * largest:
            place = np.unravel_index(int(differences.argmax()), differences.shape)
            i, j = int(place[0]) + a, int(place[1])
            raise ValueError(
                f"the kernel is not symmetric: it is {gram[i, j]:.9g} for {part(i)} with {part(j)}, but "
                f"{gram[j, i]:.9g} for the two in the other order"
            )


def check_definite(gram: FloatArray) -> None:
    """Raise ValueError if an eigenvalue is below −1e-8 of the greatest one.

    A Cholesky factor of K + 1e-8 λ I exists if and only if there is no such eigenvalue.
    """
    n = len(gram)
    if n == 0:
        return
    greatest = _greatest_eigenvalue(gram)
    shifted = gram.copy(order="F")
    shifted[np.diag_indices(n)] += INDEFINITE * max(greatest, 0.0)
    if greatest > 0 and lapack.dpotrf(shifted, lower=1, overwrite_a=1, clean=0)[1] == 0:
        return
    if greatest == 0.0 and not gram.any():
        return
    least = float(eigvalsh(gram, subset_by_index=[0, 0])[0])
    if least < -INDEFINITE * abs(greatest):
        raise ValueError(
            f"the kernel is not positive semi-definite: the Gram matrix of {n} distinct parts has the eigenvalue "
            f"{least:.4g}, its greatest is {greatest:.4g}, expected none below {-INDEFINITE:g} of the greatest; "
            f"use a kernel that is an inner product of features"
        )


def _greatest_eigenvalue(gram: FloatArray) -> float:
    if len(gram) < 100:
        return float(eigvalsh(gram)[-1])
    from scipy.sparse.linalg import eigsh  # here, since the import takes long

    start = np.random.default_rng(0).normal(size=len(gram))
    return float(eigsh(gram, 1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])


def factor(gram: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return rows L with L Lᵀ = K, and the pivots, rows for which L is lower triangular.

    The pivots are all rows in their order if K has full rank; otherwise a Cholesky decomposition with pivoting finds a
    basis.
    """
    n = len(gram)
    if n == 0:
        return np.zeros((0, 0)), np.zeros(0, np.int64)
    smallest = RANK_TOLERANCE * float(np.diagonal(gram).max())
    if smallest <= 0:
        return np.zeros((n, 0)), np.zeros(0, np.int64)
    upper, info = lapack.dpotrf(gram.T, lower=0, clean=1)
    if info == 0 and float(np.diagonal(upper).min()) ** 2 > smallest:
        return np.ascontiguousarray(upper.T), np.arange(n)
    upper, pivots, rank, _ = lapack.dpstrf(gram.T, tol=smallest, lower=0)
    order = pivots.astype(np.int64) - 1
    rows = np.empty((n, rank))
    rows[order] = np.tril(upper.T)[:, :rank]
    return rows, order[:rank]
