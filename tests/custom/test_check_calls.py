"""How methods behave when they are called, and what the checker takes: state, arguments, signatures, errors, data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.custom.check import Report, check_structure
from maxmargin.exceptions import StructureError
from tests.helpers.sound_structures import LABELS, Complete, Sound, X, Y, only_problem, replaced, worst

# ---------------------------------------------------------------------- behaviour


def test_answers_that_change_from_call_to_call():
    counter = itertools.count()

    def argmax(self, w, x):  # among equals, now this and now that
        best = max(w @ self.joint_feature(x, k) for k in LABELS)
        equals = [k for k in LABELS if w @ self.joint_feature(x, k) == best]
        return equals[next(counter) % len(equals)]

    sentence = only_problem(replaced(argmax=argmax))
    assert sentence.startswith("X[0]: argmax returned another output when called again: expected 0, found 1")

    def augmented(self, w, x, y, scale=1.0):
        return argmax(self, w, x) if scale == 0 or not w.any() else Sound.loss_augmented_argmax(self, w, x, y, scale)

    report = check_structure(replaced(loss_augmented_argmax=augmented), X, Y)
    assert any(s.startswith("X[0]: loss_augmented_argmax returned another output when called") for s in report.problems)


def test_values_that_change_from_call_to_call():
    noise = itertools.count()
    report = check_structure(replaced(loss=lambda self, y, y_hat: abs(y - y_hat) * (1.0 + 1e-3 * next(noise))), X, Y)
    assert any("loss returned another value when called again for" in s for s in report.problems)
    report = check_structure(replaced(joint_feature=lambda self, x, y: np.ones(2) * next(noise)), X, Y)
    assert report.problems[0].startswith("X[0]: joint_feature returned another value when called again for y itself, 0")


@pytest.mark.parametrize("name", ["argmax", "loss_augmented_argmax", "topk", "bound_argmax"])
def test_weights_that_are_written_to(name):
    def before(self, w, *rest):
        w *= 2.0
        return getattr(Complete, name)(self, w, *rest)

    def after(self, w, *rest):
        answer = getattr(Complete, name)(self, w, *rest)
        w[0] += 1.0
        return answer

    wording = f"X[0]: {name} writes to w, expected w unchanged (solvers pass it read-only): "
    assert any(s.startswith(wording) for s in check_structure(replaced(Complete, **{name: before}), X, Y).problems)
    assert only_problem(replaced(Complete, **{name: after})).startswith(wording)


def test_weights_that_compiled_code_wants_to_write_to():
    def argmax(self, w, x):
        if not w.flags.writeable:
            raise TypeError("No matching definition for argument type(s) readonly array(float64, 1d, C)")
        return Sound.argmax(self, w, x)

    sentence = only_problem(replaced(argmax=argmax))
    assert sentence.startswith("X[0]: argmax needs a w that is writable (solvers pass it read-only): No matching")


def test_weights_that_are_written_to_behind_their_protection():
    def argmax(self, w, x):
        answer = Sound.argmax(self, w, x)
        w.base[0] += 1.0
        return answer

    assert only_problem(replaced(argmax=argmax)).startswith(
        "X[0]: argmax writes to w, expected w unchanged: work on a copy"
    )


def test_inputs_that_are_changed():
    def argmax(self, w, x):
        answer = Sound.argmax(self, w, x)
        x[0] += 1.0
        return answer

    report = check_structure(replaced(argmax=argmax), [list(x) for x in X], Y, n_trials=3)
    assert (
        "X[0]: argmax changed its argument x: expected [1.0, -2.0], found [2.0, -2.0] (27 such cases)"
        in report.problems
    )


def test_truths_that_are_changed():
    class Sets(mm.Structure):
        def joint_feature(self, x, y):
            return np.array([1.0 if 0 in y else 0.0, 1.0 if 1 in y else 0.0])

        def loss(self, y, y_hat):
            changed = len(y ^ y_hat)
            y.discard(7)
            return float(changed)

        def argmax(self, w, x):
            return {k for k in (0, 1) if w[k] > 0}

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return {k for k in (0, 1) if w[k] + (-scale if k in y else scale) > 0}

    assert check_structure(Sets(), ["x"], [{0}]).ok
    report = check_structure(Sets(), ["x"], [{0, 7}])
    assert "X[0]: loss changed its argument y: expected {0, 7}, found {0}" in report.problems


class Orders(mm.Structure):
    """x: a score for each of two places; y: the places in order, the better one first."""

    def joint_feature(self, x, y):
        return np.array([x[y[0]], 1.0])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return max(([0, 1], [1, 0]), key=lambda y: w @ [x[y[0]], 1.0])

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(([0, 1], [1, 0]), key=lambda k: w @ [x[k[0]], 1.0] + scale * (y != k))


def test_outputs_that_are_changed():
    def sorting_loss(self, y, y_hat):
        wrong = float(y != y_hat)
        y_hat.sort()
        return wrong

    def sorting_features(self, x, y):
        psi = np.array([x[y[0]], 1.0])
        y.sort()
        return psi

    assert check_structure(Orders(), X, [[0, 1]] * 3).ok
    for name, argument, method in (("loss", "y_hat", sorting_loss), ("joint_feature", "y", sorting_features)):
        report = check_structure(replaced(Orders, **{name: method}), X, [[0, 1]] * 3)
        wording = f"{name} changed its argument {argument}: expected [1, 0], found [0, 1]"
        assert any(wording in sentence for sentence in report.problems), str(report)


@pytest.mark.parametrize(
    ("name", "method", "wording"),
    [
        (
            "loss_augmented_argmax",
            lambda self, w, x, y: Sound.loss_augmented_argmax(self, w, x, y),
            "loss_augmented_argmax has no argument `scale`, which solvers pass: expected "
            "loss_augmented_argmax(w, x, y, scale), "
            "found loss_augmented_argmax(w, x, y)",
        ),
        (
            "argmax",
            lambda self, x: 0,
            "argmax cannot be called as solvers call it: expected argmax(w, x), found argmax(x)",
        ),
        (
            "loss",
            lambda self, y: 0.0,
            "loss cannot be called as solvers call it: expected loss(y, y_hat), found loss(y)",
        ),
        (
            "joint_feature",
            lambda self, x, y, *, z: np.ones(2),
            "joint_feature cannot be called as solvers call it: expected joint_feature(x, y), "
            "found joint_feature(x, y, *, z)",
        ),
    ],
)
def test_wrong_signatures(name, method, wording):
    assert only_problem(replaced(**{name: method})) == wording


def test_a_method_that_raises_is_named_with_its_example():
    def argmax(self, w, x):
        if x[0] < 0:
            raise RuntimeError("negative")
        return Sound.argmax(self, w, x)

    assert (
        only_problem(replaced(argmax=argmax), n_trials=5)
        == "X[2]: argmax raised RuntimeError: negative (15 such cases)"
    )


def test_enumerate_that_raises_and_one_that_never_ends():
    sentence = only_problem(replaced(enumerate=lambda self, x: 1 / 0))
    assert sentence == "X[0]: enumerate raised ZeroDivisionError: division by zero (3 such cases)"
    report = check_structure(replaced(enumerate=lambda self, x: itertools.cycle(LABELS)), X[:1], Y[:1], n_trials=2)
    assert report.ok
    assert report.notes == ["X[0]: only the first 2000 outputs of enumerate were compared"]


@pytest.mark.parametrize(
    ("names", "wording"),
    [
        (lambda self: ["a"] * 5, "feature_names must return one name for each of 6 weights, found 5"),
        (lambda self: [("a", 1)] * 6, "feature_names must return one name for each of 6 weights, found an array of "
         "shape (6, 2)"),
        (lambda self: 1 / 0, "feature_names raised ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_names_that_are_not_one_for_each_weight(names, wording):
    assert only_problem(replaced(feature_names=names)) == wording
    assert check_structure(replaced(feature_names=lambda self: list("abcdef")), X, Y).ok


def test_all_problems_are_told_at_once():
    def loss(self, y, y_hat):
        return 1.0

    report = check_structure(replaced(Complete, loss=loss, argmax=worst, topk=lambda self, w, x, k: 3), X, Y)
    text = str(report)
    for part in ("loss(y, y) must be 0", "argmax returned", "topk returned 3"):
        assert part in text
    assert text.startswith(
        f"Broken on 3 examples under 20 random weights: {len(report.problems)} problems\n  1. X[0]: "
    )
    with pytest.raises(StructureError) as error:
        report.raise_if_bad()
    assert str(error.value) == text


def test_what_is_no_structure():
    assert check_structure(Sound, X, Y).problems == [
        "expected an instance, found the class Sound: write Sound() with its parameters"
    ]
    assert check_structure(object(), X, Y).problems == [
        "object is not a valid structure: it has no joint_feature(), loss(), argmax(), loss_augmented_argmax()"
    ]


def test_a_structure_without_base_class():
    methods = {name: vars(Sound)[name] for name in ("joint_feature", "loss", "argmax", "loss_augmented_argmax")}
    report = check_structure(type("Plain", (), methods)(), X, Y)
    assert str(report) == "Plain on 3 examples under 20 random weights: no problems found"
    beaten = check_structure(type("Plain", (), {**methods, "argmax": worst})(), X, Y)
    assert beaten.problems == check_structure(replaced(argmax=worst), X, Y).problems


def test_data_that_a_compiled_structure_refuses():
    report = check_structure(mm.Chain(), [np.ones((2, 1))], [["a", "b", "c"]])
    assert report.problems == ["fit raised ExampleError: X[0]: 2 rows of features but 3 labels"]


def test_bad_arguments():
    with pytest.raises(ValueError, match="X has 3 examples but Y has 2"):
        check_structure(Sound(), X, Y[:2])
    with pytest.raises(ValueError, match="X is empty: there are no examples"):
        check_structure(Sound(), [], [])
    with pytest.raises(ValueError, match="Y: expected a sequence of examples, found NoneType"):
        check_structure(Sound(), X, None)
    with pytest.raises(ValueError, match="n_trials must be an integer ≥ 1, found 0"):
        check_structure(Sound(), X, Y, n_trials=0)


@pytest.mark.parametrize("structure", [Sound(), mm.Multiclass()])
def test_examples_that_are_generated(structure):
    report = check_structure(structure, iter(X), iter(Y))
    assert report.ok, str(report)
    assert str(report) == str(check_structure(structure, X, Y))


def test_rows_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    report = check_structure(Sound(), pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(Y))
    assert str(report) == "Sound on 3 examples under 20 random weights: no problems found"


def test_the_seed_makes_the_weights():
    first, second = (str(check_structure(replaced(argmax=worst), X, Y, random_state=7)) for _ in range(2))
    assert first == second
    assert first != str(check_structure(replaced(argmax=worst), X, Y, random_state=8))


def test_report_of_one_problem():
    assert (
        str(Report(["it is wrong"], ["by the way"], "Thing"))
        == "Thing: 1 problem\n  1. it is wrong\n  note: by the way"
    )
    assert Report().ok
