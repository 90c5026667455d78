"""Candidates with the elements they cover: texts, lists of elements, or the rows of a matrix."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.input import checked_csr
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import FloatArray, IntArray

_WORD = re.compile(r"\b\w\w+\b")
_EXPECTED = "a list of texts, a list of lists of elements, or a matrix (candidates, elements)"


class Incidence(NamedTuple):
    """Which elements the candidates of one input contain, and how often, as sparse rows.

    Attributes
    ----------
    ptr, elements, counts : ndarray
        The elements of candidate j are ``elements[ptr[j]:ptr[j + 1]]``, each once and in ascending order.
    size : int
        Number of elements; they are numbered within the input.
    names : sequence
        The elements: those of lists, words of texts, or the columns of a matrix as an array.
    """

    ptr: IntArray
    elements: IntArray
    counts: FloatArray
    size: int
    names: Sequence[Any] | IntArray

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.ptr) - 1

    def frequencies(self, least: float = 1.0) -> IntArray:
        """Return how many candidates contain each element at least so often."""
        return np.bincount(self.elements[self.counts >= least], minlength=self.size)


def words(text: str) -> list[str]:
    """Return the words of a text, of two or more letters or digits, in lower case."""
    return _WORD.findall(text.lower())


def incidence(x: Any, where: Where) -> Incidence:
    """Return the elements of each candidate of x."""
    if is_matrix(x):
        return _from_matrix(x, where)
    if not is_list(x):
        raise error_at(where, f"expected {_EXPECTED}, found {type(x).__name__}")
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    return _from_elements([_elements_of(part, inside(where, f"candidate {j}")) for j, part in enumerate(x)])


def is_frame(x: Any) -> bool:
    """Return whether a value is a data frame."""
    return hasattr(x, "to_numpy") and len(getattr(x, "shape", ())) == 2


def is_matrix(x: Any) -> bool:
    """Return whether a value is a matrix of numbers, or a data frame."""
    return sp.issparse(x) or is_frame(x) or (isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "biuf")


def is_one_input(X: Any) -> bool:
    """Return whether X is the candidates of one input, texts or a matrix, in the place of a list of inputs."""
    return is_matrix(X) or (is_list(X) and len(X) > 0 and all(isinstance(x, str) for x in X))


def kind_of_candidates(x: Any) -> str:
    """Return the kind of candidates: "texts", "lists" of elements, "rows" of a matrix, or "" for none."""
    if is_matrix(x):
        return "rows"
    return "" if not is_list(x) or len(x) == 0 else "texts" if all(isinstance(part, str) for part in x) else "lists"


def _from_matrix(x: Any, where: Where) -> Incidence:
    x = x.to_numpy() if is_frame(x) else x
    if x.dtype.kind not in "biuf":
        raise error_at(where, f"expected {_EXPECTED}, found a table of {x.dtype}")
    if sp.issparse(x):
        x = checked_csr(x, lambda row: inside(where, f"candidate {row}"), where)
    rows = sp.csr_array(x, dtype=float, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    wrong = np.flatnonzero(~(np.isfinite(rows.data) & (rows.data > 0)))
    if len(wrong):
        row = int(np.searchsorted(rows.indptr, wrong[0], "right")) - 1
        raise error_at(
            inside(where, f"candidate {row}"),
            f"expected how often the candidate contains each element, a finite number ≥ 0, found "
            f"{rows.data[wrong[0]]:g}",
        )
    used, elements = np.unique(rows.indices, return_inverse=True)
    return Incidence(rows.indptr.astype(np.int64), elements.astype(np.int64), rows.data, len(used), used)


def _elements_of(part: Any, where: Where) -> Sequence[Hashable]:
    """Return the elements of one candidate; a text is split into words."""
    if isinstance(part, str):
        return words(part)
    if isinstance(part, set | frozenset):
        part = sorted(part, key=repr)
    elif isinstance(part, bytes) or not is_list(part):
        raise error_at(where, f"expected a text or a list of elements, found {type(part).__name__} {part!r:.60}")
    return [hashable(element, where) for element in part]


def hashable(element: Any, where: Where) -> Any:
    """Return a member of a set; raise an error at `where` if it is not hashable."""
    try:
        hash(element)
    except TypeError:
        raise error_at(
            where, f"expected strings, numbers or other hashable values, found {type(element).__name__} {element!r:.60}"
        ) from None
    return element


def _from_elements(candidates: Sequence[Iterable[Hashable]]) -> Incidence:
    """Return candidates as rows; elements are numbered in the order in which they occur first."""
    numbers: dict[Hashable, int] = {}
    rows = []
    for candidate in candidates:
        counts: dict[int, int] = {}
        for element in candidate:
            number = numbers.setdefault(element, len(numbers))
            counts[number] = counts.get(number, 0) + 1
        rows.append(sorted(counts.items()))
    ptr = offsets_of([len(row) for row in rows])
    flat = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    return Incidence(ptr, flat[:, 0], flat[:, 1].astype(float), len(numbers), list(numbers))


def subtopic_rows(y: Any, where: Where) -> Incidence:
    """Return the subtopics of each candidate, from a list with a set of subtopics for each candidate."""
    if isinstance(y, str) or not is_list(y):
        raise error_at(where, f"expected a list with a set of subtopics for each candidate, found {type(y).__name__}")
    return _from_elements([_subtopics(part, inside(where, f"candidate {j}")) for j, part in enumerate(y)])


def _subtopics(part: Any, where: Where) -> list[Any]:
    if not isinstance(part, set | frozenset | list | tuple):
        shown = f"{type(part).__name__} {part!r:.60}"
        raise error_at(where, f"expected a set of subtopics (empty if the candidate has none), found {shown}")
    members = [hashable(member, where) for member in part]
    return list(dict.fromkeys(sorted(members, key=repr) if isinstance(part, set | frozenset) else members))
