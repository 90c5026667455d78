"""Constraints on transitions: forbidden ones score minus infinity, in training and in prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.checks import is_list
from maxmargin.features.rows.labels import Labels

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Constraints:
    """Forbidden transitions, first labels and last labels; everything else is allowed.

    Attributes
    ----------
    transitions : sequence of pairs, default=()
        Forbidden pairs (label, next label).
    start, end : sequence of labels, default=()
        Labels that no sequence may begin or end with.

    Examples
    --------
    >>> import maxmargin as mm
    >>> order = mm.Constraints(transitions=[("verb", "verb")], start=["verb"])
    >>> X, Y = [["we", "sing"], ["we", "can", "sing"]], [["noun", "verb"], ["noun", "aux", "verb"]]
    >>> tagger = mm.ColumnTagger(constraints=order).fit(X, Y)
    >>> tagger.predict([["sing", "sing"]])  # no verb comes first
    [['noun', 'verb']]
    """

    transitions: tuple[tuple[Any, Any], ...] = ()
    start: tuple[Any, ...] = ()
    end: tuple[Any, ...] = ()

    def tables(self, labels: Labels) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return (K, K), (K,) and (K,) arrays of bool: what is allowed."""
        size, codes = len(labels), labels.codes
        allowed, start, end = np.ones((size, size), bool), np.ones(size, bool), np.ones(size, bool)
        known = set(codes)
        named = {label for pair in self.transitions for label in pair} | set(self.start) | set(self.end)
        if named - known:
            raise ValueError(f"constraints refer to labels that are not classes: {sorted(map(str, named - known))}")
        for a, b in self.transitions:
            allowed[codes[a], codes[b]] = False
        start[[codes[a] for a in self.start]] = False
        end[[codes[a] for a in self.end]] = False
        return allowed, start, end


def _split(label: str) -> tuple[str, str]:
    """Return ('B', 'PER') for 'B-PER' and ('O', '') for 'O'."""
    prefix, _, kind = str(label).partition("-")
    return prefix, kind


def bio_constraints(labels: Iterable[str]) -> Constraints:
    """Return the constraints of BIO (IOB2): I-X only after B-X or I-X.

    Examples
    --------
    >>> bio_constraints(["O", "B-PER", "I-PER"])
    Constraints(transitions=(('O', 'I-PER'),), start=('I-PER',), end=())
    """
    labels = list(labels)
    inside = [label for label in labels if _split(label)[0] == "I"]
    pairs = tuple(
        (before, label)
        for before in labels
        for label in inside
        if not (_split(before)[0] in ("B", "I") and _split(before)[1] == _split(label)[1])
    )
    return Constraints(pairs, tuple(inside), ())


def bioes_constraints(labels: Iterable[str]) -> Constraints:
    """Return the constraints of BIOES.

    B-X and I-X are followed by I-X or E-X; O, E and S by O, B or S; a sequence ends with O, E or S.

    Examples
    --------
    >>> bioes_constraints(["O", "S-X"]).transitions
    ()
    """
    return _closed_constraints(labels, "E")


def bilou_constraints(labels: Iterable[str]) -> Constraints:
    """Return the constraints of BILOU: those of BIOES, with L for the last token of an entity and U for a single one.

    Examples
    --------
    >>> bilou_constraints(["O", "B-X", "L-X"]).start
    ('L-X',)
    """
    return _closed_constraints(labels, "L")


def _closed_constraints(labels: Iterable[str], last: str) -> Constraints:
    """Return the constraints of a scheme that marks the last token of an entity by the prefix `last`."""
    labels = list(labels)

    def open_kind(label: str) -> str | None:
        prefix, kind = _split(label)
        return kind if prefix in ("B", "I") else None

    def continues(label: str) -> str | None:
        prefix, kind = _split(label)
        return kind if prefix in ("I", last) else None

    pairs = tuple((a, b) for a in labels for b in labels if open_kind(a) != continues(b))
    start = tuple(label for label in labels if continues(label) is not None)
    end = tuple(label for label in labels if open_kind(label) is not None)
    return Constraints(pairs, start, end)


