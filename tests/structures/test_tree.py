"""Spanning trees against all trees."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import maxmargin as mm
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.tree import _jit, _projective
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.trees import Graphs, crosses, reaches_root

SQUARE = np.ones((3, 3, 2))
ONE_WAY = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]], bool)


class TestRootedTree(StructureConformance):
    bad_input = (
        (mm.Tree(), [np.ones((3, 2, 2))], [[0, 0]], "X[0]: expected an array (nodes, nodes, d), a sparse"),
        (mm.Tree(), [np.ones((3, 3))], [[0, 0]], "found an array of shape (3, 3)"),
        (mm.Tree(), [SQUARE, np.zeros((0, 0, 2))], [[0, 0], []], "X[1]: expected at least the root, found no nodes"),
        (mm.Tree(), [sp.csr_array(np.ones((5, 2)))], [[0]], "X[0]: 5 rows of features are not those of nodes² arcs"),
        (mm.Tree(), [[["a"]] * 2], [[0]], "X[0]: expected an array"),
        (mm.Tree(), [SQUARE, np.ones((3, 3, 4))], [[0, 0]] * 2, "X[1]: 4 features per arc, expected 2"),
        (
            mm.Tree(),
            [np.where(np.eye(3)[:, :, None], 1, np.nan)],
            [[0, 0]],
            "X[0], arc (0, 1): features must be finite",
        ),
        (mm.Tree(), [SQUARE], [[0, 0], [0, 0]], "X has 1 examples but Y has 2"),
        (mm.Tree(), [SQUARE], [[0, 0, 0]], "Y[0]: 3 heads, expected 2 as X has 3 nodes"),
        (mm.Tree(), [SQUARE], [[0, 3]], "Y[0], node 2: expected a head from 0 to 2, found 3"),
        (mm.Tree(), [SQUARE], [[0.0, 1.0]], "Y[0]: expected the head of each node, an integer"),
        (mm.Tree(), [SQUARE], [5], "Y[0]: expected the head of each node, an integer, found 5"),
        (mm.Tree(), [SQUARE], [[2, 1]], "Y[0]: not a tree, the heads form a cycle: [2, 1]"),
        (mm.Tree(), [SQUARE], [[1, 0]], "Y[0]: not a tree, the heads form a cycle: [1, 0]"),
        (mm.Tree(single_root=True), [SQUARE], [[0, 0]], "Y[0]: 2 children of the root, but single_root=True"),
        (mm.Tree(directed=False, single_root=True), [SQUARE], [[0, 0]], "single_root=True needs directed=True"),
        (mm.Tree(directed=1), [SQUARE], [[0, 0]], "directed must be True or False, found 1"),
        (
            mm.Tree(),
            [(SQUARE, ONE_WAY)],
            [[0, 1]],
            "X[0]: the allowed arcs contain no spanning tree: some node cannot be reached",
        ),
        (mm.Tree(), [(SQUARE, ~np.eye(3, k=1, dtype=bool))], [[0, 0]], "Y[0]: the arc 0 → 1 is forbidden by X"),
        (mm.Tree(), [(SQUARE, np.ones((3, 3)))], [[0, 0]], "X[0]: the allowed arcs must be an array of bool of shape"),
        (mm.Tree(), [(SQUARE, SQUARE, SQUARE)], [[0, 0]], "expected features, or a pair (features, allowed)"),
        (mm.Tree(), [SQUARE], [mm.PartCosts([0, 0], np.ones(3))], "Y[0]: false costs have shape (3,), expected (3, 3)"),
        (mm.Tree(), [SQUARE], [mm.PartCosts([0, 0], 1.0, -1.0)], "Y[0]: missed costs must be finite numbers ≥ 0"),
        (mm.Tree(), [np.ones((3, 3, 0))], [[0, 0]], "X[0]: expected an array (nodes, nodes, d), a sparse"),
        (mm.Tree(), [np.ma.array(SQUARE, mask=SQUARE > 2)], [[0, 0]], "X[0]: masked arrays are not supported"),
        (mm.Tree(), [SQUARE.astype("M8[D]")], [[0, 0]], "X[0]: features must be real numbers, found datetime64[D]"),
        (
            mm.Tree(),
            [[[[1.0], [1.0, 2.0]], [[1.0], [1.0]]]],
            [[0]],
            "X[0], arc (0, 1): expected 1 numbers, found [1.0, 2.0]",
        ),
        (mm.Tree(), [SQUARE], [mm.PartCosts(mm.PartCosts([0, 0]))], "PartCosts of PartCosts"),
        (mm.Tree(), [SQUARE], [mm.PartCosts([0, 0], "all")], "Y[0]: false costs must be numbers, found 'all'"),
    )

    def instance(self, seed):
        return Graphs(seed, True, False)


class TestSingleRootedTree(StructureConformance):
    def instance(self, seed):
        return Graphs(seed, True, True)


class TestProjectiveTree(StructureConformance):
    bad_input = (
        (mm.Tree(projective=1), [SQUARE], [[0, 0]], "projective must be True or False, found 1"),
        (mm.Tree(directed=False, projective=True), [SQUARE], [[0, 0]], "projective=True needs directed=True"),
        (
            mm.Tree(projective=True),
            [np.ones((5, 5, 1))],
            [[3, 4, 0, 3]],
            "Y[0]: not projective, as projective=True requires: another arc crosses that from 4 to 2",
        ),
    )

    def instance(self, seed):
        return Graphs(seed, True, bool(seed % 2), projective=True)


class TestUndirectedTree(StructureConformance):
    bad_input = (
        (mm.Tree(directed=False), [SQUARE], [[(0, 1)]], "Y[0]: 1 edges, expected 2 as X has 3 nodes"),
        (mm.Tree(directed=False), [SQUARE], [[(0, 1), (1, 0)]], "Y[0]: not a tree, the 2 edges do not join 3 nodes"),
        (mm.Tree(directed=False), [SQUARE], [[(0, 1), (1, 5)]], "joins nodes 0 to 2, found node 5"),
        (mm.Tree(directed=False), [SQUARE], [[(-1, 0), (0, 1)]], "joins nodes 0 to 2, found node -1"),
        (mm.Tree(directed=False), [SQUARE], [[0, 1]], "Y[0]: expected a list of edges (i, j), found [0, 1]"),
        (mm.Tree(directed=False), [np.zeros((0, 0, 1))], [[]], "X[0]: expected at least one node, found no nodes"),
        (
            mm.Tree(directed=False),
            [(SQUARE, np.eye(3, k=1, dtype=bool))],
            [[(0, 2), (1, 2)]],
            "Y[0]: the arc 0 – 2 is forbidden by X",
        ),
    )

    def instance(self, seed):
        return Graphs(seed, False, False)


def chu_liu_edmonds(scores):
    """The best tree of a table scores[h, m] by recursion, as in textbooks: contract a cycle, solve, expand."""
    n = len(scores)
    heads = {m: max((h for h in range(n) if h != m), key=lambda h: scores[h, m]) for m in range(1, n)}
    cycle = next((found for m in heads if (found := cycle_through(heads, m))), None)
    if cycle is None:
        return heads
    rest = [v for v in range(n) if v not in cycle]
    inner = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    enter, leave = {}, {}
    total = sum(scores[heads[c], c] for c in cycle)
    for a, h in enumerate(rest):
        for b, m in enumerate(rest):
            inner[a, b] = scores[h, m]
        enter[a] = max(cycle, key=lambda c: scores[h, c] - scores[heads[c], c])
        inner[a, -1] = scores[h, enter[a]] - scores[heads[enter[a]], enter[a]] + total
        leave[a] = max(cycle, key=lambda c: scores[c, h])
        inner[-1, a] = scores[leave[a], h]
    found = chu_liu_edmonds(inner)
    tree = {c: heads[c] for c in cycle}
    for b, a in found.items():
        if b == len(rest):
            tree[enter[a]] = rest[a]
        else:
            tree[rest[b]] = leave[b] if a == len(rest) else rest[a]
    return tree


def cycle_through(heads, start):
    seen, node = [], start
    while node in heads and node not in seen:
        seen.append(node)
        node = heads[node]
    return seen[seen.index(node) :] if node in seen else None


@pytest.mark.parametrize("n", [5, 12, 30])
def test_larger_trees_are_those_of_the_textbook(n):
    rng = np.random.default_rng(n)
    for _ in range(60):
        table = rng.normal(size=(n + 1, n + 1))
        heads = np.empty(n, np.int32)
        assert _jit.best_arborescence(np.ascontiguousarray(table.T[1:]), True, heads)
        expected = chu_liu_edmonds(table)
        assert heads.tolist() == [expected[m] for m in range(1, n + 1)]


@pytest.mark.parametrize("n", [8, 20])
def test_a_single_root_is_the_best_of_all_roots(n):
    """Every root in turn, by forbidding all others, against the one that counts root arcs."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        table = rng.normal(size=(n + 1, n + 1)) + 3.0 * (np.arange(n + 1) == 0)[:, None]
        x, structure = table[:, :, None], mm.Tree(single_root=True)
        structure.fit([x], [[0] + [1] * (n - 1)])
        best = -np.inf
        for root in range(1, n + 1):
            allowed = np.ones((n + 1, n + 1), bool)
            allowed[0] = np.arange(n + 1) == root
            heads = mm.Tree().fit([x], [[0] * n]).argmax(np.ones(1), (x, allowed))
            best = max(best, sum(table[h, m] for m, h in enumerate(heads, 1)))
        heads = structure.argmax(np.ones(1), x)
        assert heads.count(0) == 1
        assert sum(table[h, m] for m, h in enumerate(heads, 1)) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("n", [12, 30])
