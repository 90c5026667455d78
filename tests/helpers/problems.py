"""Small problems with every plane written out, so that objective and optimum can be computed without the library.

To add a structure, name a small instance of its conformance test in `FACTORIES`.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from maxmargin.bounds import Bound
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.structure import Structure
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem
from maxmargin.structures.chain.structure import Chain
from maxmargin.structures.multiclass import Multiclass
from maxmargin.testing.instance import Instance
from tests.helpers.instances.graphs import Items, PairwiseGraphs, PathGraphs
from tests.helpers.instances.matching import Assignments, Partners
from tests.helpers.instances.measures import MEASURES, RowsOfLabels
from tests.helpers.instances.rows_and_sequences import Queries, Strings
from tests.helpers.instances.trees import Documents, Graphs

#: For each example: rows Ψ(x, y) − Ψ(x, ŷ) and losses Δ(y, ŷ) of all wrong outputs ŷ.
Outputs = list[tuple[np.ndarray, np.ndarray]]


# ---------------------------------------------------------------------- structures


def multiclass(rows: np.ndarray, sparse: bool, seed: int) -> tuple[Examples, Outputs]:
    """Three classes with unequal costs."""
    rng = np.random.default_rng(seed)
    n, width = rows.shape
    labels = (rows @ rng.normal(size=(width, 3)) + rng.normal(size=(n, 3))).argmax(axis=1)
    labels[:3] = [0, 1, 2]
    costs = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
    X = sp.csr_array(rows) if sparse else rows
    examples = Multiclass(cost=costs).fit(X, labels).encode(X, labels)
    wide = np.hstack([rows, np.ones((n, 1))])

    def psi(i: int, k: int) -> np.ndarray:
        return np.kron(wide[i], np.eye(3)[k])

    outputs = []
    for i, y in enumerate(labels):
        wrong = [k for k in range(3) if k != y]
        outputs.append((np.array([psi(i, y) - psi(i, k) for k in wrong]), costs[y, wrong]))
    return examples, outputs


def dense() -> tuple[Examples, Outputs]:
    return multiclass(np.random.default_rng(0).normal(size=(16, 3)), False, 1)


def csr() -> tuple[Examples, Outputs]:
    """Whole numbers, mostly zero: their planes are kept as float32."""
    rng = np.random.default_rng(2)
    return multiclass(rng.integers(-2, 3, (16, 5)) * (rng.random((16, 5)) < 0.5).astype(float), True, 3)


class TwoBits(Structure):
    """Two bits that like to agree, by plain Python over all four outputs."""

    outputs = tuple(itertools.product((0, 1), repeat=2))

    def joint_feature(self, x, y):
        return np.concatenate([y[0] * x, y[1] * x, [float(y[0] == y[1])]])

    def loss(self, y, y_hat):
        return 1.0 * (y[0] != y_hat[0]) + 0.5 * (y[1] != y_hat[1])

    def argmax(self, w, x):
        return max(self.outputs, key=lambda y: w @ self.joint_feature(x, y))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(self.outputs, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    def bound_argmax(self, w, x, y, bound):
        score = w @ self.joint_feature(x, y)
        return max(self.outputs, key=lambda k: bound.violation(w @ self.joint_feature(x, k) - score, self.loss(y, k)))


def own() -> tuple[Examples, Outputs]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(10, 2))
    scores = X @ rng.normal(size=(2, 2)) + 0.7 * rng.normal(size=(10, 2))
    Y = [tuple(int(v) for v in row > 0) for row in scores]
    structure, outputs = TwoBits(), []
    for x, y in zip(X, Y, strict=True):
        wrong = [k for k in TwoBits.outputs if k != y]
        rows = [structure.joint_feature(x, y) - structure.joint_feature(x, k) for k in wrong]
        outputs.append((np.array(rows), np.array([structure.loss(y, k) for k in wrong])))
    return CustomExamples(structure, list(X), Y), outputs


def chain(cost, **parameters) -> tuple[Examples, Outputs]:
    """Words of up to three of two letters, every labelling written out by hand."""
    rng = np.random.default_rng(6)
    X = [rng.normal(size=(length, 2)) for length in (1, 2, 3, 2, 3, 0, 3, 2)]
    Y = [(x @ [1.0, -0.5] + 0.5 * rng.normal(size=len(x)) > 0).astype(int) for x in X]
    structure = Chain(cost=cost, classes=[0, 1], **parameters)
    examples = structure.fit_encode(X, Y)

    def psi(x, y):
        tokens, pairs, ends = np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((2, 2))
        for t, k in enumerate(y):
            tokens[:, k] += [*x[t], 1.0]
            if t > 0:
                pairs[y[t - 1], k] += 1.0
        if len(y):
            ends[0, y[0]] += 1.0
            ends[1, y[-1]] += 1.0
        return np.concatenate([tokens.ravel(), pairs.ravel(), ends.ravel() if structure.start_end else []])

    def loss(y, k):
        wrong = sum(a != b for a, b in zip(y, k, strict=True))
        return {"hamming": wrong, "hamming-share": wrong / max(len(y), 1), "zero-one": float(wrong > 0)}[cost]

    outputs = []
    for x, y in zip(X, Y, strict=True):
        wrong = [k for k in itertools.product((0, 1), repeat=len(y)) if k != tuple(y)]
        rows = np.array([psi(x, y) - psi(x, k) for k in wrong]).reshape(len(wrong), examples.dim)
        outputs.append((rows, np.array([loss(y, k) for k in wrong], float)))
    return examples, outputs


def enumerated(make: Callable[[int], Instance]) -> tuple[Examples, Outputs]:
    """The first instance with enough planes to be interesting and few enough for an independent solution."""
    for seed in itertools.count():
        case, outputs = make(seed), []
        if case.whole or case.examples.dim > 40 or sum(len(case.outputs(i)) for i in range(case.n)) > 60:
            continue
        for i in range(case.n):
            true = case.name(case.truth(i))
            wrong = [y for y in case.outputs(i) if case.name(y) != true]
            rows = np.array([case.psis[i][true] - case.psis[i][case.name(y)] for y in wrong])
            losses = np.array([max(case.loss(i, y), 0.0) for y in wrong], float)
            outputs.append((rows.reshape(len(wrong), case.examples.dim), losses))
        most = max(losses.max(initial=0.0) for _, losses in outputs)
        if sum(len(losses) for _, losses in outputs) >= 15 and most > 0:
            return case.examples, outputs
    raise AssertionError


#: Structures whose instances are those of the conformance test.
INSTANCES: dict[str, Callable[[int], Instance]] = {
    "motif": Strings,
    "forest": Documents,
    "top k": Queries,
    "tree": lambda seed: Graphs(seed, True, False),
    "undirected tree": lambda seed: Graphs(seed, False, False),
    "graph": PairwiseGraphs,
    "knapsack": Items,
    "path": lambda seed: PathGraphs(seed, cycles=False),
    "assignment": lambda seed: Assignments(seed, 1, 1, False),
    "matching": lambda seed: Partners(seed, False, 4),
    "contingency": lambda seed: RowsOfLabels(seed, *MEASURES["f1"]),
}

FACTORIES: dict[str, Callable[[], tuple[Examples, Outputs]]] = {
    "dense": dense,
    "csr": csr,
    "own": own,
    "chain": lambda: chain("hamming"),
    "chain without ends": lambda: chain("hamming", start_end=False),
    "chain of shares": lambda: chain("hamming-share"),
    "chain zero-one": lambda: chain("zero-one"),
    **{name: partial(enumerated, make) for name, make in INSTANCES.items()},
}


# ---------------------------------------------------------------------- a problem with its optimum


@dataclass(frozen=True)
class Case:
    """One structure under one formulation."""

    structure: str
    rescaling: str = "margin"
    slack: str = "linear"
    weighted: bool = False
    C: float = 0.5
    centred: float = 0.0

    def __str__(self) -> str:
        extras = "-weighted" * self.weighted + f"-centred {self.centred}" * (self.centred > 0.0)
        return f"{self.structure}-{self.rescaling}-{self.slack}{extras}"

    @property
    def centre(self) -> np.ndarray | None:
        """Weights w₀ of this size in a random direction; all that follows is then about v = w − w₀."""
        if self.centred == 0.0:
            return None
        return self.centred * np.random.default_rng(8).normal(size=_outputs(self.structure)[0][0].shape[1])

    @property
    def n_examples(self) -> int:
        return len(_outputs(self.structure))

    @property
    def weights(self) -> np.ndarray:
        n = self.n_examples
        return np.random.default_rng(5).uniform(0.3, 2.0, n) if self.weighted else np.ones(n)

    @property
    def budgets(self) -> np.ndarray:
        return self.C * self.weights

    def problem(self) -> Problem:
        """A new one each time, so that nothing is left over from another run."""
        examples = new_examples(self.structure)
        objective = Objective(self.C, self.weights, self.slack)
        return Problem(examples, Bound(self.rescaling, self.slack), objective, centre=self.centre)

    def planes(self) -> Outputs:
        """Return rows and values after the bound, by the formulations of Tsochantaridis et al. 2004."""
        bounded = []
        for rows, losses in _outputs(self.structure):
            values = np.sqrt(losses) if self.slack == "quadratic" else losses
            rows = rows * values[:, None] if self.rescaling == "slack" else rows
            bounded.append((rows, values if self.centre is None else values - rows @ self.centre))
        return bounded

    def primal(self, w: np.ndarray) -> float:
        """The objective, by enumeration."""
        hinges = np.array([(values - rows @ w).max(initial=0.0) for rows, values in self.planes()])
        penalty = 0.5 * hinges**2 if self.slack == "quadratic" else hinges
        return 0.5 * float(w @ w) + float(self.budgets @ penalty)

    def dual(self, alpha: np.ndarray) -> float:
        """The dual objective at alpha ≥ 0, one entry per plane; minus infinity where it is not feasible."""
        rows, values, owner = self.stacked()
        masses = np.bincount(owner, alpha, self.n_examples)
        if (alpha < 0).any() or (self.slack == "linear" and (masses > self.budgets * (1 + 1e-9)).any()):
            return -np.inf
        u = alpha @ rows
        soft = self.slack == "quadratic" and np.isfinite(self.C)
        price = 0.5 * float((masses**2 / self.budgets).sum()) if soft else 0.0
        return float(alpha @ values) - 0.5 * float(u @ u) - price

    def best_multiple(self, alpha: np.ndarray) -> float:
        """The greatest D(t α) with t α feasible: a parabola in t, found from two of its points."""
        _, _, owner = self.stacked()
        masses = np.bincount(owner, alpha, self.n_examples)
        held, linear = masses > 0, self.slack == "linear"
        longest = float((self.budgets[held] / masses[held]).min()) if linear else 1.0
        half, whole = self.dual(0.5 * longest * alpha), self.dual(longest * alpha)
        square = 4.0 * half - 2.0 * whole  # D(t longest α) = gain t − square t²
        best = (square + whole) / (2.0 * square) if square > 0 else np.inf
        t = min(best, 1.0) if linear else best
        return (square + whole) * t - square * t * t

    def stacked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All planes: rows, values, and the example of each."""
        planes = self.planes()
        owner = np.repeat(np.arange(len(planes)), [len(values) for _, values in planes])
        return np.vstack([rows for rows, _ in planes]), np.concatenate([values for _, values in planes]), owner

    def optimum(self) -> float:
        return _optimum(self)


