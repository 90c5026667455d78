"""Data generated from a seed."""

from __future__ import annotations

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import AnyArray, FloatArray


def make_multiclass(
    n: int = 200, *, n_features: int = 10, n_classes: int = 4, noise: float = 1.0, random_state: int = 0
) -> tuple[FloatArray, AnyArray]:
    """Generate rows with labels of a random linear classifier whose scores have Gaussian noise.

    Parameters
    ----------
    n : int, default=200
        Number of rows.
    n_features : int, default=10
        Number of features.
    n_classes : int, default=4
        Number of labels.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Rows.
    y : ndarray of shape (n,)
        Labels from 0 to n_classes − 1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.make_multiclass(6, n_classes=3, random_state=0)
    >>> X.shape, y.tolist()
    ((6, 10), [1, 1, 2, 2, 1, 1])
    """
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, n_features))
    scores = X @ rng.normal(size=(n_features, n_classes)) + noise * rng.normal(size=(n, n_classes))
    return X, scores.argmax(axis=1)


def make_chains(
    n: int = 100,
    *,
    n_features: int = 8,
    n_labels: int = 4,
    min_length: int = 3,
    max_length: int = 9,
    noise: float = 1.5,
    random_state: int = 0,
) -> tuple[list[FloatArray], list[AnyArray]]:
    """Generate sequences of a hidden Markov chain: each label has its own mean, with Gaussian noise.

    Neighbouring tokens are informative, so a chain is more accurate than a classifier of single tokens.

    Parameters
    ----------
    n : int, default=100
        Number of sequences.
    n_features : int, default=8
        Number of features of each token.
    n_labels : int, default=4
        Number of labels.
    min_length, max_length : int, default=3 and 9
        Minimum and maximum length; the minimum may be 0.
    noise : float, default=1.5
        Standard deviation of the noise.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : list of ndarray of shape (T, n_features)
        Features of each sequence.
    Y : list of ndarray of shape (T,)
        Labels from 0 to n_labels − 1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_chains(3, n_labels=2, random_state=0)
    >>> [x.shape for x in X], Y[0].tolist()
    ([(4, 8), (7, 8), (8, 8)], [0, 1, 1, 1])
    """
    min_length = whole_number(min_length, "min_length", 0)
    max_length = whole_number(max_length, "max_length", min_length)
    n_labels = whole_number(n_labels, "n_labels")
    rng = np.random.default_rng(random_state)
    means = rng.normal(size=(n_labels, n_features))
    change = np.cumsum(rng.dirichlet(np.full(n_labels, 0.5), size=n_labels), axis=1)
    X, Y = [], []
    for length in rng.integers(min_length, max_length + 1, size=n):
        y = np.empty(length, np.int64)
        y[:1] = rng.integers(n_labels)
        for t in range(1, length):
            y[t] = min(int(np.searchsorted(change[y[t - 1]], rng.random())), n_labels - 1)
        X.append(means[y] + noise * rng.normal(size=(length, n_features)))
        Y.append(y)
    return X, Y
