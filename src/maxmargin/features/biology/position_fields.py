"""Annotations of positions as integer keys, and presets of templates over pairs of positions.

A field is a key of each position: a letter, a class of an annotation, several of these together, or those of a
neighbouring position. A template is a field of the first and a field of the second sequence; it has a weight for each
pair of their keys (Joachims et al. 2009, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple, Self

import numpy as np

from maxmargin._base.checks import check_flag, finite_number, stored_names, whole_number
from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.features.biology.alphabet import Alphabet
from maxmargin.features.biology.annotated import AnnotatedSequence

FEATURES = ("simple", "anova2", "tensor", "window", "profile")
#: Text for letters and values that are not known, and for positions beyond the ends.
OTHER = "other"
RESIDUE, HYDROPHOBICITY = "residue", "hydrophobicity"
N_BINS = 5
#: Fields with more keys than this have no words of three positions.
LARGEST_OF_WORDS = 8
#: Hydropathy of amino acids (Kyte and Doolittle 1982).
HYDROPATHY = dict(
    zip("ARNDCQEGHILKMFPSTWYV", (1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5, 3.8, -3.9, 1.9, 2.8, -1.6,
                                 -0.8, -0.7, -0.9, -1.3, 4.2), strict=True)
)  # fmt: skip
_HYDROPATHY_EDGES = np.array([-2.5, 1.5])


class Annotation(NamedTuple):
    """An annotation that all training sequences have.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"classes", "bins", "columns"}
        Values of a set, numbers that are divided into bins, or rows of numbers (profiles).
    values : list
        The classes, the limits of the bins, or the number of columns.
    """

    name: str
    kind: str
    values: list[Any]


@dataclass(frozen=True)
class Field:
    """Keys of positions: single fields, each at a distance from the position.

    Attributes
    ----------
    parts : tuple of (str, int)
        Name of a single field, and the distance.
    size : int
        Number of keys.
    """

    parts: tuple[tuple[str, int], ...]
    size: int

    def __str__(self) -> str:
        return " & ".join(name if not at else f"{name}[{at:+d}]" for name, at in self.parts)


class PositionEncoder:
    """Fields of positions by presets, learnt from the training sequences.

    Attributes
    ----------
    alphabet, features, window : str, str, int
        Parameters of the structure, which sets them.
    symmetric : bool
        Whether a pair of keys has the same weight in both orders.
    annotations : list of Annotation
        What the training sequences have besides their letters.
    layout : object or None
        What a structure makes of the templates and keeps here.
    """

    def __init__(self) -> None:
        self.alphabet, self.features, self.window, self.symmetric = "", "simple", 0, False
        self.annotations: list[Annotation] = []
        self.layout: Any = None

    # ------------------------------------------------------------------ learning

    def fit(self, sequences: Sequence[AnnotatedSequence], places: Sequence[Where]) -> Self:
        """Learn which annotations there are, and their values."""
        names = dict.fromkeys(name for sequence in sequences for name in sequence.annotations)
        if RESIDUE in names:
            where = next(at for s, at in zip(sequences, places, strict=True) if RESIDUE in s.annotations)
            raise error_at(where, f"{RESIDUE!r} is the name of the letters; rename this annotation")
        self.annotations = [self._learnt(name, sequences, places) for name in names]
        self.__dict__.pop("templates", None)
        self.layout = None
        if self.features == "profile" and not self._profiles:
            raise ValueError(
                "features='profile' needs an annotation of several columns of numbers, such as 'profile' of shape "
                "(length, 20); use features='window' without one"
            )
        return self

    def _learnt(self, name: str, sequences: Sequence[AnnotatedSequence], places: Sequence[Where]) -> Annotation:
        arrays = [_values(s, name, place) for s, place in zip(sequences, places, strict=True)]
        given = [array for array in arrays if array is not None and len(array)]
        columns = next((array.shape[1] for array in given if array.ndim == 2), None)
        if columns is not None:
            return Annotation(name, "columns", [int(columns)])
        if any(array.dtype.kind == "f" for array in given) and all(array.dtype.kind in "iuf" for array in given):
            pooled = np.concatenate(given)
            pooled = pooled[np.isfinite(pooled)]
            shares = np.arange(1, N_BINS) / N_BINS
            limits = np.unique(np.quantile(pooled, shares)) if len(pooled) else np.zeros(0)
            return Annotation(name, "bins", limits.tolist())
        classes = {_class_name(value) for array in given for value in array.tolist()} - {None}
        return Annotation(name, "classes", sorted(map(str, classes)))

    # ------------------------------------------------------------------ fields and templates

    @property
    def _profiles(self) -> list[Annotation]:
        return [annotation for annotation in self.annotations if annotation.kind == "columns"]

    @cached_property
    def _symbols(self) -> Alphabet:
        return Alphabet(self.alphabet, ambiguous=True)

    @property
    def is_protein(self) -> bool:
        """Whether letters are amino acids, whose hydrophobicity is known."""
        return set(HYDROPATHY) <= set(self.alphabet.upper())

    def values(self, name: str) -> list[str]:
        """Return the names of the keys of a single field."""
        if name == RESIDUE:
            return [*self.alphabet, self._symbols.wildcard or OTHER]
        for annotation in self.annotations:
            if annotation.name == name:
                if annotation.kind == "classes":
                    return [*annotation.values, OTHER]
                limits = [f"{limit:.3g}" for limit in annotation.values]
                return [*(f"≤{limit}" for limit in limits), f">{limits[-1]}" if limits else "any", OTHER]
        return ["low", "middle", "high", OTHER]

    def known(self, field: Field) -> frozenset[tuple[str, int]]:
        """Return all single fields that follow from the key of a field."""
        derived = not any(annotation.name == HYDROPHOBICITY for annotation in self.annotations)
        more = {(HYDROPHOBICITY, at) for name, at in field.parts if name == RESIDUE and derived}
        return frozenset(field.parts) | more

    def field(self, *parts: tuple[str, int]) -> Field:
        """Return the field of these single fields, each at a distance from the position."""
        return Field(parts, int(np.prod([len(self.values(name)) for name, _ in parts], dtype=np.int64)))

    @cached_property
    def templates(self) -> list[tuple[Field, Field]]:
        """The pairs of fields of the preset."""
        level = FEATURES.index(self.features)
        names = [RESIDUE, *(a.name for a in self.annotations if a.kind != "columns")]
        single = [self.field((name, 0)) for name in names]
        templates = list(product(single, single))
        if level >= FEATURES.index("anova2"):
            pairs = [self.field(*((name, 0) for name in some)) for some in combinations(names, 2)]
            templates += product(pairs, pairs)
        if level >= FEATURES.index("tensor"):
            triples = [self.field(*((name, 0) for name in some)) for some in combinations(names, 3)]
            templates += [(field, field) for field in triples]
        if level >= FEATURES.index("window"):
            derived = [HYDROPHOBICITY] if self.is_protein and HYDROPHOBICITY not in names else []
            around = [at for at in range(-self.window, self.window + 1) if at]
            neighbours = [self.field((name, at)) for name in (*names, *derived) for at in around]
            words = [
                self.field((name, -1), (name, 0), (name, 1))
                for name in (*names, *derived)
                if self.window and len(self.values(name)) <= LARGEST_OF_WORDS
            ]
            templates += [(field, field) for field in (*neighbours, *words)]
        return sorted(templates, key=lambda pair: (pair[0].size, pair[0].parts, pair[1].size, pair[1].parts))

    def template_weights(self) -> dict[tuple[Field, Field], IntArray]:
        """Return, for each template, the weight number of each pair of keys, as tables."""
        offsets = offsets_of([a.size * b.size for a, b in self.templates])
        every = np.arange(offsets[-1]) if self.tied is None else self.tied
        pairs = zip(self.templates, pairwise(offsets.tolist()), strict=True)
        return {(a, b): every[first:end].reshape(a.size, b.size) for (a, b), (first, end) in pairs}

    @cached_property
    def tied(self) -> IntArray | None:
        """The weight of each pair of keys, and of each product, in both orders the same; None if each has its own."""
        if not self.symmetric:
            return None
        tables, first = {}, 0
        sizes: list[tuple[Any, tuple[int, int]]]
        sizes = [(pair, (pair[0].size, pair[1].size)) for pair in self.templates]
        sizes += [(pair, (self.n_columns(pair[0]), self.n_columns(pair[1]))) for pair in self.products]
        for pair, shape in sizes:
            tables[pair] = np.arange(first, first + shape[0] * shape[1]).reshape(shape)
            first += shape[0] * shape[1]
        lowest = [np.minimum(tables[pair], tables[pair[::-1]].T).ravel() for pair, _ in sizes]
        return np.unique(np.concatenate(lowest), return_inverse=True)[1].astype(np.int64)

    @property
    def products(self) -> list[tuple[str, str]]:
        """Pairs of columns of numbers whose products are features: profiles, and letters as columns."""
        if self.features != "profile":
            return []
        names = [annotation.name for annotation in self._profiles]
        return [*product(names, names), *((n, RESIDUE) for n in names), *((RESIDUE, n) for n in names)]

    def n_columns(self, name: str) -> int:
        """Return the number of columns of numbers."""
        if name == RESIDUE:
            return len(self.values(RESIDUE))
        return int(next(a.values[0] for a in self.annotations if a.name == name))

    @property
    def width(self) -> int:
        """Number of weights of matches."""
        if self.tied is not None:
            return int(self.tied.max(initial=-1)) + 1
        sizes = [a.size * b.size for a, b in self.templates]
        return sum(sizes) + sum(self.n_columns(a) * self.n_columns(b) for a, b in self.products)

    def column_names(self) -> list[str]:
        """Return the name of each weight of a match."""
        names = [f"{a} ~ {b}" for pair in self.templates for a, b in product(*map(self.key_names, pair))]
        for first, second in self.products:
            sides = [[f"{name} {k}" for k in self._columns(name)] for name in (first, second)]
            names += [f"{a} × {b}" for a, b in product(*sides)]
        if self.tied is None:
            return names
        return [names[k] for k in np.unique(self.tied, return_index=True)[1].tolist()]

    def _columns(self, name: str) -> Sequence[Any]:
        return self.values(RESIDUE) if name == RESIDUE else range(self.n_columns(name))

    def key_names(self, field: Field) -> list[str]:
        """Return the name of each key of a field."""
        singles = [[f"{Field(((name, at),), 0)}={v}" for v in self.values(name)] for name, at in field.parts]
        return [" & ".join(parts) for parts in product(*singles)]

    # ------------------------------------------------------------------ encoding

    def encode(
        self, sequences: Sequence[AnnotatedSequence], places: Sequence[Where], fields: Sequence[Field]
    ) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return offsets of the sequences, keys (fields × positions) and columns of numbers (columns × positions)."""
        symbols, offsets = self._letters(sequences, places)
        singles: dict[str, IntArray] = {RESIDUE: symbols.astype(np.int64)}
        if self.is_protein:
            scale = np.array([HYDROPATHY.get(c.upper(), np.nan) for c in self.alphabet] + [np.nan])[symbols]
            classes = np.searchsorted(_HYDROPATHY_EDGES, scale)
            singles[HYDROPHOBICITY] = np.where(np.isnan(scale), 3, classes).astype(np.int64)
        numbers = []
        for annotation in self.annotations:
            arrays = [_values(s, annotation.name, place) for s, place in zip(sequences, places, strict=True)]
            if annotation.kind == "columns":
                numbers.append(self._rows(annotation, arrays, sequences, places))
            else:
                keys_of_each = [
                    self._keys(annotation, array, len(s.text), where)
                    for array, s, where in zip(arrays, sequences, places, strict=True)
                ]
                singles[annotation.name] = np.concatenate([*keys_of_each, np.zeros(0, np.int64)])
        keys = np.zeros((len(fields), len(symbols)), np.uint32)
        for row, field in zip(keys, fields, strict=True):
            row[:] = self._joined(field, singles, offsets)
        stacked = np.concatenate([*numbers, self._letter_columns(symbols)]) if self.products else np.zeros((0, 0))
        return offsets, keys, np.ascontiguousarray(stacked)

    def _letters(self, sequences: Sequence[AnnotatedSequence], places: Sequence[Where]) -> tuple[AnyArray, IntArray]:
        try:
            return self._symbols.encode([s.text for s in sequences])
        except ExampleError as error:
            assert error.example is not None
            where = places[error.example]
            if isinstance(where, Place):
                raise ExampleError.at(where, error._text, separator="") from None
            raise ValueError(f"{where}{error._text}") from None

    def _joined(self, field: Field, singles: dict[str, IntArray], offsets: IntArray) -> IntArray:
        total = np.zeros(int(offsets[-1]), np.int64)
        for name, at in field.parts:
            total = total * len(self.values(name)) + _shifted(singles[name], at, offsets, len(self.values(name)) - 1)
        return total

    @staticmethod
    def _keys(annotation: Annotation, values: AnyArray | None, n: int, where: Where) -> IntArray:
        """Return the keys of one sequence."""
        if values is None or n == 0:
            return np.full(n, len(annotation.values) + (annotation.kind == "bins"), np.int64)
        if annotation.kind == "bins":
            if values.dtype.kind not in "iuf":
                raise error_at(
                    where, f"expected numbers as {annotation.name!r}, as in fit, found {values.tolist()!r:.60}"
                )
            numbers = values.astype(float)
            bins = np.searchsorted(np.array(annotation.values, float), numbers)
            return np.where(np.isnan(numbers), len(annotation.values) + 1, bins).astype(np.int64)
        numbered = {value: k for k, value in enumerate(annotation.values)}
        return np.array([numbered.get(_class_name(value), len(numbered)) for value in values.tolist()], np.int64)

    @staticmethod
    def _rows(
        annotation: Annotation, arrays: list[AnyArray | None], sequences: Sequence[AnnotatedSequence], places: Any
    ) -> FloatArray:
        """Return the columns of all sequences, one row each; 0 where they are unknown."""
        n, rows = int(annotation.values[0]), []
        for array, sequence, where in zip(arrays, sequences, places, strict=True):
            if array is None or not len(sequence.text):
                array = np.zeros((len(sequence.text), n))
            if array.ndim != 2 or array.shape[1] != n:
                raise error_at(where, f"{annotation.name!r} has shape {array.shape}, expected {n} columns as in fit")
            rows.append(array.astype(float))
        return np.concatenate([*rows, np.zeros((0, n))]).T

    def _letter_columns(self, symbols: AnyArray) -> FloatArray:
        return np.eye(self.n_columns(RESIDUE))[:, symbols]

    # ------------------------------------------------------------------ saving

    def get_state(self) -> dict[str, Any]:
        """Return the parameters and what was learnt."""
        return {
            "alphabet": self.alphabet,
            "features": self.features,
            "window": self.window,
            "symmetric": self.symmetric,
            "annotations": [list(annotation) for annotation in self.annotations],
        }

    def set_state(self, state: Any) -> Self:
        """Restore a state of `get_state`; raise ValueError if it is invalid."""
        self.alphabet, self.features = Alphabet(state["alphabet"], ambiguous=True).characters, state["features"]
        self.window = whole_number(state["window"], "window", 0)
        if self.features not in FEATURES:
            raise ValueError(f"expected features of {FEATURES}, found {self.features!r}")
        self.symmetric = state["symmetric"]
        check_flag(self.symmetric, "symmetric")
        self.annotations = [Annotation(*annotation) for annotation in state["annotations"]]
        stored_names([annotation.name for annotation in self.annotations], "names of annotations")
        for annotation in self.annotations:
            _check_annotation(annotation)
        return self


