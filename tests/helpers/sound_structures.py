"""A sound structure, and ways to break it, for tests of the checker."""

from __future__ import annotations

import numpy as np

import maxmargin as mm
from maxmargin.custom.check import check_structure

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
    """Return an instance of a sound structure with some methods replaced."""
    return type("Broken", (base,), methods)()


def only_problem(structure, **options):
    """The one sentence that the checker has for this structure."""
    report = check_structure(structure, [list(x) for x in X], list(Y), **options)
    assert len(report.problems) == 1, str(report)
    assert not report.ok
    return report.problems[0]


def worst(self, w, x):
    return min(LABELS, key=lambda k: w @ Sound.joint_feature(self, x, k))
