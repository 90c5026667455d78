"""Inverse optimisation with OR-tools: learn the costs behind a driver's tours.

A driver visits all stops of a day in a round trip. Planned tours are the shortest, but the driver also avoids main
roads and steep streets. From tours actually driven, the costs of streets are learnt so that the planner (OR-tools'
CP-SAT, a circuit constraint) proposes tours that the driver would drive. Drivers are not always optimal, so the margin
has slack.
"""

import sys

import numpy as np

import maxmargin as mm

try:
    from ortools.sat.python import cp_model
except ImportError:
    sys.exit("this example needs OR-tools: pip install ortools")

STOPS = 6
STREETS = [(i, j) for i in range(STOPS) for j in range(STOPS) if i != j]
FEATURES = ["minutes", "main road", "steep"]
TRUE_COSTS = np.array([1.0, 0.5, 0.7])


def best_tour(costs):
    """Return 0/1 for each street; CP-SAT needs integers, so costs are scaled."""
    model = cp_model.CpModel()
    taken = [model.new_bool_var(f"{i} to {j}") for i, j in STREETS]
    model.add_circuit([(i, j, variable) for (i, j), variable in zip(STREETS, taken, strict=True)])
    whole = np.rint(costs * (1e9 / max(np.abs(costs).max(), 1e-12))).astype(int)
    model.minimize(sum(int(cost) * variable for cost, variable in zip(whole, taken, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    return [solver.value(variable) for variable in taken]


def towns(n, rng):
    """Return the features of the streets of n days."""
    places = rng.random((n, STOPS, 2))
    first, second = (np.array([street[k] for street in STREETS]) for k in (0, 1))
    minutes = np.linalg.norm(places[:, first] - places[:, second], axis=2)
    return np.stack([minutes, rng.random(minutes.shape) < 0.3, rng.random(minutes.shape)], axis=2).astype(float)


rng = np.random.default_rng(1)
X = towns(30, rng)
driven = [best_tour(x @ TRUE_COSTS + 0.03 * rng.normal(size=len(STREETS))) for x in X]
optimizer = mm.Optimizer(best_tour, n_variables=len(STREETS))
model = mm.CostLearner(optimizer, weights="shared", C=1.0, standardize=False, fit_intercept=False, tol=0.02)
model.fit(X[:15], decisions=driven[:15])
print(model.certificate_)
costs = model.cost_coef_ / model.cost_coef_[0]
for name, cost, true in zip(FEATURES, costs, TRUE_COSTS, strict=True):
    print(f"  {name:<10} {cost:5.2f}   (true {true:.2f})")
shortest = np.array([best_tour(x[:, 0]) for x in X[15:]])
wrong = np.abs(shortest - np.array(driven[15:])).sum(axis=1).mean() / 2
learnt = -model.score(X[15:], decisions=driven[15:]) / 2
print(f"streets of {STOPS} that the driver did not take, on new days: {learnt:.2f} (shortest tours: {wrong:.2f})")
