"""All six solvers on one problem: steps, argmaxes, seconds and the gap that each of them proves.

They minimise the same objective and bound the same optimum from below, so rows can be compared. The perceptron is the
exception: it minimises no objective, and its certificate only reports the objective at its weights. The convergence of
the default solver and of the proximal bundle over argmaxes is drawn to solvers.png.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

SOLVERS = {
    "auto": "auto",  # proximal working sets
    "nslack": "nslack",
    "sharded": "sharded",
    "oneslack": "oneslack",
    "bundle": "bundle",
    "subgradient": "subgradient",
    "subgradient, Polyak": mm.solvers.Subgradient(step_rule="polyak"),  # an object, to set its parameters
    "perceptron": "perceptron",
}


def main():
    X, Y = mm.datasets.make_chains(400, n_labels=5, random_state=0)
    X, X_test, Y, Y_test = train_test_split(X, Y, random_state=0)
    mm.SequenceTagger().fit(X, Y)  # loads or compiles the functions so that no row below includes that time

    print(f"{'solver':20s} {'steps':>6s} {'argmaxes':>9s} {'seconds':>8s} {'objective':>10s} {'at least':>9s}", end="")
    print(f" {'gap':>8s}  {'stopped by':12s} {'score':>6s}")
    fitted = {}
    for name, solver in SOLVERS.items():
        model = mm.SequenceTagger(C=0.3, solver=solver, tol=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the column "stopped by" shows it
            fitted[name] = model.fit(X, Y)
        proof = model.certificate_
        print(
            f"{name:20s} {model.n_iter_:6d} {proof.oracle_calls:9d} {proof.seconds:8.2f} {proof.primal:10.2f} "
            f"{proof.dual:9.2f} {proof.gap:8.1e}  {model.stop_reason_:12s} {model.score(X_test, Y_test):6.3f}"
        )

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    for row, name in zip(axes, ("auto", "bundle"), strict=True):
        mm.plots.ConvergenceDisplay.from_estimator(fitted[name], x="oracle_calls", axes=row)
        row[0].set_title(f"solver={name!r}", loc="left")
        for ax in row:
            ax.locator_params(axis="x", nbins=5)
    figure.savefig("solvers.png", dpi=150)
    print("\nwritten: solvers.png")


if __name__ == "__main__":
    main()
