"""How the loss is bounded: a bound turns the plane (a, b) into the plane to use."""

from maxmargin.bounds.rescaling import BOUNDS, Bound, NamedBound
from maxmargin.bounds.search import search_over_scale

__all__ = ["BOUNDS", "Bound", "NamedBound", "search_over_scale"]
