"""BoundDisplay draws what the histories say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm

LABELS = ("convex bound", "ramp bound", "loss")
COLUMNS = ("convex", "bound", "loss")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    X, y = mm.datasets.make_multiclass(80, random_state=0)
    y[::5] = np.roll(y[::5], 1)
    return X, y


def lines(display):
    return {line.get_label(): line for line in display.ax_.lines}


def test_lines_are_the_outer_steps(data):
    model = mm.MulticlassSVM(bound="ramp").fit(*data)
    display = mm.plots.BoundDisplay.from_estimator(model)
    drawn = lines(display)
    assert tuple(drawn) == LABELS
    for label, column in zip(LABELS, COLUMNS, strict=True):
        np.testing.assert_array_equal(drawn[label].get_xdata(), range(len(model.history_)))
        np.testing.assert_array_equal(drawn[label].get_ydata(), [row[column] for row in model.history_])
    assert display.ax_.get_xlabel() == "outer steps"
    display.figure_.canvas.draw()


def test_lines_are_the_ends_of_a_path(data):
    models = mm.regularization_path(mm.MulticlassSVM(bound="ramp"), *data, Cs=[0.01, 1.0, 0.1])
    display = mm.plots.BoundDisplay.from_models(models)
    last = {model.C: model.history_[-1] for model in models}
    drawn = lines(display)
    for label, column in zip(LABELS, COLUMNS, strict=True):
        np.testing.assert_array_equal(drawn[label].get_xdata(), [0.01, 0.1, 1.0])
        np.testing.assert_array_equal(drawn[label].get_ydata(), [last[C][column] for C in (0.01, 0.1, 1.0)])
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "C"
    display.figure_.canvas.draw()


def test_latent_bounds_have_no_loss():
    X = [np.random.default_rng(n).normal(size=(n, n, 2)) for n in (3, 4, 5)]
    model = mm.ForestClustering().fit(X, [[0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1, 1]])
    display = mm.plots.BoundDisplay.from_estimator(model)
    assert tuple(lines(display)) == ("convex bound", "bound")


def test_given_axes(data):
    _, ax = plt.subplots()
    display = mm.plots.BoundDisplay([0, 1], [3.0, 2.0], [1.0, 0.5], [0.4, 0.4]).plot(ax=ax)
    assert display.ax_ is ax
    assert ax.get_ylim()[0] == 0


def test_bad_input(data):
    with pytest.raises(ValueError, match="MulticlassSVM is not fitted: it has no history_"):
        mm.plots.BoundDisplay.from_estimator(mm.MulticlassSVM(bound="ramp"))
    with pytest.raises(ValueError, match=r"MulticlassSVM\(bound='margin'\) was fitted to a convex bound"):
        mm.plots.BoundDisplay.from_estimator(mm.MulticlassSVM().fit(*data))
    with pytest.raises(ValueError, match="there are no models to plot"):
        mm.plots.BoundDisplay.from_models([])
    with pytest.raises(ValueError, match="four columns of equal length"):
        mm.plots.BoundDisplay([0, 1], [1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match="over must be 'outer steps' or 'C', found 'time'"):
        mm.plots.BoundDisplay([0], [1.0], [1.0], [1.0], over="time")
