"""Ways to bound the loss: margin or slack re-scaling, linear or quadratic slack, hard margin.

All objectives are ½‖w‖² plus a penalty that depends on the bound, so the scores of different rows are comparable, but
their objectives are not. For losses that count errors, chains find the most violated output of every bound exactly.
For other losses (here: costs by true label), all bounds except margin re-scaling with linear slack search over the
scale of the loss. If the search is not proven to have found the most violated outputs, the certificate says so: then
the objective is an estimate, and the proven interval is from "at least" to "at most".
"""

import numpy as np
from sklearn.model_selection import train_test_split

import maxmargin as mm

ROW = "{:8s} {:10s} {:12s} {:>10s} {:>10s} {:>10s} {:>7s} {:>6s} {:>6s} {:>6s}"


def report(name, model, X_test, Y_test):
    proof = model.certificate_
    print(
        ROW.format(
            model.bound, model.slack, name, f"{proof.primal:.3f}", f"{proof.dual:.3f}",
            f"{proof.primal_bound:.3f}", f"{proof.gap:.0e}", "yes" if proof.exact else "no",
            f"{model.score(X_test, Y_test):.3f}", f"{proof.seconds:.2f}",
        )
    )  # fmt: skip


def main():
    print(ROW.format("bound", "slack", "loss", "objective", "at least", "at most", "gap", "exact", "score", "seconds"))
    X, Y = mm.datasets.make_chains(300, n_labels=4, noise=1.0, random_state=1)
    X, X_test, Y, Y_test = train_test_split(X, Y, random_state=0)
    for name, loss in (("hamming", "hamming"), ("zero-one", "zero-one"), ("per label", {0: 3.0, 1: 0.5})):
        for bound in ("margin", "slack"):
            for slack in ("linear", "quadratic"):
                model = mm.SequenceTagger(C=0.1, loss=loss, bound=bound, slack=slack, tol=1e-3).fit(X, Y)
                report(name, model, X_test, Y_test)
        print()

    print("C=inf allows no slack: a hard margin. The data must be separable.")
    tidy, labels = mm.datasets.make_chains(100, n_labels=3, noise=0.3, random_state=3)
    for bound in ("margin", "slack"):
        model = mm.SequenceTagger(C=np.inf, bound=bound, tol=1e-3).fit(tidy[:70], labels[:70])
        report("hamming", model, tidy[70:], labels[70:])
    try:
        mm.SequenceTagger(C=np.inf).fit(X, Y)
    except ValueError as error:
        print(f"\non the noisy data: {error}")


if __name__ == "__main__":
    main()
