"""A state with parts that know how to save themselves."""

from __future__ import annotations

from typing import ClassVar

from maxmargin._types import AnyArray
from maxmargin.solvers.base import State


class ComposedState(State):
    """Adds the arrays of each attribute named in `_parts`, as ``part.array``."""

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
