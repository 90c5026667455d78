"""Predict, then optimise: travel times on a grid are predicted so that the shortest path under them is good.

The true times depend on the weather in a way that no linear model can express (degree 6), so the linear model has to
choose where to be right. Least squares is right on average (two-stage); `CostLearner` is right where it changes the
path, by minimising the SPO+ loss of Elmachtoub and Grigas 2022 to a certified gap. With degree 1 the linear model is
correct, and least squares is hard to beat.

Shown: both kinds of costs, C chosen by cross-validation, least squares as a prior, and why a path won.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV

import maxmargin as mm

SIZE = 5
NODES = [(i, j) for i in range(SIZE) for j in range(SIZE)]
ARCS = [((i, j), to) for i, j in NODES for to in ((i, j + 1), (i + 1, j)) if to in NODES]


def travel_times(n, degree, seed):
    """Return weather and travel times, as in the experiments of Elmachtoub and Grigas."""
    rng = np.random.default_rng(seed)
    B = rng.binomial(1, 0.5, (len(ARCS), 5))
    X = rng.normal(size=(n, 5))
    times = ((X @ B.T / np.sqrt(5) + 3.0) ** degree + 1.0) / 3.5**degree
    return X, times * rng.uniform(0.5, 1.5, times.shape)


optimizer = mm.Optimizer.shortest_path(ARCS, (0, 0), (SIZE - 1, SIZE - 1))
print("extra travel time on 1000 test days, as a share of the best possible")
print("degree   least squares   learnt   learnt around least squares       C")
for degree in (1, 6):
    X, times = travel_times(1300, degree, seed=1)
    train, test = slice(0, 300), slice(300, None)
    scores, chosen = [], []
    for prior in (None, "least-squares"):
        learner = mm.CostLearner(optimizer, prior=prior, tol=1e-2)
        search = GridSearchCV(learner, {"C": [0.001, 0.01, 0.1, 1.0]}, cv=5).fit(X[train], times[train])
        scores.append(-search.score(X[test], times[test]))
        chosen.append(search.best_params_["C"])
    model = search.best_estimator_
    baseline = -model.two_stage_score(X[test], times[test])
    print(f"{degree:>6}   {baseline:>13.3f}   {scores[0]:>6.3f}   {scores[1]:>27.3f}   {chosen[0]:g}, {chosen[1]:g}")

print(f"\nthe last model: {model.certificate_}")
day = X[test][0]
print("why this path on the first test day:")
decision = model.explain(day, n_features=4)
for name, nodes in (("best path", decision.prediction), ("runner-up", decision.runner_up)):
    print(f"  {name}: {' '.join(str(ARCS[k][1]) for k in np.flatnonzero(nodes))}")
print(f"  margin {decision.margin:.3f}, of which {decision.contributions[0][1]:+.3f} by {decision.contributions[0][0]}")
