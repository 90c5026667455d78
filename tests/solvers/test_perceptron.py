"""The averaged perceptron against a plain one that sums all its weights."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.datasets.toy import Sign, signs
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.structures.multiclass import Multiclass
from tests.helpers.problems import Case


def plain(rows, labels, orders, start=None):
    """Collins's algorithm for classes: the mean of the weights after each example, and the mistakes per epoch."""
    wide = np.hstack([rows, np.ones((len(rows), 1))])
    W = np.zeros((wide.shape[1], labels.max() + 1)) if start is None else start.reshape(wide.shape[1], -1).copy()
    total, steps, mistakes = np.zeros_like(W), 0, []
    for order in orders:
        mistakes.append(0)
        for i in order:
            guess = int(np.argmax(wide[i] @ W))
            if guess != labels[i]:
                W[:, labels[i]] += wide[i]
                W[:, guess] -= wide[i]
                mistakes[-1] += 1
            total, steps = total + W, steps + 1
    return total.ravel() / steps, mistakes


def data(spread=1.0, n=40, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])[labels] + spread * rng.normal(size=(n, 2)), labels


def made(rows, labels, bound=None, C=1.0, cost="zero-one"):
    bound = bound or Bound()
    examples = Multiclass(cost=cost).fit(rows, labels).encode(rows, labels)
    return Problem(examples, bound, Objective(C, np.ones(len(labels)), bound.slack))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_against_a_plain_perceptron(shuffle, started):
    rows, labels = data()
    problem, solver = made(rows, labels), AveragedPerceptron(shuffle=shuffle)
    start = np.random.default_rng(3).normal(size=problem.dim) if started else None
    state = solver.init(problem, seed=4, start=start)
    seen = []
    solver.run(problem, state, Limits(0.0, 4), lambda s, _: seen.append((s.best_w, s.mistakes)))
    rng = np.random.default_rng(4)
    orders = [rng.permutation(40) if shuffle else np.arange(40) for _ in range(4)]
    for epoch, (weights, mistakes) in enumerate(seen, 1):
        average, expected = plain(rows, labels, orders[:epoch], start)
        assert weights == pytest.approx(average, abs=1e-12)
        assert mistakes == expected[-1]
    assert problem.oracle_calls == 2 * 4 * 40  # each epoch, and the sweep for its certificate


def test_the_answer_is_the_last_average_even_where_an_earlier_one_has_a_lower_objective():
    rows, labels = data(spread=2.0)
    problem, solver, offered = made(rows, labels, C=1e-3), AveragedPerceptron(), []
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 6), lambda s, c: offered.append((c.primal, s.best_w)))
    values = [value for value, _ in offered]
    assert min(values) < values[-1]
    assert state.best_primal == values[-1]
    assert np.array_equal(state.best_w, offered[-1][1])


def test_it_stops_after_an_epoch_without_mistakes():
    rows, labels = data(spread=0.3)
    problem, solver = made(rows, labels), AveragedPerceptron()
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(0.0)) == "converged"
    assert state.mistakes == 0
    assert 1 < state.iteration <= solver.default_max_iter
    wide = np.hstack([rows, np.ones((40, 1))])
    assert (np.argmax(wide @ state.w.reshape(3, 3), axis=1) == labels).all()


def test_neither_C_nor_bound_changes_its_weights():
    rows, labels = data()
    costs = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
    found = []
    for problem in (
        made(rows, labels), made(rows, labels, Bound("slack", "quadratic"), 50.0), made(rows, labels, cost=costs),
    ):  # fmt: skip
        solver = AveragedPerceptron()
        state = solver.init(problem, seed=1)
        solver.run(problem, state, Limits(0.0, 3))
        found.append(state.best_w)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_its_lower_bound_is_that_of_the_mistakes(rescaling, slack):
    """Rebuilt from nothing but the mistakes: α, then the best multiple of it that is feasible."""
    case = Case("dense", rescaling, slack, True, C=3.0)
    problem, solver = case.problem(), AveragedPerceptron(shuffle=False)
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 1))

    rows, values, owner = case.stacked()
    raw = Case("dense").stacked()[0]  # margin re-scaling leaves the rows as they are
    w, alpha, total = np.zeros(problem.dim), np.zeros(len(values)), np.zeros(len(values))
    for i in range(case.n_examples):
        mine = np.flatnonzero(owner == i)
        worst = mine[np.argmin(raw[mine] @ w)]
        if raw[worst] @ w < 0 or (raw[worst] @ w == 0 and problem.examples.truths[i] != 0):
            if not w.any():  # a tie goes to the first label, of which the first wrong output is a plane
                worst = mine[0]
            w = w + raw[worst]
            alpha[worst] += 1.0 / (values[worst] if rescaling == "slack" else 1.0)
        total += alpha
    assert total @ rows / case.n_examples == pytest.approx(state.best_w, abs=1e-10)
    assert state.best_dual == pytest.approx(case.best_multiple(total), rel=1e-6)
    assert state.best_dual <= case.optimum()


@pytest.mark.parametrize("rescaling, provable", [("margin", True), ("slack", False)])
def test_a_wrong_output_without_loss(rescaling, provable):
    """Slack re-scaling has no plane for it, so nothing is proven; the weights are the same."""
    rows, labels = data()
    costs = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    problem, solver = made(rows, labels, Bound(rescaling), cost=costs), AveragedPerceptron()
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 2))
    assert state.provable is provable
    assert (state.best_dual > 0.0) is provable
    assert np.isfinite(state.best_primal)


def test_batches_correct_all_their_mistakes_at_once():
    rows, labels = data()
    problem, solver = made(rows, labels), AveragedPerceptron(batch=40, shuffle=False)
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 1))
    wide = np.hstack([rows, np.ones((40, 1))])
    expected = np.zeros((3, 3))
    for x, y in zip(wide, labels, strict=True):  # at w = 0 every guess is the first label
        expected[:, y] += x
        expected[:, 0] -= x
    assert state.w.reshape(3, 3) == pytest.approx(expected, abs=1e-12)


def test_a_time_limit_ends_an_epoch():
    """The weights are the average over the examples seen, and a warning says that their objective is not known."""
    seen = []

    class Slow(Sign):
        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            seen.append(x)
            time.sleep(0.01)
            return super().loss_augmented_argmax(w, x, y, scale)

    X, Y = signs()
    with pytest.warns(ConvergenceWarning, match=r"before the objective was known; raise max_seconds$"):
        model = mm.StructuralSVM(Slow(), solver="perceptron", max_seconds=0.1).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"
    assert 0 < len(seen) < len(X)
    assert model.coef_.any()
