"""Images as graphs of pixels: features of pixels, and edges between neighbours with contrast-sensitive features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import AnyArray, FloatArray, IntArray

#: Sides of the squares over which colours are averaged.
WINDOWS = (5, 13)
#: Number of overlapping bins of each channel.
BINS = 8


def read_image(image: Any, where: Where) -> FloatArray:
    """Return an image as floats of shape (height, width, channels); integers are divided by the greatest of their type.

    Integers of 32 and 64 bits, which come from calculations and from lists, are divided by 255 as those of 8 bits are.
    """
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or pixels.size == 0 or pixels.dtype.kind not in "biuf":
        raise error_at(
            where,
            f"expected an image, an array of numbers of shape (height, width) or (height, width, channels), found "
            f"{type(image).__name__} of shape {pixels.shape} and type {pixels.dtype}"
            + ("; pass a single image as [image]" if pixels.ndim == 1 else ""),
        )
    scale = 1.0
    if pixels.dtype.kind in "iu":
        scale = float(np.iinfo(pixels.dtype).max) if pixels.dtype.itemsize <= 2 else 255.0
    values = pixels.astype(float) / scale
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0][:2].tolist()
        raise error_at(where, f"pixel ({row}, {column}) is not a finite number")
    return values if values.ndim == 3 else values[:, :, None]


def grid_edges(height: int, width: int, neighbours: int = 4) -> IntArray:
    """Return the pairs of neighbouring pixels, which are numbered row by row.

    Parameters
    ----------
    height, width : int
        Size of the image.
    neighbours : {4, 8}, default=4
        Whether diagonal neighbours count.

    Returns
    -------
    ndarray of int64 of shape (m, 2)
        Each pair once.
    """
    if neighbours not in (4, 8):
        raise ValueError(f"neighbours must be 4 or 8, found {neighbours!r}")
    node = np.arange(height * width).reshape(height, width)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if neighbours == 8:
        pairs += [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs]).astype(np.int64)


def pixel_statistics(values: FloatArray) -> FloatArray:
    """Return features of each pixel, (height, width, d), of an image of shape (height, width, channels).

    They are the channels, their means and standard deviations in two squares around the pixel, a soft histogram of each
    channel, and the position with its squares, from −1 to 1.
    """
    height, width, _ = values.shape
    layers = [values]
    for side in WINDOWS:
        size = (side, side, 1)
        mean = uniform_filter(values, size, mode="nearest")
        spread = uniform_filter(values**2, size, mode="nearest") - mean**2
        layers += [mean, np.sqrt(np.maximum(spread, 0.0))]
    centres = np.linspace(0.0, 1.0, BINS)
    bins = np.maximum(0.0, 1.0 - np.abs(values[..., None] - centres) * (BINS - 1))
    layers.append(bins.reshape(height, width, -1))
    rows, columns = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    layers.append(np.stack([rows, columns, rows**2, columns**2, rows * columns], axis=-1))
    return np.concatenate(layers, axis=-1)


def channel_names(n_channels: int) -> list[str]:
    """Return the names of the channels of an image."""
    return ["brightness"] if n_channels == 1 else [f"channel {c}" for c in range(n_channels)]


def statistic_names(n_channels: int) -> list[str]:
    """Return the names of the features of `pixel_statistics`."""
    names = channel_names(n_channels)
    statistics = list(names)
    for side in WINDOWS:
        statistics += [f"{what} of {name} in {side} × {side}" for what in ("mean", "spread") for name in names]
    statistics += [f"{name} near {centre:.2g}" for name in names for centre in np.linspace(0.0, 1.0, BINS)]
    return [*statistics, "row", "column", "row²", "column²", "row × column"]


#: Names of the features of `contrast_features`.
CONTRAST_NAMES = ["neighbours", "similar neighbours"]


def contrast_features(values: FloatArray, edges: IntArray) -> FloatArray:
    """Return two features ≥ 0 of each edge, divided by its length: 1, and exp(−‖difference‖² / 2 mean square)."""
    pixels, width = values.reshape(-1, values.shape[2]), values.shape[1]
    first, second = edges.T
    squares = ((pixels[first] - pixels[second]) ** 2).sum(axis=1)
    scale = 2.0 * float(squares.mean()) if len(squares) else 1.0
    steps = np.hypot(first // width - second // width, first % width - second % width)
    return np.stack([np.ones(len(edges)), np.exp(-squares / (scale or 1.0))], axis=1) / steps[:, None]


def image_graph(image: Any, features: Any = None, neighbours: int = 4) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return an image as a graph of pixels, an input of `Cut`.

    Neighbouring pixels are joined by edges with two features: 1, and exp(−‖difference of colours‖² / 2 σ²) with the
    mean square σ² of the image's differences, so labels can change where colours do (Boykov and Jolly 2001).

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
        Numbers; integers of 8 and 16 bits are divided by the greatest of their type, wider ones by 255.
    features : array of shape (height, width, d), optional
        Features of the pixels; by default statistics of colours around the pixel, and its position.
    neighbours : {4, 8}, default=4
        Whether diagonal neighbours are joined; their features are divided by √2.

    Returns
    -------
    nodes : ndarray of shape (height · width, d)
        Features of the pixels, row by row.
    edges : ndarray of int64 of shape (m, 2)
        Pairs of neighbours.
    edge_features : ndarray of shape (m, 2)
        Features of the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> nodes, edges, edge_features = mm.image_graph(np.zeros((4, 5, 3), np.uint8))
    >>> nodes.shape, edges.shape, edge_features.shape
    ((20, 44), (31, 2), (31, 2))
    """
    return pixel_graph(read_image(image, "image"), features, neighbours, "features")


def known_part(nodes: AnyArray, edges: IntArray, features: FloatArray, known: AnyArray) -> tuple[Any, Any, Any]:
    """Return the graph of some nodes, and of the edges between them."""
    number, kept = np.cumsum(known) - 1, known[edges].all(axis=1)
    return nodes[known], number[edges[kept]], features[kept]


def pixel_graph(
    values: FloatArray, features: Any, neighbours: int, where: Where
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the graph of an image that has been read."""
    height, width, _ = values.shape
    rows: AnyArray = pixel_statistics(values) if features is None else np.asarray(features)
    if rows.ndim == 2:
        rows = rows[:, :, None]
    if rows.ndim != 3 or rows.shape[:2] != (height, width) or rows.dtype.kind not in "biuf":
        raise error_at(
            where, f"expected numbers of shape ({height}, {width}, d), found {rows.dtype} of shape {rows.shape}"
        )
    edges = grid_edges(height, width, neighbours)
    return rows.reshape(height * width, -1).astype(float), edges, contrast_features(values, edges)
