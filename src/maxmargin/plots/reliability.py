"""Reliability diagrams: how often decisions of a given confidence are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.metrics.calibration import calibration_bins, decision_confidences, expected_calibration_error
from maxmargin.plots._matplotlib import BLUE, GREY, pyplot


class ReliabilityDisplay:
    """Frequency of right decisions by confidence, with the number of decisions of each bin.

    Use `from_estimator` or `from_predictions`.

    Parameters
    ----------
    confidences : array-like of shape (n,)
        Probability of each decision, from 0 to 1.
    right : array-like of bool of shape (n,)
        Whether each decision was right.
    n_bins : int, default=10
        Number of bins of [0, 1].
    name : str, default=""
        Name for the legend.

    Attributes
    ----------
    error : float
        Expected calibration error.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.ReliabilityDisplay([0.9, 0.9, 0.9, 0.9], [True, True, True, False]).plot()
    >>> round(display.error, 3)
    0.15
    """

    def __init__(self, confidences: Any, right: Any, n_bins: int = 10, name: str = "") -> None:
        self.confidence, self.frequency, self.counts = calibration_bins(confidences, right, n_bins)
        self.error, self.name = expected_calibration_error(confidences, right, n_bins), name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, name: str = "", ax: Any = None
    ) -> ReliabilityDisplay:
        """Plot the labels that a fitted tagger or classifier of rows predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with `predict_marginals` and `classes_`.
        X, y : sequence
            Inputs and their true outputs.
        n_bins : int, default=10
            Number of bins of [0, 1].
        name : str, default=""
            Name for the legend.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ReliabilityDisplay
            The display.
        """
        return cls(*decision_confidences(estimator, X, y), n_bins, name).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, confidences: Any, right: Any, *, n_bins: int = 10, name: str = "", ax: Any = None
    ) -> ReliabilityDisplay:
        """Plot decisions of given confidences.

        Parameters
        ----------
        confidences : array-like of shape (n,)
            Probability of each decision, from 0 to 1.
        right : array-like of bool of shape (n,)
            Whether each decision was right.
        n_bins : int, default=10
            Number of bins of [0, 1].
        name : str, default=""
            Name for the legend.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ReliabilityDisplay
            The display.
        """
        return cls(confidences, right, n_bins, name).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ReliabilityDisplay:
        """Draw on the axes, or on a new figure; several displays may share their axes.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ReliabilityDisplay
            The display.
        """
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
        first = not ax.lines
        if first:
            ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="calibrated")
        filled = self.counts > 0
        label = f"{self.name}: error {self.error:.3f}" if self.name else f"error {self.error:.3f}"
        color = BLUE if first else None
        (line,) = ax.plot(self.confidence[filled], self.frequency[filled], marker="o", color=color, label=label)
        if first:
            edges = np.linspace(0, 1, len(self.counts) + 1)
            shares = self.counts / self.counts.sum()
            ax.bar(edges[:-1], shares, np.diff(edges), align="edge", color=line.get_color(), alpha=0.15)
        ax.set(xlabel="probability of the decision", ylabel="share of right decisions (bars: share of all)",
               xlim=(0, 1), ylim=(0, 1))  # fmt: skip
        ax.legend(loc="upper left", frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
