"""Chains against enumeration of all label sequences, with joint features built here by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from conformance import BOUNDS, Instance, StructureConformance, every_case

from maxmargin.core.codes import Answers
from maxmargin.structures.chain.constraints import Constraints
from maxmargin.structures.chain.structure import Chain

NAMES = ["w", "x", "y", "z"]
COSTS = ["hamming", "hamming-share", "zero-one", "dict", "matrix"]
FORMS = ["dense", "csr", "mixed", "dicts", "strings"]


class Sequences(Instance):
    """Random sequences of length 0 to 4, random truths within random constraints."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        self.n_labels, self.cost, self.intercept = int(rng.integers(2, 5)), self.choose(*COSTS), bool(rng.integers(2))
        constrained, n_edges = bool(rng.integers(2)), self.choose(0, 0, 1, 2)
        self.names = [NAMES[k] for k in rng.permutation(self.n_labels)]
        self.allowed, self.start, self.end = self._constraints(constrained)
        self.lengths = [int(t) for t in rng.integers(0, 5, 3)] + [2]
        self.lengths = [t for t in self.lengths if self.sequences(t)] or [0]
        if not any(self.lengths):
            self.allowed[:], self.start[:], self.end[:] = True, True, True
            self.lengths.append(1)
        self.truths = [self.choose(*self.sequences(t)) for t in self.lengths]
        self._losses()
        self.edges = [self.draw(max(t - 1, 0), n_edges) for t in self.lengths] if n_edges else None
        if n_edges and max(self.lengths) < 2:
            self.edges = None
        self._tokens(self.choose(*FORMS), int(rng.integers(1, 4)))
        forbidden = Constraints(
            tuple((self.names[a], self.names[b]) for a, b in np.argwhere(~self.allowed)),
            tuple(self.names[a] for a in np.flatnonzero(~self.start)),
            tuple(self.names[a] for a in np.flatnonzero(~self.end)),
        )
        self.structure = Chain(
            cost=self.parameter, constraints=forbidden if constrained else None, fit_intercept=self.intercept,
            transition_features=self.edges is not None, classes=self.names,
        )  # fmt: skip
        self.Y = [self.labels(y) for y in self.truths]
        self.encode()

    def labels(self, codes):
        return [self.names[k] for k in codes]

    def outputs(self, i):
        return [self.labels(y) for y in self.sequences(self.lengths[i])]

    def truth(self, i):
        return self.Y[i]

    def _constraints(self, constrained):
        K = self.n_labels
        if not constrained:
            return np.ones((K, K), bool), np.ones(K, bool), np.ones(K, bool)
        return self.rng.random((K, K)) < 0.6, self.rng.random(K) < 0.7, self.rng.random(K) < 0.7

    def sequences(self, length):
        """All allowed label sequences, as tuples of codes."""
        return [
            y
            for y in itertools.product(range(self.n_labels), repeat=length)
            if not y
            or (self.start[y[0]] and self.end[y[-1]] and all(self.allowed[a, b] for a, b in itertools.pairwise(y)))
        ]

    def _losses(self):
        K, rng = self.n_labels, self.rng
        table = rng.integers(0, 4, (K, K)) * 0.5 * (1 - np.eye(K))
        per_label = {name: float(rng.integers(0, 4)) for name in self.names[1:]}
        self.parameter = {"dict": per_label, "matrix": table}.get(self.cost, self.cost)
        if self.cost == "dict":
            table = (1 - np.eye(K)) * np.array([[per_label.get(name, 1.0)] for name in self.names])
        self.table = table if self.cost in ("dict", "matrix") else 1 - np.eye(K)

    def loss(self, i, output):
        y, y_hat = self.truths[i], tuple(map(self.names.index, output))
        total = sum(float(self.table[a, b]) for a, b in zip(y, y_hat, strict=True))
        if self.cost == "zero-one":
            return float(y != y_hat)
        return total / max(len(y), 1) if self.cost == "hamming-share" else total

    def _tokens(self, form, width):
        """X in the form asked for, and the dense rows (columns in order of first sight where they are named)."""
        rng = self.rng
        if form in ("dense", "csr", "mixed"):
            self.rows = [self.draw(t, width) for t in self.lengths]
            sparse = [form == "csr" or (form == "mixed" and rng.random() < 0.5) for _ in self.lengths]
            X = [sp.csr_array(rows) if s else rows for rows, s in zip(self.rows, sparse, strict=True)]
        else:
            pool = [f"f{j}" for j in range(width + 1)]
            if form == "strings":
                X = [[list(rng.choice(pool, rng.integers(0, 4))) for _ in range(t)] for t in self.lengths]
            else:
                X = [[self._dict(pool) for _ in range(t)] for t in self.lengths]
            columns = {}
            for name in (name for x in X for token in x for name in token):
                columns.setdefault(name, len(columns))
            self.rows = [np.zeros((t, len(columns))) for t in self.lengths]
            for i, x in enumerate(X):
                for t, token in enumerate(x):
                    for name in token:
                        self.rows[i][t, columns[name]] += token[name] if form == "dicts" else 1.0
        self.X = X if self.edges is None else list(zip(X, self.edges, strict=True))

    def _dict(self, pool):
        chosen = self.rng.permutation(len(pool))[: self.rng.integers(0, len(pool) + 1)]
        return {pool[j]: float(v) for j, v in zip(chosen, self.draw(len(chosen)), strict=True)}

    def psi(self, i, output):
        """Blocks: tokens (column by column, label by label), transitions, start, end, transition features."""
        K, y = self.n_labels, tuple(map(self.names.index, output))
        tokens = np.zeros((self.rows[i].shape[1] + self.intercept, K))
        pairs, start, end = np.zeros((K, K)), np.zeros(K), np.zeros(K)
        edges = np.zeros((self.edges[i].shape[1] if self.edges is not None else 0, K, K))
        for t, k in enumerate(y):
            tokens[:, k] += [*self.rows[i][t], 1.0] if self.intercept else self.rows[i][t]
            if t > 0:
                pairs[y[t - 1], k] += 1
                if self.edges is not None:
                    edges[:, y[t - 1], k] += self.edges[i][t - 1]
        if y:
            start[y[0]] += 1
            end[y[-1]] += 1
        return np.concatenate([tokens.ravel(), pairs.ravel(), start, end, edges.ravel()])


