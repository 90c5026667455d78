"""Bounds of rounding errors against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from maxmargin.structures.chain.structure import Chain
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.tree.structure import Tree


def rows(rng):
    X = rng.normal(size=(20, 30)) * 10.0 ** rng.integers(-8, 8, 30)
    return Multiclass(), X, rng.permutation(np.arange(20) % 3)


def chains(rng):
    X = [rng.normal(size=(int(rng.integers(1, 12)), 5)) * 1e6 for _ in range(20)]
    return Chain(classes=range(3)), X, [rng.integers(0, 3, len(x)) for x in X]


def trees(rng):
    X = [rng.normal(size=(n, n, 4)) * 1e5 for n in (3, 5, 8, 12) * 5]
    return Tree(), X, [[0] * (len(x) - 1) for x in X]


@pytest.mark.parametrize("make", [rows, chains, trees])
def test_rises_differ_from_exact_ones_by_less_than_the_bound(make):
    rng, errors = np.random.default_rng(0), []
    structure, X, Y = make(rng)
    examples = structure.fit_encode(X, Y)
    units = examples.rounding_units()
    everyone, answers = np.arange(examples.n_examples), examples.empty_answers()
    for scale in (0.0, 1.0, 1e6):
        w = rng.normal(size=examples.dim) * 10.0 ** rng.integers(-6, 6, examples.dim)
        examples.decode(w, everyone, np.full(len(everyone), scale), answers)
        planes = examples.planes(everyone, answers)
        for i in everyone:
            span = slice(planes.indptr[i], planes.indptr[i + 1])
            terms = zip(planes.indices[span].tolist(), planes.values[span].astype(float).tolist(), strict=True)
            exact = -sum(Fraction(a) * Fraction(w[j]) for j, a in terms)
            errors.append(abs(float(Fraction(answers.rises[i]) - exact)) / (units[i] * np.linalg.norm(w)))
    assert 0.0 < max(errors) <= 1.0