def test_projective_trees_do_not_cross_and_are_the_best_where_the_best_of_all_trees_does_not_cross(n):
    rng, compared = np.random.default_rng(n), 0
    for _ in range(60):
        table = rng.normal(size=(n + 1, n + 1)) - 3.0 * np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
        arcs = np.ascontiguousarray(table.T[1:])
        for single_root in (False, True):
            best, projective = np.empty((2, n), np.int32)
            _jit.best_rooted_trees(
                np.zeros(1, int), arcs.ravel(), np.array([0, arcs.size]), np.array([0, n]), single_root, best
            )
            assert _projective.best_projective(arcs, single_root, projective)
            assert not crosses(projective.tolist())
            assert (projective == 0).sum() == 1 or not single_root
            totals = [arcs[np.arange(n), heads].sum() for heads in (best, projective)]
            assert totals[1] <= totals[0] + 1e-9
            if not crosses(best.tolist()):
                compared += 1
                assert best.tolist() == projective.tolist()
    assert compared > 20


KINDS = [
    {}, {"single_root": True}, {"directed": False}, {"projective": True}, {"projective": True, "single_root": True}
]  # fmt: skip


def powers_of_two(structure, exponents):
    """log Z and marginals of a table of exponents of 2, in rational numbers; and the examples of the structure."""
    x = (exponents[:, :, None] * log(2.0), exponents > -np.inf)
    trees = list(structure.enumerate(x))
    arcs = [[(h, m) for m, h in enumerate(y, 1)] if structure.directed else y for y in trees]
    weights = [Fraction(2) ** int(sum(exponents[a] for a in tree)) for tree in arcs]
    total, table = sum(weights), np.zeros(exponents.shape)
    for tree, weight in zip(arcs, weights, strict=True):
        for i, j in tree:
            table[i, j] += float(weight / total)
            if not structure.directed:
                table[j, i] = table[i, j]
    top = max(weights)
    scale = top.numerator.bit_length() - top.denominator.bit_length()
    return log(2.0) * scale + log(total / Fraction(2) ** scale), table, structure.fit([x], [trees[0]]).encode([x])


