"""`PartKernel`: the kernel parameters of an estimator, and the features that they mean for some rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from maxmargin._callers import callers_level
from maxmargin._checked import finite_number, positive_number, whole_number
from maxmargin._memory import check_memory
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import Place
from maxmargin.kernel_features.explicit import ProductFeatures, SketchFeatures
from maxmargin.kernel_features.function import KernelFunction, scale_of
from maxmargin.kernel_features.gram import check_definite, check_size, check_symmetric, factor
from maxmargin.kernel_features.landmarks import leverage_landmarks, mean_landmarks, seeded_landmarks
from maxmargin.kernel_features.points import PointFeatures, nystrom_factor
from maxmargin.kernel_features.rows import canonical, distinct_rows

KernelFeatures: TypeAlias = PointFeatures | ProductFeatures | SketchFeatures

KERNELS = ("linear", "poly", "rbf", "precomputed")
METHODS = ("auto", "gram", "k-means", "leverage", "expansion", "sketch")
#: Largest fraction of the trace of the Gram matrix that landmarks may lose without a warning.
LOST = 0.05
#: Number of distinct parts of which a kernel function of a user is checked if the Gram matrix is not computed.
CHECKED = 500


@dataclass(frozen=True)
class PartKernel:
    """A kernel on the features of parts, and how its features are computed.

    Attributes
    ----------
    kernel, degree, gamma, coef0, n_components : object
        As in `StructuralSVM`.
    method : str
        `kernel_method` of `StructuralSVM`.
    seed : int
        Seed of landmarks and sketches.
    """

    kernel: Any = "rbf"
    degree: Any = 3
    gamma: Any = "scale"
    coef0: Any = 0.0
    n_components: Any = None
    method: Any = "auto"
    seed: int = 0

    def check(self) -> None:
        """Raise ValueError for the first parameter that is invalid."""
        named = isinstance(self.kernel, str) and self.kernel in KERNELS
        if not named and not callable(self.kernel):
            names = ", ".join(map(repr, KERNELS))
            raise ValueError(f"kernel must be {names} or a function of two matrices, found {self.kernel!r:.60}")
        whole_number(self.degree, "degree")
        if isinstance(self.gamma, str):
            if self.gamma not in ("scale", "auto"):
                raise ValueError(f"gamma must be 'scale', 'auto' or a number > 0, found {self.gamma!r}")
        elif not np.isfinite(positive_number(self.gamma, "gamma")):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number > 0, found {self.gamma!r}")
        if self.kernel == "poly":
            finite_number(self.coef0, "coef0 of kernel='poly'")
        else:
            finite_number(self.coef0, "coef0", -np.inf)
        if self.n_components is not None:
            whole_number(self.n_components, "n_components")
        if not (isinstance(self.method, str) and self.method in METHODS):
            raise ValueError(f"kernel_method must be {', '.join(map(repr, METHODS))}, found {self.method!r}")
        if not self.linear:
            self._check_method()

    def _check_method(self) -> None:
        """Raise ValueError if the method does not fit the kernel."""
        method = f"kernel_method={self.method!r}"
        if self.method in ("expansion", "sketch") and self.kernel != "poly":
            raise ValueError(f"{method} needs kernel='poly', found kernel={self.kernel!r:.60}")
        if self.method == "expansion" and self.degree != 2:
            raise ValueError(f"{method} needs degree=2, found {self.degree!r}")
        if self.method == "k-means" and self.kernel == "precomputed":
            raise ValueError(f"{method} needs features of parts, which kernel='precomputed' does not have: 'leverage'")
        if self.method in ("k-means", "leverage", "sketch") and self.n_components is None:
            raise ValueError(f"{method} needs n_components, the number of its components")
        if self.method in ("gram", "expansion") and self.n_components is not None:
            raise ValueError(f"{method} is exact and takes no n_components, found {self.n_components!r}")

    @property
    def linear(self) -> bool:
        """Whether features stay as they are."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def precomputed(self) -> bool:
        """Whether rows are kernel values."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    # ------------------------------------------------------------------ features

    def fit(self, matrix: Any, offsets: IntArray, row: str) -> tuple[Any, KernelFeatures]:
        """Return the features of the parts of all training examples, and what new parts need.

        Parameters
        ----------
        matrix : array or sparse matrix
            Concatenated rows of all examples.
        offsets : ndarray of int
            The rows of example i are ``offsets[i]:offsets[i + 1]``.
        row : str
            Name of a part in messages: ``"token"``; empty if examples have one part each.
        """
        rows, what = canonical(matrix), row or "row"
        if self.precomputed:
            rows = self._square(rows, what)
            everyone = _places(np.arange(rows.shape[0]), offsets)
            check_symmetric(rows, lambda k: _name(everyone[k], row))  # of all rows: equal ones may have other columns
            function = None
        else:
            gamma = scale_of(self.gamma, rows) if self.kernel in ("poly", "rbf") else 1.0
            function = KernelFunction(self.kernel, int(self.degree), gamma, float(self.coef0))
            if self.method == "expansion":
                return ProductFeatures.fit(rows, gamma, function.coef0, what)
            if self.method == "sketch":
                check_memory(16.0 * rows.shape[0] * self.n_components, f"the sketches of {rows.shape[0]} {what}s")
                return SketchFeatures.fit(
                    rows, function.degree, gamma, function.coef0, int(self.n_components), self.seed
                )
        first, group = distinct_rows(rows)
        places = _places(first, offsets)
        maker = _Maker(self, function, rows, first, group, places, row)
        exact = self.n_components is None or self.n_components >= len(first)
        return maker.exact() if exact else maker.landmarks()

    @staticmethod
    def _square(rows: Any, what: str) -> FloatArray:
        """Return a precomputed matrix, checked; rows of zeros are parts without features."""
        n, width = rows.shape
        if n != width:
            raise ValueError(
                f"kernel='precomputed' needs a row of {n} kernel values for each of the {n} {what}s of all examples, "
                f"in their order, found {width} values per {what} (examples of sample_weight 0 count neither as rows "
                f"nor as columns: leave them out)"
            )
        table: FloatArray = rows.toarray() if sp.issparse(rows) else rows.copy()
        table[:, ~table.any(axis=1)] = 0.0
        return table


@dataclass(frozen=True)
class _Maker:
    """Makes the features of one set of rows from kernel values with distinct parts or landmarks."""

    kernel: PartKernel
    function: KernelFunction | None
    rows: Any
    first: IntArray
    group: IntArray
    places: IntArray
    row: str

    @property
    def _what(self) -> str:
        return self.row or "row"

    def _values(self, some: IntArray) -> FloatArray:
        """Return the kernel values of all distinct parts with some of them."""
        if self.function is None:
            return np.ascontiguousarray(self.rows[np.ix_(self.first, self.first[some])])
        distinct = self.rows[self.first]
        return self.function.values(distinct, distinct if _in_order(some, len(self.first)) else distinct[some])

    def _checked(self, gram: FloatArray, names: IntArray) -> FloatArray:
        """Return the Gram matrix; raise ValueError if a kernel of the user is not symmetric or not definite."""
        if self.function is None or callable(self.kernel.kernel):
            check_symmetric(gram, lambda k: _name(self.places[names[k]], self.row))
            gram = 0.5 * (gram + gram.T)
            check_definite(gram)
        return gram

    def _points(self, at: IntArray) -> Any:
        """Return what is kept of the distinct parts in `at`: their rows, or their columns if precomputed."""
        return self.first[at] if self.function is None else self.rows[self.first[at]]

    def exact(self) -> tuple[Any, KernelFeatures]:
        n = len(self.first)
        check_size(n, self._what)
        everyone = np.arange(n)
        gram = self._checked(self._values(everyone), everyone)
        rows, pivots = factor(gram)
        del gram
        triangle = rows if _in_order(pivots, n) else np.ascontiguousarray(rows[pivots])
        planned = 28.0 * len(self.group) * rows.shape[1]
        check_memory(planned, f"{rows.shape[1]} features of {len(self.group)} {self._what}s", "set n_components")
        features = PointFeatures(
            self.function, self._points(pivots), int(self.rows.shape[1]), self.places[pivots], self.row,
            triangle=triangle,
        )  # fmt: skip
        return rows if _in_order(self.group, n) else rows[self.group], features

    def landmarks(self) -> tuple[Any, KernelFeatures]:
        n, count = len(self.first), int(self.kernel.n_components)
        check_memory(
            28.0 * (n + len(self.group)) * count, f"kernel values of {n} {self._what}s with {count} landmarks",
            "set a smaller n_components",
        )  # fmt: skip
        points, places = self._chosen(count)
        features = PointFeatures(self.function, points, int(self.rows.shape[1]), places, self.row)
        if self.function is None or callable(self.kernel.kernel):
            some = np.linspace(0, n - 1, min(n, CHECKED)).astype(np.int64)
            self._checked(self._values(some)[some], some)
        landmarks = self.rows[points] if self.function is None else points
        within = features.values(landmarks)
        scale = nystrom_factor(0.5 * (within + within.T))
        rows = features.values(self.rows[self.first]) @ scale
        weights = np.bincount(self.group, minlength=n)
        trace, kept = float(weights @ self._diagonal()), float(weights @ np.einsum("ij,ij->i", rows, rows))
        lost = 1.0 - kept / trace if trace > 0 else 0.0
        if lost > LOST:
            warnings.warn(
                f"{count} landmark{'s' * (count > 1)} of {n} distinct {self._what}s lose {100 * lost:.1f} % of the "
                f"trace of the Gram matrix: scores are those of another kernel; set a larger n_components",
                UserWarning,
                stacklevel=callers_level(),
            )
        features = PointFeatures(
            self.function, points, int(self.rows.shape[1]), places, self.row, factor=scale, lost=max(lost, 0.0)
        )
        return rows[self.group], features

    def _diagonal(self) -> FloatArray:
        if self.function is None:
            return np.diagonal(self.rows)[self.first]
        return self.function.diagonal(self.rows[self.first])

    def _chosen(self, count: int) -> tuple[Any, IntArray | None]:
        """Return the landmarks, and their places if they are parts."""
        if self.kernel.method == "leverage" or self.function is None:
            at = leverage_landmarks(self._values, self._diagonal(), count, self.kernel.seed)
            return self._points(at), self.places[at]
        distinct = self.rows[self.first]
        if sp.issparse(distinct) or callable(self.kernel.kernel):  # means would be dense, or no valid arguments
            at = seeded_landmarks(distinct, count, self.kernel.seed)
            return self._points(at), self.places[at]
        return mean_landmarks(distinct, count, self.kernel.seed), None


def _in_order(numbers: IntArray, n: int) -> bool:
    """Return whether the numbers are 0, 1, …, n − 1."""
    return len(numbers) == n and bool((numbers == np.arange(n)).all())


def _places(rows: IntArray, offsets: IntArray) -> IntArray:
    """Return the example of each row, and its number within the example."""
    example = np.searchsorted(offsets, rows, "right") - 1
    return np.column_stack([example, rows - offsets[example]]).astype(np.int64)


def _name(place: IntArray, row: str) -> str:
    """Return the name of a part in messages."""
    example, part = place.tolist()
    return f"{Place('X', example)}" + (f", {row} {part}" if row else "")


def features_from_state(state: Any) -> KernelFeatures:
    """Return the features of a state; raise ValueError if it is damaged."""
    kinds: dict[str, Callable[[Any], KernelFeatures]] = {
        "points": PointFeatures.from_state, "products": ProductFeatures.from_state, "sketch": SketchFeatures.from_state,
    }  # fmt: skip
    if state["kind"] not in kinds:
        raise ValueError(f"unknown features of a kernel: {state['kind']!r}")
    return kinds[state["kind"]](state)
