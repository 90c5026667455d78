"""Costs of optimisers: SPO+ by PyEPO (Adam) and by CostLearner (certified) on PyEPO's generators, and InvOpt.

Both are tuned by the same 5 folds: PyEPO by learning rate and number of epochs, CostLearner by C. Only the training
data choose. PyEPO's SPO+ loss and ours are compared at PyEPO's weights.
"""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import isolated
from benchmarks.report import table

CS = (0.001, 0.01, 0.1, 1.0)
RATES, EPOCHS = (0.01, 0.1), {100: (10, 30, 100), 1000: (3, 10, 20)}
FOLDS, TEST, FEATURES = 5, 1000, 5
#: (problem, examples, degrees, seeds)
SETTINGS = (("path", 100, (1, 4, 6), (0, 1)), ("path", 1000, (1, 4, 6), (0,)), ("knapsack", 100, (1, 4, 6), (0, 1)))
NOISE = 0.5


def grid_arcs(size: int) -> list[tuple[int, int]]:
    """Return the arcs of a grid in PyEPO's order."""
    arcs = []
    for i in range(size):
        arcs += [(i * size + j, i * size + j + 1) for j in range(size - 1)]
        if i < size - 1:
            arcs += [(i * size + j, (i + 1) * size + j) for j in range(size)]
    return arcs


def data(kind: str, n: int, degree: int, seed: int) -> tuple[Any, Any, mm.Optimizer]:
    """Return features, costs and the optimiser of one of PyEPO's problems."""
    import pyepo

    if kind == "path":
        x, c = pyepo.data.shortestpath.genData(n + TEST, FEATURES, (5, 5), degree, NOISE, seed)
        return x, c.astype(float), mm.Optimizer.shortest_path(grid_arcs(5), 0, 24)
    weights, x, c = pyepo.data.knapsack.genData(n + TEST, FEATURES, 16, 2, degree, NOISE, seed)
    return x, c.astype(float), mm.Optimizer.knapsack(weights, [20.0, 20.0])


def pyepo_model(optimizer: mm.Optimizer) -> Any:
    """Return our compiled optimiser as a model of PyEPO so that only the learning differs."""
    from pyepo import EPO
    from pyepo.model.opt import optModel

    class Compiled(optModel):
        modelSense = EPO.MINIMIZE if optimizer.sense == "min" else EPO.MAXIMIZE

        def get_config(self) -> dict[str, Any]:
            return {}

        def _getModel(self) -> Any:
            return None, list(range(optimizer.n_variables or 0))

        def setObj(self, c: Any) -> None:
            self.c = np.asarray(c, float)

        def solve(self) -> Any:
            z = optimizer.solve(self.c)
            return z.astype(np.float32), float(z @ self.c)

    return Compiled()


def train_pyepo(model: Any, x: Any, c: Any, rate: float, epochs: tuple[int, ...]) -> dict[int, Any]:
    """Return weights and intercepts of a linear model after each number of epochs."""
    import pyepo
    import torch

    torch.manual_seed(0)
    dataset = pyepo.data.dataset.optDataset(model, x.astype(np.float32), c.astype(np.float32))
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)
    net = torch.nn.Linear(x.shape[1], c.shape[1])
    loss_of, adam = pyepo.func.SPOPlus(model, processes=1), torch.optim.Adam(net.parameters(), lr=rate)
    kept: dict[int, Any] = {}
    for epoch in range(1, max(epochs) + 1):
        for xb, cb, wb, zb in loader:
            loss = loss_of(net(xb), cb, wb, zb)
            adam.zero_grad()
            loss.backward()
            adam.step()
        if epoch in epochs:
            kept[epoch] = [net.weight.detach().numpy().astype(float), net.bias.detach().numpy().astype(float)]
            kept[epoch] = [part.copy() for part in kept[epoch]]
    with torch.no_grad():
        whole = torch.utils.data.DataLoader(dataset, batch_size=len(x))
        kept[0] = sum(float(loss_of(net(xb), cb, wb, zb)) for xb, cb, wb, zb in whole)
    return kept


def regret_of(optimizer: mm.Optimizer, predicted: Any, c: Any) -> float:
    ids = np.arange(len(c))
    found, best = (optimizer.decide(optimizer.sign * v, None, ids).decisions for v in (predicted, c))
    totals, least = (found * c).sum(axis=1), (best * c).sum(axis=1)
    return float((optimizer.sign * (totals - least)).sum() / np.abs(least).sum())


def spo_plus(optimizer: mm.Optimizer, predicted: Any, c: Any) -> float:
    """Return the mean SPO+ loss by its definition."""
    ids, p, t = np.arange(len(c)), optimizer.sign * predicted, optimizer.sign * c
    worst, best = (optimizer.decide(v, None, ids).decisions for v in (2 * p - t, t))
    return float(((t - 2 * p) * worst + (2 * p - t) * best).sum(axis=1).mean())


