"""Mixin of structures without an encoder of their own whose rows a kernel may replace."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.kernel_features.kernel import KernelFeatures, PartKernel, features_from_state
from maxmargin.kernel_features.points import PointFeatures


class KernelOnRows:
    """Mixin before `Compiled`: `features_` are those of the kernel, None without one."""

    kernel_: PartKernel | None
    features_: KernelFeatures | None = None

    @abstractmethod
    def _weight_rows(self, w: FloatArray) -> FloatArray:
        """Return the weights of rows as a view with one row per feature, those of a constant last.

        Weights that do not belong to rows follow after these.
        """

    @abstractmethod
    def _resize(self) -> None:
        """Set the number of weights, after the features were replaced."""

    def use_kernel(self, kernel: PartKernel) -> None:
        """Use a kernel on the rows in the next fit."""
        self.kernel_ = kernel

    @property
    def n_points(self) -> int:
        """Number of points whose kernel values with a row are computed; 0 without a kernel."""
        return 0 if self.features_ is None else self.features_.n_points

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        """Return the features and their weights, if they are kernel values with points."""
        if not isinstance(self.features_, PointFeatures):
            return []
        return [(self.features_, self._weight_rows(w)[: self.features_.width])]

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[Self, FloatArray]:
        """Return the structure and weights of a fitted model, as `Compiled.expanded`."""
        if self.features_ is None:
            return self, w
        model, table, width = copy(self), self._weight_rows(w), self.features_.width
        features, found = self.features_.expanded(table[:width])
        model.features_ = features.moved(positions)
        model._resize()
        return model, np.concatenate([np.concatenate([found, table[width:]]).ravel(), w[table.size :]])

    def _fit_kernel(self, matrix: Any, offsets: IntArray, row: str) -> Any:
        """Return rows of training parts as the features of the kernel, if there is one."""
        self.features_ = None
        if self.kernel_ is not None:
            matrix, self.features_ = self.kernel_.fit(matrix, offsets, row)
        return matrix

    def _mapped(self, matrix: Any) -> Any:
        """Return rows as the features of the kernel, if there is one."""
        return matrix if self.features_ is None else self.features_.transform(matrix)

    def _mapped_names(self, names: list[str]) -> list[str]:
        """Return the names of the features, given those of the columns of rows."""
        return names if self.features_ is None else self.features_.names(names)

    def _kernel_state(self) -> dict[str, Any]:
        """Return what the kernel has learnt, for `_learnt`."""
        return {} if self.features_ is None else {"kernel": self.features_.get_state()}

    def _set_kernel_state(self, learnt: Any, n_inputs: int) -> None:
        """Set what `_kernel_state` returned; raise ValueError if it does not fit the number of columns of rows."""
        self.features_ = features_from_state(learnt["kernel"]) if "kernel" in learnt else None
        if self.features_ is not None and self.features_.n_inputs != n_inputs:
            raise ValueError(f"a kernel of {self.features_.n_inputs} features, expected {n_inputs}")
