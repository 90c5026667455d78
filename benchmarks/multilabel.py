"""Sets of labels: pairs of labels and losses against one machine per label, on Yeast and Scene.

Yeast (Elisseeff and Weston 2001): 1,500 genes for training and 917 for test, 103 features, 14 labels. Scene (Boutell et
al. 2004): 1,211 and 1,196 pictures, 294 features, 6 labels. Features are standardised on the training part. One versus
rest is scikit-learn's `LinearSVC` (hinge loss) and `LogisticRegression`. C is chosen from 0.001, 0.01, 0.1 and 1 (times
the number of labels for the F1 loss, which is at most 1 for a row) on the last third of the training part, by the
measure that the loss is for: Hamming loss or F1; then the model is trained on the whole training part. Gap 0.01. F1 is
the mean over rows (1 if both sets are empty), subset accuracy the share of rows without a wrong label. Seconds are CPU
seconds of the last fit, one thread, on a loaded machine. For the F1 loss the smallest C of the grid was chosen, on both
sets, and for the tree with the Hamming loss on Scene the largest: their best C may be outside of the grid.
"""

from __future__ import annotations

import gzip
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

CS, TOL = (0.001, 0.01, 0.1, 1.0), 1e-2
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def yeast() -> Split:
    """Return training and test rows with their labels."""
    parts = []
    for name in ("train", "test"):
        with gzip.open(data_folder("multilabel_yeast") / f"yeast.{name}.svm.gz", "rb") as file:
            X, labels = load_svmlight_file(file, n_features=103, multilabel=True, zero_based="auto")
        parts += [X.toarray(), MultiLabelBinarizer(classes=range(14)).fit_transform([map(int, y) for y in labels])]
    return tuple(parts)


def scene() -> Split:
    with np.load(data_folder("multilabel_scene") / "scene.npz") as data:
        return tuple(data[name].astype(float) for name in ("X_train", "y_train", "X_test", "y_test"))


def models(n_labels: int) -> dict[str, tuple[str, Any]]:
    """Return the measure and a function from C to an estimator, by name."""
    found: dict[str, tuple[str, Any]] = {
        "LinearSVC": ("hamming", lambda C: OneVsRestClassifier(LinearSVC(C=C, loss="hinge", random_state=0))),
        "LogisticRegression": ("hamming", lambda C: OneVsRestClassifier(LogisticRegression(C=C))),
    }
    for loss in ("hamming", "f1"):
        for pairs in (None, "tree", "all"):
            factor = 1.0 if loss == "hamming" else float(n_labels)
            found[f"{loss}, pairs={pairs}"] = (
                loss,
                lambda C, loss=loss, pairs=pairs, factor=factor: mm.MultilabelSVM(
                    loss=loss, pairs=pairs, C=factor * C, tol=TOL, n_jobs=1
                ),
            )
    return found


def measures(true: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {
        "hamming": 100.0 * float(hamming_loss(true, found)),
        "f1": 100.0 * float(f1_score(true, found, average="samples", zero_division=1.0)),
        "subset": 100.0 * float(accuracy_score(true, found)),
    }


def measured(name: str, measure: str, make: Any, split: Split) -> dict[str, Any]:
    """Choose C on the last third, train on everything, and measure on the test part."""
    X, Y, test, truth = split
    Y, truth = Y.astype(int), truth.astype(int)
    scale = StandardScaler().fit(X)
    X, test = scale.transform(X), scale.transform(test)
    part = len(X) * 2 // 3
    tried = {C: measures(Y[part:], make(C).fit(X[:part], Y[:part]).predict(X[part:])) for C in CS}
    sign = -1.0 if measure == "hamming" else 1.0
    C = max(CS, key=lambda C: sign * tried[C][measure])
    began = time.process_time()
    model = make(C).fit(X, Y)
    seconds = time.process_time() - began
    found = {"C": C, "seconds": seconds, **measures(truth, model.predict(test))}
    print(name, found, file=sys.stderr, flush=True)
    return found


def run() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of LinearSVC at its default number of iterations
        return {
            name: {
                model: measured(f"{name} {model}", *given, split) for model, given in models(split[1].shape[1]).items()
            }
            for name, split in (("yeast", yeast()), ("scene", scene()))
        }


def markdown(result: dict[str, Any]) -> str:
    text = ["# Label sets\n\n" + str(__doc__).split("\n\n", 1)[1]]
    for name, part in result.items():
        rows = [
            [model, f"{one['C']:g}", *(f"{one[what]:.1f}" for what in ("hamming", "f1", "subset")), one["seconds"]]
            for model, one in part.items()
        ]
        head = [name, "C", "Hamming loss, %", "F1, %", "subset accuracy, %", "CPU s"]
        text.append(table(head, rows))
    return "\n\n".join(text)
