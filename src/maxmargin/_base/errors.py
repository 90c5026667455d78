"""Errors that record the example they are about."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Self, TypeAlias


@dataclass(frozen=True)
class Place:
    """Position of an example, or of a part of it, in the data.

    As text it is ``X[3]`` or ``X[3], token 2``.

    Attributes
    ----------
    name : str
        ``"X"`` or ``"Y"``.
    example : int
        Index of the example.
    part : str, default=""
        Text after the index, for a part of the example.
    """

    name: str
    example: int
    part: str = ""

    def __str__(self) -> str:
        return f"{self.name}[{self.example}]{self.part}"


#: The place of an example, or the name of a single argument, such as ``"y_hat"``.
Where: TypeAlias = Place | str


class ExampleError(ValueError):
    r"""Error about one example of the data.

    An estimator drops examples of weight 0 and merges equal ones before it encodes them, so the indices of encoders and
    solvers differ from those of the user. The estimator calls `move_to` to set the index in the user's data.

    Attributes
    ----------
    name : str or None
        ``"X"`` or ``"Y"``; None if the error is not about a single example.
    example : int or None
        Index of the example in the data.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> try:
    ...     mm.SequenceTagger().fit([np.zeros((2, 3)), np.zeros((4, 3))], [[0, 1], [0, 1, 0]])
    ... except mm.exceptions.ExampleError as error:
    ...     print(error, error.name, error.example, sep="\n")
    X[1]: 4 rows of features but 3 labels
    X
    1
    """

    name: str | None = None
    example: int | None = None
    _text: str = ""
    _message: str = ""
    #: Text before the index, such as the file of the example.
    origin: str = ""

    @property
    def message(self) -> str:
        """The message without the place."""
        return self._message or str(self)

    @classmethod
    def at(cls, place: Place, message: str, separator: str = ": ") -> Self:
        """Return the error with this message about the example at a place."""
        error = cls()
        error.name, error._text, error._message = place.name, f"{place.part}{separator}{message}", message
        error.move_to(int(place.example))
        return error

    def move_to(self, example: int) -> None:
        """Set the index of the example, also in the message."""
        self.example = example
        self.args = (f"{self.origin}{self.name}[{example}]{self._text}",)


def inside(where: Where, part: str) -> Where:
    """Return the place of a part: ``Y[3], position 2``."""
    return replace(where, part=f"{where.part}, {part}") if isinstance(where, Place) else f"{where}, {part}"


def error_at(where: Where, message: str) -> ValueError:
    """Return the error about a value: an `ExampleError` if the value is in an example."""
    return ExampleError.at(where, message) if isinstance(where, Place) else ValueError(f"{where}: {message}")


def callers_level() -> int:
    """Return the stack level, from the caller on, of the first frame outside this library and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("maxmargin", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
