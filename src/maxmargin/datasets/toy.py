"""Tiny data of every kind that estimators and structures take: for warm-up, tests and first steps.

Each function returns (X, Y), or (X, y, groups) of queries: at least ten examples from which a model can learn, the same
ones each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.structure import Structure
from maxmargin.datasets.generate import make_chains, make_multiclass
from maxmargin.datasets.rna import make_rna
from maxmargin.optimizers.optimizer import Optimizer

_LETTERS = list("ACGT")
_ARCS = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]

# ---------------------------------------------------------------------- rows


def rows(n_classes: int = 4) -> tuple[FloatArray, AnyArray]:
    """Return 60 rows and their classes, numbers from 0."""
    return make_multiclass(60, n_features=8, n_classes=n_classes, random_state=0)


def label_sets() -> tuple[FloatArray, AnyArray]:
    """Return rows and tables of three labels, the last of which is there if the others are."""
    X = np.random.default_rng(0).normal(size=(24, 3))
    first, second = X[:, 0] > 0, X[:, 1] > 0.3
    return X, np.stack([first, second, first & second], axis=1).astype(int)


def species() -> tuple[FloatArray, AnyArray]:
    """Return rows and classes that are paths in a taxonomy, separated by ``"/"``."""
    X, y = rows()
    return X, np.array(["a/x", "a/y", "b/z"])[y % 3]


def queries() -> tuple[FloatArray, AnyArray, AnyArray]:
    """Return rows of documents, their relevance and their queries, each with a relevant document."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(40, 3)), np.repeat(np.arange(8), 5)
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0.5).astype(int)
    y[::5] = 1
    return X, y, groups


def costs() -> tuple[FloatArray, FloatArray]:
    """Return rows and costs of the nine pairs of an assignment, not quite linear in the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, np.exp(0.5 * X @ rng.normal(size=(3, 9)))


def decisions() -> tuple[FloatArray, AnyArray]:
    """Return rows and the assignments that are best for their costs."""
    X, Y = costs()
    return X, np.array([Optimizer.assignment(3).solve(y) for y in Y])


# ---------------------------------------------------------------------- text


def chains() -> tuple[list[FloatArray], list[AnyArray]]:
    """Return sequences of rows and of labels."""
    return make_chains(20, random_state=0)


def named_tokens() -> tuple[list[Any], list[list[str]]]:
    """Return sequences of tokens as dicts of named features, and their labels."""
    X, Y = make_chains(20, random_state=1)
    named = [[{"first": str(row[0] > 0), "second": float(row[1]), "bias": True} for row in x] for x in X]
    return named, [["BIO"[v % 3] for v in y] for y in Y]


def words() -> tuple[list[list[str]], list[list[str]]]:
    """Return sentences and the tags of their words."""
    known = {"Ana": "PER", "Tom": "PER", "Rio": "LOC", "sings": "O", "in": "O"}
    rng = np.random.default_rng(0)
    X = [rng.choice(list(known), rng.integers(1, 5)).tolist() for _ in range(20)]
    return X, [[known[word] for word in x] for x in X]


def phrases() -> tuple[list[list[str]], list[list[int]]]:
    """Return phrases and the heads of their words: the next noun, and the root for the last one."""
    rng = np.random.default_rng(0)
    X = [[*rng.choice(["the", "old", "dog"], rng.integers(1, 4)).tolist(), "dog"] for _ in range(20)]
    return X, [[(x.index("dog", m) + 1) if m < len(x) else 0 for m in range(1, len(x) + 1)] for x in X]


def constituents() -> tuple[list[list[str]], list[str]]:
    """Return sentences of tags and their trees in brackets, two of each kind."""
    trees = [
        "(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP DT NN)))", "(S (NP NN) (VP VBZ (NP NN)))",
        "(S (NP NP) (VP VBZ (NP DT NN)) RB)", "(S (NP DT NN) (VP VBZ (NP (NP DT NN) (PP IN (NP DT NN)))))",
        "(S (NP PRP) (VP VBZ (NP NN) (PP IN (NP DT NN))))",
    ]  # fmt: skip
    X = [[word.strip("()") for word in tree.split() if not word.startswith("(")] for tree in trees]
    return X * 2, trees * 2


def search_results() -> tuple[list[list[str]], list[list[set[int]]]]:
    """Return lists of texts and their subtopics, three with words of their own."""
    rng = np.random.default_rng(0)
    Y = [[{int(t)} for t in rng.integers(0, 3, 8)] for _ in range(12)]
    topics = [["river", "water", "fish"], ["money", "loan", "credit"], ["tree", "leaf", "root"]]
    return [[" ".join(rng.choice([*topics[min(t)], "the", "page"], 4)) for t in y] for y in Y], Y


# ---------------------------------------------------------------------- biology


def strings() -> tuple[list[str], list[int]]:
    """Return strings, every other of which has TTGA, and whether they have it."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(_LETTERS, 12)) for _ in range(24)]
    return [x[:3] + "TTGA" + x[7:] if i % 2 else x for i, x in enumerate(X)], [i % 2 for i in range(24)]


def molecules() -> tuple[list[str], list[str]]:
    """Return RNA sequences and their structures in dots and brackets."""
    return make_rna(12, n_helices=1)


