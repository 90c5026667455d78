"""Do et al. 2008, table 2: recall of alignments of proteins by the identity of the pair, convex bound and ramp.

Pairs of SCOPe domains (not the 1,785 pairs of the paper), at most 12 of a SCOP fold, in four groups without common
folds. The loss is 1 − recall. C is chosen on group 0, by models of the other groups; groups 1, 2 and 3 are tested, each
with models of the other three.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.protein_pairs import ProteinPair, capped, groups_of_folds, load_pairs
from benchmarks.measure import Clock
from benchmarks.papers import publish
from benchmarks.report import table
from maxmargin.metrics import alignment_recall

LONGEST, MOST, N_GROUPS, N_TRAIN = 200, 12, 4, 300
BLOSUM = {"matrix": "BLOSUM62", "scale": 0.02 * 0.3176}
ODDS = {"matrix": "log-odds", "scale": 0.02}
C_VALUES = (0.0001, 0.0004, 0.0016)
METHODS: dict[str, dict[str, Any]] = {
    "convex": {"bound": "margin", "features": "simple", "prior": None},
    "convex, centre BLOSUM62": {"bound": "margin", "features": "simple", "prior": BLOSUM},
    "ramp, centre BLOSUM62": {"bound": "ramp", "features": "simple", "prior": BLOSUM},
    "convex, centre log odds, Window": {"bound": "margin", "features": "window", "prior": ODDS},
    "ramp, centre log odds, Window": {"bound": "ramp", "features": "window", "prior": ODDS},
}
BASELINES: dict[str, Any] = {"Biopython, BLOSUM62": mm.MatrixAligner, "log odds": mm.LogOddsAligner}
PAIRED = (
    ("ramp, centre BLOSUM62", "convex, centre BLOSUM62"),
    ("ramp, centre log odds, Window", "convex, centre log odds, Window"),
    ("ramp, centre log odds, Window", "Biopython, BLOSUM62"),
)
BINS = {"0–10 %": (-1, 0.105), "11–20 %": (0.105, 0.205), "21–30 %": (0.205, 0.305), "31+ %": (0.305, 2.0)}
PAPER = {
    "CRF": (0.111, 0.316, 0.634, 0.877, 0.430),
    "convex": (0.116, 0.369, 0.699, 0.891, 0.472),
    "ramp": (0.138, 0.387, 0.708, 0.905, 0.488),
}


def data(pairs: list[ProteinPair]) -> tuple[list[Any], list[Any]]:
    return [p.letters for p in pairs], [p.alignment for p in pairs]


def fitted(C: float, pairs: list[ProteinPair], parameters: dict[str, Any]) -> mm.PairwiseAligner:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mm.PairwiseAligner(C=C, tol=0.03, n_jobs=1, **parameters).fit(*data(pairs))


def run() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    pairs = capped([p for p in load_pairs("protein_align_scope_tmalign") if p.longest <= LONGEST], MOST, rng)
    group = groups_of_folds(pairs, N_GROUPS)
    groups = [[p for p in pairs if group[p.fold] == k] for k in range(N_GROUPS)]
    others = [[p for p in pairs if group[p.fold] != k][:N_TRAIN] for k in range(N_GROUPS)]
    tests = [p for k in range(1, N_GROUPS) for p in groups[k]]
    recalls: dict[str, list[float]] = {}
    rows: dict[str, Any] = {}
    for name, parameters in METHODS.items():
        clock = Clock()
        quality = [fitted(C, others[0], parameters).score(*data(groups[0])) for C in C_VALUES]
        C = C_VALUES[int(np.argmax(quality))]
        rows[name] = {"C": C, "zero": False}
        for k in range(1, N_GROUPS):
            model = fitted(C, others[k], parameters)
            X, Y = data(groups[k])
            recalls.setdefault(name, []).extend(alignment_recall(Y, model.predict(X)).tolist())
            rows[name]["zero"] |= not model.coef_.any()
        rows[name]["cpu"] = clock.cpu
        print(name, C, np.mean(recalls[name]), clock.cpu, flush=True)
    for name, kind in BASELINES.items():
        for k in range(1, N_GROUPS):
            X, Y = data(groups[k])
            found = kind(n_tune=None).fit(*data(others[k])).predict(X)
            recalls.setdefault(name, []).extend(alignment_recall(Y, found).tolist())
    share, result = np.array([p.identity for p in tests]), {}
    for name, values in recalls.items():
        found = np.array(values)
        by_bin = {bin: float(found[(share > a) & (share <= b)].mean()) for bin, (a, b) in BINS.items()}
        error = float(found.std(ddof=1) / np.sqrt(len(found)))
        result[name] = {**by_bin, "overall": float(found.mean()), "error": error, **rows.get(name, {})}
    gains = {}
    for one, other in PAIRED:
        gain = np.array(recalls[one]) - np.array(recalls[other])
        gains[f"{one} − {other}"] = [float(gain.mean()), float(1.96 * gain.std(ddof=1) / np.sqrt(len(gain)))]
    counts = {bin: int(((share > a) & (share <= b)).sum()) for bin, (a, b) in BINS.items()}
    return {"methods": result, "counts": counts, "gains": gains, "groups": [len(g) for g in groups]}


def markdown(result: dict[str, Any]) -> str:
    """Return recalls by identity, beside those of the paper."""
    rows = [
        [name, *(f"{row[bin]:.3f}" for bin in BINS), f"{row['overall']:.3f} ± {row['error']:.3f}",
         row.get("C"), row.get("cpu") and f"{row['cpu']:.0f}"]
        for name, row in result["methods"].items()
    ]  # fmt: skip
    rows += [[f"paper: {name}", *(f"{v:.3f}" for v in values), None, None] for name, values in PAPER.items()]
    zero = [name for name, row in result["methods"].items() if row.get("zero")]
    counts = ", ".join(f"{n} of {bin}" for bin, n in result["counts"].items())
    gains = "; ".join(f"{name}: {v:+.3f} ± {e:.3f}" for name, (v, e) in result["gains"].items())
    note = f" All weights of {' and '.join(zero)} are 0 in at least one group." if zero else ""
    return (
        "# Recall of alignments by identity (Do et al. 2008, table 2)\n\n"
        f"Pairs of SCOPe domains of up to {LONGEST} residues, letters only, at most {MOST} of a SCOP fold, in groups "
        f"without common folds ({', '.join(map(str, result['groups']))} pairs). C is chosen on group 0; each other "
        f"group is tested with models of {N_TRAIN} pairs of the other three. Test pairs by identity: {counts}. "
        f"Differences, pair by pair, with 95 % intervals: {gains}.{note}\n\n"
        + table(["method", *(f"{bin}" for bin in BINS), "overall", "C", "CPU s"], rows)
    )


if __name__ == "__main__":
    publish("p4_alignment", run, markdown)