def folds(n: int) -> list[tuple[Any, Any]]:
    parts = np.array_split(np.random.default_rng(0).permutation(n), FOLDS)
    return [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(FOLDS)]


def tuned_pyepo(model: Any, optimizer: mm.Optimizer, x: Any, c: Any, n: int) -> dict[str, Any]:
    began, epochs = time.process_time(), EPOCHS[n]
    scores: dict[tuple[float, int], float] = dict.fromkeys(itertools.product(RATES, epochs), 0.0)
    for train, held in folds(n):
        for rate in RATES:
            for epoch, kept in train_pyepo(model, x[train], c[train], rate, epochs).items():
                if epoch:
                    scores[rate, epoch] += regret_of(optimizer, x[held] @ kept[0].T + kept[1], c[held])
    rate, epoch = min(scores, key=lambda key: scores[key])
    once = time.process_time()
    found = train_pyepo(model, x[:n], c[:n], rate, (epoch,))
    spent = time.process_time() - began
    B, b = found[epoch]
    return {
        "cpu": spent, "fit": time.process_time() - once, "regret": regret_of(optimizer, x[n:] @ B.T + b, c[n:]),
        "theirs": found[0], "ours": spo_plus(optimizer, x[:n] @ B.T + b, c[:n]),
    }  # fmt: skip


def tuned_ours(optimizer: mm.Optimizer, x: Any, c: Any, n: int, prior: Any) -> dict[str, Any]:
    began = time.process_time()
    learner = mm.CostLearner(optimizer, prior=prior, tol=1e-2, n_jobs=1)
    scores = np.zeros(len(CS))
    for train, held in folds(n):
        path = mm.regularization_path(learner, x[train], c[train], Cs=CS)
        scores += [model.score(x[held], c[held]) for model in path]
    once = time.process_time()
    model = learner.set_params(C=CS[int(np.argmax(scores))]).fit(x[:n], c[:n])
    ended = time.process_time()
    return {
        "cpu": ended - began, "fit": ended - once, "C": model.C, "gap": model.certificate_.gap,
        "regret": -model.score(x[n:], c[n:]), "two_stage": -model.two_stage_score(x[n:], c[n:]),
        "spo_plus": spo_plus(optimizer, model.predict_costs(x[:n]), c[:n]),
    }  # fmt: skip


def compare(kind: str, n: int, degree: int, seed: int) -> dict[str, Any]:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    x, c, optimizer = data(kind, n, degree, seed)
    mm.CostLearner(optimizer, tol=0.5, n_jobs=1).fit(x[:30], c[:30])  # kernels are loaded
    result: dict[str, Any] = {
        "plain": tuned_ours(optimizer, x, c, n, None), "prior": tuned_ours(optimizer, x, c, n, "least-squares"),
        "pyepo": tuned_pyepo(pyepo_model(optimizer), optimizer, x, c, n),
    }  # fmt: skip
    if (kind, degree, seed) == ("path", 4, 0) and n == 100:
        import pyepo.model.ort

        result["ortools"] = tuned_pyepo(pyepo.model.ort.shortestPathModel((5, 5)), optimizer, x, c, n)
    return result


def invopt(noise: float) -> dict[str, Any]:
    """Return wrong entries and CPU seconds on InvOpt's binary programs, the same forward problem for both."""
    import invopt as iop

    n, t, N = 10, 5, 200
    every = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    rows: dict[str, list[Any]] = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        theta = rng.random(n)

        def sample(count: int, spread: float, rng: Any = rng, theta: Any = theta) -> list[Any]:
            out: list[Any] = []
            while len(out) < count:
                A, b = -rng.random((t, n)), -(n / 3) * rng.random(t)
                allowed = every[(every @ A.T <= b).all(axis=1)]
                if len(allowed):
                    costs = np.clip(theta + spread * rng.normal(size=n), 0, None)
                    out.append((allowed, allowed[np.argmin(allowed @ costs)]))
            return out

        train, test = sample(N, noise), sample(N, 0.0)
        best = mm.Optimizer(lambda costs, allowed: allowed[np.argmin(allowed @ costs)], n)
        eyes = np.broadcast_to(np.eye(n), (N, n, n))

        def put(name: str, w: Any, seconds: float, test: Any = test) -> None:
            wrong = np.mean([np.abs(s[np.argmin(s @ w)] - z).sum() for s, z in test])
            rows.setdefault(name, []).append((wrong, seconds))

        for C in (np.inf, 5.0, 0.5) if noise == 0 else (50.0, 5.0, 0.5):  # C = 1 / (N κ)
            learner = mm.CostLearner(best, weights="shared", standardize=False, fit_intercept=False, C=C)
            began = time.process_time()
            learner.fit(eyes, decisions=[z for _, z in train], instances=[s for s, _ in train])
            put(f"CostLearner, C = {C:g}", learner.coef_, time.process_time() - began)
        epochs, positive = {"batch_type": "reshuffled"}, {"Theta": "nonnegative"}
        for name, T, reg, more in (
            ("InvOpt subgradient, 500 steps, κ = 0.01", 500, 0.01, {}),
            ("InvOpt subgradient, 500 steps, κ = 0.001", 500, 0.001, {}),
            ("InvOpt subgradient, 500 steps, κ = 0.001, θ ≥ 0", 500, 0.001, positive),
            ("InvOpt stochastic, 50 epochs, κ = 0.01", 50, 0.01, epochs),
            ("InvOpt stochastic, 50 epochs, κ = 0.001", 50, 0.001, epochs),
        ):  # fmt: skip
            np.random.seed(0)
            began = time.process_time()
            w = iop.FOM(
                train, lambda s, z: z, np.random.rand(n), lambda w, s, z: s[np.argmin(s @ (w + 2 * z - 1))],
                lambda k: 0.5 / np.sqrt(k + 1), T, reg_param=reg, averaged=2, **more,
            )  # fmt: skip
            put(name, w, time.process_time() - began)
    return {name: np.mean(values, axis=0).tolist() for name, values in rows.items()}


