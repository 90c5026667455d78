"""Arcs over a row of words or items: dependency trees, matchings, secondary structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.features.biology.rna import compared_pairs
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE, pyplot

#: Distance between arcs that end at the same item, and the height of a row of labels.
_APART, _ROW = 0.13, 0.55
#: The height of a row of texts on arcs.
_TEXT_ROW = 0.3
#: Least probability of arcs that are drawn though they are not predicted.
_LIKELY = 0.1
_STEPS = np.linspace(0.0, np.pi, 60)
_POINTS_PER_INCH, _SMALLEST_TEXT = 72.0, 5.0


class ArcDisplay:
    """Arc diagram: true arcs above a row of labels and predicted arcs below; wrong and missed ones are dashed.

    Parameters
    ----------
    labels : sequence of str
        The items, from left to right.
    arcs : sequence of (int, int) or (int, int, str)
        Arcs from item i to item j, by their positions from 0, and what to write on them, such as a relation.
    predicted : sequence of (int, int) or (int, int, str), default=None
        Predicted arcs; None for a diagram of `arcs` alone. A right arc with another text than the true one has its text
        in the colour of wrong arcs.
    directed : bool, default=True
        Whether arcs have an arrow at j, and (i, j) differs from (j, i).
    probabilities : array-like of shape (n, n) or None, default=None
        Probability of the arc from each item i to each item j, such as those of `predict_marginals`. Predicted arcs (or
        those of `arcs`, if there are no others) are then the fainter and thinner the less probable they are, and other
        arcs of probability 0.1 or more are drawn in grey.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.ArcDisplay.from_heads(["she", "reads", "books"], [2, 0, 2], [2, 0, 2])
    >>> [text.get_text() for text in display.ax_.texts][:3]
    ['(root)', 'she', 'reads']
    """

    def __init__(
        self,
        labels: Sequence[str],
        arcs: Sequence[Any],
        predicted: Sequence[Any] | None = None,
        directed: bool = True,
        probabilities: Any = None,
    ) -> None:
        self.labels, self.directed = [str(label) for label in labels], directed
        self.arcs, self.texts = self._checked(arcs, "arcs")
        self.predicted: list[tuple[int, int]] | None = None
        self.predicted_texts: dict[tuple[int, int], str] = {}
        if predicted is not None:
            self.predicted, self.predicted_texts = self._checked(predicted, "predicted")
        self.probabilities = None if probabilities is None else self._checked_table(probabilities)

    def _checked_table(self, probabilities: Any) -> FloatArray:
        table, n = np.asarray(probabilities, float), len(self.labels)
        if table.shape != (n, n):
            raise ValueError(f"probabilities have shape {table.shape}, expected {(n, n)}")
        if not ((table >= 0.0) & (table <= 1.0 + 1e-9)).all():
            raise ValueError("probabilities must be between 0 and 1, as those of predict_marginals are")
        return table

    @property
    def others(self) -> list[tuple[int, int]]:
        """Arcs of probability 0.1 or more that are not predicted."""
        if self.probabilities is None:
            return []
        shown = set(self.arcs if self.predicted is None else self.predicted)
        table = self.probabilities if self.directed else np.triu(self.probabilities)
        likely = [(i, j) for i, j in np.argwhere(table >= _LIKELY).tolist() if i != j]
        return [arc for arc in likely if arc not in shown]

    def _checked(self, arcs: Sequence[Any], name: str) -> tuple[list[tuple[int, int]], dict[tuple[int, int], str]]:
        """Return arcs as pairs of integers, and their texts; raise ValueError if one does not join two of the items."""
        pairs, texts = [], {}
        for k, arc in enumerate(arcs):
            i, j = (int(end) for end in arc[:2])
            if i == j or not (0 <= i < len(self.labels) and 0 <= j < len(self.labels)):
                raise ValueError(
                    f"{name}[{k}]: expected two different items from 0 to {len(self.labels) - 1}, found {arc}"
                )
            pairs.append((i, j) if self.directed else (min(i, j), max(i, j)))
            if len(arc) > 2:
                texts[pairs[-1]] = str(arc[2])
        return pairs, texts

    @classmethod
    def from_heads(
        cls,
        words: Sequence[str],
        heads: Sequence[Any],
        predicted: Any = None,
        *,
        probabilities: Any = None,
        ax: Any = None,
    ) -> ArcDisplay:
        """Plot a dependency tree.

        Parameters
        ----------
        words : sequence of str
            The words 1 … n.
        heads : sequence of int or (int, str)
            The head of each word, 0 for the root, or pairs (head, relation).
        predicted : sequence of int or (int, str), default=None
            Predicted heads, or pairs.
        probabilities : array-like of shape (n + 1, n + 1) or None, default=None
            Probabilities [head, word] of arcs.
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
        trees = [None if given is None else _tree(given) for given in (heads, predicted)]
        return cls(["(root)", *words], trees[0] or [], trees[1], probabilities=probabilities).plot(ax=ax)

    @classmethod
    def from_brackets(
        cls,
        sequence: str,
        structure: str,
        predicted: str | None = None,
        *,
        probabilities: Any = None,
        ax: Any = None,
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
        probabilities : array-like of shape (n, n) or None, default=None
            Probabilities of pairs.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        pairs = compared_pairs(sequence, structure, predicted)
        true, predicted_pairs = (None if some is None else sorted(some) for some in pairs)
        return cls(sequence, true or [], predicted_pairs, directed=False, probabilities=probabilities).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, true: Any = None, *, probabilities: bool = False, ax: Any = None
    ) -> ArcDisplay:
        """Plot the tree that a parser predicts for a sentence, with its relations if any, or the structure of an RNA.

        Parameters
        ----------
        estimator : DependencyParser or RNAFolder
            A fitted estimator.
        x : list or str
            One sentence, or one sequence.
        true : sequence of int or (int, str), str or None, default=None
            The true heads, with relations or without, or the true structure, to compare with.
        probabilities : bool, default=False
            Whether to show the probabilities of arcs.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        ArcDisplay
            The display, with its figure drawn.
        """
        from maxmargin.features.text.sentences import read_sentence

        predict = estimator.predict_labelled if hasattr(estimator, "relation_coef_") else estimator.predict
        (predicted,) = predict([x])
        shown = (predicted,) if true is None else (true, predicted)
        table = estimator.predict_marginals([x])[0] if probabilities else None
        if isinstance(x, str):
            return cls.from_brackets(x, *shown, probabilities=table, ax=ax)
        return cls.from_heads(read_sentence(x, "x").columns["form"], *shown, probabilities=table, ax=ax)

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
        upper, lower = (
            (self.arcs, [*(self.predicted or []), *self.others]) if both else ([*self.arcs, *self.others], [])
        )
        above = max((_height(places, arc) for arc in upper), default=0.5)
        below = max((_height(places, arc) for arc in lower), default=0.0)
        if ax is None:
            size = (
                float(np.clip(0.75 * (places[-1] + 1.5), 4.0, 18.0)),
                float(np.clip(0.75 * (above + below) + 0.9, 1.6, 9.0)),
            )
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        right = set(self.arcs) & set(self.predicted) if self.predicted is not None else set(self.arcs)
        self._draw(ax, places, self.others, None, -1 if both else 1)
        self._draw(ax, places, self.arcs, right, 1)
        self._write_labels(ax, places)
        if both:
            self._draw(ax, places, self.predicted or [], right, -1)
            for text, height, side in (("true", above, "top"), ("predicted", -below - _ROW, "bottom")):
                ax.text(places[0] - 0.4, height, text, color=GREY, ha="left", va=side, style="italic")
        room = 0.1 + (_TEXT_ROW if self.texts or self.predicted_texts else 0.0)
        ax.set_xlim(places[0] - 0.6, places[-1] + 0.6)
        ax.set_ylim(-below - _ROW - room if both else -0.4, above + _ROW + room)
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
        gaps = half[1:] + half[:-1]
        for (i, j), text in [*self.texts.items(), *self.predicted_texts.items()]:
            if abs(i - j) == 1:  # the text of a short arc must not reach over the next one
                gaps[min(i, j)] = max(gaps[min(i, j)], 0.13 * len(text) + 0.2)
        return half[0] + np.concatenate([[0.0], np.cumsum(gaps)])

    def _draw(self, ax: Any, places: Any, arcs: list[tuple[int, int]], right: Any, side: int) -> None:
        """Draw arcs on a side; those that are not `right` are dashed, and grey ones have None for it."""
        texts, others = (self.texts, self.predicted_texts)[::side]
        for i, j in arcs:
            known = right is None or (i, j) in right
            style = {"color": BLUE if known else ORANGE, "linestyle": "-" if known else "--", "linewidth": 1.4}
            if right is None:
                style["color"] = GREY
            if self.probabilities is not None and (side < 0) == (self.predicted is not None):
                p = min(float(self.probabilities[i, j]), 1.0)
                style |= {"linewidth": 0.6 + 1.8 * p, "alpha": 0.25 + 0.75 * p}
            towards = np.sign(j - i)
            start = places[i] + _APART * towards
            end = places[j] - (0.0 if self.directed else _APART * towards)
            x = 0.5 * (start + end) - 0.5 * (end - start) * np.cos(_STEPS)
            y = side * (0.5 * _ROW + _height(places, (i, j)) * np.sin(_STEPS) ** 0.8)
            ax.plot(x, y, solid_capstyle="round", **style)
            text = texts.get((i, j))
            if text is not None:
                other = others.get((i, j), text)
                ax.text(
                    0.5 * (start + end), side * (0.5 * _ROW + _height(places, (i, j)) + 0.04), text, fontsize=8,
                    ha="center", va="bottom" if side > 0 else "top",
                    color=style["color"] if other == text else ORANGE, zorder=3,
                    bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
            if self.directed:
                ax.plot(
                    end,
                    side * (0.5 * _ROW + 0.05),
                    marker="v" if side > 0 else "^",
                    markersize=5,
                    color=style["color"],
                    alpha=style.get("alpha"),
                )


def _tree(heads: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the arcs of a tree from heads, or from pairs (head, relation)."""
    pairs = [(head if isinstance(head, tuple | list) else (head,)) for head in heads]
    return [(head, m, *relation) for m, (head, *relation) in enumerate(pairs, 1)]


def _height(places: Any, arc: tuple[int, int]) -> float:
    return float(0.55 * abs(places[arc[1]] - places[arc[0]]) ** 0.75)