#: Named constraints; BIO is called IOB2 too.
SCHEMES: dict[str, Callable[[Iterable[str]], Constraints]] = {
    "bio": bio_constraints,
    "iob2": bio_constraints,
    "bioes": bioes_constraints,
    "bilou": bilou_constraints,
}

_EXPECTED = f"{', '.join(map(repr, SCHEMES))}, Constraints or pairs"


@overload
def repair_bio(labels: Sequence[str]) -> list[str]: ...  # type: ignore[overload-overlap]


@overload
def repair_bio(labels: Sequence[Sequence[str]]) -> list[list[str]]: ...


def repair_bio(labels: Any) -> Any:
    """Return labels with every I-X that continues no entity replaced by B-X, and every such I by B.

    Parameters
    ----------
    labels : sequence of str, or sequence of such sequences
        The labels of one sentence, or of several sentences.

    Returns
    -------
    list of str, or list of list of str
        The repaired labels.

    Examples
    --------
    >>> repair_bio(["O", "I-PER", "I-PER", "I-LOC"])
    ['O', 'B-PER', 'I-PER', 'B-LOC']
    >>> repair_bio([["O", "I-PER"], ["I-PER"]])
    [['O', 'B-PER'], ['B-PER']]
    """
    nested = [is_list(item) for item in labels]
    if not any(nested):
        return _repaired(labels)
    if not all(nested):
        at = nested.index(not nested[0])
        expected = "a list of labels as labels[0] is" if nested[0] else "a label as labels[0] is"
        raise ValueError(f"labels[{at}]: expected {expected}, found {labels[at]!r:.60}")
    return [_repaired(sentence) for sentence in labels]


def _repaired(labels: Sequence[str]) -> list[str]:
    repaired: list[str] = []
    before = ("O", "")
    for label in labels:
        prefix, kind = _split(label)
        if prefix == "I" and not (before[0] in ("B", "I") and before[1] == kind):
            prefix = "B"
            label = "B" + str(label)[1:]
        repaired.append(label)
        before = (prefix, kind)
    return repaired


def resolve_constraints(constraints: Any, labels: Labels) -> Constraints:
    """Return `Constraints` given None, the name of a scheme, `Constraints`, or a list of forbidden pairs."""
    if constraints is None:
        return Constraints()
    if isinstance(constraints, Constraints):
        return constraints
    if isinstance(constraints, str):
        if constraints not in SCHEMES:
            raise ValueError(f"constraints must be {_EXPECTED}, found {constraints!r}")
        return SCHEMES[constraints](labels.values)
    return Constraints(tuple(_pairs(constraints)))


def _pairs(constraints: Any) -> Iterator[tuple[Any, Any]]:
    """Return the forbidden pairs; raise ValueError if one is not a pair."""
    if not isinstance(constraints, Iterable):
        raise ValueError(f"constraints must be {_EXPECTED}, found {constraints!r}")
    for i, pair in enumerate(constraints):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"constraints[{i}]: expected a pair (label, next label), found {pair!r}")
        before, after = pair
        yield before, after


def count_sequences(allowed: BoolArray, start: BoolArray, end: BoolArray, length: int, most: int) -> int:
    """Return the number of allowed sequences of a length ≥ 1, or `most` if there are more."""
    counts, follows, free = start.astype(float), allowed.astype(float), bool(allowed.all() and end.any())
    for _ in range(length - 1):
        counts = np.minimum(counts @ follows, float(most))
        if free and counts.max() >= most:
            break
    return min(int(counts @ end), most)


def feasible_lengths(allowed: BoolArray, start: BoolArray, end: BoolArray, longest: int) -> BoolArray:
    """Return, for each length 0 … longest, whether an allowed sequence of this length exists."""
    out = np.ones(longest + 1, bool)
    reach = start.copy()
    for length in range(1, longest + 1):
        out[length] = bool((reach & end).any())
        reach = np.asarray(allowed[reach].any(axis=0))
    return out
