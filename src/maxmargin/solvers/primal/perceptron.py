"""Averaged structured perceptron (Collins 2002).

For each example whose best output ŷ (argmax without the loss) is not the truth, w ← w + Ψ(x, y) − Ψ(x, ŷ); the result
is the mean of all w. The perceptron uses neither C nor the bound, and its weights do not minimise an objective. Its
certificate is valid nevertheless: the primal value of the averaged weights under the problem's bound, and the dual
value of the mistakes, each of which gave its output the dual mass 1, scaled to be feasible. With lower bounds l on
weights, max(w, l) takes the place of w in predictions, and of the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import TRUTH
from maxmargin.problem import Problem
from maxmargin.solvers.base import Decodable, Solver
from maxmargin.solvers.primal.dual_points import SHARE, PointState, lower_bound


class PerceptronState(PointState):
    """Weights and their sum over all examples seen.

    Attributes
    ----------
    mistakes : int
        Number of mistakes in the last epoch.
    provable : bool
        Whether the weights are a sum of the bound's planes. Slack re-scaling has no plane for a wrong output without
        loss; after such a mistake the dual value no longer increases.
    """

    _counters: ClassVar[tuple[str, ...]] = ("past", "mistakes", "provable")

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None) -> None:
        super().__init__(problem, seed, start)
        self.total[SHARE] = 1.0
        self.mistakes, self.provable = 0, True

    def offer(self, problem: Decodable, w: FloatArray) -> float:
        """Keep w, whatever its objective: the result is the average over all epochs."""
        self.best_primal, self.best_bound = problem.primal(w)
        self.best_w = w.copy()
        return self.best_primal


@dataclass(frozen=True)
class AveragedPerceptron(Solver):
    """Averaged structured perceptron (``solver="perceptron"``).

    Each mistake changes the weights by Ψ(x, y) − Ψ(x, ŷ), and the result is the mean of the weights (Collins 2002).
    Training stops after an epoch without mistakes. `best_w` is the average after the last whole epoch, not the weights
    of lowest objective; if a time limit ends the first epoch, the average over a part of it.

    Parameters
    ----------
    batch : int, default=1
        Number of examples decoded at the same weights before the next update; 1 is Collins's algorithm.
    shuffle : bool, default=True
        Whether the examples are visited in a new random order in each epoch.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.AveragedPerceptron(batch=4), max_iter=10).fit(X, Y)
    >>> round(tagger.score(X, Y), 2)
    0.85
    """

    name: ClassVar[str] = "perceptron"
    certifies: ClassVar[bool] = False
    lower_bounds: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 10

    batch: int = 1
    shuffle: bool = True

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> PerceptronState:
        return PerceptronState(problem, seed, start)

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if problem.shifted:
            raise ValueError(
                "solver='perceptron' supports neither a prior nor known costs: it has no regulariser; use 'auto'"
            )

    def planned_bytes(self, problem: Problem) -> float:
        return super().planned_bytes(problem) + 2.0 * 8 * (problem.dim + problem.n_examples)

    def step(self, problem: Problem, state: PerceptronState) -> None:
        n, state.mistakes = problem.n_examples, 0
        order = state.rng.permutation(n) if self.shuffle else np.arange(n)
        for k in range(0, n, self.batch):
            self._visit(problem, state, order[k : k + self.batch])
            if problem.out_of_time:
                break
        average = state.summed()
        if state.provable:
            state.raise_dual(lower_bound(problem, average))
        averaged = problem.objective.raised(state.weights(average, 1.0 / state.past))
        if np.isinf(state.best_primal):  # without an epoch to return to, a part of one is better than none
            state.best_w = averaged
        problem.decode(averaged, problem.everyone)  # raises OutOfTime after the time limit
        state.offer(problem, averaged)
        state.finished = state.mistakes == 0

    @staticmethod
    def _visit(problem: Problem, state: PerceptronState, ids: IntArray) -> None:
        """Predict the outputs of ids at the current weights and correct the wrong ones."""
        examples, answers, bound = problem.examples, problem.answers, problem.bound
        examples.begin(ids)
        examples.decode(problem.objective.raised(state.w), ids, np.zeros(len(ids)), answers)
        problem.oracle_calls += len(ids)
        wrong = ids[answers.keys[ids] != TRUTH]
        if len(wrong):
            planes, losses = examples.planes(wrong, answers), answers.losses[wrong]
            factors, ones = bound.factor(losses), np.ones(len(wrong))
            state.provable = state.provable and bool((factors > 0.0).all())
            masses = ones / np.where(factors > 0.0, factors, 1.0)
            planes.weighted_sum(ones, state.w)
            state.grow(wrong, planes, ones, masses, float(masses @ bound.value(losses)))
            state.mistakes += len(wrong)
        state.past += len(ids)
