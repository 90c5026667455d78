"""What methods answer: the checker says what is wrong and names the example; sound structures pass."""

from __future__ import annotations

import enum

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.custom.check import check_structure
from maxmargin.exceptions import StructureError
from tests.helpers.reused_features import ReusedFeatures
from tests.helpers.sound_structures import LABELS, Complete, Sound, X, Y, only_problem, replaced, worst

# ---------------------------------------------------------------------- sound structures


def as_pair(self, x, y):
    return np.array([2 * y, 2 * y + 1]), np.asarray(x)


FORMS = {
    "dense": Sound.joint_feature,
    "list": lambda self, x, y: Sound.joint_feature(self, x, y).tolist(),
    "integers": lambda self, x, y: (2 * Sound.joint_feature(self, x, y)).astype(int),
    "csr": lambda self, x, y: sp.csr_array(Sound.joint_feature(self, x, y)[None]),
    "csr_matrix": lambda self, x, y: sp.csr_matrix(Sound.joint_feature(self, x, y)),
    "coo": lambda self, x, y: sp.coo_array(Sound.joint_feature(self, x, y)),
    "pair": as_pair,
    "dict": lambda self, x, y: {2 * y: x[0], 2 * y + 1: x[1]},
}


@pytest.mark.parametrize("form", FORMS)
def test_sound_structures_pass_whatever_the_form_of_their_features(form):
    factor = 2 if form == "integers" else 1

    def argmax(self, w, x):
        return Sound.argmax(self, factor * w, x)

    def augmented(self, w, x, y, scale=1.0):
        return Sound.loss_augmented_argmax(self, factor * w, x, y, scale)

    structure = replaced(joint_feature=FORMS[form], argmax=argmax, loss_augmented_argmax=augmented, size=6)
    report = check_structure(structure, X, Y)
    assert report.ok and report.problems == [] and report.notes == [], str(report)
    report.raise_if_bad()
    assert str(report) == "Broken on 3 examples under 20 random weights: no problems found"


class Reusing(ReusedFeatures, Complete):
    size = 6

    def score(self, w, x, y):
        return w @ Sound.joint_feature(self, x, y)


@pytest.mark.parametrize("form", ["dense", "pair", "dict"])
def test_joint_features_that_are_one_object_filled_anew(form):
    report = check_structure(Reusing(form), X, Y)
    assert report.ok and not report.notes, str(report)
    beaten = type("Beaten", (Reusing,), {"argmax": worst})
    assert (
        check_structure(beaten(form), X, Y).problems == check_structure(replaced(Complete, argmax=worst), X, Y).problems
    )


def test_outputs_that_are_one_object_filled_anew():
    class Pairs(mm.Structure):
        work = np.zeros(2)

        def joint_feature(self, x, y):
            return x * y

        def loss(self, y, y_hat):
            return float(np.abs(y - y_hat).sum())

        def argmax(self, w, x):
            return self.loss_augmented_argmax(w, x, self.work, 0.0)

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            self.work[:] = [
                max((0, 1), key=lambda k: a * k + scale * abs(k - b)) for a, b in zip(w * x, y, strict=True)
            ]
            return self.work

        def enumerate(self, x):
            for self.work[0] in (0, 1):
                for self.work[1] in (0, 1):
                    yield self.work

    report = check_structure(Pairs(), np.array(X), np.array([[0.0, 1.0]] * 3))
    assert report.ok, str(report)
    never = dict.fromkeys(("argmax", "loss_augmented_argmax"), lambda self, w, x, *_: np.zeros(2))
    report = check_structure(type("Never", (Pairs,), never)(), np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    assert "is beaten by array([1., 0.]), one of enumerate: " in str(report)


@pytest.mark.parametrize("structure", [Sound(), Complete()])
def test_sound_structures_pass(structure):
    report = check_structure(structure, X, Y, n_trials=50, random_state=3)
    assert report.ok and not report.notes, str(report)


@pytest.mark.parametrize(
    "cost", ["hamming", "hamming-share", "zero-one", {"a": 2.0}, [[0, 1, 2], [3, 0, 0.5], [1, 1, 0]]]
)
@pytest.mark.parametrize("constraints", [None, [("a", "b"), ("c", "c")]])
def test_chains_pass(cost, constraints):
    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(t, 2)) for t in (0, 1, 3)]
    chain = mm.Chain(cost=cost, constraints=constraints, classes=["a", "b", "c"])
    report = check_structure(chain, sequences, [[], ["c"], ["b", "a", "c"]], n_trials=6)
    assert report.ok and not report.notes, str(report)
    assert not hasattr(chain, "labels_")  # a clone was fitted


