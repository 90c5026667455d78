"""A labelled graph, with wrong nodes marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.plots._matplotlib import GREY, ORANGE, pyplot


class GraphDisplay:
    """The nodes of a graph in the colours of their labels; wrong ones have a frame, and a text with the true label.

    Use `from_estimator`.

    Parameters
    ----------
    edges : array of int of shape (m, 2)
        The two nodes of each edge.
    predicted : sequence
        The label of each node.
    true : sequence or None, default=None
        The true labels, None for those that are not known; None if no label is known.
    positions : array of shape (n, 2) or None, default=None
        Where the nodes are; None means a layout by the graph: the first eigenvectors of its Laplacian.
    names : sequence or None, default=None
        Texts of the nodes; None for no texts but those of wrong ones.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    wrong : ndarray of bool of shape (n,)
        Which nodes have a wrong label.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.GraphDisplay([(0, 1), (1, 2)], predicted=["a", "b", "b"], true=["a", "b", "a"]).plot()
    >>> display.wrong.tolist()
    [False, False, True]
    """

    def __init__(self, edges: Any, predicted: Any, true: Any = None, positions: Any = None, names: Any = None) -> None:
        self.edges, self.predicted = np.asarray(edges, np.int64).reshape(-1, 2), list(predicted)
        self.true, n = None if true is None else list(true), len(self.predicted)
        self.names = None if names is None else [str(name) for name in names]
        for what, values in (("true labels", self.true), ("names", self.names), ("positions", positions)):
            if values is not None and len(values) != n:
                raise ValueError(f"expected {what} of {n} nodes, found {len(values)}")
        if len(self.edges) and self.edges.max() >= n:
            raise ValueError(f"expected edges of nodes 0 to {n - 1}, found node {self.edges.max()}")
        self.positions = layout(self.edges, n) if positions is None else np.asarray(positions, float)
        self.wrong = np.zeros(n, bool)
        if self.true is not None:
            self.wrong = np.array(
                [b is not None and a != b for a, b in zip(self.predicted, self.true, strict=True)], bool
            )  # fmt: skip

    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, y: Any = None, *, positions: Any = None) -> GraphDisplay:
        """Plot a graph with the labels that a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted `GraphLabeler`, or `StructuralSVM` of a `Graph` or `Cut`.
        x : tuple or graph of networkx
            One graph; for grids, use `SegmentationDisplay`.
        y : sequence or dict, optional
            Its true labels.
        positions : array of shape (n, 2), optional
            Where the nodes are.

        Returns
        -------
        GraphDisplay
            The display, with its figure drawn.
        """
        labelling = estimator.predict([x])[0]
        graph = x[0] if isinstance(x, tuple) else x
        names = None
        if hasattr(graph, "adj"):
            names = list(graph.nodes)
            place = {name: v for v, name in enumerate(names)}
            edges = np.array([(place[a], place[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2)
        else:
            edges = x[1]
        nodes = names if names is not None else range(len(labelling))
        predicted, true = (
            [labels[v] for v in nodes] if isinstance(labels, Mapping) else labels for labels in (labelling, y)
        )
        return cls(edges, predicted, true, positions, names).plot()

    def plot(self, ax: Any = None) -> GraphDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        GraphDisplay
            The display.
        """
        from matplotlib.collections import LineCollection

        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.0, 5.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        known = [label for label in (*self.predicted, *(self.true or ())) if label is not None]
        labels = sorted(set(known), key=lambda label: (type(label).__name__, label))
        colours = plt.get_cmap("viridis")(np.linspace(0.05, 0.95, max(len(labels), 1)))
        at = self.positions
        ax.add_collection(LineCollection(list(at[self.edges]), colors=GREY, linewidths=0.6, alpha=0.6, zorder=1))
        size = float(np.clip(6000.0 / max(len(at), 1), 8.0, 200.0))
        for label, colour in zip(labels, colours, strict=True):
            own = np.array([predicted == label for predicted in self.predicted], bool)
            ax.scatter(*at[own].T, s=size, color=colour, label=str(label), zorder=2, edgecolors="white", linewidths=0.5)
        ax.scatter(
            *at[self.wrong].T, s=2.2 * size, facecolors="none", edgecolors=ORANGE, linewidths=1.8, zorder=3,
            label="wrong" if self.wrong.any() else None,
        )  # fmt: skip
        for v in range(len(at)):
            text = "" if self.names is None else self.names[v]
            if self.wrong[v] and self.true is not None and len(at) <= 200:
                text = f"{text} {self.true[v]}".strip()
            if text:
                ax.annotate(text, at[v], xytext=(5, 4), textcoords="offset points", fontsize=7)
        ax.legend(fontsize=8, frameon=False, loc="best")
        ax.set_axis_off()
        if self.true is not None:
            counted = sum(label is not None for label in self.true)
            ax.set_title(f"{int(self.wrong.sum())} of {counted} nodes wrong", fontsize=10)
        return self


def layout(edges: AnyArray, n_nodes: int) -> FloatArray:
    """Return places of nodes by two eigenvectors of the Laplacian of their graph; on a circle if there are too few."""
    if n_nodes < 4 or n_nodes > 3000:
        angles = 2.0 * np.pi * np.arange(n_nodes) / max(n_nodes, 1)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    joined = np.full((n_nodes, n_nodes), 1e-3)
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    np.fill_diagonal(joined, 0.0)
    scale = 1.0 / np.sqrt(joined.sum(axis=1))
    _, vectors = np.linalg.eigh(np.eye(n_nodes) - scale[:, None] * joined * scale)
    places: FloatArray = scale[:, None] * vectors[:, 1:3]
    spread: Any = np.ptp(places, axis=0)
    return places / np.where(spread > 0.0, spread, 1.0)
