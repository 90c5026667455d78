"""Sequences of letters with annotations of their positions: text, dicts, pairs, records of Biopython."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin.features.biology.alphabet import letters_of

#: Names of the two sequences of a pair in messages.
SIDES = ("first sequence", "second sequence")
#: The name of annotations that are passed without one: one value per position, or several.
UNNAMED, PROFILE = "annotation", "profile"


class AnnotatedSequence(NamedTuple):
    """A sequence with annotations of its positions.

    Attributes
    ----------
    text : str
        The letters.
    annotations : dict
        By name a string, a list or an array with one entry or row for each letter; None if the values are unknown.
    """

    text: str
    annotations: Mapping[str, Any]

    def key(self) -> tuple[Any, ...]:
        """Return a value that is equal for equal sequences."""
        return self.text, *((name, _bytes(values)) for name, values in self.annotations.items())


def _bytes(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.shape, values.dtype.str, values.tobytes()
    return values if values is None or isinstance(values, str) else repr(list(values))


def read_sequence(value: Any, where: Where) -> AnnotatedSequence:
    """Return a sequence as it is passed by users; raise an error if it is not one.

    It may be a string, a dict with the key ``"sequence"``, a pair (string, annotations), where annotations are a dict,
    a list of dicts, one for each position, or an array, or a Seq or SeqRecord of Biopython.
    """
    text, annotations = _split(value, where)
    if isinstance(annotations, np.ndarray) and annotations.ndim:
        annotations = {UNNAMED if annotations.ndim == 1 else PROFILE: annotations}
    elif is_list(annotations):
        annotations = _by_name(annotations, len(text), where)
    if not isinstance(annotations, Mapping):
        raise error_at(where, f"expected a dict of annotations of positions, found {annotations!r:.60}")
    for name, values in annotations.items():
        if not isinstance(name, str):
            raise error_at(where, f"expected names of annotations, found {name!r:.60}")
        if values is None:
            continue
        if not isinstance(values, str) and not is_list(values):
            raise error_at(where, f"expected values of {name!r}, one for each letter, found {values!r:.60}")
        if len(values) != len(text):
            raise error_at(where, f"{len(values)} values of {name!r} but {len(text)} letters")
    return AnnotatedSequence(text, annotations)


def _split(value: Any, where: Where) -> tuple[str, Any]:
    """Return the letters and the annotations of a sequence."""
    if isinstance(value, AnnotatedSequence | str):
        return (value, {}) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        rest = dict(value)
        text = rest.pop("sequence", None)
        if isinstance(text, str):
            return text, rest
        raise error_at(where, f"expected a dict with the letters as 'sequence', found the keys {list(value)!r:.60}")
    if hasattr(value, "seq") and hasattr(value, "letter_annotations"):
        return str(value.seq), dict(value.letter_annotations)
    letters = letters_of(value)
    if isinstance(letters, str):
        return letters, {}
    if is_list(value) and len(value) == 2 and isinstance(value[0], str) and not isinstance(value[1], str):
        return value[0], value[1]
    raise error_at(
        where,
        f"expected a string, a dict with 'sequence', a pair (string, annotations) or a record of Biopython, found "
        f"{type(value).__name__} {value!r:.60}",
    )


def _by_name(rows: Any, n: int, where: Where) -> dict[str, Any]:
    """Return one list of values for each name, from one dict for each position."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise error_at(where, f"expected a dict for each letter as annotations, found {rows!r:.60}")
    if len(rows) != n:
        raise error_at(where, f"{len(rows)} rows of annotations but {n} letters")
    names = dict.fromkeys(name for row in rows for name in row)
    for k, row in enumerate(rows):
        missing = [name for name in names if name not in row]
        if missing:
            raise error_at(inside(where, f"position {k}"), f"no value of {missing[0]!r}, which other positions have")
    return {name: [row[name] for row in rows] for name in names}


def read_pair(x: Any, where: Where) -> tuple[AnnotatedSequence, AnnotatedSequence]:
    """Return the two sequences of an input."""
    if isinstance(x, str) or not is_list(x) or len(x) != 2:
        raise error_at(where, f"expected a pair of sequences, found {type(x).__name__} {x!r:.60}")
    first, second = (read_sequence(value, inside(where, side)) for value, side in zip(x, SIDES, strict=True))
    return first, second


def numbered_pairs(X: Any) -> Iterator[tuple[AnnotatedSequence, AnnotatedSequence]]:
    """Yield the pairs of sequences of all inputs."""
    for i, x in enumerate(X):
        yield read_pair(x, Place("X", i))
