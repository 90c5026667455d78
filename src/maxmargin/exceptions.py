"""Errors and warnings of the library that a program may catch.

All errors are subclasses of ValueError. A fit that ends above its tolerance warns with scikit-learn's
``sklearn.exceptions.ConvergenceWarning``, and an estimator that is not fitted raises its ``NotFittedError``.
"""

from maxmargin._base.errors import ExampleError
from maxmargin.core.structure import StructureError
from maxmargin.estimators.warnings import DegenerateWarning
from maxmargin.formats.streams import FormatError
from maxmargin.solvers.hard_margin import NotSeparableError
from maxmargin.solvers.minmax.solver import RelaxationWarning
from maxmargin.structures.grammar.examples import NoTreeWarning
from maxmargin.training.cccp import InexactArgmaxWarning

__all__ = [
    "DegenerateWarning",
    "ExampleError",
    "FormatError",
    "InexactArgmaxWarning",
    "NoTreeWarning",
    "NotSeparableError",
    "RelaxationWarning",
    "StructureError",
]
