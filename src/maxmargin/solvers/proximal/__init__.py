"""Proximal working sets, the default solver: a state, improved by the first round that applies."""

from maxmargin.solvers.proximal.solver import ProximalWorkingSets

__all__ = ["ProximalWorkingSets"]
