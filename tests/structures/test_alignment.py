"""Alignments against all alignments of short sequences, with features, gaps and losses in plain Python."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.scores import Scores
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.alignment import Alignments


class TestAlignment(StructureConformance):
    n_checked = 3

    def instance(self, seed):
        return Alignments(seed)

    def risk(self, case, y, y_hat):
        """The number of missed and of false matches: the losses divide by the matches of y, or accept shifts."""
        return len(set(case.matches(y).items()) ^ set(case.matches(y_hat).items()))


@pytest.mark.parametrize("features", ["simple", "anova2", "tensor", "window", "profile"])
@pytest.mark.parametrize("sizes", [(40, 30), (7, 50), (1, 3)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_scores_of_cells_are_sums_over_templates(features, sizes, symmetric):
    """Rows that are gathered once or directly, joined or linked, of sequences that are longer than those above."""
    rng = np.random.default_rng(sum(sizes))

    def record(n):
        letters, kinds = ("".join(rng.choice(list(some), n)) for some in ("ACDEFGHIKLMNPQRSTVWYX", "HEC"))
        return {"sequence": letters, "ss": kinds, "a": rng.random(n), "profile": rng.normal(size=(n, 3))}

    first, second = (record(n) for n in sizes)
    gaps = "-" * sizes[0], "-" * sizes[1]
    structure = mm.Alignment(features=features, window=2, symmetric=symmetric)
    aligned = (first["sequence"] + gaps[1], gaps[0] + second["sequence"])
    examples = structure.fit_encode([(first, second)], [aligned])
    cells, w = examples.blocks[0], rng.normal(size=examples.dim)
    layout, (row, n, col, m) = cells.layout, (int(part[0]) for part in cells.pairs)
    keys, numbers = cells.keys.astype(np.int64), cells.numbers
    expected, each = np.zeros((n, m)), layout.spread(w)
    for t, offset in enumerate(layout.offsets):
        of_rows = keys[layout.row_fields[t], row : row + n] * layout.widths[t]
        expected += each[offset + of_rows[:, None] + keys[layout.col_fields[t], col : col + m]]
    for a, n_a, c, n_c, offset in layout.products:
        factors = each[offset : offset + n_a * n_c].reshape(n_a, n_c)
        expected += numbers[a : a + n_a, row : row + n].T @ factors @ numbers[c : c + n_c, col : col + m]
    found = cells.scores(w[: cells.dim], np.zeros(1, np.int64)).values.reshape(n, m)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("features", ["simple", "anova2", "tensor", "window", "profile"])
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_swapped_sequences_have_the_same_score(features, mode):
    rng = np.random.default_rng(0)

    def record(n):
        letters, kinds = ("".join(rng.choice(list(some), n)) for some in ("ACGT", "HEC"))
        return {"sequence": letters, "ss": kinds, "profile": rng.normal(size=(n, 2))}

    X = [(record(12), record(9)) for _ in range(5)]
    Y = [(a["sequence"] + "-" * 9, "-" * 12 + b["sequence"]) for a, b in X]
    best = []
    for symmetric in (True, False):
        structure = mm.Alignment(mode=mode, features=features, window=1, alphabet="ACGT", symmetric=symmetric)
        examples = structure.fit_encode(X, Y)
        w = rng.normal(size=examples.dim)
        w[-2:] = -1.0
        for pairs in (X, [pair[::-1] for pair in X]):
            answers = structure.encode(pairs).empty_answers()
            structure.encode(pairs).decode(w, np.arange(5), np.zeros(5), answers)
            best.append(answers.rises)
    np.testing.assert_allclose(best[0], best[1], atol=1e-9)
    assert np.abs(best[2] - best[3]).max() > 0.1
    tied = structure.set_params(symmetric=True).fit(X, Y)
    assert tied.size < examples.dim
    matrix = tied.substitution_weights(np.arange(float(tied.size)))
    np.testing.assert_array_equal(matrix, matrix.T)
    assert len(np.unique(matrix)) == 15  # of 5 letters, the unknown one included


def test_sequences_of_two_kinds_are_not_symmetric():
    known, unknown = {"sequence": "ACG", "ss": "HHE"}, {"sequence": "AG", "ss": None}
    aligned = ("ACG", "A-G")
    for x, y, symmetric in (
        ((known, unknown), aligned, False),
        ((known, known), ("ACG", "ACG"), True),
        (("ACG", "AG"), aligned, True),
    ):
        assert mm.Alignment(alphabet="ACGT").fit([x], [y]).positions_.symmetric is symmetric
        other = mm.Alignment(alphabet="ACGT", symmetric=not symmetric).fit([x], [y])
        assert other.positions_.symmetric is not symmetric


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_long_alignments_have_the_scores_of_their_parts(mode):
    """More rows than a word of trace bits has, any sign of the weights of gaps; no other alignment found is better."""
    rng = np.random.default_rng(0)
    X = [tuple("".join(rng.choice(list("AC"), n)) for n in rng.integers(20, 50, 2)) for _ in range(6)]
    structure = mm.Alignment(mode=mode, alphabet="AC").fit(X, [(a + "-" * len(b), "-" * len(a) + b) for a, b in X])
    examples = structure.encode(X)
    ids, answers = np.arange(len(X)), examples.empty_answers()
    all_weights = rng.normal(size=(6, examples.dim))
    found = []
    for w in all_weights:
        examples.decode(w, ids, np.zeros(len(X)), answers)
        outputs = examples.outputs(answers)
        scores = [w @ structure.joint_feature(x, y) for x, y in zip(X, outputs, strict=True)]
        np.testing.assert_allclose(answers.rises, scores, atol=1e-9)
        found.append((outputs, scores))
    for w, (_, scores) in zip(all_weights, found, strict=True):
        for others, _ in found:
            assert all(w @ structure.joint_feature(x, y) <= s + 1e-9 for x, y, s in zip(X, others, scores, strict=True))


# ---------------------------------------------------------------------- sums over alignments


def random_sums(mode, gaps, rng, sizes=((37, 52), (64, 30), (1, 9))):
    """Examples of random pairs with random scores of all parts, some of them forbidden."""
    X = [tuple("".join(rng.choice(list("ACGT"), n)) for n in size) for size in sizes]
    Y = [(a + "-" * len(b), "-" * len(a) + b) for a, b in X]
    examples = mm.Alignment(mode=mode, gaps=gaps, alphabet="ACGT").fit_encode(X, Y)
    ids = np.arange(len(X))
    scores = [
        Scores(rng.normal(-0.5 * (b > 0), 0.7, len(s.values)), s.starts)
        for b, s in enumerate(examples.scores(np.zeros(examples.dim), ids))
    ]
    for block in scores:
        block.values[rng.random(len(block.values)) < 0.1] = -np.inf
    return examples, ids, scores


def shifted(examples, ids, scores, by):
    """Scores with a number added to all parts of the first position of each pair, of which each output has one."""
    moved = [Scores(s.values.copy(), s.starts) for s in scores]
    for r, i in enumerate(ids.tolist()):
        m, n_outputs = int(examples.pairs.n_cols[i]), examples.blocks[1].n_outputs
        for block, size in zip(moved, (m, n_outputs, 1), strict=False):
            block.values[block.starts[r] : block.starts[r] + size] += by
    return moved


@pytest.mark.parametrize("gaps", ["linear", "affine"])
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_sums_in_numbers_and_in_logarithms_agree(mode, gaps):
    """A shift that changes no probability is too large for numbers, so that logarithms are used."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        examples, ids, scores = random_sums(mode, gaps, rng)
        sums, logs = (examples.sums(some, ids) for some in (scores, shifted(examples, ids, scores, 120.0)))
        np.testing.assert_allclose(sums.log_partitions + 120.0, logs.log_partitions, rtol=1e-11)
        np.testing.assert_allclose(sums.entropies, logs.entropies, rtol=1e-8, atol=1e-10)
        for found, expected, block in zip(sums.marginals, logs.marginals, scores, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-10)
            assert not found[block.values == -np.inf].any() and (found >= 0.0).all()


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_sums_of_long_pairs(mode):
    """Far from the diagonal, sums of long pairs are below the range of numbers; every position has one part."""
    rng = np.random.default_rng(1)
    examples, ids, scores = random_sums(mode, "affine", rng, ((400, 500), (3, 700)))
    finite = [np.where(s.values > -np.inf, s.values, 0.0) - 3.0 * (b > 0) for b, s in enumerate(scores)]
    scores = [Scores(values, s.starts) for values, s in zip(finite, scores, strict=True)]
    sums, logs = (examples.sums(some, ids) for some in (scores, shifted(examples, ids, scores, 120.0)))
    np.testing.assert_allclose(sums.log_partitions + 120.0, logs.log_partitions, rtol=1e-11)
    for found, expected in zip(sums.marginals, logs.marginals, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    one = examples.take(ids[:1])
    own = [values[: s.starts[1]] for values, s in zip(sums.marginals, scores, strict=True)]
    arranged = one.arranged_marginals(own, 0)
    others = arranged["gaps"].sum(axis=1) + arranged.get("ends", 0.0)
    assert arranged["matches"].shape == (400, 500)
    np.testing.assert_allclose(arranged["matches"].sum(axis=1) + others[:400], 1.0, atol=1e-9)
    np.testing.assert_allclose(arranged["matches"].sum(axis=0) + others[400:], 1.0, atol=1e-9)


def test_paths_that_only_pay_in_the_end():
    """A start that is very bad leads to the best matches: its sums would be lost without logarithms."""
    structure = mm.Alignment(alphabet="AB")
    examples = structure.fit_encode([("A" * 40, "A" * 40)], [("A" * 40, "A" * 40)])
    ids, cells = np.arange(1), np.zeros((40, 40))
    cells[:20, :] = -90.0
    cells[np.arange(20), np.arange(20, 40)] = 90.0
    cells[20:] = -np.inf
    gaps = np.full(160, -30.0)
    gaps[80:120] = -95.0  # columns 0 … 19 are expensive to leave out
    starts = [np.array([0, 1600]), np.array([0, 160])]
    scores = [Scores(values.ravel(), ends) for values, ends in zip((cells, gaps), starts, strict=True)]
    sums, logs = (examples.sums(some, ids) for some in (scores, shifted(examples, ids, scores, 120.0)))
    np.testing.assert_allclose(sums.log_partitions + 120.0, logs.log_partitions, rtol=1e-12)
    for found, expected in zip(sums.marginals, logs.marginals, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_decisions_of_least_risk_weigh_missed_matches():
    """A match is predicted if it is more probable than 1 / (1 + gamma), as far as such matches fit together."""
    rng = np.random.default_rng(2)
    examples, ids, scores = random_sums("global", "affine", rng, ((12, 15),))
    scores = [Scores(np.maximum(s.values, -5.0), s.starts) for s in scores]  # forbidden gaps would force matches
    marginals = examples.sums(scores, ids).marginals
    for gamma in (0.2, 1.0, 50.0):
        answers = examples.empty_answers()
        examples.decode_scores(examples.risk_scores(marginals, scores, ids, gamma), ids, np.zeros(1), answers)
        rows = np.flatnonzero(answers.codes[2:] >= 0)
        chosen = marginals[0].reshape(12, 15)[rows, answers.codes[2:][rows]]
        assert (chosen >= 1.0 / (1.0 + gamma) - 1e-12).all()
        if gamma <= 1.0:  # matches of more than half of the probability fit together
            assert len(rows) == (marginals[0] > 1.0 / (1.0 + gamma)).sum()
    assert len(rows) > 4


def test_pairs_without_alignments():
    examples, ids, scores = random_sums("local", "affine", np.random.default_rng(0), ((4, 3), (2, 2)))
    barred = [Scores(np.full_like(s.values, -np.inf), s.starts) for s in scores]
    sums = examples.sums(barred, ids)
    assert (sums.log_partitions == -np.inf).all() and not any(values.any() for values in sums.marginals)
    codes = examples.samples(barred, ids, 3, np.array([1, 2], np.uint64))
    assert (codes[:, [0, 6]] == -(2**31)).all()
