"""Bounds of the loss, which turn planes into those that solvers use."""

from maxmargin.bounds.rescaling import BOUNDS, Bound, NamedBound
from maxmargin.bounds.search import search_over_scale

__all__ = ["BOUNDS", "Bound", "NamedBound", "search_over_scale"]
