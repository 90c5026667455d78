"""What an estimator learns from, made once for a fit, and once for all fits of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure


@dataclass(frozen=True)
class TrainingData:
    """Examples that are checked and encoded, equal ones made one.

    Attributes
    ----------
    X, Y : inputs and outputs as `predict` and `score` take them, for callbacks.
    structure : with the sizes that it learnt from them.
    examples, weights : what is trained on, and c_i of each.
    positions : where the user has each example.
    """

    X: Any
    Y: Any
    structure: Structure
    examples: Examples
    weights: FloatArray
    positions: IntArray
