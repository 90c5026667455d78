"""Motif finding: does a sequence hold a motif, and where (paper 5, section 5.1)?

    Ψ(x, +, h) = Σ_{j=1..l} Φ_motif^(j)(x_{h+j}) + Σ_{i outside the window h+1..h+l} Φ_background(x_i)
    Ψ(x, −)    = Σ_i Φ_background(x_i)

Φ_motif^(j) counts the symbol at position j of the motif, Φ_background the symbol together with the k before it (a
Markov model of order k). The first k symbols of a sequence have no full context and count nothing. The position h is
latent, the loss is 1 where the label is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.memory import check_memory
from maxmargin.planes import HASH_PRIME, HASH_START, TRUTH, Answers, Planes
from maxmargin.structures import _motif_kernels as kernels
from maxmargin.structures._motif_kernels import ABSENT
from maxmargin.structures.alphabet import Alphabet, context_indices, word_indices
from maxmargin.structures.base import Examples
from maxmargin.structures.labels import Labels
from maxmargin.structures.latent import LatentCompiled

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: The truth of sequences that are only to be predicted.
_UNLABELLED = -2
_STRANDS = "+-"
#: Weights of so many symbols are looked up at once; larger tables leave the fastest cache.
_MOST_BLOCKS = 1024
_MOST_WEIGHTS = 2**31 - 1
#: Numbers from here on are too long for a message.
_LONGEST_SHOWN = 10**18
#: What a weight takes in training: the counts of the background, the weights, and what solvers keep beside them.
_BYTES_PER_WEIGHT = 6.0 * 8


class MotifSite(NamedTuple):
    """A label and, where the motif is there, its first position (from 0) and its strand, ``"+"`` or ``"-"``."""

    label: Any
    position: int | None = None
    strand: str | None = None


class Motif(LatentCompiled):
    """Strings with one of two labels; those of the positive one hold a motif at a position that is not known.

    Outputs are `MotifSite`. The truth of an example is its label, or a `MotifSite` to begin with a certain site;
    labels alone begin with a random one.

    Weights are laid out position by position, A symbols each, then the background: entry l A + c is that of context c,
    the symbol and the k before it read as a number in base A.

    Parameters
    ----------
    length : of the motif, l.
    background_order : k of the Markov background.
    alphabet : the characters; lower case is read as upper case.
    both_strands : the motif may also stand on the other strand, its window read as the reverse complement (DNA, RNA).
    classes : the negative and the positive label; by default those of the data, the greater one positive.
    """

    output_name: ClassVar[str] = "site"

    def __init__(
        self,
        *,
        length: int = 11,
        background_order: int = 3,
        alphabet: str = "ACGT",
        both_strands: bool = False,
        classes: Any = None,
    ) -> None:
        self.length, self.background_order, self.alphabet = length, background_order, alphabet
        self.both_strands, self.classes = both_strands, classes

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[str], Y: Sequence[Any]) -> Motif:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[str], Y: Sequence[Any]) -> MotifExamples:
        """`fit` and `encode` in one reading of the data."""
        values = [_label(y) for y in Y] if self.classes is None else self.classes
        self._set_sizes(Labels(values, given=self.classes is not None))
        check_memory(_BYTES_PER_WEIGHT * int(self.size or 0), f"training {self.size} weights", "lower background_order")
        examples = self.encode(X, Y)
        counts = np.bincount(examples.contexts, minlength=self.n_contexts_ + 1)[:-1]
        self._set_background(counts)
        return examples

    def _set_sizes(self, labels: Labels) -> None:
        """Everything that follows from the labels and the parameters."""
        self.length_ = whole_number(self.length, "length")
        self.order_ = whole_number(self.background_order, "background_order", 0)
        if len(labels) != 2:
            raise ValueError(
                f"a motif is there or not: expected two classes, found {len(labels)}: {labels.values[:10]}"
            )
        self.labels_, self.alphabet_ = labels, Alphabet(self.alphabet)
        self.complements_ = self.alphabet_.complements() if self.both_strands else np.zeros(0, np.uint8)
        self.n_symbols_ = len(self.alphabet_)
        self._check_at_most("background_order", self.order_, _highest_order(self.n_symbols_))
        self.n_contexts_ = self.n_symbols_ ** (self.order_ + 1)
        self._check_at_most("length", self.length_, (_MOST_WEIGHTS - self.n_contexts_) // self.n_symbols_)
        self.size = int(self.length_ * self.n_symbols_ + self.n_contexts_)

    def _check_at_most(self, name: str, value: int, most: int) -> None:
        """A sentence for a number that makes more weights than there can be."""
        if value > most:
            found = str(value) if value < _LONGEST_SHOWN else "one far beyond"
            raise ValueError(
                f"{name} over {self.n_symbols_} characters must be at most {most}, so that there are no more than "
                f"{_MOST_WEIGHTS} weights, found {found}"
            )

    def _set_background(self, counts: IntArray) -> None:
        self.background_counts_ = counts.reshape(-1, self.n_symbols_)

    def encode(self, X: Sequence[str], Y: Sequence[Any] | None = None) -> MotifExamples:
        symbols, offsets = self.alphabet_.encode(X)
        lengths = np.diff(offsets)
        if (lengths < self.length_).any():
            i = int(np.flatnonzero(lengths < self.length_)[0])
            raise ValueError(f"X[{i}]: a sequence of {lengths[i]} characters has no room for a motif of {self.length_}")
        if Y is None:
            truths, placed = np.full(len(X), _UNLABELLED, np.int32), np.zeros(len(X), bool)
        else:
            truths, placed = self._truths(Y, lengths)
        return MotifExamples(self, symbols, offsets, truths, placed)

    def _truths(self, Y: Sequence[Any], lengths: IntArray) -> tuple[CodeArray, AnyArray]:
        """Site codes of the truth, at the first position where none is given; and where one is."""
        if len(Y) != len(lengths):
            raise ValueError(f"X has {len(lengths)} sequences but y has {len(Y)} labels")
        truths = self.labels_.encode([_label(y) for y in Y], "y") - 1  # negative: −1, which is ABSENT; positive: 0
        placed = np.zeros(len(Y), bool)
        for i, y in enumerate(Y):
            if isinstance(y, MotifSite) and y.position is not None:
                truths[i], placed[i] = self._site_code(y, int(truths[i]), int(lengths[i]), f"Y[{i}]"), True
        return truths, placed

    def _site_code(self, site: MotifSite, truth: int, length: int, where: str) -> int:
        """The code of a site whose position is given."""
        assert site.position is not None
        if truth == ABSENT:
            raise ValueError(f"{where}: {site.label!r} is the negative label, so there can be no position")
        if not 0 <= site.position <= length - self.length_:
            raise ValueError(
                f"{where}: a motif of {self.length_} at position {site.position} does not fit into a sequence of "
                f"{length} characters"
            )
        strand = site.strand or "+"
        if strand not in _STRANDS[: self.n_strands_]:
            raise ValueError(f"{where}: strand {strand!r} is not among {', '.join(_STRANDS[: self.n_strands_])}")
        return self.n_strands_ * int(site.position) + _STRANDS.index(strand)

    @property
    def n_strands_(self) -> int:
        return 2 if self.both_strands else 1

    # ------------------------------------------------------------------ one example

    def site(self, code: int) -> MotifSite:
        """The site of a code."""
        negative, positive = self.labels_.values
        if code == ABSENT:
            return MotifSite(negative)
        position, strand = divmod(code, self.n_strands_)
        return MotifSite(positive, position, _STRANDS[strand])

    def loss(self, y: Any, y_hat: Any) -> float:
        true, found = self.labels_.encode([_label(y), _label(y_hat)], "label")
        return float(true != found)

    def enumerate(self, x: str) -> list[MotifSite]:
        """No motif, and then all sites."""
        return [self.site(code) for code in range(ABSENT, self.encode([x]).n_sites(0))]

    def topk(self, w: FloatArray, x: str, k: int) -> list[tuple[MotifSite, float]]:
        """The k best outputs with their scores, no motif among them."""
        examples, w = self.encode([x]), np.asarray(w, float)
        base = float(w @ self.joint_feature(x, self.labels_.values[0]))
        scores = np.concatenate([[0.0], examples.site_scores(w, 0)])
        order = np.argsort(-scores, kind="stable")[:k].tolist()
        return [(self.site(at + ABSENT), base + float(scores[at])) for at in order]

    def _joint_features(self, examples: Any) -> FloatArray:
        parts = self.split_weights(np.zeros(int(self.size or 0)))
        background, answers = parts["background"].reshape(-1), Answers.empty(1, 1)
        contexts = examples.contexts[examples.contexts < self.n_contexts_]
        np.add.at(background, contexts, 1.0)
        answers.codes[0] = ABSENT
        above = examples.planes(np.zeros(1, np.int64), answers).matrix(examples.dim).toarray()[0]
        return np.concatenate([parts["motif"].ravel(), background]) + above

    # ------------------------------------------------------------------ weights

    def feature_names(self) -> AnyArray:
        characters = self.alphabet_.characters
        names = [f"motif {j + 1}: {c}" for j in range(self.length_) for c in characters]
        words = self.alphabet_.words(self.order_)
        names += [f"background: {word}→{c}" if word else f"background: {c}" for word in words for c in characters]
        return np.array(names, object)

    def split_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """The weights as tables: motif (l, A) and background (A^k, A), a row for the k symbols before."""
        at = self.length_ * self.n_symbols_
        return {"motif": w[:at].reshape(-1, self.n_symbols_), "background": w[at:].reshape(-1, self.n_symbols_)}

    def motif(self, w: FloatArray) -> FloatArray:
        """The motif as a matrix (l, A) like log odds: what a symbol at a position adds to the score.

            M[j, a] = w_motif[j, a] − Σ_c p(c | a) w_background[c, a]

        A window takes its symbols away from the background, so the background's weight of a symbol is subtracted: on
        average over the k symbols c before it, as they stand in the training sequences.
        """
        parts = self.split_weights(np.asarray(w, float))
        seen = np.maximum(self.background_counts_.sum(axis=0), 1)
        background = (self.background_counts_ * parts["background"]).sum(axis=0) / seen
        return parts["motif"] - background

    def symbol_shares(self) -> FloatArray:
        """How often each character stands in the training sequences, with one added to each count."""
        counts = self.background_counts_.sum(axis=0) + 1.0
        return counts / counts.sum()

    # ------------------------------------------------------------------ saving

    def _learnt(self) -> dict[str, Any]:
        return {"labels": self.labels_.get_state(), "background_counts": self.background_counts_}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_sizes(Labels.from_state(learnt["labels"]))
        counts = np.asarray(learnt["background_counts"])
        if counts.dtype.kind not in "iu" or counts.size != self.n_contexts_ or counts.min() < 0:
            raise ValueError(f"expected {self.n_contexts_} counts of the background")
        self._set_background(counts)

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        positions = [ABSENT if y.position is None else y.position for y in outputs]
        reverse = [y.strand == "-" for y in outputs]
        return {"positions": np.array(positions, np.int64), "reverse": np.array(reverse, bool)}

    def unpack_outputs(self, packed: Any) -> list[MotifSite]:
        positions, reverse = np.asarray(packed["positions"]), np.asarray(packed["reverse"])
        if positions.dtype.kind not in "iu" or reverse.dtype != bool or positions.shape != reverse.shape:
            raise ValueError("sites must be whole numbers, and truth values for their strands")
        if (positions < ABSENT).any() or (reverse.any() and not self.both_strands):
            raise ValueError("sites must lie inside sequences, on the strands that there are")
        codes = np.where(positions >= 0, self.n_strands_ * positions + reverse, ABSENT)
        return [self.site(code) for code in codes.tolist()]


def _highest_order(n_symbols: int) -> int:
    """The highest order of a background whose weights can be numbered."""
    order = 0
    while n_symbols ** (order + 2) <= _MOST_WEIGHTS:
        order += 1
    return order


def _label(y: Any) -> Any:
    return y.label if isinstance(y, MotifSite) else y


class MotifExamples(Examples):
    """Symbols of all sequences, one behind the other; the code of an output is that of its site."""

    float32_exact, latent = True, True

    def __init__(
        self, structure: Motif, symbols: AnyArray, offsets: IntArray, truths: CodeArray, placed: AnyArray
    ) -> None:
        self.structure, self.symbols, self.offsets, self.truths, self.placed = (
            structure, symbols, offsets, truths, placed,
        )  # fmt: skip
        n_symbols, length = structure.n_symbols_, structure.length_
        self.contexts = context_indices(symbols, offsets, n_symbols, structure.order_)
        self.width = max(1, min(length, int(np.log(_MOST_BLOCKS) / np.log(n_symbols) + 1e-9)))
        self.n_blocks = -(-length // self.width)
        room = np.zeros(self.n_blocks * self.width, np.uint8)  # the last block may reach over the end
        self.blocks = word_indices(np.concatenate([symbols, room]), n_symbols, self.width)
        self.n_examples, self.dim = len(truths), int(structure.size or 0)
        self.code_offsets = np.arange(self.n_examples + 1)
        self.operations = 0.5 * len(symbols) * (4 + self.n_blocks * structure.n_strands_)
        self.plane_entries = np.where(truths >= 0, 4 * length, 2 * length).astype(np.int64)

    def n_sites(self, example: int) -> int:
        """How many sites an example has, on all strands."""
        length = int(self.offsets[example + 1] - self.offsets[example])
        return (length - self.structure.length_ + 1) * self.structure.n_strands_

    def _scan_arguments(self, w: FloatArray) -> tuple[Any, ...]:
        """What kernels scan with: background weights (0 for no context) and the motif's weights, block by block."""
        parts = self.structure.split_weights(w)
        strands = [parts["motif"]]
        if self.structure.both_strands:
            strands.append(parts["motif"][::-1, self.structure.complements_])
        tables = np.stack([_block_tables(weights, self.n_blocks, self.width) for weights in strands])
        background = np.append(parts["background"].ravel(), 0.0)
        return self.structure.length_, self.contexts, background, self.blocks, self.width, tables

    def best_sites(self, w: FloatArray, ids: IntArray) -> tuple[CodeArray, FloatArray, FloatArray]:
        """The best site of each of ids, its score and that of the true site, both relative to no motif."""
        codes, scores, truth_scores = np.empty(len(ids), np.int32), np.empty(len(ids)), np.empty(len(ids))
        kernels.best_sites(ids, self.offsets, *self._scan_arguments(w), self.truths, codes, scores, truth_scores)
        return codes, scores, truth_scores

    def site_scores(self, w: FloatArray, example: int) -> FloatArray:
        """The scores of all sites of one example, relative to no motif, in the order of their codes."""
        strands = self.structure.n_strands_
        scores = np.empty((strands, self.n_sites(example) // strands))
        kernels.scan_one(self.offsets[example], scores.shape[1], *self._scan_arguments(w), scores)
        return scores.T.ravel()

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._decode(w, ids, lambda rise, loss: rise + scales * loss, answers)

    def exact_for(self, bound: Bound) -> bool:
        """There are two losses, and every violation rises in the score: the best site or no motif."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._decode(w, ids, bound.violation, answers)

    def _decode(self, w: FloatArray, ids: IntArray, worth: Callable[[Any, Any], Any], answers: Answers) -> None:
        sites, scores, truth_scores = self.best_sites(w, ids)
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
        """A site for every positive sequence, uniformly at random unless it was given."""
        windows = np.diff(self.offsets) - self.structure.length_ + 1
        drawn = rng.integers(0, windows * self.structure.n_strands_)
        draw = (self.truths >= 0) & ~self.placed
        self._answer(np.arange(self.n_examples), np.where(draw, drawn, self.truths), 0.0, 0.0, answers)

    def _answer(self, ids: IntArray, codes: AnyArray, losses: Any, rises: Any, answers: Answers) -> None:
        answers.codes[ids], answers.losses[ids], answers.rises[ids] = codes, losses, rises
        answers.keys[ids] = np.where(codes == self.truths[ids], TRUTH, (HASH_START ^ (codes + 1)) * HASH_PRIME)

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
    """tables[b, word] = Σ_j weights[b width + j, symbol j of the word]: a window is scored block by block."""
    padded = np.zeros((n_blocks * width, weights.shape[1]))
    padded[: len(weights)] = weights
    tables = np.zeros((n_blocks, 1))
    for j in range(width):
        tables = (tables[:, :, None] + padded[j::width][:, None, :]).reshape(n_blocks, -1)
    return tables
