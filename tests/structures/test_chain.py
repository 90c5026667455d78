"""Chains against enumeration of all label sequences, with joint features built here by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from maxmargin.core.planes import Answers
from maxmargin.structures.chain.structure import Chain
from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.rows_and_sequences import Sequences


class TestChain(StructureConformance):
    def instance(self, seed):
        return Sequences(seed)

    @every_case
    def test_costs_that_are_multiples_of_one_number_are_exact_for_every_bound(self, case):
        assert all(case.examples.exact_for(bound) == (case.cost != "irregular") for bound in BOUNDS)


class TestChainOfSeenPairs(StructureConformance):
    def instance(self, seed):
        return Sequences(seed, seen_pairs=True)


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
    with pytest.raises(ValueError, match=f"k must be an integer ≥ 1, found {k!r}"):
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
        ([[[1.0]]], [["a"]], {}, "expected at least two classes, found one class: ['a']"),
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
