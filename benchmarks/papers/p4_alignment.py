"""Do et al. 2008, table 2: recall of alignments of proteins by the identity of the pair, convex bound and ramp.

Pairs of SCOPe domains (not the 1,785 pairs of the paper), at most 12 of a SCOP fold, in four groups without common
folds. The loss is 1 − recall. C is chosen on group 0, by models of the other groups; groups 1, 2 and 3 are tested, each
with models of the other three. The conditional random field (CRF, ``bound="likelihood"``) has its own range of C, since
the logarithm of a probability is hundreds where a loss is at most 1. Alignments are those of best score, as in the
paper; the rows "posterior" decode the same CRF by probabilities of matches, γ chosen on group 0 too.
"""

from __future__ import annotations

import warnings
from copy import copy
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
C_VALUES, CRF_C = (0.0001, 0.0004, 0.0016), (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
GAMMAS = (1.0, 4.0, 8.0, 16.0)
METHODS: dict[str, dict[str, Any]] = {
    "convex": {"bound": "margin", "features": "simple", "prior": None},
    "convex, centre BLOSUM62": {"bound": "margin", "features": "simple", "prior": BLOSUM},
    "ramp, centre BLOSUM62": {"bound": "ramp", "features": "simple", "prior": BLOSUM},
    "convex, centre log odds, Window": {"bound": "margin", "features": "window", "prior": ODDS},
    "ramp, centre log odds, Window": {"bound": "ramp", "features": "window", "prior": ODDS},
}
CRF: dict[str, dict[str, Any]] = {
    "CRF": {"bound": "likelihood", "features": "simple", "prior": None},
    "CRF, centre log odds, Window": {"bound": "likelihood", "features": "window", "prior": {**ODDS, "scale": 1.0}},
}
BASELINES: dict[str, Any] = {"Biopython, BLOSUM62": mm.MatrixAligner, "log odds": mm.LogOddsAligner}
PAIRED = (
    ("ramp, centre BLOSUM62", "convex, centre BLOSUM62"),
    ("ramp, centre log odds, Window", "convex, centre log odds, Window"),
    ("ramp, centre log odds, Window", "CRF, centre log odds, Window"),
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


def decoded_by_risk(model: mm.PairwiseAligner, gamma: float) -> mm.PairwiseAligner:
    return copy(model).set_params(decode="risk", gamma=gamma)


def tested(models: list[mm.PairwiseAligner], groups: list[list[ProteinPair]]) -> list[float]:
    """Return the recall of each pair of the test groups."""
    recalls: list[float] = []
    for model, group in zip(models, groups[1:], strict=True):
        X, Y = data(group)
        recalls += alignment_recall(Y, model.predict(X)).tolist()
    return recalls


def run() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    pairs = capped([p for p in load_pairs("protein_align_scope_tmalign") if p.longest <= LONGEST], MOST, rng)
    group = groups_of_folds(pairs, N_GROUPS)
    groups = [[p for p in pairs if group[p.fold] == k] for k in range(N_GROUPS)]
    others = [[p for p in pairs if group[p.fold] != k][:N_TRAIN] for k in range(N_GROUPS)]
    tests = [p for k in range(1, N_GROUPS) for p in groups[k]]
    recalls: dict[str, list[float]] = {}
    rows: dict[str, Any] = {}
    for name, parameters in (METHODS | CRF).items():
        clock = Clock()
        tried = {C: fitted(C, others[0], parameters) for C in (CRF_C if name in CRF else C_VALUES)}
        quality = {C: model.score(*data(groups[0])) for C, model in tried.items()}
        C = max(quality, key=lambda C: quality[C])
        models = [fitted(C, others[k], parameters) for k in range(1, N_GROUPS)]
        rows[name] = {"C": C, "zero": not all(model.coef_.any() for model in models)}
        recalls[name] = tested(models, groups)
        rows[name]["cpu"] = clock.cpu
        print(name, C, np.mean(recalls[name]), clock.cpu, flush=True)
        if name in CRF:
            by_gamma = {gamma: decoded_by_risk(tried[C], gamma).score(*data(groups[0])) for gamma in GAMMAS}
            gamma = max(by_gamma, key=lambda gamma: by_gamma[gamma])
            recalls[f"{name}, posterior"] = tested([decoded_by_risk(model, gamma) for model in models], groups)
            rows[f"{name}, posterior"] = {"C": C, "gamma": gamma, "zero": False}
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
         row.get("C"), row.get("gamma"), row.get("cpu") and f"{row['cpu']:.0f}"]
        for name, row in result["methods"].items()
    ]  # fmt: skip
    rows += [[f"paper: {name}", *(f"{v:.3f}" for v in values), None, None, None] for name, values in PAPER.items()]
    zero = [name for name, row in result["methods"].items() if row.get("zero")]
    counts = ", ".join(f"{n} of {bin}" for bin, n in result["counts"].items())
    gains = "; ".join(f"{name}: {v:+.3f} ± {e:.3f}" for name, (v, e) in result["gains"].items())
    note = f" All weights of {' and '.join(zero)} are 0 in at least one group." if zero else ""
    return (
        "# Recall of alignments by identity (Do et al. 2008, table 2)\n\n"
        f"Pairs of SCOPe domains of up to {LONGEST} residues, letters only, at most {MOST} of a SCOP fold, in groups "
        f"without common folds ({', '.join(map(str, result['groups']))} pairs). C is chosen on group 0; each other "
        f"group is tested with models of {N_TRAIN} pairs of the other three. Alignments are those of best score; the "
        'rows with γ, which is chosen on group 0, decode by probabilities of matches (decode="risk"). '
        f"Test pairs by identity: {counts}. "
        f"Differences, pair by pair, with 95 % intervals: {gains}.{note}\n\n"
        + table(["method", *(f"{bin}" for bin in BINS), "overall", "C", "γ", "CPU s"], rows)
    )


if __name__ == "__main__":
    publish("p4_alignment", run, markdown)
