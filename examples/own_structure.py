"""A user-defined structure: matching workers with jobs, in four methods.

Each input is a group of workers, each of some kind, and as many jobs, each of some type, with the distances between
them. An output assigns a job to every worker. There is a weight for each pair (kind, type) and one for the distance.
The best matching under given weights is a linear assignment, and so is the loss-augmented one, because the loss counts
wrong pairs. Shown: `check_structure` on a faulty and on a correct version, training, and the explanation of a
decision.
"""

from itertools import permutations

import numpy as np
from scipy.optimize import linear_sum_assignment

import maxmargin as mm

KINDS = ["plumber", "painter", "mason"]
TYPES = ["pipe", "wall", "roof"]


class Matching(mm.Structure):
    """x = (kind of each worker, type of each job, distances); y = the job of each worker."""

    size = len(KINDS) * len(TYPES) + 1

    def joint_feature(self, x, y):
        kinds, types, distances = x
        jobs = list(y)
        pairs = kinds * len(TYPES) + types[jobs]  # sparse: one index per worker; an index may occur twice
        far = distances[range(len(jobs)), jobs].sum()
        return np.append(pairs, self.size - 1), np.append(np.ones(len(jobs)), far)

    def loss(self, y, y_hat):
        return sum(a != b for a, b in zip(y, y_hat, strict=True))

    def argmax(self, w, x):
        return best_matching(self.table(w, x))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        table = self.table(w, x) + scale
        table[range(len(y)), list(y)] -= scale  # right pairs cost nothing
        return best_matching(table)

    # Optional: for checks on small inputs, and for the runner-up and the names of weights in `explain`.

    def enumerate(self, x):
        return permutations(range(len(x[0])))

    def feature_names(self):
        return [f"{kind} on {kind_of_job}" for kind in KINDS for kind_of_job in TYPES] + ["distance"]

    @staticmethod
    def table(w, x):
        """Return the score of every pair (worker, job)."""
        kinds, types, distances = x
        return w[:-1].reshape(len(KINDS), len(TYPES))[np.ix_(kinds, types)] + w[-1] * distances


class Forgetful(Matching):
    """A common mistake: the loss-augmented argmax ignores the loss."""

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self.argmax(w, x)


def best_matching(table):
    return tuple(int(job) for job in linear_sum_assignment(table, maximize=True)[1])


def make_matchings(n, rng):
    """Return inputs, and the best matchings under hidden weights with noise in the scores."""
    hidden = np.append(2.0 * np.eye(len(KINDS), len(TYPES)).ravel(), -3.0)
    X = [(rng.integers(len(KINDS), size=5), rng.integers(len(TYPES), size=5), rng.random((5, 5))) for _ in range(n)]
    return X, [best_matching(Matching.table(hidden, x) + rng.normal(scale=0.5, size=(5, 5))) for x in X]


def main():
    X, Y = make_matchings(250, np.random.default_rng(0))
    X, X_test, Y, Y_test = X[:200], X[200:], Y[:200], Y[200:]

    print("1. Check the four methods before training")
    print(mm.check_structure(Forgetful(), X[:2], Y[:2]))
    report = mm.check_structure(Matching(), X[:2], Y[:2])
    print(report)
    report.raise_if_bad()

    print("\n2. Train")
    model = mm.StructuralSVM(Matching(), C=0.1).fit(X, Y)
    print(model.certificate_)
    wrong, in_order = -model.score(X_test, Y_test), np.mean([Matching().loss(y, tuple(range(5))) for y in Y_test])
    print(f"wrong pairs per test group: {wrong:.2f} of 5 (first come, first served: {in_order:.2f})")

    print("\n3. Look inside")
    print(model.weights_frame().head(5).to_string(index=False))
    plane = max(model.support_, key=lambda plane: plane.alpha)
    print(f"the largest dual value, {plane.alpha:.3g}, belongs to X[{plane.example}] and {plane.output}")
    print("\nthe test decision to which most weights contribute:")
    print(max((model.explain(x) for x in X_test), key=lambda decision: len(decision.contributions)))


if __name__ == "__main__":
    main()
