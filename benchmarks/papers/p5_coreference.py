"""Yu and Joachims 2009, table 2: noun-phrase coreference by latent spanning forests, on GUM instead of MUC-6.

There are 30 documents for training and 30 for testing (split60 of GUM), with given mentions and the features of pairs
of `benchmarks.data.mention_pairs`. C is chosen by 3-fold cross-validation on the training documents (10 folds in the
paper) from 0.001, 0.01, 0.1, 1, by the mean MITRE loss over documents. Losses are means over documents, in per cent;
MUC, B³ and CEAF are F1 over all documents. The results of all four values of C on the test documents had been seen
before, and all four were kept; 1 is the largest, because larger values take minutes per fit.

The paper compares with SVM-cluster, correlation clustering by approximate inference, which is not implemented here.
The baseline has no latent variables: the same forests trained with the convex bound, with the true clusters as fixed
chains in reading order. Results with every mention alone, and with all mentions in one cluster, are given as well.
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
    "SVM-cluster (not implemented here)": (41.3, 2.89),
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
    """Choose C by cross-validation; return the test scores of the model for all training documents."""
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
        f"# Yu and Joachims 2009, table 2: noun-phrase coreference\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n"
        f"{table(head, rows)}\n\nThe paper's losses are those of other documents, with noun phrases that were detected "
        f"rather than given, and fewer of them, so only differences between rows can be compared.\n\nCPU seconds of "
        f"all fits: {seconds:.0f}."
    )


def cell(value: float) -> str:
    return f"{value:.2f}"


if __name__ == "__main__":
    publish("p5_coreference", run, markdown)
