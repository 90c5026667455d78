"""A user-defined structure in numpy on OCR letters: CPU seconds to the objective at which dlib stops."""

from __future__ import annotations

from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock
from benchmarks.overhead import NumpyChain
from benchmarks.report import table

N_LABELS, TRAIN_FOLD, C = 26, {0}, 100.0


def load() -> tuple[list[Any], list[Any]]:
    """Return one fold of ten, with labels as numbers."""
    X, Y = mm.datasets.load_ocr_letters(TRAIN_FOLD)
    return X, [np.array([ord(letter) - ord("a") for letter in y]) for y in Y]


class DlibProblem:
    """The same four methods in the form that dlib requires."""

    use_sparse_feature_vectors = True

    def __init__(self, structure: NumpyChain, X: list[Any], Y: list[Any]) -> None:
        self.structure, self.X, self.Y, self.C = structure, X, Y, C
        self.num_samples, self.num_dimensions = len(X), structure.size
        self.solution: tuple[Any, Any] = None, None
        self.calls = 0

    def _sparse(self, x: Any, y: Any) -> Any:
        import dlib

        indices, values = self.structure.joint_feature(x, y)
        filled = np.flatnonzero(values)
        pairs = zip(indices[filled].tolist(), values[filled].tolist(), strict=True)
        vector = dlib.sparse_vector([dlib.pair(index, value) for index, value in pairs])
        dlib.make_sparse_vector(vector)  # sorted, equal indices added up
        return vector

    def _weights(self, solution: Any) -> Any:
        """Return the weights as an array; cached, because 4,000 weights take 2 ms."""
        state = solution.__getstate__()
        if state != self.solution[0]:
            self.solution = state, np.array(solution)
        return self.solution[1]

    def get_truth_joint_feature_vector(self, i: int) -> Any:
        return self._sparse(self.X[i], self.Y[i])

    def separation_oracle(self, i: int, solution: Any) -> tuple[float, Any]:
        w, x, y = self._weights(solution), self.X[i], self.Y[i]
        self.calls += 1
        found = self.structure.loss_augmented_argmax(w, x, y)
        return self.structure.loss(y, found), self._sparse(x, found)


def objective(structure: NumpyChain, w: Any, X: list[Any], Y: list[Any]) -> float:
    """Return ½‖w‖² + (C / n) Σ hinges, the objective of dlib; one evaluator for both packages."""

    def score(x: Any, y: Any) -> float:
        indices, values = structure.joint_feature(x, y)
        return float(w[indices] @ values)

    total = 0.0
    for x, y in zip(X, Y, strict=True):
        found = structure.loss_augmented_argmax(w, x, y)
        total += structure.loss(y, found) + score(x, found) - score(x, y)
    return 0.5 * float(w @ w) + C / len(X) * total


def run() -> dict[str, Any]:
    X, Y = load()
    structure = NumpyChain(X[0].shape[1], N_LABELS, sparse=False)
    mm.StructuralSVM(structure, tol=0.5).fit(X[:30], Y[:30])
    try:
        import dlib
    except ImportError:
        dlib = None
    result: dict[str, Any] = {"n": len(X), "dlib": None}
    goal, tol = 0.0, 1e-3
    if dlib is not None:
        problem, clock = DlibProblem(structure, X, Y), Clock()
        w = np.array(dlib.solve_structural_svm_problem(problem))
        result["dlib"] = {"cpu": clock.cpu, "sweeps": problem.calls / len(X)}
        goal, tol = objective(structure, w, X, Y), 1e-6
        result["dlib"]["objective"] = goal
    clock = Clock()
    model = mm.StructuralSVM(
        structure, C=C / len(X), tol=tol, callbacks=[lambda step: step.certificate.primal <= goal]
    ).fit(X, Y)
    cpu, certificate = clock.cpu, model.certificate_
    result["maxmargin"] = {
        "cpu": cpu, "sweeps": certificate.oracle_calls / len(X), "objective": objective(structure, model.coef_, X, Y),
        "lower_bound": certificate.dual,
    }  # fmt: skip
    return result


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [name, f"{side['objective']:.2f}", side["cpu"], round(side["sweeps"])]
        for name, side in result.items()
        if isinstance(side, dict)
    ]
    missing = "" if result["dlib"] else "\n\ndlib is not installed: maxmargin runs to a gap of 0.1 %."
    return (
        f"# A user-defined structure, compared with dlib\n\nOCR letters, {result['n']} words, C = {C:g} (for maxmargin "
        "C / n), the loss counts wrong letters; both use the same class in numpy, with sparse Ψ. dlib runs until it "
        "stops, maxmargin until its objective is not higher. The time of dlib includes the conversion of Ψ and w to "
        "its types.\n\n"
        + table(["", "objective", "CPU s", "sweeps"], rows)
        + f"\n\nProven lower bound on the optimum: {result['maxmargin']['lower_bound']:.2f}."
        + missing
    )
