"""Approximate argmaxes that prove a bound."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import InexactArgmaxWarning, StructureError


class Rounded(mm.Structure):
    """Five classes; the argmax sees scores in steps of `grain`, so that it may be wrong by one step."""

    exact = False

    def __init__(self, grain=0.3, bounds=True):
        self.grain, self.bounds = grain, bounds

    def joint_feature(self, x, y):
        return np.outer(np.eye(5)[y], x).ravel()

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return self._found(w.reshape(5, -1) @ x)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self._found(w.reshape(5, -1) @ x + scale * (np.arange(5) != y))

    def _found(self, scores):
        output = int(np.floor(scores / self.grain).argmax())
        return mm.Bounded(output, scores[output] + self.grain) if self.bounds else output


RNG = np.random.default_rng(0)
X = list(RNG.normal(size=(40, 3)))
Y = [int(k) for k in (np.array(X) @ RNG.normal(size=(3, 5))).argmax(axis=1)]


def objective(w, C):
    total = 0.5 * float(w @ w)
    for x, y in zip(X, Y, strict=True):
        scores = w.reshape(5, -1) @ x
        total += C * max(0.0, float((scores + (np.arange(5) != y)).max() - scores[y]))
    return total


@pytest.mark.parametrize("solver", ["auto", "bundle", "nslack"])
def test_the_objective_lies_within_the_bounds(solver):
    model = mm.StructuralSVM(Rounded(), C=2.0, solver=solver, tol=0.05, max_iter=60).fit(X, Y)
    certificate, true = model.certificate_, objective(model.coef_, 2.0)
    assert not certificate.exact
    assert certificate.dual <= true <= certificate.primal_bound
    assert certificate.primal_bound <= true + 2.0 * 40 * 0.3
    assert model.predict(X) == [Rounded(bounds=False).argmax(model.coef_, x) for x in X]


class Loose(Rounded):
    """Nothing but a bound is wrong: it is far above the scores."""

    def _found(self, scores):
        return mm.Bounded(int(scores.argmax()), float(scores.max()) + 3.0)


def test_bounds_far_above_the_objective_are_a_warning_with_both_numbers():
    with pytest.warns(InexactArgmaxWarning) as caught:
        model = mm.StructuralSVM(Loose(), C=2.0, tol=0.05, max_iter=60).fit(X, Y)
    found = model.certificate_
    assert len(caught) == 1
    assert f"the objective found is {found.primal:.6g}, the true one may be up to {found.primal_bound:.6g}" in str(
        caught[0].message
    )
    assert model.stop_reason_ == "estimated" and not found.proven


def test_without_bounds_nothing_is_proven():
    model = mm.StructuralSVM(Rounded(bounds=False), C=2.0, tol=0.05, max_iter=60).fit(X, Y)
    assert model.certificate_.primal_bound == np.inf


def test_one_answer_without_a_bound_proves_nothing():
    class Forgetful(Rounded):
        def _found(self, scores):
            found = super()._found(scores)
            return found.output if found.output == 3 else found

    model = mm.StructuralSVM(Forgetful(), C=2.0, tol=0.05, max_iter=30).fit(X, Y)
    assert model.certificate_.primal_bound == np.inf


def test_bounds_must_be_numbers():
    class Wrong(Rounded):
        def _found(self, scores):
            return mm.Bounded(0, "high")

    with pytest.raises(StructureError, match=r"loss_augmented_argmax raised ValueError: upper must be"):
        mm.StructuralSVM(Wrong()).fit(X, Y)


def test_check_structure_takes_bounds_and_finds_those_that_are_beaten():
    assert mm.check_structure(Rounded(), X[:5], Y[:5]).ok

    class Boastful(Rounded):
        def _found(self, scores):
            found = super()._found(scores)
            return mm.Bounded(found.output, found.upper - 5.0)

    report = mm.check_structure(Boastful(), X[:5], Y[:5])
    assert not report.ok
    assert "upper bound" in str(report)


def test_a_bound_below_its_own_output_is_refused():
    class Low(Rounded):
        def _found(self, scores):
            return mm.Bounded(int(scores.argmax()), scores.max() - 1.0)

    with pytest.raises(StructureError, match="returned an upper bound that is below the value of its own output by 1"):
        mm.StructuralSVM(Low()).fit(X, Y)


def test_an_infinite_bound_proves_nothing():
    class Honest(Rounded):
        def _found(self, scores):
            return mm.Bounded(int(scores.argmax()), np.inf)

    model = mm.StructuralSVM(Honest(), C=2.0, tol=0.05).fit(X, Y)
    assert model.certificate_.primal_bound == np.inf and not model.certificate_.exact
