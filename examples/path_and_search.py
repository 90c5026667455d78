"""Choosing C: a regularisation path with warm starts, and a grid search over lists of ragged sequences.

`regularization_path` encodes the data once and starts every fit from the planes and dual values of the previous one.
scikit-learn's tools for model selection accept lists of sequences directly.
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, train_test_split

import maxmargin as mm


def main():
    X, Y = mm.datasets.make_chains(500, n_labels=5, noise=1.2, random_state=0)
    X, X_test, Y, Y_test = train_test_split(X, Y, random_state=0)
    Cs = [0.001, 0.01, 0.1, 1.0, 10.0]
    tagger = mm.SequenceTagger(tol=1e-3)

    print("A path: each fit starts from the solution of the previous one")
    print(f"{'C':>8s} {'objective':>10s} {'argmaxes':>9s} {'alone':>9s} {'‖w‖':>7s} {'test':>7s}")
    totals = np.zeros(2, int)
    for model in mm.regularization_path(tagger, X, Y, Cs=Cs):
        alone = clone(tagger).set_params(C=model.C).fit(X, Y)
        totals += model.certificate_.oracle_calls, alone.certificate_.oracle_calls
        norm, score = np.linalg.norm(model.coef_), model.score(X_test, Y_test)
        print(
            f"{model.C:8g} {model.certificate_.primal:10.3f} {model.certificate_.oracle_calls:9d} "
            f"{alone.certificate_.oracle_calls:9d} {norm:7.3f} {score:7.3f}"
        )
    print(f"argmaxes in total: {totals[0]} on the path, {totals[1]} in separate fits")

    print("\nA grid search over sequences of lengths", sorted({len(x) for x in X}))
    grid = {"C": [0.01, 0.1, 1.0], "bound": ["margin", "slack"]}
    search = GridSearchCV(mm.SequenceTagger(), grid, cv=3).fit(X, Y)
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        print(f"  {parameters!s:35s} {score:.4f}")
    print(f"best: {search.best_params_}, score on the test part {search.score(X_test, Y_test):.3f}")


if __name__ == "__main__":
    main()
