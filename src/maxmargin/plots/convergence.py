"""Convergence of a fit: objective, lower bound, and the gap between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.plots._matplotlib import BLUE, GREEN, GREY, ORANGE, pyplot

_AXES = {"seconds": "seconds", "oracle_calls": "argmaxes", "iteration": "steps"}


class ConvergenceDisplay:
    """Primal and dual values (left) and relative gap (right) of a fit.

    Use `from_estimator`.

    Parameters
    ----------
    history : list of dict
        Rows as in ``estimator.history_``.
    tol : float or None, default=None
        The gap at which the fit stops, drawn as a line; None for no line.

    Attributes
    ----------
    axes_ : sequence of two matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger().fit(X, Y)
    >>> display = mm.plots.ConvergenceDisplay.from_estimator(tagger, x="iteration")
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['objective', 'relative gap']
    """

    def __init__(self, history: list[dict[str, float]], tol: float | None = None) -> None:
        self.history, self.tol = history, tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, x: str = "seconds", axes: Any = None) -> ConvergenceDisplay:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            The fitted estimator.
        x : {"seconds", "oracle_calls", "iteration"}, default="seconds"
            The horizontal axis.
        axes : sequence of two matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display, with its figure drawn.
        """
        if not hasattr(estimator, "history_"):
            raise no_history(estimator)
        if estimator.history_ and "primal" not in estimator.history_[0]:
            raise ValueError(
                f"{type(estimator).__name__} was fitted in outer steps, by a bound that is not convex; "
                f"use BoundDisplay.from_estimator"
            )
        if not estimator.history_ and estimator.n_iter_ > 0:
            raise ValueError(
                f"history_ is empty: the fit was resumed after {estimator.n_iter_} steps and made no new ones; the "
                f"history of a resumed fit has new steps only"
            )
        return cls(estimator.history_, float(estimator.tol)).plot(x=x, axes=axes)

    def _column(self, name: str) -> FloatArray:
        return np.array([row[name] for row in self.history if np.isfinite(row["primal"])])

    def plot(self, *, x: str = "seconds", axes: Any = None) -> ConvergenceDisplay:
        """Draw the figure.

        Parameters
        ----------
        x : {"seconds", "oracle_calls", "iteration"}, default="seconds"
            The horizontal axis.
        axes : sequence of two matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ConvergenceDisplay
            The display, with its figure drawn.
        """
        if x not in _AXES:
            raise ValueError(f"x must be one of {', '.join(map(repr, _AXES))}, found {x!r}")
        at, primal, dual, gap = (self._column(name) for name in (x, "primal", "dual", "gap"))
        if len(at) == 0:
            raise ValueError("the fit ended before its first certificate: there is nothing to plot")
        if axes is None:
            _, axes = pyplot().subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        self.axes_, self.figure_ = axes, axes[0].figure
        self._values(axes[0], at, primal, dual)
        self._gap(axes[1], at, gap)
        for ax in axes:
            if x != "seconds":
                ax.xaxis.get_major_locator().set_params(integer=True)
            ax.set_xlabel(_AXES[x])
            ax.spines[["top", "right"]].set_visible(False)
        return self

    def _values(self, ax: Any, at: FloatArray, primal: FloatArray, dual: FloatArray) -> None:
        marker = "o" if len(at) < 30 else ""
        ax.plot(at, primal, color=BLUE, marker=marker, markersize=3, label="objective of the best weights")
        ax.plot(at, dual, color=ORANGE, marker=marker, markersize=3, label="proven lower bound")
        ax.fill_between(at, dual, primal, color=GREY, alpha=0.12, linewidth=0)
        last, spread = primal[-1], max(primal[-1] - dual.min(), 1e-12)
        ax.set_ylim(dual.min() - 0.05 * spread, min(primal.max(), last + 1.5 * spread) + 0.05 * spread)
        ax.set_ylabel("objective")
        ax.legend(frameon=False)

    def _gap(self, ax: Any, at: FloatArray, gap: FloatArray) -> None:
        ax.semilogy(at, np.maximum(gap, 1e-16), color=GREEN, marker="o" if len(at) < 30 else "", markersize=3)
        if self.tol is not None:
            ax.axhline(self.tol, color=GREY, linestyle="--", linewidth=1)
            ax.annotate(f"tol = {self.tol:g}", (at[0], self.tol), xytext=(2, 3), textcoords="offset points", color=GREY)
        ax.set_ylabel("relative gap")


def no_history(estimator: Any) -> ValueError:
    """Return the error for an estimator without `history_`; it names the part of a search or pipeline that has one."""
    name = type(estimator).__name__
    if hasattr(estimator, "best_estimator_"):
        return ValueError(f"{name} has no history_ to plot: pass its best_estimator_")
    if hasattr(estimator, "steps"):
        return ValueError(f"{name} has no history_ to plot: pass its last step, as in pipeline[-1]")
    return ValueError(f"{name} is not fitted: it has no history_ to plot")
