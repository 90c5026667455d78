"""Multiclass RBF machines against scikit-learn's SVC on three Statlog sets: accuracy, CPU seconds, size of models.

Features are scaled to [−1, 1] on the training part. All models have C = 10 and gamma = "scale"; SVC combines machines
of two classes each, `MulticlassSVM` is one machine (Crammer and Singer 2001), so objectives differ. Exact kernels
use a Cholesky factor of the Gram matrix; the Nyström method has 500 or 2,000 landmarks, means of k-means. Exact
kernels use the first 4,000 rows of usps (7,291) and letter (15,000). Our fits end at a relative gap of 0.01.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

import maxmargin as mm
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

#: Sets, with the number of training rows used.
SETS = {"satimage": None, "usps, 4,000 rows": 4000, "letter, 4,000 rows": 4000, "usps": None, "letter": None}
#: Sets whose exact fits would take too long for a benchmark, and their numbers of landmarks.
LARGE = {"usps": (500,), "letter": (500,)}
LANDMARKS = (500, 2000)
C = 10.0


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows and labels, test rows and labels."""
    file, most = name.split(",")[0], SETS[name]
    parts = [load_svmlight_file(str(data_folder("statlog") / f"{file}.{part}.svm.gz")) for part in ("train", "test")]
    width = max(X.shape[1] for X, _ in parts)
    train, test = (np.pad(X.toarray(), ((0, 0), (0, width - X.shape[1]))) for X, _ in parts)
    low, high = train.min(axis=0), train.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    train, test = (2.0 * (X - low) / span - 1.0 for X in (train, test))
    return train[:most], parts[0][1][:most].astype(int), test, parts[1][1].astype(int)


def models(name: str) -> dict[str, Any]:
    ours: dict[str, Any] = {"C": C, "tol": 1e-2, "n_jobs": 1}
    found: dict[str, Any] = {"SVC": SVC(C=C)}
    if name not in LARGE:
        found["exact"] = mm.MulticlassSVM(kernel="rbf", **ours)
    for count in LARGE.get(name, LANDMARKS):
        found[f"Nyström, {count}"] = mm.MulticlassSVM(kernel=mm.Kernel("rbf", n_components=count), **ours)
    return found


def run() -> dict[str, Any]:
    result: dict[str, Any] = {}
    X, y = mm.datasets.make_multiclass(50, random_state=0)
    mm.MulticlassSVM(kernel="rbf").fit(X, y)  # compiles functions
    for name in SETS:
        X, y, test_X, test_y = rows_of(name)
        for label, model in models(name).items():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            fit = time.process_time() - began
            accuracy = float(model.score(test_X, test_y))
            predict = time.process_time() - began - fit
            row = {"rows": len(y), "fit": fit, "predict": predict, "accuracy": accuracy}
            if label == "SVC":
                row["points"] = int(model.n_support_.sum())
            else:
                features = model.structure_.features_
                row |= {"points": features.n_points, "lost": features.lost, "objective": model.certificate_.primal}
            result.setdefault(name, {})[label] = row
            print(name, label, row, flush=True)
    return {"sets": result}


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [name, label, f"{100 * row['accuracy']:.2f}", f"{row['fit']:.1f}", f"{row['predict']:.2f}", row.get("points"),
         f"{100 * row['lost']:.1f}" if row.get("lost") else None, row.get("objective")]
        for name, found in result["sets"].items()
        for label, row in found.items()
    ]  # fmt: skip
    head = ["set", "model", "accuracy %", "fit, CPU s", "predict, CPU s", "points kept", "trace lost %", "objective"]
    text = __doc__ or ""
    return f"# Kernels: {text.split(chr(10), 1)[0]}\n\n{text.split(chr(10), 2)[2].strip()}\n\n{table(head, rows)}"
