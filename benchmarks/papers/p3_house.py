"""Assignments of landmarks of the CMU house (Caetano et al. 2009): learnt weights of shape contexts against equal ones.

x[i, k] = −(c_i − c'_k)² of the 60 bins of the shape contexts of landmark i in one frame and k in another. Without
learning all bins have the weight 1. The landmarks of the second frame are in random order. A model is trained for each
separation of frames on the training pairs, C is chosen on the validation pairs, errors are those of the test pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.matchings import load_house
from benchmarks.papers import publish
from benchmarks.report import table

C_VALUES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def examples(contexts: np.ndarray, pairs: np.ndarray, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Return features of all pairs of landmarks, and the true assignments."""
    X, Y = [], []
    for a, b in pairs.tolist():
        order = rng.permutation(contexts.shape[1])
        X.append(-((contexts[a][:, None] - contexts[b][order][None]) ** 2.0))
        Y.append(np.argsort(order).tolist())
    return X, Y


def error(Y: list[Any], predicted: list[Any]) -> float:
    return float(np.mean(np.array(Y) != np.array(predicted)))


def run() -> dict[str, Any]:
    house, rng, rows = load_house(), np.random.default_rng(0), {}
    scale = 1.0 / max(float(house.contexts.max()) ** 2, 1.0)
    for separation in sorted({key[0] for key in house.pairs}):
        parts = {
            split: examples(house.contexts * scale**0.5, house.pairs[separation, split], rng)
            for split in ("train", "validate", "test")
        }
        structure = mm.BipartiteMatching().fit(parts["train"][0][:1], parts["train"][1][:1])
        equal = np.ones(house.contexts.shape[2])
        unlearnt = error(parts["test"][1], [structure.argmax(equal, x) for x in parts["test"][0]])
        models = [
            mm.StructuralSVM(mm.BipartiteMatching(), C=C, tol=1e-2, n_jobs=1).fit(*parts["train"]) for C in C_VALUES
        ]
        errors = [error(parts["validate"][1], model.predict(parts["validate"][0])) for model in models]
        model, C = models[int(np.argmin(errors))], C_VALUES[int(np.argmin(errors))]
        learnt = error(parts["test"][1], model.predict(parts["test"][0]))
        rows[str(separation)] = {"pairs": len(parts["test"][0]), "unlearnt": unlearnt, "learnt": learnt, "C": C}
    return {"separations": rows}


def markdown(result: dict[str, Any]) -> str:
    """Return the errors by separation."""
    rows = [
        [s, row["pairs"], f"{row['unlearnt']:.3f}", f"{row['learnt']:.3f}", row["C"]]
        for s, row in result["separations"].items()
    ]
    return (
        "# Landmarks of the house\n\nShare of landmarks assigned wrongly in test pairs of frames, by the separation of "
        "the frames.\n\n" + table(["separation", "test pairs", "equal weights", "learnt weights", "C"], rows)
    )


if __name__ == "__main__":
    publish("p3_house", run, markdown)
