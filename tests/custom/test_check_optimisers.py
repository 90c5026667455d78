"""What optimisers get wrong: the sense of the argmax, infeasible outputs; and weights of one's own to try."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.custom.check import check_structure
from maxmargin.exceptions import InexactArgmaxWarning, StructureError
from tests.helpers.sound_structures import LABELS, Complete, Sound, X, Y, only_problem, replaced, worst

HINT = "does your {} minimise? negate Ψ (joint_feature), or maximise"


def minimised(self, w, x, y, scale=1.0):
    return min(LABELS, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))


@pytest.mark.parametrize("base", [Sound, Complete])
def test_an_argmax_that_minimises(base):
    problem = check_structure(replaced(base, argmax=worst), X, Y).problems[0]
    assert "argmax returned" in problem
    assert HINT.format("argmax") in problem
    both = check_structure(replaced(base, argmax=worst, loss_augmented_argmax=minimised), X, Y)
    for name in ("argmax", "loss_augmented_argmax"):
        assert sum(HINT.format(name) in problem for problem in both.problems) == 1


def test_other_wrong_argmaxes_are_not_said_to_minimise():
    """The first label is sometimes the worst, and a loss that is subtracted does not make a minimum."""
    for methods in (
        {"argmax": lambda self, w, x: 0},
        {"loss_augmented_argmax": lambda self, w, x, y, scale=1.0: Sound.loss_augmented_argmax(self, w, x, y, -scale)},
    ):
        assert "minimise?" not in only_problem(replaced(**methods))


def even(self, x, y):
    return y % 2 == 0


def test_each_source_of_infeasible_outputs_is_reported():
    report = check_structure(replaced(Complete, feasible=even), X, Y)
    found = [problem for problem in report.problems if "feasible outputs only" in problem]
    assert any("for y itself, 1" in problem and problem.startswith("X[2]") for problem in found)
    for source in ("the output of argmax", "the output of loss_augmented_argmax", "one of enumerate"):
        assert any(f"feasible(x, y) is false for {source}, 1" in problem for problem in found)
    assert len(found) == len(report.problems)  # an infeasible output beats no other


def test_a_feasible_that_fails():
    assert "feasible raised ZeroDivisionError" in only_problem(replaced(feasible=lambda self, x, y: 1 / 0))
    assert "feasible cannot be called as solvers call it: expected feasible(x, y)" in only_problem(
        replaced(feasible=lambda self, y: True)
    )


def test_a_truth_that_is_not_feasible_ends_a_fit_before_it_begins():
    calls = []

    def argmax(self, w, x, y, scale=1.0):
        calls.append(x)
        return Sound.loss_augmented_argmax(self, w, x, y, scale)

    structure = replaced(feasible=even, loss_augmented_argmax=argmax)
    with pytest.raises(StructureError, match=r"^Y\[2\]: the true output 1 is not feasible: feasible\(x, y\)"):
        mm.StructuralSVM(structure).fit(X, Y)
    with pytest.raises(StructureError, match=r"^Y\[2\]: the true output 1 is not feasible"):
        mm.StructuralSVM(structure).fit(X, Y, sample_weight=[1.0, 0.0, 1.0])
    assert not calls
    everything = replaced(feasible=lambda self, x, y: y in LABELS)
    assert mm.check_structure(everything, X, Y).ok
    np.testing.assert_array_equal(
        mm.StructuralSVM(everything).fit(X, Y).coef_, mm.StructuralSVM(Sound()).fit(X, Y).coef_
    )


def test_an_infeasible_answer_contradicts_a_fit():
    def argmax(self, w, x):
        return 3

    def joint_feature(self, x, y):
        return Sound.joint_feature(self, x, min(y, 2))

    structure = replaced(feasible=lambda self, x, y: y in LABELS, argmax=argmax, joint_feature=joint_feature)
    with pytest.warns(InexactArgmaxWarning, match=r"feasible\(x, y\) is false for the output of argmax, 3;"):
        assert mm.StructuralSVM(structure).fit(X, Y).certificate_.contradicted


def beyond(self, w, x):
    """Wrong only for weights that random ones do not reach."""
    return worst(self, w, x) if np.abs(w).max() > 1e4 else Sound.argmax(self, w, x)


def test_given_weights_are_tried():
    structure, large = replaced(argmax=beyond), 1e5 * np.arange(1.0, 7.0)
    assert check_structure(structure, X, Y).ok
    for weights in (large, [large], np.array([large, -large]), [large.tolist()]):
        problem = only_problem(structure, weights=weights)
        assert "argmax returned" in problem
    assert "under 20 random weights and 2 given" in str(check_structure(structure, X, Y, weights=[large, -large]))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(5), "weights must have 6 numbers each, found 5"),
        ([[1.0], [1.0, 2.0]], "weights must be vectors of numbers of equal length"),
        ([np.full(6, np.nan)], "weights must be vectors of finite numbers"),
        (np.zeros((1, 2, 3)), "weights must be vectors of finite numbers"),
        ("abc", "weights must be vectors of numbers"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(ValueError, match=message):
        check_structure(Sound(), X, Y, weights=weights)
