"""Pictures of matchings: arcs over a sequence of nodes, and a matrix of assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE, pyplot

_PALE = "#9a9a9a"
#: Colour, line style and legend of pairs that both have, that only the prediction has, and that only the truth has.
PAIR_KINDS = {
    "both": (BLUE, "-", "true and predicted"),
    "false": (ORANGE, "--", "predicted only"),
    "missed": (_PALE, ":", "true only"),
}

Pair = tuple[int, int]


def pairs_of_output(y: Any) -> set[Pair]:
    """Return the pairs (i, k) of a matching: of y[i] = k, or of lists y[i] of right nodes; −1 for none."""
    output = y.output if hasattr(y, "output") else y
    rows = [np.atleast_1d(np.asarray(given, int)).tolist() for given in output]
    return {(i, k) for i, given in enumerate(rows) for k in given if k >= 0}


def sorted_kinds(true: set[Pair] | None, predicted: set[Pair] | None) -> dict[str, list[Pair]]:
    """Return the pairs of each kind; with only a truth or only a prediction all are of the kind "both"."""
    if true is None or predicted is None:
        return {"both": sorted(true or predicted or set()), "false": [], "missed": []}
    return {"both": sorted(true & predicted), "false": sorted(predicted - true), "missed": sorted(true - predicted)}


class MatchingDisplay:
    """A matching of nodes in a row, as arcs: the truth above, the prediction below.

    Arcs of both are blue, those that only the prediction has orange and dashed, those that only the truth has grey and
    dotted. With one matching alone, its arcs are above the nodes.

    Parameters
    ----------
    predicted : sequence of int, optional
        The partner of each node, −1 for none: an output of `Matching`.
    true : sequence of int, optional
        The true partners.
    labels : sequence of str, optional
        The name of each node; None for numbers.
    positions : sequence of float, optional
        Where the nodes are, such as the positions of residues; None for equal distances.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.MatchingDisplay([1, 0, 3, 2], true=[3, 2, 1, 0], labels=list("ABCD")).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['A', 'B', 'C', 'D', 'true', 'predicted']
    """

    def __init__(
        self,
        predicted: Sequence[int] | None = None,
        *,
        true: Sequence[int] | None = None,
        labels: Sequence[str] | None = None,
        positions: Sequence[float] | None = None,
    ) -> None:
        given = [y for y in (predicted, true) if y is not None]
        if not given:
            raise ValueError("expected a predicted or a true matching, found neither")
        sizes = {len(y.output if hasattr(y, "output") else y) for y in given}
        if len(sizes) > 1:
            raise ValueError(f"the predicted and the true matching have different numbers of nodes: {sorted(sizes)}")
        (self.n_nodes,) = sizes
        if self.n_nodes == 0:
            raise ValueError("a matching without nodes cannot be drawn")
        for name, values in (("labels", labels), ("positions", positions)):
            if values is not None and len(values) != self.n_nodes:
                raise ValueError(f"{len(values)} {name} for {self.n_nodes} nodes")
        self.labels = [str(v) for v in range(self.n_nodes)] if labels is None else list(map(str, labels))
        self.positions = np.arange(self.n_nodes, dtype=float) if positions is None else np.asarray(positions, float)
        self.both_given = len(given) == 2
        predicted_pairs, truth = (
            None if y is None else {(a, b) for a, b in pairs_of_output(y) if a < b} for y in (predicted, true)
        )
        self.kinds = sorted_kinds(truth, predicted_pairs)

    def plot(self, *, ax: Any = None) -> MatchingDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        MatchingDisplay
            The display, with its figure drawn.
        """
        if ax is None:
            size = float(np.clip(0.55 * self.n_nodes + 1.5, 4.0, 12.0)), 3.6 if self.both_given else 2.6
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        span = float(np.ptp(self.positions)) or 1.0
        gap = 0.06  # room for the names between the arcs above and below
        for kind, pairs in self.kinds.items():
            sides = {"both": (1, -1) if self.both_given else (1,), "false": (-1,), "missed": (1,)}[kind]
            for a, b in pairs:
                for side in sides:
                    self._arc(ax, self.positions[a], self.positions[b], side, span, gap if self.both_given else 0, kind)
        offset = 0.0 if self.both_given else -gap
        longest = max(map(len, self.labels), default=0)
        crowded = longest > 2 and np.diff(np.sort(self.positions)).min(initial=span) < 0.012 * longest * span
        for x, label in zip(self.positions, self.labels, strict=True):
            ax.text(x, offset, label, ha="center", va="center", fontsize=9, rotation=90 if crowded else 0)
        reach = self._reach(span)
        low = -reach - 1.5 * gap if self.both_given else -2 * gap
        first, last = float(self.positions.min()), float(self.positions.max())
        ax.set(xlim=(first - 0.06 * span, last + 0.06 * span), ylim=(low, reach + 1.5 * gap))
        if self.both_given:
            left = first - 0.055 * span
            ax.text(left, reach + gap, "true", ha="left", va="top", color=GREY, fontsize=9)
            ax.text(left, low, "predicted", ha="left", va="bottom", color=GREY, fontsize=9)
            self._legend(ax)
        ax.axis("off")
        return self

    def _reach(self, span: float) -> float:
        lengths = [abs(self.positions[b] - self.positions[a]) for pairs in self.kinds.values() for a, b in pairs]
        return 0.12 + 0.88 * float(max(lengths, default=0.0)) / span

    @staticmethod
    def _arc(ax: Any, first: float, second: float, side: int, span: float, gap: float, kind: str) -> None:
        """Draw half an ellipse, higher for distant nodes."""
        colour, style, _ = PAIR_KINDS[kind]
        angle = np.linspace(0, np.pi, 60)
        middle, half = (first + second) / 2, abs(second - first) / 2
        height = 0.12 + 0.88 * 2 * half / span
        x, y = middle + half * np.cos(angle), side * (gap + height * np.sin(angle))
        ax.plot(x, y, style, color=colour, linewidth=1.8)

    def _legend(self, ax: Any) -> None:
        for kind, pairs in self.kinds.items():
            colour, style, name = PAIR_KINDS[kind]
            if pairs:
                ax.plot([], [], style, color=colour, linewidth=1.8, label=name)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9)


