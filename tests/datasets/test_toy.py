"""Tiny data: the same each time, enough for the checks of estimators, and outputs that structures accept."""

import inspect
import pickle

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.datasets import toy

DATA = {
    name: function
    for name, function in vars(toy).items()
    if inspect.isfunction(function) and not name.startswith("_") and function.__module__ == toy.__name__
}
STRUCTURES = {
    "arcs": mm.Tree(),
    "assignments": mm.BipartiteMatching(),
    "graphs": mm.Cut(),
    "items": mm.Knapsack(),
    "partners": mm.Matching(),
    "paths": mm.Path(),
    "signs": toy.Sign(),
}


@pytest.mark.parametrize("name", DATA)
def test_data_are_the_same_each_time(name):
    data = DATA[name]()
    assert pickle.dumps(data) == pickle.dumps(DATA[name]())
    assert {len(part) for part in data} == {len(data[0])} and len(data[0]) >= 10


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_accept_them(name):
    X, Y = DATA[name]()
    report = mm.check_structure(STRUCTURES[name], X[:3], Y[:3], n_trials=3)
    assert report.ok, report
    model = mm.StructuralSVM(STRUCTURES[name], C=10.0).fit(X, Y)
    wrong = np.mean([not np.array_equal(y, found) for y, found in zip(Y, model.predict(X), strict=True)])
    assert wrong <= 0.2


@pytest.mark.parametrize("n_labels", [2, 3])
def test_labels_of_graphs(n_labels):
    _, Y = toy.graphs(n_labels)
    assert {label for y in Y for label in y} == set(range(n_labels))