def alignments() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return pairs of strings, the second without some letters, and their alignments."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(12):
        first = "".join(rng.choice(_LETTERS, 8))
        second = "".join(c if kept else "-" for c, kept in zip(first, rng.random(8) < 0.8, strict=True))
        X.append((first, second.replace("-", "")))
        Y.append((first, second))
    return X, Y


def decoys() -> tuple[list[tuple[str, str, list[str]]], list[tuple[str, str]]]:
    """Return the pairs of `alignments` with two random decoys each, and their alignments."""
    rng = np.random.default_rng(1)
    X, Y = alignments()
    return [(*x, ["".join(rng.choice(_LETTERS, 7)) for _ in range(2)]) for x in X], Y


# ---------------------------------------------------------------------- graphs


def places() -> tuple[list[FloatArray], list[list[int]]]:
    """Return tables of distances on a line, and the clusters that its gaps divide."""
    rng = np.random.default_rng(0)
    Y = [rng.integers(0, 3, 5).tolist() for _ in range(12)]
    spots = [5.0 * np.array(y) + rng.random(5) for y in Y]
    return [np.abs(np.subtract.outer(p, p))[:, :, None] for p in spots], Y


def images() -> tuple[list[FloatArray], list[AnyArray]]:
    """Return noisy squares, in images of two sizes, and their masks."""
    rng = np.random.default_rng(0)
    Y = [np.zeros((6, 8 + i % 2), int) for i in range(12)]
    for mask in Y:
        mask[1:5, 2:6] = 1
    return [mask + rng.normal(size=mask.shape) for mask in Y], Y


def arcs(directed: bool = True) -> tuple[list[FloatArray], list[Any]]:
    """Return features of all pairs of four nodes, and a tree: the head of each but the first, or its edges."""
    tree: list[Any] = [0, 1, 1] if directed else [(0, 1), (1, 2), (2, 3)]
    return list(_marked((4, 4, 3), [(0, 1), (1, 2), (1, 3)] if directed else tree)), [tree] * 20


def assignments() -> tuple[list[FloatArray], list[list[int]]]:
    """Return features of the pairs of three and four nodes, and the partners of the three."""
    return list(_marked((3, 4, 2), [(0, 1), (1, 0), (2, 2)])), [[1, 0, 2]] * 20


def partners(n: int = 4) -> tuple[list[FloatArray], list[list[int]]]:
    """Return symmetric features of the pairs of n nodes, and the partner of each."""
    Y = [i ^ 1 for i in range(n)]
    X = _marked((n, n, 2), list(enumerate(Y)))
    return list(X + X.transpose(0, 2, 1, 3)), [Y] * 20


def graphs(n_labels: int = 2) -> tuple[list[Any], list[list[int]]]:
    """Return graphs as (features of nodes, edges, features of edges), and the labels of their nodes."""
    labels = [0, 1, n_labels - 1, n_labels % 2]
    X = _marked((4, 3), list(enumerate(labels)))
    return [(x, _ARCS, np.ones((5, 1))) for x in X], [labels] * 20


def paths() -> tuple[list[Any], list[list[int]]]:
    """Return graphs as (arcs, features of arcs), and the arcs of a path from the first node to the last."""
    return [(_ARCS, x) for x in -_marked((5, 2), [(0,), (4,)])], [[0, 4]] * 20


def items() -> tuple[list[Any], list[list[int]]]:
    """Return items as (features, weights, capacity), and which of them to take."""
    return [(x, [2.0, 1.0, 3.0, 1.0], 3.0) for x in _marked((4, 2), [(0,), (1,)])], [[1, 1, 0, 0]] * 20


def _marked(shape: tuple[int, ...], parts: list[Any]) -> FloatArray:
    """Return random features of 20 examples; those of parts are greater, in the first column or that of a label."""
    X = np.random.default_rng(0).normal(size=(20, *shape))
    for part in parts:
        X[(slice(None), *part) if len(part) == len(shape) else (slice(None), *part, 0)] += 3.0
    return X


# ---------------------------------------------------------------------- a structure of the user


def signs() -> tuple[list[FloatArray], list[int]]:
    """Return rows and their signs, for `Sign`."""
    X, y = rows(2)
    return list(X), (2 * y - 1).tolist()


class Sign(Structure):
    """The smallest user-defined structure: the sign of w·x.

    Parameters
    ----------
    sparse : bool, default=False
        Whether joint features are pairs (indices, values) instead of arrays.
    n_features : int, default=8
        Number of features of a row.
    """

    def __init__(self, sparse: bool = False, n_features: int = 8) -> None:
        self.sparse, self.n_features, self.size = sparse, n_features, n_features

    def joint_feature(self, x: Any, y: int) -> Any:
        """Return y x."""
        psi = y * np.asarray(x, float)
        return (np.arange(len(psi)), psi) if self.sparse else psi

    def loss(self, y: int, y_hat: int) -> float:
        """Return whether the signs differ."""
        return float(y != y_hat)

    def argmax(self, w: Any, x: Any) -> int:
        """Return the sign of w·x."""
        return 1 if w @ x >= 0 else -1

    def loss_augmented_argmax(self, w: Any, x: Any, y: int, scale: float = 1.0) -> int:
        """Return the sign that maximises ŷ w·x + scale · Δ(y, ŷ)."""
        return max((-1, 1), key=lambda y_hat: float(y_hat * (w @ x) + scale * (y_hat != y)))
