"""`Kernel`: the kernel of an estimator; `PartKernel`: the features that it means for some rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import (
    Value,
    check_declared,
    choice,
    declared,
    finite_number,
    optional,
    parameter,
    positive_number,
    whole_number,
)
from maxmargin._base.errors import Place, callers_level
from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.mercer.distinct_rows import canonical, distinct_rows
from maxmargin.features.mercer.explicit import ProductFeatures
from maxmargin.features.mercer.function import KernelFunction, scale_of
from maxmargin.features.mercer.gram import check_definite, check_size, check_symmetric, factor
from maxmargin.features.mercer.points import (
    PointFeatures,
    leverage_landmarks,
    mean_landmarks,
    nystrom_factor,
    seeded_landmarks,
)

KernelFeatures: TypeAlias = PointFeatures | ProductFeatures

KERNELS = ("linear", "poly", "rbf", "precomputed")
METHODS = ("auto", "gram", "k-means", "expansion")
#: What to use in place of methods that older programs and model files have.
REPLACED = {
    "leverage": "method='k-means', whose landmarks lose less of the kernel",
    "sketch": "method='expansion' for degree 2, or n_components with method='k-means'",
}
#: Largest fraction of the trace of the Gram matrix that landmarks may lose without a warning.
LOST = 0.05
#: Number of distinct parts of which a kernel function of a user is checked if the Gram matrix is not computed.
CHECKED = 500


def _check_function(kernel: Any, name: str) -> None:
    """Raise ValueError unless it is the name of a kernel, or a function."""
    if not (isinstance(kernel, str) and kernel in KERNELS) and not callable(kernel):
        names = ", ".join(map(repr, KERNELS))
        raise ValueError(f"kernel must be {names}, a function of two matrices or a Kernel, found {kernel!r:.60}")


def _check_gamma(gamma: Any, name: str) -> None:
    """Raise ValueError unless it is "scale", "auto" or a number above 0."""
    known = gamma in ("scale", "auto") if isinstance(gamma, str) else np.isfinite(positive_number(gamma, name))
    if not known:
        raise ValueError(f"{name} must be 'scale', 'auto' or a number > 0, found {gamma!r}")


def _check_constant(coef0: Any, name: str) -> None:
    finite_number(coef0, name, -np.inf)


def _check_method(method: Any, name: str) -> None:
    """Raise ValueError for a method that is not known, or that is replaced by another."""
    if isinstance(method, str) and method in REPLACED:
        raise ValueError(f"there is no {name}={method!r}: fit with {REPLACED[method]}")
    choice(*METHODS)(method, name)


@declared(frozen=True)
class Kernel(Value):
    """Kernel on the features of parts (tokens, arcs, edges, rows …), with its parameters.

    It is the value of the parameter `kernel` of estimators; ``kernel="rbf"`` is short for ``kernel=Kernel("rbf")``.
    Hyper-parameters can be tuned by their names after ``kernel__``, as in ``{"kernel__gamma": [0.1, 1.0]}``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.5))
    MulticlassSVM(kernel=Kernel('rbf', gamma=0.5))
    >>> mm.MulticlassSVM(kernel="rbf").set_params(kernel__gamma=0.5).kernel
    Kernel('rbf', gamma=0.5)
    """

    kernel: Any = parameter(
        '``"poly"`` is (gamma a·b + coef0)^degree, and ``"rbf"`` is exp(−gamma ‖a − b‖²). A callable takes two '
        'matrices of rows and returns their kernel values. With ``"precomputed"``, the features of a part are its '
        "kernel values with all parts of the training data, in the order of examples and parts.",
        _check_function,
        default="rbf",
        kind='{"linear", "poly", "rbf", "precomputed"} or callable',
        kw_only=False,
    )
    degree: int = parameter('Degree of ``"poly"``.', whole_number, default=3)
    gamma: Any = parameter(
        '``"scale"`` is 1 / (d · variance of all features), ``"auto"`` is 1 / d, as in scikit-learn.',
        _check_gamma,
        default="scale",
        kind='{"scale", "auto"} or float',
    )
    coef0: float = parameter('Constant of ``"poly"``, at least 0.', _check_constant, default=0.0)
    n_components: Any = parameter(
        "None: exact, by a factor of the Gram matrix of all distinct parts, which may have up to 2 GB (15,811 "
        "parts). A number: the Nyström method with this number of landmarks; a warning states what it loses.",
        optional(whole_number),
        default=None,
        kind="int or None",
    )
    method: str = parameter(
        'How the features of the kernel are computed: ``"auto"`` is ``"gram"`` without and ``"k-means"`` with '
        '`n_components`. ``"gram"``: exact; ``"k-means"``: landmarks are means; '
        '``"expansion"``: all products of two features, for ``"poly"`` of degree 2 on sparse features, '
        "exact.",
        _check_method,
        default="auto",
    )

    @classmethod
    def of(cls, kernel: Any) -> Kernel:
        """Return a kernel, or that of a name or a function with the default parameters."""
        return kernel if isinstance(kernel, Kernel) else cls(kernel)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as estimators do."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def check(self) -> None:
        """Raise ValueError for the first parameter that is invalid."""
        check_declared(self)
        if self.kernel == "poly":
            finite_number(self.coef0, "coef0 of kernel 'poly'")
        if not self.linear:
            self._check_method()

    def _check_method(self) -> None:
        """Raise ValueError if the method does not fit the kernel."""
        method = f"method={self.method!r}"
        if self.method == "expansion" and self.kernel != "poly":
            raise ValueError(f"{method} needs the kernel 'poly', found {self.kernel!r:.60}")
        if self.method == "expansion" and self.degree != 2:
            raise ValueError(f"{method} needs degree=2, found {self.degree!r}")
        if self.method == "k-means" and self.kernel == "precomputed":
            raise ValueError(f"{method} needs features of parts, which the kernel 'precomputed' does not have: 'auto'")
        if self.method == "k-means" and self.n_components is None:
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


@dataclass(frozen=True, repr=False, kw_only=True)
class PartKernel(Kernel):
    """A kernel with the seed of its landmarks and sketches; `fit` computes its features.

    Attributes
    ----------
    seed : int, default=0
        The seed.
    """

    seed: int = 0

    @classmethod
    def seeded(cls, kernel: Kernel, seed: int) -> PartKernel:
        """Return a kernel with a seed."""
        return cls(**kernel.get_params(), seed=seed)

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
        """Return the rows of the distinct parts in `at`, or their columns if the kernel is precomputed."""
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
        if self.function is None:
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
        "points": PointFeatures.from_state,
        "products": ProductFeatures.from_state,
    }
    if state["kind"] not in kinds:
        raise ValueError(f"unknown features of a kernel: {state['kind']!r}")
    return kinds[state["kind"]](state)
