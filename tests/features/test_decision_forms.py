"""Forms of decisions are recognised over all outputs, never guessed from one."""

import pytest

from maxmargin.features.decision_forms import (
    indices_of,
    is_index_set,
    is_indices,
    is_vector,
    recognised,
    saved_lists,
    written,
)


def fits(size):
    tests = {"vector": is_vector, "indices": is_indices, "set": is_index_set}
    return {form: lambda y, i, test=test: test(y, size) for form, test in tests.items()}


def form(Y, size, declared="auto", read=lambda form, y, i: None):
    return recognised(Y, fits(size), declared, "vector", read)


def test_one_output_decides_for_all():
    """[0, 1, 2] of three parts are indices, [0, 1] of two may be either."""
    assert form([[0, 1, 2], [1]], 3) == "indices"
    assert form([[0, 1, 1]], 3) == "vector"
    assert form([{0, 2}, set()], 3) == "set"
    assert form([[True, False, True]], 3) == "vector"
    assert form([[0, 1]], 2, declared="indices") == "indices"
    with pytest.raises(ValueError, match=r"Y can be read as lists of indices and as 0/1 vectors: pass decision="):
        form([[0, 1], [1, 0]], 2)


def test_a_mixture_is_an_error():
    with pytest.raises(ValueError, match=r"Y\[1\]: outputs have different forms: this is one of lists of indices"):
        form([[0, 1, 1], [2]], 3)
    with pytest.raises(ValueError, match=r"Y\[2\].*outputs before it are lists of indices; use one form for all"):
        form([[0, 1, 2], [0], {1}], 3)


def test_what_is_no_decision_excludes_a_form():
    def read(form, y, i):
        if form == "indices":
            raise ValueError("too heavy")

    assert form([[0, 1]], 2, read=read) == "vector"


def test_reading_and_writing():
    assert indices_of({3, 1}, "indices", "y", "item").tolist() == [1, 3]
    assert indices_of([0, 1, 1], "vector", "y", "item").tolist() == [1, 2]
    assert written(indices_of([2, 0], "indices", "y", "item"), "indices", 4) == [2, 0]
    assert written(indices_of([2, 0], "indices", "y", "item"), "vector", 4) == [1, 0, 1, 0]
    with pytest.raises(ValueError, match="y: expected 0 or 1 for each item, found"):
        indices_of([0, 2], "vector", "y", "item")
    with pytest.raises(ValueError, match="y: item 4 does not exist: X has items 0 to 3"):
        indices_of([4], "indices", "y", "item", 4)


def test_outputs_of_damaged_files_are_refused():
    assert saved_lists({"lists": [[1, 0], []]}, 1) == [[1, 0], []]
    assert saved_lists({"lists": [[[1, 0]], []]}, 2) == [[[1, 0]], []]
    for packed in ({"lists": [[1.5]]}, {"lists": [["a"]]}, {"lists": 3}, {"codes": []}, None, {"lists": [[[1]]]}):
        with pytest.raises(ValueError, match="expected outputs as lists of integers"):
            saved_lists(packed, 1)
