"""Images cut into regions, as graphs of these regions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.features.graphs.images import channel_names, grid_edges, pixel_statistics, read_image, statistic_names
from maxmargin.features.rows.rows import NamedColumns

#: Names of the features of edges between regions.
BORDER_NAMES = ["neighbours", "similar neighbours", "similar along the border", "above"]


class Superpixels(NamedTuple):
    """An image with its superpixels, an input of `GraphLabeler`.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
        Numbers; integers are divided by the greatest of their type.
    regions : array of int of shape (height, width)
        The superpixel of each pixel, by any numbers, as ``skimage.segmentation.slic`` returns them.
    features : array of shape (n, d), optional
        Features of the superpixels, in the order of their numbers; by default means of statistics of their pixels.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> dark_and_bright = np.repeat([[0.1, 0.9]], 2, axis=0)
    >>> x = mm.Superpixels(dark_and_bright, [[0, 1], [0, 1]])
    >>> model = mm.GraphLabeler().fit([x], [[[0, 1], [0, 1]]])
    >>> model.predict([x])[0].tolist()
    [[0, 1], [0, 1]]
    """

    image: Any
    regions: Any
    features: Any = None


def read_regions(x: Superpixels, where: Where) -> tuple[IntArray, int]:
    """Return the position of the superpixel of each pixel among all superpixels, and their number."""
    regions, shape = np.asarray(x.regions), np.shape(x.image)[:2]
    if regions.dtype.kind not in "iu" or regions.shape != shape or regions.size == 0:
        raise error_at(
            where,
            f"expected regions as integers of shape {shape} as the image has, found {regions.dtype} of shape "
            f"{regions.shape}",
        )
    numbers, place = np.unique(regions, return_inverse=True)
    return place.reshape(shape), len(numbers)


def region_means(values: AnyArray, regions: IntArray, n_regions: int) -> FloatArray:
    """Return the mean of each channel (last axis) over each region."""
    flat, rows = regions.ravel(), values.reshape(regions.size, -1)
    sums = [np.bincount(flat, rows[:, c], n_regions) for c in range(rows.shape[1])]
    return np.stack(sums, axis=1) / np.bincount(flat, minlength=n_regions)[:, None]


def superpixel_graph(x: Superpixels, where: Where) -> tuple[Any, IntArray, NamedColumns]:
    """Return superpixels as nodes, and edges between those that touch, the upper one first.

    Nodes have the means of the statistics of their pixels (`pixel_statistics`), the spread of their colours and their
    share of the image. Edges have four features: 1; exp(−‖difference of mean colours‖² / 2 σ²) with the mean square σ²
    of these differences; the same times the length of the common border, relative to its mean; and 1 if the first
    superpixel is rather above the second than beside it.
    """
    values, (regions, n) = read_image(x.image, where), read_regions(x, where)
    height, width, n_channels = values.shape
    ends = regions.ravel()[grid_edges(height, width)]
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    edges, borders = np.unique(ends, axis=0, return_counts=True)
    colours = region_means(values, regions, n)
    down, across = (region_means(place, regions, n)[:, 0] for place in np.indices((height, width)).astype(float))
    upside = down[edges[:, 0]] > down[edges[:, 1]]
    edges[upside] = edges[upside, ::-1]
    first, second = edges.T
    squares = ((colours[first] - colours[second]) ** 2).sum(axis=1)
    similar = np.exp(-squares / (2.0 * squares.mean() or 1.0)) if len(edges) else squares
    above = (down[second] - down[first] > np.abs(across[second] - across[first])).astype(float)
    along = similar * borders / (borders.mean() if len(edges) else 1.0)
    between = NamedColumns(np.stack([np.ones(len(edges)), similar, along, above], axis=1), BORDER_NAMES)
    if x.features is None:
        spread = np.sqrt(np.maximum(region_means(values**2, regions, n) - colours**2, 0.0))
        share = np.bincount(regions.ravel(), minlength=n)[:, None] / regions.size
        rows = np.hstack([region_means(pixel_statistics(values), regions, n), spread, share])
        names = [*statistic_names(n_channels), *(f"spread of {c}" for c in channel_names(n_channels)), "size"]
        return NamedColumns(rows, names), edges, between
    rows = np.asarray(x.features)
    if rows.ndim != 2 or len(rows) != n or rows.dtype.kind not in "biuf":
        raise error_at(where, f"expected features as numbers of shape ({n}, d), a row for each superpixel, found "
                       f"{rows.dtype} of shape {rows.shape}")  # fmt: skip
    return rows.astype(float), edges, between


def majority_labels(labels: list[Any], regions: IntArray, n_regions: int) -> list[Any]:
    """Return the most frequent label of each region, of several the first; None where no pixel has a label.

    `labels` are those of the pixels, row by row, None where they are not known.
    """
    codes: dict[Any, int] = {}
    known = np.array([label is not None for label in labels])
    code = np.array([codes.setdefault(label, len(codes)) for label in labels if label is not None], np.int64)
    counts = np.zeros((n_regions, max(len(codes), 1)), np.int64)
    np.add.at(counts, (regions.ravel()[known], code), 1)
    values, best = list(codes), counts.argmax(axis=1)
    return [values[k] if counts[v, k] else None for v, k in enumerate(best.tolist())]
