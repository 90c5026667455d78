"""Inverse optimisation with networkx: what did the planner of these networks pay attention to?

A planner connects sites by the cheapest spanning tree, by costs that nobody wrote down. From a few networks the costs
are learnt: weights of cable length, river crossings and rock, shared by all possible cables. The only code besides the
data is one function that calls networkx. The planner makes no mistakes here, so a hard margin (C = inf) is right; with
a careless planner, slack is (a finite C).
"""

import sys

import numpy as np

import maxmargin as mm

try:
    import networkx as nx
except ImportError:
    sys.exit("this example needs networkx: pip install networkx")

SITES = 8
CABLES = [(i, j) for i in range(SITES) for j in range(i)]
NUMBER = {cable: k for k, cable in enumerate(CABLES)}
FEATURES = ["length", "river", "rock"]
TRUE_COSTS = np.array([1.0, 0.5, 0.8])


def cheapest_tree(costs):
    """Return the cables of the cheapest spanning tree."""
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, cost) for (i, j), cost in zip(CABLES, costs, strict=True))
    return {NUMBER[max(i, j), min(i, j)] for i, j in nx.minimum_spanning_edges(graph, data=False)}


def landscapes(n, rng):
    """Return the features of all possible cables of n regions."""
    places = rng.random((n, SITES, 2))
    first, second = (np.array([cable[k] for cable in CABLES]) for k in (0, 1))
    length = np.linalg.norm(places[:, first] - places[:, second], axis=2)
    river = rng.random(length.shape) < 0.3
    return np.stack([length, river, rng.random(length.shape)], axis=2)


rng = np.random.default_rng(0)
X = landscapes(60, rng)
careful = [cheapest_tree(x @ TRUE_COSTS) for x in X]
careless = [cheapest_tree(x @ TRUE_COSTS + 0.3 * rng.normal(size=len(CABLES))) for x in X]
optimizer = mm.Optimizer(cheapest_tree, n_variables=len(CABLES))
train, test = slice(0, 20), slice(20, None)
print(f"wrong cables per network of {SITES - 1}, on 40 networks of a careful planner")
print("experts    C      length   river    rock   wrong")
for name, decisions, C in (("careful", careful, np.inf), ("careless", careless, 1.0)):
    model = mm.CostLearner(optimizer, weights="shared", C=C, standardize=False, fit_intercept=False)
    model.fit(X[train], decisions=decisions[train])
    costs = model.cost_coef_ / model.cost_coef_[0]
    wrong = -model.score(X[test], decisions=careful[test]) / 2
    print(f"{name:<8}   {C:<4g}   " + "   ".join(f"{cost:5.2f}" for cost in costs) + f"   {wrong:5.2f}")
print("true              " + "   ".join(f"{cost:5.2f}" for cost in TRUE_COSTS))
print(f"\nthe last fit: {model.certificate_}")
