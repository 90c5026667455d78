"""Kernel functions of rows of features: linear, polynomial, RBF, a callable, precomputed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import finite_number, positive_number, whole_number
from maxmargin._base.types import FloatArray
from maxmargin.features.mercer.distinct_rows import squared_norms

#: Number of kernel values that are computed together.
TOGETHER = 1 << 22


@dataclass(frozen=True)
class KernelFunction:
    """A kernel with all its parameters.

        poly: (gamma a·b + coef0)^degree        rbf: exp(−gamma ‖a − b‖²)

    Attributes
    ----------
    kernel : {"poly", "rbf"} or callable
        The kernel; a callable takes two matrices of rows and returns the table of their kernel values.
    degree : int
        Degree of ``"poly"``.
    gamma, coef0 : float
        Parameters of ``"poly"`` and ``"rbf"``.
    """

    kernel: Any
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return self.kernel if isinstance(self.kernel, str) else getattr(self.kernel, "__name__", "kernel")

    def values(self, rows: Any, others: Any) -> FloatArray:
        """Return the table of kernel values, rows × others, without dense copies of sparse rows."""
        n, m = rows.shape[0], others.shape[0]
        if callable(self.kernel):
            return self._called(rows, others)
        out = np.empty((n, m))
        step = max(TOGETHER // max(m, 1), 1)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.kernel == "rbf":
                rows, others = _centred(rows, others)
            norms = (squared_norms(rows), squared_norms(others)) if self.kernel == "rbf" else None
            for a in range(0, n, step):
                some = slice(a, min(a + step, n))
                if sp.issparse(rows) or sp.issparse(others):
                    products = rows[some] @ others.T
                    out[some] = products.toarray() if sp.issparse(products) else products
                else:
                    np.dot(rows[some], others.T, out=out[some])
                if norms is None:
                    self._make_poly(out[some])
                else:
                    self._make_rbf(out[some], norms[0][some], norms[1])
                if not np.isfinite(out[some]).all():
                    raise ValueError(f"kernel={self.kernel!r} has values that are not finite: scale the features")
        return out

    def _make_poly(self, products: FloatArray) -> None:
        """Turn inner products into kernel values, in place."""
        products *= self.gamma
        products += self.coef0
        np.power(products, self.degree, out=products)

    def _make_rbf(self, products: FloatArray, norms: FloatArray, others: FloatArray) -> None:
        """Turn inner products into kernel values, in place, given squared norms."""
        products *= -2.0
        products += norms[:, None]
        products += others
        np.maximum(products, 0.0, out=products)
        products *= -self.gamma
        np.exp(products, out=products)

    def _called(self, rows: Any, others: Any) -> FloatArray:
        try:
            values = self.kernel(rows, others)
            values = np.asarray(values.toarray() if sp.issparse(values) else values)
            real = values.dtype.kind != "c"
            table = np.array(values.real, float)
        except Exception as error:
            raise ValueError(f"kernel {self.name} raised {type(error).__name__}: {error}") from error
        if not real:
            raise ValueError(f"kernel {self.name} returned complex numbers, expected real ones")
        if table.shape != (rows.shape[0], others.shape[0]):
            raise ValueError(
                f"kernel {self.name} returned an array of shape {table.shape}, expected "
                f"{(rows.shape[0], others.shape[0])}: a value for each row of its first and of its second argument"
            )
        if not np.isfinite(table).all():
            raise ValueError(f"kernel {self.name} returned {table[~np.isfinite(table)][0]}, expected finite numbers")
        return table

    def diagonal(self, rows: Any) -> FloatArray:
        """Return the kernel value of each row with itself."""
        n = rows.shape[0]
        if self.kernel == "rbf":
            return np.ones(n)
        if self.kernel == "poly":
            return (self.gamma * squared_norms(rows) + self.coef0) ** self.degree
        return np.array([self._called(rows[i : i + 1], rows[i : i + 1])[0, 0] for i in range(n)])

    def get_state(self) -> dict[str, Any]:
        """Return the kernel and its parameters as plain values."""
        return {"kernel": self.kernel, "degree": self.degree, "gamma": self.gamma, "coef0": self.coef0}

    @classmethod
    def from_state(cls, state: Any) -> KernelFunction:
        """Return the kernel of a state; raise ValueError if it is damaged."""
        kernel, degree = state["kernel"], whole_number(state["degree"], "degree")
        if kernel not in ("poly", "rbf") and not callable(kernel):
            raise ValueError(f"kernel must be 'poly', 'rbf' or a function, found {kernel!r:.60}")
        gamma = positive_number(state["gamma"], "gamma")
        if not np.isfinite(gamma):
            raise ValueError(f"gamma must be finite, found {gamma}")
        return cls(kernel, degree, gamma, finite_number(state["coef0"], "coef0", -np.inf))


def _centred(rows: Any, others: Any) -> tuple[Any, Any]:
    """Return dense rows minus the mean of the others, which does not change distances.

    ‖a‖² − 2 a·b + ‖b‖² would lose the distances of rows that are far from 0.
    """
    if sp.issparse(rows) or sp.issparse(others) or not others.shape[0]:
        return rows, others
    mean = others.mean(axis=0)
    centred = others - mean
    return (centred if rows is others else rows - mean), centred


def scale_of(gamma: Any, rows: Any) -> float:
    """Return the number that `gamma` stands for: ``"scale"`` is 1 / (d · variance), ``"auto"`` is 1 / d."""
    if not isinstance(gamma, str):
        return float(gamma)
    width = max(rows.shape[1], 1)
    if gamma == "auto":
        return 1.0 / width
    if not rows.shape[0] or not rows.shape[1]:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(rows.multiply(rows).mean() - rows.mean() ** 2 if sp.issparse(rows) else rows.var())
    return 1.0 / (width * variance) if variance > 0 else 1.0