class TestChain(StructureConformance):
    def instance(self, seed):
        return Sequences(seed)

    @every_case
    def test_losses_that_count_errors_are_exact_for_every_bound(self, case):
        counts = case.cost in ("hamming", "hamming-share", "zero-one")
        assert all(case.examples.exact_for(bound) == counts for bound in BOUNDS)


@pytest.mark.parametrize("n_labels", [5, 6, 7, 8, 9])
@pytest.mark.parametrize("n_edges", [0, 2])
def test_decode_with_more_labels_than_are_taken_at_once(n_labels, n_edges):
    """The recursion takes four labels at a time and then the rest; here there are both."""
    rng = np.random.default_rng(n_labels)
    for _ in range(10):
        x, z, y = rng.normal(size=(3, 2)), rng.normal(size=(2, n_edges)), rng.integers(0, n_labels, 3)
        chain = Chain(classes=range(n_labels), transition_features=n_edges > 0, fit_intercept=False)
        examples, answers = chain.fit_encode([(x, z) if n_edges else x], [y]), Answers.empty(1, 3)
        w = rng.normal(size=chain.size)
        tokens, rest = np.split(w, [2 * n_labels])
        pairs, start, end, edges = np.split(rest, np.cumsum([n_labels**2, n_labels, n_labels]))
        wrong = 1.0 - np.eye(n_labels)[y]
        u = x @ tokens.reshape(2, n_labels) + wrong
        steps = pairs.reshape(n_labels, n_labels) + np.tensordot(z, edges.reshape(n_edges, n_labels, n_labels), 1)
        total = (u[0] + start)[:, None, None] + u[1][:, None] + u[2] + end + steps[0][:, :, None] + steps[1]
        examples.decode(w, np.zeros(1, np.int64), np.ones(1), answers)
        assert math.isclose(total[tuple(answers.codes)], total.max(), abs_tol=1e-9)
        assert math.isclose(answers.rises[0] + answers.losses[0], total.max() - total[tuple(y)], abs_tol=1e-9)