@pytest.mark.parametrize("size", [2.0, 50.0, 1000.0, 14_000.0])
@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_sums_of_weights_of_very_different_sizes(parameters, size):
    """Where nodes of a cycle prefer each other, the matrix-tree theorem cancels; sums in numbers underflow."""
    rng, ids = np.random.default_rng(int(size)), np.zeros(1, int)
    for case in range(12):
        exponents = np.round(size * rng.normal(size=(5, 5)))
        if case % 2:
            exponents[0] -= size
            exponents[rng.random(exponents.shape) < 0.3] = -np.inf
            exponents[0, 1] = -size
            exponents[np.arange(4), np.arange(1, 5)] = 0.0
        log_z, table, examples = powers_of_two(mm.Tree(**parameters), exponents)
        sums = examples.sums(examples.scores(np.ones(1), ids), ids)
        assert sums.log_partitions[0] == pytest.approx(log_z, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(examples.arranged_marginals(sums.marginals, 0), table, atol=1e-10)


@pytest.mark.parametrize(("parameters", "count"), [
    ({}, 41.0 * log(43)), ({"single_root": True}, 41.0 * log(42)), ({"directed": False}, 41.0 * log(43)),
])  # fmt: skip
def test_numbers_of_trees(parameters, count):
    """Cayley: n nodes have nⁿ⁻² trees; 42 of them besides a root have 43⁴¹, and 42⁴¹ with a single root."""
    x, ids = np.zeros((43, 43, 1)), np.zeros(1, int)
    truth = [0] + [1] * 41 if parameters.get("directed", True) else [(0, m) for m in range(1, 43)]
    examples = mm.Tree(**parameters).fit([x], [truth]).encode([x])
    sums = examples.sums(examples.scores(np.ones(1), ids), ids)
    assert sums.log_partitions[0] == pytest.approx(count, rel=1e-13)
    assert sums.entropies[0] == pytest.approx(count, rel=1e-13)
    assert sums.marginals[0].sum() == pytest.approx(42.0, rel=1e-13)


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_samples_of_larger_trees_have_the_marginals_of_their_arcs(parameters):
    rng, ids, n = np.random.default_rng(0), np.zeros(1, int), 4000
    x = 2.0 * rng.normal(size=(15, 15, 1))
    truth = [0] + [1] * 13 if parameters.get("directed", True) else [(0, m) for m in range(1, 15)]
    examples = mm.Tree(**parameters).fit([x], [truth]).encode([x])
    scores = examples.scores(np.ones(1), ids)
    p = examples.sums(scores, ids).marginals[0]
    codes = examples.samples(scores, ids, n, np.array([5], np.uint64))
    counts = np.zeros(len(p))
    for code in codes:
        counts[examples.parts(ids, code)[0].indices] += 1
        examples.structure.code_of(
            examples.structure.output_of(code), "a sample"
        )  # raises an error if it is not a tree
    assert (np.abs(counts - n * p) <= 5.0 * np.sqrt(n * p * (1.0 - p)) + 3.0).all()


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_graphs_without_trees_have_no_probabilities(parameters):
    """Scores of −∞ exclude all trees: node 3 has no arcs."""
    x, ids = np.zeros((4, 4, 1)), np.zeros(1, int)
    truth = [0, 1, 1] if parameters.get("directed", True) else [(0, 1), (1, 2), (1, 3)]
    examples = mm.Tree(**parameters).fit([x], [truth]).encode([x])
    (block,) = examples.scores(np.ones(1), ids)
    table = np.full((4, 4), -np.inf)
    table[:3, :3] = 0.0
    block.values[:] = table.T[1:].ravel() if parameters.get("directed", True) else table[np.triu_indices(4, 1)]
    sums = examples.sums([block], ids)
    assert sums.log_partitions[0] == -np.inf and not sums.marginals[0].any()
    assert (examples.samples([block], ids, 3, np.ones(1, np.uint64))[:, 0] == NO_OUTPUT).all()


def test_lifting_makes_trees_projective():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        order = 1 + rng.permutation(n)
        heads = np.zeros(n, np.int64)
        for place in range(1, n):
            heads[order[place] - 1] = order[rng.integers(0, place)]
        before = heads.copy()
        _projective.lift(heads)
        assert not crosses(heads.tolist()) and reaches_root(heads.tolist())
        assert (heads == 0).sum() == 1
        assert crosses(before.tolist()) == (heads != before).any()


def test_huge_scores_do_not_drown_in_the_price_of_a_root():
    """Scores of very different sizes: a price on root arcs would round the small ones away."""
    table = np.zeros((4, 4))
    table[0, 1:] = 1e16
    table[1, 2], table[1, 3], table[2, 3], table[2, 1] = 1.0, 0.25, 0.5, 1.0
    structure = mm.Tree(single_root=True).fit([table[:, :, None]], [[0, 1, 1]])
    heads = structure.argmax(np.ones(1), table[:, :, None])
    scores = {
        tuple(y): sum(table[h, m] for m, h in enumerate(y, 1) if h) for y in structure.enumerate(table[:, :, None])
    }
    assert scores[tuple(heads)] == max(scores.values())


def test_costs_of_all_parts_are_those_of_the_plain_loss():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 6, 4)) for _ in range(20)]
    Y = [mm.Tree().fit([x], [[0] * 5]).argmax(rng.normal(size=4), x) for x in X]
    plain = mm.StructuralSVM(mm.Tree(), tol=1e-5).fit(X, Y)
    costed = mm.StructuralSVM(mm.Tree(), tol=1e-5).fit(X, [mm.PartCosts(y) for y in Y])
    assert costed.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-4)
    dear = mm.StructuralSVM(mm.Tree(), tol=1e-5).fit(X, [mm.PartCosts(y, 2.0, 1.0) for y in Y])
    assert dear.score(X, [mm.PartCosts(y, 2.0, 1.0) for y in Y]) == pytest.approx(3.0 * dear.score(X, Y))


