"""Labelled graphs and images of `MAXMARGIN_DATA`: graph_horses, graph_msrc, graph_snakes, graph_citation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import AnyArray
from maxmargin.datasets.real import data_folder

#: Classes of MSRC-21 that are not used: void, horse, mountain.
UNUSED = (0, 5, 8)


class Split(NamedTuple):
    """Training and test examples."""

    X: list[Any]
    Y: list[Any]
    X_test: list[Any]
    Y_test: list[Any]


def horses() -> Split:
    """Return images (height, width, 3) and masks; even numbers are for training."""
    with np.load(data_folder("graph_horses") / "horses64.npz") as data:
        ends, shapes, numbers = data["offset"], data["shape"], data["image_id"]
        X = [data["rgb"][a:b].reshape(*s, 3) for a, b, s in zip(ends[:-1], ends[1:], shapes, strict=True)]
        Y = [data["mask"][a:b].reshape(s) for a, b, s in zip(ends[:-1], ends[1:], shapes, strict=True)]
    return _split(X, Y, numbers % 2 == 1)


def snakes() -> Split:
    """Return images (height, width, 3) of 0 and 1, and labels 0 … 10."""
    with np.load(data_folder("graph_snakes") / "snakes.npz") as data:
        found: list[list[Any]] = []
        for part in ("train", "test"):
            shapes = data[f"shape_{part}"]
            cuts = np.cumsum(shapes.prod(axis=1))[:-1]
            found.append(
                [x.reshape(*s, 3) / 255.0 for x, s in zip(np.split(data[f"X_{part}"], cuts), shapes, strict=True)]
            )
            found.append([y.reshape(s) for y, s in zip(np.split(data[f"y_{part}"], cuts), shapes, strict=True)])
    return Split(*found)


class Superpixels(NamedTuple):
    """MSRC-21 as graphs: features, edges and labels of each image, and the pixels of each test node.

    Nodes of unused classes are left out. `pixels` holds rows (node, class, count) for each test image.
    """

    split: Split
    pixels: list[AnyArray]


def msrc() -> Superpixels:
    """Return x = (features, edges, distances of mean colours, lengths of boundaries)."""
    with np.load(data_folder("graph_msrc") / "msrc_v2_superpixels.npz") as file:
        data = {name: file[name] for name in file.files}
    ends, edges = data["image_offset"], data["edges"]
    X, Y, pixels = [], [], []
    for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        kept = np.flatnonzero(~np.isin(data["y"][a:b], UNUSED)) + a
        number = np.full(b - a, -1)
        number[kept - a] = np.arange(len(kept))
        inside = (edges[:, 0] >= a) & (edges[:, 0] < b)
        pairs = number[edges[inside] - a]
        whole = (pairs >= 0).all(axis=1)
        X.append((data["X"][kept].astype(float), pairs[whole], data["edge_lab_dist"][inside][whole],
                  data["edge_boundary_len"][inside][whole]))  # fmt: skip
        Y.append(data["y"][kept])
        rows = (data["pix_node"] >= a) & (data["pix_node"] < b) & ~np.isin(data["pix_label"], UNUSED)
        table = np.stack([data["pix_node"][rows], data["pix_label"][rows], data["pix_count"][rows]], axis=1)
        table[:, 0] = number[table[:, 0] - a]
        pixels.append(table)
    test = data["image_split"] == 1
    filled = np.array([len(y) > 0 for y in Y])
    split = _split([x for x, f in zip(X, filled, strict=True) if f], [y for y in Y if len(y)], test[filled])
    return Superpixels(split, [p for p, t, f in zip(pixels, test, filled, strict=True) if t and f])


class Citations(NamedTuple):
    """One graph of documents: rows of words of length 1, edges, labels (−1: not known), and the usual split."""

    X: Any
    edges: AnyArray
    y: AnyArray
    train: AnyArray
    test: AnyArray


def citations(name: str) -> Citations:
    """Return "cora" or "citeseer"; `train` has the training and validation nodes of Planetoid."""
    with np.load(data_folder("graph_citation") / f"{name}.npz") as data:
        X = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"])).astype(float)
        y, edges = data["y"].astype(int), data["edges"].astype(int)
        train, test = np.concatenate([data["train_idx"], data["val_idx"]]), data["test_idx"]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    rows = sp.csr_array(sp.diags_array(1.0 / np.maximum(norms, 1e-9)) @ X)
    return Citations(rows, edges, y, train, test[y[test] >= 0])


def _split(X: list[Any], Y: list[Any], test: AnyArray) -> Split:
    chosen = test.tolist()
    return Split(
        *([value for value, t in zip(values, chosen, strict=True) if t == wanted] for wanted in (False, True)
          for values in (X, Y))
    )  # fmt: skip
