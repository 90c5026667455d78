"""Paths on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE, pyplot


class PathDisplay:
    """A true and a predicted path on a grid of nodes, which are numbered row by row.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the grid.
    edges : array of int of shape (m, 2)
        Tail and head of each edge.
    true : sequence of int
        Numbers of the edges of the true path.
    predicted : sequence of int, optional
        Numbers of the edges of the predicted path.
    background : array of the shape of the grid, optional
        A number for each node, such as its cost, shown as a grey level.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.PathDisplay((2, 2), [(0, 1), (1, 3), (0, 2), (2, 3)], [0, 1], [2, 3])
    >>> display.places(display.true).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        edges: Any,
        true: Sequence[int],
        predicted: Sequence[int] | None = None,
        background: Any = None,
    ) -> None:
        self.shape, self.edges = shape, np.asarray(edges)
        self.true, self.predicted = list(true), None if predicted is None else list(predicted)
        self.background: FloatArray | None = None if background is None else np.asarray(background, float)
        if self.background is not None and self.background.shape != tuple(shape):
            raise ValueError(f"background has shape {self.background.shape}, expected {tuple(shape)}")
        if self.edges.size and self.edges.max() >= shape[0] * shape[1]:
            raise ValueError(f"edges join nodes up to {self.edges.max()}, but the grid has {shape[0] * shape[1]} nodes")

    def places(self, path: Sequence[int]) -> AnyArray:
        """Return column and row of the nodes of a path.

        Parameters
        ----------
        path : sequence of int
            Numbers of its edges, in order.

        Returns
        -------
        ndarray of int of shape (nodes, 2)
            Columns and rows.
        """
        nodes = np.array([self.edges[path[0], 0], *self.edges[list(path), 1]])
        return np.stack([nodes % self.shape[1], nodes // self.shape[1]], axis=1)

    def plot(self, *, ax: Any = None) -> PathDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        PathDisplay
            The display, with its figure drawn.
        """
        plt, (rows, columns) = pyplot(), self.shape
        if ax is None:
            side = 4.2
            _, ax = plt.subplots(figsize=(side, side * rows / columns + 0.6), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if self.background is not None:
            ax.imshow(self.background, cmap="Greys", alpha=0.6)
        else:
            across, down = np.meshgrid(np.arange(columns), np.arange(rows))
            ax.plot(across.ravel(), down.ravel(), ".", color=GREY, markersize=3)
        ax.plot(
            *self.places(self.true).T, color=BLUE, linewidth=5, alpha=0.5, label="true path", solid_capstyle="round"
        )
        if self.predicted is not None:
            ax.plot(*self.places(self.predicted).T, color=ORANGE, linewidth=1.8, label="predicted path")
        ends = self.places(self.true)[[0, -1]]
        ax.plot(*ends.T, "o", color="black", markersize=6)
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9)
        return self
