"""Shortest paths: learn what a walker avoids from the routes that were taken, with `StructuralSVM(Path())`.

The map is a grid with three properties of each place: height, forest and water. Walkers take the route that is cheapest
by their own costs, which are not observed; routes are, and some of them are not the best. Shown: learning non-negative
costs of steps in a graph with cycles, the certificate, how much more the learnt routes cost than the best ones, the
next best routes, and a picture (path_on_a_grid.png).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

SIDE = 12
COSTS = np.array([0.2, 1.0, 0.4, 3.0])  # of a step, and of height, forest and water


def grid_steps(side):
    """Return the steps between neighbouring places, in both directions."""
    node = np.arange(side * side).reshape(side, side)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    there = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    return np.concatenate([there, there[:, ::-1]])


def landscape(rng):
    """Return three smooth properties ≥ 0 of each place."""
    layers = np.stack([gaussian_filter(rng.normal(size=(SIDE, SIDE)), 1.5) for _ in range(3)], axis=2)
    return np.maximum(layers / layers.std(axis=(0, 1)) - [0.0, 0.3, 0.8], 0.0)


def features(steps, place):
    """Return the features of each step: a constant, and the properties of the place it leads to."""
    return np.column_stack([np.ones(len(steps)), place.reshape(-1, 3)[steps[:, 1]]])


def cost(x, path, w=COSTS):
    return float(x[1][path].sum(axis=0) @ w)


def main():
    rng = np.random.default_rng(0)
    steps = grid_steps(SIDE)
    places = [landscape(rng) for _ in range(90)]
    X = [(steps, features(steps, place)) for place in places]

    any_route = list(range(SIDE - 1)) + [SIDE * (SIDE - 1) + SIDE * k + SIDE - 1 for k in range(SIDE - 1)]
    walker = mm.Path(cycles=True).fit(X[:1], [any_route])
    Y = [walker.argmax(COSTS * rng.uniform(0.7, 1.4, 4), x) for x in X]  # tastes differ a little
    best = [walker.argmax(COSTS, x) for x in X[60:]]

    model = mm.StructuralSVM(mm.Path(cycles=True), C=0.1).fit(X[:60], Y[:60])
    predicted = model.predict(X[60:])
    print(f"certificate: {model.certificate_}")
    names = ["step", "height", "forest", "water"]
    print("learnt costs:", ", ".join(f"{n} {w:.2f}" for n, w in zip(names, model.coef_ / model.coef_[1], strict=True)))
    print("true costs:  ", ", ".join(f"{n} {w:.2f}" for n, w in zip(names, COSTS, strict=True)))

    shortest = walker.argmax(np.array([1.0, 0.0, 0.0, 0.0]), X[0])
    least = sum(cost(x, y) for x, y in zip(X[60:], best, strict=True))
    for name, paths in (("learnt", predicted), ("fewest steps", [shortest] * len(best))):
        total = sum(cost(x, y) for x, y in zip(X[60:], paths, strict=True))
        print(f"{name}: routes cost {total / least - 1:.1%} more than the best ones")

    print("\nthe three best routes of one map, by learnt costs:")
    for path, score in model.topk(X[60], 3):
        print(f"  cost {-score:.3f}, {len(path)} steps")

    shown = max(range(len(best)), key=lambda i: len(set(Y[60 + i]) ^ set(predicted[i])))
    ground = places[60 + shown] @ COSTS[1:]
    display = mm.plots.PathDisplay((SIDE, SIDE), steps, Y[60 + shown], predicted[shown], background=ground).plot()
    display.figure_.savefig("path_on_a_grid.png", dpi=110)
    print("\nwritten: path_on_a_grid.png")


if __name__ == "__main__":
    main()
