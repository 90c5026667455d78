"""Explained decisions and named weights, of structures of one's own."""

import numpy as np
import pytest

import maxmargin as mm

LABELS = (0, 1, 2)


class Labels(mm.Structure):
    """Multiclass over vectors of two numbers, with all that `explain` asks for."""

    size = 6

    def joint_feature(self, x, y):
        psi = np.zeros(6)
        psi[2 * y : 2 * y + 2] = x
        return psi

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return max(LABELS, key=lambda y: w[2 * y : 2 * y + 2] @ x)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(LABELS, key=lambda k: w[2 * k : 2 * k + 2] @ x + scale * (k != y))

    def enumerate(self, x):
        return LABELS


class MisNamed(Labels):
    """A name too few."""

    def feature_names(self):
        return list("abcde")


X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.where(X[:, 0] > 0, 0, np.where(X[:, 1] > 0, 1, 2)).tolist()


def test_names_that_are_not_one_for_each_weight():
    model = mm.StructuralSVM(MisNamed()).fit(X, Y)
    for look in (lambda: model.explain(X[0]), model.weights_frame):
        with pytest.raises(mm.StructureError, match="feature_names must give one name for each of 6 weights, found 5"):
            look()


def test_contributions_and_the_rest_are_the_margin():
    model = mm.StructuralSVM(Labels()).fit(X, Y)
    whole = model.explain(X[0])
    assert len(whole.contributions) == 4 and whole.rest == 0.0
    assert sum(amount for _, amount in whole.contributions) == pytest.approx(whole.margin)
    assert "all others" not in str(whole)
    for n in range(4):
        part = model.explain(X[0], n_features=n)
        assert part.contributions == whole.contributions[:n]
        assert abs(part.rest) > 1e-3
        assert sum(amount for _, amount in part.contributions) + part.rest == pytest.approx(part.margin)
        assert str(part).splitlines()[-1] == f"  {part.rest:+.4g}  all others"


@pytest.mark.parametrize("n_features", [-1, 2.0, "all"])
def test_a_number_of_features_that_is_none(n_features):
    model = mm.StructuralSVM(Labels()).fit(X, Y)
    with pytest.raises(ValueError, match=f"n_features must be a whole number ≥ 0, found {n_features!r}"):
        model.explain(X[0], n_features=n_features)
