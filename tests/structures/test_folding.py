"""Folding against enumeration of all structures, and its recursion on longer sequences."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm
from maxmargin.core.scores import Scores
from maxmargin.features.biology.rna import dot_bracket, encode_bases, partners
from maxmargin.structures.folding import _jit, _log_sums, _sums
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.folding import Folds, pairs_of, terms

X, Y = ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]
PLAIN = mm.Folding()


class TestFolding(StructureConformance):
    bad_input = (
        (mm.Folding(cost="f1"), X, Y, "cost must be 'recall' or {'missed': a, 'false': b}, found 'f1'"),
        (mm.Folding(cost={"missed": 1.0}), X, Y, "cost must be 'recall' or {'missed': a, 'false': b}, found {'missed'"),
        (mm.Folding(cost={"missed": -1, "false": 0}), X, Y, "cost['missed'] must be a number ≥ 0, found -1"),
        (mm.Folding(cost={"missed": 1, "false": np.nan}), X, Y, "cost['false'] must be a number ≥ 0, found nan"),
        (mm.Folding(canonical=1), X, Y, "canonical must be True or False, found 1"),
        (mm.Folding(min_hairpin=-1), X, Y, "min_hairpin must be an integer ≥ 0, found -1"),
        (mm.Folding(min_hairpin=31), X, Y, "min_hairpin must be at most 30, found 31"),
        (mm.Folding(max_loop=1), X, Y, "max_loop must be an integer ≥ 2, found 1"),
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

    def risk(self, case, y, y_hat):
        """The number of missed and of false pairs: 1 − recall divides by the pairs of y, and is not a sum over them."""
        return len(set(pairs_of(y).items()) ^ set(pairs_of(y_hat).items()))


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
        pairs = np.full(n * (n + 1) // 2, 0.3 * trial)
        tables = [np.empty(n * (n + 1) // 2) for _ in range(3)] + [np.empty(n + 1)]
        given = symbols, pairs, least, *structure.terms.scores(w), *tables
        _jit.fill(*given)
        values, heads = np.empty(3000), np.empty((3000, 2), np.int64)
        for i in range(n):
            for j in range(i + least + 1, n):
                at = i * n - i * (i + 1) // 2 + j
                for kind, table in zip((_jit.CLOSED, _jit.SINGLE, _jit.SEVERAL), tables, strict=False):
                    if kind == _jit.CLOSED and tables[0][at] == -np.inf:
                        continue
                    found = _jit.options(kind, i, j, *given, values, heads)
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


# ---------------------------------------------------------------------- sums over structures


def summed(structure, x, w, pairs=None, logs=False):
    """log Z, expected weights, pair probabilities, and whether they are right: by numbers, or by logarithms."""
    terms, (symbols, _), n = structure.terms, encode_bases([x]), len(x)
    flat, size = terms.flat_scores(w), n * (n + 1) // 2
    pairs = np.zeros(size) if pairs is None else pairs
    tables = [np.empty(size) for _ in range(4)] + [np.empty(n + 1)]
    found, probable = np.zeros(len(flat)), np.zeros(size)
    given = symbols, pairs, terms.min_hairpin, terms.max_loop, flat
    if logs:
        _log_sums.fill_logs(*given, *tables)
        _log_sums.expected_terms(*given, *tables[:3], tables[4], found, probable)
        return tables[4][0], terms.weight_counts(found), probable, True
    factors = np.empty(len(flat))
    _sums.exp_letters(flat, factors)
    bound = _sums.largest_loop(flat, terms.max_loop)
    log_z, _, right = _sums.sum_scaled(*given, bound, np.empty(n), factors, *tables, found, probable)
    return log_z, terms.weight_counts(found), probable, right


@pytest.mark.parametrize(("most", "least"), [(30, 3), (30, 0), (5, 2), (7, 1), (10, 3), (2, 0)])
def test_sums_over_long_sequences_are_those_of_all_derivations(most, least):
    """Vectorised sums over loops agree with sums over a list of all loops, one at a time, of any length."""
    rng = np.random.default_rng(most)
    structure = mm.Folding(max_loop=most, min_hairpin=least).fit(["GGGAAAACCC"], [".........."])
    for favoured in ("interior length", "multi-loop", "bulge length", "interior asymmetry"):
        x = "".join(rng.choice(list("ACGUN"), int(rng.integers(45, 90))))
        w = 0.3 * random_weights(structure, rng, favoured)
        pairs = rng.normal(size=len(x) * (len(x) + 1) // 2)
        pairs[rng.random(len(pairs)) < 0.1] = -np.inf
        log_z, terms, probable, right = summed(structure, x, w, pairs)
        expected = summed(structure, x, w, pairs, logs=True)
        assert right and log_z == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(terms, expected[1], atol=1e-9 * (1 + terms.max()))
        np.testing.assert_allclose(probable, expected[2], atol=1e-11)
        assert not probable[pairs == -np.inf].any()


@pytest.mark.parametrize("shift", [-4.0, 4.0])
def test_sums_are_scaled_where_numbers_would_overflow(shift):
    """Every unpaired base and every pair adds to the score, so that log Z is far beyond the range of numbers."""
    structure = mm.Folding(max_loop=6).fit(X, Y)
    names = structure.feature_names()
    changed = np.array([name in ("exterior, unpaired base", "multi-loop, unpaired base") for name in names], float)
    w, x = shift * changed, "GGCAUCGAUAGC" * 16
    log_z, terms, probable, right = summed(structure, x, w)
    expected = summed(structure, x, w, logs=True)
    assert right and log_z == pytest.approx(expected[0], rel=1e-11) and abs(log_z) > (700 if shift > 0 else 60)
    np.testing.assert_allclose(probable, expected[2], atol=1e-9)
    np.testing.assert_allclose(terms, expected[1], atol=1e-7)


def test_sums_that_numbers_cannot_hold_are_refused():
    """A helix in half of the sequence scores far above the mean: the error bound tells, and logarithms are used."""
    structure = mm.Folding().fit(X, Y)
    names, half = structure.feature_names(), "".join(np.random.default_rng(0).choice(list("ACGU"), 60))
    w = np.array([9.0 if name.startswith("stacking") else 0.0 for name in names])
    x = half + "GAAA" + half[::-1].translate(str.maketrans("ACGU", "UGCA")) + "A" * 124
    assert not summed(structure, x, w)[3]
    examples = structure.encode([x])
    sums = examples.sums(examples.scores(w, np.arange(1)), np.arange(1))
    best = "(" * 60 + "...." + ")" * 60 + "." * 124
    assert sums.log_partitions[0] == pytest.approx(9.0 * 59, abs=2.0)
    table = examples.arranged_marginals(sums.marginals, 0)
    for i, j in pairs_of(best).items():
        if 0 < i < 59:
            assert table[i, j] == table[j, i] > 0.99


def test_pair_probabilities_and_structures_of_maximum_expected_accuracy():
    structure = mm.Folding().fit(X, Y)
    rng = np.random.default_rng(3)
    examples, ids, w = (
        structure.encode(["GGCGAAAGCCAAGGAAACCUU", "AAAA"]),
        np.arange(2),
        rng.normal(size=structure.size),
    )
    scores = examples.scores(w, ids)
    sums = examples.sums(scores, ids)
    one = examples.take(ids[:1])
    table = one.arranged_marginals(one.sums(one.scores(w, ids[:1]), ids[:1]).marginals, 0)
    codes = examples.samples(scores, ids, 4000, np.array([1, 2], np.uint64))[:, :21]
    seen = np.zeros((21, 21))
    for code in codes:
        seen[np.flatnonzero(code >= 0), code[code >= 0]] += 1 / len(codes)
    np.testing.assert_allclose(table, seen, atol=0.04)
    assert (table.sum(axis=0) <= 1 + 1e-12).all() and np.array_equal(table, table.T)
    for gamma, fewest in ((1e-3, 0), (1e3, 3)):
        answers = examples.empty_answers()
        examples.decode_scores(examples.risk_scores(sums.marginals, scores, ids, gamma), ids, np.zeros(2), answers)
        n_pairs = int((answers.codes[:21] >= 0).sum()) // 2
        assert n_pairs >= fewest if fewest else n_pairs == int((table > 1 / (1 + gamma)).sum()) // 2


def test_a_sequence_without_structures():
    """If unpaired bases are forbidden, nothing remains; a part that all structures have decides alone."""
    structure = mm.Folding().fit(X, Y)
    examples, ids = structure.encode(["GGAAACC", "GAAAC"]), np.arange(2)
    terms, pairs = examples.scores(np.zeros(structure.size), ids)
    forbidden = np.where(structure.feature_names() == "exterior, unpaired base", -np.inf, terms.values)
    barred = [Scores(forbidden, terms.starts), Scores(np.full_like(pairs.values, -np.inf), pairs.starts)]
    sums = examples.sums(barred, ids)
    assert (sums.log_partitions == -np.inf).all() and not any(values.any() for values in sums.marginals)
    codes = examples.samples(barred, ids, 2, np.array([1, 2], np.uint64))
    assert (codes[:, [0, 7]] == -(2**31)).all()
    only = examples.samples([Scores(forbidden, terms.starts), pairs], ids, 3, np.array([1, 2], np.uint64))
    assert {dot_bracket(code) for code in only[:, 7:]} == {"(...)"}


def meets(structure, constraint):
    """Whether a structure satisfies a constraint, in plain Python."""
    code = partners(structure, "structure").tolist()
    if isinstance(constraint, str):
        allowed = {".": lambda i: True, "x": lambda i: code[i] < 0, "|": lambda i: code[i] >= 0,
                   "<": lambda i: code[i] > i, ">": lambda i: 0 <= code[i] < i}  # fmt: skip
        forced = partners("".join(s if s in "()" else "." for s in constraint), "constraint").tolist()
        return all(
            code[i] == forced[i] if forced[i] >= 0 else allowed[symbol](i) for i, symbol in enumerate(constraint)
        )
    return (
        all(code[i] == j for i, j in constraint["forced"])
        and all(code[i] != j for i, j in constraint["forbidden"])
        and all(code[i] < 0 for i in constraint["unpaired"])
    )


def constraint_met_by(structure, rng):
    """A random constraint that a structure satisfies."""
    code = partners(structure, "structure").tolist()
    pairs = [(i, j) for i, j in enumerate(code) if j > i]
    if rng.random() < 0.3:
        wrong = (0, len(code) - 1)
        return {"forced": pairs[:1], "forbidden": [wrong] if wrong not in pairs else [],
                "unpaired": [i for i, j in enumerate(code) if j < 0][:2]}  # fmt: skip
    symbols = [rng.choice(["x", ".", "."]) if j < 0 else rng.choice(["|", "<" if j > i else ">", "."])
               for i, j in enumerate(code)]  # fmt: skip
    if pairs and rng.random() < 0.5:
        i, j = pairs[rng.integers(len(pairs))]
        symbols[i], symbols[j] = "(", ")"
    return "".join(symbols)


@pytest.mark.parametrize("seed", range(12))
def test_constraints_against_enumeration(seed):
    """Argmax, ranking and pair probabilities are those of the structures that meet a constraint."""
    rng, folding = np.random.default_rng(seed), mm.Folding()
    x = "".join(rng.choice(list("ACGU"), int(rng.integers(9, 15)), p=[0.2, 0.3, 0.3, 0.2]))
    w = 0.5 * rng.normal(size=folding.terms.size)
    everything = list(folding.enumerate(x))
    constraint = constraint_met_by(max(rng.choice(everything, 5), key=lambda y: y.count("(")), rng)
    scores = {y: float(folding.joint_feature(x, y) @ w) for y in everything if meets(y, constraint)}
    ranked = folding.topk(w, (x, constraint), len(everything) + 1)
    assert {y for y, _ in ranked} == set(scores) and len(ranked) == len(scores)
    assert [score for _, score in ranked] == pytest.approx([scores[y] for y, _ in ranked])
    assert scores[folding.argmax(w, (x, constraint))] == pytest.approx(max(scores.values()))
    examples, only = folding.encode([(x, constraint), x]).take(np.array([0])), np.array([0])
    sums = examples.sums(examples.scores(w, only), only)
    found = examples.arranged_marginals(sums.marginals, 0)
    expected, total = np.zeros((len(x), len(x))), sum(np.exp(list(scores.values())))
    for y, score in scores.items():
        code = partners(y, "y")
        paired = np.flatnonzero(code >= 0)
        expected[paired, code[paired]] += np.exp(score) / total
    np.testing.assert_allclose(found, expected, atol=1e-9)
