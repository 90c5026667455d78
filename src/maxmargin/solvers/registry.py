"""Solvers by name."""

from __future__ import annotations

from maxmargin.solvers.auto import Automatic
from maxmargin.solvers.base import Solver
from maxmargin.solvers.bundle import ProximalBundle
from maxmargin.solvers.joint.solver import CertificateProgram, MinMax
from maxmargin.solvers.nslack import NSlack
from maxmargin.solvers.oneslack import OneSlack
from maxmargin.solvers.perceptron import AveragedPerceptron
from maxmargin.solvers.proximal import ProximalWorkingSets
from maxmargin.solvers.subgradient import Subgradient

#: Solvers by the names that ``solver=`` accepts.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        ProximalWorkingSets,
        NSlack,
        OneSlack,
        ProximalBundle,
        Subgradient,
        AveragedPerceptron,
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
    names = ", ".join(map(repr, SOLVERS))
    raise ValueError(f"solver must be one of {names}, or a Solver such as NSlack(epsilon=0.01); found {solver!r}")
