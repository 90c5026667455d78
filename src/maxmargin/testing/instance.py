"""Random data for a structure, and what its definition says about them, in plain Python."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.core.examples import Examples
from maxmargin.core.planes import TRUTH
from maxmargin.core.structure import Compiled


class Instance:
    """Random data for a structure, and what its definition says about them.

    The constructor of a subclass sets `structure`, `X` and `Y`, then calls `encode`. The subclass writes `outputs`,
    `psi`, `loss` and `truth`, in plain Python and without the structure; for decision scores also `cells`. Instances
    must be small: all outputs of all examples are enumerated.

    Parameters
    ----------
    seed : int
        Seed of `rng`.

    Attributes
    ----------
    structure : Compiled
        The structure.
    X, Y : sequence
        Inputs and true outputs.
    rng : numpy.random.Generator
        Source of all random numbers of the instance.
    whole : bool
        Whether numbers drawn by `draw` are whole: sums are then exact, and ties are ties. True for half of the seeds.
    n : int
        Number of examples, set by `encode`.
    examples : Examples
        The encoded examples, set by `encode`.
    w : ndarray
        Random weights, set by `encode`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> case = mm.testing.Instance(seed=0)
    >>> case.draw(3).tolist() == mm.testing.Instance(seed=0).draw(3).tolist()  # the seed determines the data
    True
    """

    structure: Compiled
    X: Any
    Y: Any
    examples: Examples
    n: int
    w: Any

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.whole = bool(self.rng.integers(2))
        self._lists: dict[int, Any] = {}

    def draw(self, *size: int) -> Any:
        """Return an array of random numbers, whole ones in instances of integers."""
        return self.rng.integers(-2, 3, size).astype(float) if self.whole else self.rng.normal(size=size)

    def choose(self, *values: Any) -> Any:
        """Return one of the values at random."""
        return values[self.rng.integers(len(values))]

    def encode(self) -> None:
        """Fit the structure and encode the examples."""
        self.examples = self.structure.fit_encode(self.X, self.Y)
        self.n, self.w = len(self.Y), self.weights()

    # ------------------------------------------------------------------ what a subclass writes

    def outputs(self, i: int) -> Sequence[Any]:
        """Return all outputs of example i."""
        raise NotImplementedError

    def psi(self, i: int, output: Any) -> Any:
        """Return Ψ(x_i, output) as an array."""
        raise NotImplementedError

    def loss(self, i: int, output: Any) -> float:
        """Return Δ(y_i, output)."""
        raise NotImplementedError

    def truth(self, i: int) -> Any:
        """Return the output that example i was encoded with, as `outputs` has it."""
        raise NotImplementedError

    def consistent(self, i, output):
        """Return whether an output is a completion of the truth, for latent structures."""
        return self.loss(i, output) == 0

    def found(self, answers, i, examples=None):
        """Return the output of example i in answers, as `outputs` has it."""
        examples = self.examples if examples is None else examples
        a, b = examples.code_offsets[i : i + 2]
        return examples.output(i, int(answers.keys[i]), answers.codes[a:b])

    def shown(self, i, output):
        """Return the output as users see it; only a structure whose outputs hide something needs it."""
        return output

    def cells(self, i, output):
        """Return the entries of the table of decision scores that an output has, or pairs (name of a table, entry)."""
        raise NotImplementedError

    def no_parts(self, i):
        """Return the output relative to which decision scores are counted; None if they are scores of outputs."""
        return None

    def max_marginals(self, i, like):
        """Return the best score of an output that has a part, for all parts of example i, in the shapes of `like`."""
        base = self.no_parts(i)
        base = 0.0 if base is None else float(self.w @ self.psis[i][self.name(base)])
        named = isinstance(like, dict)
        best = {name: np.full(np.shape(table), -np.inf) for name, table in (like if named else {"": like}).items()}
        for output in self.outputs(i):
            score = float(self.w @ self.psis[i][self.name(output)]) - base
            for cell in self.cells(i, output):
                table, entry = (best[cell[0]], cell[1]) if named else (best[""], cell)
                table[entry] = max(table[entry], score)
        return best if named else best[""]

    # ------------------------------------------------------------------ what follows

    def weights(self):
        """Return random weights, above the lower bounds that the structure needs."""
        w, lower = self.draw(self.examples.dim), self.examples.lower
        return w if lower is None else np.where(lower == 0, np.abs(w), w)

    def directions(self, scores):
        """Return random changes of scores; a structure with lower bounds must keep the signs that they ensure."""
        return [self.rng.normal(size=len(s.values)) for s in scores]

    def inputs(self):
        """Return the inputs one by one."""
        return self.X

    def unlabelled(self):
        """Return all inputs, in a form that needs no outputs to be read."""
        return self.X

    def fresh(self):
        """Return the structure, not fitted."""
        return clone(self.structure)

    @functools.cached_property
    def psis(self):
        """Ψ of all outputs of each example, by name."""
        return [{self.name(output): self.psi(i, output) for output in self.outputs(i)} for i in range(self.n)]

    @staticmethod
    def name(output):
        """Return an output as the key of a dictionary."""
        return repr(output)

    def rise(self, i, output):
        """Return w·Ψ(x, output) − w·Ψ(x, y)."""
        return float(self.w @ (self.psis[i][self.name(output)] - self.psis[i][self.name(self.truth(i))]))

    def best(self, i, worth, allowed=lambda output: True):
        """Return the greatest worth(rise, loss) of all outputs."""
        outputs, differences, losses = self._listed(i)
        rises = (differences @ self.w).tolist()
        return max(worth(m, b) for y, m, b in zip(outputs, rises, losses, strict=True) if allowed(y))

    def _listed(self, i):
        """Return all outputs of example i, their Ψ relative to that of the truth, and their losses."""
        if i not in self._lists:
            outputs, psis = list(self.outputs(i)), self.psis[i]
            differences = np.array([psis[self.name(y)] for y in outputs]) - psis[self.name(self.truth(i))]
            self._lists[i] = outputs, differences, [self.loss(i, y) for y in outputs]
        return self._lists[i]

    def batches(self):
        """Return batches of examples: all in order, shuffled, and some."""
        return np.arange(self.n), self.rng.permutation(self.n), self.rng.permutation(self.n)[: self.n // 2 + 1]

    def check(self, answers, ids, worth, allowed=lambda i, output: True):
        """Check that each answer attains the greatest worth(rise, loss, r), and its rise, loss and key."""
        for r, i in enumerate(ids.tolist()):
            written = self.found(answers, i)
            assert self.name(written) in self.psis[i]
            assert allowed(i, written)
            rise, loss = self.rise(i, written), self.loss(i, written)
            np.testing.assert_allclose(answers.rises[i], rise, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(answers.losses[i], loss, rtol=1e-6, atol=1e-12)
            assert answers.losses[i] >= 0
            assert (answers.keys[i] == TRUTH) == (self.name(written) == self.name(self.truth(i)))
            best = self.best(i, lambda m, b, r=r: worth(m, b, r), lambda y, i=i: allowed(i, y))
            np.testing.assert_allclose(worth(rise, loss, r), best, rtol=1e-9, atol=1e-9)
        self.check_planes(answers, ids)

    def check_planes(self, answers, ids):
        """Check that planes are differences of joint features, with at most `plane_entries` entries."""
        planes = self.examples.planes(ids, answers)
        expected = [
            self.psis[i][self.name(self.truth(i))] - self.psis[i][self.name(self.found(answers, i))]
            for i in ids.tolist()
        ]
        rows = planes.matrix(self.examples.dim).toarray()
        np.testing.assert_allclose(rows, np.reshape(expected, rows.shape), atol=1e-9)
        assert (np.diff(planes.indptr) <= self.examples.plane_entries[ids]).all()

    def decoded(self, ids, scales, examples=None):
        """Return the loss-augmented argmaxes of ids."""
        examples = self.examples if examples is None else examples
        answers = examples.empty_answers()
        examples.decode(self.w, ids, scales, answers)
        return answers
