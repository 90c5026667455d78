"""Spanning trees on the parts layer: decoding, planes and whole fits, beside a bare sum of features and the argmax."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import maxmargin as mm
from benchmarks.measure import isolated
from benchmarks.report import table
from maxmargin.structures.tree import _jit

#: (nodes besides the root, trees, features per arc)
SIZES = ((10, 1000, 50), (20, 400, 50), (40, 120, 50))
RUNS = 15


def trees(n: int, count: int, width: int) -> tuple[list[Any], list[Any]]:
    """Return random graphs and their best trees under random weights, with some noise."""
    rng = np.random.default_rng(n)
    w, X, Y = rng.normal(size=width), [], []
    maker = mm.Tree().fit([rng.normal(size=(n + 1, n + 1, width))], [[0] * n])
    for _ in range(count):
        x = rng.normal(size=(n + 1, n + 1, width))
        X.append(x)
        Y.append(maker.argmax(w + 0.3 * rng.normal(size=width), x))
    return X, Y


def best(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of the fastest of several calls."""
    call()
    seconds = []
    for _ in range(RUNS):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return min(seconds)


def rates(n: int, count: int, width: int) -> dict[str, Any]:
    """Return trees per CPU second of one thread, each way in turn on the same data."""
    X, Y = trees(n, count, width)
    examples = mm.Tree().fit_encode(X, Y)
    block, ids, answers = examples.blocks[0], np.arange(count), examples.empty_answers()
    w, ones = np.random.default_rng(0).normal(size=width), np.ones(count)
    assert block.dense is not None and block.forbidden is not None
    dense, forbidden = block.dense, block.forbidden

    def bare() -> None:
        scores = dense @ w
        scores[forbidden] = -np.inf
        _jit.best_rooted_trees(ids, scores, block.offsets, examples.code_offsets, False, answers.codes)

    def layer() -> None:
        examples.decode(w, ids, ones, answers)

    with threadpool_limits(1):  # of BLAS
        return {
            "bare": count / best(bare),
            "layer": count / best(layer),
            "planes": count / best(lambda: examples.planes(ids, answers)),
        }


def fit(n: int, count: int, width: int) -> dict[str, Any]:
    """Return CPU seconds and sweeps of a fit to a gap of 0.1 %, functions loaded before."""
    X, Y = trees(n, count, width)
    mm.StructuralSVM(mm.Tree(), tol=0.5, n_jobs=1).fit(X[:20], Y[:20])
    began = time.process_time()
    model = mm.StructuralSVM(mm.Tree(), C=0.1, n_jobs=1).fit(X, Y)
    certificate = model.certificate_
    return {"cpu": time.process_time() - began, "sweeps": certificate.oracle_calls / count, "gap": certificate.gap}


def run() -> dict[str, Any]:
    """Measure every size in a process of its own."""
    return {
        "rates": {str(size): isolated(rates, *size) for size in SIZES},
        "fits": {str(size): isolated(fit, *size) for size in SIZES},
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the two tables."""
    rows, fits = [], []
    for size in SIZES:
        cell, fitted = result["rates"][str(size)], result["fits"][str(size)]
        ratio = f"{cell['layer'] / cell['bare']:.2f}"
        rows.append([size[0], size[2], round(cell["bare"]), round(cell["layer"]), ratio, round(cell["planes"])])
        fits.append([size[0], size[1], size[2], fitted["cpu"], round(fitted["sweeps"]), f"{fitted['gap']:.1e}"])
    head = [
        "nodes",
        "features",
        "features × weights by BLAS, then the argmax",
        "loss-augmented decode",
        "ratio",
        "planes",
    ]
    return (
        "# Spanning trees\n\nTrees per CPU second of one thread, dense features, whole batches.\n\n"
        + table(head, rows)
        + "\n\nWhole fits at C = 0.1 to a relative gap of 0.1 %, encoding included.\n\n"
        + table(["nodes", "trees", "features", "CPU s", "sweeps", "gap"], fits)
    )
