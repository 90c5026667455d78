"""Model files and checkpoints of earlier formats, in the words of their time.

The files in the folder `earlier` were written before the words changed, with the data below.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm

FOLDER = Path(__file__).parent / "earlier"
X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 1.0], [0.5, 2.0], [1.5, 2.5], [2.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
Y = [0, 1, 1, 0, 1, 1, 0, 0]


def test_the_solver_that_was_called_auto():
    loaded = mm.load(FOLDER / "nystroem.mm")
    assert loaded.solver == mm.solvers.ProximalWorkingSets(most_cuts=70, held_share=3.0)
    assert mm.load(FOLDER / "linear.mm").solver == "auto"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("nystroem", mm.Kernel("rbf", gamma=0.5, n_components=3)),
        ("polynomial", mm.Kernel("poly", degree=2, gamma=0.5, coef0=1.0, method="expansion")),
        ("linear", "linear"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*landmarks of")  # three landmarks are few
def test_the_parameters_of_a_kernel(name, kernel):
    loaded = mm.load(FOLDER / f"{name}.mm")
    assert loaded.kernel == kernel
    assert np.isfinite(loaded.decision_function(X)).all()
    if name != "nystroem":  # its landmarks were drawn by leverage, which is not there any more
        again = clone(loaded).fit(X, Y)
        np.testing.assert_allclose(again.decision_function(X), loaded.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("f2", "f2"),
        ("recall at precision", "recall@precision=0.75"),
        ("partial area", "roc_auc@fpr=0.5"),
        ("precision at 3", "precision@3"),
        ("recall at 5", "recall@5"),
    ],
)
def test_the_numbers_of_a_measure(name, measure):
    loaded = mm.load(FOLDER / f"{name}.mm")
    assert loaded.measure == measure
    assert getattr(loaded.structure_, "measure", measure) == measure
    again = mm.MeasureSVC(measure=measure, bound="margin").fit(X, Y)
    np.testing.assert_allclose(again.decision_function(X), loaded.decision_function(X), atol=1e-9)


def test_the_numbers_of_a_measure_of_a_structure():
    loaded = mm.load(FOLDER / "structural.mm")
    assert loaded.structure.measure == loaded.structure_.measure == "f0.5"
    assert mm.load(FOLDER / "structural area.mm").structure_.max_fpr == 0.5


def test_the_solver_of_a_checkpoint():
    resumed = mm.MulticlassSVM(tol=1e-6).fit(X, Y, resume=FOLDER / "checkpoint.npz")
    np.testing.assert_allclose(resumed.coef_, mm.MulticlassSVM(tol=1e-6).fit(X, Y).coef_, rtol=1e-9)
