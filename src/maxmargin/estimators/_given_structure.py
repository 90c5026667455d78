"""The parameter `structure` of estimators that are given one."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from maxmargin.core.structure import Structure


class GivenStructure:
    """Mixin in front of `MaxMarginEstimator`: the structure is a parameter, and has parameters of its own."""

    structure: Structure

    def _make_structure(self) -> Structure:
        if isinstance(self.structure, type):
            raise TypeError(f"give an object, not the class: {self.structure.__name__}()")
        return self.structure

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also of the structure (``structure__name=…``) where it is a scikit-learn `BaseEstimator`."""
        nested = [name for name in parameters if name.startswith("structure__")]
        structure = parameters.get("structure", self.structure)
        if nested and not hasattr(structure, "set_params"):
            raise ValueError(
                f"{nested[0]}: {type(structure).__name__} has no set_params; derive it from sklearn.base.BaseEstimator "
                f"as well, so that its parameters can be set and searched over"
            )
        if nested and structure is getattr(self, "structure_", None):  # what was learnt with it stays as it is
            parameters["structure"] = copy(structure)
        changed: Self = super().set_params(**parameters)  # type: ignore[misc]
        return changed
