"""Proximal working sets, the default solver.

A step improves the state by the first round that applies.
"""

from maxmargin.solvers.proximal.solver import ProximalWorkingSets

__all__ = ["ProximalWorkingSets"]
