"""Invalid hyper-parameters of solvers raise a clear error before the data are read."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.solvers import AveragedPerceptron, NSlack, OneSlack, ProximalBundle, ProximalWorkingSets, Subgradient
from maxmargin.solvers.registry import SOLVERS


@pytest.mark.parametrize("name", SOLVERS)
def test_defaults_are_fine(name):
    SOLVERS[name]().check_parameters()


@pytest.mark.parametrize(
    ("solver", "sentence"),
    [
        (NSlack(batch=0), "NSlack: batch must be an integer ≥ 1, found 0"),
        (NSlack(epsilon=-1e-3), "NSlack: epsilon must be a number ≥ 0, found -0.001"),
        (NSlack(epsilon="small"), "NSlack: epsilon must be a number ≥ 0, found 'small'"),
        (NSlack(moves=2.5), "NSlack: moves must be an integer ≥ 1, found 2.5"),
        (NSlack(inner_gap=float("nan")), "NSlack: inner_gap must be a number ≥ 0, found nan"),
        (OneSlack(most_planes=2), "OneSlack: most_planes must be an integer ≥ 3, found 2"),
        (ProximalBundle(most_planes=2), "ProximalBundle: most_planes must be an integer ≥ 3, found 2"),
        (ProximalBundle(balance=(3.0, 1.0)), r"ProximalBundle: balance\[1\] must be a number ≥ 3, found 1.0"),
        (ProximalBundle(balance=1.0), "ProximalBundle: balance must be a pair of numbers, found 1.0"),
        (ProximalWorkingSets(moves=0), "ProximalWorkingSets: moves must be an integer ≥ 1, found 0"),
        (ProximalWorkingSets(cheap_share=-1.0), "ProximalWorkingSets: cheap_share must be a number ≥ 0, found -1.0"),
        (Subgradient(batch=0), "Subgradient: batch must be an integer ≥ 1, found 0"),
        (Subgradient(step_rule="adam"), "Subgradient: step_rule must be 'pegasos' or 'polyak', found 'adam'"),
        (AveragedPerceptron(batch=-1), "AveragedPerceptron: batch must be an integer ≥ 1, found -1"),
    ],
)
def test_bad_hyper_parameters(solver, sentence):
    with pytest.raises(ValueError, match=sentence):
        solver.check_parameters()
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger(solver=solver).fit(["neither", "is"], ["looked", "at"])


def test_the_least_that_is_fine_works():
    X, Y = mm.datasets.make_chains(10, random_state=0)
    for solver in (OneSlack(most_planes=3, keep_rounds=0), ProximalBundle(most_planes=3, keep_rounds=0)):
        model = mm.SequenceTagger(solver=solver, tol=0.1, max_iter=2000).fit(X, Y)
        assert model.certificate_.gap <= 0.1


@pytest.mark.parametrize("solver", ["oneslack", "bundle", "subgradient", "perceptron"])
def test_hard_margins_that_a_solver_does_not_know(solver):
    with pytest.raises(ValueError, match=f"solver='{solver}' needs a finite C"):
        mm.SequenceTagger(solver=solver, C=np.inf).fit(["neither", "is"], ["looked", "at"])
