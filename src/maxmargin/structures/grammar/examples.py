"""Encoded sentences of a grammar: argmaxes for three losses, parts of trees, k best trees."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._base.ragged import offsets_among, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import NO_OUTPUT, TRUTH, Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.features.text.treebank import Token, shown_tree
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.grammar import _samples, _search, _sums
from maxmargin.structures.grammar._many_best import slot_trees
from maxmargin.structures.grammar._max_marginals import max_marginals
from maxmargin.structures.grammar.spans import SpanRows, constituent_parts

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

CONSTITUENTS, F1, ZERO_ONE = range(3)
COSTS = {"constituents": CONSTITUENTS, "f1": F1, "zero-one": ZERO_ONE}
#: Occurrences of an annotated left-hand side that frequencies without annotations stand for, by development data.
SMOOTHING = 5.0
#: Trees that a closed search looks at: twice as many in each attempt, up to the last.
_RANKED = (2, 8, 32, 128)
_NO_FLOATS, _NO_TAGS, _NO_ENDS = np.zeros(0), np.zeros(0, np.int32), np.zeros(5, np.int64)


class NoTreeWarning(UserWarning):
    """Sentences that a grammar does not derive have no tree.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> parser = mm.ConstituencyParser(glue=False).fit(["(S (NP DT NN) (VP VBZ))"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     tree = parser.predict([["NN", "NN", "NN"]])
    >>> [found.category.__name__ for found in caught]
    ['NoTreeWarning']
    """


def warn_of_missing(trees: list[Any], glue: bool, level: int = 3) -> None:
    """Warn if there are sentences without a tree, which a list of predictions has as None.

    With `glue` these are the empty sentences.
    """
    without = [i for i, tree in enumerate(trees) if tree is None]
    if without:
        shown = ", ".join(f"X[{i}]" for i in without[:5]) + (", …" if len(without) > 5 else "")
        counted = f"{len(without)} of {len(trees)} sentences"
        why = f"{counted} {'are empty' if glue else 'have no tree in the grammar'} ({shown})"
        advice = "leave them out" if glue else "glue=True joins the largest pieces instead"
        warnings.warn(f"{why}, so their prediction is None; {advice}", NoTreeWarning, stacklevel=level)


class GrammarExamples(PartExamples):
    """Sentences; the code of a tree is its derivation in pre-order (`GrammarRules.code`).

    Parameters
    ----------
    structure : Grammar
        The fitted structure.
    sentences : sequence of list of (word, tag)
        The tokens.
    rows : SpanRows or None
        Features of spans; None if there are none.
    truths : list of array of int, optional
        Codes of the true trees.
    """

    data: ClassVar[dict[str, str]] = {"tokens": "offsets"}
    summable = True
    derived: ClassVar[dict[str, str]] = {"sentences": "", "offsets": "offsets", "ranges": ""}

    def __init__(
        self, structure: Any, sentences: Sequence[list[Token]], rows: SpanRows | None, truths: list[CodeArray] | None
    ) -> None:
        self.sentences = list(sentences)
        self.rules, self.n_labels = structure.rules_, len(structure.rules_.labels)
        self.cost, self.glue = COSTS[structure.cost], bool(structure.glue)
        lengths = np.fromiter(map(len, sentences), np.int64, len(self.sentences))
        self.offsets = offsets_of(lengths)
        numbers = self.rules.tags
        self.tokens = np.array([numbers.get(tag, -1) for some in sentences for _, tag in some], np.int32)
        self.ranges = np.full((len(lengths), 2), -1, np.int64)
        blocks = [Block.table(len(self.rules.rules))]
        self.tags, self.table_ends, self.n_tags, self.row_blocks = _NO_TAGS, _NO_ENDS, 0, ()
        if rows is not None:
            self.tags, self.n_tags = rows.tags, structure.spans_.n_tags
            self.table_ends = structure.spans_.table_ends(self.n_labels)
            if self.table_ends[-1]:
                blocks.append(Block.table(int(self.table_ends[-1])))
            self.row_blocks = tuple(rows.rows)  # type: ignore[assignment]
            blocks += [Block(matrix, self.offsets, self.n_labels) for matrix in rows.rows.values()]
        # Constituents have no features here, but scores, for losses and probabilities: [span, repetition, label].
        n_spans = offsets_of(lengths * (lengths + 1) // 2)
        blocks.append(Block(np.zeros((int(n_spans[-1]), 0)), n_spans, max(self.n_labels * self.rules.depth, 1)))
        settings = (float(self.cost), float(self.glue))
        super().__init__(structure, blocks, 4 * self.offsets, truths, [None] * len(blocks), settings)
        everyone = np.arange(self.n_examples)
        self.true = self._listed(everyone, self.truths) if self.known else _nothing(self.n_examples)
        work = lengths**3 * max(len(self.rules.rules), 12) // 12
        self.operations, self.shared_operations = float(work.sum()), 0.0
        self.operations *= {F1: 20.0, ZERO_ONE: 4.0}.get(self.cost, 1.0)

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        some = spans(ids, self.true[0])
        padded = self.offsets + 2 * np.arange(self.n_examples + 1)
        return {
            **super()._taken(ids),
            "tags": self.tags[spans(ids, padded)] if len(self.tags) else self.tags,
            "true": (offsets_among(ids, self.true[0]), *(column[some] for column in self.true[1:])),
        }

    def take(self, ids: IntArray) -> GrammarExamples:
        part = super().take(ids)
        part.operations = self.operations * len(ids) / max(self.n_examples, 1)
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.tags

    # ------------------------------------------------------------------ parts

    def _most_parts(self) -> list[IntArray]:
        nodes = 2 * np.diff(self.offsets) * (1 + self.rules.longest)
        return [nodes * (4 if b == 1 and self.table_ends[-1] else 1) for b in range(len(self.blocks))]

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        rule_ptr, rules, ptr, columns = self._unfolded(ids)
        _search.list_parts(
            ids, self.code_offsets, codes, self.rules.packed, self.n_labels, rule_ptr, rules, ptr, *columns
        )
        begin, end, label, split, again = columns[:, : ptr[-1]]
        rules = rules[: rule_ptr[-1]]
        counts, row = [counted_once(rule_ptr, rules)], np.repeat(np.arange(len(ids)), np.diff(ptr))
        n = (self.offsets[ids + 1] - self.offsets[ids])[row]
        cells = (begin * (2 * n - begin + 1) // 2 + end - begin - 1) * self.rules.depth + again
        constituents = counted_once(ptr, cells * self.n_labels + label)
        if not self.row_blocks:
            return [*counts, constituents]
        first = self.offsets[ids[row]] + 2 * ids[row]
        if self.table_ends[-1]:
            parts, owners = constituent_parts(
                self.n_tags, self.table_ends, self.n_labels, self.tags, first, label, begin, end, split
            )
            owner = np.concatenate(owners)
            order = np.argsort(row[owner], kind="stable")
            counts.append(counted_once(_ends(row[owner], len(ids)), np.concatenate(parts)[order]))
        for block in self.row_blocks:
            if block == "split":
                some = np.flatnonzero(split >= 0)
                counts.append(counted_once(_ends(row[some], len(ids)), split[some] * self.n_labels + label[some]))
            else:
                position = begin if block == "begin" else end - 1
                counts.append(counted_once(ptr, position * self.n_labels + label))
        return [*counts, constituents]

    def _listed(self, ids: IntArray, codes: CodeArray) -> tuple[AnyArray, ...]:
        """Return the constituents of codes: offsets, begins, ends, labels."""
        rule_ptr, rules, ptr, columns = self._unfolded(ids)
        _search.list_parts(
            ids, self.code_offsets, codes, self.rules.packed, self.n_labels, rule_ptr, rules, ptr, *columns
        )
        return ptr, *columns[:3, : ptr[-1]].copy()

    def _unfolded(self, ids: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return room for the rules of codes, and for their constituents: offsets, and the columns of `list_parts`."""
        room = int((self.offsets[ids + 1] - self.offsets[ids]).sum()) * 2 * (1 + self.rules.longest)
        ends = np.zeros((2, len(ids) + 1), np.int64)
        return ends[0], np.empty(room, np.int64), ends[1], np.empty((5, room), np.int64)

    def log_probabilities(self, weights: FloatArray, least: float = 0.0) -> FloatArray:
        """Return the logarithms of relative frequencies of rules in the true trees, and 0 for other weights.

        Trees count as often as their weights say. Frequencies of annotated rules are smoothed by those of the rules
        without annotations (`Grammar.log_probabilities`). A rule that no tree uses has the frequency `least`.
        """
        rows, left = self.true_parts[0], self.rules.arrays.left
        owner = np.repeat(np.arange(self.n_examples), np.diff(rows.indptr))
        counts = np.bincount(rows.indices, weights[owner] * rows.values, len(self.rules.rules))
        totals = np.bincount(left, counts, len(self.rules.symbols))[left]
        w = np.zeros(self.dim)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.rules.annotated:
                same_rule, same_left = self.rules.without_annotations()
                bare = np.bincount(same_rule, counts)[same_rule] / np.bincount(same_left, counts)[same_left]
                shares = (counts + SMOOTHING * bare) / (totals + SMOOTHING)
            else:
                shares = counts / totals
            w[: len(counts)] = np.log(np.where(shares > 0.0, shares, least))
        return w

    # ------------------------------------------------------------------ argmaxes

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        scales = scales if self.known else np.zeros(len(ids))
        if self.cost == F1:
            self._find_best_f1(scores, ids, scales, answers)
        else:
            factor = scales if self.cost == CONSTITUENTS else np.zeros(len(ids))
            self._find_trees(self._flat(scores, len(ids)), ids, answers.codes, factor, 2.0 * factor)
        if self.known:
            self._check_found(ids, answers.codes)
        self.judge(scores, ids, answers)
        if self.cost == ZERO_ONE and scales.any():
            self._leave_truths(scores, ids, scales, answers)

    def _find_trees(
        self, scores: tuple[Any, ...], ids: IntArray, codes: CodeArray, mus: FloatArray, etas: FloatArray,
        scales: FloatArray | None = None,
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:  # fmt: skip
        """Write the codes of the best trees; return the numbers of constituents that `best_trees` left open."""
        scales = np.zeros(len(ids)) if scales is None else scales
        room = np.where(scales > 0.0, self.ranges[ids, 1] - self.ranges[ids, 0] + 2, 0)
        open_ptr, totals = offsets_of(room), np.zeros(len(ids))
        open_counts, open_bounds = np.empty(int(open_ptr[-1]), np.int64), np.empty(int(open_ptr[-1]))
        _search.best_trees(
            ids, self.offsets, self.tokens, self.rules.packed, *scores, self.n_labels, *self.true, self.code_offsets,
            self.glue and not self.known, mus, etas, scales, self.ranges, codes, open_ptr, open_counts, open_bounds,
            totals,
        )  # fmt: skip
        return open_ptr, open_counts, open_bounds, totals

    def _find_best_f1(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write the trees that maximise score + scale · (1 − F1)."""
        zeros = np.zeros(len(ids))
        if scales.any():
            self._find_ranges(ids)
        still_open = self._find_trees(self._flat(scores, len(ids)), ids, answers.codes, zeros, zeros, scales)
        if not scales.any():
            return
        open_ptr, open_counts, open_bounds, totals = still_open
        for r in np.flatnonzero(scales > 0.0).tolist():
            i, code = int(ids[r]), np.empty((1, 4 * int(np.diff(self.offsets[ids[r] : ids[r] + 2])[0])), np.int32)
            n_true = int(self.true[0][i + 1] - self.true[0][i])
            for k in range(int(open_ptr[r]), int(open_ptr[r + 1])):
                p = int(open_counts[k])
                if p < 0:
                    break
                if open_bounds[k] <= totals[r]:
                    continue
                eta, level = (2.0 * scales[r] / (n_true + p), scales[r]) if n_true + p else (0.0, 0.0)
                value = self._slots(scores, r, i, 0.0, eta, p + 1, False, p, code)[0] + level
                if value > totals[r]:
                    totals[r] = value
                    answers.codes[self.code_offsets[i] : self.code_offsets[i + 1]] = code[0]

    def _leave_truths(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Replace the truth by the second best tree where that is better with the zero-one loss."""
        for r in np.flatnonzero((answers.keys[ids] == TRUTH) & (scales > 0.0)).tolist():
            i = int(ids[r])
            span = slice(self.code_offsets[i], self.code_offsets[i + 1])
            codes = np.empty((2, span.stop - span.start), np.int32)
            best = self._slots(scores, r, i, 0.0, 0.0, 2, True, 0, codes)
            other = 1 if np.array_equal(codes[0], answers.codes[span]) else 0
            if codes[other, 0] != NO_OUTPUT and best[other] + scales[r] > best[1 - other]:
                answers.codes[span] = codes[other]
                self.judge([Scores(s.values, s.starts[r : r + 2]) for s in scores], ids[r : r + 1], answers)

    def _slots(
        self, scores: list[Scores], r: int, i: int, mu: float, eta: float, width: int, ranked: bool, first: int,
        codes: CodeArray,
    ) -> FloatArray:  # fmt: skip
        """Write the codes of slots of the r-th sentence of a batch, example i, and return their scores."""
        some, totals = slice(*self.true[0][i : i + 2]), np.empty(len(codes))
        true = (column[some] for column in self.true[1:])
        slot_trees(*self._sentence(scores, r, i), *true, mu, eta, width, ranked, first, codes, totals)
        return totals

    def _sentence(self, scores: list[Scores], r: int, i: int) -> tuple[Any, ...]:
        """Return tags, grammar and scores of the r-th sentence of a batch, example i, for compiled functions."""
        flat = self._flat(scores, len(scores[0].starts) - 1)
        rules, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts = flat
        rows, tokens = slice(*starts[r : r + 2]), slice(*self.offsets[i : i + 2])
        spans_of_one = (
            shapes, at, begin[rows], end[rows], split[rows if len(split) else slice(0)],
            tags[self.offsets[i] + 2 * i : self.offsets[i + 1] + 2 * i + 2] if len(tags) else tags, n_tags,
            own[own_starts[r] : own_starts[r + 1]],
        )  # fmt: skip
        packed = self.rules.packed
        return self.tokens[tokens], packed, rules, _search.chain_scores(packed, rules), spans_of_one

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the best score of a tree with each constituent: [i, j, label] for the tokens i … j − 1.

        A sentence that the grammar does not derive has −∞ everywhere.
        """
        marginals = []
        for r, i in enumerate(ids.tolist()):
            n = int(self.offsets[i + 1] - self.offsets[i])
            marginals.append(np.empty((n, n + 1, self.n_labels)))
            if n:
                max_marginals(*self._sentence(self.scores(w, ids[r : r + 1]), 0, i), marginals[-1])
        return marginals

    # ------------------------------------------------------------------ sums over outputs

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        data, n = (ids, self.offsets, self.tokens, self.rules.packed), len(ids)
        blocks = [Scores(values, block.starts) for values, block in zip(marginals, scores, strict=True)]
        rules, shapes, _, begin, end, split, _, _, _, own, _ = self._flat(blocks, n)
        _sums.grammar_sums(
            *data, *self._flat(scores, n), self.n_labels, coefficients, log_partitions, expected_scores, rules, shapes,
            begin, end, split, own,
        )  # fmt: skip

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.empty((n, int(offsets_among(ids, self.code_offsets)[-1])), np.int32)
        data = ids, self.offsets, self.tokens, self.rules.packed, *self._flat(scores, len(ids))
        _samples.grammar_samples(*data, self.n_labels, seeds, codes)
        return codes

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return scores with those of constituents increased by scale · loss: 1 for each, −1 if it is a true one."""
        if not self.known or not scales.any():
            return scores
        if self.cost != CONSTITUENTS:
            raise ValueError(self.no_risk())
        block, true = scores[-1], self.true_parts[-1].rows(ids)
        values, n_true = block.values + np.repeat(scales, np.diff(block.starts)), np.diff(true.indptr)
        values[np.repeat(block.starts[:-1], n_true) + true.indices] -= 2.0 * np.repeat(scales, n_true)
        return [*scores[:-1], Scores(values, block.starts)]

    @property
    def risky(self) -> tuple[int, ...]:  # type: ignore[override]
        """The block of constituents, if the loss counts them."""
        return (len(self.blocks) - 1,) if self.cost == CONSTITUENTS else ()

    def no_risk(self) -> str:
        loss = "1 − F1" if self.cost == F1 else "the zero-one loss"
        return f"{loss} of trees is not a sum over constituents; use the loss 'constituents', which is"

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        """Return the probability that the tree has each constituent: [i, j, label] for the tokens i … j − 1."""
        n = int(self.offsets[example + 1] - self.offsets[example])
        table = np.zeros((n, n + 1, self.n_labels))
        if self.n_labels:
            i, j = np.triu_indices(n)
            table[i, j + 1] = marginals[-1].reshape(-1, self.rules.depth, self.n_labels)[:, 0]
        return table

    def _flat(self, scores: list[Scores], n: int) -> tuple[Any, ...]:
        """Return scores of rules and spans as `best_trees` takes them; those of spans are empty if there are none."""
        own = scores[-1] if self.n_labels else Scores(_NO_FLOATS, np.zeros(n + 1, np.int64))
        if not self.row_blocks:
            return scores[0].values, *self._no_span_scores(n)[:-2], *own
        shapes = scores[1].values if self.table_ends[-1] else _NO_FLOATS
        begin, end, *split = scores[-1 - len(self.row_blocks) : -1]
        return (
            scores[0].values, shapes, self.table_ends, begin.values, end.values,
            split[0].values if split else _NO_FLOATS, begin.starts, self.tags, self.n_tags, *own,
        )  # fmt: skip

    @staticmethod
    def _no_span_scores(n: int) -> tuple[Any, ...]:
        starts = np.zeros(n + 1, np.int64)
        return _NO_FLOATS, _NO_ENDS, _NO_FLOATS, _NO_FLOATS, _NO_FLOATS, starts, _NO_TAGS, 0, _NO_FLOATS, starts

    def _find_ranges(self, ids: IntArray) -> None:
        """Find the numbers of constituents that trees may have, once for each sentence."""
        missing = ids[self.ranges[ids, 0] < 0]
        if not len(missing):
            return
        codes, zeros = np.empty(len(self.truths), np.int32), np.zeros(len(missing))
        nothing = np.zeros(len(self.rules.rules)), *self._no_span_scores(len(missing))
        for side, sign in enumerate((-1.0, 1.0)):
            self._find_trees(nothing, missing, codes, np.full(len(missing), sign), zeros)
            self.ranges[missing, side] = self._matches(missing, codes)[0]

    def judge_losses(self, ids: IntArray, answers: Answers) -> None:
        if self.cost == ZERO_ONE:
            answers.losses[ids] = answers.keys[ids] != TRUTH
            return
        predicted, matched = self._matches(ids, answers.codes)
        n_true = self.true[0][ids + 1] - self.true[0][ids]
        answers.losses[ids] = tree_losses(self.cost, n_true, predicted, matched)

    def _matches(self, ids: IntArray, codes: CodeArray) -> tuple[IntArray, IntArray]:
        """Return the number of constituents of each code, and how many of them are true ones."""
        predicted, matched = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        _search.match_answers(
            ids,
            self.offsets,
            self.code_offsets,
            codes,
            self.rules.packed,
            self.n_labels,
            *self.true,
            predicted,
            matched,
        )
        return predicted, matched

    def exact_for(self, bound: Bound) -> bool:
        """Return whether all trees but the truth have the same loss: the best of them is the argmax of any bound."""
        return self.cost == ZERO_ONE and self.known

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self.decode(w, ids, np.full(len(ids), np.inf), answers)
        worse = ids[bound.violation(answers.rises[ids], answers.losses[ids]) <= 0.0]
        answers.codes[spans(worse, self.code_offsets)] = self.truths[spans(worse, self.code_offsets)]
        answers.rises[worse], answers.losses[worse], answers.keys[worse] = 0.0, 0.0, TRUTH

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether trees can be ranked with their losses: these must be sums over constituents."""
        return self.known and self.cost == CONSTITUENTS

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        seen = 0
        for k in _RANKED:
            codes, values = self.best_trees(scores, k, scale)
            yield from zip(codes[seen:], values[seen:], strict=True)
            if len(codes) < k:
                return
            seen = k

    def best_trees(self, scores: list[Scores], k: int, scale: float = 0.0) -> tuple[list[CodeArray], list[float]]:
        """Return the codes of the k best trees of a single sentence, and their scores, best first.

        With a scale the scores include scale · loss, up to a constant, for losses that count wrong constituents.
        """
        codes = np.empty((k, 4 * len(self.tokens)), np.int32)
        values = self._slots(scores, 0, 0, scale, 2.0 * scale, k, True, 0, codes)
        n = int((values > -np.inf).sum())
        return list(codes[:n]), values[:n].tolist()

    # ------------------------------------------------------------------ outputs

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """Return the tree of a code, in the form of the training trees; None if there is none."""
        if len(code) == 0 or code[0] == NO_OUTPUT:
            return None
        form = self.structure.form_
        leaves = [tag if word is None or not form.words else (tag, word) for word, tag in self.sentences[example]]
        return shown_tree(self.rules.tree(code, leaves, self.rules.root), form.kind)

    def outputs(self, answers: Answers) -> list[Any]:
        trees = super().outputs(answers)
        warn_of_missing(trees, self.glue)
        return trees

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        """Return the memory of a chart, with entries for partial right-hand sides, in each thread."""
        longest = int(np.diff(self.offsets).max(initial=0))
        phrases, nodes = len(self.rules.arrays.phrase), len(self.rules.arrays.last)
        cells = longest * (longest + 1) / 2
        charts = cells * (16.0 * phrases + 12.0 * min(nodes, 8 * phrases)) + 8.0 * longest * nodes + 12.0 * phrases**2
        return threads * charts, f"the chart of a sentence of {longest} tokens, in {threads} threads,"


def tree_losses(cost: int, n_true: Any, predicted: Any, matched: Any) -> Any:
    """Return wrong and missed constituents, or 1 − F1, from the numbers of true, found and matched constituents."""
    if cost == CONSTITUENTS:
        return n_true + predicted - 2 * matched
    both = n_true + predicted
    return np.where(both > 0, 1.0 - 2.0 * matched / np.maximum(both, 1), 0.0)


def _ends(rows: IntArray, n: int) -> IntArray:
    """Return the offsets of n rows from the row of each entry."""
    return offsets_of(np.bincount(rows, minlength=n))


def _nothing(n: int) -> tuple[AnyArray, ...]:
    """Return no true constituents for n sentences."""
    return np.zeros(n + 1, np.int64), *(np.zeros(0, np.int64) for _ in range(3))
