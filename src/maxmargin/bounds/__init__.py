"""How the loss is bounded: a bound turns the plane (a, b) into the plane to use."""

from maxmargin.bounds.rescaling import Bound
from maxmargin.bounds.search import search_over_scale

__all__ = ["Bound", "search_over_scale"]
