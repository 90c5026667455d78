"""Min-max programs against planes: disulfide bonds as matchings, by n, C and the number of features.

The data are those of `papers.p3_disulfide` (bonding state known, windows + separation + products, 578 features): 425
chains of 4 to 10 cysteines. All ways minimise the same kind of program, to a relative gap of 1e-4:

    planes          solver="auto": argmaxes by recursion over subsets
    minmax          solver="minmax": node and odd-set prices, the same objective as planes
    certificate     solver="certificate": node prices, the objective of Taskar et al. 2005 (an upper bound)
    distances       the same objective in the variables of their Eq. 13
    Clarabel        node prices, method="general"
    cvxpy           node prices as written in cvxpy, with its default solver

CPU seconds in one thread, without encoding the data; for cvxpy, with its compilation of the program.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.matchings import load_disulfide
from benchmarks.papers.p3_disulfide import FEATURES, example
from benchmarks.report import FOLDER, table
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.engines.engine import one_blas_thread
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits, Solver
from maxmargin.solvers.minmax.solver import CertificateProgram, MinMax
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets

SIZES = (50, 150, 250, 350, 425)
#: Values of C, and the number of chains for them.
TRADE_OFFS, SOME = (0.01, 1.0, 100.0, 1e4), 50
WIDTHS = (100, 500, 1600)
PARTS = (3, 6, 12)
#: A large C for all chains.
LARGE = 100.0
TOL = 1e-4
WAYS: dict[str, Solver] = {
    "planes": ProximalWorkingSets(),
    "minmax": MinMax(),
    "certificate": CertificateProgram(accuracy=TOL),
    "distances": CertificateProgram(form="distances", accuracy=TOL),
    "Clarabel": CertificateProgram(method="general", accuracy=1e-6),
}

#: Ways that are compared by C.
SEVERAL = ("planes", "minmax", "certificate")


def problem(X: list[Any], Y: list[Any], C: float) -> Problem:
    examples = mm.Matching().fit_encode(X, Y)
    return Problem(examples, Bound(), Objective(C, np.ones(len(X))))


def measured(solver: Solver, task: Problem) -> dict[str, float | None]:
    """Return CPU seconds, steps, objective and lower bound; relaxations stop at their own accuracy."""
    began = time.process_time()
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = solver.init(task, 0)
        solver.run(task, state, Limits(TOL, 2000))
    found = state.certificate(task)
    return {
        "cpu": time.process_time() - began, "steps": state.iteration, "primal": found.primal, "dual": found.dual,
        "relaxation": found.relaxation,
    }  # fmt: skip


def by_cvxpy(X: list[Any], Y: list[Any], C: float) -> dict[str, Any] | None:
    """Minimise the program of node prices with cvxpy's default solver."""
    try:
        cvxpy: Any = import_module("cvxpy")
    except ImportError:
        return None
    task = problem(X, Y, C)
    examples = task.examples
    began = time.process_time()
    w, cost, limits = cvxpy.Variable(task.dim), 0.0, []
    for i in range(task.n_examples):
        polytope = examples.certificate_polytope(i, "prices").polytope
        features, (_, costs, truth) = examples.part_features(i), examples.part_gains(np.zeros(task.dim), i)
        prices = cvxpy.Variable(polytope.A.shape[0])
        limits.append(polytope.A.T @ prices >= features @ w + costs)
        cost = cost + cvxpy.sum(prices) - truth @ (features @ w) - truth @ costs
    program = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w) + C * cost), limits)
    program.solve()
    seconds = time.process_time() - began
    return {"cpu": seconds, "relaxation": float(program.value), "solver": program.solver_stats.solver_name}


def disulfide(n: int) -> tuple[list[Any], list[Any]]:
    chains, rng = load_disulfide(), np.random.default_rng(0)
    chosen = [chains[i] for i in rng.permutation(len(chains))[:n]]
    pairs = [example(chain, FEATURES[2], True, None, rng)[:2] for chain in chosen]
    return [x for x, _ in pairs], [y for _, y in pairs]


def generated(d: int) -> tuple[list[Any], list[Any]]:
    """450 graphs of the sizes of Taskar et al. 2005 with dense features, labelled by weights and noise."""
    rng = np.random.default_rng(0)
    sizes = np.array([4] * 160 + [6] * 146 + [8] * 99 + [10] * 45)
    truth, maker = rng.normal(size=d) / np.sqrt(d), mm.Matching()
    X = [rng.normal(size=(n, n, d)).astype(np.float32) for n in sizes]
    scores = [(x @ truth + 0.3 * rng.normal(size=x.shape[:2]))[..., None] for x in X]
    maker.fit(scores[:1], [[1, 0, 3, 2]])
    return X, [maker.argmax(np.ones(1), score) for score in scores]


def assignments(m: int) -> Callable[[], Problem]:
    """100 assignments of m to m nodes with 50 features of pairs, labelled by weights and noise."""
    rng = np.random.default_rng(0)
    X, truth = [rng.normal(size=(m, m, 50)) for _ in range(100)], rng.normal(size=50) / np.sqrt(50)
    maker = mm.BipartiteMatching().fit(X[:1], [list(range(m))])
    Y = [maker.argmax(truth + 0.05 * rng.normal(size=50), x) for x in X]
    examples = maker.encode(X, Y)
    return lambda: Problem(examples, Bound(), Objective(1.0, np.ones(len(X))))


