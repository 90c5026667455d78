"""Encoded natives with their candidates: all pairs are encoded alignments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxmargin._base.ragged import Ragged, offsets_among, offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.examples import Examples
from maxmargin.core.planes import NO_OUTPUT, TRUTH, Answers, Planes, key_of
from maxmargin.core.scores import Scores
from maxmargin.core.sums import Sums
from maxmargin.features.biology.aligned import N_ORDERS, empty_code, strings_of_code
from maxmargin.structures.alignment.examples import AlignmentExamples

if TYPE_CHECKING:
    from maxmargin.structures.alignment.decoys import Decoys


class ChosenAlignment(NamedTuple):
    """A candidate with its alignment.

    Attributes
    ----------
    candidate : int
        Index of the candidate: 0 for the homologue, 1, 2, … for decoys.
    alignment : tuple of (str, str)
        The native sequence aligned with the candidate.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.decoys()
    >>> model = mm.StructuralSVM(mm.Decoys(alphabet="ACGT"), C=1.0).fit(X, Y)
    >>> chosen = model.predict(X[:1])[0]
    >>> chosen.candidate, chosen.alignment
    (0, ('TGGCCAAA', '--GCCA--'))
    """

    candidate: int
    alignment: tuple[str, str]


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
    summable = True

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
        self.code_offsets = offsets_of(np.diff(inner.code_offsets)[homologues] + 1)
        self.known, self.latent = truths is not None, truths is not None and any(t is None for t in truths)
        self.truths = np.zeros(int(self.code_offsets[-1]), np.int32)
        for i, truth in enumerate(truths or ()):
            a, b = self.code_offsets[i : i + 2]
            self.truths[a + 1 : b] = truth if truth is not None else empty_code(int(b - a - 1) - N_ORDERS)
        self.plane_entries = np.zeros(self.n_examples, np.int64)
        for block, most in zip(inner.blocks, inner.most_parts, strict=True):
            entries = np.minimum(most * block.fullest(inner.n_examples), block.dim)
            first = entries[homologues]
            self.plane_entries += np.minimum(first + np.maximum.reduceat(entries, homologues), block.dim)
        self.float32_exact = bool(np.isfinite([block.largest_whole() for block in inner.blocks]).all())

    # ------------------------------------------------------------------ argmaxes

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        inner = self._aligned(w, spans(ids, self.first_pairs))
        self._choose(
            inner, ids, self._true_scores(w, ids), lambda rises, losses, r: rises + scales[r] * losses, answers
        )

    def _choose(
        self, inner: Answers, ids: IntArray, true_scores: FloatArray, value: Callable[..., FloatArray], answers: Answers
    ) -> None:
        """Write the candidate of the greatest value of each example, given the best alignments of its pairs.

        Parameters
        ----------
        value : callable
            Function of the rises and losses of the candidates of ``ids[r]``, and of r.
        """
        fixed = self.known and not self.latent
        for r, i in enumerate(ids.tolist()):
            first, stop = self.first_pairs[i : i + 2].tolist()
            rises, losses = inner.rises[first:stop] - true_scores[r], np.full(stop - first, float(self.known))
            losses[0], rises[0] = 0.0, 0.0 if fixed else rises[0]
            t = int(np.argmax(value(rises, losses, r)))
            a, b = self.code_offsets[i : i + 2].tolist()
            code = answers.codes[a:b]
            code[0], code[1:] = t, self.truths[a + 1 : b] if fixed and t == 0 else self._code(inner, first + t)
            same = self.known and np.array_equal(code, self.truths[a:b])
            answers.keys[i] = TRUTH if same else key_of(code)
            answers.losses[i], answers.rises[i] = losses[t], 0.0 if same else rises[t]

    def _aligned(self, w: FloatArray, pairs: IntArray) -> Answers:
        """Return the best alignments of pairs; rises are their scores."""
        aligned = self.inner.empty_answers()
        self.inner.decode(w, pairs, np.zeros(len(pairs)), aligned)
        return aligned

    def _code(self, inner: Answers, pair: int) -> CodeArray:
        """Return the code of the best alignment of a pair."""
        return inner.codes[slice(*self.inner.code_offsets[pair : pair + 2])]

    def exact_for(self, bound: Bound) -> bool:
        """Return True: all decoys have the same loss, so the best of them has the greatest violation."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        inner = self._aligned(w, spans(ids, self.first_pairs))
        self._choose(
            inner, ids, self._true_scores(w, ids), lambda rises, losses, _: bound.violation(rises, losses), answers
        )

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Write the best alignment of each homologue, or the given one."""
        inner = self._aligned(w, self.first_pairs[ids])
        self._choose(inner, ids, self._true_scores(w, ids), lambda _, losses, __: -losses, answers)

    def fix_alignments(self, w: FloatArray) -> bool:
        """Replace the alignments of the homologues by the best ones at w, as if they had been given.

        Return whether any of them became better.
        """
        everyone, homologues = np.arange(self.n_examples), self.first_pairs[:-1]
        inner, true_scores = self._aligned(w, homologues), self._true_scores(w, everyone)
        gains = inner.rises[homologues] - true_scores
        better = everyone if self.latent else np.flatnonzero(gains > 1e-9 * (1.0 + np.abs(true_scores)))
        for i in better.tolist():
            self.truths[self.code_offsets[i] + 1 : self.code_offsets[i + 1]] = self._code(inner, int(homologues[i]))
        self.latent, self._digest = False, None
        return bool(len(better))

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the given alignments of the homologues, or alignments without matches."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    # ------------------------------------------------------------------ scores of parts

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        ends = offsets_among(ids, self.first_pairs)
        return [Scores(s.values, s.starts[ends]) for s in self.inner.scores(w, spans(ids, self.first_pairs))]

    def _by_pair(self, scores: list[Scores], pairs: IntArray) -> list[Scores]:
        """Return scores with the offsets of pairs in place of those of examples."""
        return [
            Scores(s.values, offsets_of(n_parts[pairs])) for s, n_parts in zip(scores, self.inner.n_parts, strict=True)
        ]

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        pairs, inner = spans(ids, self.first_pairs), self.inner.empty_answers()
        self.inner.decode_scores(self._by_pair(scores, pairs), pairs, np.zeros(len(pairs)), inner)
        true_scores = super().true_totals(scores, ids)
        self._choose(inner, ids, true_scores, lambda rises, losses, r: rises + scales[r] * losses, answers)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        """Return the parts of the chosen pairs, which follow those of earlier candidates."""
        firsts = self.first_pairs[ids]
        chosen, shifted = firsts + codes[self.code_offsets[ids]], list[Planes]()
        for offsets, counts in zip(self.inner.part_offsets, self._parts(chosen, codes, ids), strict=True):
            shifts = np.repeat(offsets[chosen] - offsets[firsts], np.diff(counts.indptr))
            shifted.append(Planes(counts.indptr, (counts.indices + shifts).astype(np.uint32), counts.values))
        return shifted

    def true_counts(self, ids: IntArray) -> list[Planes]:
        return super().true_counts(ids) if self.known else []

    # ------------------------------------------------------------------ sums over candidates and alignments

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        """Sum over the alignments of all candidates; of a homologue whose alignment is given, over this one alone."""
        pairs, ends = spans(ids, self.first_pairs), offsets_among(ids, self.first_pairs)
        by_pair = self._by_pair(scores, pairs)
        logs, expected, marginals = self.inner.sums(by_pair, pairs)
        if self.known and not self.latent:
            logs[ends[:-1]] = expected[ends[:-1]] = super().true_totals(scores, ids)
            for values, at in zip(marginals, self._of_homologues(scores, ids), strict=True):
                values[at] = 0.0
            self.subtract_truths(marginals, scores, ids, -np.ones(len(ids)))
        log_z = np.logaddexp.reduceat(logs, ends[:-1]) if len(ids) else np.zeros(0)
        shares = np.exp(logs - np.repeat(np.where(log_z > -np.inf, log_z, 0.0), np.diff(ends)))
        factors = shares if coefficients is None else shares * np.repeat(coefficients, np.diff(ends))
        for values, s in zip(marginals, by_pair, strict=True):
            values *= np.repeat(factors, np.diff(s.starts))
        return Sums(log_z, np.add.reduceat(shares * expected, ends[:-1]) if len(ids) else np.zeros(0), marginals)

    def _of_homologues(self, scores: list[Scores], ids: IntArray) -> list[IntArray]:
        """Return where the parts of the homologues are, which come first, block by block."""
        sizes = [n_parts[self.first_pairs[ids]] for n_parts in self.inner.n_parts]
        return [np.repeat(s.starts[:-1], n) + places(offsets_of(n)) for s, n in zip(scores, sizes, strict=True)]

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        pairs, ends = spans(ids, self.first_pairs), offsets_among(ids, self.first_pairs)
        by_pair, starts = self._by_pair(scores, pairs), offsets_among(ids, self.code_offsets)
        logs = self.inner.sums(by_pair, pairs).log_partitions
        fixed, codes = self.known and not self.latent, np.empty((n, int(starts[-1])), np.int32)
        if fixed:
            logs[ends[:-1]] = super().true_totals(scores, ids)
        for r, i in enumerate(ids.tolist()):
            rng, (first, stop), code = np.random.default_rng(int(seeds[r])), ends[r : r + 2], codes[:, starts[r] :]
            size = int(starts[r + 1] - starts[r])
            if logs[first:stop].max() == -np.inf:
                code[:, :size] = NO_OUTPUT
                continue
            shares = np.exp(logs[first:stop] - np.logaddexp.reduce(logs[first:stop]))
            chosen = rng.choice(int(stop - first), n, p=shares / shares.sum())
            below = rng.integers(0, 2**63, int(stop - first), np.uint64)
            code[:, 0] = chosen
            for t in np.unique(chosen).tolist():
                which, at = np.flatnonzero(chosen == t), int(first) + t
                if fixed and t == 0:
                    code[which, 1:size] = self.truths[self.code_offsets[i] + 1 : self.code_offsets[i + 1]]
                    continue
                own = [Scores(s.values, s.starts[at : at + 2]) for s in by_pair]
                code[which, 1:size] = self.inner.samples(own, pairs[at : at + 1], len(which), below[t : t + 1])
        return codes

    def _parts_of_position(self, b: int, pair: int) -> slice | None:
        """Return the parts of one block that belong to one position of a pair, of which each alignment has one part.

        It is the first position of the native sequence, or of the candidate; None if both are empty.
        """
        n, m = int(self.inner.pairs.n_rows[pair]), int(self.inner.pairs.n_cols[pair])
        if n + m == 0:
            return None
        return slice(0, m if n else 0) if b == 0 else slice(0, self.inner.blocks[b].n_outputs)

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Add the scale to all parts of one position of each decoy; raise ValueError if there is no position."""
        if not self.known or not scales.any():
            return scores
        pairs, ends = spans(ids, self.first_pairs), offsets_among(ids, self.first_pairs)
        changed = [Scores(s.values.copy(), s.starts) for s in scores]
        for b, s in enumerate(self._by_pair(changed, pairs)):
            for r in range(len(ids)):
                for at in range(int(ends[r]) + 1, int(ends[r + 1])):
                    some = self._parts_of_position(b, int(pairs[at]))
                    if some is None:
                        raise ValueError("the loss of empty sequences is not a sum over parts; leave them out")
                    s.values[s.starts[at] + some.start : s.starts[at] + some.stop] += scales[r]
        return changed

    def true_totals(self, scores: list[Scores], ids: IntArray) -> FloatArray:
        """Return the scores of the true alignments; if they are latent, log-sums over those of the homologues."""
        if not self.latent:
            return super().true_totals(scores, ids)
        return self._completions(scores, ids, None).log_partitions

    def _completions(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None) -> Sums:
        """Return sums over the alignments of the homologues alone."""
        own = [s.values[at] for s, at in zip(scores, self._of_homologues(scores, ids), strict=True)]
        firsts = self.first_pairs[ids]
        return self.inner.sums(self._by_pair([Scores(values, ids) for values in own], firsts), firsts, coefficients)

    def subtract_truths(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, coefficients: FloatArray
    ) -> None:
        """Subtract the parts of the true alignments; if they are latent, their expectations."""
        if self.latent:
            expectations = self._completions(scores, ids, coefficients).marginals
            for values, at, expected in zip(marginals, self._of_homologues(scores, ids), expectations, strict=True):
                values[at] -= expected
            return
        super().subtract_truths(marginals, scores, ids, coefficients)

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        self.inner.add_features(values, spans(ids, self.first_pairs), out, squared)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        raise ValueError(
            "the loss of Decoys is not a sum over matches, so decode='risk' is not possible; the most probable "
            "candidate has the least risk"
        )

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        """Return the probability of each candidate of an example."""
        first, stop = self.first_pairs[example : example + 2].tolist()
        shares, empty = np.zeros(stop - first), np.zeros(stop - first, bool)
        for b, values in enumerate(marginals):
            starts = self.inner.part_offsets[b][first:stop] - self.inner.part_offsets[b][first]
            for t in range(stop - first):
                some = self._parts_of_position(b, first + t)
                if some is None:
                    empty[t] = True
                else:
                    shares[t] += values[starts[t] + some.start : starts[t] + some.stop].sum()
        shares[empty] = (1.0 - shares.sum()) / max(int(empty.sum()), 1)  # equal sequences without parts
        return shares

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

    # ------------------------------------------------------------------ planes and outputs

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        chosen = self.first_pairs[ids] + answers.codes[self.code_offsets[ids]]
        true, predicted = (
            self.features(self.first_pairs[ids], self.truths, ids),
            self.features(chosen, answers.codes, ids),
        )
        rows = np.arange(len(ids))
        out = true.minus(predicted, rows, rows, np.zeros(self.dim)).trimmed()
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
        return list(Ragged(scores, offsets_among(ids, self.first_pairs)))

    def take(self, ids: IntArray) -> DecoyExamples:
        first_pairs = offsets_among(ids, self.first_pairs)
        truths: list[CodeArray | None] | None = None
        if self.known:
            ends = [self.code_offsets[i : i + 2] for i in ids.tolist()]
            truths = [None if self.latent else self.truths[a + 1 : b] for a, b in ends]
        return DecoyExamples(self.structure, self.inner.take(spans(ids, self.first_pairs)), first_pairs, truths)

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *self.inner.digest_arrays(), self.first_pairs, self.truths, np.array([self.known, self.latent])
