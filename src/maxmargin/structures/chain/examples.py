"""Encoded label sequences: scores, argmaxes and planes of whole batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ragged import (
    PART,
    batches,
    offsets_among,
    offsets_of,
    places,
    row_maxima,
    spans,
    sums_by_parts,
)
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds.remaining_outputs import Ranked, best_ranked, tangent_scale
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Answers, Planes, key_of, rounding_units
from maxmargin.core.polytopes import Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.sums import Sums
from maxmargin.features.rows.labels import cost_levels
from maxmargin.features.rows.rows import Rows
from maxmargin.structures.chain import _jit
from maxmargin.structures.chain._max_marginals import max_marginals
from maxmargin.structures.chain._polytope import chain_polytope
from maxmargin.structures.chain._sums import chain_samples, chain_sums

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.chain.structure import Chain


_NO_EDGES = np.zeros((0, 0))
#: Number of paths of an example that are ranked where a search leaves a gap.
MOST_RANKED = 256


class ChainExamples(Examples):
    """Concatenated tokens of all sequences; the code of an output is its labels."""

    closes = True
    summable = True
    plane_share = 0.3  # entries of the right labels cancel; measured on text: a tenth of the tokens and less is wrong

    def __init__(
        self, structure: Chain, rows: Rows, offsets: IntArray, edges: Rows | None, labels: CodeArray | None
    ) -> None:
        self.structure, self.rows, self.edges = structure, rows, edges
        self.empty: Callable[[int, Any], AnyArray] = np.empty
        self.n_examples, self.code_offsets = len(offsets) - 1, offsets
        self.n_labels = len(structure.labels_)
        n_tokens, lengths = int(offsets[-1]), np.diff(offsets)
        self.truths = np.full(n_tokens, -1, np.int32) if labels is None else labels
        self.labelled = n_tokens > 0 and bool(self.truths[0] >= 0)
        self.dim, self.n_token_weights = int(structure.size or 0), structure.n_token_weights_
        named = structure.cost if isinstance(structure.cost, str) else "matrix"
        self.zero_one, self.levels = named == "zero-one", cost_levels(structure.costs_)
        self.most_loss = 1.0 if self.zero_one else np.inf
        self.units = 1.0 / np.maximum(lengths, 1) if named == "hamming-share" else np.ones(self.n_examples)
        seen = structure.seen_
        work = len(rows.indices) * self.n_labels if seen is None else seen.counted(rows)
        work += n_tokens * self.n_labels**2
        entries = np.diff(rows.indptr[offsets])
        if edges is not None:
            work += len(edges.indices) * self.n_labels**2
            entries = entries + np.diff(edges.indptr[offsets])
        self.operations = float(work)
        self.plane_entries = 2 * (entries + lengths + 2)
        self.float32_exact = rows.float32_exact and (edges is None or edges.float32_exact)

    def tables(self, w: FloatArray, ids: IntArray) -> tuple[Any, ...]:
        """Return the scores: tokens × labels, transitions, start, end, transitions into tokens."""
        s, parts = self.structure, self.structure.transition_weights(w, self.n_token_weights)
        where = spans(ids, self.code_offsets)
        pairs = np.where(s.allowed_, parts["transitions"], -np.inf)
        start = np.where(s.start_allowed_, parts["start"], -np.inf)
        end = np.where(s.end_allowed_, parts["end"], -np.inf)
        edges = _NO_EDGES
        if self.edges is not None:
            edges = self.edges.scores(parts["edges"].reshape(-1, self.n_labels**2), where)
        weights = w[: self.n_token_weights]
        if s.seen_ is None:
            tokens = self.rows.scores(weights.reshape(-1, self.n_labels), where)
        else:
            tokens = s.seen_.scores(self.rows, weights, where)
        return tokens, pairs, start, end, edges

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return the scores of the parts: tokens × labels, and the tables of transitions, start and end.

        With transition features there is a fifth block, tokens × labels × labels, of transitions into a token.
        """
        tokens, *shared, edges = self.tables(w, ids)
        starts, size = offsets_among(ids, self.code_offsets), self.n_labels
        blocks = [Scores(tokens.ravel(), starts * size)]
        blocks += [Scores(table.ravel(), np.zeros_like(starts)) for table in shared]
        return blocks if self.edges is None else [*blocks, Scores(edges.ravel(), starts * size**2)]

    def _tables_of(self, scores: list[Scores]) -> tuple[Any, ...]:
        """Return the tables that compiled functions take, the inverse of `scores`."""
        size = self.n_labels
        tokens, pairs, start, end = (block.values for block in scores[:4])
        edges = _NO_EDGES if self.edges is None else scores[4].values.reshape(-1, size**2)
        return tokens.reshape(-1, size), pairs.reshape(size, size), start, end, edges

    def empty_answers(self) -> Answers:
        return replace(super().empty_answers(), codes=self._zeros(int(self.code_offsets[-1])))

    def _zeros(self, size: int) -> CodeArray:
        """Return a code for each token, of labels 0, in memory or in a file, as the features are."""
        return np.zeros(size, np.int32) if self.empty is np.empty else self.empty(size, np.int32)  # files begin as 0

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        lengths = self.code_offsets[ids + 1] - self.code_offsets[ids]
        if self.zero_one or self.rows.dense is not None or (self.edges is not None and self.edges.dense is not None):
            lengths = np.minimum(lengths, 0)  # all at once: BLAS would give other bits to a part
        for part in batches(lengths, PART):  # the scores of all tokens would take much memory
            self._decode(self.tables(w, ids[part]), ids[part], scales[part], answers)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._decode(self._tables_of(scores), ids, scales, answers)

    def _decode(self, tables: tuple[Any, ...], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        if self.zero_one and self.labelled and scales.any():
            self._decode_by_levels(tables, ids, scales, -1, answers)
            return
        _jit.decode_chains(
            ids, offsets_among(ids, self.code_offsets), self.code_offsets, self.truths, *tables, self.structure.costs_,
            self.most_loss, self.units, scales, answers.codes, answers.losses, answers.rises, answers.keys,
        )  # fmt: skip

    def rounding_units(self) -> FloatArray:
        """Return the errors of path scores: of tokens, and of transitions, each of which is one weight."""
        lengths, offsets = np.diff(self.code_offsets), self.code_offsets
        terms, norms = 4.0 * (lengths + 1), 2.0 * (lengths + 1)
        for rows in (self.rows, self.edges):
            if rows is not None:
                norms = norms + sums_by_parts(rows.norms, offsets)
                for some in batches(lengths, PART):
                    first, stop = int(offsets[some.start]), int(offsets[some.stop])
                    counts = np.diff(rows.indptr[first : stop + 1])
                    terms[some] += row_maxima(counts, offsets[some.start : some.stop + 1] - first)
        return rounding_units(terms, norms)

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return a table (T, K) for each example of ids, −∞ for labels that the constraints exclude."""
        scores, *shared = self.tables(w, ids)
        ends, out = offsets_among(ids, self.code_offsets), np.empty_like(scores)
        max_marginals(ends, scores, *shared, out)
        return np.split(out, ends[1:-1]) if len(ids) else []

    # ------------------------------------------------------------------ sums over outputs

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        n, marginals = len(ids), [np.zeros_like(block.values) for block in scores]
        sums = Sums(np.zeros(n), np.zeros(n), marginals)
        chain_sums(
            offsets_among(ids, self.code_offsets), *self._tables_of(scores),
            np.ones(n) if coefficients is None else coefficients, *sums[:2], *self._tables_of(
                [Scores(values, block.starts) for values, block in zip(marginals, scores, strict=True)]
            ),
        )  # fmt: skip
        return sums

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        ends = offsets_among(ids, self.code_offsets)
        codes = np.zeros((n, int(ends[-1])), np.int32)
        chain_samples(ends, *self._tables_of(scores), seeds, codes)
        return codes

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        if not self.labelled or not scales.any():
            return scores
        self._check_additive()
        tokens, where = scores[0], spans(ids, self.code_offsets)
        factors = np.repeat(scales * self.units[ids], np.diff(offsets_among(ids, self.code_offsets)))
        costs = factors[:, None] * self.structure.costs_[self.truths[where]]
        return [Scores(tokens.values + costs.ravel(), tokens.starts), *scores[1:]]

    def _check_additive(self) -> None:
        """Raise ValueError if the loss is not a sum over tokens."""
        if self.zero_one and bool((np.diff(self.code_offsets) > 1).any()):
            raise ValueError(
                "the zero-one loss of sequences is not a sum over tokens; use a Hamming loss or a matrix of costs"
            )

    def true_totals(self, scores: list[Scores], ids: IntArray) -> FloatArray:
        """Return the scores of the true paths, without counts of their parts: likelihood needs them at every step."""
        labels, totals = self.truths[spans(ids, self.code_offsets)], np.empty(len(ids))
        _jit.path_scores(offsets_among(ids, self.code_offsets), labels, *self._tables_of(scores), totals)
        return totals

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        s, size, where = self.structure, self.n_labels, spans(ids, self.code_offsets)
        at = self.n_token_weights
        nodes = values[0].reshape(-1, size)
        if s.seen_ is not None:
            s.seen_.add_weighted(self.rows, nodes, where, out[:at], squared)
        else:
            self.rows.add_weighted(nodes, where, out[:at].reshape(-1, size), squared)
        for table in values[1 : 4 if s.start_end else 2]:
            out[at : at + len(table)] += table
            at += len(table)
        if self.edges is not None:
            self.edges.add_weighted(values[4].reshape(-1, size**2), where, out[at:].reshape(-1, size**2), squared)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        """Return minus the expected costs of labels; transitions only remain forbidden."""
        self._check_additive()
        size, gains = self.n_labels, -(marginals[0].reshape(-1, self.n_labels) @ self.structure.costs_)
        allowed = scores[0].values.reshape(-1, size) > -np.inf
        tokens = Scores(np.where(allowed, gains, -np.inf).ravel(), scores[0].starts)
        rest = [Scores(np.where(block.values > -np.inf, 0.0, -np.inf), block.starts) for block in scores[1:]]
        return [tokens, *rest]

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        return marginals[0].reshape(-1, self.n_labels)

    # ------------------------------------------------------------------ bounds

    def exact_for(self, bound: Bound) -> bool:
        """Return whether costs are multiples of one number, as the recursion over levels of the loss requires."""
        return self.levels is not None

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        """Return the memory of T × K scores per thread, times the levels of the loss if needed, and of token scores."""
        longest, levels = int(np.diff(self.code_offsets).max(initial=0)), 0
        by_levels = self.zero_one or (bound.form != 0 and self.levels is not None)
        if by_levels:
            assert self.levels is not None
            levels = int(min(self.most_loss, longest * int(self.levels[0].max(initial=0))))
        table = longest * self.n_labels * (levels + 1)
        width = self.n_labels + (0 if self.edges is None else self.n_labels**2)
        how = "argmaxes by levels of the loss" if by_levels else "argmaxes"
        what = f"{how} in sequences of up to {longest} tokens with {self.n_labels} labels, in {threads} threads,"
        return 8.0 * (threads * table + int(self.code_offsets[-1]) * width), what

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._decode_by_levels(self.tables(w, ids), ids, np.ones(len(ids)), bound.form, answers)

    def close(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray) -> FloatArray:
        """Improve the answers of a search with the best paths for score + scale · loss."""
        closed, offsets, costs = upper.copy(), self.code_offsets, self.structure.costs_
        for r, i in enumerate(ids.tolist()):
            rise, loss = float(answers.rises[i]), float(answers.losses[i])
            known, scale = max(float(bound.violation(rise, loss)), 0.0), tangent_scale(bound, rise, loss)
            y, tables = self.truths[offsets[i] : offsets[i + 1]], self.tables(w, ids[r : r + 1])
            augmented = tables[0] + scale * self.units[i] * costs[y]
            paths, values = _jit.best_paths(augmented, *tables[1:], MOST_RANKED)
            paths = paths[values > -np.inf]
            rises = _jit.score_paths(paths, *tables) - _jit.score_paths(y[None], *tables)
            losses = costs[y, paths].sum(axis=1) * self.units[i]
            ranking = map(Ranked, rises.tolist(), losses.tolist(), paths)
            best, closed[r] = best_ranked(bound, ranking, scale, known, upper[r], len(paths) < MOST_RANKED)
            if best is not None:
                answers.codes[offsets[i] : offsets[i + 1]] = best.code
                answers.rises[i], answers.losses[i], answers.keys[i] = best.rise, best.loss, key_of(best.code)
        return closed

    def _decode_by_levels(
        self, tables: tuple[Any, ...], ids: IntArray, scales: FloatArray, form: int, answers: Answers
    ) -> None:
        assert self.levels is not None
        _jit.decode_by_levels(
            ids, offsets_among(ids, self.code_offsets), self.code_offsets, self.truths, *tables, self.structure.costs_,
            *self.levels, self.most_loss, self.units, form, scales, answers.codes, answers.losses, answers.rises,
            answers.keys,
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        ends, size = offsets_among(ids, self.code_offsets), self.n_labels
        y = codes[spans(ids, self.code_offsets)].astype(np.int64)
        lengths, place = np.diff(ends), places(ends)
        first, last, inner = ends[:-1][lengths > 0], ends[1:][lengths > 0] - 1, place > 0
        pairs = y[np.flatnonzero(inner) - 1] * size + y[inner]
        pair_ends = offsets_of(np.maximum(lengths - 1, 0))
        some = offsets_of(lengths > 0)
        blocks = [(ends, place * size + y), (pair_ends, pairs), (some, y[first]), (some, y[last])]
        if self.edges is not None:
            blocks.append((pair_ends, place[inner] * size**2 + pairs))
        return [Planes(indptr, parts.astype(np.uint32), np.ones(len(parts))) for indptr, parts in blocks]

    def polytope(self, example: int) -> Polytope:
        """Return the flow polytope; raise ValueError if the loss is not a sum over tokens."""
        length = int(self.code_offsets[example + 1] - self.code_offsets[example])
        if self.zero_one and length > 1:
            raise ValueError("the zero-one loss is not a sum over tokens; use solver='auto', or a Hamming loss")
        return chain_polytope(length, self.structure.allowed_, self.edges is not None)

    def part_features(self, example: int) -> Any:
        first, stop = map(int, self.code_offsets[example : example + 2])
        s, K = self.structure, self.n_labels
        pairs, seen = sp.eye_array(K), s.seen_
        tokens = sp.kron(self.rows.matrix(first, stop), pairs)
        if seen is not None:  # pairs without a weight have no features
            tokens = sp.csr_array(tokens)[:, seen.columns() * K + seen.labels]
        blocks = [tokens, sp.eye_array(K * K)]
        blocks.append(sp.eye_array(2 * K) if s.start_end else sp.csr_array((2 * K, 0)))
        if self.edges is not None:
            blocks.append(sp.kron(self.edges.matrix(first, stop), sp.eye_array(K * K)))
        return sp.csr_array(sp.block_diag(blocks))

    def take(self, ids: IntArray) -> ChainExamples:
        where, offsets = spans(ids, self.code_offsets), offsets_among(ids, self.code_offsets)
        edges = None if self.edges is None else self.edges.take(where)
        return ChainExamples(self.structure, self.rows.take(where), offsets, edges, self.truths[where])

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        room, rows = int(self.plane_entries[ids].sum()), self.rows
        planes = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, self.value_type))
        edges = (self.edges.indptr, self.edges.indices, self.edges.data) if self.edges is not None else _NO_ROWS
        s, seen = self.structure, self.structure.seen_
        pairs = _NO_PAIRS if seen is None else (seen.pointers, seen.labels)
        used = _jit.chain_planes(
            ids, self.code_offsets, self.truths, answers.codes, rows.indptr, rows.indices, rows.data,
            self.n_token_weights, *pairs, self.n_labels, bool(s.start_end), *edges, planes.indptr,
            planes.indices, planes.values,
        )  # fmt: skip
        return Planes(planes.indptr, planes.indices[:used], planes.values[:used])

    def output(self, example: int, key: int, code: CodeArray) -> list[Any]:
        names = self.structure.labels_.values
        return [names[c] for c in code.tolist()]

    def outputs(self, answers: Answers) -> list[Any]:
        values = self.structure.labels_.array()[answers.codes].tolist()
        ends = self.code_offsets.tolist()
        return [values[a:b] for a, b in pairwise(ends)]

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        rows = [array for part in (self.rows, self.edges) if part is not None for array in part.arrays()]
        s = self.structure
        if s.seen_ is not None:
            rows += [s.seen_.pointers, s.seen_.labels]
        allowed = s.allowed_, s.start_allowed_, s.end_allowed_
        return *rows, self.code_offsets, self.truths, s.costs_, self.units, np.array([self.most_loss]), *allowed


_NO_PAIRS = np.zeros(0, np.int64), np.zeros(0, np.int32)
_NO_ROWS = np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0)
