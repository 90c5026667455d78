"""The k best outputs: a huge k costs no more than the outputs that exist."""

import tracemalloc

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.structures.chain import structure as chain_structure

HUGE = 10**7


def peak(call):
    call()  # compiles
    tracemalloc.start()
    try:
        found = call()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_chains():
    model = mm.SequenceTagger().fit([np.eye(3)] * 2, [["a", "b", "c"], ["b", "a", "c"]])
    found, bytes_taken = peak(lambda: model.topk(np.eye(3), HUGE))
    assert len(found) == 27
    assert bytes_taken < 1e6
    assert found == model.topk(np.eye(3), 27)


def test_chains_with_constraints():
    X, Y = [np.eye(3)] * 2, [["O", "B-X", "I-X"], ["B-X", "O", "O"]]
    model = mm.SequenceTagger(constraints="bio").fit(X, Y)
    found, bytes_taken = peak(lambda: model.topk(np.eye(3), HUGE))
    assert len(found) == 13
    assert bytes_taken < 1e6


def test_chains_that_have_so_many(monkeypatch):
    model = mm.SequenceTagger().fit([np.eye(3)] * 2, [["a", "b", "c"], ["b", "a", "c"]])
    planned = []
    monkeypatch.setattr(chain_structure, "check_memory", lambda size, *_: planned.append(size) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.topk(np.zeros((100, 3)), HUGE)
    assert planned == [20.0 * HUGE * 100 * 3]


def test_other_structures():
    multiclass = mm.StructuralSVM(mm.Multiclass()).fit(np.eye(3), ["a", "b", "c"])
    motif = mm.MotifFinder(length=2, background_order=0).fit(["ACGT", "AAGT"] * 2, [0, 1] * 2)
    tree = mm.StructuralSVM(mm.Tree()).fit([np.ones((4, 4, 1))], [[0, 1, 2]])
    for model, x, count in ((multiclass, np.ones(3), 3), (motif, "ACGT", 4), (tree, np.ones((4, 4, 1)), 16)):
        found, bytes_taken = peak(lambda model=model, x=x: model.topk(x, HUGE))
        assert len(found) == count
        assert bytes_taken < 1e7
    with pytest.raises(ValueError, match="k must be an integer"):
        motif.structure_.topk(motif.coef_, "ACGT", -1)
