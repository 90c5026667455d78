"""User-defined structures with a joint kernel K((x, y), (x′, y′)) in place of joint features.

Weights are sums over pairs, w = Σ_j β_j Φ(x_j, y_j), of which only inner products are known. Solvers see ordinary
vectors: the coordinates of Φ(x, y) in an orthonormal basis of the span of all pairs seen so far, which grows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from maxmargin._base.errors import Place
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.structure import Structure
from maxmargin.custom.any_values import own_copy
from maxmargin.custom.arguments import shown
from maxmargin.features.mercer.gram import INDEFINITE, check_definite, check_symmetric, gram_limit

#: A pair whose rest after projection is a smaller fraction of its kernel value adds no dimension.
DEPENDENT = 1e-10
#: Number of examples of which the kernel is checked before a fit, and of kernel values that are kept.
CHECKED, KEPT_VALUES = 40, 1 << 26
#: A coefficient that is a smaller fraction of the greatest one is left out of a model.
NEGLIGIBLE = 1e-12
#: Methods whose first argument is w.
_WITH_WEIGHTS = ("argmax", "loss_augmented_argmax", "topk", "bound_argmax", "complete")


class KernelWeights:
    """Weights of a structure with `joint_kernel`, as its argmaxes receive them: w = Σ_j β_j Φ(x_j, y_j).

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms,)
        β.
    terms : sequence of (x, y)
        The pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.outputs import KernelWeights
    >>> terms = [(1.0, 1), (2.0, -1)]  # pairs (x, y)
    >>> values = lambda x, y, n: np.array([a * x * b * y for a, b in terms[:n]])  # the kernel x x′ y y′
    >>> KernelWeights(np.array([0.5, 0.125]), terms, values).score(3.0, 1)
    0.75
    """

    def __init__(self, coefficients: FloatArray, terms: Sequence[tuple[Any, Any]], values: Callable[..., Any]) -> None:
        self.coefficients, self.terms, self._values = coefficients, terms, values

    def score(self, x: Any, y: Any) -> float:
        """Return w·Φ(x, y) = Σ_j β_j K((x_j, y_j), (x, y)).

        Parameters
        ----------
        x, y : object
            An input and one of its outputs.

        Returns
        -------
        float
            The score.
        """
        if len(self.coefficients) == 0:
            return 0.0
        return float(self._values(x, y, len(self.coefficients)) @ self.coefficients)


class WithKernelWeights(Structure):
    """Base of adapters: a structure with joint features, made from one with a joint kernel.

    All other methods are those of the user; w becomes `KernelWeights`.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.exact = bool(getattr(structure, "exact", True))
        self.argmax_operations = getattr(structure, "argmax_operations", Structure.argmax_operations)

    def __getattribute__(self, name: str) -> Any:
        # not plain methods: `check_structure` reads the signatures of the user's
        if name in _WITH_WEIGHTS:
            return self._adapted(getattr(object.__getattribute__(self, "structure"), name))
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "structure" not in vars(self):
            raise AttributeError(name)
        return getattr(self.structure, name)

    def _adapted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(w: FloatArray, *arguments: Any) -> Any:
            return method(self.weights(w), *arguments)

        return call

    @abstractmethod
    def weights(self, w: FloatArray) -> KernelWeights:
        """Return weights as the structure of the user takes them."""

    def loss(self, y: Any, y_hat: Any) -> float:
        loss: float = self.structure.loss(y, y_hat)
        return loss

    def argmax(self, w: FloatArray, x: Any) -> Any:
        return self.structure.argmax(self.weights(w), x)

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self.structure.loss_augmented_argmax(self.weights(w), x, y, scale)


class KernelExpansion(WithKernelWeights):
    """The structure of a fitted model: the features of (x, y) are its kernel values with the terms.

    Parameters
    ----------
    structure : Structure
        The structure of the user.
    terms : sequence of (x, y)
        The pairs of the expansion.
    """

    def __init__(self, structure: Any, terms: Sequence[tuple[Any, Any]]) -> None:
        super().__init__(structure)
        self.terms, self.size = terms, len(terms)

    def _values(self, x: Any, y: Any, count: int) -> FloatArray:
        return _kernel_values(self.structure, self.terms[:count], x, y)

    def weights(self, w: FloatArray) -> KernelWeights:
        return KernelWeights(w, self.terms, self._values)

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        return self._values(x, y, len(self.terms))

    def names(self) -> list[str]:
        """Return the name of each term."""
        return [f"joint_kernel {j}: {shown(y)}" for j, (_, y) in enumerate(self.terms)]