@pytest.mark.parametrize(
    "rows", [X, np.array(X), sp.csr_array(X), [sp.csr_array([x]) for x in X]], ids=lambda r: type(r).__name__
)
def test_multiclass_passes(rows):
    report = check_structure(mm.Multiclass(cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]), rows, ["a", "c", "b"], n_trials=6)
    assert report.ok and not report.notes, str(report)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_inputs_and_outputs_of_any_kind():
    """Objects without equality, with caches, generators of outputs, enumerations."""

    class Thing:
        def __init__(self, values):
            self.values = np.array(values)

        @property
        def norm(self):
            self.cached = float(self.values @ self.values)  # new attributes are no change
            return self.cached

    class Coloured(mm.Structure):
        def joint_feature(self, x, y):
            return np.array([x.norm * (y is Colour.RED), x.values[0] * (y is Colour.BLUE)])

        def loss(self, y, y_hat):
            return np.float32(y is not y_hat)

        def argmax(self, w, x):
            return max(Colour, key=lambda k: w @ self.joint_feature(x, k))

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max(Colour, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

        def enumerate(self, x):
            yield from Colour

    report = check_structure(Coloured(), [Thing([1.0, 2.0]), Thing([-1.0])], [Colour.RED, Colour.BLUE])
    assert report.ok, str(report)


# ---------------------------------------------------------------------- the loss


def test_loss_of_the_truth_is_not_zero():
    sentence = only_problem(replaced(loss=lambda self, y, y_hat: 1.0 + abs(y - y_hat)))
    assert sentence == "X[0]: loss(y, y) must be 0, found 1 (3 such cases)"


@pytest.mark.parametrize(("value", "wording"), [(-1.0, "-1"), (np.nan, "nan"), (np.inf, "inf")])
def test_loss_that_is_negative_or_not_finite(value, wording):
    sentence = only_problem(replaced(loss=lambda self, y, y_hat: value if y != y_hat else 0.0))
    assert sentence.startswith(f"X[0]: loss must be finite and not negative, found {wording} for the output of")


@pytest.mark.parametrize("value", [None, "1.0", [1.0], 1j])
def test_loss_that_is_no_number(value):
    sentence = only_problem(replaced(loss=lambda self, y, y_hat: value))
    assert sentence == f"X[0]: loss returned {value!r}, expected a number, for y itself, 0 (3 such cases)"


def test_loss_that_raises():
    def loss(self, y, y_hat):
        return {0: 0.0, 2: 2.0}[abs(y - y_hat)]

    sentence = only_problem(replaced(loss=loss))
    assert sentence.startswith("X[0]: loss raised KeyError: 1 for the output of ")


# ---------------------------------------------------------------------- the joint features


@pytest.mark.parametrize(
    ("psi", "wording"),
    [
        (lambda self, x, y: None, "X[0]: joint_feature returned None, expected a vector ("),
        (lambda self, x, y: "abc", "X[0]: joint_feature returned 'abc', expected a vector ("),
        (lambda self, x, y: 3.0, "X[0]: joint_feature returned 3.0, expected a vector ("),
        (lambda self, x, y: np.ones((2, 3)), "an array of shape (2, 3)"),
        (lambda self, x, y: sp.csr_array(np.ones((2, 3))), "a sparse matrix of shape (2, 3)"),
        (
            lambda self, x, y: np.ones(3 + y),
            "X[1]: joint_feature has 5 entries, expected 3 as X[0] has, for y itself, 2",
        ),
        (lambda self, x, y: np.full(6, np.nan), "X[0]: joint_feature has the value nan, expected finite numbers"),
        (lambda self, x, y: np.full(6, -np.inf), "X[0]: joint_feature has the value -inf, expected finite numbers"),
        (
            lambda self, x, y: np.full(6, 1e200),
            "X[0]: joint_feature has the value 1e+200, expected numbers within ±1e+150",
        ),
        (lambda self, x, y: {y: 1.0}, "X[0]: joint_feature returned a dict, expected the attribute `size` to be"),
        (as_pair, "X[0]: joint_feature returned a tuple, expected the attribute `size` to be"),
        (lambda self, x, y: ([0, 1], [1.0]), "has indices of shape (2,), values of shape (1,), expected equal shapes"),
        (lambda self, x, y: ([0.5], [1.0]), "X[0]: joint_feature has indices of type float64, expected integers"),
        (lambda self, x, y: {"a": 1.0}, "X[0]: joint_feature returned {'a': 1.0}, expected a vector ("),
    ],
)
def test_joint_features_of_the_wrong_form(psi, wording):
    def constant(self, w, x, *_):
        return 0

    report = check_structure(replaced(joint_feature=psi, argmax=constant, loss_augmented_argmax=constant), X, Y)
    assert any(wording in sentence for sentence in report.problems), str(report)
    assert all("joint_feature" in sentence for sentence in report.problems if "beaten" not in sentence)


@pytest.mark.parametrize("form", ["dense", "csr", "csr_matrix", "coo", "pair"])
def test_complex_joint_features(form):
    def psi(self, x, y):
        return FORMS[form](self, np.asarray(x) + 0j, y) if form == "pair" else FORMS[form](self, x, y) * (1 + 0j)

    structure = replaced(joint_feature=psi, size=6)
    sentence = only_problem(structure)
    assert sentence.startswith("X[0]: joint_feature returned ")
    assert "expected real numbers, found complex ones, for y itself, 0" in sentence
    with pytest.raises(StructureError, match=r"X\[0\]: joint_feature "):
        mm.StructuralSVM(structure).fit(X, Y)


def test_a_work_array_that_is_not_cleared():
    work = np.zeros(6)

    def psi(self, x, y):
        work[2 * y : 2 * y + 2] += x
        return work

    report = mm.check_structure(replaced(joint_feature=psi), X, Y)
    assert any("joint_feature returned another value when called again" in sentence for sentence in report.problems)


@pytest.mark.parametrize("index", [6, -1])
def test_an_index_out_of_range(index):
    def psi(self, x, y):
        return {(index if y == 1 else 2 * y): x[0]}

    report = check_structure(replaced(Complete, joint_feature=psi, size=6, argmax=lambda *_: 0), X, Y)
    assert f"X[0]: joint_feature has index {index}, expected 0 to 5, for one of enumerate, 1" in str(report)


def test_a_vector_shorter_than_size():
    report = check_structure(replaced(Complete, size=7), X, Y)
    assert report.problems[0].startswith("X[0]: joint_feature has 6 entries, expected 7 as the attribute `size` says")


@pytest.mark.parametrize("size", ["3", -3, 0, 6.0, True])
@pytest.mark.parametrize("form", ["dense", "pair"])
def test_a_size_that_is_no_number_of_weights(size, form):
    sentence = only_problem(replaced(size=size, joint_feature=FORMS[form]))
    assert sentence == f"the attribute `size` must be an integer ≥ 1, found {size!r}"


def test_more_weights_than_memory():
    sentence = only_problem(replaced(size=10**12, joint_feature=as_pair), n_trials=10)
    assert sentence.startswith("checking 1000000000000 weights in 10 trials needs about 3.2e+05 GB of memory, ")
    assert sentence.endswith(" GB are free; use fewer weights or a lower n_trials")


def test_joint_feature_that_raises_for_an_output_of_argmax():
    sentence = only_problem(replaced(argmax=lambda self, w, x: "nonsense"))
    assert sentence.startswith("X[0]: joint_feature raised TypeError: ")
    assert "for the output of argmax, 'nonsense'" in sentence


# ---------------------------------------------------------------------- the argmaxes


def test_argmax_beaten():
    sentence = only_problem(replaced(argmax=worst))
    assert sentence.startswith("X[0]: argmax returned ")
    assert "is beaten by" in sentence and "expected the greatest w·Ψ, found" in sentence


def test_argmax_beaten_by_the_truth_only():
    # Two labels, and an argmax that never gives the truth: nothing else is known that could beat it.
    structure = replaced(argmax=lambda self, w, x: 1, loss_augmented_argmax=lambda self, w, x, y, scale=1.0: 1)
    report = check_structure(structure, X[:1], [0])
    assert any(s.startswith("X[0]: argmax returned 1, which is beaten by 0, y itself: ") for s in report.problems)


def test_argmax_beaten_by_enumeration_only():
    def best_but_one(self, w, x):
        return max(LABELS[:2], key=lambda k: w @ self.joint_feature(x, k))

    def augmented(self, w, x, y, scale=1.0):
        return max(LABELS[:2], key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    hidden = replaced(argmax=best_but_one, loss_augmented_argmax=augmented)
    assert check_structure(hidden, X[:1], [0]).ok  # no known output tells
    seen = replaced(argmax=best_but_one, loss_augmented_argmax=augmented, enumerate=lambda self, x: LABELS)
    problems = check_structure(seen, X[:1], [0]).problems
    assert [s.partition(" returned ")[0] for s in problems] == ["X[0]: loss_augmented_argmax", "X[0]: argmax"]
    assert all("is beaten by 2, one of enumerate: expected the greatest" in s for s in problems)


def augmented_with(change):
    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(LABELS, key=lambda k: w @ self.joint_feature(x, k) + change(scale) * self.loss(y, k))

    return replaced(loss_augmented_argmax=loss_augmented_argmax)


@pytest.mark.parametrize(
    "change",
    [lambda scale: 0.0, lambda scale: 1.0, lambda scale: -scale, lambda scale: scale**0.5, lambda scale: scale + 0.3],
    ids=["forgets the loss", "forgets the scale", "wrong sign", "wrong power", "loss even at scale 0"],
)
def test_loss_augmented_argmax_beaten(change):
    sentence = only_problem(augmented_with(change), n_trials=60)
    assert "loss_augmented_argmax returned" in sentence
    assert "expected the greatest w·Ψ + scale·Δ at scale=" in sentence


def test_loss_augmented_argmax_that_does_not_agree_with_argmax_at_scale_0():
    def augmented(self, w, x, y, scale=1.0):
        return y if scale == 0 else Sound.loss_augmented_argmax(self, w, x, y, scale)

    sentence = only_problem(replaced(loss_augmented_argmax=augmented))
    assert ", the output of argmax: expected the greatest w·Ψ + scale·Δ at scale=0, found" in sentence


def test_loss_augmented_argmax_beaten_by_the_truth():
    def augmented(self, w, x, y, scale=1.0):
        return max((k for k in LABELS if k != y), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    sentence = only_problem(replaced(loss_augmented_argmax=augmented))
    assert "X[0]: loss_augmented_argmax returned" in sentence and "is beaten by 0, y itself" in sentence


@pytest.mark.parametrize("form", range(4))
def test_bound_argmax_beaten(form):
    def bound_argmax(self, w, x, y, bound):
        if bound.form != form:
            return Complete.bound_argmax(self, w, x, y, bound)
        return self.argmax(w, x)

    sentence = only_problem(replaced(Complete, bound_argmax=bound_argmax), n_trials=40)
    names = ["margin re-scaling with linear", "margin re-scaling with quadratic", "slack re-scaling with linear"]
    assert "bound_argmax returned" in sentence
    assert f"violation in {[*names, 'slack re-scaling with quadratic'][form]} slack, found" in sentence


def test_approximate_argmaxes_that_are_beaten_are_notes():
    report = check_structure(replaced(argmax=worst, exact=False), X, Y)
    assert report.ok
    assert len(report.notes) == 1 and "argmax returned" in report.notes[0]
    assert "note: X[0]: argmax returned" in str(report)


# ---------------------------------------------------------------------- scores


def test_a_score_that_is_not_linear_in_the_weights():
    def argmax(self, w, x):  # |w|² counts for something: not w·Ψ
        return max(LABELS, key=lambda k: w @ self.joint_feature(x, k) + (w @ w) * k)

    report = check_structure(replaced(argmax=argmax), X, Y)
    assert any(
        "argmax returned an output of another score for 2w than for w: expected the score" in s for s in report.problems
    )
    assert any("does it not maximise w·Ψ?" in s for s in report.problems)


def test_scores_of_topk_and_score():
    def topk(self, w, x, k):
        return [(y, score + 1.0) for y, score in Complete.topk(self, w, x, k)]

    sentence = only_problem(replaced(Complete, topk=topk))
    assert sentence.startswith("X[0]: topk returned the score ") and " for 0, expected w·Ψ = 0 (" in sentence
    sentence = only_problem(replaced(score=lambda self, w, x, y: w @ w + w @ self.joint_feature(x, y)))
    assert sentence.startswith("X[0]: score returned the score ") and " for 0, expected w·Ψ = " in sentence


def test_topk_in_the_wrong_order_or_form():
    def backwards(self, w, x, k):
        return Complete.topk(self, w, x, k)[::-1]

    problems = check_structure(replaced(Complete, topk=backwards), X, Y).problems
    assert any("topk returned the scores [" in s and "expected at most 5, best first" in s for s in problems)
    assert any("topk returned" in s and "is beaten by" in s for s in problems)
    sentence = only_problem(replaced(Complete, topk=lambda self, w, x, k: [0, 1]))
    assert sentence.startswith("X[0]: topk returned [0, 1], expected pairs (output, score)")