def test_keys_tell_outputs_apart():
    x, names = np.eye(4), ["a", "b", "c"]
    chain = Chain(classes=names, fit_intercept=False)
    examples, answers, keys = chain.fit_encode([x], [list("acba")]), Answers.empty(1, 4), {}
    for y in itertools.product(range(3), repeat=4):
        w = np.zeros(chain.size)
        for t, k in enumerate(y):
            w[3 * t + k] = 1.0  # each token has a column of its own
        examples.decode(w, np.zeros(1, np.int64), np.zeros(1), answers)
        assert tuple(answers.codes) == y
        keys[int(answers.keys[0])] = y
    assert len(keys) == 3**4
    assert keys[0] == (0, 2, 1, 0)


@pytest.mark.parametrize("cost", ["hamming", "hamming-share", "zero-one", {"a": 2.0}])
def test_empty_sequences_cost_and_score_nothing(cost):
    X, Y = [np.zeros((0, 2)), np.ones((1, 2)), np.zeros((0, 2))], [[], ["a"], []]
    chain = Chain(cost=cost, classes=["a", "b"])
    examples, answers = chain.fit_encode(X, Y), Answers.empty(3, 1)
    w = np.arange(chain.size, dtype=float)
    examples.decode(w, np.arange(3), np.ones(3), answers)
    assert answers.keys.tolist()[::2] == [0, 0] and answers.losses.tolist()[::2] == [0.0, 0.0]
    assert answers.rises.tolist()[::2] == [0.0, 0.0]
    assert np.diff(examples.planes(np.arange(3), answers).indptr)[[0, 2]].tolist() == [0, 0]
    assert examples.outputs(answers) == [[], ["b"], []]
    assert chain.argmax(w, X[0]) == [] == chain.loss_augmented_argmax(w, X[0], [])
    assert chain.topk(w, X[0], 3) == [([], 0.0)]
    assert chain.loss([], []) == 0.0
    assert not chain.joint_feature(X[0], []).any()
    assert list(chain.enumerate(X[0])) == [[]]


def test_enumeration_of_a_long_sequence_begins_at_once():
    chain = Chain(constraints="bioes", classes=["B-X", "E-X", "O"]).fit([np.ones((2, 1))], [["B-X", "E-X"]])
    first, second = itertools.islice(chain.enumerate(np.ones((60, 1))), 2)
    assert first == ["B-X", "E-X"] * 30
    assert second == ["B-X", "E-X"] * 29 + ["O", "O"]


def test_features_unseen_in_training_are_left_out():
    chain = Chain(fit_intercept=False).fit([[{"seen": 1.0}, {"seen": 2.0}]], [["a", "b"]])
    known = chain.joint_feature([{"seen": 3.0}], ["b"])
    np.testing.assert_array_equal(chain.joint_feature([{"new": 9.0, "seen": 3.0}], ["b"]), known)
    assert chain.argmax(np.ones(chain.size), [{"new": 1.0}]) == ["a"]


def test_weights_have_names_in_their_order():
    X = [(np.array([[1.0], [2.0]]), np.array([[3.0]]))]
    chain = Chain(transition_features=True).fit(X, [["a", "b"]])
    names = chain.feature_names().tolist()
    assert names == [
        "x0 → a", "x0 → b", "intercept → a", "intercept → b", "a → a", "a → b", "b → a", "b → b", "start → a",
        "start → b", "a → end", "b → end", "x0: a → a", "x0: a → b", "x0: b → a", "x0: b → b",
    ]  # fmt: skip
    psi = dict(zip(names, chain.joint_feature(X[0], ["a", "b"]), strict=True))
    assert {name: value for name, value in psi.items() if value} == {
        "x0 → a": 1, "x0 → b": 2, "intercept → a": 1, "intercept → b": 1, "a → b": 1, "start → a": 1, "b → end": 1,
        "x0: a → b": 3,
    }  # fmt: skip


@pytest.mark.parametrize("k", [0, -1, 2.5, "two", True])
def test_topk_needs_at_least_one(k):
    chain = Chain().fit([np.ones((2, 1))], [["a", "b"]])
    with pytest.raises(ValueError, match=f"k must be a whole number ≥ 1, found {k!r}"):
        chain.topk(np.zeros(chain.size), np.ones((2, 1)), k)