def test_a_parser_learns_from_arcs(tmp_path):
    rng = np.random.default_rng(1)
    w = rng.normal(size=6)
    X = [rng.normal(size=(n + 1, n + 1, 6)) for n in rng.integers(2, 9, 60)]
    maker = mm.Tree(single_root=True)
    maker.fit(X[:1], [[0] + [1] * (len(X[0]) - 2)])
    Y = [maker.argmax(w, x) for x in X]
    model = mm.StructuralSVM(mm.Tree(single_root=True), C=10.0).fit(X[:40], Y[:40])
    assert model.certificate_.gap <= 1e-3 and model.certificate_.exact
    right = np.mean(
        [a == b for y, p in zip(Y[40:], model.predict(X[40:]), strict=True) for a, b in zip(y, p, strict=True)]
    )
    assert right > 0.9
    decision = model.explain(X[0])
    assert decision.margin > 0 and decision.runner_up != decision.prediction
    model.save(tmp_path / "tree.mm", support=True)
    again = mm.load(tmp_path / "tree.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert again.topk(X[0], 3) == model.topk(X[0], 3)


def test_weights_have_the_names_of_features():
    x = [[["root"], ["a", "b"], ["c"]], [["x"], [], ["b"]], [["x"], ["c"], []]]
    tree = mm.Tree().fit([x], [[0, 1]])
    assert tree.feature_names().tolist() == ["a", "b", "c"], "arcs into the root are not read"
    np.testing.assert_array_equal(tree.joint_feature(x, [0, 1]), [1, 2, 0])
    assert list(tree.split_weights(np.arange(3.0))) == ["arcs"]
    assert clone(tree).get_params() == {"directed": True, "single_root": False, "projective": False}


def test_graphs_of_one_node():
    x = np.zeros((1, 1, 2))
    for tree in (mm.Tree(), mm.Tree(directed=False)):
        tree.fit([np.ones((2, 2, 2)), x], [[0] if tree.directed else [(0, 1)], []])
        assert tree.argmax(np.ones(2), x) == []
        assert tree.topk(np.ones(2), x, 3) == [([], 0.0)]
        assert tree.loss([], []) == 0.0


def test_nested_lists_of_numbers_are_arrays():
    x = np.arange(18.0).reshape(3, 3, 2)
    tree = mm.Tree().fit([x], [[0, 0]])
    np.testing.assert_array_equal(tree.joint_feature(x.tolist(), [0, 1]), tree.joint_feature(x, [0, 1]))
    cells = x.tolist()
    cells[0][1] = None
    assert tree.argmax(np.ones(2), cells)[0] == 2, "None forbids an arc"