def _check_annotation(annotation: Annotation) -> None:
    """Raise ValueError if an annotation of a model file is damaged."""
    name, kind, values = annotation
    sound = isinstance(values, list) and kind in ("classes", "bins", "columns")
    if sound and kind == "columns":
        sound = len(values) == 1 and whole_number(values[0], name) > 0
    elif sound and kind == "bins":
        limits = [finite_number(value, name, -np.inf) for value in values]
        sound = limits == sorted(set(limits))
    elif sound:
        sound = len(set(values)) == len(values)
    if not sound:
        raise ValueError(f"annotation {name!r} must have classes, limits of bins or a number of columns")


def _values(sequence: AnnotatedSequence, name: str, where: Where) -> AnyArray | None:
    """Return the values of an annotation as an array; None if they are unknown."""
    if name not in sequence.annotations:
        raise error_at(
            where, f"no annotation {name!r}, which other sequences have; pass None if its values are unknown"
        )
    values = sequence.annotations[name]
    if values is None:
        return None
    try:
        array = np.asarray(list(values) if isinstance(values, str) else values)
    except ValueError:
        raise error_at(where, f"the rows of {name!r} differ in length") from None
    if array.dtype == object and array.ndim == 1:
        array = _unknown_as_nan(array)
    if array.ndim == 2 and array.dtype.kind in "iufb":
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise error_at(inside(where, f"position {at}"), f"{name!r} must be finite numbers, found {array[at]!r:.60}")
    elif array.ndim != 1:
        raise error_at(where, f"expected one value or one row of numbers of {name!r} for each letter")
    return array


