"""Secondary structures of RNA as chords of a circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.features.biology.rna import compared_pairs
from maxmargin.plots._matplotlib import GREY, pyplot
from maxmargin.plots.matching import PAIR_KINDS, sorted_kinds

#: Bases up to which letters are written, and the angle between both ends of the sequence.
_MOST_LETTERS, _GAP = 120, 0.12
_STEPS = np.linspace(0.0, 1.0, 40)


class CircleDisplay:
    """Circle diagram of a secondary structure: bases around a circle, pairs as chords.

    Nested pairs are chords that do not cross. Pairs of both structures are blue, pairs that only the prediction has
    orange and dashed, pairs that only the truth has grey and dotted.

    Parameters
    ----------
    sequence : str
        The bases, clockwise from the top.
    structure : str
        Their pairs in dot-bracket notation.
    predicted : str or None, default=None
        The predicted structure, to compare with.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.CircleDisplay("GGAAACC", "((...))", "(.....)").plot()
    >>> len(display.ax_.texts)
    9
    """

    def __init__(self, sequence: str, structure: str, predicted: str | None = None) -> None:
        if not sequence:
            raise ValueError("a structure without bases cannot be drawn")
        self.sequence, self.both_given = sequence, predicted is not None
        self.kinds = sorted_kinds(*compared_pairs(sequence, structure, predicted))

    @classmethod
    def from_estimator(cls, estimator: Any, x: str, true: str | None = None, *, ax: Any = None) -> CircleDisplay:
        """Plot the structure that an estimator predicts.

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
        CircleDisplay
            The display, with its figure drawn.
        """
        (predicted,) = estimator.predict([x])
        return cls(x, *((predicted,) if true is None else (true, predicted))).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CircleDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        CircleDisplay
            The display, with its figure drawn.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6.0, 6.4 if self.both_given else 6.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        places = self._places()
        whole = np.linspace(_GAP / 2, 2 * np.pi - _GAP / 2, 400)
        ax.plot(np.sin(whole), np.cos(whole), color=GREY, linewidth=0.6)
        for kind, pairs in self.kinds.items():
            colour, style, name = PAIR_KINDS[kind]
            for k, (i, j) in enumerate(pairs):
                curve = self._chord(places[i], places[j])
                label = name if k == 0 and self.both_given else None
                ax.plot(*curve.T, style, color=colour, linewidth=1.2, label=label)
        self._write(ax, places)
        ax.set(xlim=(-1.22, 1.22), ylim=(-1.22, 1.22))
        ax.set_aspect("equal")
        ax.axis("off")
        if self.both_given and any(self.kinds.values()):
            ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9)
        return self

    def _places(self) -> FloatArray:
        """Return the point of each base on the unit circle."""
        n = len(self.sequence)
        angles = _GAP / 2 + (2 * np.pi - _GAP) * (np.arange(n) + 0.5) / n
        return np.stack([np.sin(angles), np.cos(angles)], axis=1)

    @staticmethod
    def _chord(start: FloatArray, end: FloatArray) -> FloatArray:
        """Return points of a curve between two points, bent towards the centre, chords of near bases less."""
        t, distance = _STEPS[:, None], float(np.linalg.norm(end - start))
        bend = (0.5 - 0.3 * min(distance, 1.0)) * (start + end)
        return (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end

    def _write(self, ax: Any, places: FloatArray) -> None:
        """Write letters, every tenth number, and the ends of the sequence."""
        n = len(self.sequence)
        every = 10 if n <= 200 else 50
        for i, ((x, y), base) in enumerate(zip(places.tolist(), self.sequence, strict=True), 1):
            if n <= _MOST_LETTERS:
                ax.text(1.05 * x, 1.05 * y, base, ha="center", va="center", fontsize=min(9.0, 480.0 / n))
            if i % every == 0 or i in (1, n):
                name = {1: "5'", n: "3'"}.get(i, str(i))
                ax.text(1.14 * x, 1.14 * y, name, ha="center", va="center", fontsize=8, color=GREY)
