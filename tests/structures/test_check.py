"""Structures broken in one way each: the checker must say so and name the example; sound ones must pass."""

from __future__ import annotations

import enum
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from reused import ReusedFeatures

import maxmargin as mm
from maxmargin.structures.check import Report, check_structure

LABELS = (0, 1, 2)
X = [[1.0, -2.0], [0.5, 3.0], [-1.0, 1.0]]
Y = [0, 2, 1]


class Sound(mm.Structure):
    """Multiclass over lists, with a loss that grows with the distance of the labels."""

    def joint_feature(self, x, y):
        psi = np.zeros(6)
        psi[2 * y : 2 * y + 2] = x
        return psi

    def loss(self, y, y_hat):
        return float(abs(y - y_hat))

    def argmax(self, w, x):
        return max(LABELS, key=lambda k: w @ Sound.joint_feature(self, x, k))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(LABELS, key=lambda k: w @ Sound.joint_feature(self, x, k) + scale * Sound.loss(self, y, k))


class Complete(Sound):
    """Every optional method as well."""

    size = 6

    def enumerate(self, x):
        return iter(LABELS)

    def score(self, w, x, y):
        return w @ self.joint_feature(x, y)

    def topk(self, w, x, k):
        ranked = sorted(LABELS, key=lambda y: -self.score(w, x, y))
        return [(y, self.score(w, x, y)) for y in ranked[:k]]

    def bound_argmax(self, w, x, y, bound):
        return max(LABELS, key=lambda k: bound.violation(self.score(w, x, k) - self.score(w, x, y), self.loss(y, k)))


def replaced(base=Sound, **methods):
    """An instance of a sound structure with some methods put in the place of its own."""
    return type("Broken", (base,), methods)()


def only_problem(structure, **options):
    """The one sentence that the checker has for this structure."""
    report = check_structure(structure, [list(x) for x in X], list(Y), **options)
    assert len(report.problems) == 1, str(report)
    assert not report.ok
    return report.problems[0]


# ---------------------------------------------------------------------- sound structures


def as_pair(self, x, y):
    return np.array([2 * y, 2 * y + 1]), np.asarray(x)


FORMS = {
    "dense": Sound.joint_feature,
    "list": lambda self, x, y: Sound.joint_feature(self, x, y).tolist(),
    "whole numbers": lambda self, x, y: (2 * Sound.joint_feature(self, x, y)).astype(int),
    "csr": lambda self, x, y: sp.csr_array(Sound.joint_feature(self, x, y)[None]),
    "csr_matrix": lambda self, x, y: sp.csr_matrix(Sound.joint_feature(self, x, y)),
    "coo": lambda self, x, y: sp.coo_array(Sound.joint_feature(self, x, y)),
    "pair": as_pair,
    "dict": lambda self, x, y: {2 * y: x[0], 2 * y + 1: x[1]},
}


@pytest.mark.parametrize("form", FORMS)
def test_sound_structures_pass_whatever_the_form_of_their_features(form):
    factor = 2 if form == "whole numbers" else 1

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


@pytest.mark.parametrize(("value", "told"), [(-1.0, "-1"), (np.nan, "nan"), (np.inf, "inf")])
def test_loss_that_is_negative_or_not_finite(value, told):
    sentence = only_problem(replaced(loss=lambda self, y, y_hat: value if y != y_hat else 0.0))
    assert sentence.startswith(f"X[0]: loss must be finite and not negative, found {told} for the output of")


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
    ("psi", "told"),
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
        (lambda self, x, y: {y: 1.0}, "X[0]: joint_feature returned a dict, expected the attribute `size` to say"),
        (as_pair, "X[0]: joint_feature returned a tuple, expected the attribute `size` to say"),
        (lambda self, x, y: ([0, 1], [1.0]), "has indices of shape (2,), values of shape (1,), expected one length"),
        (lambda self, x, y: ([0.5], [1.0]), "X[0]: joint_feature has indices of type float64, expected integers"),
        (lambda self, x, y: {"a": 1.0}, "X[0]: joint_feature returned {'a': 1.0}, expected a vector ("),
    ],
)
def test_joint_features_of_the_wrong_form(psi, told):
    def constant(self, w, x, *_):
        return 0

    report = check_structure(replaced(joint_feature=psi, argmax=constant, loss_augmented_argmax=constant), X, Y)
    assert any(told in sentence for sentence in report.problems), str(report)
    assert all("joint_feature" in sentence for sentence in report.problems if "beaten" not in sentence)


