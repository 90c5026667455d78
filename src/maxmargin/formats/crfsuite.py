"""CRFsuite's data: a token per line, its label, then its attributes, separated by tabs (Okazaki 2007)."""

from __future__ import annotations

import math
import re
from typing import Any

from maxmargin.formats.streams import FormatError, Source, line_blocks

#: The attributes of a token: names, or values by name if one has a value other than 1.
Attributes = list[str] | dict[str, float]

#: A name with escaped colons and backslashes, and a value after the first colon that is not escaped.
_ATTRIBUTE = re.compile(r"((?:[^:\\]|\\.|\\$)*)(?::(.*))?", re.DOTALL)
_ESCAPED = re.compile(r"\\([:\\])")

#: Fraction of fields with ``=`` or a value above which lines are taken for attributes, not for columns.
_MOSTLY = 0.5


def read_crfsuite(source: Source, *, labelled: bool = True) -> tuple[list[list[Attributes]], list[list[str]]]:
    r"""Read sequences of attributes and their labels from a file in CRFsuite's format.

    A line is a token: its label and any number of attributes, separated by tabs; a blank line ends a sequence. An
    attribute is a name of value 1, or ``name:value``; a colon or a backslash in a name is written ``\:`` or ``\\``.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.
    labelled : bool, default=True
        Whether an empty label is an error.

    Returns
    -------
    X : list of list of (list of str, or dict)
        The attributes of each token, as `SequenceTagger` takes them: names, or a dict of values by name if one has a
        value.
    Y : list of list of str
        The labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "one.txt"
    ...     _ = path.write_text("B-NP\tw=Ana\tcaps\nO\tw=sings\tlength:0.5\n")
    ...     mm.formats.read_crfsuite(path)
    ([[['w=Ana', 'caps'], {'w=sings': 1.0, 'length': 0.5}]], [['B-NP', 'O']])
    """
    X: list[list[Attributes]] = []
    Y: list[list[str]] = []
    within = False
    for first, lines in line_blocks(source):
        for number, line in enumerate(lines, first):
            if not line.strip():
                within = False
                continue
            label, *fields = line.split("\t")
            if labelled and not label.strip():
                raise FormatError(source, number, "expected a label and a tab at the beginning, found no label")
            if label.startswith("@"):
                raise FormatError(source, number, f"declarations such as {label!r:.60} are not supported")
            if not within:
                X.append([])
                Y.append([])
                within = True
            X[-1].append(_attributes(fields, source, number))
            Y[-1].append(label.strip())
    if X and not any(attributes for x in X for attributes in x):
        raise FormatError(source, None, "expected attributes after the labels, separated by tabs, found none")
    if not X:
        raise FormatError(source, None, "expected a line with a label and attributes for each token, found no tokens")
    return X, Y


def _attributes(fields: list[str], source: Source, number: int) -> Attributes:
    fields = [field for field in fields if field]
    if not any(":" in field or "\\" in field for field in fields):
        return fields
    pairs = [_pair(field, source, number) for field in fields]
    if all(value is None for _, value in pairs):
        return [name for name, _ in pairs]
    values: dict[str, float] = {}
    for name, value in pairs:
        values[name] = values.get(name, 0.0) + (1.0 if value is None else value)
    return values


def _pair(field: str, source: Source, number: int) -> tuple[str, float | None]:
    """Return the name and the value of an attribute; None if it has no value."""
    match = _ATTRIBUTE.fullmatch(field)
    assert match is not None
    name, text = _ESCAPED.sub(r"\1", match[1]), match[2]
    if text is None:
        return name, None
    value = _number(text)
    if value is None or not name:
        raise FormatError(
            source, number,
            f"expected a name, or name:number, found {field!r:.60}; write a colon in a name as \\:",
        )  # fmt: skip
    return name, value


def _number(text: str) -> float | None:
    """Return a finite number; None if the text is something else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def looks_like_crfsuite(lines: list[str]) -> bool:
    """Return whether lines are labels with attributes, most of which contain ``=`` or have a value."""
    rows: list[Any] = [line.split("\t") for line in lines if line.strip()]
    fields = [field for row in rows for field in row[1:] if field]
    if not fields or any(len(row) < 2 and not row[0].strip() for row in rows):
        return False
    named = sum("=" in field[1:] or _has_value(field) for field in fields)
    return named > _MOSTLY * len(fields) and not any("=" in row[0][1:] for row in rows)


def _has_value(field: str) -> bool:
    name, colon, text = field.rpartition(":")
    return bool(colon and name) and _number(text) is not None
