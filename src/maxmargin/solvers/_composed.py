"""States composed of parts that can save themselves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from maxmargin._types import AnyArray
from maxmargin.solvers.base import State


@dataclass
class Part:
    """Numbers and arrays of a state that belong together; every field is saved."""

    def arrays(self) -> dict[str, AnyArray]:
        """Return the fields as plain arrays."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

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

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        super().restore(arrays)
        for part in self._parts:
            mine = f"{part}."
            getattr(self, part).restore(
                {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
            )
