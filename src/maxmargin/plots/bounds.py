"""Tightness of a bound: the convex bound, the minimised bound, and the true loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.plots._matplotlib import BLUE, GREEN, GREY, ORANGE, pyplot
from maxmargin.plots.convergence import no_history


class BoundDisplay:
    """Convex bound, ramp bound and true loss, over the outer steps of a fit or over C (Do et al. 2008, figure 2).

    All are means over the training examples, by weight, at the weights of the ramp; so the convex bound may rise while
    the ramp bound falls. A narrow grey band means that the minimised bound is close to the loss. Latent bounds have
    no loss to show, because the loss of a prediction is not known in training.

    Use `from_estimator` or `from_models`.

    Parameters
    ----------
    at : array-like of shape (n,)
        Outer steps, or values of C.
    convex, bound, loss : array-like of shape (n,)
        The values there.
    over : {"outer steps", "C"}, default="outer steps"
        Meaning of `at`; C has a logarithmic axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.rows()
    >>> model = mm.MulticlassSVM(bound="ramp").fit(X, y)
    >>> display = mm.plots.BoundDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'outer steps'
    """

    def __init__(self, at: Any, convex: Any, bound: Any, loss: Any, *, over: str = "outer steps") -> None:
        if over not in ("outer steps", "C"):
            raise ValueError(f"over must be 'outer steps' or 'C', found {over!r}")
        values = [np.asarray(column, float) for column in (at, convex, bound, loss)]
        if len({column.shape for column in values}) != 1 or values[0].ndim != 1 or len(values[0]) == 0:
            raise ValueError(f"expected four columns of equal length, found shapes {[v.shape for v in values]}")
        self.at, self.convex, self.bound, self.loss = values
        self.over = over

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> BoundDisplay:
        """Plot the outer steps of a fit with a ramp or with latent variables.

        Parameters
        ----------
        estimator : estimator
            The fitted estimator.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        BoundDisplay
            The display, with its figure drawn.
        """
        rows = _history(estimator)
        columns = ([row[name] for row in rows] for name in ("step", "convex", "bound", "loss"))
        return cls(*columns).plot(ax=ax)

    @classmethod
    def from_models(cls, models: Sequence[Any], *, ax: Any = None) -> BoundDisplay:
        """Plot the ends of several fits over their C, such as those of a `regularization_path`.

        Parameters
        ----------
        models : sequence of estimators
            The fitted estimators.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        BoundDisplay
            The display, with its figure drawn.
        """
        ordered = sorted(models, key=lambda model: float(model.C))
        if not ordered:
            raise ValueError("there are no models to plot")
        rows = [_history(model)[-1] for model in ordered]
        columns = ([row[name] for row in rows] for name in ("convex", "bound", "loss"))
        return cls([float(model.C) for model in ordered], *columns, over="C").plot(ax=ax)

    def plot(self, *, ax: Any = None) -> BoundDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        BoundDisplay
            The display, with its figure drawn.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(5, 3.6), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        known = bool(np.isfinite(self.loss).any())
        self._line(ax, self.convex, ORANGE, "convex bound")
        self._line(ax, self.bound, BLUE, "ramp bound" if known else "bound")
        if known:
            self._line(ax, self.loss, GREEN, "loss")
            ax.fill_between(self.at, self.loss, self.bound, color=GREY, alpha=0.12, linewidth=0)
        self._frame(ax)
        return self

    def _line(self, ax: Any, values: FloatArray, colour: str, label: str) -> None:
        ax.plot(self.at, values, color=colour, marker="o" if len(self.at) < 30 else "", markersize=3, label=label)

    def _frame(self, ax: Any) -> None:
        if self.over == "C":
            ax.set_xscale("log")
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(self.over)
        ax.set_ylabel("mean of the training examples")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)


def _history(estimator: Any) -> list[dict[str, float]]:
    rows: list[dict[str, float]] | None = getattr(estimator, "history_", None)
    name = type(estimator).__name__
    if rows is None:
        raise no_history(estimator)
    if not rows or "bound" not in rows[0]:
        raise ValueError(
            f"{name}(bound={estimator.bound!r}) was fitted to a convex bound, which has no outer steps; use "
            f"ConvergenceDisplay, or fit with bound='ramp'"
        )
    return rows
