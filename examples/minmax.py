"""One min-max program instead of planes: assignments of reviewers, and the price of a fractional certificate.

The min-max program and the default solver reach the same optimum. On general graphs, the published certificate of
matchings proves optimality over fractional matchings only: its objective is an upper bound, which the certificate
states.
"""

import warnings

import numpy as np

import maxmargin as mm


def assignments(rng):
    """Papers and reviewers with five features of each pair, assigned by noisy weights."""
    X = [rng.normal(size=(5, 6, 5)) for _ in range(60)]
    structure = mm.BipartiteMatching().fit(X[:1], [[0, 1, 2, 3, 4]])
    return X, [structure.argmax(np.ones(5) + 0.5 * rng.normal(size=5), x) for x in X]


def partners(rng):
    """Graphs of eight nodes with four features of each pair, matched by noisy weights."""
    X = [rng.normal(size=(8, 8, 4)) for _ in range(40)]
    structure = mm.Matching().fit(X[:1], [[1, 0, 3, 2, 5, 4, 7, 6]])
    return X, [structure.argmax(np.ones(4) + 0.4 * rng.normal(size=4), x) for x in X]


def main():
    rng = np.random.default_rng(0)
    X, Y = assignments(rng)
    print("assignments")
    for solver in ("auto", "minmax"):
        model = mm.StructuralSVM(mm.BipartiteMatching(), C=1.0, solver=solver, tol=1e-6).fit(X, Y)
        found = model.certificate_
        print(f"  {solver:12s} {model.n_iter_:4d} steps, objective {found.primal:.4f}, at least {found.dual:.4f}")

    X, Y = partners(rng)
    print("matchings")
    for name, solver in {
        "auto": "auto",
        "odd sets": mm.solvers.CertificateProgram(form="odd-sets"),
        "prices": "certificate",
        "distances": mm.solvers.CertificateProgram(form="distances"),
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last two minimise a relaxation, as printed below
            model = mm.StructuralSVM(mm.Matching(), C=10.0, solver=solver, tol=1e-6).fit(X, Y)
        found = model.certificate_
        solved = "itself" if found.relaxation is None else f"relaxed, its optimum at least {found.relaxation:.4f}"
        print(f"  {name:12s} objective {found.primal:.4f}, minimised {solved}")


if __name__ == "__main__":
    main()
