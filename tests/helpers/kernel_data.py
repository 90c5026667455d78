"""Small data of structures whose parts have rows of features, as they are or mapped by a function."""

from __future__ import annotations

import numpy as np

import maxmargin as mm

GAMMA, COEF0 = 0.5, 1.0
POLY = {"kernel": mm.Kernel("poly", degree=2, gamma=GAMMA, coef0=COEF0)}


def products(rows):
    """Return explicit features of (γ a·b + c)², along the last axis."""
    rows = np.asarray(rows, float)
    wide = np.concatenate([np.sqrt(GAMMA) * rows, np.full((*rows.shape[:-1], 1), np.sqrt(COEF0))], axis=-1)
    i, j = np.triu_indices(wide.shape[-1])
    return wide[..., i] * wide[..., j] * np.where(i == j, 1.0, np.sqrt(2.0))


def same(rows):
    return rows


def labelled(seed, features, n=14):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return features(X), [["in", "out"][int(v)] for v in (X[:, 0] * X[:, 1] > 0)]


def chains(seed, features):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(t, 2)) for t in (3, 1, 4, 2, 3)]
    return [features(x) for x in X], [["a" if v > 0 else "b" for v in x[:, 0] * x[:, 1]] for x in X]


def trees(seed, features):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n + 1, n + 1, 2)) for n in (2, 3, 3, 1)]
    return [features(x) for x in X], [[0, 1], [2, 0, 2], [0, 1, 2], [0]]


def matchings(seed, features, **_):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(4, 4, 2)) for _ in range(4)]
    return [features(x) for x in X], [[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0], [1, 0, 3, 2]]


def unmatched(seed, features):
    rng = np.random.default_rng(seed)
    X = [(features(rng.normal(size=(3, 3, 2))), None, features(rng.normal(size=(3, 2)))) for _ in range(4)]
    return X, [[1, 0, -1], [-1, 2, 1], [-1, -1, -1], [2, -1, 0]]


def assignments(seed, features):
    rng = np.random.default_rng(seed)
    return [features(rng.normal(size=(2, 3, 2))) for _ in range(4)], [[0, 1], [1, 2], [2, 0], [1, 0]]


def graphs(seed, features):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(4, 2)) for _ in range(4)]
    edges = [(0, 1), (1, 2), (2, 3)]
    Y = [["in" if v > 0 else "out" for v in x[:, 0] * x[:, 1]] for x in X]
    return [(features(x), edges, np.ones((3, 1))) for x in X], Y


def paths(seed, features):
    rng = np.random.default_rng(seed)
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    return [(edges, features(rng.normal(size=(4, 2))), 0, 3) for _ in range(4)], [[0, 2], [1, 3], [0, 2], [1, 3]]


def items(seed, features):
    rng = np.random.default_rng(seed)
    return [(features(rng.normal(size=(4, 2))), [1, 2, 1, 2], 3) for _ in range(4)], [
        [1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1],
    ]  # fmt: skip


STRUCTURES = {
    "Multiclass": (mm.Multiclass(), labelled),
    "Chain": (mm.Chain(), chains),
    "Tree": (mm.Tree(), trees),
    "Matching": (mm.Matching(), matchings),
    "Matching, not perfect": (mm.Matching(perfect=False), unmatched),
    "BipartiteMatching": (mm.BipartiteMatching(), assignments),
    "Cut": (mm.Cut(), graphs),
    "Path": (mm.Path(), paths),
    "Knapsack": (mm.Knapsack(), items),
}
