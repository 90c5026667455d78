"""Forests against all forests, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin.core.planes import Answers
from maxmargin.structures.forest.structure import Forest
from maxmargin.testing.conformance import StructureConformance, every_case
from tests.helpers.instances.trees import Documents, all_forests, trees


def kruskal(n, worth, least):
    """Links (i, j) taken greedily, best first, of equals the first."""
    taken = []
    for link in sorted(worth, key=lambda link: (-worth[link], link)):
        if worth[link] > least and trees(n, [*taken, link]) is not None:
            taken.append(link)
    return tuple(sorted(taken))


class TestForest(StructureConformance):
    n_checked = 0  # a partition does not tell its forest, so that its score cannot be checked from outside

    def instance(self, seed):
        return Documents(seed)

    @every_case
    def test_the_forest_is_that_of_kruskal_ties_and_all(self, case):
        scale, ids = float(case.rng.choice([0.0, 0.5, 1.0])), np.arange(case.n)
        if not (case.whole and case.r != 0.01):  # sums are exact then, and ties are ties
            return
        answers = case.decoded(ids, np.full(case.n, scale))
        for i in ids.tolist():
            assert case.found(answers, i) == kruskal(case.sizes[i], case.worth(i, scale), 0.0)
        case.examples.complete(case.w, ids, answers)
        for i in ids.tolist():
            inside = {(a, b): v for (a, b), v in case.worth(i, 0.0).items() if case.Y[i][a] == case.Y[i][b]}
            assert case.found(answers, i) == kruskal(case.sizes[i], inside, -np.inf)

    @every_case
    def test_losses_and_links_of_partitions(self, case):
        s, w = case.structure, case.w
        for i, x in enumerate(case.square):
            for y_hat in s.enumerate(x):
                least = min(case.loss(i, h) for h, parts in all_forests(case.sizes[i]) if parts == y_hat)
                assert s.loss(case.Y[i], y_hat) == pytest.approx(least, abs=1e-12)
            links = s.links(w, x)
            assert trees(case.sizes[i], [(a, b) for a, b, _ in links]) == s.argmax(w, x)
            assert all(score > 0 for *_, score in links)
            assert [score for *_, score in links] == sorted((score for *_, score in links), reverse=True)


def test_partitions_are_enumerated_once_each():
    structure = Forest().fit([np.ones((1, 1))], [[0, 1]])
    counts = [len({tuple(y) for y in structure.enumerate(np.ones((n, n, 1)))}) for n in range(6)]
    assert counts == [1, 1, 2, 5, 15, 52]  # Bell numbers
    assert counts == [len(list(structure.enumerate(np.ones((n, n, 1))))) for n in range(6)]
    assert counts == [len({tuple(parts) for _, parts in all_forests(n)}) for n in range(6)]


def test_equal_codes_exactly_for_equal_forests():
    rng = np.random.default_rng(0)
    examples = Forest(fit_intercept=False).fit_encode([np.eye(10)], [list(range(5))])
    answers, codes = Answers.empty(1, 4), {}
    for _ in range(3000):
        examples.decode(rng.normal(size=10), np.zeros(1, np.int64), np.zeros(1), answers)
        codes.setdefault(tuple(answers.codes.tolist()), set()).add(int(answers.keys[0]))
    assert all(len(keys) == 1 for keys in codes.values())
    assert len(set.union(*codes.values())) == len(codes) > 250


def test_the_first_completion_is_a_chain_in_reading_order():
    examples = Forest().fit_encode([np.ones((5, 5, 1))], [["a", "b", "a", "b", "a"]])
    answers = Answers.empty(1, 4)
    examples.initial_completion(np.random.default_rng(0), answers)
    assert answers.codes.tolist() == [1, 5, 8, -1]  # (0, 2), (1, 3), (2, 4)
    assert (answers.keys[0], answers.losses[0], answers.rises[0]) == (0, 0.0, 0.0)
    assert examples.outputs(answers) == [[0, 1, 0, 1, 0]]
    assert examples.latent


def test_many_documents_are_decoded_in_blocks_as_one_by_one():
    rng = np.random.default_rng(0)
    sizes = [400, 3, 350, 1, 500, 2, 600]
    X = [rng.normal(size=(n * (n - 1) // 2, 2)) for n in sizes]
    Y = [rng.integers(0, n, n) for n in sizes]
    examples, w = Forest(r=0.3).fit_encode(X, Y), rng.normal(size=3)
    ids, code_size = np.array([6, 0, 3, 1, 2, 5, 4]), int(examples.code_offsets[-1])
    assert len(examples._batches(ids)) > 2
    together, single = Answers.empty(len(X), code_size), Answers.empty(len(X), code_size)
    scales = rng.random(len(X))
    examples.decode(w, ids, scales, together)
    for r in range(len(ids)):
        examples.decode(w, ids[r : r + 1], scales[r : r + 1], single)
    for name in ("codes", "losses", "rises", "keys"):
        np.testing.assert_array_equal(getattr(together, name), getattr(single, name))
    examples.decode(w, ids[:0], scales[:0], together)


def test_links_worth_nothing_are_not_predicted():
    structure = Forest(fit_intercept=False).fit([np.zeros((3, 3, 1))], [[0, 0, 1]])
    assert structure.argmax(np.ones(1), np.zeros((3, 3, 1))) == [0, 1, 2]
    assert structure.argmax(np.full(1, 1e-9), np.ones((3, 3, 1))) == [0, 0, 0]


def test_of_equal_links_the_first_are_taken():
    structure = Forest(fit_intercept=False).fit([np.ones((4, 4, 1))], [[0, 0, 1, 1]])
    assert structure.links(np.ones(1), np.ones((4, 4, 1))) == [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]


def test_documents_of_one_item_and_of_none():
    structure = Forest().fit([np.ones((2, 2, 3)), np.zeros((0, 0, 3)), np.zeros((1, 1, 3))], [[0, 1], [], ["x"]])
    w = np.ones(4)
    assert structure.argmax(w, np.zeros((0, 0, 3))) == []
    assert structure.argmax(w, np.zeros((1, 1, 3))) == [0]
    assert structure.argmax(w, np.zeros((0, 3))) == [0]
    assert structure.argmax(w, sp.csr_array((0, 3))) == [0]
    assert structure.loss_augmented_argmax(w, np.zeros((0, 3)), []) == []
    assert structure.loss_augmented_argmax(w, np.zeros((0, 3)), ["x"]) == [0]
    assert structure.argmax(w, []) == [0]
    np.testing.assert_array_equal(structure.joint_feature(np.zeros((0, 3)), ["x"]), np.zeros(4))
    assert structure.encode([]).outputs(Answers.empty(0, 0)) == []


def test_plane_values_are_float32_only_where_sums_are_exact():
    def kind(x):
        return Forest().fit_encode([np.full((3, 3, 1), x)], [[0, 0, 1]]).value_type

    assert (kind(1.0), kind(-7.0)) == (np.float32, np.float32)
    assert (kind(0.5), kind(2.0**23)) == (np.float64, np.float64)
    assert Forest().fit_encode([sp.csr_array(np.ones((3, 1), np.int8))], [[0, 0, 1]]).value_type is np.float32


def test_sparse_entries_that_stand_twice_add_up():
    twice = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    structure = Forest().fit([twice], [[0, 0]])
    np.testing.assert_array_equal(structure.joint_feature(twice, [0, 0]), [3, 0, 1])
    assert structure.links(np.array([1.0, 5.0, 0.5]), twice) == [(0, 1, 3.5)]


def test_labels_of_any_kind_and_what_survives_saving():
    X = [np.ones((2, 2, 2)), np.ones((3, 3, 2))]
    structure = Forest(r=0.25).fit(X, [[("a", 1), "b"], np.array([2.5, 2.5, 1.0])])
    assert clone(structure).get_params() == {"r": 0.25, "fit_intercept": True}
    again = Forest.from_state(structure.get_state())
    assert (again.size, again.n_features_, again.r) == (3, 2, 0.25)
    assert structure.feature_names().tolist() == ["x0", "x1", "intercept"]
    assert structure.feature_names(["a", "b"]).tolist() == ["a", "b", "intercept"]
    outputs = [[0, 1], [], [0, 0, 1]]
    assert structure.unpack_outputs(structure.pack_outputs(outputs)) == outputs
    with pytest.raises(ValueError, match="expected 3 cluster numbers in total, found 2"):
        structure.unpack_outputs({"clusters": np.array([0, 1]), "lengths": np.array([3])})


def test_data_are_known_by_their_digest():
    X, Y = [np.ones((3, 3, 1))], [[0, 0, 1]]
    digest = Forest().fit_encode(X, Y).digest()
    assert digest == Forest().fit_encode([np.ones((3, 1))], [["x", "x", "y"]]).digest()
    others = Forest(r=0.5).fit_encode(X, Y), Forest().fit_encode(X, [[0, 1, 1]]), Forest().fit_encode([2 * X[0]], Y)
    assert digest not in {examples.digest() for examples in others}


def test_sparse_features_keep_small_numbers_small():
    ones = sp.csr_array(np.ones((3, 2), np.float32))
    links = Forest().fit_encode([ones, ones], [[0, 0, 1], [0, 0, 1]]).blocks[0]
    assert (links.data.dtype, links.indices.dtype) == (np.float32, np.uint32)
    assert Forest().fit_encode([sp.csr_array(np.ones((3, 2)))], [[0, 0, 1]]).blocks[0].data.dtype == np.float64


SQUARE = np.ones((3, 3, 2))
LOWER = np.tril(np.ones((3, 3)), -1)[:, :, None]


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([SQUARE, SQUARE], [[0, 1, 1], [0, 1]], "X[1]: features for the pairs of 3 items, but Y[1] has"),
        ([SQUARE], [[0, 1, 1, 2]], "X[0]: features for the pairs of 3 items, but Y[0] has the clusters of 4"),
        ([np.zeros((0, 2)), SQUARE], [[0, 0], [0, 0, 1]], "X[0]: features for the pairs of 1 items, but Y[0] has"),
        ([SQUARE], [[0, 1, 1], [0]], "X has 1 examples but Y has 2"),
        ([SQUARE, np.ones((3, 3, 4))], [[0, 1, 1]] * 2, "X[1]: 4 features per pair, expected 2"),
        ([np.ones((4, 2))], [[0, 1, 1]], "X[0]: 4 rows of features, but 3 items have 3 pairs and 4 items 6; expected"),
        ([np.ones((3, 2, 2))], [[0, 1, 1]], "found an array of shape (3, 2, 2)"),
        ([np.ones(3)], [[0, 1, 1]], "X[0]: expected an array (n, n, d)"),
        ([["a", "b"]], [[0, 1, 1]], "found list that is not numeric"),
        ([np.where(np.arange(3)[:, None] == 1, np.nan, SQUARE[0])], [[0, 1, 1]], "X[0], pair (0, 2): features must be"),
        ([SQUARE[0], sp.csr_array(SQUARE[0] * np.inf)], [[0, 1, 1]] * 2, "X[1], pair (0, 1): features must be finite"),
        ([SQUARE, 1j * SQUARE], [[0, 1, 1]] * 2, "X[1]: features must be real numbers, found complex128"),
        ([SQUARE[0] + 1j], [[0, 1, 1]], "X[0]: features must be real numbers, found complex128"),
        ([sp.csr_array(1j * SQUARE[0])], [[0, 1, 1]], "X[0]: features must be real numbers, found complex128"),
        ([SQUARE.astype("M8[D]")], [[0, 1, 1]], "X[0]: features must be real numbers, found datetime64[D]"),
        ([[[10**400]]], [[0, 1]], "X[0]: features must be numbers between ±1.8e308, found a larger one"),
        ([[[10**5000]]], [[0, 1]], "X[0]: features must be numbers between ±1.8e308, found a larger one"),
        ([SQUARE], [[0, None, 1]], "Y[0], item 1: expected a cluster, found None"),
        ([SQUARE], [[0, 1, float("nan")]], "Y[0], item 2: expected a cluster, found nan"),
        ([SQUARE], [[0, [1], 1]], "Y[0], item 1: a cluster must be hashable (a string, a number), found list [1]"),
        ([SQUARE], ["aab"], "Y[0]: expected the cluster of each item, found str 'aab'"),
        ([SQUARE], [7], "Y[0]: expected the cluster of each item, found int 7"),
        ([LOWER], [[0, 1, 1]], "X[0]: the features of all pairs i < j are 0 and those of the pairs i > j are not"),
        ([np.zeros((1, 1, 2))], [[0]], "no example has two items: there is nothing to learn from"),
    ],
)  # fmt: skip
def test_bad_input(X, Y, message):
    with pytest.raises(ValueError) as error:
        Forest().fit(X, Y)
    assert message in str(error.value)


@pytest.mark.parametrize("r", [-0.1, np.inf, np.nan, "1", None])
def test_bad_price_of_a_link(r):
    with pytest.raises(ValueError, match="r must be a number ≥ 0, found"):
        Forest(r=r).fit([SQUARE], [[0, 0, 1]])


def test_other_features_than_learnt():
    structure = Forest().fit([SQUARE], [[0, 0, 1]])
    with pytest.raises(ValueError, match=r"X\[0\]: 5 features per pair, expected 2"):
        structure.encode([np.ones((3, 5))])
    with pytest.raises(ValueError, match="y has 2 items but y_hat has 3"):
        structure.loss([0, 1], [0, 1, 1])