def _unknown_as_nan(values: AnyArray) -> AnyArray:
    """Return numbers and None as floats, with NaN for None; other values as they are."""
    known = [value for value in values.tolist() if value is not None]
    numbers = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known)
    if not known or not numbers or not any(isinstance(value, float | np.floating) for value in known):
        return values
    return np.array([np.nan if value is None else value for value in values.tolist()], float)


def _class_name(value: Any) -> str | None:
    """Return a class as text, whole floats as integers; None if it is unknown."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _shifted(keys: IntArray, at: int, offsets: IntArray, outside: int) -> IntArray:
    """Return the keys of the positions at a distance, `outside` beyond the ends of their sequence."""
    if at == 0:
        return keys
    position = np.arange(len(keys)) + at
    lengths = np.diff(offsets)
    inside_sequence = (position >= np.repeat(offsets[:-1], lengths)) & (position < np.repeat(offsets[1:], lengths))
    return np.where(inside_sequence, keys[np.clip(position, 0, max(len(keys) - 1, 0))] if len(keys) else keys, outside)


def columns_of(encoder: PositionEncoder) -> dict[str, int]:
    """Return the first row of each annotation's columns of numbers, in the order of `PositionEncoder.encode`."""
    names = [annotation.name for annotation in encoder.annotations if annotation.kind == "columns"]
    firsts, at = {}, 0
    for name in names:
        firsts[name], at = at, at + encoder.n_columns(name)
    return firsts | {RESIDUE: at}
