"""Search over scale against brute force: whatever the points, found ≤ greatest ≤ the upper bound given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.bounds import Bound, search_over_scale
from maxmargin.core.objective import Objective
from maxmargin.core.planes import Answers
from maxmargin.problem import Problem
from maxmargin.structures.chain.structure import Chain

CASES = settings(derandomize=True, deadline=None, max_examples=150)
NONLINEAR = [Bound("margin", "quadratic"), Bound("slack", "linear"), Bound("slack", "quadratic")]
each_bound = pytest.mark.parametrize("bound", NONLINEAR, ids=str)


class Cloud:
    """Examples that are nothing but points (rise, loss): the truth (0, 0) first, the code of a point its number."""

    def __init__(self, clouds):
        self.clouds = [np.vstack([[0.0, 0.0], np.reshape(cloud, (-1, 2))]) for cloud in clouds]
        self.offsets = np.arange(len(clouds) + 1)
        self.answers = Answers.empty(len(clouds), len(clouds))
        self.queries = np.zeros(len(clouds), int)

    def decode(self, ids, scales):
        for i, scale in zip(ids, scales, strict=True):
            points = self.clouds[i]
            k = int(np.argmax(points[:, 0] + scale * points[:, 1]))
            a = self.answers
            a.codes[i], a.keys[i], a.rises[i], a.losses[i] = k, k, *points[k]
            self.queries[i] += 1

    def search(self, bound, ids=None, **options):
        ids = np.arange(len(self.clouds)) if ids is None else ids
        return search_over_scale(bound, ids, self.offsets, self.answers, self.decode, **options)


def greatest(bound, points):
    return float(np.max(bound.violation(points[:, 0], points[:, 1])))


def check_brackets(bound, clouds, **options):
    """found ≤ greatest ≤ upper for every cloud, and the answer left behind is the one that was found."""
    cloud = Cloud(clouds)
    upper = cloud.search(bound, **options)
    for i, points in enumerate(cloud.clouds):
        best, k = greatest(bound, points), cloud.answers.codes[i]
        assert cloud.answers.keys[i] == k
        assert (cloud.answers.rises[i], cloud.answers.losses[i]) == tuple(points[k])
        found = bound.violation(*points[k])
        slack = 1e-8 * (1 + np.abs(points).max()) ** 2
        assert found <= best + 1e-12
        assert best <= upper[i] + slack, (points, found, best, upper[i])
        assert found <= upper[i] + 1e-12
    return cloud, upper


coordinates = st.one_of(st.integers(-4, 4).map(float), st.floats(-6, 6).map(lambda v: round(v, 4)))
losses = st.one_of(st.integers(0, 5).map(float), st.floats(0, 8).map(lambda v: round(v, 4)))
point_clouds = st.lists(st.tuples(coordinates, losses), max_size=8)


@each_bound
@CASES
@given(clouds=st.lists(point_clouds, min_size=1, max_size=6))
def test_never_wrong_on_small_clouds(bound, clouds):
    check_brackets(bound, clouds)


@each_bound
@CASES
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(
        ["round", "steep", "flat", "tiny losses", "huge losses", "counts", "all better than the truth"]
    ),
    max_queries=st.sampled_from([1, 2, 3, 4, 6, 12]),
)
def test_never_wrong_on_large_clouds(bound, seed, kind, max_queries):
    rng = np.random.default_rng(seed)
    clouds = []
    for _ in range(4):
        n = int(rng.integers(1, 60))
        angle = rng.uniform(0, np.pi / 2, n)
        m, b = 3 * np.cos(angle) - 1, 3 * np.sin(angle)  # nearly all on the hull
        if kind == "steep":
            m, b = -rng.exponential(size=n) * 10, rng.exponential(size=n)
        elif kind == "flat":
            m, b = rng.normal(size=n) * 1e-3, rng.exponential(size=n)
        elif kind == "tiny losses":
            b = b * 1e-4
        elif kind == "huge losses":
            b = b * 1e3
        elif kind == "counts":
            b = np.floor(b * 4)
            m = m + rng.normal(size=n)
        elif kind == "all better than the truth":
            m = m + 5
        clouds.append(np.column_stack([m, b]))
    check_brackets(bound, clouds, max_queries=max_queries)


def test_a_point_hidden_behind_one_that_dominates_the_truth():
    # At scale 1 the answer is (1, 3), better than the truth in both ways; (1.49, 2.5) lies on the hull beyond it.
    cloud, upper = check_brackets(Bound("slack", "linear"), [[(1.0, 3.0), (1.49, 2.5)]])
    assert cloud.answers.codes[0] == 2
    assert 2.5 * 2.49 <= upper[0] <= 2.5 * 2.5  # at most the best on the line m + b = 4 that scale 1 proves


@each_bound
@CASES
@given(seed=st.integers(0, 2**32 - 1))
def test_exact_when_the_best_point_is_a_corner_where_the_level_line_touches_the_hull(bound, seed):
    """A corner whose exchange rate lies between the slopes of its two edges is best; it must be found and proven."""
    rng = np.random.default_rng(seed)
    rise, loss = rng.uniform(0, 3), rng.uniform(0.2, 4)
    rate = float(bound.exchange_rate(np.array([rise]), np.array([loss]))[0])
    # Everything else lies strictly under two lines through the corner, one flatter and one steeper than the level line.
    flatter, steeper = rate * rng.uniform(0.3, 0.9), rate * rng.uniform(1.1, 3)
    b = rng.uniform(0, 2 * loss, 30)
    m = rise - np.where(b < loss, flatter, steeper) * (b - loss) - rng.exponential(size=30)
    cloud, upper = check_brackets(bound, [np.vstack([[rise, loss], np.column_stack([m, b])])])
    assert cloud.answers.codes[0] == 1
    assert upper[0] == pytest.approx(bound.violation(rise, loss), rel=1e-7)
    assert cloud.queries[0] <= 12


@each_bound
def test_few_queries_find_the_best_of_counted_losses(bound):
    """Losses that count errors, each error cheaper than the next: every best point is a corner and must be found."""
    rng = np.random.default_rng(3)
    clouds = []
    for _ in range(400):
        b = np.arange(1.0, 11.0)
        m = np.cumsum(rng.exponential(0.5) - np.sort(rng.exponential(0.3, 10)))  # concave: every point is a corner
        clouds.append(np.column_stack([m, b]))
    cloud, upper = check_brackets(bound, clouds)
    best = np.array([greatest(bound, points) for points in cloud.clouds])
    found = bound.violation(cloud.answers.rises, cloud.answers.losses)
    assert cloud.queries.mean() < 5
    assert cloud.queries.max() <= 8
    np.testing.assert_allclose(found, best, rtol=1e-9, atol=1e-12)
    assert (upper <= 1.02 * best + 1e-4).all()


@each_bound
def test_only_the_examples_asked_for_are_touched(bound):
    rng = np.random.default_rng(0)
    clouds = [np.column_stack([rng.normal(size=6), rng.exponential(size=6)]) for _ in range(9)]
    whole, part = Cloud(clouds), Cloud(clouds)
    upper = whole.search(bound)
    part.answers.codes[:], part.answers.losses[:] = -7, -7.0
    ids = np.array([7, 2, 5])
    np.testing.assert_array_equal(part.search(bound, ids), upper[ids])
    np.testing.assert_array_equal(part.answers.codes[ids], whole.answers.codes[ids])
    others = np.setdiff1d(np.arange(9), ids)
    assert (part.answers.codes[others] == -7).all() and (part.answers.losses[others] == -7.0).all()
    assert (part.queries[others] == 0).all()


@pytest.mark.parametrize("bound", [Bound(), *NONLINEAR], ids=str)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_problem_brackets_the_hinges_of_chains_with_a_cost_matrix(bound, seed):
    """The search as solvers use it, on a structure that has no exact argmax for these bounds."""
    rng = np.random.default_rng(seed)
    n, n_labels = 6, 3
    costs = rng.integers(0, 4, (n_labels, n_labels)) * (1 - np.eye(n_labels))
    costs[0, 1], costs[1, 0] = np.pi, 1.0  # not multiples of one number
    X = [rng.normal(size=(int(rng.integers(0, 4)), 2)) for _ in range(n - 1)] + [rng.normal(size=(2, 2))]
    Y = [rng.integers(0, n_labels, len(x)) for x in X]
    chain = Chain(cost=costs, classes=range(n_labels))
    examples = chain.fit_encode(X, Y)
    problem = Problem(examples, bound, Objective(1.0, np.ones(n), bound.slack))
    assert problem.searches == (bound.form > 0)
    w = rng.normal(size=examples.dim) * rng.choice([0.1, 1.0, 3.0])
    problem.decode(w, problem.everyone)
    planes = problem.planes(np.flatnonzero(problem.keys != 0)).dot(w)
    truth = [w @ chain.joint_feature(x, y) for x, y in zip(X, Y, strict=True)]
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        best = 0.0
        for y_hat in chain.enumerate(x):
            rise = w @ chain.joint_feature(x, y_hat) - truth[i]
            best = max(best, float(bound.violation(rise, chain.loss(y, y_hat))))
        assert problem.hinges[i] <= best + 1e-9
        assert best <= problem.upper_hinges[i] + 1e-9 * (1 + best)
    np.testing.assert_allclose(
        problem.values[problem.keys != 0] - planes, problem.hinges[problem.keys != 0], rtol=1e-9, atol=1e-9
    )
