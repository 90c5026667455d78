"""Alignments against all alignments of short sequences, with features, gaps and losses in plain Python."""

import numpy as np
import pytest
from alignment_instances import Alignments
from conformance import StructureConformance

import maxmargin as mm


class TestAlignment(StructureConformance):
    n_checked = 3

    def instance(self, seed):
        return Alignments(seed)


@pytest.mark.parametrize("features", ["simple", "anova2", "tensor", "window", "profile"])
@pytest.mark.parametrize("sizes", [(40, 30), (7, 50), (1, 3)])
def test_scores_of_cells_are_sums_over_templates(features, sizes):
    """Rows that are gathered once or directly, joined or linked, of sequences that are longer than those above."""
    rng = np.random.default_rng(sum(sizes))

    def record(n):
        letters, kinds = ("".join(rng.choice(list(some), n)) for some in ("ACDEFGHIKLMNPQRSTVWYX", "HEC"))
        return {"sequence": letters, "ss": kinds, "a": rng.random(n), "profile": rng.normal(size=(n, 3))}

    first, second = (record(n) for n in sizes)
    gaps = "-" * sizes[0], "-" * sizes[1]
    structure = mm.Alignment(features=features, window=2)
    aligned = (first["sequence"] + gaps[1], gaps[0] + second["sequence"])
    examples = structure.fit_encode([(first, second)], [aligned])
    cells, w = examples.blocks[0], rng.normal(size=examples.dim)
    layout, (row, n, col, m) = cells.layout, (int(part[0]) for part in cells.pairs)
    keys, numbers = cells.keys.astype(np.int64), cells.numbers
    expected = np.zeros((n, m))
    for t, offset in enumerate(layout.offsets):
        of_rows = keys[layout.row_fields[t], row : row + n] * layout.widths[t]
        expected += w[offset + of_rows[:, None] + keys[layout.col_fields[t], col : col + m]]
    for a, n_a, c, n_c, offset in layout.products:
        factors = w[offset : offset + n_a * n_c].reshape(n_a, n_c)
        expected += numbers[a : a + n_a, row : row + n].T @ factors @ numbers[c : c + n_c, col : col + m]
    found = cells.scores(w[: cells.dim], np.zeros(1, np.int64)).values.reshape(n, m)
    np.testing.assert_allclose(found, expected, atol=1e-12)


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
