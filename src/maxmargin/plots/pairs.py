"""Dot plots: probabilities of all base pairs of an RNA, and a predicted structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.features.biology.rna import compared_pairs
from maxmargin.plots._matplotlib import GREY, pyplot
from maxmargin.plots.matching import PAIR_KINDS, sorted_kinds

#: Pairs of a smaller probability are not drawn: their squares would not be visible.
_LEAST = 1e-4
_MOST_LETTERS = 60


class PairDisplay:
    """Dot plot of an RNA: probabilities of pairs above the diagonal, the predicted structure below.

    The area of a square is the probability of the pair, as in the dot plots of ViennaRNA. With a true structure, wrong
    pairs of the predicted one are orange, and missed ones grey.

    Parameters
    ----------
    sequence : str
        The n bases.
    probabilities : array-like of shape (n, n)
        Probability of each pair; the entries above the diagonal are read.
    predicted : str or None, default=None
        The predicted structure in dot-bracket notation.
    true : str or None, default=None
        The true structure, to compare with.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> probabilities = np.zeros((7, 7))
    >>> probabilities[0, 6], probabilities[1, 5] = 0.9, 0.8
    >>> display = mm.plots.PairDisplay("GGAAACC", probabilities, "((...))").plot()
    >>> display.ax_.get_xlabel(), len(display.ax_.collections), len(display.ax_.patches)
    ('position (above the diagonal: probability of the pair)', 2, 0)
    """

    def __init__(
        self, sequence: str, probabilities: Any, predicted: str | None = None, true: str | None = None
    ) -> None:
        self.sequence, n = sequence, len(sequence)
        self.probabilities = np.asarray(probabilities, float)
        if self.probabilities.shape != (n, n):
            raise ValueError(f"probabilities have shape {self.probabilities.shape}, expected {(n, n)}")
        upper = self.probabilities[np.triu_indices(n)]
        if not ((upper >= 0.0) & (upper <= 1.0 + 1e-9)).all():
            raise ValueError("probabilities must be between 0 and 1, as those of predict_marginals are")
        given = [structure for structure in (true, predicted) if structure is not None]
        self.both_given = len(given) == 2
        self.kinds = sorted_kinds(*compared_pairs(sequence, *given, *[None] * (2 - len(given)))) if given else {}

    @classmethod
    def from_estimator(cls, estimator: Any, x: str, true: str | None = None, *, ax: Any = None) -> PairDisplay:
        """Plot the probabilities of pairs and the structure that an estimator predicts.

        Parameters
        ----------
        estimator : RNAFolder
            A fitted estimator.
        x : str
            One sequence.
        true : str or None, default=None
            The true structure, to compare with.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        PairDisplay
            The display, with its figure drawn.
        """
        (predicted,), (probabilities,) = estimator.predict([x]), estimator.predict_marginals([x])
        return cls(x, probabilities, predicted, true).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, sequence: str, probabilities: Any, predicted: str | None = None, true: str | None = None, *, ax: Any = None
    ) -> PairDisplay:
        """Plot probabilities of pairs, also those of other programs.

        Parameters
        ----------
        sequence : str
            The n bases.
        probabilities : array-like of shape (n, n)
            Probability of each pair; the entries above the diagonal are read.
        predicted, true : str or None, default=None
            The predicted and the true structure.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        PairDisplay
            The display, with its figure drawn.
        """
        return cls(sequence, probabilities, predicted, true).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PairDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        PairDisplay
            The display, with its figure drawn.
        """
        plt, n = pyplot(), len(self.sequence)
        if ax is None:
            side = float(np.clip(0.05 * n + 3.5, 4.5, 9.0))
            _, ax = plt.subplots(figsize=(side, side), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        likely = np.argwhere(np.triu(self.probabilities, 1) >= _LEAST)
        sides = np.sqrt(self.probabilities[tuple(likely.T)])
        self._squares(ax, likely[:, ::-1], sides, "black", None)
        for kind, (colour, _, label) in PAIR_KINDS.items():
            pairs = np.array(self.kinds.get(kind, []), int).reshape(-1, 2)
            if len(pairs):
                self._squares(ax, pairs, np.ones(len(pairs)), colour, label if self.both_given else None)
        ax.plot([-0.5, n - 0.5], [-0.5, n - 0.5], color=GREY, linewidth=0.6)
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
        ax.set(xlabel="position (above the diagonal: probability of the pair)", ylabel="position")
        if 0 < n <= _MOST_LETTERS:
            ax.set_xticks(range(n), list(self.sequence), fontsize=7)
            ax.set_yticks(range(n), list(self.sequence), fontsize=7)
        if self.both_given and any(self.kinds.values()):
            ax.legend(loc="lower left", framealpha=0.9)
        return self

    @staticmethod
    def _squares(ax: Any, places: Any, sides: Any, colour: str, label: str | None) -> None:
        """Draw a square at each place (column, row)."""
        from matplotlib.collections import PolyCollection

        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        shapes = places[:, None, :] + sides[:, None, None] * corners
        ax.add_collection(PolyCollection(shapes, facecolors=colour, edgecolors="none", label=label), autolim=False)