class KernelCoordinates(WithKernelWeights):
    """The structure of a fit: the features of (x, y) are coordinates in a growing orthonormal basis.

    With K = L Lᵀ over the pairs of the basis, the coordinates of a pair are c = L⁻¹ k, and √(K_pp − c·c) in a new
    dimension unless it is dependent on the others; L⁻¹ is kept. Weights in coordinates are β = L⁻ᵀ w.

    Parameters
    ----------
    structure : Structure
        The structure of the user.
    X : sequence
        Inputs, of which kernel values are kept.
    size : int
        Maximum number of dimensions.
    freezes : bool, default=False
        Whether the basis stops growing when weights are first used, as checks need: then any weights have a meaning.
    """

    def __init__(self, structure: Any, X: Sequence[Any], size: int, freezes: bool = False) -> None:
        super().__init__(structure)
        self.size = self.limit = size
        self.freezes, self.frozen = freezes, False
        self.terms: list[tuple[Any, Any]] = []
        self._inverse = np.zeros((0, 0))
        self._largest = 0.0
        self._inputs = {id(x): (number, x) for number, x in enumerate(X)}
        self._kept: dict[Any, FloatArray] = {}
        self._coordinates: dict[Any, FloatArray] = {}
        self._n_kept = 0
        self._last: tuple[Any, int, FloatArray] | None = None

    # ------------------------------------------------------------------ kernel values

    def _values(self, x: Any, y: Any, count: int) -> FloatArray:
        """Return the kernel values of a pair with the first terms; those of training inputs are kept."""
        name = self._name(x, y)
        known = self._kept.get(name, np.zeros(0)) if name is not None else np.zeros(0)
        if len(known) >= count:
            return known[:count]
        values = np.concatenate([known, _kernel_values(self.structure, self.terms[len(known) : count], x, y)])
        if name is not None:
            if self._n_kept > KEPT_VALUES:
                self._kept, self._n_kept = {}, 0
            self._kept[name] = values
            self._n_kept += len(values) - len(known)
        return values

    def _name(self, x: Any, y: Any) -> Any:
        """Return a hashable name of a pair; None if its kernel values cannot be kept."""
        number, known = self._inputs.get(id(x), (0, None))
        if known is not x:
            return None
        try:
            return number, hash_key(y)
        except TypeError:
            return None

    # ------------------------------------------------------------------ coordinates

    def joint_feature(self, x: Any, y: Any) -> tuple[IntArray, FloatArray]:
        name = self._name(x, y)
        coordinates = None if name is None else self._coordinates.get(name)
        if coordinates is None:
            coordinates = self._new_coordinates(x, y)
            if name is not None and not self.frozen:
                self._coordinates[name] = coordinates
        if self.freezes:  # checks compare bits, and a pair that is computed again has rounding errors
            coordinates = np.round(coordinates, 10 - int(np.ceil(np.log10(max(self._largest, 1e-300)) / 2)))
        return np.arange(len(coordinates)), coordinates

    def _new_coordinates(self, x: Any, y: Any) -> FloatArray:
        """Return the coordinates of a pair, and extend the basis if it is independent of the others."""
        rank = len(self.terms)
        values = self._values(x, y, rank)
        coordinates: FloatArray = self._inverse[:rank, :rank] @ values
        own = _number(self.structure.joint_kernel(x, y, x, y))
        self._largest = max(self._largest, own)
        rest = own - float(coordinates @ coordinates)
        if rest < -INDEFINITE * self._largest:
            raise ValueError(
                f"joint_kernel is not positive semi-definite: K(p, p) is {own:.6g} for p = (x, {shown(y)}), but its "
                f"projection onto {rank} other pairs has the squared length {own - rest:.6g}"
            )
        if rest > DEPENDENT * self._largest and not self.frozen and self._room(rank):
            root = float(np.sqrt(rest))
            self._inverse[rank, :rank] = -(coordinates @ self._inverse[:rank, :rank]) / root
            self._inverse[rank, rank] = 1.0 / root
            self.terms.append((x, own_copy(y)))
            coordinates = np.append(coordinates, root)
        return coordinates

    def _room(self, rank: int) -> bool:
        """Return whether there is a new dimension, after making room for it; raise MemoryError if a fit needs more."""
        if rank == self.limit:
            if self.freezes:
                return False
            raise MemoryError(
                f"joint_kernel: more than {self.limit} independent pairs (x, y) were found, whose Gram matrix would "
                f"exceed the memory limit; use fewer examples, a smaller C or a larger tol"
            )
        if rank == len(self._inverse):
            capacity = min(max(2 * rank, 64), self.limit)
            larger = np.zeros((capacity, capacity))
            larger[:rank, :rank] = self._inverse
            self._inverse = larger
        return True

    def weights(self, w: FloatArray) -> KernelWeights:
        self.frozen = self.frozen or self.freezes
        rank = len(self.terms)
        if self._last is None or self._last[0] is not w or self._last[1] != rank:
            self._last = w, rank, np.asarray(w, float)[:rank] @ self._inverse[:rank, :rank]
        return KernelWeights(self._last[2], self.terms, self._values)

    def expanded(self, w: FloatArray) -> tuple[FloatArray, list[tuple[Any, Any]]]:
        """Return the coefficients and terms of weights, without negligible ones."""
        coefficients = self.weights(w).coefficients
        kept = np.flatnonzero(np.abs(coefficients) > NEGLIGIBLE * np.abs(coefficients).max(initial=0.0))
        return coefficients[kept].copy(), [self.terms[j] for j in kept.tolist()]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what is kept by the identity of objects of this process."""
        return vars(self) | {"_inputs": {}, "_kept": {}, "_coordinates": {}, "_n_kept": 0, "_last": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def coordinates_for(structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> KernelCoordinates:
    """Return the structure of a fit, after a check of its kernel on some of the examples and of the memory."""
    limit = gram_limit()
    if len(Y) > limit:
        raise MemoryError(
            f"joint_kernel: the Gram matrix of {len(Y)} examples exceeds the memory limit, which is that of {limit}"
        )
    check_joint_kernel(structure, X, Y)
    return KernelCoordinates(structure, X, limit)


def check_joint_kernel(structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> None:
    """Raise an error if the structure has a size, or if the kernel of some true pairs is not symmetric and definite."""
    if getattr(structure, "size", None) is not None:
        raise TypeError(f"{type(structure).__name__} has joint_kernel, so it has no weights to count: remove size")
    some = np.unique(np.linspace(0, len(Y) - 1, min(len(Y), CHECKED)).astype(np.int64)).tolist()
    gram = np.array([_kernel_values(structure, [(X[j], Y[j]) for j in some], X[i], Y[i]) for i in some])
    gram = gram.reshape(len(some), len(some)).T
    check_symmetric(gram, lambda k: str(Place("X", some[k])))
    check_definite(0.5 * (gram + gram.T))


def hash_key(value: Any) -> Any:
    """Return a hashable value that is equal for equal outputs alone; raise TypeError if there is none."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value), tuple(map(hash_key, value))
    if isinstance(value, dict):
        return dict, frozenset((key, hash_key(member)) for key, member in value.items())
    if isinstance(value, set | frozenset):
        return type(value), frozenset(map(hash_key, value))
    hash(value)
    if getattr(type(value), "__hash__", None) is object.__hash__:
        raise TypeError("compared by identity")
    return type(value), value


def _kernel_values(structure: Any, terms: Sequence[tuple[Any, Any]], x: Any, y: Any) -> FloatArray:
    """Return K of each term with (x, y), checked."""
    return np.array([_number(structure.joint_kernel(a, b, x, y)) for a, b in terms], float)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"joint_kernel returned {shown(value)}, expected a number") from None
    if not np.isfinite(number):
        raise ValueError(f"joint_kernel returned {number}, expected a finite number")
    return number
