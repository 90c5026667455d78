"""Fits that learn nothing say so."""

import warnings

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import DegenerateWarning

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(2, 6, size=30)
NOISE = [RNG.normal(size=(n, 3)) for n in LENGTHS], [RNG.integers(0, 5, size=n).tolist() for n in LENGTHS]


def test_weights_of_zero_are_said_with_the_numbers():
    with pytest.warns(DegenerateWarning, match="nothing was learnt: the weights are 0") as found:
        model = mm.SequenceTagger(C=1e-4).fit(*NOISE)
    (warning,) = found
    assert f"the objective is {model.certificate_.primal:.6g} there" in str(warning.message)
    assert "use bound='ramp' with start=, a loss that counts wrong parts" in str(warning.message)


def test_small_weights_that_predict_are_not_degenerate():
    X, Y = mm.datasets.make_chains(30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mm.SequenceTagger(C=1e-6).fit(X, Y)
    assert model.score(X, Y) > 0.5


def test_a_loose_tol_does_not_stop_at_zero():
    """At a tiny C every gap is small relative to P(0); the weights must still point somewhere."""
    X, Y = mm.datasets.make_chains(30, random_state=0)
    model = mm.SequenceTagger(C=1e-5, tol=0.05).fit(X, Y)
    tight = mm.SequenceTagger(C=1e-5, tol=1e-6).fit(X, Y)
    cosine = model.coef_ @ tight.coef_ / np.linalg.norm(model.coef_) / np.linalg.norm(tight.coef_)
    assert cosine > 0.8
    assert model.score(X, Y) > tight.score(X, Y) - 0.05


def test_no_warning_where_the_prior_is_kept():
    X, Y = mm.datasets.make_chains(10, random_state=0)
    first = mm.StructuralSVM(mm.Chain(), C=1.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.StructuralSVM(mm.Chain(), C=1e-8, prior=10.0 * first.coef_).fit(X, Y)


def test_measures_say_that_a_ramp_would_help():
    X = RNG.normal(size=(200, 3))
    y = RNG.random(200) < 0.05
    with pytest.warns(DegenerateWarning, match="use bound='ramp' with start='plain'"):
        mm.MeasureSVC(measure="f1", bound="margin").fit(X, y)
