"""Sums of long chains: rounding errors do not grow with the length, whatever the scores."""

import numpy as np
import pytest

import maxmargin as mm


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("temperature", [1.0, 0.01])
def test_marginals_of_many_tokens(size, temperature):
    X, Y = mm.datasets.make_chains(20, random_state=1)
    model = mm.SequenceTagger(temperature=temperature, max_iter=3, tol=0.9).fit(X, Y)
    rng = np.random.default_rng(0)
    model.coef_ = size * rng.normal(size=model.coef_.shape)
    x = rng.normal(size=(100_000, X[0].shape[1]))
    table = model.predict_marginals([x])[0]
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-9 * max(1.0, size / temperature / 1e4))
    middle = slice(50_000, 50_200)  # far from both ends, only neighbours matter
    np.testing.assert_allclose(table[middle], model.predict_marginals([x[49_000:51_000]])[0][1000:1200], atol=1e-6)
