"""Joachims et al. 2009, figure 6: Q4-scores of alignments of proteins by the features of matches.

Structural alignments of two sets (not those of the paper): SCOPe domains aligned by TM-align, with the given split by
fold and letters only; and MALIDUP, with secondary structure, in two halves. C is chosen on validation pairs; the scale
of log odds as centre was chosen on the validation split of SCOPe. Baselines: Biopython with BLOSUM62 and tuned gaps,
and log odds of matched letters (and structures) with tuned gaps.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.protein_pairs import ProteinPair, load_pairs
from benchmarks.measure import Clock
from benchmarks.papers import publish
from benchmarks.report import table
from maxmargin.metrics import q_score

C_VALUES = (0.0001, 0.001, 0.01)
LONGEST = 200
N_TRAIN, N_MANY, N_VALIDATE, N_TEST = 300, 1500, 80, 200
BLOSUM = {"matrix": "BLOSUM62", "scale": 0.1}
ODDS, C_ODDS = {"matrix": "log-odds", "scale": 0.03}, (0.0003, 0.001)
WINDOW_RAMP = {"features": "window", "prior": ODDS, "bound": "ramp"}


def some(pairs: list[ProteinPair], n: int, rng: np.random.Generator) -> list[ProteinPair]:
    return [pairs[i] for i in rng.permutation(len(pairs))[:n]]


def inputs(pairs: list[ProteinPair], structures: bool) -> tuple[list[Any], list[Any]]:
    return [p.records if structures else p.letters for p in pairs], [p.alignment for p in pairs]


def aligner(C: float, **parameters: Any) -> mm.PairwiseAligner:
    return mm.PairwiseAligner(loss="q4", C=C, tol=0.03, n_jobs=1, max_seconds=240.0, **parameters)


def chosen(parts: list[Any], **parameters: Any) -> dict[str, Any]:
    """Fit for each C, choose it on the second part, and return the scores on the third."""
    train, validate, test = parts
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = C_ODDS if parameters.get("prior") is ODDS else C_VALUES
        models = [aligner(C, **parameters).fit(*train) for C in values]
    cpu = clock.cpu
    best = int(np.argmax([model.score(*validate) for model in models]))
    model = models[best]
    scores = q_score(test[1], model.predict(test[0]))
    zero = [m.C for m in models if not m.coef_.any()]
    return {"C": model.C, "weights": len(model.coef_), "cpu": cpu, "scores": scores.tolist(), "zero": zero}


def baseline(model: Any, parts: list[Any]) -> dict[str, Any]:
    clock = Clock()
    model.fit(parts[0][0] + parts[1][0], parts[0][1] + parts[1][1])
    scores = q_score(parts[2][1], model.predict(parts[2][0]))
    return {"C": None, "weights": None, "cpu": clock.cpu, "scores": scores.tolist(), "zero": []}


def experiment(splits: list[list[list[ProteinPair]]], structures: bool) -> dict[str, Any]:
    """Return the scores of all models, pooled over the splits."""
    kinds = (False, True) if structures else (False,)
    found: dict[str, list[dict[str, Any]]] = {}
    for split in splits:
        letters = [inputs(part, False) for part in split]
        found.setdefault("Biopython, BLOSUM62", []).append(baseline(mm.MatrixAligner(loss="q4", n_tune=80), letters))
        for kind in kinds:
            name = "log odds, letters and structure" if kind else "log odds, letters"
            parts = [inputs(part, kind) for part in split]
            found.setdefault(name, []).append(baseline(mm.LogOddsAligner(loss="q4"), parts))
        parts = [inputs(part, structures) for part in split]
        models: dict[str, dict[str, Any]] = {
            "Simple": {"features": "simple"},
            "Window": {"features": "window"},
        }
        if structures:
            models["Anova2 (= Tensor)"] = {"features": "anova2"}
            models["Window, centre log odds, ramp"] = WINDOW_RAMP
        else:
            models["Simple, centre BLOSUM62"] = {"features": "simple", "prior": BLOSUM}
            models["Window, centre BLOSUM62"] = {"features": "window", "prior": BLOSUM}
            models["Simple, centre BLOSUM62, ramp"] = {"features": "simple", "prior": BLOSUM, "bound": "ramp"}
            models["Simple, centre log odds, ramp"] = {"features": "simple", "prior": ODDS, "bound": "ramp"}
            models["Window, centre log odds, ramp"] = WINDOW_RAMP
        for name, parameters in models.items():
            found.setdefault(name, []).append(chosen(parts, **parameters))
            print(name, np.mean(found[name][-1]["scores"]), found[name][-1]["cpu"], flush=True)
    return pooled(found)


def with_many(split: list[list[ProteinPair]]) -> dict[str, Any]:
    """Return the scores of log odds and of the best model of letters, with many training pairs."""
    parts, size = [inputs(part, False) for part in split], f"{len(split[0])} training pairs"
    return pooled(
        {
            f"log odds, letters, {size}": [baseline(mm.LogOddsAligner(loss="q4"), parts)],
            f"Window, centre log odds, ramp, {size}": [chosen(parts, **WINDOW_RAMP)],
        }
    )


def pooled(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the mean scores of each model over the test pairs of all splits."""
    result = {}
    for name, rows in found.items():
        scores = np.concatenate([row["scores"] for row in rows])
        result[name] = {
            "q4": float(scores.mean()),
            "error": float(scores.std(ddof=1) / np.sqrt(len(scores))),
            "C": sorted({row["C"] for row in rows if row["C"]}),
            "weights": rows[0]["weights"],
            "cpu": float(np.sum([row["cpu"] for row in rows])),
            "zero": sorted({C for row in rows for C in row["zero"]}),
        }
    return result


