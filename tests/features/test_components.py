"""The components of a graph are graphs with the same objective."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm


def scattered(seed=0, n=30):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (18, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return (rng.normal(size=(n, 3)), edges, rng.normal(size=(len(edges), 2))), rng.integers(0, 3, n)


def test_training_on_components_is_the_same_problem():
    x, y = scattered()
    X, Y = mm.graph_components(x, y)
    assert len(X) > 5 and sum(len(part[0]) for part in X) == 30 and sum(len(part[1]) for part in X) == len(x[1])
    whole = mm.StructuralSVM(mm.Graph(), C=0.1, tol=1e-6, max_iter=5000).fit([x], [y])
    parts = mm.StructuralSVM(mm.Graph(), C=0.1, tol=1e-6).fit(X, Y)
    assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-5)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-2)


def test_all_forms_of_input():
    x, y = scattered(1)
    allowed = np.random.default_rng(2).random((30, 3)) < 0.9
    given = [{"a": float(row[0])} for row in x[0]], x[1], sp.csr_array(x[2]), allowed
    X, Y = mm.graph_components(given, list(y))
    assert [len(part[0]) for part in X] == [part[3].shape[0] for part in X] == [len(labels) for labels in Y]
    again = np.concatenate([part[2].toarray() for part in X])
    np.testing.assert_allclose(np.sort(again, axis=0), np.sort(x[2], axis=0))
    parts, none = mm.graph_components((x[0], []))
    assert len(parts) == 30 and none == []
    with pytest.raises(ValueError, match="x has 30 nodes but y has 29 labels"):
        mm.graph_components(x, y[:-1])
    with pytest.raises(ValueError, match="x must be"):
        mm.graph_components(x[0])
