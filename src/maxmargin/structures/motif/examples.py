"""Encoded strings with a motif: scores, argmaxes and planes of whole batches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import HASH_PRIME, HASH_START, TRUTH, Answers, spans
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Planes
from maxmargin.core.rounding import rounding_units
from maxmargin.core.scores import Scores
from maxmargin.encoding.alphabet import context_indices, word_indices
from maxmargin.structures.motif import _kernels as kernels
from maxmargin.structures.motif._kernels import ABSENT

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.motif.structure import Motif, MotifSite


#: Number of symbols whose weights are looked up at once; larger tables exceed the fastest cache.
_MOST_BLOCKS = 1024


class MotifExamples(Examples):
    """Concatenated symbols of all sequences; the code of an output is the code of its site."""

    float32_exact, latent = True, True

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
        kernels.best_sites(ids, self.offsets, *self._scan_arguments(w), self.truths, codes, scores, truth_scores)
        return codes, scores, truth_scores

    def site_scores(self, w: FloatArray, example: int) -> FloatArray:
        """Return the scores of all sites of one example, relative to no motif, in the order of their codes."""
        strands = self.structure.n_strands_
        scores = np.empty((strands, self.n_sites(example) // strands))
        kernels.scan_one(self.offsets[example], scores.shape[1], *self._scan_arguments(w), scores)
        return scores.T.ravel()

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return the scores of the parts: one for each site, relative to no motif."""
        found = [self.site_scores(w, i) for i in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(scores) for scores in found])]).astype(np.int64)
        return [Scores(np.concatenate([*found, np.zeros(0)]), starts)]

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the score of each site relative to no motif, windows × strands, for each example of ids."""
        return [self.site_scores(w, i).reshape(-1, self.structure.n_strands_) for i in ids.tolist()]

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

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        pair = np.stack([self.truths[ids], answers.codes[ids]], axis=1)
        there = (pair >= 0) & (pair[:, :1] != pair[:, 1:])
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        signs = np.broadcast_to([1.0, -1.0], pair.shape)
        return [Planes(indptr, pair[there].astype(np.uint32), signs[there])]

    def take(self, ids: IntArray) -> MotifExamples:
        lengths = np.diff(self.offsets)[ids]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        symbols = self.symbols[spans(ids, self.offsets)]
        return MotifExamples(self.structure, symbols, offsets, self.truths[ids], self.placed[ids])

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        room, structure = int(self.plane_entries[ids].sum()), self.structure
        planes = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, self.value_type))
        used = kernels.site_planes(
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