def run() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    domains = [p for p in load_pairs("protein_align_scope_tmalign") if p.longest <= LONGEST]
    sizes = {"train": N_TRAIN, "val": N_VALIDATE, "test": N_TEST}
    scope = [some([p for p in domains if p.split == split], n, rng) for split, n in sizes.items()]
    doubles = [p for p in load_pairs("protein_align_malidup") if p.longest <= LONGEST]
    doubles = some(doubles, len(doubles), rng)
    halves = [doubles[: len(doubles) // 2], doubles[len(doubles) // 2 :]]
    malidup = []
    for k in range(2):
        cut = 3 * len(halves[k]) // 4
        malidup.append([halves[k][:cut], halves[k][cut:], halves[1 - k]])
    many = some([p for p in domains if p.split == "train"], N_MANY, rng)
    with ProcessPoolExecutor(3) as pool:
        tasks = [
            pool.submit(with_many, [many, *scope[1:]]),
            pool.submit(experiment, malidup, structures=True),
            pool.submit(experiment, [scope], structures=False),
        ]
        more, of_malidup, of_scope = (task.result() for task in tasks)
    return {
        "protein_align_malidup": {"pairs": len(doubles), "models": of_malidup},
        "protein_align_scope_tmalign": {"pairs": N_TEST, "models": of_scope | more},
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the scores of all models for each set."""
    texts = []
    for name, part in result.items():
        rows = [
            [
                model, f"{100 * row['q4']:.1f} ± {100 * row['error']:.1f}", row["weights"],
                ", ".join(map(str, row["C"])) or None, ", ".join(map(str, row["zero"])) or None, f"{row['cpu']:.0f}",
            ]
            for model, row in part["models"].items()
        ]  # fmt: skip
        head = ["model", "Q4", "weights", "C chosen", "weights all 0 at C =", "CPU s"]
        texts.append(f"## {name}, {part['pairs']} test pairs\n\n" + table(head, rows))
    return (
        "# Alignments of proteins by features (Joachims et al. 2009, figure 6)\n\n"
        f"Mean Q4-scores in percent (± one standard error over pairs). Pairs of up to {LONGEST} residues; of SCOPe a "
        f"sample of {N_TRAIN} (or {N_MANY}) training, {N_VALIDATE} validation and {N_TEST} test pairs of the given "
        "split, with letters only; MALIDUP in two halves with secondary structure. There is no accessibility, so that "
        "Tensor is Anova2, and there are no profiles. CPU seconds are those of the fits for all C. The machine was "
        "loaded.\n\n" + "\n\n".join(texts)
    )


if __name__ == "__main__":
    publish("p2_alignment", run, markdown)
