"""Compiled functions for changes of weights that shards send, and the shares of them that are kept."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.core.planes import add_multiple, sparse_dot


@jit
def take_changes(indices, marks, sums, values, w):
    """Move the sums at these indices to `values`, remove the marks, and return values·w."""
    product = 0.0
    for q in range(np.uint64(len(indices))):
        f = indices[q]
        values[q], sums[f], marks[f] = sums[f], 0.0, 0
        product += values[q] * w[f]
    return product


@jit
def add_values(indices, values, factor, w):
    """Add factor · values to w at these indices."""
    add_multiple(indices, values, 0, len(indices), factor, w)


@jit
def dot_values(indices, values, w):
    """Return the product of values and w at these indices."""
    return sparse_dot(indices, values, 0, len(indices), w)


@jit
def set_values(indices, values, w):
    """Set w at these indices."""
    for q in range(np.uint64(len(indices))):
        w[indices[q]] = values[q]


@jit
def best_shares(linear, square):
    """Return the shares t in [0, 1] that maximise linear·t − ½ t'·square·t, by ascent in one share at a time."""
    shares = np.ones(len(linear))
    for _ in range(1000):
        most = 0.0
        for k in range(len(linear)):
            if square[k, k] <= 0.0:
                continue
            slope = linear[k]
            for m in range(len(linear)):
                slope -= square[k, m] * shares[m]
            share = min(max(shares[k] + slope / square[k, k], 0.0), 1.0)
            most = max(most, abs(share - shares[k]))
            shares[k] = share
        if most <= 1e-9:
            break
    return shares
