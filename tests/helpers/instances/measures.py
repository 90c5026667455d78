"""Random sets of rows with labels, with joint features and losses of all labellings or orders in plain Python."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations, permutations, product

import numpy as np
import scipy.sparse as sp

from maxmargin.structures.measures.contingency import Contingency
from maxmargin.structures.measures.orders import AveragePrecision, ROCArea
from maxmargin.testing.instance import Instance


def f_beta(a, b, p, q, beta):
    return (1 + beta**2) * a / ((1 + beta**2) * a + b + beta**2 * (p - a))


def matthews(a, b, p, q):
    below = (a + b) * p * q * (p + q - a - b)
    return (a * (q - b) - b * (p - a)) / below**0.5 if below else 0.0


def profit(tp, fp, fn, tn):
    """A measure that takes no arrays."""
    return 3.0 * tp - (2.0 if fp > 1 else 1.0) * fp


def mean_of_rates(tp, fp, fn, tn):
    """A measure that takes arrays too."""
    return (tp / (tp + fn)) * (tn / (tn + fp))


#: Parameters of the structure, and its loss of a of p positive and b of q negative rows.
MEASURES = {
    "f1": (dict(measure="f1"), lambda a, b, p, q: p * (1 - f_beta(a, b, p, q, 1.0))),
    "fbeta": (dict(measure="f2"), lambda a, b, p, q: p * (1 - f_beta(a, b, p, q, 2.0))),
    "jaccard": (dict(measure="jaccard"), lambda a, b, p, q: p * (1 - a / (p + b))),
    "error": (dict(measure="error"), lambda a, b, p, q: b + p - a),
    "mcc": (dict(measure="mcc"), lambda a, b, p, q: p * (1 - matthews(a, b, p, q))),
    "recall at precision": (
        dict(measure="recall@precision=0.6"),
        lambda a, b, p, q: p * (1 - (a / p if a >= 0.6 * (a + b) else 0.0)),
    ),
    "profit": (dict(measure=profit), lambda a, b, p, q: (3.0 * p - profit(a, b, p - a, q - b)) / 3.0),
    "rates": (dict(measure=mean_of_rates), lambda a, b, p, q: p * (1 - mean_of_rates(a, b, p - a, q - b))),
}


class RowsOfLabels(Instance):
    """Up to three sets of a few rows, dense or sparse."""

    fixed = False

    def __init__(self, seed, parameters, table_loss):
        super().__init__(seed)
        rng = self.rng
        self.table_loss, width = table_loss, int(rng.integers(1, 4))
        self.n_labels = 1 if self.fixed else int(self.choose(1, 1, 2))
        sizes = self.sizes() if self.n_labels == 1 else [2]
        self.rows = [self.draw(n, width) for n in sizes]
        self.intercept, self.names = bool(rng.integers(2)), ["no", "yes"]
        self.labels = [self.drawn_labels(n * self.n_labels) for n in sizes]
        self.X = [sp.csr_array(rows) for rows in self.rows] if rng.integers(2) else self.rows
        self.Y = [self.shown_labels(y) for y in self.labels]
        self.structure = self.made(parameters)
        self.encode()

    def made(self, parameters):
        return Contingency(fit_intercept=self.intercept, n_labels=self.n_labels, **parameters)

    def sizes(self):
        return self.rng.integers(2, 6, int(self.rng.integers(1, 4)))

    def drawn_labels(self, n):
        """Labels of both kinds, in random order."""
        return self.rng.permutation([0, 1, *self.rng.integers(0, 2, n - 2)])

    def shown_labels(self, y):
        y = np.asarray(y)
        return y.reshape(-1, self.n_labels).tolist() if self.n_labels > 1 else [self.names[k] for k in y]

    def codes(self, output):
        return np.ravel(output) if self.n_labels > 1 else np.array([self.names.index(name) for name in output])

    def outputs(self, i):
        return [self.shown_labels(y) for y in product((0, 1), repeat=len(self.labels[i]))]

    def truth(self, i):
        return self.Y[i]

    def parts(self, i):
        """The features of each label, as rows over the weights."""
        rows = self.rows[i]
        rows = np.column_stack([rows, np.ones(len(rows))]) if self.structure.constant else rows
        return np.array([np.outer(row, unit).ravel() for row in rows for unit in np.eye(self.n_labels)])

    def max_marginals(self, i, like):
        """Scores of single labels: how much predicting a label as positive adds."""
        return (self.parts(i) @ self.w).reshape(np.shape(like))

    def psi(self, i, output):
        return (self.codes(output) - 0.5) @ self.parts(i)

    def table(self, i, output):
        true, found = self.labels[i], self.codes(output)
        return int(found[true == 1].sum()), int(found[true == 0].sum()), int(true.sum()), int((true == 0).sum())

    def loss(self, i, output):
        return float(self.table_loss(*self.table(i, output)))


class RowsOfGivenSize(RowsOfLabels):
    """Measures of the k best rows; sets of equal sizes and shares, because PRBEP takes its share from training."""

    fixed = True

    def __init__(self, seed, k=None, recall=False):
        self.k = k
        name = "prbep" if k is None else f"recall@{k}" if recall else f"precision@{k}"
        super().__init__(seed, dict(measure=name), lambda a, b, p, q: min(p if k is None else k, p) - a)

    def sizes(self):
        self.n_positive = int(self.rng.integers(1, 4))
        return [4] * int(self.rng.integers(1, 3))

    def drawn_labels(self, n):
        return self.rng.permutation([1] * self.n_positive + [0] * (n - self.n_positive))

    def outputs(self, i):
        n, k = len(self.labels[i]), int(self.labels[i].sum()) if self.k is None else self.k
        return [self.shown_labels(np.isin(np.arange(n), some).astype(int)) for some in combinations(range(n), k)]

    @cached_property
    def psis(self):
        """The truth may be beside the outputs: the mean of the best of them."""
        found = []
        for i in range(self.n):
            psis = {self.name(output): self.psi(i, output) for output in self.outputs(i)}
            best = [psis[self.name(output)] for output in self.outputs(i) if self.loss(i, output) == 0.0]
            found.append(psis | {self.name(self.truth(i)): np.mean(best, axis=0)})
        return found


class RowsInOrder(RowsOfLabels):
    """Orders of a few rows."""

    fixed = True

    def __init__(self, seed, max_fpr=None, average_precision=False):
        self.max_fpr, self.average_precision = max_fpr, average_precision
        super().__init__(seed, None, None)

    def made(self, parameters):
        return AveragePrecision() if self.average_precision else ROCArea(max_fpr=self.max_fpr)

    def outputs(self, i):
        return list(permutations(range(len(self.labels[i]))))

    def truth(self, i):
        return tuple(np.argsort(-self.labels[i], kind="stable").tolist())

    def shown(self, i, output):
        return tuple(list(output))  # equal, but not the same: joint_feature takes labels only

    def name(self, output):
        return repr(tuple(output))

    def swapped(self, i, order):
        """Swapped pairs with one of the first negative rows, and the number of these."""
        labels = self.labels[i]
        negative = [j for j in order if labels[j] == 0]
        m = len(negative) if self.max_fpr is None else max(1, int(np.ceil(self.max_fpr * len(negative))))
        pairs = [(k, j) for j in negative[:m] for k in order[order.index(j) :] if labels[k] == 1]
        return pairs, m

    def psi(self, i, order):
        rows, labels = self.rows[i], self.labels[i]
        pairs, m = self.swapped(i, order)
        p, q = int(labels.sum()), int((labels == 0).sum())
        positive, negative = rows[labels == 1].sum(axis=0), rows[labels == 0].sum(axis=0)
        base = 0.5 * positive - 0.5 * p * negative / m
        assert self.max_fpr is not None or np.allclose(base, (q * positive - p * negative) / (2 * q))
        return base - sum(rows[k] - rows[j] for k, j in pairs) / m if pairs else base

    def loss(self, i, order):
        labels = self.labels[i]
        if not self.average_precision:
            pairs, m = self.swapped(i, order)
            return len(pairs) / m
        ranks = [r for r, j in enumerate(order, 1) if labels[j] == 1]
        return len(ranks) - sum(hits / rank for hits, rank in enumerate(ranks, 1))