class AssignmentDisplay:
    """An assignment as a matrix: left nodes are rows, right nodes columns.

    Filled blue circles are pairs that the truth and the prediction have, orange crosses pairs that only the prediction
    has, empty grey circles pairs that only the truth has. The background shows scores, if given.

    Parameters
    ----------
    predicted : sequence, optional
        The right node, or the right nodes, of each left node: an output of `BipartiteMatching`.
    true : sequence, optional
        The true assignment.
    scores : array of shape (n_left, n_right), optional
        Scores of the pairs; those that are not finite are hatched, as forbidden pairs.
    left_labels, right_labels : sequence of str, optional
        Names of the nodes; None for numbers.
    n_right : int, optional
        Number of right nodes, if neither scores nor labels say it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.AssignmentDisplay([1, 0, 2], true=[1, 2, 0], left_labels=["a", "b", "c"], n_right=3).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        predicted: Sequence[Any] | None = None,
        *,
        true: Sequence[Any] | None = None,
        scores: AnyArray | None = None,
        left_labels: Sequence[str] | None = None,
        right_labels: Sequence[str] | None = None,
        n_right: int | None = None,
    ) -> None:
        given = [y for y in (predicted, true) if y is not None]
        if not given:
            raise ValueError("expected a predicted or a true assignment, found neither")
        sizes = {len(y.output if hasattr(y, "output") else y) for y in given}
        if len(sizes) > 1:
            raise ValueError(f"the predicted and the true assignment have different numbers of left nodes: {sizes}")
        (n_left,) = sizes
        predicted_pairs, truth = (None if y is None else pairs_of_output(y) for y in (predicted, true))
        last = max((k for pairs in (predicted_pairs, truth) if pairs for _, k in pairs), default=-1)
        widths = (n_right, None if right_labels is None else len(right_labels),
                  None if scores is None else np.shape(scores)[1])  # fmt: skip
        self.shape = n_left, next((width for width in widths if width is not None), last + 1)
        if last >= self.shape[1]:
            raise ValueError(f"right node {last} is assigned, but there are {self.shape[1]} right nodes")
        if scores is not None and np.shape(scores) != self.shape:
            raise ValueError(f"scores have shape {np.shape(scores)}, expected {self.shape}")
        self.scores = None if scores is None else np.asarray(scores, float)
        self.left_labels, self.right_labels = (
            [str(v) for v in range(n)] if labels is None else list(map(str, labels))
            for labels, n in zip((left_labels, right_labels), self.shape, strict=True)
        )
        if (len(self.left_labels), len(self.right_labels)) != self.shape:
            raise ValueError(f"{len(self.left_labels)} left and {len(self.right_labels)} right labels for {self.shape}")
        self.both_given, self.kinds = len(given) == 2, sorted_kinds(truth, predicted_pairs)

    def plot(self, *, ax: Any = None) -> AssignmentDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        AssignmentDisplay
            The display, with its figure drawn.
        """
        n_left, n_right = self.shape
        if ax is None:
            size = float(np.clip(0.36 * n_right + 2.6, 3.6, 12.0)), float(np.clip(0.32 * n_left + 1.8, 2.8, 12.0))
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if self.scores is not None:
            self._background(ax)
        area = float(np.clip(2200 / max(n_left, n_right, 1), 25, 160))
        styles: dict[str, dict[str, Any]] = {
            "missed": {"marker": "o", "facecolors": "none", "edgecolors": "#555555", "linewidths": 1.6, "s": area},
            "both": {"marker": "o", "color": BLUE, "s": area},
            "false": {"marker": "x", "color": ORANGE, "linewidths": 2.2, "s": 0.8 * area},
        }
        for kind, style in styles.items():
            if self.kinds[kind]:
                rows, columns = zip(*self.kinds[kind], strict=True)
                ax.scatter(columns, rows, label=PAIR_KINDS[kind][2], zorder=3, **style)
        ax.set(xlim=(-0.5, n_right - 0.5), ylim=(n_left - 0.5, -0.5))
        long = max(map(len, self.right_labels), default=0) > 2
        ax.set_xticks(range(n_right), self.right_labels, rotation=60 if long else 0, ha="right" if long else "center",
                      rotation_mode="anchor", fontsize=9)  # fmt: skip
        ax.set_yticks(range(n_left), self.left_labels, fontsize=9)
        ax.set_xticks(np.arange(n_right + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_left + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#e4e4e4", linewidth=0.8)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if self.both_given:
            ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=9,
                      handletextpad=0.2, columnspacing=1.0)  # fmt: skip
        return self

    def _background(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        assert self.scores is not None
        shown = np.where(np.isfinite(self.scores), self.scores, np.nan)
        image = ax.imshow(shown, cmap="Greys", alpha=0.45, aspect="auto")
        for row, column in np.argwhere(~np.isfinite(self.scores)):
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="#f4f4f4", edgecolor="#bbbbbb",
                                   hatch="////", linewidth=0))  # fmt: skip
        self.figure_.colorbar(image, ax=ax, label="score", shrink=0.8)
