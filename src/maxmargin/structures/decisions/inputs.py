"""Inputs of decisions: features of instances, of their variables, or both, as blocks of part features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import finite_number, is_list, stored_array, stored_names
from maxmargin._base.errors import Place
from maxmargin._base.input import indexable
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.text.sequences import SequenceEncoder

WEIGHTS = ("per-variable", "shared", "both")


class Inputs:
    """Features with what belongs to the same examples and is not learnt.

    Attributes
    ----------
    features : sequence
        Features, or a pair of them for ``weights="both"``, in which case `paired` is True.
    known : sequence or None
        Known costs of each example, which are added to the predicted ones.
    instances : sequence or None
        What the optimiser gets besides costs.
    names : tuple
        The column names of each part of the features that is a data frame, otherwise None.
    """

    def __init__(self, features: Any, known: Any, instances: Any, paired: bool, names: Any = (None, None)) -> None:
        self.features, self.known, self.instances, self.paired, self.names = features, known, instances, paired, names
        self.shape = (_length(features[0] if paired else features),)

    @classmethod
    def of(cls, X: Any, weights: str, known: Any = None, instances: Any = None) -> Inputs:
        """Return the inputs; raise ValueError if their lengths differ."""
        if isinstance(X, Inputs):
            return X
        paired = weights == "both"
        if paired and not (isinstance(X, tuple | list) and len(X) == 2):
            raise ValueError(
                "weights='both' needs X = (features, variable_features): a pair of features of the examples, (n, d), "
                f"and of their variables, (n, m, d); found {type(X).__name__}"
            )
        given_parts = X if paired else (X,)
        names = tuple([str(c) for c in part.columns] if hasattr(part, "columns") else None for part in given_parts)
        parts = [indexable(part, "X") for part in given_parts]
        n = _length(parts[0])
        given = {"X[1]": parts[-1], "known_costs": known, "instances": instances}
        for name, values in given.items():
            if values is None:
                continue
            if not is_list(values):
                raise ValueError(f"{name} must have an entry for each of {n} examples, found {type(values).__name__}")
            if _length(values) != n:
                raise ValueError(f"X has {n} examples but {name} has {_length(values)}")
        if n == 0:
            raise ValueError("X is empty: there are no examples")
        known = known.to_numpy() if hasattr(known, "to_numpy") else known
        return cls(tuple(parts) if paired else parts[0], known, instances, paired, names)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Any) -> Inputs:
        """Return some of the examples; an int is one example."""
        some = np.atleast_1d(np.asarray(ids))
        features = tuple(_some(f, some) for f in self.features) if self.paired else _some(self.features, some)
        known = None if self.known is None else _some(self.known, some)
        instances = None if self.instances is None else _some(self.instances, some)
        return Inputs(features, known, instances, self.paired, self.names)


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _some(values: Any, ids: IntArray) -> Any:
    return values[ids] if hasattr(values, "shape") else [values[i] for i in ids.tolist()]


class VariableRows(SequenceEncoder):
    """Encoder of feature rows of variables."""

    row = "variable"


class ExampleRows(SequenceEncoder):
    """Encoder of one feature row for each example."""

    row = "row"

    def _row_name(self, row: int, offsets: IntArray) -> Place:
        return self._name(row)


class FeatureEncoder:
    """Encoder of feature rows that are optionally standardised.

    Parameters
    ----------
    shared : bool, default=False
        Whether an example has a row for each variable; otherwise it has one row.

    Attributes
    ----------
    means, scales : ndarray of shape (width,)
        What is subtracted from and divided by each column.
    constant : float
        Value of the last column, the intercept; 0 if there is none.
    """

    def __init__(self, shared: bool = False) -> None:
        self.shared, self.rows = shared, VariableRows() if shared else ExampleRows()
        self.means, self.scales, self.constant = np.zeros(0), np.ones(0), 0.0
        self.names: list[str] | None = None

    def fit(self, X: Any, names: Any, standardize: bool, centre: bool, constant: float) -> tuple[Any, IntArray]:
        """Learn widths, names and scales, and return rows and offsets."""
        matrix, offsets = self._matrix(X, learn=True)
        width, self.constant, self.names = matrix.shape[1], constant, names
        self.means, self.scales = np.zeros(width), np.ones(width)
        if standardize and matrix.shape[0]:
            square = np.asarray(matrix.power(2).mean(axis=0)) if sp.issparse(matrix) else (matrix**2).mean(axis=0)
            if centre and not sp.issparse(matrix):
                self.means = matrix.mean(axis=0)
                square = ((matrix - self.means) ** 2).mean(axis=0)
            self.scales = np.where(square > 1e-24 * (1.0 + self.means**2), np.sqrt(square), 1.0)
        return self._scaled(matrix), offsets

    def encode(self, X: Any, names: Any) -> tuple[Any, IntArray]:
        """Return rows and offsets."""
        if names is not None and self.names is not None and names != self.names:
            raise ValueError(f"X has columns {names!r:.60}, expected those of the fit, {self.names!r:.60}")
        matrix, offsets = self._matrix(X, learn=False)
        return self._scaled(matrix), offsets

    def _matrix(self, X: Any, learn: bool) -> tuple[Any, IntArray]:
        plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        if not self.shared and plain and X.ndim == 2 and np.isfinite(X).all():
            if learn:
                self.rows.width = X.shape[1]
            elif X.shape[1] != self.rows.width or self.rows.vocabulary is not None:
                raise ValueError(f"X has {X.shape[1]} features, expected {self.rows.width}")
            return np.array(X, float, order="C"), np.arange(len(X) + 1)
        if self.shared:
            if plain and X.ndim != 3:
                raise ValueError(f"X must have shape (n, m, d), a row for each variable, found shape {X.shape}")
            return self.rows.fit(list(X)) if learn else self.rows.encode(list(X))
        if plain and X.ndim != 2:
            raise ValueError(f"X must have shape (n, d), found shape {X.shape}; weights='shared' takes (n, m, d)")
        single = [X[[i]] if sp.issparse(X) else [X[i]] for i in range(_length(X))]
        return self.rows.fit(single) if learn else self.rows.encode(single)

    def _scaled(self, matrix: Any) -> Any:
        if sp.issparse(matrix):
            scaled = sp.csr_array(matrix @ sp.diags_array(1.0 / self.scales))
            if not self.constant:
                return scaled
            return sp.csr_array(sp.hstack([scaled, np.full((scaled.shape[0], 1), self.constant)]))
        scaled = (matrix - self.means) / self.scales
        return np.hstack([scaled, np.full((len(scaled), 1), self.constant)]) if self.constant else scaled

    def column_names(self) -> list[str]:
        """Return the name of each column, the intercept last."""
        names = self.rows.column_names() if self.names is None else self.names
        return [*names, *(["intercept"] if self.constant else [])]

    def original(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights of the original columns, and intercepts, for weights of shape (columns, K)."""
        slopes = weights[: len(self.scales)] / self.scales[:, None]
        intercepts = -self.means @ slopes
        return slopes, intercepts + self.constant * weights[-1] if self.constant else intercepts

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state."""
        return {
            "rows": self.rows.get_state(), "means": self.means, "scales": self.scales,
            "constant": float(self.constant), "names": self.names,
        }  # fmt: skip

    def set_state(self, state: Any) -> FeatureEncoder:
        """Restore the state of another encoder."""
        self.rows.set_state(state["rows"])
        self.means, self.scales = (
            stored_array(state[name], name, np.float64, (self.rows.width,)) for name in ("means", "scales")
        )
        if not (self.scales > 0).all():
            raise ValueError("scales of features must be numbers > 0")
        self.constant = finite_number(state["constant"], "constant")
        self.names = None if state["names"] is None else stored_names(state["names"], "names of features")
        if self.names is not None and len(self.names) != len(self.rows.column_names()):
            raise ValueError(f"expected the names of {len(self.rows.column_names())} features")
        return self


class Truth(NamedTuple):
    """What is known of an example: a decision, true costs, or both.

    Attributes
    ----------
    decision : array-like or None
        The known decision; None if it follows from the costs.
    costs : array-like or None
        The true costs; None if only the decision is known.
    """

    decision: Any
    costs: Any = None