def run() -> dict[str, Any]:
    """Measure every setting in a process of its own."""
    result: dict[str, Any] = {"spo": {}, "invopt": {}}
    for kind, n, degrees, seeds in SETTINGS:
        for degree in degrees:
            for seed in seeds:
                result["spo"][f"{kind} {n} {degree} {seed}"] = isolated(compare, kind, n, degree, seed)
    for noise in (0.0, 0.1):
        found = isolated(invopt, noise)
        result["invopt"][str(noise)] = {name: value for name, value in found.items() if name != "peak_mb"}
    return result


def markdown(result: dict[str, Any]) -> str:
    """Return the tables."""
    rows, worst = [], 0.0
    for kind, n, degrees, seeds in SETTINGS:
        for degree in degrees:
            cells = [result["spo"][f"{kind} {n} {degree} {seed}"] for seed in seeds]
            worst = max([worst, *(abs(c["pyepo"]["theirs"] / c["pyepo"]["ours"] - 1.0) for c in cells)])

            def mean(name: str, key: str, cells: Any = cells) -> float:
                return float(np.mean([cell[name][key] for cell in cells]))

            rows.append([
                kind, n, degree, f"{100 * mean('plain', 'two_stage'):.2f}", f"{100 * mean('pyepo', 'regret'):.2f}",
                f"{100 * mean('plain', 'regret'):.2f}", f"{100 * mean('prior', 'regret'):.2f}",
                f"{mean('pyepo', 'cpu'):.1f}", f"{mean('plain', 'cpu'):.2f}", f"{mean('prior', 'cpu'):.2f}",
                f"{mean('pyepo', 'cpu') / mean('plain', 'cpu'):.0f}", f"{mean('pyepo', 'fit'):.2f}",
                f"{mean('plain', 'fit'):.3f}",
            ])  # fmt: skip
    head = [
        "problem", "n", "degree", "least squares", "PyEPO", "ours", "ours around least squares", "PyEPO CPU s",
        "ours CPU s", "ours around least squares CPU s", "ratio", "PyEPO, one fit", "ours, one fit",
    ]  # fmt: skip
    ortools = next(cell["ortools"] for cell in result["spo"].values() if "ortools" in cell)
    text = (
        "# Costs of optimisers\n\nSPO+ on PyEPO's generators (5 features, multiplicative noise ±50 %): normalised "
        "regret on 1000 test examples in per cent, means over seeds, and CPU seconds of one thread including the "
        f"choice of hyper-parameters by the same {FOLDS} folds: C from {', '.join(map(str, CS))} here (one path over "
        "C for each fold, to a gap of 1 %), learning rate and epochs for PyEPO (Adam, batches of 32). Both call the "
        "same compiled optimiser.\n\n" + table(head, rows)
    )
    text += (
        f"\n\nPyEPO with its own OR-tools model (path, n = 100, degree 4, seed 0): {ortools['cpu']:.1f} CPU s, regret "
        f"{100 * ortools['regret']:.2f} %. PyEPO's SPO+ loss and the definition evaluated at PyEPO's weights with our "
        f"optimisers differ by at most {worst:.1e} (relative). PyEPO has no travelling-salesman model for OR-tools: "
        "those need Gurobi, COPT or Pyomo, and were not run.\n\nInverse optimisation, InvOpt's binary programs (10 "
        "variables, 5 constraints, 200 examples, 3 seeds), the same forward problem: wrong entries per test decision, "
        "CPU s.\n\n"
    )
    inverse = [
        ["none" if noise == "0.0" else noise, name, f"{wrong:.3f}", f"{seconds:.2f}"]
        for noise, found in result["invopt"].items()
        for name, (wrong, seconds) in found.items()
    ]
    return text + table(["noise", "method", "wrong entries", "CPU s"], inverse)
