"""Certificates: what they claim, and how they say it."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.core.certificate import Certificate
from maxmargin.core.objective import Objective
from maxmargin.estimators.html import certificate_html


def test_a_proof_and_an_estimate_in_words():
    assert str(Certificate(2.0, 1.0, 30, 0.5, primal_bound=2.0)) == (
        "objective 2, lower bound 1, relative gap 0.5 (proven); 30 argmaxes in 0.5 s"
    )
    assert "(estimated: the argmax is not exact)" in str(Certificate(2.0, 1.0, 30, 0.5, exact=False))


def test_a_lower_bound_above_the_objective_takes_the_proof_away():
    found = Certificate(1.0, 2.0, 30, 0.5, exact=True, primal_bound=1.0).reconsidered()
    assert found.contradicted
    assert not found.exact
    assert found.primal_bound == float("inf")
    assert "(contradicted: the lower bound is above the objective)" in str(found)


def test_what_is_not_known_is_not_proven():
    nothing = Certificate(float("inf"), 0.0, 30, 0.5)
    assert not nothing.proven
    assert str(nothing) == "the objective is not known yet, lower bound 0; 30 argmaxes in 0.5 s"
    assert Certificate(2.0, 1.0, 30, 0.5, primal_bound=2.0).proven
    for doubtful in ({}, {"primal_bound": 2.1}, {"exact": False, "primal_bound": 2.0}, {"beaten": True},
                     {"assumed": True, "primal_bound": 2.0}):  # fmt: skip
        found = Certificate(2.0, 1.0, 30, 0.5, **doubtful)
        assert not found.proven and "(proven)" not in str(found)


@pytest.mark.parametrize("dual", [1.0, 1.0 + 1e-9])
def test_rounding_takes_no_proof_away(dual):
    found = Certificate(1.0, dual, 30, 0.5, primal_bound=1.0)
    assert not found.contradicted
    assert found.reconsidered() is found


@pytest.mark.parametrize(
    ("steps", "decrease", "end"),
    [
        (1, float("inf"), "after 1 outer step, a local solution at best"),
        (4, 0.002, "after 4 outer steps (the last lowered the objective by 0.002), a local solution at best"),
    ],
)
def test_after_outer_steps_it_speaks_of_the_last_convex_problem(steps, decrease, end):
    found = Certificate(2.0, 1.0, 30, 0.5, primal_bound=2.0, outer_steps=steps, outer_decrease=decrease)
    assert str(found) == (
        f"last convex problem: objective 2, lower bound 1, relative gap 0.5 (proven); {end}; 30 argmaxes in 0.5 s"
    )


def test_notebooks_say_so_too():
    class Fitted:
        certificate_ = Certificate(2.0, 1.0, 30, 0.5, outer_steps=4)

    assert "<th>about</th><td>the last convex problem, after 4 outer steps, a local solution at best</td>" in (
        certificate_html(Fitted())
    )
    Fitted.certificate_ = Certificate(1.0, 2.0, 30, 0.5)
    assert "contradicted: the lower bound is above the objective" in certificate_html(Fitted())
    assert "about" not in certificate_html(Fitted())


def test_lower_bounds_do_not_underflow():
    """t² is 0 in floats where t² ‖u‖² is not: the bound would be twice too large."""
    objective = Objective(1.0, np.ones(1))
    assert objective.dual(1.0, np.array([1e100]), np.ones(1)) == pytest.approx(5e-201, rel=1e-12)