@pytest.mark.parametrize("form", ["dense", "csr", "csr_matrix", "coo", "pair"])
def test_complex_joint_features(form):
    def psi(self, x, y):
        return FORMS[form](self, np.asarray(x) + 0j, y) if form == "pair" else FORMS[form](self, x, y) * (1 + 0j)

    structure = replaced(joint_feature=psi, size=6)
    sentence = only_problem(structure)
    assert sentence.startswith("X[0]: joint_feature returned ")
    assert "expected real numbers, found complex ones, for y itself, 0" in sentence
    with pytest.raises(mm.StructureError, match=r"X\[0\]: joint_feature "):
        mm.StructuralSVM(structure).fit(X, Y)


def test_a_work_array_that_is_not_cleared():
    work = np.zeros(6)

    def psi(self, x, y):
        work[2 * y : 2 * y + 2] += x
        return work

    report = mm.check_structure(replaced(joint_feature=psi), X, Y)
    assert any("joint_feature gives another value when it is asked again" in sentence for sentence in report.problems)


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
    assert sentence == f"the attribute `size` must be a whole number ≥ 1, found {size!r}"


def test_more_weights_than_memory():
    sentence = only_problem(replaced(size=10**12, joint_feature=as_pair), n_trials=10)
    assert sentence.startswith("checking 1000000000000 weights in 10 trials needs about 3.2e+05 GB of memory, ")
    assert sentence.endswith(" GB are free; use fewer weights or a lower n_trials")


def test_joint_feature_that_raises_for_an_output_of_argmax():
    sentence = only_problem(replaced(argmax=lambda self, w, x: "nonsense"))
    assert sentence.startswith("X[0]: joint_feature raised TypeError: ")
    assert "for the output of argmax, 'nonsense'" in sentence


# ---------------------------------------------------------------------- the argmaxes


def worst(self, w, x):
    return min(LABELS, key=lambda k: w @ Sound.joint_feature(self, x, k))


def test_argmax_beaten():
    sentence = only_problem(replaced(argmax=worst))
    assert sentence.startswith("X[0]: argmax gives ")
    assert "is beaten by" in sentence and "expected the greatest w·Ψ, found" in sentence


def test_argmax_beaten_by_the_truth_only():
    # Two labels, and an argmax that never gives the truth: nothing else is known that could beat it.
    structure = replaced(argmax=lambda self, w, x: 1, loss_augmented_argmax=lambda self, w, x, y, scale=1.0: 1)
    report = check_structure(structure, X[:1], [0])
    assert any(s.startswith("X[0]: argmax gives 1 but is beaten by 0, y itself: ") for s in report.problems)


