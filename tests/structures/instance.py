"""Random data for a structure, and what its definition says about them, in plain Python."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin.core.codes import TRUTH


class Instance:
    """Random data for a structure, and what is expected of it.

    A subclass sets `structure` (not fitted), `X`, `Y` and `whole`, whether features are whole numbers, so that sums are
    exact and ties are ties; then it calls `encode`. It writes `outputs`, `psi`, `loss` and `truth`.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.whole = bool(self.rng.integers(2))

    def draw(self, *size):
        """Random numbers, whole ones in instances of whole numbers."""
        return self.rng.integers(-2, 3, size).astype(float) if self.whole else self.rng.normal(size=size)

    def choose(self, *values):
        return values[self.rng.integers(len(values))]

    def encode(self):
        self.examples = self.structure.fit_encode(self.X, self.Y)
        self.n, self.w = len(self.Y), self.weights()

    # ------------------------------------------------------------------ what a subclass writes

    def outputs(self, i):
        """All outputs of example i."""
        raise NotImplementedError

    def psi(self, i, output):
        raise NotImplementedError

    def loss(self, i, output):
        raise NotImplementedError

    def truth(self, i):
        """The output that example i was encoded with."""
        raise NotImplementedError

    def consistent(self, i, output):
        """Latent structures: whether an output is a completion of the truth."""
        return self.loss(i, output) == 0

    def found(self, answers, i, examples=None):
        """The output of example i in answers; `outputs` has it."""
        examples = self.examples if examples is None else examples
        a, b = examples.code_offsets[i : i + 2]
        return examples.output(i, int(answers.keys[i]), answers.codes[a:b])

    def shown(self, i, output):
        """The output as users see it; only a structure whose outputs hide something writes it."""
        return output

    def cells(self, i, output):
        """The entries of the table of decision scores that belong to an output; None if there is no such table."""
        return None

    def no_parts(self, i):
        """The output relative to which decision scores are counted; by default they are whole scores."""
        return None

    # ------------------------------------------------------------------ what follows

    def weights(self):
        """Random weights, above the lower bounds that the structure needs."""
        w, lower = self.draw(self.examples.dim), self.examples.lower
        return w if lower is None else np.where(lower == 0, np.abs(w), w)

    def directions(self, scores):
        """Random changes of scores; a structure with lower bounds must keep the signs that they ensure."""
        return [self.rng.normal(size=len(s.values)) for s in scores]

    def inputs(self):
        """The inputs one by one."""
        return self.X

    def unlabelled(self):
        """All inputs, in a form that needs no outputs to be read."""
        return self.X

    def fresh(self):
        """The structure, not fitted."""
        return clone(self.structure)

    @functools.cached_property
    def psis(self):
        return [{self.name(output): self.psi(i, output) for output in self.outputs(i)} for i in range(self.n)]

    @staticmethod
    def name(output):
        """An output as a dictionary's key."""
        return repr(output)

    def rise(self, i, output):
        return float(self.w @ (self.psis[i][self.name(output)] - self.psis[i][self.name(self.truth(i))]))

    def best(self, i, worth, allowed=lambda output: True):
        """The greatest worth(rise, loss) of all outputs."""
        return max(worth(self.rise(i, y), self.loss(i, y)) for y in self.outputs(i) if allowed(y))

    def batches(self):
        """Batches of examples: all in order, shuffled, and some."""
        return np.arange(self.n), self.rng.permutation(self.n), self.rng.permutation(self.n)[: self.n // 2 + 1]

    def check(self, answers, ids, worth, allowed=lambda i, output: True):
        """Each answer attains the greatest worth(rise, loss, r), and what is said of it is true."""
        for r, i in enumerate(ids.tolist()):
            found = self.found(answers, i)
            assert self.name(found) in self.psis[i]
            assert allowed(i, found)
            rise, loss = self.rise(i, found), self.loss(i, found)
            assert answers.rises[i] == pytest.approx(rise, abs=1e-9)
            assert answers.losses[i] == pytest.approx(loss, abs=1e-12)
            assert answers.losses[i] >= 0
            assert (answers.keys[i] == TRUTH) == (self.name(found) == self.name(self.truth(i)))
            best = self.best(i, lambda m, b, r=r: worth(m, b, r), lambda y, i=i: allowed(i, y))
            assert worth(rise, loss, r) == pytest.approx(best, rel=1e-9, abs=1e-9)
        self.check_planes(answers, ids)

    def check_planes(self, answers, ids):
        """Planes are differences of joint features, with as many entries as was said at most."""
        planes = self.examples.planes(ids, answers)
        expected = [
            self.psis[i][self.name(self.truth(i))] - self.psis[i][self.name(self.found(answers, i))]
            for i in ids.tolist()
        ]
        found = planes.matrix(self.examples.dim).toarray()
        np.testing.assert_allclose(found, np.reshape(expected, found.shape), atol=1e-9)
        assert (np.diff(planes.indptr) <= self.examples.plane_entries[ids]).all()

    def decoded(self, ids, scales, examples=None):
        examples = self.examples if examples is None else examples
        answers = examples.empty_answers()
        examples.decode(self.w, ids, scales, answers)
        return answers
