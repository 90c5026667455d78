"""RNA sequences folded per CPU second beside ViennaRNA, and the growth of the cost with length.

Our weights are roughly those of energy models, so structures are alike. The models differ: that of ViennaRNA has
more special cases (tables of small interior loops, tetraloops), ours has weights that can be learnt, of the same kinds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.report import table

LENGTHS = (50, 100, 200, 500, 1000)
#: Sequences of each length, ours and ViennaRNA's: less than two CPU seconds per run.
COUNTS = {50: (400, 100), 100: (200, 40), 200: (80, 12), 500: (12, 2), 1000: (3, 1)}
RUNS = 3


def weights(structure: Any) -> np.ndarray:
    """Return weights of the signs and sizes of energies."""
    strength = {"AU": 1.0, "UA": 1.0, "CG": 2.0, "GC": 2.0, "GU": 0.2, "UG": 0.2}
    starts = {
        "hairpin length, ≥ 3": -4.0, "bulge length, ≥ 1": -2.5, "interior length, ≥ 2": -1.2,
        "closing pair, AU": -0.4, "closing pair, UA": -0.4, "multi-loop, loop": -3.0, "multi-loop, branch": -0.2,
    }  # fmt: skip
    each = {"hairpin length": -0.05, "bulge length": -0.15, "interior length": -0.1, "interior asymmetry": -0.2}
    w = 0.05 * np.random.default_rng(0).normal(size=structure.size)
    for k, name in enumerate(structure.feature_names()):
        kind, what = name.split(", ")
        w[k] += starts.get(name, 0.0) + each.get(kind, 0.0)
        if kind == "stacking":
            w[k] += sum(strength[pair] for pair in what.split()) / 2
    return w


def rate(call: Callable[[], Any], count: int) -> float:
    """Return sequences per CPU second, of the fastest of several calls."""
    best = np.inf
    for _ in range(RUNS):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return count / best


def measure(n: int, structure: Any, w: np.ndarray) -> dict[str, Any]:
    """Measure both packages on sequences of n bases."""
    import RNA

    rng, (ours, theirs) = np.random.default_rng(n), COUNTS[n]
    X = ["".join(rng.choice(list("ACGU"), n)) for _ in range(ours)]
    examples, ids = structure.encode(X), np.arange(ours)
    answers, zeros = examples.empty_answers(), np.zeros(ours)
    examples.decode(w, ids[:1], zeros[:1], answers)
    folded = rate(lambda: examples.decode(w, ids, zeros, answers), ours)
    vienna = rate(lambda: [RNA.fold(x) for x in X[:theirs]], theirs)
    began = time.process_time()
    structure.topk(w, X[0], 10)
    return {
        "maxmargin": folded, "ViennaRNA": vienna, "ratio": folded / vienna,
        "ten best, ms": 1000.0 * (time.process_time() - began),
        "pairs per sequence": float((answers.codes >= 0).sum()) / 2 / ours,
    }  # fmt: skip


def run() -> dict[str, Any]:
    structure = mm.Folding().fit(["GGGAAACCC"], ["(((...)))"])
    w = weights(structure)
    structure.topk(w, "GGGAAACCC", 2)
    found = {str(n): measure(n, structure, w) for n in LENGTHS}
    return {"lengths": found, "exponents": {who: exponents(found, who) for who in ("maxmargin", "ViennaRNA")}}


def exponents(found: dict[str, Any], who: str) -> dict[str, float]:
    """Return the growth of the seconds between two lengths, as an exponent of the length."""
    rates = {n: found[str(n)][who] for n in LENGTHS}
    return {f"{a} to {b}": float(np.log(rates[a] / rates[b]) / np.log(b / a)) for a, b in pairwise(LENGTHS)}


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [n, round(row["maxmargin"], 1), round(row["ViennaRNA"], 1), round(row["ratio"], 1),
         round(row["ten best, ms"], 1), round(row["pairs per sequence"])]
        for n, row in result["lengths"].items()
    ]  # fmt: skip
    growth = [
        [between, *(round(result["exponents"][who][between], 2) for who in ("maxmargin", "ViennaRNA"))]
        for between in result["exponents"]["maxmargin"]
    ]
    head = ["bases", "maxmargin per s", "ViennaRNA per s", "ratio", "ten best structures, ms", "pairs"]
    return (
        "# Folding\n\nRandom sequences folded per CPU second of one thread, in float64, with traces; the fastest of "
        "three runs on a loaded machine. " + __doc__.split("\n\n", 1)[1].strip() + f"\n\n{table(head, rows)}\n\n"
        "Growth of the seconds with length, as an exponent between two lengths:\n\n"
        + table(["bases", "maxmargin", "ViennaRNA"], growth)
    )
