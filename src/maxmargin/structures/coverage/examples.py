"""Encoded candidates: the elements and subtopics that each covers."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np

from maxmargin._base.ragged import Ragged, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.core.sums import PERTURB
from maxmargin.features.text.candidates import Incidence
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples
from maxmargin.structures.coverage import _jit

#: Subgradient steps of the bound on how much more than the truth may be covered, once for each example.
TRUTH_STEPS = 300
#: Bin of a subtopic, which is not an element.
SUBTOPIC = -1

#: Rows of items as (ptr, items), the bin of each item, and the elements that come first.
Encoded: TypeAlias = tuple[IntArray, IntArray, IntArray, IntArray]


class CoverageExamples(PartExamples):
    """Candidates of all examples, and the items they cover: elements at a level, and subtopics.

    Elements of the same thresholds and level are worth the same, so a part is such a bin, and its count the number of
    covered elements. The code of an output is its candidates, in ascending order if the truth is known.
    """

    derived: ClassVar[dict[str, str]] = {
        "offsets": "offsets",
        "item_offsets": "item_offsets",
        **dict.fromkeys(("bins", "counts", "shares"), "item_offsets"),
        **dict.fromkeys(("units", "missing"), ""),
    }
    whole_counts, exact, bounded = False, False, True
    why_not_summable = (
        f"to sum over all selections of candidates is #P-hard, as it counts covers (Provan and Ball 1983); {PERTURB}"
    )

    def __init__(
        self,
        structure: Any,
        inputs: list[Incidence],
        subtopics: list[Incidence] | None,
        features: list[FloatArray] | None,
    ) -> None:
        thresholds, levels = np.array(structure.thresholds, float), [float(level) for level in structure.levels]
        if subtopics is None:
            encoded = [_items(candidates, None, thresholds, levels) for candidates in inputs]
        else:
            pairs = zip(inputs, subtopics, strict=True)
            encoded = [_items(candidates, topics, thresholds, levels) for candidates, topics in pairs]
        sizes = np.array([x.n_candidates for x in inputs], np.int64)
        self.offsets = offsets_of(sizes)
        self.item_offsets = offsets_of([len(bins) for _, _, bins, _ in encoded])
        lengths = np.concatenate([*(np.diff(ptr) for ptr, *_ in encoded), np.zeros(0, np.int64)])
        self.ptr = offsets_of(lengths)
        self.items = np.concatenate([*(items for _, items, _, _ in encoded), np.zeros(0, np.int64)]).astype(np.int32)
        self.bins = np.concatenate([*(bins for _, _, bins, _ in encoded), np.zeros(0, np.int64)]).astype(np.int32)
        self.units = np.array([sizes[i] / max(len(x.elements), 1) for i, x in enumerate(inputs)])
        self.counts = _counted(encoded)
        self.shares = np.zeros(int(self.item_offsets[-1]))
        code_offsets = offsets_of(np.minimum(sizes, structure.k))
        self.missing, truths = np.zeros(len(inputs)), None
        if subtopics is not None:
            for i, topics in enumerate(subtopics):
                self.shares[self.item_offsets[i + 1] - topics.size : self.item_offsets[i + 1]] = structure.shares(
                    topics
                )
            codes = np.zeros(int(code_offsets[-1]), np.int32)
            _jit.cover_most(
                self.offsets, self.item_offsets, self.ptr, self.items, self.counts, self.shares, TRUTH_STEPS,
                code_offsets, codes, self.missing,
            )  # fmt: skip
            truths = np.split(codes, code_offsets[1:-1])[: len(inputs)]
        n = len(thresholds)
        matrix = np.kron(np.eye(len(levels)), np.tril(np.ones((n, n))))
        self.n_bins, self.n_steps = n * len(levels), int(structure.bound_steps)
        blocks = [Block(matrix, None)]
        self.n_extra = 0 if features is None else max((own.shape[1] for own in features), default=0)
        if self.n_extra:
            blocks.append(Block(self._item_features(features or [], encoded), self.item_offsets))
        super().__init__(structure, blocks, code_offsets, truths, [None] * len(blocks), (float(self.n_steps),))
        self.operations = 4.0 * (2.0 + self.n_steps) * len(self.items)

    def _item_features(self, features: list[FloatArray], encoded: list[Encoded]) -> FloatArray:
        """Return the features of all items; those of subtopics and of higher levels are 0."""
        rows = np.zeros((int(self.item_offsets[-1]), self.n_extra))
        for start, own, (_, _, _, first) in zip(self.item_offsets.tolist(), features, encoded, strict=False):
            rows[start : start + len(first)] = own[first]
        return rows

    @property
    def n_candidates(self) -> int:
        """Number of candidates of all examples."""
        return int(self.offsets[-1])

    def _most_parts(self) -> list[IntArray]:
        return [np.full(self.n_examples, self.n_bins), np.diff(self.item_offsets)][: 1 + (self.n_extra > 0)]

    def rounding_units(self) -> FloatArray:
        """Return the errors of sums over covered elements, each a number of its bin's features."""
        per_example = np.diff(self.item_offsets).astype(float)
        norm = np.sqrt(self.n_bins) + (self.blocks[1].largest_norms(self.n_examples) if self.n_extra else 0.0)
        return 4.0 * np.finfo(float).eps * per_example * norm * np.maximum(self.units * per_example, 1.0)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        extra = scores[1] if self.n_extra else Scores(np.zeros(0), np.zeros(0, np.int64))
        _jit.decode(
            ids, self.offsets, self.item_offsets, self.ptr, self.items, self.counts, self.bins, self.shares,
            scores[0].values, extra.values, extra.starts, self.units, self.missing, self.truths, self.known, scales,
            self.n_steps, self.code_offsets, answers.codes, answers.losses, answers.rises, answers.keys, answers.upper,
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        counts = np.zeros((len(ids), self.n_bins))
        _jit.bin_counts(
            ids, self.offsets, self.item_offsets, self.ptr, self.items, self.bins, self.code_offsets, codes, counts
        )
        counts *= self.units[ids, None]
        indices = np.tile(np.arange(self.n_bins, dtype=np.uint32), len(ids))
        bins = Planes(np.arange(len(ids) + 1) * self.n_bins, indices, counts.ravel())
        return [bins, self._covered(ids, codes)] if self.n_extra else [bins]

    def _covered(self, ids: IntArray, codes: CodeArray) -> Planes:
        """Return the elements that outputs cover, as items, each with the unit of its example."""
        covered_items = []
        for i in ids.tolist():
            chosen = self.offsets[i] + codes[self.code_offsets[i] : self.code_offsets[i + 1]]
            covered = np.unique(self.items[spans(chosen, self.ptr)])
            covered_items.append(covered[self.bins[self.item_offsets[i] + covered] != SUBTOPIC])
        sizes = np.array([len(items) for items in covered_items], np.int64)
        indices = np.concatenate([*covered_items, np.zeros(0, np.int32)]).astype(np.uint32)
        return Planes(offsets_of(sizes), indices, np.repeat(self.units[ids], sizes))

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.structure.output_of(code)

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        items = Ragged(self.items, self.ptr).take(spans(ids, self.offsets))
        return super()._taken(ids) | {"ptr": items.offsets, "items": items.values}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.offsets, self.ptr, self.items, self.bins, self.shares


def _items(candidates: Incidence, topics: Incidence | None, thresholds: FloatArray, levels: list[float]) -> Encoded:
    """Return rows of items as (ptr, items), the bin of each item, and the elements whose items come first.

    These are the elements at the first level; subtopics come last.
    """
    rows = np.repeat(np.arange(candidates.n_candidates), np.diff(candidates.ptr))
    all_rows, all_items, all_bins, used = [], [], [], 0
    first = np.zeros(0, np.int64)
    for at, level in enumerate(levels):
        share = candidates.frequencies(level) / candidates.n_candidates
        bins = np.searchsorted(thresholds, share, "right") - 1
        present = np.flatnonzero((bins >= 0) & (share > 0))
        # By bins so that sums do not depend on the order of elements, and candidates that are worth the same are tied.
        present = present[np.argsort(bins[present], kind="stable")]
        first = present if at == 0 else first
        number = np.zeros(candidates.size, np.int64)
        number[present] = np.arange(len(present))
        kept = (candidates.counts >= level) & (bins >= 0)[candidates.elements]
        all_rows.append(rows[kept])
        all_items.append(used + number[candidates.elements[kept]])
        all_bins.append(bins[present] + at * len(thresholds))
        used += len(present)
    if topics is not None:
        all_rows.append(np.repeat(np.arange(topics.n_candidates), np.diff(topics.ptr)))
        all_items.append(used + topics.elements)
        all_bins.append(np.full(topics.size, SUBTOPIC))
    joined_rows, items = np.concatenate(all_rows), np.concatenate(all_items)
    order = np.lexsort((items, joined_rows))
    ptr = offsets_of(np.bincount(joined_rows, minlength=candidates.n_candidates))
    return ptr.astype(np.int64), items[order], np.concatenate(all_bins), first


def _counted(encoded: list[Encoded]) -> IntArray:
    """Return how many candidates cover each item."""
    counts = [np.bincount(items, minlength=len(bins)) for _, items, bins, _ in encoded]
    return np.concatenate([*counts, np.zeros(0, np.int64)]).astype(np.int64)
