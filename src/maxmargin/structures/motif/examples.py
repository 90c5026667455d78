"""Encoded strings with a motif: scores, argmaxes and planes of whole batches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._base.ragged import ONLY, offsets_among, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import HASH_PRIME, HASH_START, TRUTH, Answers, Planes, rounding_units
from maxmargin.core.scores import Scores
from maxmargin.core.sums import Sums
from maxmargin.features.biology.alphabet import context_indices, word_indices
from maxmargin.structures.motif import _jit, _sums
from maxmargin.structures.motif._jit import ABSENT

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.motif.structure import Motif, MotifSite


#: Number of symbols whose weights are looked up at once; larger tables exceed the fastest cache.
_MOST_BLOCKS = 1024


class MotifExamples(Examples):
    """Concatenated symbols of all sequences; the code of an output is the code of its site."""

    float32_exact = latent = summable = True

    def __init__(
        self, structure: Motif, symbols: AnyArray, offsets: IntArray, truths: CodeArray, placed: AnyArray
    ) -> None:
        self.structure, self.symbols, self.offsets, self.truths, self.placed = (
            structure, symbols, offsets, truths, placed,
        )  # fmt: skip
        n_symbols, length = structure.n_symbols_, structure.length_
        self.contexts = context_indices(symbols, offsets, n_symbols, structure.order_)
        self.base = n_symbols + bool((symbols == n_symbols).any())  # one more if there are wildcards
        self.width = max(1, min(length, int(np.log(_MOST_BLOCKS) / np.log(self.base) + 1e-9)))
        self.n_blocks = -(-length // self.width)
        room = np.zeros(self.n_blocks * self.width, np.uint8)  # the last block may extend past the end
        self.blocks = word_indices(np.concatenate([symbols, room]), self.base, self.width)
        self.n_examples, self.dim = len(truths), int(structure.size or 0)
        self.code_offsets = np.arange(self.n_examples + 1)
        self.operations = 0.5 * len(symbols) * (4 + self.n_blocks * structure.n_strands_)
        self.plane_entries = np.where(truths >= 0, 4 * length, 2 * length).astype(np.int64)

    def n_sites(self, example: int) -> int:
        """Return the number of sites of an example on all strands."""
        length = int(self.offsets[example + 1] - self.offsets[example])
        return (length - self.structure.length_ + 1) * self.structure.n_strands_

    def _scan_arguments(self, w: FloatArray) -> tuple[Any, ...]:
        """Return the arguments of scans: background weights (0 without context) and the motif's weights by blocks."""
        parts = self.structure.split_weights(w)
        strands = [parts["motif"]]
        if self.structure.both_strands:
            strands.append(parts["motif"][::-1, self.structure.complements_[:-1]])
        if self.base > self.structure.n_symbols_:  # a wildcard scores 0
            strands = [np.column_stack([weights, np.zeros(len(weights))]) for weights in strands]
        tables = np.stack([_block_tables(weights, self.n_blocks, self.width) for weights in strands])
        background = np.append(parts["background"].ravel(), 0.0)
        return self.structure.length_, self.contexts, background, self.blocks, self.width, tables

    def best_sites(self, w: FloatArray, ids: IntArray) -> tuple[CodeArray, FloatArray, FloatArray]:
        """Return the best site of each example of ids, its score and that of the true site, relative to no motif."""
        codes, scores, truth_scores = np.empty(len(ids), np.int32), np.empty(len(ids)), np.empty(len(ids))
        _jit.best_sites(ids, self.offsets, *self._scan_arguments(w), self.truths, codes, scores, truth_scores)
        return codes, scores, truth_scores

    def site_scores(self, w: FloatArray, example: int) -> FloatArray:
        """Return the scores of all sites of one example, relative to no motif, in the order of their codes."""
        return self.scores(w, np.array([example]))[0].values

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return the scores of the parts: one for each site, relative to no motif."""
        starts = offsets_of([self.n_sites(i) for i in ids.tolist()])
        values = np.empty(int(starts[-1]))
        _jit.score_sites(ids, starts, self.offsets, *self._scan_arguments(w), values)
        return [Scores(values, starts)]

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the score of each site relative to no motif, windows × strands, for each example of ids."""
        values, starts = self.scores(w, ids)[0]
        return [values[a:b].reshape(-1, self.structure.n_strands_) for a, b in pairwise(starts.tolist())]

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._decide(ids, *self.best_sites(w, ids), lambda rise, loss: rise + scales * loss, answers)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        values, starts = scores[0]
        parts = [values[a:b] for a, b in pairwise(starts.tolist())]
        sites = np.array([int(part.argmax()) for part in parts], np.int32)
        best = np.array([part[site] for part, site in zip(parts, sites, strict=True)])
        truths = self.truths[ids]
        true = np.array([part[y] if y >= 0 else 0.0 for part, y in zip(parts, truths.tolist(), strict=True)])
        self._decide(ids, sites, best, true, lambda rise, loss: rise + scales * loss, answers)

    # ------------------------------------------------------------------ sums over outputs

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        """Return sums over no motif and all sites, relative to no motif as the scores are."""
        (values, starts), n = scores[0], len(ids)
        sums = Sums(np.empty(n), np.empty(n), [np.empty_like(values)])
        given = np.ones(n) if coefficients is None else coefficients
        _sums.site_sums(starts, values, given, sums.log_partitions, sums.expected_scores, sums.marginals[0])
        return sums

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.empty((n, len(ids)), np.int32)
        _sums.site_samples(scores[0].starts, scores[0].values, seeds, codes)
        return codes

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return scores with the loss of sites minus that of no motif."""
        (values, starts), truths = scores[0], self.truths[ids]
        signs = np.where(truths == ABSENT, 1.0, np.where(truths >= 0, -1.0, 0.0))
        return [Scores(values + np.repeat(scales * signs, np.diff(starts)), starts)]

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        """Add values of sites times their features relative to no motif, which are 1, 0 or −1: also if `squared`."""
        structure, n_symbols = self.structure, self.structure.n_symbols_
        tables = np.zeros((structure.n_strands_, self.n_blocks, self.base**self.width))
        background = np.zeros(structure.n_contexts_ + 1)
        starts = offsets_of([self.n_sites(i) for i in ids.tolist()])
        _sums.add_sites(
            ids, starts, values[0], self.offsets, structure.length_, self.contexts, self.blocks, self.width, tables,
            background,
        )  # fmt: skip
        parts = structure.split_weights(out)  # views
        for s, table in enumerate(tables):
            weights = _position_tables(table, self.base, self.width)[: structure.length_, :n_symbols]
            if s == 0:
                parts["motif"] += weights
            else:
                parts["motif"][::-1, structure.complements_[:-1]] += weights
        parts["background"] += background[:-1].reshape(parts["background"].shape)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        """Return positive scores where predicting a motif has less expected loss than none; of sites the likeliest.

        The loss only compares labels, so all sites have the same expected loss.
        """
        starts = scores[0].starts
        lengths = np.diff(starts)
        motif = np.add.reduceat(marginals[0], starts[:-1]) if len(ids) else np.zeros(0)
        gains = np.repeat((1.0 + gamma) * motif - 1.0, lengths) * (1.0 + marginals[0])
        return [Scores(np.where(scores[0].values > -np.inf, gains, -np.inf), starts)]

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        return marginals[0].reshape(-1, self.structure.n_strands_)

    # ------------------------------------------------------------------ bounds

    def rounding_units(self) -> FloatArray:
        """Return the errors of the scores of sites, sums of two weights for each symbol of the motif."""
        terms = np.full(self.n_examples, 2.0 * self.structure.length_)
        return rounding_units(terms, terms)

    def exact_for(self, bound: Bound) -> bool:
        """Return True: either the best site or no motif is the exact argmax.

        The loss has two values, and every violation increases with the score.
        """
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._decide(ids, *self.best_sites(w, ids), bound.violation, answers)

    def _decide(
        self,
        ids: IntArray,
        sites: CodeArray,
        scores: FloatArray,
        truth_scores: FloatArray,
        worth: Callable[[Any, Any], Any],
        answers: Answers,
    ) -> None:
        """Choose between the best site and no motif."""
        truths = self.truths[ids]
        loss_here, loss_absent = (truths == ABSENT).astype(float), (truths >= 0).astype(float)
        here = worth(scores - truth_scores, loss_here) > worth(-truth_scores, loss_absent)
        rises = np.where(here, scores, 0.0) - truth_scores
        self._answer(ids, np.where(here, sites, ABSENT), np.where(here, loss_here, loss_absent), rises, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        sites, scores, truth_scores = self.best_sites(w, ids)
        here = self.truths[ids] >= 0
        self._answer(ids, np.where(here, sites, ABSENT), 0.0, np.where(here, scores - truth_scores, 0.0), answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Choose a site for every positive sequence, uniformly at random unless one was given."""
        windows = np.diff(self.offsets) - self.structure.length_ + 1
        drawn = rng.integers(0, windows * self.structure.n_strands_)
        draw = (self.truths >= 0) & ~self.placed
        self._answer(np.arange(self.n_examples), np.where(draw, drawn, self.truths), 0.0, 0.0, answers)

    def _answer(self, ids: IntArray, codes: AnyArray, losses: Any, rises: Any, answers: Answers) -> None:
        answers.codes[ids], answers.losses[ids], answers.rises[ids] = codes, losses, rises
        answers.keys[ids] = np.where(codes == self.truths[ids], TRUTH, (HASH_START ^ (codes + 1)) * HASH_PRIME)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        sites = codes[ids]
        there = sites >= 0
        return [Planes(offsets_of(there), sites[there].astype(np.uint32), np.ones(int(there.sum())))]

    def joint_features(self) -> FloatArray:
        """Return Ψ(x, y): the background of the whole sequence, and what the true site changes."""
        psi = np.zeros(self.dim)
        background = self.structure.split_weights(psi)["background"].reshape(-1)  # a view
        np.add.at(background, self.contexts[self.contexts < self.structure.n_contexts_], 1.0)
        self.add_joint_features(self.true_counts(ONLY), ONLY, np.ones(1), psi)
        return psi

    def take(self, ids: IntArray) -> MotifExamples:
        symbols, offsets = self.symbols[spans(ids, self.offsets)], offsets_among(ids, self.offsets)
        return MotifExamples(self.structure, symbols, offsets, self.truths[ids], self.placed[ids])

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        room, structure = int(self.plane_entries[ids].sum()), self.structure
        planes = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, self.value_type))
        used = _jit.site_planes(
            ids, self.offsets, structure.length_, structure.n_symbols_, self.dim, structure.n_strands_, self.symbols,
            structure.complements_, self.contexts, self.truths, answers.codes, planes.indptr, planes.indices,
            planes.values,
        )  # fmt: skip
        return Planes(planes.indptr, planes.indices[:used], planes.values[:used])

    def output(self, example: int, key: int, code: CodeArray) -> MotifSite:
        return self.structure.site(int(code[0]))

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        sizes = np.array([self.structure.length_, self.structure.n_strands_])
        return self.symbols, self.offsets, self.truths, self.placed, sizes


def _block_tables(weights: FloatArray, n_blocks: int, width: int) -> FloatArray:
    """Return tables[b, word] = Σ_j weights[b width + j, symbol j of the word], to score windows block by block."""
    padded = np.zeros((n_blocks * width, weights.shape[1]))
    padded[: len(weights)] = weights
    tables = np.zeros((n_blocks, 1))
    for j in range(width):
        tables = (tables[:, :, None] + padded[j::width][:, None, :]).reshape(n_blocks, -1)
    return tables


def _position_tables(tables: FloatArray, base: int, width: int) -> FloatArray:
    """Return sums[b width + j, symbol] over the words of block b with this symbol j: `_block_tables` transposed."""
    n_blocks = len(tables)
    sums = np.empty((n_blocks, width, base))
    for j in range(width):
        sums[:, j] = tables.reshape(n_blocks, base**j, base, -1).sum(axis=(1, 3))
    return sums.reshape(-1, base)
