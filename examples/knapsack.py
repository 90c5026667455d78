"""Budgets: learn what a committee values from the projects it chose, with `StructuralSVM(Knapsack())` and `Program`.

Every year a committee chooses projects within a budget. What it values is not observed, the choices are. Shown:
learning values of features from choices, the certificate, how often the learnt choice is the committee's, and the same
with another rule that a knapsack cannot express (at most two projects of one department), as a mixed-integer program.
"""

import numpy as np

import maxmargin as mm

FEATURES = ["benefit", "risk", "novelty"]
VALUES = np.array([3.0, -2.0, 1.0])


def year(rng):
    """Return the features of twelve projects, their prices, the budget, and their departments."""
    prices = rng.integers(2, 15, 12)
    rows = rng.random((12, 3)) * np.sqrt(prices)[:, None]
    return rows, prices, int(prices.sum() * 0.4), rng.integers(0, 3, 12)


def limited(x):
    """Return a year as a program: the budget, and at most two projects of each department."""
    rows, prices, budget, departments = x
    A = np.vstack([prices, [departments == d for d in range(3)]])
    return mm.ProgramInput(rows, A, high=[budget, 2, 2, 2])


def agreement(model, X, Y):
    """Return the share of projects on which learnt and true choices agree, and the share of years without an error."""
    pairs = list(zip(model.predict(X), Y, strict=True))
    return np.mean([a == b for p, y in pairs for a, b in zip(p, y, strict=True)]), np.mean([p == y for p, y in pairs])


def main():
    rng = np.random.default_rng(0)
    years = [year(rng) for _ in range(80)]

    X = [x[:3] for x in years]
    committee = mm.Knapsack().fit(X[:1], [[0] * 12])
    Y = [committee.argmax(VALUES, x) for x in X]
    model = mm.StructuralSVM(mm.Knapsack(), C=1.0).fit(X[:50], Y[:50])
    print("within a budget")
    print(f"certificate: {model.certificate_}")
    print(
        "learnt values:",
        ", ".join(f"{n} {w:.2f}" for n, w in zip(FEATURES, 3 * model.coef_ / model.coef_[0], strict=True)),
    )
    projects, whole = agreement(model, X[50:], Y[50:])
    print(f"test years: {projects:.3f} of the projects and {whole:.2f} of the years as the committee chose")
    print(model.explain(X[50], n_features=3))

    committee = mm.Program(limited).fit(years[:1], [[0] * 12])
    Y = [committee.argmax(VALUES, x) for x in years]
    model = mm.StructuralSVM(mm.Program(limited), C=1.0, tol=1e-2).fit(years[:30], Y[:30])
    print("\nat most two projects of each department")
    print(f"certificate: {model.certificate_}")
    projects, whole = agreement(model, years[50:], Y[50:])
    print(f"test years: {projects:.3f} of the projects and {whole:.2f} of the years as the committee chose")


if __name__ == "__main__":
    main()
