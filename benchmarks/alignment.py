"""Alignments: decoders against parasail and Biopython, growth with length, score tables, and a fit of 1,000 pairs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated
from benchmarks.report import table
from maxmargin.features.biology.aligned import N_ORDERS
from maxmargin.structures.alignment import recursion as recursion

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
LENGTH, N_PAIRS, RESIDUES, TOGETHER = 300, 1000, 150, 32
LENGTHS = (50, 100, 200, 400, 800)
FEATURES = ("simple", "anova2", "tensor", "window")


def rates(tasks: dict[str, Callable[[], Any]], rounds: int = 25, least: float = 0.02) -> dict[str, float]:
    """Return calls per CPU second, the best of several rounds in which all tasks take turns."""
    repeats = {}
    for name, task in tasks.items():
        task()
        began = time.process_time()
        task()
        repeats[name] = max(1, int(least / max(time.process_time() - began, 1e-6)))
    best = dict.fromkeys(tasks, 0.0)
    for _ in range(rounds):
        for name, task in tasks.items():
            began = time.process_time()
            for _ in range(repeats[name]):
                task()
            best[name] = max(best[name], repeats[name] / (time.process_time() - began))
    return best


def ours(n: int, mode: int, rng: np.random.Generator) -> Callable[[], Any]:
    """Return an alignment of n × n random scores by our kernel, with affine gaps for each position."""
    scores = rng.normal(size=(n, n)) - 0.5
    opening, extending, ends = np.full(n, -3.0), np.full(n, -0.5), np.zeros(n)
    words, buffers = np.empty((recursion.n_words(n), n + 1), np.int64), np.empty((recursion.N_BUFFERS, n + 2))
    code = np.zeros(n + N_ORDERS, np.int32)
    arguments = (scores, opening, extending, opening, extending, ends, ends, mode, words, buffers, code)
    return lambda: recursion.best_alignment(*arguments)


def decoders() -> dict[str, float]:
    rng = np.random.default_rng(0)
    tasks = {
        "ours, global": ours(LENGTH, recursion.GLOBAL, rng),
        "ours, local": ours(LENGTH, recursion.LOCAL, rng),
        "ours, semi-global": ours(LENGTH, recursion.SEMIGLOBAL, rng),
    }
    a, b = ("".join(rng.choice(list(LETTERS), LENGTH)) for _ in range(2))
    try:
        import parasail

        for mode, short in (("global", "nw"), ("local", "sw")):
            for kind, suffix in (("scalar", ""), ("16-bit SIMD", "_striped_16")):
                align = getattr(parasail, f"{short}_trace{suffix}")
                tasks[f"parasail, {mode}, {kind}"] = lambda f=align: f(a, b, 11, 1, parasail.blosum62).cigar  # type: ignore[misc]
    except ImportError:
        pass
    try:
        from Bio.Align import PairwiseAligner, substitution_matrices

        for mode in ("global", "local"):
            peer = PairwiseAligner(mode=mode, open_gap_score=-11.0, extend_gap_score=-1.0)
            peer.substitution_matrix = substitution_matrices.load("BLOSUM62")
            tasks[f"Biopython, {mode}"] = lambda p=peer: p.align(a, b)[0].coordinates  # type: ignore[misc]
    except ImportError:
        pass
    return rates(tasks)


def annotated(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return a random protein with secondary structure and accessibility."""
    kinds = np.repeat(rng.choice(list("HEC"), n // 6 + 1), 6)[:n]
    letters = "".join(rng.choice(list(LETTERS), n))
    return {"sequence": letters, "ss": "".join(kinds), "accessibility": rng.random(n)}


def tables() -> dict[str, Any]:
    """Return tables of 300 × 300 scores, whole argmaxes and planes per second, by features: in batches and alone."""
    rng = np.random.default_rng(0)
    X = [(annotated(LENGTH, rng), annotated(LENGTH, rng)) for _ in range(TOGETHER)]
    Y, found = [(a["sequence"], b["sequence"]) for a, b in X], {}
    for features in FEATURES:
        structure = mm.Alignment(features=features, cost="q4")
        examples = structure.fit_encode(X, Y)
        w, answers = rng.normal(size=examples.dim) * 0.1, examples.empty_answers()
        w[-2:] = -1.0, -0.1
        cells = examples.blocks[0]
        row: dict[str, float] = {"weights": examples.dim}
        for n, suffix in ((TOGETHER, ""), (1, ", alone")):
            ids, ones = np.arange(n), np.ones(n)
            examples.decode(w, ids, ones, answers)
            tasks: dict[str, Callable[[], Any]] = {
                f"tables{suffix}": partial(cells.scores, w[: cells.dim], ids),
                f"argmaxes{suffix}": partial(examples.decode, w, ids, ones, answers),
                f"planes{suffix}": partial(examples.planes, ids, answers),
            }
            row |= {name: n * rate for name, rate in rates(tasks, rounds=8).items()}
        found[features] = row
    return found


def related(n: int, length: int, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Return pairs of related proteins with structure and accessibility, and their alignments."""
    X, Y = [], []
    for _ in range(n):
        base = annotated(length, rng)
        rows: list[str] = ["", ""]
        records: list[dict[str, Any]] = []
        for side in range(2):
            kept = rng.random(length) > 0.07
            changed = rng.random(length) < 0.6
            letters = [
                str(rng.choice(list(LETTERS))) if c else a for a, c in zip(base["sequence"], changed, strict=True)
            ]
            kinds = np.where(rng.random(length) < 0.15, rng.choice(list("HEC"), length), list(base["ss"]))
            rows[side] = "".join(c if k else "-" for c, k in zip(letters, kept, strict=True))
            open_to = np.clip(base["accessibility"] + 0.2 * rng.normal(size=length), 0, 1)
            records.append(
                {"sequence": rows[side].replace("-", ""), "ss": "".join(kinds[kept]), "accessibility": open_to[kept]}
            )
        columns = [(a, b) for a, b in zip(*rows, strict=True) if a + b != "--"]
        X.append(tuple(records))
        Y.append(("".join(a for a, _ in columns), "".join(b for _, b in columns)))
    return X, Y


def large_fit() -> dict[str, Any]:
    """Fit the Window model to 1,000 pairs of 150 residues."""
    rng = np.random.default_rng(0)
    X, Y = related(N_PAIRS + 100, RESIDUES, rng)
    mm.PairwiseAligner(features="window", loss="q4", C=0.001, n_jobs=1, max_iter=3, tol=0.5).fit(X[:9], Y[:9])
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.PairwiseAligner(features="window", loss="q4", C=0.001, n_jobs=1).fit(X[:N_PAIRS], Y[:N_PAIRS])
    certificate = model.certificate_
    return {
        "cpu": clock.cpu,
        "weights": len(model.coef_),
        "argmaxes": int(certificate.oracle_calls),
        "gap": float(certificate.gap),
        "stop": model.stop_reason_,
        "q4": model.score(X[N_PAIRS:], Y[N_PAIRS:]),
    }


def run() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    growth = rates({str(n): ours(n, recursion.GLOBAL, rng) for n in LENGTHS}, rounds=6)
    return {"decoders": decoders(), "growth": growth, "tables": tables(), "fit": isolated(large_fit)}


def markdown(result: dict[str, Any]) -> str:
    """Return all tables."""
    found = result["decoders"]
    rows = []
    for name, rate in found.items():
        kind = "local" if "local" in name else "global"
        scalar, peer = found.get(f"parasail, {kind}, scalar"), found.get(f"Biopython, {kind}")
        rows.append([name, round(rate), *(f"{rate / other:.2f}" if other else None for other in (scalar, peer))])
    growth = [[n, round(rate), f"{rate * int(n) ** 2 / 1e6:.0f}"] for n, rate in result["growth"].items()]
    sums = [[name, *(round(value) for value in row.values())] for name, row in result["tables"].items()]
    fit, columns = result["fit"], next(iter(result["tables"].values()))
    return (
        "# Alignments\n\n"
        f"{LENGTH} × {LENGTH} cells, affine gaps, with trace, float64 (parasail: 16-bit or 32-bit integers and one "
        "matrix for all positions), per CPU second of one core, the best of rounds in which all take turns. The "
        "machine was loaded: compare the ratios.\n\n"
        + table(["decoder", "per s", "ratio to parasail scalar", "ratio to Biopython"], rows)
        + "\n\nGrowth with length (ours, global):\n\n"
        + table(["length", "per s", "million cells per s"], growth)
        + f"\n\nTables of scores, whole argmaxes (score, cost, align, judge) and planes, {LENGTH} × {LENGTH}, with "
        f"letters, secondary structure and accessibility; {TOGETHER} pairs in a call, and one:\n\n"
        + table(["features", *(name if name == "weights" else f"{name} per s" for name in columns)], sums)
        + f"\n\nFit of the Window model to {N_PAIRS} pairs of {RESIDUES} residues (Q4-loss, C = 0.001, tol = 0.01, one "
        f"thread): {fit['weights']} weights, {fit['cpu']:.0f} CPU s, {fit['argmaxes']} argmaxes, gap {fit['gap']:.2g} "
        f"({fit['stop']}), peak memory of the process {fit['peak_mb']:.0f} MB; Q4 on 100 test pairs {fit['q4']:.3f}."
    )
