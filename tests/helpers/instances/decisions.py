"""Random optimisers over listed decisions, with joint features and losses in plain Python."""

from __future__ import annotations

import itertools

import numpy as np

import maxmargin as mm
from maxmargin.structures.decisions.structure import Decisions
from maxmargin.testing.instance import Instance


class Listed:
    """The cheapest of some decisions, the first one of equals; a callable object that can be pickled."""

    def __init__(self, decisions):
        self.decisions = decisions

    def __call__(self, costs):
        return self.decisions[np.argmin(self.decisions @ costs)]


class Dearest(Listed):
    """The one of greatest value."""

    def __call__(self, values):
        return super().__call__(-values)


class ListedDecisions(Instance):
    """A few decisions of 4 variables, features of examples or of variables."""

    def __init__(self, seed):
        super().__init__(seed)
        m, n, d = 4, 3, 2
        every = np.array(list(itertools.product((0, 1), repeat=m)))
        self.decisions = every[np.sort(self.rng.choice(len(every), self.choose(2, 4, 7), replace=False))]
        self.shared, self.constant = bool(self.choose(0, 1)), float(self.choose(0, 1, 2))
        sense = self.choose("min", "max")
        solve = (Listed if sense == "min" else Dearest)(self.decisions)
        self.sign = 1.0 if sense == "min" else -1.0
        self.structure = Decisions(
            mm.Optimizer(solve, m, sense), weights="shared" if self.shared else "per-variable", standardize=False,
            intercept=self.constant,
        )  # fmt: skip
        self.X = self.draw(n, m, d) if self.shared else self.draw(n, d)
        self.Y = list(self.decisions[self.rng.integers(len(self.decisions), size=n)])
        self.encode()

    def inputs(self):
        return list(self.X)

    def outputs(self, i):
        return list(self.decisions)

    def truth(self, i):
        return self.Y[i]

    def psi(self, i, output):
        x = self.X[i]
        if self.constant:
            x = np.concatenate([x, np.full((*x.shape[:-1], 1), self.constant)], axis=-1)
        return -self.sign * (output @ x if self.shared else np.outer(x, output).ravel())

    def loss(self, i, output):
        return float((output != self.Y[i]).sum())