def test_argmax_beaten_by_enumeration_only():
    def best_but_one(self, w, x):
        return max(LABELS[:2], key=lambda k: w @ self.joint_feature(x, k))

    def augmented(self, w, x, y, scale=1.0):
        return max(LABELS[:2], key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    hidden = replaced(argmax=best_but_one, loss_augmented_argmax=augmented)
    assert check_structure(hidden, X[:1], [0]).ok  # no known output tells
    seen = replaced(argmax=best_but_one, loss_augmented_argmax=augmented, enumerate=lambda self, x: LABELS)
    problems = check_structure(seen, X[:1], [0]).problems
    assert [s.partition(" gives ")[0] for s in problems] == ["X[0]: loss_augmented_argmax", "X[0]: argmax"]
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
    assert "loss_augmented_argmax gives" in sentence
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
    assert "X[0]: loss_augmented_argmax gives" in sentence and "is beaten by 0, y itself" in sentence


@pytest.mark.parametrize("form", range(4))
def test_bound_argmax_beaten(form):
    def bound_argmax(self, w, x, y, bound):
        if bound.form != form:
            return Complete.bound_argmax(self, w, x, y, bound)
        return self.argmax(w, x)

    sentence = only_problem(replaced(Complete, bound_argmax=bound_argmax), n_trials=40)
    names = ["margin re-scaling with linear", "margin re-scaling with quadratic", "slack re-scaling with linear"]
    assert "bound_argmax gives" in sentence
    assert f"violation in {[*names, 'slack re-scaling with quadratic'][form]} slack, found" in sentence


def test_approximate_argmaxes_that_are_beaten_are_notes():
    report = check_structure(replaced(argmax=worst, exact=False), X, Y)
    assert report.ok
    assert len(report.notes) == 1 and "argmax gives" in report.notes[0]
    assert "note: X[0]: argmax gives" in str(report)


# ---------------------------------------------------------------------- scores


def test_a_score_that_is_not_linear_in_the_weights():
    def argmax(self, w, x):  # |w|² counts for something: not w·Ψ
        return max(LABELS, key=lambda k: w @ self.joint_feature(x, k) + (w @ w) * k)

    report = check_structure(replaced(argmax=argmax), X, Y)
    assert any(
        "argmax gives an output of another score for 2w than for w: expected the score" in s for s in report.problems
    )
    assert any("is what it maximises not w·Ψ?" in s for s in report.problems)


def test_scores_of_topk_and_score():
    def topk(self, w, x, k):
        return [(y, score + 1.0) for y, score in Complete.topk(self, w, x, k)]

    sentence = only_problem(replaced(Complete, topk=topk))
    assert sentence.startswith("X[0]: topk gives 0 the score ") and ", expected w·Ψ = 0 (" in sentence
    sentence = only_problem(replaced(score=lambda self, w, x, y: w @ w + w @ self.joint_feature(x, y)))
    assert sentence.startswith("X[0]: score gives 0 the score ") and ", expected w·Ψ = " in sentence


def test_topk_in_the_wrong_order_or_form():
    def backwards(self, w, x, k):
        return Complete.topk(self, w, x, k)[::-1]

    problems = check_structure(replaced(Complete, topk=backwards), X, Y).problems
    assert any("topk gives the scores [" in s and "expected at most 5, best first" in s for s in problems)
    assert any("topk gives" in s and "is beaten by" in s for s in problems)
    sentence = only_problem(replaced(Complete, topk=lambda self, w, x, k: [0, 1]))
    assert sentence.startswith("X[0]: topk returned [0, 1], expected pairs (output, score)")


# ---------------------------------------------------------------------- behaviour


def test_answers_that_change_from_call_to_call():
    counter = itertools.count()

    def argmax(self, w, x):  # among equals, now this and now that
        best = max(w @ self.joint_feature(x, k) for k in LABELS)
        equals = [k for k in LABELS if w @ self.joint_feature(x, k) == best]
        return equals[next(counter) % len(equals)]

    sentence = only_problem(replaced(argmax=argmax))
    assert sentence.startswith("X[0]: argmax gives another output when asked the same again: expected 0, found 1")

    def augmented(self, w, x, y, scale=1.0):
        return argmax(self, w, x) if scale == 0 or not w.any() else Sound.loss_augmented_argmax(self, w, x, y, scale)

    report = check_structure(replaced(loss_augmented_argmax=augmented), X, Y)
    assert any(s.startswith("X[0]: loss_augmented_argmax gives another output when asked") for s in report.problems)


def test_values_that_change_from_call_to_call():
    noise = itertools.count()
    report = check_structure(replaced(loss=lambda self, y, y_hat: abs(y - y_hat) * (1.0 + 1e-3 * next(noise))), X, Y)
    assert any("loss gives another value when it is asked again for" in s for s in report.problems)
    report = check_structure(replaced(joint_feature=lambda self, x, y: np.ones(2) * next(noise)), X, Y)
    assert report.problems[0].startswith(
        "X[0]: joint_feature gives another value when it is asked again for y itself, 0"
    )


@pytest.mark.parametrize("name", ["argmax", "loss_augmented_argmax", "topk", "bound_argmax"])
def test_weights_that_are_written_to(name):
    def before(self, w, *rest):
        w *= 2.0
        return getattr(Complete, name)(self, w, *rest)

    def after(self, w, *rest):
        answer = getattr(Complete, name)(self, w, *rest)
        w[0] += 1.0
        return answer

    told = f"X[0]: {name} writes to w, expected it untouched (solvers pass it read-only): "
    assert any(s.startswith(told) for s in check_structure(replaced(Complete, **{name: before}), X, Y).problems)
    assert only_problem(replaced(Complete, **{name: after})).startswith(told)


def test_weights_that_compiled_code_wants_to_write_to():
    def argmax(self, w, x):
        if not w.flags.writeable:
            raise TypeError("No matching definition for argument type(s) readonly array(float64, 1d, C)")
        return Sound.argmax(self, w, x)

    sentence = only_problem(replaced(argmax=argmax))
    assert sentence.startswith("X[0]: argmax needs a w it can write to (solvers pass it read-only): No matching")


def test_weights_that_are_written_to_behind_their_protection():
    def argmax(self, w, x):
        answer = Sound.argmax(self, w, x)
        w.base[0] += 1.0
        return answer

    assert only_problem(replaced(argmax=argmax)).startswith(
        "X[0]: argmax writes to w, expected it untouched: work on a copy"
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
        told = f"{name} changed its argument {argument}: expected [1, 0], found [0, 1]"
        assert any(told in sentence for sentence in report.problems), str(report)


@pytest.mark.parametrize(
    ("name", "method", "told"),
    [
        (
            "loss_augmented_argmax",
            lambda self, w, x, y: Sound.loss_augmented_argmax(self, w, x, y),
            "loss_augmented_argmax lacks `scale`, which solvers pass: expected loss_augmented_argmax(w, x, y, scale), "
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
def test_wrong_signatures(name, method, told):
    assert only_problem(replaced(**{name: method})) == told


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
    ("names", "told"),
    [
        (lambda self: ["a"] * 5, "feature_names must give one name for each of 6 weights, found 5"),
        (lambda self: [("a", 1)] * 6, "feature_names must give one name for each of 6 weights, found an array of "
         "shape (6, 2)"),
        (lambda self: 1 / 0, "feature_names raised ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_names_that_are_not_one_for_each_weight(names, told):
    assert only_problem(replaced(feature_names=names)) == told
    assert check_structure(replaced(feature_names=lambda self: list("abcdef")), X, Y).ok


def test_all_problems_are_told_at_once():
    def loss(self, y, y_hat):
        return 1.0

    report = check_structure(replaced(Complete, loss=loss, argmax=worst, topk=lambda self, w, x, k: 3), X, Y)
    text = str(report)
    for part in ("loss(y, y) must be 0", "argmax gives", "topk returned 3"):
        assert part in text
    assert text.startswith(
        f"Broken on 3 examples under 20 random weights: {len(report.problems)} problems\n  1. X[0]: "
    )
    with pytest.raises(mm.StructureError) as error:
        report.raise_if_bad()
    assert str(error.value) == text


def test_what_is_no_structure():
    assert check_structure(Sound, X, Y).problems == [
        "expected an instance, found the class Sound: write Sound() with its parameters"
    ]
    assert check_structure(object(), X, Y).problems == [
        "object is no structure: it lacks joint_feature, loss, argmax, loss_augmented_argmax"
    ]


def test_a_structure_without_base_class():
    methods = {name: vars(Sound)[name] for name in ("joint_feature", "loss", "argmax", "loss_augmented_argmax")}
    report = check_structure(type("Plain", (), methods)(), X, Y)
    assert str(report) == "Plain on 3 examples under 20 random weights: no problems found"
    beaten = check_structure(type("Plain", (), {**methods, "argmax": worst})(), X, Y)
    assert beaten.problems == check_structure(replaced(argmax=worst), X, Y).problems


def test_data_that_a_compiled_structure_refuses():
    report = check_structure(mm.Chain(), [np.ones((2, 1))], [["a", "b", "c"]])
    assert report.problems == ["fit raised ValueError: X[0]: 2 rows of features but 3 labels"]


def test_bad_arguments():
    with pytest.raises(ValueError, match="X has 3 examples but Y has 2"):
        check_structure(Sound(), X, Y[:2])
    with pytest.raises(ValueError, match="X is empty: there are no examples"):
        check_structure(Sound(), [], [])
    with pytest.raises(ValueError, match="Y: expected a sequence of examples, found NoneType"):
        check_structure(Sound(), X, None)
    with pytest.raises(ValueError, match="n_trials must be a whole number ≥ 1, found 0"):
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
