"""A homologue among decoys: the candidate that aligns best with a native sequence (Tsochantaridis et al. 2004, 5.4).

Ψ(x, (t, a)) = Ψ of the alignment a of the native sequence with candidate t        Δ = [t is a decoy]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import Compiled
from maxmargin.features.biology.aligned import strings_of_code
from maxmargin.features.biology.annotated import SIDES, AnnotatedSequence, read_sequence
from maxmargin.structures.alignment.decoy_examples import ChosenAlignment, DecoyExamples
from maxmargin.structures.alignment.structure import AMINO_ACIDS, Alignment, distinct, every_code


class Decoys(Compiled):
    """The candidate that aligns best with a native sequence; its alignment is latent, or given for the homologue.

    Each x is a tuple (native, homologue, decoys), of sequences as in `Alignment`. Each y is the alignment of the native
    sequence with the homologue, a pair of aligned strings, or None if it is latent. Outputs are `ChosenAlignment`. If
    the alignment is given, margins are those to all alignments of decoys; other alignments of the homologue do not
    count (Tsochantaridis et al. 2004).

    Parameters
    ----------
    mode, features, gaps, gap_features, window, alphabet, symmetric : optional
        As in `Alignment`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.decoys()
    >>> model = mm.StructuralSVM(mm.Decoys(alphabet="ACGT"), C=1.0).fit(X, Y)
    >>> model.predict(X[:1])[0].candidate  # the homologue
    0
    """

    output_name: ClassVar[str] = "candidate"
    capabilities: ClassVar[frozenset[str]] = frozenset({"latent", "sums"})
    #: Alignments of all candidates are too many for a runner-up.
    instead_of_explain: ClassVar[str] = "decision_function(X) and chosen(X) of DecoyRanker"

    def __init__(
        self,
        *,
        mode: str = "local",
        features: str = "simple",
        gaps: str = "linear",
        gap_features: bool = False,
        window: int = 3,
        alphabet: str = AMINO_ACIDS,
        symmetric: Any = "auto",
    ) -> None:
        self.mode, self.features, self.gaps = mode, features, gaps
        self.gap_features, self.window, self.alphabet, self.symmetric = gap_features, window, alphabet, symmetric

    def _make_alignment(self) -> Alignment:
        return Alignment(**self.get_params(deep=False))

    def check_parameters(self) -> None:
        self._make_alignment().check_parameters()

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> DecoyExamples:
        read = [read_candidates(x, Place("X", i), Y is not None) for i, x in enumerate(X)]
        first_pairs = offsets_of([len(candidates) for _, candidates in read])
        pairs = [(native, candidate) for native, candidates in read for candidate in candidates]
        sequences, places, numbers = distinct(pairs)
        places = [_place_of(place, first_pairs) for place in places]
        if learn:
            self.alignment_ = self._make_alignment()
            self.alignment_.learn_positions(sequences, places, numbers)
            self.alignment_._set_size()
        inner = self.alignment_.examples_of(sequences, places, numbers, None)
        truths: list[CodeArray | None] | None = None
        if Y is not None:
            homologues = [(native.text, candidates[0].text) for native, candidates in read]
            truths = [self._truth(y, x, Place("Y", i)) for i, (y, x) in enumerate(zip(Y, homologues, strict=True))]
            latent = [truth is None for truth in truths]
            if any(latent) and not all(latent):
                i = latent.index(not latent[0])
                raise error_at(Place("Y", i), "expected alignments of all homologues, or None for all")
        return DecoyExamples(self, inner, first_pairs, truths)

    def _truth(self, y: Any, x: tuple[str, str], where: Where) -> CodeArray | None:
        """Return the code of the homologue's alignment; None if it is latent."""
        if isinstance(y, ChosenAlignment):
            if y.candidate != 0:
                raise error_at(where, f"expected the alignment of the homologue, found that of decoy {y.candidate}")
            y = y.alignment
        return None if y is None else self.alignment_.true_code(y, x, where)

    # ------------------------------------------------------------------ outputs

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return 1 if ŷ is a decoy, else 0."""
        return float(isinstance(y_hat, ChosenAlignment) and y_hat.candidate != 0)

    def enumerate(self, x: Any) -> Iterator[ChosenAlignment]:
        """Yield all alignments of all candidates, for tests."""
        native, candidates = read_candidates(x, "x")
        for t, candidate in enumerate(candidates):
            for code in every_code(len(native.text), len(candidate.text), self.mode == "semiglobal"):
                yield ChosenAlignment(t, strings_of_code(code, native.text, candidate.text))

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y), for a `ChosenAlignment` y or an alignment of the homologue."""
        if not isinstance(y, ChosenAlignment):
            return super().joint_feature(x, y)
        native, candidates = read_candidates(x, "x")
        if not 0 <= y.candidate < len(candidates):
            raise ValueError(f"y: expected a candidate from 0 to {len(candidates) - 1}, found {y.candidate}")
        return self.alignment_.joint_feature((native, candidates[y.candidate]), y.alignment)

    # ------------------------------------------------------------------ weights and saving

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return self.alignment_.weight_shapes()

    def feature_names(self) -> AnyArray:
        return self.alignment_.feature_names()

    def weight_columns(self) -> dict[str, AnyArray]:
        return self.alignment_.weight_columns()

    def _learnt(self) -> dict[str, Any]:
        return self.alignment_._learnt()

    def _set_learnt(self, learnt: Any) -> None:
        self.alignment_ = self._make_alignment()
        self.alignment_._set_learnt(learnt)
        self._set_size()

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        packed = self.alignment_.pack_outputs([output.alignment for output in outputs])
        return packed | {"candidates": np.array([output.candidate for output in outputs], np.int64)}

    def unpack_outputs(self, packed: Any) -> list[ChosenAlignment]:
        alignments, candidates = self.alignment_.unpack_outputs(packed), np.asarray(packed["candidates"]).tolist()
        return [ChosenAlignment(int(t), pair) for t, pair in zip(candidates, alignments, strict=True)]


def read_candidates(x: Any, where: Where, learn: bool = False) -> tuple[AnnotatedSequence, list[AnnotatedSequence]]:
    """Return the native sequence and the candidates, the homologue first; without decoys there is nothing to learn."""
    if isinstance(x, str) or not is_list(x) or len(x) != 3:
        raise error_at(where, f"expected (native, homologue, decoys), found {type(x).__name__} {x!r:.60}")
    native, homologue, decoys = x
    if isinstance(decoys, str) or not is_list(decoys) or (learn and len(decoys) == 0):
        raise error_at(where, f"expected a list of at least one decoy, found {decoys!r:.60}")
    candidates = [read_sequence(homologue, inside(where, "homologue"))]
    candidates += [read_sequence(decoy, inside(where, f"decoy {t}")) for t, decoy in enumerate(decoys)]
    return read_sequence(native, inside(where, "native sequence")), candidates


def _place_of(place: Where, first_pairs: IntArray) -> Place:
    """Return the place of a sequence among the examples, from its place among all pairs."""
    assert isinstance(place, Place)
    i = int(np.searchsorted(first_pairs, place.example, "right")) - 1
    t = int(place.example - first_pairs[i])
    candidate = f"decoy {t - 1}" if t else "homologue"
    return Place("X", i, ", native sequence" if SIDES[0] in place.part else f", {candidate}")