def run() -> dict[str, Any]:
    X, Y = disulfide(425)
    for solver in (WAYS["planes"], WAYS["minmax"]):
        measured(solver, problem(X[:30], Y[:30], 1.0))  # compiles functions
    by_n = []
    for n in SIZES:
        row: dict[str, Any] = {"n": n}
        for name, solver in WAYS.items():
            row[name] = measured(solver, problem(X[:n], Y[:n], 1.0))
        row["cvxpy"] = by_cvxpy(X[:n], Y[:n], 1.0)
        print(row, flush=True)
        by_n.append(row)
    by_C = []
    for C in TRADE_OFFS:
        row = {"C": C} | {name: measured(WAYS[name], problem(X[:SOME], Y[:SOME], C)) for name in SEVERAL}
        print(row, flush=True)
        by_C.append(row)
    large = {"C": LARGE} | {name: measured(WAYS[name], problem(X, Y, LARGE)) for name in SEVERAL}
    print(large, flush=True)
    by_d = []
    for d in WIDTHS:
        graphs = generated(d)
        row = {"d": d} | {name: measured(WAYS[name], problem(*graphs, 1.0)) for name in ("planes", "certificate")}
        print(row, flush=True)
        by_d.append(row)
    by_parts = []
    for m in PARTS:
        task = assignments(m)
        row = {"parts": m * m} | {name: measured(WAYS[name], task()) for name in ("planes", "minmax")}
        print(row, flush=True)
        by_parts.append(row)
    result = {"by_n": by_n, "by_C": by_C, "by_d": by_d, "by_parts": by_parts, "large": large}
    draw(result)
    return result


def markdown(result: dict[str, Any]) -> str:
    names = [*WAYS, "cvxpy"]
    rows = [[row["n"], *(_cpu(row.get(name)) for name in names)] for row in result["by_n"]]
    last = result["by_n"][-1]
    excess = [
        [
            row["C"], _cpu(row["planes"]), row["planes"]["steps"], _cpu(row["minmax"]), row["minmax"]["steps"],
            _cpu(row["certificate"]), row["minmax"]["primal"], row["certificate"]["relaxation"],
        ]
        for row in result["by_C"]
    ]  # fmt: skip
    used = next((row["cvxpy"]["solver"] for row in result["by_n"] if row.get("cvxpy")), None)
    wide = [[row["d"], _cpu(row["planes"]), _cpu(row["certificate"])] for row in result["by_d"]]
    return "\n\n".join(
        [
            "# Min-max programs and planes: disulfide bonds",
            "CPU seconds to a relative gap of 1e-4, one thread, without encoding; C = 1, 578 features. `certificate`, "
            "`distances`, Clarabel and cvxpy minimise an upper bound on the objective (fractional matchings).",
            table(["n", *names], rows),
            f"cvxpy's default solver was {used}, timed with the compilation of its program. The relaxed optimum at "
            f"n = {last['n']} is at least {last['certificate']['relaxation']:.6g}, the exact one at most "
            f"{last['minmax']['primal']:.6g}.",
            f"By C, n = {SOME}:",
            table(["C", "planes", "steps", "minmax", "steps", "certificate", "objective", "relaxed objective"], excess),
            f"C = {LARGE:g}, n = {last['n']}: planes {result['large']['planes']['cpu']:.1f} s in "
            f"{result['large']['planes']['steps']} steps, minmax {result['large']['minmax']['cpu']:.1f} s, certificate "
            f"{result['large']['certificate']['cpu']:.1f} s.",
            "By the number of features d: 450 generated graphs of 4 to 10 nodes, dense features, C = 1:",
            table(["d", "planes", "certificate"], wide),
            "By the number of parts: 100 assignments of m to m nodes, 50 features, C = 1:",
            table(
                ["pairs", "planes", "minmax"],
                [[row["parts"], _cpu(row["planes"]), _cpu(row["minmax"])] for row in result["by_parts"]],
            ),
            "![time by C](minmax.png)",
        ]
    )


def _cpu(found: dict[str, Any] | None) -> float | None:
    return None if found is None else round(found["cpu"], 2)


def draw(result: dict[str, Any]) -> None:
    """Draw CPU seconds by n and by C."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), sharey=True, layout="constrained")
    marks = dict(zip([*WAYS, "cvxpy"], "os^vDx", strict=True))
    curves: list[tuple[Any, str, str, Callable[[str], bool]]] = [
        (left, "by_n", "n", lambda _: True), (right, "by_C", "C", lambda name: name in result["by_C"][0]),
    ]  # fmt: skip
    for axis, key, x, wanted in curves:
        for name, mark in marks.items():
            points = [(row[x], row[name]["cpu"]) for row in result[key] if wanted(name) and row.get(name)]
            if points:
                axis.plot(*zip(*points, strict=True), marker=mark, label=name)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
        axis.set_xlabel(x)
    right.set_xscale("log")
    left.set_ylabel("CPU seconds to a gap of 1e-4")
    left.set_title("C = 1")
    right.set_title(f"n = {SOME}")
    right.legend(*left.get_legend_handles_labels(), loc="upper left", fontsize=8, ncols=3)
    figure.savefig(FOLDER / "minmax.png", dpi=120)
    plt.close(figure)
