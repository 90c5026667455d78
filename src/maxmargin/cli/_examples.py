"""Examples of a data file, what a command asks of them, and scores of predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from maxmargin._base.errors import ExampleError
from maxmargin.formats.streams import FormatError


@dataclass(frozen=True)
class Examples:
    """Examples of a file.

    Attributes
    ----------
    source : the file.
    X : inputs, as the estimator takes them.
    Y : outputs; None if they have not been read.
    size : what there is in the file, for messages: ``"40 sentences, 200 words"``.
    groups : the query or the family of each example; None if there are none.
    lines : the line of the file at which each example begins, where it is known.
    names : the name of each example, where the file has names but the lines are not known.
    records : what the writer of predictions needs besides X.
    """

    source: str
    X: Any
    Y: Any = None
    size: str = ""
    groups: Any = None
    lines: Sequence[int] = ()
    names: Sequence[str] = ()
    records: Any = None

    @contextmanager
    def located(self) -> Iterator[None]:
        """Let an error about one of the examples name the file, and the line or the record."""
        try:
            yield
        except ExampleError as error:
            at, text = error.example, str(error).partition("]")[2]
            if at is not None and at < len(self.lines):
                raise FormatError(self.source, self.lines[at], text.lstrip(":, ")) from error
            if at is not None and at < len(self.names):
                raise FormatError(self.source, None, f"record {at + 1} ({self.names[at]}){text}") from error
            if at is not None:
                raise FormatError(self.source, None, f"example {at + 1}{text}") from error
            raise


@dataclass(frozen=True)
class Request:
    """What a command asks of the readers and writers of a task.

    Attributes
    ----------
    zero_based : whether features are numbered from 0.
    width : number of features of rows; None for that of the model or of the file.
    scores : whether to write scores.
    form : name of another form of the output; empty for the usual one.
    training : whether the model is to be fitted to the examples; then the reader may set its parameters.
    given : parameters of the model that the user has specified.
    files : further files of the training data, by the name of their option.
    """

    zero_based: bool = False
    width: int | None = None
    scores: bool = False
    form: str = ""
    training: bool = False
    given: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskScores:
    """Scores of predictions by name.

    Attributes
    ----------
    values : numbers by name; the first one compares models.
    """

    values: dict[str, Any]

    @property
    def value(self) -> float:
        """The number by which models are compared."""
        return float(next(iter(self.values.values())))

    def __str__(self) -> str:
        return ", ".join(f"{name} {shown_number(value)}" for name, value in self.values.items())

    def as_dict(self) -> dict[str, Any]:
        """Return the scores for JSON."""
        return dict(self.values)


def shown_number(value: float) -> str:
    """Return an integer as it is, and other numbers with four digits."""
    return str(value) if isinstance(value, int) else f"{value:.4f}"
