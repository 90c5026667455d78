"""Folding against enumeration of all structures, and its recursion on longer sequences."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conformance import StructureConformance
from folding_instances import Folds, pairs_of, terms
from sklearn.base import clone

import maxmargin as mm
from maxmargin.encoding.rna import dot_bracket, encode_bases, partners
from maxmargin.structures.folding import _kernels as kernels

X, Y = ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]
PLAIN = mm.Folding()


class TestFolding(StructureConformance):
    bad_input = (
        (mm.Folding(cost="f1"), X, Y, "cost must be 'recall' or {'missed': a, 'false': b}, found 'f1'"),
        (mm.Folding(cost={"missed": 1.0}), X, Y, "cost must be 'recall' or {'missed': a, 'false': b}, found {'missed'"),
        (mm.Folding(cost={"missed": -1, "false": 0}), X, Y, "cost['missed'] must be a number ≥ 0, found -1"),
        (mm.Folding(cost={"missed": 1, "false": np.nan}), X, Y, "cost['false'] must be a number ≥ 0, found nan"),
        (mm.Folding(canonical=1), X, Y, "canonical must be True or False, found 1"),
        (mm.Folding(min_hairpin=-1), X, Y, "min_hairpin must be a whole number ≥ 0, found -1"),
        (mm.Folding(min_hairpin=31), X, Y, "min_hairpin must be at most 30, found 31"),
        (mm.Folding(max_loop=1), X, Y, "max_loop must be a whole number ≥ 2, found 1"),
        (mm.Folding(impossible="ignore"), X, Y, "impossible must be 'error' or 'drop', found 'ignore'"),
        (PLAIN, X, Y[:1], "X has 2 examples but Y has 1"),
        (PLAIN, "GC", Y, "X must be a sequence of strings, found str"),
        (PLAIN, [X[0], 7], Y, "X[1]: expected a string, found int"),
        (PLAIN, [X[0], ""], Y, "X[1]: expected at least 2 bases, found 0; leave such sequences out"),
        (PLAIN, ["A", X[1]], Y, "X[0]: expected at least 2 bases, found 1"),
        (PLAIN, [X[0], "GCGAZAGCAA"], Y, "X[1], position 4: 'Z' is not a base, expected A, C, G, U (or T), or NRY"),
        (PLAIN, ["GGG-AAACCC", X[1]], Y, "X[0], position 3: '-' is not a base"),
        (PLAIN, ["GGGαAAACCC", X[1]], Y, "X[0], position 3: 'α' is not a base"),
        (PLAIN, X, [Y[0], "((....)).."[:-1]], "Y[1]: 9 positions, expected 10 as its sequence has 10 bases"),
        (PLAIN, X, [Y[0], "((....)))."], "Y[1], position 8: unbalanced brackets: ')' without '(' before"),
        (PLAIN, X, ["(((....))(", Y[1]], "Y[0], position 0: unbalanced brackets: '(' is never closed"),
        (PLAIN, X, ["((]....)))", Y[1]], "Y[0], position 2: unbalanced brackets: ']' without '[' before"),
        (
            PLAIN,
            X,
            ["(([...))].", Y[1]],
            "crossing brackets: the pair 2, 8 crosses another one, and structures have no",
        ),
        (PLAIN, X, ["(((.?..)))", Y[1]], "Y[0], position 4: expected '.' or a bracket, found '?'"),
        (PLAIN, X, [Y[0], [9, 8]], "Y[1]: expected a structure in dot-bracket notation, found list [9, 8]"),
        (PLAIN, X, [None, Y[1]], "Y[0]: expected a structure in dot-bracket notation, found NoneType None"),
        (
            PLAIN,
            X,
            [".((....)).", "(........)"],
            "Y[1], position 0: the bases G and A (0 and 9) do not pair if canonic",
        ),
        (PLAIN, ["NGGAAAACCN", X[1]], Y, "Y[0], position 0: the bases N and N (0 and 9) do not pair"),
        (
            PLAIN,
            ["GGAACC", X[1]],
            ["((..))", Y[1]],
            "Y[0], position 1: the pair 1, 4 closes a hairpin of 2 bases, less than min_hairpin=3; use a smaller "
            "min_hairpin; or impossible='drop'",
        ),
        (
            mm.Folding(max_loop=2),
            ["GAAAGAAAACC", X[1]],
            ["(...(....))", Y[1]],
            "Y[0], position 0: the pair 0, 10 closes a bulge or an interior loop of 3 bases, more than max_loop=2; use",
        ),
    )

    def instance(self, seed):
        return Folds(seed)


def scored(structure, w, x, y):
    """The score of a structure by the names of its terms."""
    weights = dict(zip(structure.feature_names(), w, strict=True))
    return sum(weights[name] for name in terms(x, y, structure.min_hairpin))


def random_weights(structure, rng, favoured):
    """Random weights, those of favoured terms greater."""
    names = structure.feature_names()
    return rng.normal(size=structure.size) + [3.0 * name.startswith(favoured) for name in names]


@pytest.mark.parametrize(("most", "least"), [(30, 3), (30, 0), (5, 2), (6, 1), (10, 3)])
def test_longer_sequences_by_loops_one_at_a_time(most, least):
    """The fast recursion over loops finds for each pair what a search over all loops finds, of any length."""
    rng = np.random.default_rng(most)
    structure = mm.Folding(max_loop=most, min_hairpin=least).fit(["GGGAAAACCC"], [".........."])
    longest = 0
    for trial, favoured in enumerate(("interior length", "multi-loop", "bulge length")):
        n = int(rng.integers(45, 60))
        x = "".join(rng.choice(list("ACGU"), n))
        w = random_weights(structure, rng, favoured)
        symbols, _ = encode_bases([x])
        truth, costs = np.full(n, -1, np.int32), (0.0, 0.3 * trial)
        tables = [np.empty(n * (n + 1) // 2) for _ in range(3)] + [np.empty(n + 1)]
        given = symbols, truth, *costs, least, *structure.terms.scores(w), *tables
        kernels.fill(*given)
        values, heads = np.empty(3000), np.empty((3000, 2), np.int64)
        for i in range(n):
            for j in range(i + least + 1, n):
                at = i * n - i * (i + 1) // 2 + j
                for kind, table in zip((kernels.CLOSED, kernels.SINGLE, kernels.SEVERAL), tables, strict=False):
                    if kind == kernels.CLOSED and tables[0][at] == -np.inf:
                        continue
                    found = kernels.options(kind, i, j, *given, values, heads)
                    assert values[:found].max(initial=-np.inf) == pytest.approx(table[at], rel=1e-12, abs=1e-12)
        y = structure.argmax(w, x)
        assert scored(structure, w, x, y) == pytest.approx(structure.topk(w, x, 1)[0][1], rel=1e-12)
        pairs = pairs_of(y)
        longest = max([longest, *(int(name.split()[-1]) for name in terms(x, y, least) if "interior length" in name)])
        assert all(j - i > least for i, j in pairs.items())
    assert longest >= most - 3


def test_ties_are_broken_the_same_way_every_time():
    structure = mm.Folding(min_hairpin=0).fit(X, Y)
    for w in (np.zeros(structure.size), np.ones(structure.size)):
        found = {structure.argmax(w, "GCGCGCGCAUAU") for _ in range(3)}
        assert len(found) == 1
    assert structure.argmax(np.zeros(structure.size), "GCGC") == "...."


def test_many_structures_are_ranked_without_repetition():
    rng = np.random.default_rng(1)
    structure = mm.Folding().fit(X, Y)
    x = "".join(rng.choice(list("ACGU"), 60))
    for w in (rng.normal(size=structure.size), np.zeros(structure.size)):
        ranked = structure.topk(w, x, 300)
        scores = [score for _, score in ranked]
        assert len({y for y, _ in ranked}) == 300
        assert (np.diff(scores) <= 1e-9).all()
        for y, score in ranked[::50]:
            assert scored(structure, w, x, y) == pytest.approx(score, abs=1e-9)
    assert {y for y, _ in structure.topk(w, "GGAACC", 10)} == {"......", "(...).", ".(...)", "(....)"}


def test_pairs_that_cannot_be_predicted_are_dropped_with_a_warning():
    names = ["GGGAAAACCC", "GAGAAACCUA", "GGCAAGCCAA", "GGGAAAACCC"]
    given = ["((([..)))]", "(((...))).", "(((..)))..", "(((....)))"]
    structure = mm.Folding(impossible="drop")
    with pytest.warns(UserWarning, match=r"dropped pairs .* 4 in all: Y\[0\] \(2\), Y\[1\] \(1\), Y\[2\] \(1"):
        examples = structure.fit_encode(names, given)
    kept = [dot_bracket(examples.truths[a : a + 10]) for a in range(0, 40, 10)]
    assert kept == ["((.....)).", "(.(...).).", "((....))..", "(((....)))"]
    assert structure.loss(given[0], kept[0]) == 0.5
    with pytest.warns(UserWarning, match=r"Y\[5\] \(2\)$"):
        weights = [0.0] * 4 + [1.0, 1.0]
        mm.RNAFolder(impossible="drop").fit(names[3:] * 5 + names[:1], given[3:] * 5 + given[:1], weights)


def test_long_loops_keep_as_many_pairs_as_possible():
    x = "GGG" + "A" * 40 + "CCGAAACGG" + "CCC"
    y = "(((" + "." * 40 + "(((...)))" + ")))"
    with pytest.warns(UserWarning, match="dropped pairs .*, 3 in all"):
        examples = mm.Folding(impossible="drop").fit_encode([x], [y])
    assert (examples.truths >= 0).sum() == 6
    assert (mm.Folding(max_loop=40).fit_encode([x], [y]).truths >= 0).sum() == 12


def test_losses():
    assert mm.Folding().loss("((...))", "(.....)") == 0.5
    assert mm.Folding().loss(".......", "(.....)") == 0.0
    assert mm.Folding(cost={"missed": 2, "false": 0.5}).loss("((...)).", "(.(...))") == 5.0
    assert mm.Folding().loss("<<...>>", "((...))") == 0.0
    with pytest.raises(ValueError, match="y has 7 positions but y_hat has 3"):
        mm.Folding().loss("((...))", "...")


def test_unknown_bases_have_no_weight_and_pair_only_if_all_bases_do():
    structure = mm.Folding().fit(X, Y)
    assert structure.argmax(np.ones(structure.size), "NNNNNNNN") == "........"
    free = mm.Folding(canonical=False).fit(X, Y)
    w = np.array([float(name == "hairpin length, ≥ 6") for name in free.feature_names()])
    assert free.argmax(w, "NNNNNNNN") == "(......)"
    assert not free.joint_feature("NNNNN", "(...)")[[n.startswith("base pair") for n in free.feature_names()]].any()
    for x in ("ggguaaaccc", "GGGTAAACCC", "gggtaaaccc"):
        np.testing.assert_array_equal(
            structure.joint_feature(x, "(((....)))"), structure.joint_feature("GGGUAAACCC", "(((....)))")
        )


def test_weights_have_names_and_shapes():
    structure = mm.Folding().fit(X, Y)
    names = structure.feature_names()
    assert len(set(names)) == len(names) == structure.size == 414
    shapes = {kind: len(table) for kind, table in structure.split_weights(np.zeros(structure.size)).items()}
    assert shapes["base pair"] == 3 and shapes["stacking"] == 21 and shapes["interior shape"] == 10
    assert shapes["hairpin length"] == 28 and shapes["bulge length"] == 30 and shapes["3' dangle"] == 24
    psi = dict(zip(names, structure.joint_feature("GGGAAAACCC", "(((....)))"), strict=True))
    assert psi["stacking, CG CG"] == 2.0
    assert psi["hairpin length, ≥ 4"] == 1.0 and psi["hairpin length, ≥ 5"] == 0.0
    assert clone(structure).get_params()["max_loop"] == 30
    assert pickle.loads(pickle.dumps(structure)).size == 414
    assert structure.set_params(canonical=False).fit(X, Y).size > 414


def test_notation_of_structures():
    code = partners("((..[[..))..]]", "y")
    assert dot_bracket(code) == "((..[[..))..]]"
    assert dot_bracket(partners("<<..AA..>>..aa", "y")) == "((..[[..))..]]"
    assert dot_bracket(partners("(.(...).)[,:_-~]", "y")) == "(.(...).)(.....)"
