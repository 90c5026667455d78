"""Structures with latent variables broken in one way each: the checker completes the truths and tells what is wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.custom.check import check_structure

X = list(np.random.default_rng(0).normal(size=(3, 4, 2)))
Y = [1, 0, 1]


class SpecialRow(mm.Structure):
    """Whether one of the rows of x is special, but not which one."""

    size = 3

    def joint_feature(self, x, output):
        label, row = output
        return np.append(x[row], 1.0) if label else np.zeros(3)

    def loss(self, y, output):
        return float(y != output[0])

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, y=0, scale=0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        row = int(np.argmax(x @ w[:2]))
        special = w @ self.joint_feature(x, (1, row)) + scale * (y == 0)
        return (1, row) if special > scale * (y == 1) else (0, None)

    def complete(self, w, x, y):
        return int(np.argmax(x @ w[:2])) if y else None


class Offering(SpecialRow):
    """Every optional method as well."""

    def complete(self, w, x, y):
        return (y, super().complete(w, x, y))

    def initial_completion(self, x, y, rng):
        return int(rng.integers(len(x))) if y else None

    def enumerate(self, x):
        return [(0, None), *((1, row) for row in range(len(x)))]

    def topk(self, w, x, k):
        scored = [(output, w @ self.joint_feature(x, output)) for output in self.enumerate(x)]
        return sorted(scored, key=lambda pair: -pair[1])[:k]


def checked(base=Offering, **methods):
    return check_structure(type("Broken", (base,), methods)(), [x.copy() for x in X], list(Y))


def only_problem(*arguments, **methods):
    report = checked(*arguments, **methods)
    assert len(report.problems) == 1, str(report)
    return report.problems[0]


@pytest.mark.parametrize("base", [SpecialRow, Offering])
def test_sound_structures_pass(base):
    report = checked(base)
    assert report.ok and not report.notes, str(report)


def first_row(self, w, x, y):
    return 0 if y else None


@pytest.mark.parametrize("base", [SpecialRow, Offering])
def test_completions_that_are_beaten(base):
    sentence = only_problem(base, complete=first_row)
    assert sentence.startswith("X[0]: complete returned (1, 0), which is beaten by (1, ")
    assert "expected the greatest w·Ψ of outputs with this y, found" in sentence
    report = checked(base, complete=first_row, exact=False)
    assert report.ok and len(report.notes) == 1


def test_completions_of_a_loss_that_forgives_are_not_beaten_by_another_y():
    """Outputs without loss are no completions unless they have the same y."""

    def augmented(self, w, x, y, scale=1.0):
        return max(self.enumerate(x), key=lambda output: w @ self.joint_feature(x, output))

    report = checked(loss=lambda self, y, output: 0.0, loss_augmented_argmax=augmented)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", ["complete", "initial_completion"])
def test_completions_that_change_y(name):
    sentence = only_problem(**{name: lambda self, *_: (2, None)})
    assert sentence == f"X[0]: {name} raised ValueError: it changed y: expected 1, found 2 (3 such cases)"


def test_completions_with_a_loss():
    def loss(self, y, output):
        return float(y != output[0] or output[1] == 3)

    report = checked(SpecialRow, loss=loss, complete=lambda self, w, x, y: 3 if y else None)
    wording = "X[0]: loss must be 0 for y with any hidden part, found 1 for (1, 3), the output of complete"
    assert report.problems[0].startswith(wording)
    assert not any("complete returned" in sentence for sentence in report.problems)


def test_completions_that_differ_from_call_to_call():
    counter = itertools.count()

    def complete(self, w, x, y):  # all rows are equally good at weights of 0
        return (next(counter) % 4 if not w.any() else SpecialRow.complete(self, w, x, y)) if y else None

    sentence = only_problem(complete=complete)
    assert sentence.startswith("X[0]: complete returned another output when called again: expected (1, ")


def test_arguments_that_are_changed():
    def complete(self, w, x, y):
        x[0] = 0.0
        return SpecialRow.complete(self, w, x, y)

    assert "X[0]: complete changed its argument x: expected" in str(checked(complete=complete))


def test_a_completion_that_raises():
    assert checked(complete=lambda self, w, x, y: {1: 0}[y]).problems[0] == "X[1]: complete raised KeyError: 0"


@pytest.mark.parametrize(
    ("methods", "wording"),
    [
        (
            {"size": None},
            "a structure with latent variables must declare the number of weights: set the attribute `size`",
        ),
        (
            {"complete": lambda self, x, y: 0},
            "complete cannot be called as solvers call it: expected complete(w, x, y), found complete(x, y)",
        ),
        (
            {"initial_completion": lambda self, x, y: 0},
            "initial_completion cannot be called as solvers call it: expected initial_completion(x, y, rng), "
            "found initial_completion(x, y)",
        ),
    ],
)
def test_what_completions_need(methods, wording):
    assert only_problem(**methods) == wording


def test_more_weights_than_memory():
    assert only_problem(size=10**12).startswith("checking 1000000000000 weights in 20 trials needs about ")
