"""ConvergenceDisplay draws what the history says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm


@pytest.fixture
def model():
    return mm.SequenceTagger(tol=1e-3).fit(*mm.datasets.make_chains(30, random_state=0))


@pytest.mark.parametrize("x", ["seconds", "oracle_calls", "iteration"])
def test_lines_are_the_history(model, x):
    display = mm.plots.ConvergenceDisplay.from_estimator(model, x=x)
    rows = [row for row in model.history_ if np.isfinite(row["primal"])]
    primal, dual = display.axes_[0].lines[:2]
    gap = display.axes_[1].lines[0]
    for line, name in ((primal, "primal"), (dual, "dual"), (gap, "gap")):
        np.testing.assert_array_equal(line.get_xdata(), [row[x] for row in rows])
        np.testing.assert_array_equal(line.get_ydata(), [row[name] for row in rows])
    plt.close(display.figure_)


def test_a_resumed_fit_without_new_steps(tmp_path):
    X, Y = mm.datasets.make_chains(10, random_state=0)
    path = tmp_path / "run.ckpt"
    mm.SequenceTagger(checkpoint=path).fit(X, Y)
    resumed = mm.SequenceTagger().fit(X, Y, resume=path)
    with pytest.raises(ValueError, match=rf"resumed after {resumed.n_iter_} steps and made no new ones"):
        mm.plots.ConvergenceDisplay.from_estimator(resumed)


def test_given_axes_and_bad_input(model):
    figure, axes = plt.subplots(1, 2)
    assert mm.plots.ConvergenceDisplay.from_estimator(model, axes=axes).figure_ is figure
    plt.close(figure)
    with pytest.raises(ValueError, match="x must be one of"):
        mm.plots.ConvergenceDisplay.from_estimator(model, x="time")
    with pytest.raises(ValueError, match="not fitted"):
        mm.plots.ConvergenceDisplay.from_estimator(mm.SequenceTagger())


@pytest.mark.parametrize("display", [mm.plots.ConvergenceDisplay, mm.plots.BoundDisplay])
def test_the_part_of_a_search_that_has_a_history(display):
    X, y = mm.datasets.make_multiclass(40, random_state=0)
    pipeline = make_pipeline(StandardScaler(), mm.MulticlassSVM(bound="ramp")).fit(X, y)
    with pytest.raises(ValueError, match=r"Pipeline has no history_ to plot: pass its last step, as in pipeline\[-1\]"):
        display.from_estimator(pipeline)
    search = GridSearchCV(pipeline, {"multiclasssvm__C": [1.0]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="GridSearchCV has no history_ to plot: pass its best_estimator_"):
        display.from_estimator(search)


@pytest.mark.parametrize("x", ["iteration", "oracle_calls"])
def test_counts_have_whole_ticks(model, x):
    display = mm.plots.ConvergenceDisplay.from_estimator(model, x=x)
    for ax in display.axes_:
        ax.set_xlim(1.2, 17.7)  # where ticks would be 2.5 apart
        assert all(tick == round(tick) for tick in ax.get_xticks())
    plt.close(display.figure_)
