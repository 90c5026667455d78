"""The default C of MulticlassSVM: constants compared with rules from the scale of the rows, on held-out rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

CS = tuple(10.0 ** (k / 2) for k in range(-6, 7))
#: Factors k of the rule C = k / R², R² the mean squared norm of the rows, the constant feature included.
FACTORS = tuple(10.0 ** (k / 2) for k in range(-2, 7))
SETS = ("digits", "dna", "letter", "satimage", "segment", "shuttle", "usps", "ocr")
MOST = 3000
SECONDS = 3.0


def data(name: str) -> tuple[Any, Any]:
    """Return rows of the training part only; of OCR letters folds 1 to 9."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "ocr":
        X, Y = mm.datasets.load_ocr_letters(set(range(1, 10)))
        return np.concatenate(X), np.concatenate(Y)
    file = f"{name}.svm.gz" if name == "segment" else f"{name}.train.svm.gz"
    X, y = load_svmlight_file(str(data_folder("statlog") / file))
    return X.toarray(), y


def scaled(X: Any, learn: Any, how: str) -> Any:
    """Return columns scaled to [0, 1] or to mean 0 and variance 1, by the rows to learn from."""
    low, high = (learn.min(axis=0), learn.max(axis=0)) if how == "[0, 1]" else (learn.mean(axis=0), None)
    width = learn.std(axis=0) if high is None else high - low
    return (X - low) / np.where(width > 0, width, 1.0)


def curve(name: str, how: str) -> dict[str, Any]:
    """Return the share of right labels of held-out rows for every C, and R²."""
    X, y = data(name)
    order = np.random.default_rng(0).permutation(len(y))
    learn, held = order[: min(MOST, 2 * len(y) // 3)], order[-min(MOST, len(y) // 3) :]
    rows, others = scaled(X[learn], X[learn], how), scaled(X[held], X[learn], how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.MulticlassSVM(tol=1e-2, max_seconds=SECONDS)
        models = mm.regularization_path(model, rows, y[learn], Cs=CS)
    scores = [100 * float(np.mean(model.predict(others) == y[held])) for model in models]
    return {"norm": 1.0 + float((rows**2).sum(axis=1).mean()), "scores": scores}


def classifiers() -> dict[str, Any]:
    return {f"{name}, {how}": curve(name, how) for name in SETS for how in ("[0, 1]", "mean 0, variance 1")}


def lost(case: dict[str, Any], C: float) -> float:
    """Return how far the score at C (between two, interpolated) is below the best of all C."""
    return max(case["scores"]) - float(np.interp(np.log(C), np.log(CS), case["scores"]))


def rules(cases: dict[str, Any]) -> list[list[Any]]:
    """Return mean and greatest loss of every constant and of every factor of 1 / R²."""
    found = []
    for kind, values in (("C = {:.3g}", CS), ("C = {:.3g} / R²", FACTORS)):
        for value in values:
            losses = [lost(case, value if "R²" not in kind else value / case["norm"]) for case in cases.values()]
            found.append([kind.format(value), round(float(np.mean(losses)), 2), round(max(losses), 2)])
    return found


def markdown(cases: dict[str, Any]) -> str:
    head = ["set, scaling", "R²", *(f"C = {C:.3g}" for C in CS)]
    rows = [[name, round(case["norm"], 1), *(round(s, 1) for s in case["scores"])] for name, case in cases.items()]
    return (
        "## MulticlassSVM\n\nRight labels in %, of held-out rows of the training parts (at most 3,000 rows to learn "
        f"from and 3,000 held out; `tol` 0.01, at most {SECONDS:g} s for each C). R² is the mean squared norm of the "
        "rows, with the constant feature.\n\n"
        + table(head, rows)
        + "\n\nPoints below the best C of each row of the table, if C is chosen by a rule:\n\n"
        + table(["rule", "mean", "greatest"], rules(cases))
    )
