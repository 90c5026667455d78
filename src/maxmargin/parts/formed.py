"""Base class of structures over parts whose outputs have several forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.errors import Where, error_at
from maxmargin.features.decision_forms import (
    INDICES,
    SET,
    VECTOR,
    check_decision,
    indices_of,
    is_index_set,
    is_indices,
    is_vector,
    recognised,
    saved_lists,
)
from maxmargin.parts.costs import PartCosts, costs_of
from maxmargin.parts.structure import PartStructure

_TESTS = {VECTOR: is_vector, INDICES: is_indices, SET: is_index_set}


class FormedStructure(PartStructure):
    """A structure that returns outputs in the form in which it was trained on them.

    A subclass has a parameter `decision`, calls `_recognise` before it reads outputs, and reads and writes the form in
    `form_`; its `check_parameters` calls that of this class.
    """

    #: Forms of outputs, the first one for structures that are not fitted; further names than "vector", "indices" and
    #: "set" are those of `described`.
    forms: ClassVar[tuple[str, ...]]
    #: What outputs of the forms of a field are called in messages.
    described: ClassVar[dict[str, str]] = {}
    decision: str

    @property
    def form_(self) -> str:
        """The form of outputs: declared, recognised by `fit`, or by default the first one."""
        known: str = getattr(self, "_form", None) or (self.forms[0] if self.decision == "auto" else self.decision)
        return known

    def check_parameters(self) -> None:
        check_decision(self.decision, self.forms)

    def _recognise(
        self,
        Y: Sequence[Any],
        sizes: Sequence[int],
        read: Callable[[str, Any, int], Any],
        own: Mapping[str, Callable[[Any, int], bool]] | None = None,
    ) -> None:
        """Set `form_` to the form of all outputs.

        Parameters
        ----------
        Y : sequence
            The outputs, maybe with costs.
        sizes : sequence of int
            Number of parts of each example.
        read : callable
            ``read(form, y, i)`` raises ValueError if y is not a decision of example i in this form.
        own : dict of functions, optional
            Whether an output may have a form of the field: ``own[form](y, i)``.
        """
        fits = dict(own or {})
        for form in self.forms:
            if form in _TESTS and form not in fits:
                fits[form] = lambda y, i, test=_TESTS[form]: test(y, sizes[i])  # type: ignore[misc]
        plain = [y.output if isinstance(y, PartCosts) else y for y in Y]
        self._form = recognised(plain, fits, self.decision, self.forms[0], read, self.described)

    def _learnt(self) -> dict[str, Any]:
        return {**super()._learnt(), "form": self.form_}

    def _set_learnt(self, learnt: Any) -> None:
        if learnt["form"] not in self.forms:
            raise ValueError(f"expected one of the forms {self.forms}, found {learnt['form']!r:.60}")
        self._form = learnt["form"]
        super()._set_learnt(learnt)


#: Forms of matchings: the partner of each node, pairs of nodes, and a table of 0 and 1.
PARTNERS, PAIRS, MATRIX = "partners", "pairs", "matrix"


class MatchedStructure(FormedStructure):
    """A structure whose outputs are pairs of nodes.

    The own form lists the partners of each node. The others are lists or sets of pairs, a table of 0 and 1, and a 0/1
    vector over the pairs in the order of their features.
    """

    forms: ClassVar[tuple[str, ...]] = (PARTNERS, PAIRS, SET, MATRIX, VECTOR)
    described: ClassVar[dict[str, str]] = {
        PARTNERS: "lists of partners",
        PAIRS: "lists of pairs",
        SET: "sets of pairs",
        MATRIX: "tables of 0 and 1",
        VECTOR: "0/1 vectors over pairs",
    }

    def pair_loss(self, y: Any, y_hat: Any) -> float:
        """Return half the number of pairs that only one of two matchings has, or their costs; not for partners."""
        given = y if isinstance(y, PartCosts) else PartCosts(y, 0.5, 0.5)
        true, predicted = ({self.same(p): p for p in self.pairs_in(some, "y")} for some in (given.output, y_hat))
        false, missed = (np.asarray(costs, float) for costs in (given.false, given.missed))
        if self.form_ == VECTOR:
            false, missed = (costs.ravel() if costs.ndim else costs for costs in (false, missed))

        def total(costs: Any, pairs: dict[Any, Any], others: dict[Any, Any]) -> float:
            only = [pair for key, pair in pairs.items() if key not in others]
            return float(sum(costs[pair] if costs.ndim else costs for pair in only))

        return total(false, predicted, true) + total(missed, true, predicted)

    def same(self, pair: Any) -> Any:
        """Return a value that is the same for equal pairs."""
        return pair

    def pairs_in(self, y: Any, where: Where, form: str | None = None) -> list[Any]:
        """Return the pairs of an output; of a vector, their numbers."""
        form = self.form_ if form is None else form
        y = costs_of(y).output
        if form == VECTOR:
            numbers: list[Any] = indices_of(y, VECTOR, where, "pair").tolist()
            return numbers
        if form == MATRIX:
            table = np.asarray(y)
            if table.ndim != 2 or not np.isin(table, (0, 1)).all():
                raise error_at(where, f"expected a table of 0 and 1, found {y!r:.60}")
            return [(int(a), int(b)) for a, b in np.argwhere(table)]
        if not is_pairs(y):
            raise error_at(where, f"expected pairs of nodes, found {y!r:.60}")
        return [tuple(pair) for pair in y]

    def pack_outputs(self, outputs: list[Any]) -> Any:
        if self.form_ == PARTNERS:
            return super().pack_outputs(outputs)
        lists = [np.asarray(sorted(y) if isinstance(y, Set) else y).tolist() for y in outputs]
        plain = all(isinstance(v, int) for y in lists for row in y for v in (row if isinstance(row, list) else [row]))
        return {"lists": lists} if plain else None

    def unpack_outputs(self, packed: Any) -> list[Any]:
        if self.form_ == PARTNERS:
            return super().unpack_outputs(packed)
        return [self._restored(entries) for entries in saved_lists(packed, 1 if self.form_ == VECTOR else 2)]

    def _restored(self, entries: list[Any]) -> Any:
        if self.form_ == MATRIX:
            return np.array(entries, np.int64)
        if self.form_ == VECTOR:
            return entries
        pairs = [tuple(pair) for pair in entries]
        return set(pairs) if self.form_ == SET else pairs

    def written_pairs(
        self, pairs: list[tuple[Any, Any]], shape: tuple[int, int], numbers: Any, names: Any = None
    ) -> Any:
        """Return the pairs of positions of an output in `form_`.

        Parameters
        ----------
        pairs : list of (int, int)
            Positions of nodes.
        shape : (int, int)
            Shape of a table.
        numbers : callable
            ``numbers()`` returns the numbers of these pairs and of all pairs, for vectors.
        names : (list, list), optional
            Names of the first and of the second nodes.
        """
        if self.form_ == MATRIX:
            table = np.zeros(shape, np.int64)
            for a, b in pairs:
                table[a, b] = 1
            return table
        if self.form_ == VECTOR:
            own, size = numbers()
            return np.isin(np.arange(size), own).astype(np.int64).tolist()
        named = pairs if names is None else [(names[0][a], names[1][b]) for a, b in pairs]
        return set(named) if self.form_ == SET else named


def is_pairs(y: Any) -> bool:
    """Return whether an output is a list or set of pairs, which are tuples (in a set also frozen sets)."""
    if isinstance(y, Set):
        return all(isinstance(pair, tuple | frozenset) and len(pair) == 2 for pair in y)
    return isinstance(y, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in y)


def is_table(y: Any, shape: tuple[int, int]) -> bool:
    """Return whether an output is a table of 0 and 1 of this shape."""
    try:
        table = np.asarray(y)
    except ValueError:
        return False
    return table.shape == shape and table.dtype.kind in "biuf" and bool(np.isin(table, (0, 1)).all())
