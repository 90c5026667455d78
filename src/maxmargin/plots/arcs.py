"""Arcs over a row of words or items: dependency trees, matchings, secondary structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.encoding.rna import compared_pairs
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE, pyplot

#: Distance between arcs that end at the same item, and the height of a row of labels.
_APART, _ROW = 0.13, 0.55
_STEPS = np.linspace(0.0, np.pi, 60)
_POINTS_PER_INCH, _SMALLEST_TEXT = 72.0, 5.0


class ArcDisplay:
    """Arc diagram: true arcs above a row of labels and predicted arcs below; wrong and missed ones are dashed.

    Parameters
    ----------
    labels : sequence of str
        The items, from left to right.
    arcs : sequence of (int, int)
        Arcs from item i to item j, by their positions from 0.
    predicted : sequence of (int, int) or None, default=None
        Predicted arcs; None for a diagram of `arcs` alone.
    directed : bool, default=True
        Whether arcs have an arrow at j, and (i, j) differs from (j, i).

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(
        self, labels: Sequence[str], arcs: Sequence[Any], predicted: Sequence[Any] | None = None, directed: bool = True
    ) -> None:
        self.labels, self.directed = [str(label) for label in labels], directed
        self.arcs = self._checked(arcs, "arcs")
        self.predicted = None if predicted is None else self._checked(predicted, "predicted")

    def _checked(self, arcs: Sequence[Any], name: str) -> list[tuple[int, int]]:
        """Return arcs as pairs of integers; raise ValueError if one does not join two of the items."""
        pairs = []
        for k, arc in enumerate(arcs):
            i, j = (int(end) for end in arc)
            if i == j or not (0 <= i < len(self.labels) and 0 <= j < len(self.labels)):
                raise ValueError(
                    f"{name}[{k}]: expected two different items from 0 to {len(self.labels) - 1}, found {arc}"
                )
            pairs.append((i, j) if self.directed else (min(i, j), max(i, j)))
        return pairs

    @classmethod
    def from_heads(
        cls, words: Sequence[str], heads: Sequence[int], predicted: Any = None, *, ax: Any = None
    ) -> ArcDisplay:
        """Plot a dependency tree.

        Parameters
        ----------
        words : sequence of str
            The words 1 … n.
        heads : sequence of int
            The head of each word, 0 for the root.
        predicted : sequence of int or None, default=None
            Predicted heads.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        for name, given in (("heads", heads), ("predicted", predicted)):
            if given is not None and len(given) != len(words):
                raise ValueError(f"{name}: {len(given)} heads, expected one for each of {len(words)} words")
        trees = [None if given is None else [(h, m) for m, h in enumerate(given, 1)] for given in (heads, predicted)]
        return cls(["(root)", *words], trees[0] or [], trees[1]).plot(ax=ax)

    @classmethod
    def from_brackets(
        cls, sequence: str, structure: str, predicted: str | None = None, *, ax: Any = None
    ) -> ArcDisplay:
        """Plot the secondary structure of an RNA.

        Parameters
        ----------
        sequence : str
            The bases.
        structure : str
            Their pairs in dot-bracket notation.
        predicted : str or None, default=None
            The predicted structure.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        pairs = compared_pairs(sequence, structure, predicted)
        true, found = (None if some is None else sorted(some) for some in pairs)
        return cls(sequence, true or [], found, directed=False).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, true: Any = None, *, ax: Any = None) -> ArcDisplay:
        """Plot the tree that a parser predicts for a sentence, or the structure of an RNA.

        Parameters
        ----------
        estimator : DependencyParser or RNAFolder
            A fitted estimator.
        x : list or str
            One sentence, or one sequence.
        true : sequence of int, str or None, default=None
            The true heads, or the true structure, to compare with.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        from maxmargin.encoding.sentences import read_sentence

        (predicted,) = estimator.predict([x])
        shown = (predicted,) if true is None else (true, predicted)
        if isinstance(x, str):
            return cls.from_brackets(x, *shown, ax=ax)
        return cls.from_heads(read_sentence(x, "x").columns["form"], *shown, ax=ax)

    def plot(self, *, ax: Any = None) -> ArcDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        plt, both = pyplot(), self.predicted is not None
        places = self._places()
        above = max((_height(places, arc) for arc in self.arcs), default=0.5)
        below = max((_height(places, arc) for arc in self.predicted or []), default=0.0)
        if ax is None:
            size = (
                float(np.clip(0.75 * (places[-1] + 1.5), 4.0, 18.0)),
                float(np.clip(0.75 * (above + below) + 0.9, 1.6, 9.0)),
            )
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        right = set(self.arcs) & set(self.predicted) if self.predicted is not None else set(self.arcs)
        self._draw(ax, places, self.arcs, right, 1)
        self._write_labels(ax, places)
        if both:
            self._draw(ax, places, self.predicted or [], right, -1)
            for text, height, side in (("true", above, "top"), ("predicted", -below - _ROW, "bottom")):
                ax.text(places[0] - 0.4, height, text, color=GREY, ha="left", va=side, style="italic")
        ax.set_xlim(places[0] - 0.6, places[-1] + 0.6)
        ax.set_ylim(-below - _ROW - 0.1 if both else -0.4, above + _ROW + 0.1)
        ax.axis("off")
        return self

    def _write_labels(self, ax: Any, places: Any) -> None:
        """Write the labels, smaller where they are dense, and only a line where they would not be legible."""
        size = min(10.0, _POINTS_PER_INCH * 1.3 * ax.figure.get_size_inches()[0] / (places[-1] + 1.5))
        if size < _SMALLEST_TEXT:
            ax.plot([places[0], places[-1]], [0.0, 0.0], color=GREY, linewidth=0.8)
            return
        for place, label in zip(places, self.labels, strict=True):
            colour = GREY if label == "(root)" else "black"
            ax.text(place, 0.0, label, ha="center", va="center", color=colour, fontsize=size)

    def _places(self) -> Any:
        """Return where the labels are: long ones are further apart."""
        half = np.array([max(0.5, 0.075 * len(label) + 0.12) for label in self.labels])
        return np.cumsum(half) + np.concatenate([[0.0], np.cumsum(half)[:-1]])

    def _draw(self, ax: Any, places: Any, arcs: list[tuple[int, int]], right: Any, side: int) -> None:
        for i, j in arcs:
            known = (i, j) in right
            style = {"color": BLUE if known else ORANGE, "linestyle": "-" if known else "--", "linewidth": 1.4}
            towards = np.sign(j - i)
            start = places[i] + _APART * towards
            end = places[j] - (0.0 if self.directed else _APART * towards)
            x = 0.5 * (start + end) - 0.5 * (end - start) * np.cos(_STEPS)
            y = side * (0.5 * _ROW + _height(places, (i, j)) * np.sin(_STEPS) ** 0.8)
            ax.plot(x, y, solid_capstyle="round", **style)
            if self.directed:
                ax.plot(
                    end, side * (0.5 * _ROW + 0.05), marker="v" if side > 0 else "^", markersize=5, color=style["color"]
                )


def _height(places: Any, arc: tuple[int, int]) -> float:
    return float(0.55 * abs(places[arc[1]] - places[arc[0]]) ** 0.75)
