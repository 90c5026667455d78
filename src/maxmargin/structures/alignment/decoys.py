"""A homologue among decoys: the candidate that aligns best with a native sequence (Tsochantaridis et al. 2004, 5.4).

Ψ(x, (t, a)) = Ψ of the alignment a of the native sequence with candidate t        Δ = [t is a decoy]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._checked import is_list
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.codes import TRUTH, Answers, key_of, spans
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.core.structure import LatentCompiled
from maxmargin.encoding.aligned import aligned_pair, check_spelling, code_of_strings, placed_region, strings_of_code
from maxmargin.encoding.annotated import SIDES, AnnotatedSequence, read_sequence
from maxmargin.parts import _kernels as part_kernels
from maxmargin.parts.examples import count_changes
from maxmargin.structures.alignment._recursion import LOCAL, SEMIGLOBAL
from maxmargin.structures.alignment.examples import AlignmentExamples
from maxmargin.structures.alignment.structure import AMINO_ACIDS, Alignment, distinct, every_code


class ChosenAlignment(NamedTuple):
    """A candidate with its alignment.

    Attributes
    ----------
    candidate : int
        Index of the candidate: 0 for the homologue, 1, 2, … for decoys.
    alignment : tuple of (str, str)
        The native sequence aligned with the candidate.
    """

    candidate: int
    alignment: tuple[str, str]


class Decoys(LatentCompiled):
    """The candidate that aligns best with a native sequence; its alignment is latent, or given for the homologue.

    Each x is a tuple (native, homologue, decoys), of sequences as in `Alignment`. Each y is the alignment of the native
    sequence with the homologue, a pair of aligned strings, or None if it is latent. Outputs are `ChosenAlignment`. If
    the alignment is given, margins are those to all alignments of decoys; other alignments of the homologue do not
    count (Tsochantaridis et al. 2004).

    Parameters
    ----------
    mode, features, gaps, gap_features, window, alphabet : optional
        As in `Alignment`.
    """

    output_name: ClassVar[str] = "candidate"

    def __init__(
        self,
        *,
        mode: str = "local",
        features: str = "simple",
        gaps: str = "linear",
        gap_features: bool = False,
        window: int = 3,
        alphabet: str = AMINO_ACIDS,
    ) -> None:
        self.mode, self.features, self.gaps = mode, features, gaps
        self.gap_features, self.window, self.alphabet = gap_features, window, alphabet

    def _make_alignment(self) -> Alignment:
        return Alignment(**self.get_params(deep=False))

    def check_parameters(self) -> None:
        self._make_alignment().check_parameters()

    # ------------------------------------------------------------------ data

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Decoys:
        self.check_parameters()
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> DecoyExamples:
        """Fit and encode in one pass over the data."""
        self.alignment_ = self._make_alignment()
        for name, kind in self.alignment_.learns.items():
            setattr(self.alignment_, name, kind())
        examples = self._encoded(X, Y, learn=True)
        self.size = self.alignment_.size = examples.dim
        return examples

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> DecoyExamples:
        return self._encoded(X, Y, learn=False)

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> DecoyExamples:
        if Y is not None and len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
        read = [read_candidates(x, Place("X", i), Y is not None) for i, x in enumerate(X)]
        first_pairs = np.concatenate([[0], np.cumsum([len(candidates) for _, candidates in read])]).astype(np.int64)
        pairs = [(native, candidate) for native, candidates in read for candidate in candidates]
        sequences, places, numbers = distinct(pairs)
        places = [_place_of(place, first_pairs) for place in places]
        if learn:
            encoder = self.alignment_.positions_
            encoder.alphabet, encoder.features, encoder.window = self.alphabet, self.features, int(self.window)
            encoder.fit(sequences, places)
        inner = self.alignment_._examples(sequences, places, numbers, None)
        truths: list[CodeArray | None] | None = None
        if Y is not None:
            truths = [
                self._truth(y, (native.text, candidates[0].text), Place("Y", i))
                for i, (y, (native, candidates)) in enumerate(zip(Y, read, strict=True))
            ]
            n_known = sum(truth is not None for truth in truths)
            if 0 < n_known < len(truths):
                i = next(i for i, truth in enumerate(truths) if (truth is None) == (truths[0] is not None))
                raise error_at(Place("Y", i), "expected alignments of all homologues, or None for all")
        return DecoyExamples(self, inner, first_pairs, truths)

    def _truth(self, y: Any, x: tuple[str, str], where: Where) -> CodeArray | None:
        """Return the code of the homologue's alignment; None if it is latent."""
        if isinstance(y, ChosenAlignment):
            if y.candidate != 0:
                raise error_at(where, f"expected the alignment of the homologue, found that of decoy {y.candidate}")
            y = y.alignment
        if y is None:
            return None
        rows, mode = aligned_pair(y, where), self.alignment_._mode
        if mode == LOCAL:
            rows = placed_region(*rows, x, where)
        check_spelling(*rows, x, where)
        return code_of_strings(*rows, mode == SEMIGLOBAL)

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

    def _joint_features(self, examples: Any) -> FloatArray:
        only = np.zeros(1, np.int64)
        dense: FloatArray = examples.features(only, examples.truths, only).matrix(examples.dim).toarray()[0]
        return dense

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self) -> AnyArray:
        return self.alignment_.feature_names()

    def weight_columns(self) -> dict[str, AnyArray]:
        return self.alignment_.weight_columns()

    def split_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the weights of matches and of gaps."""
        return self.alignment_.split_weights(w)

    def _learnt(self) -> dict[str, Any]:
        return self.alignment_._learnt()

    def _set_learnt(self, learnt: Any) -> None:
        self.alignment_ = self._make_alignment()
        self.alignment_._set_learnt(learnt)
        self.size = self.alignment_.size

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
    found = [read_sequence(homologue, inside(where, "homologue"))]
    found += [read_sequence(decoy, inside(where, f"decoy {t}")) for t, decoy in enumerate(decoys)]
    return read_sequence(native, inside(where, "native sequence")), found


def _place_of(place: Where, first_pairs: IntArray) -> Place:
    """Return the place of a sequence among the examples, from its place among all pairs."""
    assert isinstance(place, Place)
    i = int(np.searchsorted(first_pairs, place.example, "right")) - 1
    t = int(place.example - first_pairs[i])
    candidate = f"decoy {t - 1}" if t else "homologue"
    return Place("X", i, ", native sequence" if SIDES[0] in place.part else f", {candidate}")


class DecoyExamples(Examples):
    """Pairs of each native sequence with its candidates; the code is the candidate, then its alignment.

    Parameters
    ----------
    structure : Decoys
        The structure.
    inner : AlignmentExamples
        All pairs; those of example i are ``first_pairs[i]:first_pairs[i + 1]``, the homologue first.
    first_pairs : array of int64
        Offsets of the examples among the pairs.
    truths : list of codes or None
        Alignments of the homologues; entries are None if they are latent, all is None if there are no truths.
    """

    smallest_chunk = 1

    def __init__(
        self,
        structure: Decoys,
        inner: AlignmentExamples,
        first_pairs: IntArray,
        truths: list[CodeArray | None] | None,
    ) -> None:
        self.structure, self.inner, self.first_pairs = structure, inner, first_pairs
        self.n_examples, self.dim, self.operations = len(first_pairs) - 1, inner.dim, inner.operations
        homologues = first_pairs[:-1]
        self.code_offsets = np.concatenate([[0], np.cumsum(np.diff(inner.code_offsets)[homologues] + 1)])
        self.known, self.latent = truths is not None, truths is not None and any(t is None for t in truths)
        self.truths = np.zeros(int(self.code_offsets[-1]), np.int32)
        for i, truth in enumerate(truths or ()):
            a, b = self.code_offsets[i : i + 2]
            self.truths[a + 1 : b] = truth if truth is not None else self._empty(int(b - a - 1))
        self.plane_entries = np.zeros(self.n_examples, np.int64)
        for block, most in zip(inner.blocks, inner.most_parts, strict=True):
            entries = np.minimum(most * block.fullest(inner.n_examples), block.dim)
            first = entries[homologues]
            self.plane_entries += np.minimum(first + np.maximum.reduceat(entries, homologues), block.dim)
        self.float32_exact = bool(np.isfinite([block.largest_whole() for block in inner.blocks]).all())

    @staticmethod
    def _empty(size: int) -> CodeArray:
        """Return the code of an alignment without matches, the first completion."""
        code = np.full(size, -1, np.int32)
        code[:2] = 0
        return code

    # ------------------------------------------------------------------ argmaxes

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        inner = self._aligned(w, spans(ids, self.first_pairs))
        self._choose(inner, ids, scales, self._true_scores(w, ids), answers)

    def _choose(
        self, inner: Answers, ids: IntArray, scales: FloatArray, true_scores: FloatArray, answers: Answers
    ) -> None:
        """Write the best candidate of each example, given the best alignments of its pairs."""
        fixed = self.known and not self.latent
        for r, i in enumerate(ids.tolist()):
            scores = inner.rises[self.first_pairs[i] : self.first_pairs[i + 1]]
            worths = scores + (scales[r] if self.known else 0.0)
            worths[0] = true_scores[r] if fixed else scores[0]
            self._write(int(i), int(worths.argmax()), fixed, inner, scores, true_scores[r], answers)

    # ------------------------------------------------------------------ scores of parts

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        ends = np.concatenate([[0], np.cumsum(np.diff(self.first_pairs)[ids])])
        return [Scores(s.values, s.starts[ends]) for s in self.inner.scores(w, spans(ids, self.first_pairs))]

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        pairs = spans(ids, self.first_pairs)
        by_pair = [
            Scores(s.values, np.concatenate([[0], np.cumsum(n_parts[pairs])]))
            for s, n_parts in zip(scores, self.inner.n_parts, strict=True)
        ]
        inner, true_scores = self.inner.empty_answers(), np.zeros(len(ids))
        self.inner.decode_scores(by_pair, pairs, np.zeros(len(pairs)), inner)
        for s, true in zip(scores, self._parts(self.first_pairs[ids], self.truths, ids), strict=True):
            part_kernels.count_dots(true.indptr, true.indices, true.values, s.starts, s.values, 1.0, true_scores)
        self._choose(inner, ids, scales, true_scores, answers)

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        firsts = self.first_pairs[ids]
        chosen = firsts + answers.codes[self.code_offsets[ids]]
        found, out = self._parts(chosen, answers.codes, ids), []
        for b, true in enumerate(self._parts(firsts, self.truths, ids)):
            offsets, counts = self.inner.part_offsets[b], found[b]
            shifts = np.repeat(offsets[chosen] - offsets[firsts], np.diff(counts.indptr))
            moved = Planes(counts.indptr, (counts.indices + shifts).astype(np.uint32), counts.values)
            most = int((offsets[self.first_pairs[1:]] - offsets[self.first_pairs[:-1]]).max(initial=0))
            out.append(count_changes(np.arange(len(ids)), true, moved, most))
        return out

    # ------------------------------------------------------------------ bounds and completions

    def _aligned(self, w: FloatArray, pairs: IntArray) -> Answers:
        """Return the best alignments of pairs; rises are their scores."""
        found = self.inner.empty_answers()
        self.inner.decode(w, pairs, np.zeros(len(pairs)), found)
        return found

    def _write(
        self, i: int, t: int, fixed: bool, inner: Answers, scores: FloatArray, true_score: float, answers: Answers
    ) -> None:
        """Write candidate t with its best alignment, or the given one of the homologue."""
        a, b = self.code_offsets[i : i + 2]
        code, pair = answers.codes[a:b], int(self.first_pairs[i]) + t
        first = self.inner.code_offsets[pair]
        code[0] = t
        code[1:] = self.truths[a + 1 : b] if fixed and t == 0 else inner.codes[first : first + b - a - 1]
        same = self.known and np.array_equal(code, self.truths[a:b])
        answers.keys[i] = TRUTH if same else key_of(code)
        answers.losses[i] = float(self.known and t > 0)
        answers.rises[i] = 0.0 if same else scores[t] - true_score

    def _true_scores(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return w·Ψ of the true alignments; 0 if they are not known."""
        if not self.known:
            return np.zeros(len(ids))
        return self.features(self.first_pairs[ids], self.truths, ids).dot(w)

    def features(self, pairs: IntArray, codes: CodeArray, ids: IntArray) -> Planes:
        """Return Ψ of these pairs with the alignments in the codes of ids, as rows."""
        return self.inner._sums(pairs, self._parts(pairs, codes, ids), np.float64)

    def _parts(self, pairs: IntArray, codes: CodeArray, ids: IntArray) -> list[Planes]:
        """Return the parts of these pairs with the alignments in the codes of ids."""
        inner = np.zeros(int(self.inner.code_offsets[-1]), np.int32)
        inner[spans(pairs, self.inner.code_offsets)] = codes[self._alignments(ids)]
        return self.inner.parts(pairs, inner)

    def _alignments(self, ids: IntArray) -> IntArray:
        """Return the positions of the alignments in the codes of ids."""
        every, lengths = spans(ids, self.code_offsets), np.diff(self.code_offsets)[ids]
        return every[every != np.repeat(self.code_offsets[ids], lengths)]

    def exact_for(self, bound: Bound) -> bool:
        """Return True: all decoys have the same loss, so that the best of them has the greatest violation."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        # a violation rises with the rise; a decoy of loss 1 is compared with the homologue's violation of 0
        inner, true_scores = self._aligned(w, spans(ids, self.first_pairs)), self._true_scores(w, ids)
        for r, i in enumerate(ids.tolist()):
            some = inner.rises[self.first_pairs[i] : self.first_pairs[i + 1]]
            values = np.array([float(bound.violation(score - true_scores[r], 1.0)) for score in some])
            values[0] = float(bound.violation(some[0] - true_scores[r], 0.0)) if self.latent else 0.0
            self._write(int(i), int(values.argmax()), not self.latent, inner, some, true_scores[r], answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Write the best alignment of each homologue."""
        pairs = self.first_pairs[ids]
        inner, true_scores = self._aligned(w, pairs), self._true_scores(w, ids)
        for r, i in enumerate(ids.tolist()):
            self._write(i, 0, not self.latent, inner, inner.rises[pairs[r : r + 1]], true_scores[r], answers)

    def fix_alignments(self, w: FloatArray) -> bool:
        """Replace the alignments of the homologues by the best ones at w, as if they had been given.

        Return whether any of them became better.
        """
        everyone = np.arange(self.n_examples)
        inner, true_scores = self._aligned(w, self.first_pairs[:-1]), self._true_scores(w, everyone)
        gains = inner.rises[self.first_pairs[:-1]] - true_scores
        better = everyone if self.latent else np.flatnonzero(gains > 1e-9 * (1.0 + np.abs(true_scores)))
        for i in better.tolist():
            a, b = self.code_offsets[i : i + 2]
            first = self.inner.code_offsets[self.first_pairs[i]]
            self.truths[a + 1 : b] = inner.codes[first : first + b - a - 1]
        self.latent, self._digest = False, None
        return bool(len(better))

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the given alignments of the homologues, or alignments without matches."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    # ------------------------------------------------------------------ planes and outputs

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        chosen = self.first_pairs[ids] + answers.codes[self.code_offsets[ids]]
        true, found = self.features(self.first_pairs[ids], self.truths, ids), self.features(chosen, answers.codes, ids)
        rows = np.arange(len(ids))
        out = true.minus(found, rows, rows, np.zeros(self.dim)).trimmed()
        return Planes(out.indptr, out.indices, out.values.astype(self.value_type, copy=False))

    def rounding_units(self) -> FloatArray:
        units = self.inner.rounding_units()
        return np.maximum.reduceat(units, self.first_pairs[:-1]) if self.n_examples else units

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        return self.inner.planned_decoding(bound, threads)

    def output(self, example: int, key: int, code: CodeArray) -> ChosenAlignment:
        t = int(code[0])
        texts = self.inner.texts[int(self.first_pairs[example]) + t]
        return ChosenAlignment(t, strings_of_code(code[1:], *texts))

    def candidate_scores(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the score of the best alignment of each candidate, for each example of ids."""
        pairs = spans(ids, self.first_pairs)
        scores = self._aligned(w, pairs).rises[pairs]
        ends = np.cumsum(np.diff(self.first_pairs)[ids]).tolist()
        return [scores[a:b] for a, b in pairwise([0, *ends])]

    def take(self, ids: IntArray) -> DecoyExamples:
        first_pairs = np.concatenate([[0], np.cumsum(np.diff(self.first_pairs)[ids])])
        truths: list[CodeArray | None] | None = None
        if self.known:
            ends = [self.code_offsets[i : i + 2] for i in ids.tolist()]
            truths = [None if self.latent else self.truths[a + 1 : b] for a, b in ends]
        return DecoyExamples(self.structure, self.inner.take(spans(ids, self.first_pairs)), first_pairs, truths)

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *self.inner.digest_arrays(), self.first_pairs, self.truths, np.array([self.known, self.latent])
