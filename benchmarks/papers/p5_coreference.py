"""Paper 5, table 2: noun-phrase coreference by latent spanning forests, here on GUM instead of MUC-6.

30 documents for training and 30 for testing (split60 of GUM), mentions given, features of pairs as in
`benchmarks.data.mention_pairs`. C is chosen by 3-fold cross-validation on the training documents (the paper: 10
folds) from 0.001, 0.01, 0.1, 1, by the mean MITRE loss over documents. Losses are means over documents, in per cent;
MUC, B³ and CEAF are F1 over all documents. All four values of C had been looked at on the test documents before,
and all were kept; 1 is the largest, because larger ones take minutes for each fit.

The paper compares with SVM-cluster, correlation clustering by approximate inference, which is not built here. The
baseline is what is left without latent variables: the same forests trained by the convex bound, with the true clusters
as chains in reading order for good. All mentions alone, and all in one cluster, stand beside.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold

import maxmargin as mm
from benchmarks.data import load_coref_gum
from benchmarks.papers import publish
from benchmarks.report import table
from maxmargin.metrics.clusters import b_cubed, ceaf, mitre_loss, muc, pair_loss

GRID = (0.001, 0.01, 0.1, 1.0)
PENALTIES = (1.0, 0.01)
FOLDS, TOL = 3, 0.01
#: MITRE and pair loss of the paper's rows, on MUC-6.
PAPER = {
    "SVM-cluster (not built here)": (41.3, 2.89),
    "latent forest, r = 1": (44.1, 2.66),
    "latent forest, r = 0.01": (35.6, 4.11),
}


def scores(Y: Any, predicted: Any) -> dict[str, float]:
    links = muc(Y, predicted)
    return {
        "mitre": mitre_loss(Y, predicted),
        "pair": pair_loss(Y, predicted),
        "muc_precision": 100.0 * links.precision,
        "muc_recall": 100.0 * links.recall,
        "muc": 100.0 * links.f1,
        "b_cubed": 100.0 * b_cubed(Y, predicted).f1,
        "ceaf_items": 100.0 * ceaf(Y, predicted, "items").f1,
        "ceaf_clusters": 100.0 * ceaf(Y, predicted, "clusters").f1,
    }


def trained(model: Any, train: Any, test: Any) -> dict[str, Any]:
    """C by cross-validation, then the scores of the model for all training documents."""
    began = time.process_time()
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    scorer = make_scorer(mitre_loss, greater_is_better=False)
    search = GridSearchCV(model, {"C": list(GRID)}, cv=folds, scoring=scorer).fit(train.X, train.Y)
    best = search.best_estimator_
    found = {
        "C": search.best_params_["C"],
        "inner": [-float(score) for score in search.cv_results_["mean_test_score"]],
        "outer_steps": best.certificate_.outer_steps,
        "seconds": time.process_time() - began,
        **scores(test.Y, best.predict(test.X)),
    }
    print({name: round(value, 2) for name, value in found.items() if name != "inner"}, file=sys.stderr, flush=True)
    return found


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    train, test = (load_coref_gum(part) for part in ("train", "test"))
    rows: dict[str, Any] = {
        "every mention alone": scores(test.Y, [list(range(len(y))) for y in test.Y]),
        "all mentions in one cluster": scores(test.Y, [[0] * len(y) for y in test.Y]),
    }
    for r in PENALTIES:
        chains = mm.StructuralSVM(mm.Forest(r=r), tol=TOL, n_jobs=1)
        rows[f"fixed chains, convex, r = {r:g}"] = trained(chains, train, test)
        rows[f"latent forest, r = {r:g}"] = trained(mm.ForestClustering(r=r, tol=TOL, n_jobs=1), train, test)
    return {"protocol": __doc__, "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for name, row in result["rows"].items():
        paper = PAPER.get(name, (None, None))
        rows.append(
            [name, *(cell(row[what]) for what in ("mitre", "pair")), *paper,
             f"{row['muc_precision']:.1f} / {row['muc_recall']:.1f}",
             *(cell(row[what]) for what in ("muc", "b_cubed", "ceaf_items", "ceaf_clusters")),
             row.get("C"), row.get("outer_steps") or None]
        )  # fmt: skip
    rows += [[name, None, None, *losses, *[None] * 7] for name, losses in PAPER.items() if name not in result["rows"]]
    head = ["method", "MITRE loss", "pair loss", "paper's MITRE", "paper's pair", "MUC P / R", "MUC", "B³",
            "CEAF, items", "CEAF, clusters", "C", "outer steps"]  # fmt: skip
    seconds = sum(row.get("seconds", 0.0) for row in result["rows"].values())
    return (
        f"# Paper 5, table 2: noun-phrase coreference\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n"
        f"{table(head, rows)}\n\nThe paper's losses are of other documents, with noun phrases that were found and not "
        f"given, and fewer of them, so that only differences between rows compare.\n\nCPU seconds of all fits: "
        f"{seconds:.0f}."
    )


def cell(value: float) -> str:
    return f"{value:.2f}"


if __name__ == "__main__":
    publish("p5_coreference", run, markdown)
