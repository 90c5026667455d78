"""Encoders of rows which a kernel may replace: what they have in common, and that of a matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.mercer.kernel import KernelFeatures, PartKernel, features_from_state


class KernelRows(ABC):
    """Base of encoders whose rows are the features, or are replaced by the features of a kernel.

    Attributes
    ----------
    kernel : PartKernel or None
        Kernel on the rows, set before `fit`; None if rows are the features.
    features : KernelFeatures or None
        What `fit` learnt for the kernel.
    width : int
        Number of columns of the rows that are read.
    """

    #: Name of a row of an example in messages and in names of points; "" if it is the example itself.
    row: ClassVar[str] = ""

    def __init__(self) -> None:
        self.width = 0
        self.kernel: PartKernel | None = None
        self.features: KernelFeatures | None = None

    @abstractmethod
    def _input_names(self) -> Sequence[str]:
        """Return the names of the columns of the rows that are read."""

    @property
    def output_width(self) -> int:
        """Number of columns of the matrix that is returned."""
        return self.width if self.features is None else self.features.width

    def column_names(self) -> Sequence[str]:
        """Return the name of each column of the matrix that is returned."""
        return self._mapped_names(self._input_names())

    def _mapped_names(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names of the features, given those of the columns of rows."""
        return names if self.features is None else self.features.names(names)

    def _fit_kernel(self, matrix: Any, offsets: IntArray) -> Any:
        """Return rows of training parts as the features of the kernel, if there is one."""
        self.features = None
        if self.kernel is not None:
            matrix, self.features = self.kernel.fit(matrix, offsets, self.row)
        return matrix

    def _mapped(self, matrix: Any) -> Any:
        """Return rows as the features of the kernel, if there is one."""
        return matrix if self.features is None else self.features.transform(matrix)

    def expanded(self, weights: FloatArray, positions: IntArray) -> tuple[Self, FloatArray]:
        """Return the encoder of a fitted model, and its weights, for the weights of all columns found by a fit.

        Rows of weights after those of the features of the kernel, as that of a constant, are left as they are.
        """
        if self.features is None:
            return self, weights
        model, width = copy(self), self.features.width
        features, table = self.features.expanded(weights[:width])
        model.features = features.moved(positions)
        return model, np.concatenate([table, weights[width:]])

    def _kernel_state(self) -> dict[str, Any]:
        """Return the learnt state of the kernel, for `get_state`."""
        return {} if self.features is None else {"kernel": self.features.get_state()}

    def _set_kernel_state(self, state: Any) -> None:
        """Restore the state of the kernel; raise ValueError if it does not fit the number of columns of rows."""
        self.features = features_from_state(state["kernel"]) if "kernel" in state else None
        if self.features is not None and self.features.n_inputs != self.width:
            raise ValueError(f"a kernel of {self.features.n_inputs} features, expected {self.width}")


class MatrixEncoder(KernelRows):
    """Encoder of the rows of a checked matrix; it learns their number of columns."""

    def fit(self, matrix: Any, offsets: IntArray | None = None) -> Any:
        """Learn from the rows of all examples, by default one each, and return them as features."""
        self.width = int(matrix.shape[1])
        return self._fit_kernel(matrix, np.arange(matrix.shape[0] + 1) if offsets is None else offsets)

    def encode(self, matrix: Any) -> Any:
        """Return rows as features; raise ValueError if they do not have the columns of the fit."""
        if matrix.shape[1] != self.width:
            raise ValueError(f"X has {matrix.shape[1]} features, expected {self.width}")
        return self._mapped(matrix)

    def column_names(self, columns: Sequence[str] | None = None) -> list[str]:
        """Return the name of each feature, given the names of the columns if they have some."""
        return list(self._mapped_names(self._input_names() if columns is None else list(map(str, columns))))

    def _input_names(self) -> list[str]:
        return [f"x{f}" for f in range(self.width)]

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state: a width, and the features of the kernel if there is one."""
        return {"n_features": self.width, **self._kernel_state()}

    def set_state(self, state: Any) -> Self:
        """Restore the state of another encoder."""
        self.width = whole_number(state["n_features"], "the number of features", 0)
        self._set_kernel_state(state)
        return self
