"""Pairwise alignments of sequences (Joachims et al. 2009, section 3.2).

    Ψ(x, y) = Σ_{matches (i, j)} φ(x, i, j) + Σ_{positions opposite a gap} γ(x, p)

φ and γ are sparse features of positions; the loss is a sum over positions too, so one recursion serves both
argmaxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import check_flag, whole_number
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import ONLY, offsets_of, split_rows
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import WeightTable
from maxmargin.features.biology.aligned import (
    N_ORDERS,
    aligned_pair,
    check_spelling,
    code_of_strings,
    core_of_code,
    placed_region,
    strings_of_code,
)
from maxmargin.features.biology.alphabet import Alphabet
from maxmargin.features.biology.annotated import SIDES, AnnotatedSequence, read_pair
from maxmargin.features.biology.position_fields import FEATURES, RESIDUE, Field, PositionEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.alignment import _jit
from maxmargin.structures.alignment.cells import CellFeatures, Layout, Pairs
from maxmargin.structures.alignment.examples import AlignmentExamples
from maxmargin.structures.alignment.recursion import GLOBAL, LOCAL, MODES, SEMIGLOBAL

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
GAPS = ("linear", "affine")
COSTS = {"recall": _jit.RECALL, "q4": _jit.SHIFT, "precision": _jit.PRECISION, "columns": _jit.COLUMNS}


class Alignment(PartStructure):
    """Alignments of two sequences whose positions have letters and, optionally, annotations.

    Each x is a pair of sequences. A sequence is a string; a dict with the key ``"sequence"`` and annotations of its
    positions; a pair (string, annotations), where annotations are a dict, a list of dicts, one for each position, or
    an array; or a Seq or SeqRecord of Biopython. An annotation is a string, a list or an array with one entry for each
    position: classes (text, integers), floats, which are divided into five bins of equal size, or rows of numbers
    (profiles); None if it is unknown, whole or at single positions. Each y is a pair of aligned strings, with ``"-"``
    or ``"."`` opposite unmatched positions, or an Alignment of Biopython; columns with two gaps are left out. A third
    string may mark reliable columns with ``"*"``, for `core`.

    An alignment is a set of matches (i, j), ascending in both. The order of columns with a gap between two matches has
    no meaning; in outputs, those of the first sequence come first. In local mode, positions before the first and after
    the last match are free, and y may contain the aligned parts of the sequences alone. In semi-global mode, the first
    and the last run of columns with a gap in the same sequence are free.

    Parameters
    ----------
    mode : {"global", "local", "semiglobal"}, default="global"
        Whether unmatched positions at the ends are gaps (Needleman and Wunsch 1970), are free (Smith and Waterman
        1981), or are free in one sequence.
    features : {"simple", "anova2", "tensor", "window", "profile"}, default="simple"
        Features of matches, as in Joachims et al. (2009). ``"simple"``: pairs of a letter or annotation of one
        position and one of the other. ``"anova2"``: and pairs of two of these at each position. ``"tensor"``: and
        pairs of three of these. ``"window"``: and those of neighbouring positions, with hydrophobicity for amino
        acids. ``"profile"``: and products of the columns of profiles, and of profiles and letters. With letters alone,
        the first three are the same.
    gaps : {"affine", "linear"}, default="affine"
        Whether the first position opposite a gap has a weight of its own.
    gap_features : bool, default=False
        Whether weights of gaps depend on the letter and the annotations of the position opposite the gap.
    window : int, default=3
        Greatest distance of neighbouring positions, for ``features="window"`` and ``"profile"``.
    alphabet : str, default="ACDEFGHIKLMNPQRSTVWY"
        The letters. X in proteins and N in DNA and RNA stand for an unknown letter, as do B, J, O, U and Z in proteins
        and letters for one of several nucleotides.
    symmetric : bool or "auto", default="auto"
        Whether a pair of letters, or of other values, has the same weight in both orders; then an alignment of two
        sequences scores the same if they are swapped. ``"auto"``: unless an annotation is known for the first or for
        the second sequences only, which are then of different kinds.
    cost : {"recall", "q4", "precision", "columns"}, default="recall"
        The loss. With N true matches, ``"recall"``: the share of true matches that ŷ lacks, 1 − recall. ``"q4"``: the
        share of true matches (i, j) where ŷ has no match of i within `tolerance` positions of j. ``"precision"``: wrong
        matches of ŷ divided by N. (1 − precision divides by the number of matches of ŷ, and is not a sum over matches;
        the two agree if ŷ has N matches.) ``"columns"``: the share of positions of both sequences with another partner,
        or none, than in y. If N is 0, the divisor is 1.
    tolerance : int, default=4
        Greatest shift that ``cost="q4"`` allows.
    core : bool, default=False
        Whether the loss counts the matches of reliable columns only (core blocks): those without a lower-case letter,
        or with ``"*"`` in the third string of y. For ``"recall"`` and ``"q4"``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = [("ACGT", "AGT")], [("ACGT", "A-GT")]
    >>> model = mm.StructuralSVM(mm.Alignment(alphabet="ACGT"), C=10.0).fit(X, Y)
    >>> model.predict([("AACGT", "AAGT")])
    [('AACGT', 'AA-GT')]
    """

    output_name: ClassVar[str] = "alignment"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "sums"})
    learns: ClassVar[dict[str, type]] = {"positions_": PositionEncoder}

    def __init__(
        self,
        *,
        mode: str = "global",
        features: str = "simple",
        gaps: str = "affine",
        gap_features: bool = False,
        window: int = 3,
        alphabet: str = AMINO_ACIDS,
        symmetric: Any = "auto",
        cost: str = "recall",
        tolerance: int = 4,
        core: bool = False,
    ) -> None:
        self.symmetric, self.core = symmetric, core
        self.mode, self.features, self.gaps, self.gap_features = mode, features, gaps, gap_features
        self.window, self.alphabet, self.cost, self.tolerance = window, alphabet, cost, tolerance

    def check_parameters(self) -> None:
        allowed = {"mode": MODES, "features": FEATURES, "gaps": GAPS, "cost": tuple(COSTS)}
        for name, values in allowed.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in values:
                raise ValueError(f"{name} must be {', '.join(map(repr, values))}, found {value!r}")
        check_flag(self.gap_features, "gap_features")
        check_flag(self.core, "core")
        if self.core and self.cost not in ("recall", "q4"):
            raise ValueError(f"core=True needs a loss of true matches, 'recall' or 'q4', found {self.cost!r}")
        if not (isinstance(self.symmetric, bool | np.bool_) or self.symmetric == "auto"):
            raise ValueError(f"symmetric must be 'auto', True or False, found {self.symmetric!r:.60}")
        whole_number(self.window, "window", 0)
        whole_number(self.tolerance, "tolerance", 0)
        Alphabet(self.alphabet)
        for gap in "-.":
            if gap in self.alphabet:
                raise ValueError(f"alphabet must not contain {gap!r}, which is a gap")

    @property
    def _mode(self) -> int:
        return MODES.index(self.mode)

    @property
    def _n_outputs(self) -> int:
        return 1 + GAPS.index(self.gaps)

    # ------------------------------------------------------------------ weights

    def _gap_fields(self) -> list[Field]:
        """Return the fields of positions that weights of gaps depend on."""
        if not self.gap_features:
            return []
        names = [RESIDUE, *(a.name for a in self.positions_.annotations if a.kind != "columns")]
        return [Field(((name, 0),), len(self.positions_.values(name))) for name in names]

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        n_gaps = 1 + sum(len(self.positions_.key_names(field)) for field in self._gap_fields())
        return {
            "matches": (self.positions_.width,),
            "gaps": (n_gaps, self._n_outputs) if self._n_outputs == 2 else (n_gaps,),
        }

    def tables(self) -> dict[str, WeightTable]:
        names = [f"gap, {name}" for field in self._gap_fields() for name in self.positions_.key_names(field)]
        outputs = ["open", "extend"] if self._n_outputs == 2 else None
        return {
            "matches": WeightTable(self.positions_.column_names()),
            "gaps": WeightTable([*names, "gap"], outputs),
        }

    def substitution_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of pairs of letters, of shape (letters + 1, letters + 1); the last is the unknown letter.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            All weights.

        Returns
        -------
        ndarray
            The weights: row a, column b for a letter a of the first and b of the second sequence.
        """
        return w[self.substitutions()]

    def substitutions(self) -> IntArray:
        """Return the weight numbers of pairs of letters, as `substitution_weights` arranges them."""
        letters = self.positions_.field((RESIDUE, 0))
        return self.positions_.template_weights()[letters, letters]

    def gap_weights(self, w: FloatArray) -> tuple[float, float]:
        """Return the weights of the first and of the other positions opposite a gap, without `gap_features`.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            All weights.

        Returns
        -------
        tuple of float
            Opening and extending.
        """
        return float(w[-self._n_outputs]), float(w[-1])

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> AlignmentExamples:
        pairs = [read_pair(x, Place("X", i)) for i, x in enumerate(X)]
        sequences, places, numbers = distinct(pairs)
        if learn:
            self.learn_positions(sequences, places, numbers)
        truths: list[CodeArray] | None = None
        cores: list[CodeArray] | None = None
        if Y is not None:
            texts = [(a.text, b.text) for a, b in pairs]
            truths = [self.true_code(y, x, Place("Y", i)) for i, (y, x) in enumerate(zip(Y, texts, strict=True))]
        if truths is not None and Y is not None and self.core:
            cores = [self._core(code, y, x, Place("Y", i))
                     for i, (code, y, x) in enumerate(zip(truths, Y, texts, strict=True))]  # fmt: skip
        return self.examples_of(sequences, places, numbers, truths, cores)

    def survey(self, X: Sequence[Any], Y: Sequence[Any]) -> None:
        """Raise TypeError if sequences have annotations, which are learnt from all data; letters teach nothing."""
        for i, x in enumerate(X):
            if any(sequence.annotations for sequence in read_pair(x, Place("X", i))):
                raise self._not_surveyed("annotated sequences")

    def learn_from(self, surveys: Sequence[None]) -> None:
        self.learn_positions([], [], np.zeros((0, 2), np.int64))
        self._set_size()

    def learn_positions(self, sequences: list[AnnotatedSequence], places: list[Where], numbers: IntArray) -> None:
        """Learn the annotations of positions, their values, and whether both sequences of pairs are of one kind."""
        known = [{name for name, values in s.annotations.items() if values is not None} for s in sequences]
        self.positions_ = PositionEncoder()
        self.positions_.alphabet, self.positions_.features = self.alphabet, self.features
        self.positions_.window = int(self.window)
        first, second = ({name for k in side.tolist() for name in known[k]} for side in numbers.T)
        self.positions_.symmetric = first == second if isinstance(self.symmetric, str) else bool(self.symmetric)
        self.positions_.fit(sequences, places)

    def examples_of(
        self,
        sequences: list[AnnotatedSequence],
        places: list[Where],
        numbers: IntArray,
        truths: list[CodeArray] | None,
        cores: list[CodeArray] | None = None,
    ) -> AlignmentExamples:
        """Return the examples of pairs of distinct sequences, given by their numbers."""
        layout, gap_fields = Layout.of(self.positions_), self._gap_fields()
        fields = [*layout.fields, *(field for field in gap_fields if field not in layout.fields)]
        offsets, keys, columns = self.positions_.encode(sequences, places, fields)
        starts, lengths = offsets[:-1][numbers], np.diff(offsets)[numbers]
        columns_of_pairs = (starts[:, 0], lengths[:, 0], starts[:, 1], lengths[:, 1])
        pairs = Pairs(*map(np.ascontiguousarray, columns_of_pairs))  # or compiled functions are compiled once more
        positions = offsets_of(lengths.sum(axis=1))
        gap_keys = keys[[fields.index(field) for field in gap_fields]]
        blocks = [
            CellFeatures(layout, keys[: len(layout.fields)], columns, pairs),
            Block(_gap_rows(gap_keys, gap_fields, starts, lengths), positions, self._n_outputs, constant=True),
        ]
        if self._mode != GLOBAL:
            blocks.append(Block(np.zeros((int(positions[-1]), 0)), positions))
        texts = [(sequences[a].text, sequences[b].text) for a, b in numbers.tolist()]
        settings = (self._mode, COSTS[self.cost], int(self.tolerance))
        return AlignmentExamples(self, blocks, truths, settings, texts, cores)

    def true_code(self, y: Any, x: tuple[str, str], where: Where) -> CodeArray:
        """Return the code of a true alignment; raise an error if it does not fit its sequences."""
        return code_of_strings(*self._spelt(y, x, where), self._mode == SEMIGLOBAL)

    def _spelt(self, y: Any, x: tuple[str, str], where: Where) -> tuple[str, str]:
        """Return a true alignment as strings that spell the whole sequences."""
        first, second = aligned_pair(y, where)
        if self._mode == LOCAL:
            first, second = placed_region(first, second, x, where)
        check_spelling(first, second, x, where)
        return first, second

    def _core(self, code: CodeArray, y: Any, x: tuple[str, str], where: Where) -> CodeArray:
        """Return a true code without the matches in unreliable columns; raise an error if no match is reliable."""
        core = core_of_code(code, *self._spelt(y, x, where))
        if (code[N_ORDERS:] >= 0).any() and not (core[N_ORDERS:] >= 0).any():
            raise error_at(
                where, "no reliable match: with core=True, matches count if both letters are upper-case, or if a third "
                "string has '*' there; set core=False to count all",
            )  # fmt: skip
        return core

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        return code_of_strings(*aligned_pair(y, where), self._mode == SEMIGLOBAL)

    def output_of(self, code: CodeArray) -> Any:
        raise TypeError("the letters of an alignment are not in its code: use the examples' output()")

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        text = "".join(row for output in outputs for row in output).encode("utf-32-le")
        return {"text": np.frombuffer(text, np.uint32), "lengths": np.array([len(a) for a, _ in outputs], np.int64)}

    def unpack_outputs(self, packed: Any) -> list[tuple[str, str]]:
        text, lengths = np.asarray(packed["text"], np.uint32).tobytes().decode("utf-32-le"), packed["lengths"]
        rows = split_rows(text, np.repeat(lengths, 2), "letters")
        return [aligned_pair(pair, "output") for pair in zip(rows[::2], rows[1::2], strict=True)]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ(y, ŷ); both must spell the same sequences."""
        a, b = aligned_pair(y_hat, "y_hat")
        rows = self._spelt(y, (a.replace("-", ""), b.replace("-", "")), "y")
        codes = [code_of_strings(*some, ordered=False) for some in (rows, (a, b))]
        if self.core:
            codes[0] = core_of_code(codes[0], *rows)
        losses, ends = np.zeros(1), np.array([0, len(codes[0])])
        _jit.losses_of_codes(
            ONLY, codes[1], codes[0], ends, np.array([len(b.replace("-", ""))]), COSTS[self.cost],
            int(self.tolerance), losses,
        )  # fmt: skip
        return float(losses[0])

    def enumerate(self, x: Any) -> Iterator[tuple[str, str]]:
        """Yield all alignments, for tests."""
        first, second = (s.text for s in read_pair(x, "x"))
        for code in every_code(len(first), len(second), self._mode == SEMIGLOBAL):
            yield strings_of_code(code, first, second)


def every_code(n: int, m: int, ordered: bool) -> Iterator[CodeArray]:
    """Yield the codes of all alignments of n and m positions."""
    for k in range(min(n, m) + 1):
        for rows, cols in product(combinations(range(n), k), combinations(range(m), k)):
            code = np.full(N_ORDERS + n, -1, np.int32)
            code[[N_ORDERS + i for i in rows]] = cols
            starts = (0, 1) if ordered and k and rows[0] and cols[0] else (0,)
            ends = (0, 1) if ordered and k and rows[-1] < n - 1 and cols[-1] < m - 1 else (0,)
            for code[0], code[1] in product(starts, ends):
                yield code.copy()


def distinct(
    pairs: Sequence[tuple[AnnotatedSequence, AnnotatedSequence]],
) -> tuple[list[AnnotatedSequence], list[Where], IntArray]:
    """Return distinct sequences, where each occurs first, and the numbers of the sequences of each pair."""
    number_of: dict[Any, int] = {}
    sequences: list[AnnotatedSequence] = []
    places: list[Where] = []
    numbers = np.zeros((len(pairs), 2), np.int64)
    for i, pair in enumerate(pairs):
        for side, sequence in enumerate(pair):
            number = number_of.setdefault(sequence.key(), len(number_of))
            if number == len(sequences):
                sequences.append(sequence)
                places.append(inside(Place("X", i), SIDES[side]))
            numbers[i, side] = number
    return sequences, places, numbers


def _gap_rows(keys: AnyArray, fields: list[Field], starts: IntArray, lengths: IntArray) -> Any:
    """Return the features of all positions of each pair, rows before columns: one column for each key of a field."""
    positions = np.concatenate(
        [np.arange(s, s + n) for s, n in zip(starts.ravel().tolist(), lengths.ravel().tolist(), strict=True)]
        + [np.zeros(0, np.int64)]
    ).astype(np.int64)
    if not fields:
        return np.zeros((len(positions), 0))
    sizes = np.array([field.size for field in fields])
    columns = keys[:, positions].T.astype(np.int64) + offsets_of(sizes)[:-1]
    indptr = np.arange(len(positions) + 1) * len(fields)
    ones = np.ones(columns.size, np.float32)
    return sp.csr_array((ones, columns.ravel(), indptr), (len(positions), int(sizes.sum())))
