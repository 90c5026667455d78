"""RankingDisplay draws NDCG@k and coverage by rank."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.digitize(X[:, 0], [0.3, 1.0]) + (np.arange(60) % 10 == 0), np.arange(60) // 10


def lines(display):
    return {line.get_label(): line for line in display.ax_.lines}


def test_curves_are_ndcg(data):
    X, y, groups = data
    rankers = [mm.StructuredRanker(measure=m).fit(*data) for m in ("pairwise", "ap")]
    display = mm.plots.RankingDisplay.from_estimators(rankers, X, y, groups, ks=[1, 3, 5], discount="letor")
    drawn = lines(display)
    assert list(drawn) == ["StructuredRanker, measure=pairwise", "StructuredRanker, measure=ap"]
    for ranker, line in zip(rankers, drawn.values(), strict=True):
        expected = [mm.metrics.ndcg_at_k(y, ranker.predict(X), groups, k, discount="letor") for k in (1, 3, 5)]
        np.testing.assert_array_equal(line.get_xdata(), [1, 3, 5])
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert display.ax_.get_ylabel() == "NDCG@k"
    display.figure_.canvas.draw()


def test_names_and_given_axes(data):
    X, y, groups = data
    _, ax = plt.subplots()
    display = mm.plots.RankingDisplay.from_predictions(y, {"good": y, "bad": -X[:, 0]}, groups=groups, ax=ax)
    assert display.ax_ is ax and list(lines(display)) == ["good", "bad"]
    assert lines(display)["good"].get_ydata().tolist() == [1.0] * 10
    only = mm.plots.RankingDisplay.from_predictions(y, -X[:, 0], groups)
    assert only.ax_.get_legend() is None


def test_coverage_by_rank():
    Y = [[{"a", "b"}, {"a"}, {"c"}], [{"a"}], [set()]]
    display = mm.plots.RankingDisplay.from_selections(Y, {"first": [[1, 2], [0], [0]], "last": [[0, 2], [0], [0]]})
    assert lines(display)["first"].get_ydata().tolist() == [0.75, 0.875]
    assert lines(display)["last"].get_ydata().tolist() == [0.875, 1.0]
    model = mm.DiverseSelector(k=1).fit([["a b", "b", "c"]] * 2, [Y[0]] * 2)
    drawn = lines(mm.plots.RankingDisplay.from_selectors(model, [["a b", "b", "c"]], Y[:1]))
    assert list(drawn) == ["DiverseSelector, k=1"]
    assert drawn["DiverseSelector, k=1"].get_ydata().tolist() == [model.score([["a b", "b", "c"]], Y[:1])]


def test_bad_input(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="expected at least one curve"):
        mm.plots.RankingDisplay([1], {})
    with pytest.raises(ValueError, match="expected one value for each of"):
        mm.plots.RankingDisplay([1, 2], {"a": [0.5]})
    with pytest.raises(ValueError, match="groups= is required"):
        mm.plots.RankingDisplay.from_predictions(y, X[:, 0])
    with pytest.raises(ValueError, match="k must be an integer"):
        mm.plots.RankingDisplay.from_predictions(y, X[:, 0], groups, ks=[0])
    with pytest.raises(ValueError, match="at least one chosen candidate"):
        mm.plots.RankingDisplay.from_selections([], {"a": []})
    with pytest.raises(ValueError, match="no input has a subtopic"):
        mm.plots.RankingDisplay.from_selections([[set()]], [[0]])
