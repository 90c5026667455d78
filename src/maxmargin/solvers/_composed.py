"""States composed of parts that can save themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from maxmargin._types import AnyArray
from maxmargin.solvers._saved import check_array, check_names, check_within
from maxmargin.solvers.base import State


@dataclass
class Part:
    """Numbers and arrays of a state that belong together; every field is saved."""

    #: Range of saved numbers that are not valid everywhere, by field.
    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def arrays(self) -> dict[str, AnyArray]:
        """Return the fields as plain arrays."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        like = self.arrays()
        check_names(arrays, like)
        for name, array in arrays.items():
            check_array(name, array, like[name], finite=array.ndim > 0)
            check_within(name, array, *self._ranges.get(name, (-np.inf, np.inf)))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Set the fields to what `arrays` returned."""
        for field in fields(self):
            value = np.array(arrays[field.name])
            setattr(self, field.name, value if value.ndim else value.item())


class ComposedState(State):
    """State that also saves the parts named in `_parts`.

    Their arrays are saved as ``part.array``.
    """

    _parts: ClassVar[tuple[str, ...]] = ()

    def arrays(self) -> dict[str, AnyArray]:
        saved = super().arrays()
        for part in self._parts:
            saved.update({f"{part}.{name}": array for name, array in getattr(self, part).arrays().items()})
        return saved

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        super().check_saved(arrays)
        for part in self._parts:
            try:
                getattr(self, part).check_saved(_of_part(part, arrays))
            except ValueError as error:
                raise ValueError(f"in its part {part}, {error}") from None

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        super().restore(arrays)
        for part in self._parts:
            getattr(self, part).restore(_of_part(part, arrays))


def _of_part(part: str, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the arrays of a part, by their names within it."""
    mine = f"{part}."
    return {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
