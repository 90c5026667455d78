"""Latent structures that break the contract: each causes a clear error or a warning, and training ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.structure import StructureError
from maxmargin.training.cccp import InexactArgmaxWarning
from tests.helpers.latent_bags import Bag, bags


class Swapping(Bag):
    def complete(self, w, x, y):
        return -y, super().complete(w, x, y)


class SwappingLater(Bag):
    """Keeps y as long as there are no weights."""

    def complete(self, w, x, y):
        return (-y if w.any() else y), super().complete(w, x, y)


class ListBag(Bag):
    """y in a list."""

    def loss(self, y, output):
        return super().loss(y[0], (output[0][0], output[1]))

    def joint_feature(self, x, output):
        return super().joint_feature(x, (output[0][0], output[1]))

    def outputs(self):
        return [([y], h) for y, h in super().outputs()]


class Mutating(ListBag):
    def complete(self, w, x, y):
        h = super().complete(w, x, y)
        y[0] = -y[0]
        return h


class MutatingLater(ListBag):
    def complete(self, w, x, y):
        h = super().complete(w, x, y)
        if w.any():
            y[0] = -y[0]
        return h


class Costly(Bag):
    """The loss of a completion is not 0."""

    def loss(self, y, output):
        return super().loss(y, output) + 0.1 * (output[1] == 2)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Swapping(), r"^X\[2\]: complete raised ValueError: it changed y: expected -?1, found -?1"),
        (SwappingLater(), r"^X\[\d+\]: complete raised ValueError: it changed y: expected -?1, found -?1"),
        (Mutating(), r"^X\[2\]: complete raised ValueError: it changed y in place"),
        (MutatingLater(), r"^X\[\d+\]: complete raised ValueError: it changed y in place"),
        (
            Costly(),
            r"^X\[\d+\]: complete must return an output consistent with y, but the loss between y and the completion "
            r"is 0\.1, expected 0",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, mm.Structure) else "",
)
def test_a_completion_must_keep_y(structure, message):
    X, Y = bags(0)
    Y = [[y] for y in Y] if isinstance(structure, ListBag) else Y
    weights = np.r_[0.0, 0.0, np.ones(len(Y) - 2)]  # places are indices in the user's data
    with pytest.raises(StructureError, match=message):
        mm.StructuralSVM(structure, C=5.0).fit(X, Y, sample_weight=weights)


class WithoutComplete(mm.Structure):
    size = 1

    def joint_feature(self, x, y):
        return np.array([float(y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return int(w[0] > 0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((0, 1), key=lambda k: w[0] * k + scale * (k != y))


def test_structures_without_latent_variables_are_told_apart():
    """One estimator for both: outer steps only where `complete` shows that there are latent variables."""
    for structure, X, Y in ((WithoutComplete(), [0, 1], [0, 1]), (mm.Multiclass(), [[0.0], [1.0]], [0, 1])):
        assert mm.StructuralSVM(structure).fit(X, Y).certificate_.outer_steps == 0
    assert mm.StructuralSVM(Bag()).fit(*bags(0)).certificate_.outer_steps > 0
    with pytest.raises(TypeError, match=r"structure must be an object, not the class: pass Bag\(\)"):
        mm.StructuralSVM(Bag).fit(*bags(0))


def test_latent_variables_that_are_known():
    """With one outer step, the sites that are given are kept."""
    model = mm.StructuralSVM(mm.Motif(length=3, background_order=0), max_outer=1)
    model.fit(["ACGTA", "AAAAA"], [mm.outputs.MotifSite(1, 1), 0])
    assert model.predict(["AACGT"])[0] == mm.outputs.MotifSite(1, 2, "+")
    assert model.certificate_.outer_steps == 1


def test_alignments_of_decoys_are_latent_only_if_they_are_not_given():
    X = [("ACGT", "ACGA", ["TTTT", "GGGG"]), ("ACGG", "ACGG", ["TTAT", "GCGG"])]
    model = mm.StructuralSVM(mm.Decoys(alphabet="ACGT"), slack="quadratic")
    given = model.fit(X, [("ACGT", "ACGA"), ("ACGG", "ACGG")])
    assert given.certificate_.outer_steps == 0
    with pytest.raises(ValueError, match="StructuralSVM of Decoys, which has latent variables, needs slack='linear'"):
        model.fit(X, [None, None])


class Careless(Bag):
    """Forgets now and then to look at all completions."""

    def __init__(self):
        self.calls = 0

    def complete(self, w, x, y):
        self.calls += 1
        return super().complete(w, x, y) if self.calls % 5 else self.calls % 2


class CarelessArgmax(Bag):
    """Forgets now and then to look at all outputs."""

    def __init__(self):
        self.calls = 0

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.calls += 1
        best = super().loss_augmented_argmax(w, x, y, scale)
        return best if self.calls % 4 else (y, 0)


def test_an_inexact_completion_is_reported_once_and_training_ends():
    X, Y = bags(0)
    with pytest.warns(InexactArgmaxWarning, match=r"X\[\d+\]: complete found an output with a lower score") as caught:
        model = mm.StructuralSVM(Careless(), C=10.0, tol=1e-3).fit(X, Y)
    assert len([w for w in caught if w.category is InexactArgmaxWarning]) == 1
    assert len(model.history_) <= 100
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", ["auto", "nslack", "oneslack", "bundle"])
def test_an_inexact_argmax_ends_too(solver):
    X, Y = bags(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mm.StructuralSVM(CarelessArgmax(), C=10.0, tol=1e-3, solver=solver, max_iter=100).fit(X, Y)
    assert len([w for w in caught if w.category is InexactArgmaxWarning]) <= 1
    assert len(model.history_) <= 100
    assert np.isfinite(model.coef_).all()


def test_the_place_in_a_warning_is_the_users():
    X, Y = bags(0)

    class OneCareless(Bag):
        def complete(self, w, x, y):
            worst = x is X[8] and w.any()
            return (min if worst else max)(range(3), key=lambda h: w @ self.joint_feature(x, (y, h)))

    weights = np.r_[0.0, 0.0, np.ones(len(Y) - 2)]
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[8\]: complete"):
        mm.StructuralSVM(OneCareless(), C=10.0).fit(X, Y, sample_weight=weights)


def test_an_inexact_argmax_of_a_ramp_is_told_by_the_users_place():
    X, y = list(np.random.default_rng(0).normal(size=(12, 2))), [0, 1, 2] * 4

    class OneCareless(mm.Structure):
        def joint_feature(self, x, y):
            return np.kron(np.eye(3)[y], x)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return self.loss_augmented_argmax(w, x, 0, 0.0)

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            worst = x is X[7] and scale == 0.0 and w.any()
            return (min if worst else max)(
                range(3), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k)
            )

    weights = np.r_[0.0, 0.0, np.ones(10)]
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[7\]: argmax"):
        mm.StructuralSVM(OneCareless(), C=10.0, bound="ramp").fit(X, y, sample_weight=weights)
