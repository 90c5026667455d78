"""Taskar et al. 2005, table 1, with the RBF kernel of the paper: which cysteines of a protein are bonded.

Data, folds and measures are those of `p3_disulfide` (425 chains, not those of the paper), the bonding state is known. A
pair of cysteines is described by the amino acids at the 9 positions around either of them, divided by 3 so that a
window has length 1, and by their separation in 8 classes. Secondary structure (three states at the same positions) is
known for 237 chains; the last rows use these alone. σ of exp(−‖a − b‖² / 2σ²) is 1 and C is 1 throughout, the best of σ
= 1, 2 and C = 1, 10 for linear and RBF matchings in one trial (trained on folds 1 and 2, tested on fold 3, so fold
3 is not independent of the choice). Independent edges: an RBF machine classifies pairs (scikit-learn's SVC), and the
matching of a test chain maximises its scores. By certificate (node prices, their Eq. 13): all chains alone. Folds run
in processes of their own; the machine was loaded.
"""

from __future__ import annotations

import gzip
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

import maxmargin as mm
from benchmarks.data.matchings import Chain, load_disulfide
from benchmarks.papers import publish
from benchmarks.papers.p3_disulfide import PAPER, REACH, SEPARATIONS, figures, random_precision, window
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

SIGMA, C = 1.0, 1.0

Example = tuple[Any, list[int], int]


def secondary_structure() -> dict[str, str]:
    """Return the secondary structure of chains of which it is known."""
    text = gzip.decompress((data_folder("disulfide_top2018") / "disulfide_top2018.tsv.gz").read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {row[0]: row[10] for row in rows if row[10] != "-"}


def states(structure: str, at: int) -> np.ndarray:
    """Return indicators of the states around a position, (9, 3)."""
    out = np.zeros((2 * REACH + 1, 3))
    for k in range(-REACH, REACH + 1):
        if 0 <= at + k < len(structure) and structure[at + k] in "HEC":
            out[k + REACH, "HEC".index(structure[at + k])] = 1.0
    return out


def example(chain: Chain, structure: str | None) -> Example:
    """Return (x, y, number of bonds) of a chain, its bonded cysteines alone."""
    bonded = sorted(c for bond in chain.bonds for c in bond)
    partner = {a: b for bond in chain.bonds for a, b in (bond, bond[::-1])}
    places = [chain.cysteines[c] for c in bonded]
    around = [window(chain.sequence, p).ravel() / 3.0 for p in places]
    if structure is not None:
        around = [np.concatenate([a, states(structure, p).ravel() / 3.0]) for a, p in zip(around, places, strict=True)]
    rows = []
    for i, p in enumerate(places):
        for j, q in enumerate(places):
            classes = np.eye(len(SEPARATIONS) + 1)[np.searchsorted(SEPARATIONS, abs(q - p))]
            row = np.concatenate([around[i], around[j], classes])
            rows.append(row if i < j else np.zeros_like(row))
    return sp.csr_array(np.array(rows)), [bonded.index(partner[c]) for c in bonded], len(chain.bonds)


def by_planes(train: list[Example], solver: str = "auto") -> Any:
    """Return the predictions of a matching learnt with the kernel."""
    X, Y, _ = zip(*train, strict=True)
    model = mm.StructuralSVM(
        mm.Matching(), C=C, kernel=mm.Kernel("rbf", gamma=0.5 / SIGMA**2), tol=1e-2, n_jobs=1, solver=solver
    )
    return model.fit(X, Y).predict


def by_certificate(train: list[Example]) -> Any:
    """Return the predictions of a matching learnt with the kernel by the certificate of the paper."""
    return by_planes(train, "certificate")


def linear(train: list[Example]) -> Any:
    """Return the predictions of a matching by linear scores."""
    X, Y, _ = zip(*train, strict=True)
    return mm.StructuralSVM(mm.Matching(), C=C, tol=1e-2, n_jobs=1).fit(X, Y).predict


def independent(train: list[Example]) -> Any:
    """Return the predictions of the best matching by the scores of classified pairs."""
    rows, labels = [], []
    for x, y, _ in train:
        first, second = np.triu_indices(len(y), 1)
        rows.append(x[first * len(y) + second])
        labels.append(np.asarray(y)[first] == second)
    structure = mm.Matching().fit([np.ones((2, 2, 1))], [[1, 0]])
    svm = SVC(C=C, gamma=0.5 / SIGMA**2).fit(sp.csr_matrix(sp.vstack(rows)), np.concatenate(labels))

    def predict(inputs: list[Any]) -> list[list[int]]:
        scores = [svm.decision_function(sp.csr_matrix(x)) for x in inputs]
        return [structure.argmax(np.ones(1), s.reshape(round(len(s) ** 0.5), -1, 1)) for s in scores]

    return predict


def one_fold(folds: list[list[Example]], learn: Any, k: int) -> tuple[list[list[int]], float]:
    """Return the predictions for fold k, learnt from the others, and the CPU seconds of the fit."""
    began = time.process_time()
    predict = learn([e for j, fold in enumerate(folds) if j != k for e in fold])
    seconds = time.process_time() - began
    return predict([x for x, _, _ in folds[k]]), seconds


def evaluated(folds: list[list[Example]], learn: Any) -> dict[str, Any]:
    """Return the figures of four-fold cross-validation, and the CPU seconds of a fit."""
    with ProcessPoolExecutor(4) as pool:
        found = list(pool.map(one_fold, [folds] * 4, [learn] * 4, range(4)))
    predicted = [y for part, _ in found for y in part]
    tests = [e for fold in folds for e in fold]
    return {"figures": figures(tests, predicted), "cpu": float(np.mean([seconds for _, seconds in found]))}


def run() -> dict[str, Any]:
    chains, known, result = load_disulfide(), secondary_structure(), dict[str, Any]()
    everyone = {"windows + separation": [[example(c, None) for c in chains if c.fold == k] for k in range(4)]}
    some = [c for c in chains if c.name in known]
    fewer = {
        "237 chains, windows + separation": [[example(c, None) for c in some if c.fold == k] for k in range(4)],
        "237 chains, + secondary structure": [
            [example(c, known[c.name]) for c in some if c.fold == k] for k in range(4)
        ],
    }
    for features, folds in (everyone | fewer).items():
        ways = {"linear, matching": linear, "SVC": independent, "RBF, matching by planes": by_planes}
        if features in everyone:
            ways["RBF, matching by certificate"] = by_certificate
        for name, learn in ways.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result[f"{features}: {name}"] = found = evaluated(folds, learn)
            print(features, name, found, flush=True)
    return {"models": result, "random": random_precision()}


def markdown(result: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for name, paper in PAPER["known"].items():
        cells = [" / ".join(f"{v:.2f}" for v in paper[K]) for K in (2, 3, 4, 5)]
        rows.append([f"{name}, paper: profiles, RBF kernel, SP39", *cells, None, None])
    for key, found in result["models"].items():
        cells = [f"{found['figures'][K][0]:.2f} / {found['figures'][K][2]:.2f}" for K in ("2", "3", "4", "5", "all")]
        rows.append([key, *cells, f"{found['cpu']:.1f}"])
    text = __doc__ or ""
    title = "# Disulfide connectivity with a kernel (Taskar et al. 2005, table 1)"
    about = text.split("\n", 2)[2].strip()
    figures_of = "Precision / accuracy by number of bonds; mean CPU seconds of a fit.\n"
    return "\n\n".join([title, about, figures_of, table(["model", "2", "3", "4", "5", "all", "CPU s"], rows)])


if __name__ == "__main__":
    publish("p3_kernels", run, markdown)
