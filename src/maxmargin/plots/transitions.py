"""Transition weights of a tagger as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.plots._matplotlib import GREY, pyplot

#: Maximum number of labels for which numbers are written in the cells.
_NUMBERS_UP_TO = 14


class TransitionDisplay:
    """Weights of label pairs, of first and of last labels; forbidden transitions are grey and hatched.

    Use `from_estimator`.

    Parameters
    ----------
    labels : sequence of length K
        Labels, in the order of the tables.
    transitions : ndarray of shape (K, K)
        Weights of label pairs (row: previous label).
    start, end : ndarray of shape (K,)
        Weights of first and of last labels.
    allowed : ndarray of bool of shape (K, K) or None, default=None
        Which transitions are allowed; None for all.
    start_allowed, end_allowed : ndarray of bool of shape (K,) or None, default=None
        Which first and last labels are allowed; None for all.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.words()
    >>> tagger = mm.ColumnTagger().fit(X, Y)
    >>> display = mm.plots.TransitionDisplay.from_estimator(tagger)
    >>> display.labels
    ['LOC', 'O', 'PER']
    """

    def __init__(
        self,
        labels: Sequence[Any],
        transitions: FloatArray,
        start: FloatArray,
        end: FloatArray,
        allowed: AnyArray | None = None,
        start_allowed: AnyArray | None = None,
        end_allowed: AnyArray | None = None,
    ) -> None:
        size = len(labels)
        self.labels = [str(label) for label in labels]
        self.weights: FloatArray = np.full((size + 1, size + 1), np.nan)
        self.weights[0, :size], self.weights[1:, :size], self.weights[1:, size] = start, transitions, end
        self.forbidden = np.zeros((size + 1, size + 1), bool)
        for part, given in (
            (np.s_[0, :size], start_allowed),
            (np.s_[1:, :size], allowed),
            (np.s_[1:, size], end_allowed),
        ):
            if given is not None:
                self.forbidden[part] = ~np.asarray(given, bool)
        self.weights[self.forbidden] = np.nan

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TransitionDisplay:
        """Plot a fitted tagger.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with `transitions_`, `start_`, `end_` and `classes_`.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        TransitionDisplay
            The display, with its figure drawn.
        """
        if not hasattr(estimator, "transitions_"):
            raise ValueError(
                f"{type(estimator).__name__} has no transitions_ to plot: it is not fitted, or not a tagger"
            )
        structure = getattr(estimator, "structure_", None)
        tables = (getattr(structure, name, None) for name in ("allowed_", "start_allowed_", "end_allowed_"))
        display = cls(estimator.classes_, estimator.transitions_, estimator.start_, estimator.end_, *tables)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> TransitionDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        TransitionDisplay
            The display, with its figure drawn.
        """
        plt = pyplot()
        side = len(self.weights)
        if ax is None:
            inches = float(np.clip(0.42 * side + 1.4, 3.6, 12.0))
            _, ax = plt.subplots(figsize=(inches + 0.9, inches), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        limit = float(np.nanmax(np.abs(self.weights), initial=0.0)) or 1.0
        self.image_ = ax.imshow(self.weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
        self._mark_forbidden(ax)
        size = 9 if side <= 16 else 7.5 if side <= 24 else 6
        if side - 1 <= _NUMBERS_UP_TO:
            self._write_numbers(ax, limit, size - 2)
        self._name_axes(ax, size)
        self.figure_.colorbar(self.image_, ax=ax, label="weight", shrink=0.8)
        return self

    def _mark_forbidden(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        for row, column in np.argwhere(self.forbidden):
            ax.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="#eeeeee", edgecolor="#bbbbbb", hatch="////", lw=0)
            )

    def _write_numbers(self, ax: Any, limit: float, size: float) -> None:
        for (row, column), weight in np.ndenumerate(self.weights):
            if np.isfinite(weight):
                colour = "white" if abs(weight) > 0.6 * limit else "black"
                ax.text(
                    column, row, f"{round(weight, 2) + 0.0:.2f}", ha="center", va="center", fontsize=size, color=colour
                )

    def _name_axes(self, ax: Any, size: float) -> None:
        ticks = range(len(self.weights))
        long = max(map(len, self.labels)) > 3 or len(self.labels) > 20
        ax.set_xticks(ticks, [*self.labels, "end"], fontsize=size, rotation=90 if long else 0)
        ax.set_yticks(ticks, ["start", *self.labels], fontsize=size)
        ax.set_xlabel("next label")
        ax.set_ylabel("label")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.axhline(0.5, color=GREY, linewidth=0.8)
        ax.axvline(len(self.labels) - 0.5, color=GREY, linewidth=0.8)