def test_labels_that_are_tuples():
    X, Y = [np.ones((2, 1)), np.ones((1, 1))], [[(0, 1), (2,)], [(2,)]]
    chain = Chain()
    examples, answers = chain.fit_encode(X, Y), Answers.empty(2, 3)
    assert chain.labels_.values == [(0, 1), (2,)]
    examples.decode(np.zeros(chain.size), np.arange(2), np.zeros(2), answers)
    assert examples.outputs(answers)[1] in ([(0, 1)], [(2,)])


@pytest.mark.parametrize(
    ("X", "Y", "parameters", "message"),
    [
        ([[[1.0]]], [["a"]], {}, "need at least two classes to tell apart, found one class: ['a']"),
        ([[[1.0]]], [["a"]], {"cost": "f1"}, "cost must be 'hamming', 'hamming-share', 'zero-one'"),
        ([np.ones((2, 1)), np.ones((12, 1))], [["a", "b"], ["a"] * 11], {}, "X[1]: 12 rows of features but 11 labels"),
        ([np.ones((2, 1))], [["a", "b"], ["a", "b"]], {}, "X has 1 sequences but Y has 2"),
        ([np.ones((1, 1))], [["c"]], {"classes": ["a", "b"]}, "Y[0], position 0: unknown label 'c'"),
        ([np.ones((2, 1))], ["ab"], {}, "expected a sequence of labels, found str 'ab'"),
        ([np.ones((2, 1))], [3], {}, "expected a sequence of labels, found int 3"),
        (
            [np.ones((2, 1))],
            [["a", "b"]],
            {"transition_features": True},
            "X[0]: with transition_features, expected a pair",
        ),
        (
            [(np.ones((3, 1)), np.ones((3, 1)))],
            [["a", "b", "a"]],
            {"transition_features": True},
            "X[0]: 3 tokens have 2 transitions, found 3 rows of transition features",
        ),
        (
            [(np.ones((2, 1)), [[np.nan]])],
            [["a", "b"]],
            {"transition_features": True},
            "X[0][1], token 0: features must be finite, found nan",
        ),
        ([np.ones((2, 1))], [["a", "b"]], {"cost": np.zeros((3, 3))}, "expected a 2 × 2 cost matrix"),
    ],
)
def test_bad_input(X, Y, parameters, message):
    with pytest.raises(ValueError) as error:
        Chain(**parameters).fit(X, Y)
    assert message in str(error.value)


def test_loss_of_sequences_of_different_lengths():
    chain = Chain().fit([np.ones((2, 1))], [["a", "b"]])
    with pytest.raises(ValueError, match="y has 2 labels but y_hat has 1"):
        chain.loss(["a", "b"], ["a"])


@pytest.mark.parametrize("n_labels", [8, 9, 10, 18, 45, 46, 81, 82, 100])
def test_many_labels(n_labels):
    """Predecessors are handled in groups: sizes at and around their ends, against the textbook recursion."""
    rng = np.random.default_rng(n_labels)
    labels = list(range(n_labels))
    X = [rng.integers(-3, 4, (length, 2)).astype(float) for length in (1, 2, 5, 7)]
    Y = [rng.integers(n_labels, size=len(x)) for x in X]
    forbidden = [(int(a), int(b)) for a, b in rng.integers(n_labels, size=(n_labels, 2))]
    allowed = np.ones((n_labels, n_labels), bool)
    allowed[tuple(np.transpose(forbidden))] = False
    chain = Chain(classes=labels, constraints=forbidden)
    chain.fit(X, [np.zeros(len(x), int) for x in X]) if allowed[0, 0] else chain.set_params(constraints=None).fit(X, Y)
    if chain.constraints is None:
        allowed[:] = True
    w = rng.normal(size=chain.size)
    parts = chain.split_weights(w)
    pairs = np.where(allowed, parts["transitions"], -np.inf)
    for x in X:
        scores = np.c_[x, np.ones(len(x))] @ parts["tokens"]
        value = scores[0] + parts["start"]
        for row in scores[1:]:
            value = row + (value[:, None] + pairs).max(axis=0)
        best = (value + parts["end"]).max()
        assert w @ chain.joint_feature(x, chain.argmax(w, x)) == pytest.approx(best, rel=1e-12)
