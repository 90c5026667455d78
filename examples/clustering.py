"""Clustering learnt from examples: stars and their constellations, with a latent forest of links.

Each sky has a few curves of stars. Two stars of one curve may be far apart, so most pairs are not informative; but
along the curve each star has a near neighbour of similar brightness. `ForestClustering` learns what makes a link, and
finds the links that connect each cluster, starting from chains in the order in which the stars are listed.
"""

import numpy as np

import maxmargin as mm

NAMES = ["distance", "difference in brightness", "near", "angle to the horizon"]


def sky(rng):
    """Return the features of all pairs of stars, and the curve of each star."""
    places, brightness, curves = [], [], []
    for curve in range(rng.integers(3, 6)):
        n = rng.integers(3, 9)
        steps = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(scale=0.5, size=n))
        line = rng.uniform(0, 12, 2) + np.cumsum(np.column_stack([np.cos(steps), np.sin(steps)]), axis=0)
        places.append(line + 0.1 * rng.normal(size=line.shape))
        brightness.append(rng.normal() + 0.3 * rng.normal(size=n))
        curves += [curve] * n
    order = rng.permutation(len(curves))
    return pairs(np.concatenate(places)[order], np.concatenate(brightness)[order]), np.array(curves)[order]


def pairs(places, brightness):
    """Return an array (n, n, d) with the features of each pair."""
    apart = places[:, None] - places[None]
    distance = np.hypot(apart[..., 0], apart[..., 1])
    difference = np.abs(np.subtract.outer(brightness, brightness))
    return np.stack([distance, difference, distance < 1.5, np.arctan2(apart[..., 1], apart[..., 0])], axis=2)


def main():
    rng = np.random.default_rng(0)
    X, Y = zip(*(sky(rng) for _ in range(60)), strict=True)
    X_test, Y_test = X[30:], Y[30:]

    model = mm.ForestClustering(C=0.1, feature_names=NAMES).fit(X[:30], Y[:30])
    fixed = mm.StructuralSVM(mm.Forest(), C=0.1, max_outer=1).fit(X[:30], Y[:30])  # keeps the first chains
    print("outer steps:", ", ".join(f"{row['objective']:.1f}" for row in model.history_))
    print("what makes a link:")
    for name, weight in zip(model.feature_names_out, [*model.coef_, model.intercept_], strict=True):
        print(f"  {weight:+.3f}  {name}")

    for what, predicted in (("latent forests", model.predict(X_test)), ("fixed chains", fixed.predict(X_test))):
        print(f"{what:15s} MUC {mm.metrics.muc(Y_test, predicted)}   B³ {mm.metrics.b_cubed(Y_test, predicted).f1:.3f}")
    for r in (0.1, 1.0, 5.0):
        scores = mm.metrics.muc(Y_test, mm.ForestClustering(C=0.1, r=r).fit(X[:30], Y[:30]).predict(X_test))
        print(f"r = {r:<4g}        MUC {scores}")

    first, second, score = model.links(X_test[0])[0]
    print(f"\nthe strongest link of the first sky joins stars {first} and {second}, with a score of {score:.2f}")
    print("its clusters:", model.predict(X_test[:1])[0])


if __name__ == "__main__":
    main()
