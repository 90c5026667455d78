"""Outputs of rankings and selections: documents in order, sets of documents, and pairs in the wrong order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.ragged import split_rows
from maxmargin._base.types import AnyArray


class TopDocuments(tuple[int, ...]):
    """The top documents: their indices in ascending order.

    Examples
    --------
    >>> import maxmargin as mm
    >>> top = mm.outputs.TopDocuments([0, 3, 4])
    >>> 3 in top
    True
    """

    __slots__ = ()


class RankedDocuments(tuple[int, ...]):
    """Documents in the order of a ranking, best first: all of them, or those in the first positions.

    Examples
    --------
    >>> import maxmargin as mm
    >>> order = mm.outputs.RankedDocuments([2, 0, 1])
    >>> order[0]  # the best document
    2
    """

    __slots__ = ()


class SelectedDocuments(tuple[int, ...]):
    """The chosen candidates, in the order of the choice.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.search_results()
    >>> chosen = mm.StructuralSVM(mm.Coverage(k=2), C=1.0).fit(X, Y).predict(X[:1])[0]
    >>> type(chosen).__name__, len(chosen)
    ('SelectedDocuments', 2)
    """

    __slots__ = ()


class SwappedPairs(NamedTuple):
    """The pairs of documents in the wrong order.

    Attributes
    ----------
    counts : tuple of (int, int)
        For each document, how many less relevant documents come before it, and how many more relevant ones after it.
    n_pairs : int
        Number of pairs of documents of different relevance.

    Examples
    --------
    >>> import maxmargin as mm
    >>> swapped = mm.outputs.SwappedPairs(counts=((0, 1), (1, 0)), n_pairs=1)
    >>> sum(before for before, _ in swapped.counts) / swapped.n_pairs  # share of pairs in the wrong order
    1.0
    """

    counts: tuple[tuple[int, int], ...]
    n_pairs: int


_KINDS: tuple[type, ...] = (TopDocuments, RankedDocuments, SwappedPairs, SelectedDocuments)


def pack(outputs: list[Any]) -> dict[str, AnyArray]:
    """Return outputs of any kind as arrays."""
    flat = [np.array(_numbers(output), np.int64) for output in outputs]
    return {
        "kinds": np.array([_KINDS.index(type(output)) for output in outputs], np.int64),
        "lengths": np.fromiter(map(len, flat), np.int64, len(flat)),
        "numbers": np.concatenate([*flat, np.zeros(0, np.int64)]),
    }


def unpack(packed: Any) -> list[Any]:
    """Return the outputs that `pack` packed; raise ValueError if the arrays do not belong together."""
    kinds, lengths, numbers = (np.asarray(packed[name]) for name in ("kinds", "lengths", "numbers"))
    known = ((kinds >= 0) & (kinds < len(_KINDS))).all()
    if len(kinds) != len(lengths) or not known:
        raise ValueError(f"expected the kinds 0 to {len(_KINDS) - 1} of {len(lengths)} outputs, found {kinds!r:.60}")
    rows = split_rows(numbers.tolist(), lengths)
    return [_output(_KINDS[kind], row) for kind, row in zip(kinds.tolist(), rows, strict=True)]


def _numbers(output: Any) -> list[int]:
    if isinstance(output, SwappedPairs):
        return [number for counts in output.counts for number in counts] + [output.n_pairs]
    return list(output)


def _output(kind: type, numbers: list[int]) -> Any:
    if kind is not SwappedPairs:
        return kind(numbers)
    return SwappedPairs(tuple(zip(numbers[:-1:2], numbers[1::2], strict=True)), numbers[-1])
