"""Solvers by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver, State
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.cutting.oneslack import OneSlack
from maxmargin.solvers.minmax.solver import CertificateProgram, MinMax
from maxmargin.solvers.primal.lbfgs import LBFGS
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.solvers.primal.subgradient import Subgradient
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.solvers.working_sets.sharded import Sharded

#: Largest number of examples for which the bundle is chosen. Steps on one example at a time gain nothing if there are
#: hardly any, and aggregate planes of a few examples contain as much information as the planes of each example.
FEW_EXAMPLES = 4


@dataclass(frozen=True)
class Automatic(ProximalWorkingSets):
    """Proximal working sets, the proximal bundle for a problem with few examples, or L-BFGS for a smooth bound."""

    name: ClassVar[str] = "auto"

    def for_problem(self, problem: Problem) -> Solver:
        if problem.smooth:
            return LBFGS() if problem.objective.lower is None else ProximalBundle()
        few = problem.n_examples <= FEW_EXAMPLES and not problem.objective.hard
        return ProximalBundle() if few else ProximalWorkingSets()

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> State:
        return self.for_problem(problem).adapt(problem, state, seed)


#: Solvers by the names that ``solver=`` accepts besides ``"auto"``.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        ProximalWorkingSets,
        NSlack,
        Sharded,
        OneSlack,
        ProximalBundle,
        Subgradient,
        AveragedPerceptron,
        LBFGS,
        MinMax,
        CertificateProgram,
    )
}


def resolve(solver: str | Solver) -> Solver:
    """Return the solver of this name with its default hyper-parameters, or the solver itself.

    ``"auto"`` returns a solver that chooses when the problem is known (`Solver.for_problem`).
    """
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver == Automatic.name:
        return Automatic()
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    names = ", ".join(map(repr, (Automatic.name, *SOLVERS)))
    raise ValueError(f"solver must be one of {names}, or a Solver such as NSlack(epsilon=0.01); found {solver!r}")
