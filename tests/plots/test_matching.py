"""Pictures of matchings show each pair where it belongs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm
from maxmargin.plots.matching import pairs_of_output


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def arcs(display):
    """(first, second, above, style) of each arc drawn."""
    found = []
    for line in display.ax_.lines:
        x, y = line.get_data()
        if len(x):
            found.append((round(min(x), 6), round(max(x), 6), bool(np.mean(y) > 0), line.get_linestyle()))
    return sorted(found)


def test_arcs_of_truth_and_prediction():
    display = mm.plots.MatchingDisplay([1, 0, -1, 4, 3], true=[1, 0, 3, 2, -1], positions=[0, 10, 20, 30, 50]).plot()
    assert display.kinds == {"both": [(0, 1)], "false": [(3, 4)], "missed": [(2, 3)]}
    assert arcs(display) == [
        (0, 10, False, "-"), (0, 10, True, "-"), (20, 30, True, ":"), (30, 50, False, "--"),
    ]  # fmt: skip
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["true and predicted", "predicted only", "true only"]


def test_a_single_matching_is_above():
    display = mm.plots.MatchingDisplay(true=[2, -1, 0], labels="abc").plot()
    assert arcs(display) == [(0, 2, True, "-")]
    assert [text.get_text() for text in display.ax_.texts] == ["a", "b", "c"]
    assert display.ax_.get_legend() is None


def test_assignments_of_truth_and_prediction():
    scores = np.array([[1.0, -np.inf, 0.0], [0.0, 2.0, 1.0]])
    display = mm.plots.AssignmentDisplay(
        [[0], [1, 2]], true=[[0, 2], [1]], scores=scores, right_labels=["ann", "bob", "eve"]
    )
    ax = display.plot().ax_
    places = {c.get_label(): {tuple(map(int, p)) for p in c.get_offsets()} for c in ax.collections if c.get_label()}
    assert places["true and predicted"] == {(0, 0), (1, 1)}  # (column, row)
    assert places["predicted only"] == {(2, 1)} and places["true only"] == {(2, 0)}
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["ann", "bob", "eve"]
    assert len(ax.patches) == 1, "the forbidden pair is hatched"


def test_outputs_of_all_kinds_are_read():
    assert pairs_of_output([2, -1]) == {(0, 2)}
    assert pairs_of_output(mm.PartCosts([[0, 1], []])) == {(0, 0), (0, 1)}
    assert mm.plots.AssignmentDisplay([0, -1], n_right=4).shape == (2, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.plots.MatchingDisplay(), "expected a predicted or a true matching, found neither"),
        (lambda: mm.plots.MatchingDisplay([1, 0], true=[-1]), r"different numbers of nodes: \[1, 2\]"),
        (lambda: mm.plots.MatchingDisplay([1, 0], labels="abc"), "3 labels for 2 nodes"),
        (lambda: mm.plots.AssignmentDisplay(), "expected a predicted or a true assignment, found neither"),
        (lambda: mm.plots.AssignmentDisplay([0, 1], true=[0]), "different numbers of left nodes"),
        (lambda: mm.plots.AssignmentDisplay([3], n_right=2), "right node 3 is assigned, but there are 2 right nodes"),
        (
            lambda: mm.plots.AssignmentDisplay([0], scores=np.ones((2, 2))),
            r"scores have shape \(2, 2\), expected \(1, 2\)",
        ),
        (lambda: mm.plots.AssignmentDisplay([0], left_labels="ab"), "2 left and 1 right labels"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
