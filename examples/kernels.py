"""Kernels on parts: bonds that no linear score can tell, and labels that depend on two features together.

First, matchings: residues have a charge and a size, and a bond needs the products of both to fit, so a linear score
of a pair does not say who belongs to whom; an RBF kernel on pairs does. Then, tokens whose label depends on two
named features together: a polynomial kernel of second degree, by the Gram matrix and by explicit products.
Shown: errors of linear and kernel models, certificates, how few parts a model keeps, landmarks instead of all parts,
and what a weight of an explicit product is called.
"""

import numpy as np
from sklearn.base import clone

import maxmargin as mm


def graph(rng, n):
    """Return features of all pairs of n residues, and their partners: the best pairs by two products."""
    points = rng.uniform(-1, 1, (n, 2))
    pairs = np.concatenate([np.repeat(points[:, None], n, 1), np.repeat(points[None], n, 0)], axis=2)
    fits = -np.abs(pairs[..., 0] * pairs[..., 2] - pairs[..., 1] * pairs[..., 3])
    judge = mm.Matching().fit([np.ones((2, 2, 1))], [[1, 0]])
    return pairs, judge.argmax(np.ones(1), fits[:, :, None])


def share_right(model, X, Y):
    """Return the share of residues with the right partner."""
    return np.mean([a == b for y, p in zip(Y, model.predict(X), strict=True) for a, b in zip(y, p, strict=True)])


def matchings():
    rng = np.random.default_rng(0)
    X, Y = zip(*(graph(rng, 6) for _ in range(120)), strict=True)
    train, test = slice(0, 80), slice(80, 120)
    linear = mm.StructuralSVM(mm.Matching(), C=1.0, tol=1e-2).fit(X[train], Y[train])
    curved = mm.StructuralSVM(mm.Matching(), C=10.0, kernel=mm.Kernel("rbf", gamma=1.0), tol=1e-2).fit(
        X[train], Y[train]
    )
    landmarks = mm.StructuralSVM(
        mm.Matching(), C=10.0, kernel=mm.Kernel("rbf", gamma=1.0, n_components=200), tol=1e-2, random_state=0
    ).fit(X[train], Y[train])
    print("right partners on new graphs")
    for name, model in (("linear", linear), ("RBF, exact", curved), ("RBF, landmarks", landmarks)):
        print(f"  {name:15} {share_right(model, X[test], Y[test]):.2f}   {len(model.coef_)} coefficients")
    print(f"exact: {curved.certificate_}")
    print(f"landmarks lose {100 * landmarks.structure_.edges_.features.lost:.2f} % of the trace")


def tokens():
    rng = np.random.default_rng(1)
    X = [[[f"colour={rng.integers(3)}", f"shape={rng.integers(3)}"] for _ in range(5)] for _ in range(60)]
    Y = [[str((int(a[-1]) + int(b[-1])) % 3) for a, b in x] for x in X]
    kernel = mm.Kernel("poly", degree=2, gamma=1.0, coef0=1.0)
    linear = mm.SequenceTagger(C=10.0).fit(X[:30], Y[:30])
    gram = mm.SequenceTagger(C=10.0, kernel=kernel).fit(X[:30], Y[:30])
    products = clone(gram).set_params(kernel__method="expansion").fit(X[:30], Y[:30])
    print("\nright labels of new tokens")
    for name, model in (("linear", linear), ("Gram matrix", gram), ("products", products)):
        print(f"  {name:12} {model.score(X[30:], Y[30:]):.2f}   objective {model.certificate_.primal:.3f}")
    names = products.feature_names_out[np.argsort(-np.abs(products.coef_), kind="stable")]
    print("strongest product:", next(name for name in names if " × " in name))


if __name__ == "__main__":
    matchings()
    tokens()
