"""Features of the polynomial kernel without a Gram matrix: all products of two features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import finite_number, stored_array, whole_number
from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import kept_offsets, offsets_of
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.mercer.distinct_rows import canonical

#: Bytes per product while rows are expanded: keys, columns and values, and their copies.
_PRODUCT_BYTES = 56.0


@dataclass(frozen=True)
class ProductFeatures:
    """The features of (gamma a·b + coef0)²: products of two features, features, and a constant.

        gamma a_i²,    gamma √2 a_i a_j  (i < j),    √(2 gamma coef0) a_i,    coef0

    Products that no training part has would have the weight 0 and are left out, so scores are those of the kernel.

    Attributes
    ----------
    gamma, coef0 : float
        Parameters of the kernel.
    n_inputs : int
        Number of features d of a part.
    keys : ndarray of int64
        The products, ascending: i (d + 1) + j for a_i a_j with i ≤ j, where feature d is the constant 1.
    """

    gamma: float
    coef0: float
    n_inputs: int
    keys: IntArray
    #: Number of points whose kernel values are computed.
    n_points: ClassVar[int] = 0
    by_points: ClassVar[bool] = False

    @classmethod
    def fit(cls, rows: Any, gamma: float, coef0: float, what: str) -> tuple[Any, ProductFeatures]:
        """Return the products of rows, and their features."""
        counts = np.diff(sp.csr_array(rows).indptr) + (coef0 > 0)
        products = float((counts * (counts + 1.0) / 2).sum())
        check_memory(
            _PRODUCT_BYTES * products, f"the products of two features of {len(counts)} {what}s",
            "use fewer features per row, or n_components",
        )  # fmt: skip
        features = cls(gamma, coef0, int(rows.shape[1]), np.zeros(0, np.int64))
        indptr, keys, values = features._products(rows)
        features = replace(features, keys=np.unique(keys))
        return features._matrix(indptr, keys, values), features

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.keys)

    def transform(self, rows: Any) -> Any:
        """Return the products of rows, as a CSR matrix."""
        return self._matrix(*self._products(rows))

    def _products(self, rows: Any) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the products of each row, as pointers, keys and values, rows with equally many entries together."""
        rows = sp.csr_array(canonical(rows))
        constant = self.coef0 > 0
        counts = np.diff(rows.indptr).astype(np.int64)
        sizes = (counts + constant) * (counts + constant + 1) // 2
        indptr = offsets_of(sizes)
        keys, values = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
        root_gamma, root_constant = np.sqrt(self.gamma), np.sqrt(max(self.coef0, 0.0))
        for count in np.unique(counts).tolist():
            some = np.flatnonzero(counts == count)
            at = rows.indptr[some][:, None] + np.arange(count)
            columns, entries = rows.indices[at].astype(np.int64), root_gamma * rows.data[at]
            if constant:
                columns = np.column_stack([columns, np.full(len(some), self.n_inputs)])
                entries = np.column_stack([entries, np.full(len(some), root_constant)])
            first, second = np.triu_indices(count + constant)
            into = indptr[some][:, None] + np.arange(len(first))
            keys[into] = columns[:, first] * (self.n_inputs + 1) + columns[:, second]
            values[into] = entries[:, first] * entries[:, second] * np.where(first == second, 1.0, np.sqrt(2.0))
        return indptr, keys, values

    def _matrix(self, indptr: IntArray, keys: IntArray, values: FloatArray) -> Any:
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        pointers = kept_offsets(known, indptr)
        return sp.csr_array((values[known], at[known], pointers), shape=(len(indptr) - 1, len(self.keys)))

    def expanded(self, weights: FloatArray) -> tuple[ProductFeatures, FloatArray]:
        """Return the features and weights without products whose weights are all 0."""
        used = weights.any(axis=1)
        return replace(self, keys=self.keys[used]), weights[used]

    def names(self, columns: Any) -> list[str]:
        """Return the name of each feature: ``a × b``, ``a²``, ``a``, ``1``."""
        names = []
        for key in self.keys.tolist():
            i, j = divmod(key, self.n_inputs + 1)
            if i == self.n_inputs:
                names.append("1")
            elif j == self.n_inputs:
                names.append(str(columns[i]))
            else:
                names.append(f"{columns[i]}²" if i == j else f"{columns[i]} × {columns[j]}")
        return names

    def moved(self, positions: IntArray) -> ProductFeatures:
        """Return the features, which do not refer to examples."""
        return self

    def get_state(self) -> dict[str, Any]:
        """Return the features as plain values and arrays."""
        return {
            "kind": "products", "gamma": self.gamma, "coef0": self.coef0, "n_inputs": self.n_inputs, "keys": self.keys,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Any) -> ProductFeatures:
        """Return the features of a state; raise ValueError if it is damaged."""
        n_inputs = whole_number(state["n_inputs"], "n_inputs", 0)
        keys, last = stored_array(state["keys"], "products", np.int64, (None,), 0), (n_inputs + 1) ** 2
        if (np.diff(keys) <= 0).any():
            raise ValueError("the products of features must be ascending numbers")
        if len(keys) and not 0 <= keys[0] <= keys[-1] < last:
            raise ValueError(f"products of {n_inputs} features have numbers below {last}, found {keys[-1]}")
        gamma, coef0 = (finite_number(state[name], name) for name in ("gamma", "coef0"))
        return cls(gamma, coef0, n_inputs, keys)