@cache
def _made(structure: str) -> tuple[bytes, Outputs]:
    examples, outputs = FACTORIES[structure]()
    return pickle.dumps(examples), outputs


def _outputs(structure: str) -> Outputs:
    return _made(structure)[1]


def new_examples(structure: str) -> Examples:
    """Examples that share nothing with those of other tests."""
    return pickle.loads(_made(structure)[0])


@cache
def _optimum(case: Case) -> float:
    """The optimum over all planes, once as a program in (w, ξ) and once in α, both by SLSQP; the two must meet."""
    upper, lower = _primal_optimum(case), _dual_optimum(case)
    assert upper - lower <= 2e-6 * upper, f"{case}: between {lower:.9g} and {upper:.9g}"
    return 0.5 * (upper + lower)


def _slsqp(value, gradient, start, matrix, least, lower):
    """argmin value(v) where matrix v ≥ least and v ≥ lower."""
    return minimize(
        value, start, jac=gradient, method="SLSQP", options={"maxiter": 200, "ftol": 1e-11},
        constraints={"type": "ineq", "fun": lambda v: matrix @ v - least, "jac": lambda v: matrix},
        bounds=[(bound, None) for bound in lower],
    ).x  # fmt: skip


def _primal_optimum(case: Case) -> float:
    rows, values, owner = case.stacked()
    n, d = case.n_examples, rows.shape[1]
    if np.isinf(case.C):
        w = _slsqp(lambda v: 0.5 * v @ v, lambda v: v, np.zeros(d), rows, values, [None] * d)
        return 0.5 * float(w @ w) * float((values / (rows @ w)).max()) ** 2
    power, budgets = (2 if case.slack == "quadratic" else 1), case.budgets
    v = _slsqp(
        lambda v: 0.5 * v[:d] @ v[:d] + budgets @ v[d:] ** power / power,
        lambda v: np.concatenate([v[:d], budgets * v[d:] ** (power - 1)]),
        np.concatenate([np.zeros(d), np.full(n, values.max())]),
        np.hstack([rows, np.eye(n)[owner]]), values, [None] * d + [0.0] * n,
    )  # fmt: skip
    return case.primal(v[:d])


def _dual_optimum(case: Case) -> float:
    rows, values, owner = case.stacked()
    gram, groups = rows @ rows.T, np.eye(case.n_examples)[owner].T
    if case.slack == "quadratic" and np.isfinite(case.C):
        gram = gram + groups.T @ np.diag(1.0 / case.budgets) @ groups
    limited = case.slack == "linear" and np.isfinite(case.C)
    alpha = _slsqp(
        lambda a: 0.5 * a @ gram @ a - values @ a, lambda a: gram @ a - values, np.zeros(len(values)),
        -groups if limited else np.zeros((0, len(values))), -case.budgets if limited else np.zeros(0),
        [0.0] * len(values),
    )  # fmt: skip
    alpha = np.maximum(alpha, 0.0)
    if limited:
        alpha *= np.minimum(1.0, case.budgets / np.maximum(groups @ alpha, 1e-300))[owner]
    return case.dual(alpha)
