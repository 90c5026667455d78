"""Motif finding: whether a sequence contains a motif, and where (Yu and Joachims 2009, section 5.1).

    Ψ(x, +, h) = Σ_{j=1..l} Φ_motif^(j)(x_{h+j}) + Σ_{i outside the window h+1..h+l} Φ_background(x_i)
    Ψ(x, −)    = Σ_i Φ_background(x_i)

Φ_motif^(j) counts the symbol at position j of the motif, Φ_background the symbol together with the k symbols before it
(a Markov model of order k). The first k symbols of a sequence have no full context and are not counted. The position h
is latent, and the loss is 1 if the label is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import ExampleError, Place, error_at
from maxmargin._base.memory import check_memory
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import Compiled
from maxmargin.features.biology.alphabet import Alphabet
from maxmargin.features.rows.labels import Labels, distinct_labels
from maxmargin.structures.motif._jit import ABSENT
from maxmargin.structures.motif.examples import MotifExamples

#: The truth of sequences without labels.
_UNLABELLED = -2
_STRANDS = "+-"
_MOST_WEIGHTS = 2**31 - 1
#: Larger numbers are too long for a message.
_LONGEST_SHOWN = 10**18
#: Bytes per weight in training: the counts of the background, the weights, and the vectors of a solver.
_BYTES_PER_WEIGHT = 6.0 * 8


class MotifSite(NamedTuple):
    """A label and, if the motif is present, its first position (from 0) and its strand.

    Attributes
    ----------
    label : Any
        The label.
    position : int, optional
        First position of the motif.
    strand : "+" or "-", optional
        Strand of the motif.

    Examples
    --------
    >>> import maxmargin as mm
    >>> site = mm.outputs.MotifSite(label=1, position=3, strand="+")
    >>> "ACGTTGATT"[site.position : site.position + 4]
    'TTGA'
    """

    label: Any
    position: int | None = None
    strand: str | None = None


class Motif(Compiled):
    """Strings with one of two labels; positive strings contain a motif at an unknown position.

    Outputs are `MotifSite`. The truth of an example is its label, or a `MotifSite` as the initial site; with a label
    alone, the initial site is random.

    Weights are stored position by position, A symbols each, followed by the background: entry l A + c is that of
    context c, the symbol and the k symbols before it read as a number in base A.

    Parameters
    ----------
    length : int, default=11
        Length l of the motif.
    background_order : int, default=3
        Order k of the Markov background.
    alphabet : str, default="ACGT"
        The characters; lower case is read as upper case. N in DNA and RNA and X in proteins stand for an unknown
        character, which scores 0 in the motif and in the background.
    both_strands : bool, default=False
        Whether the motif may also be on the other strand, its window read as the reverse complement (DNA, RNA).
    classes : sequence of two labels, optional
        The negative and the positive label; by default those of the data, the greater one positive.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.strings()  # every other one contains TTGA
    >>> model = mm.StructuralSVM(mm.Motif(length=4, background_order=1), C=10.0, n_restarts=3).fit(X, y)
    >>> site = model.predict(X[1:2])[0]
    >>> site.label, X[1][site.position : site.position + 4]
    (1, 'TTGA')
    """

    output_name: ClassVar[str] = "site"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "latent", "sums"})

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

    def _paired(self, X: Sequence[str], Y: Sequence[Any] | None, learn: bool) -> MotifExamples:
        return self._encoded(X, Y, learn)  # a single string is refused before labels are counted

    def _encoded(self, X: Sequence[str], Y: Sequence[Any] | None, learn: bool) -> MotifExamples:
        if not learn:
            return self._examples(X, Y)
        assert Y is not None
        classes = distinct_labels(map(_label, Y), _place) if self.classes is None else self.classes
        self._set_sizes(Labels(classes, given=self.classes is not None))
        check_memory(_BYTES_PER_WEIGHT * int(self.size or 0), f"training {self.size} weights", "lower background_order")
        examples = self._examples(X, Y)
        counts = np.bincount(examples.contexts, minlength=self.n_contexts_ + 1)[:-1]
        self._set_background(counts)
        return examples

    def _set_sizes(self, labels: Labels) -> None:
        """Set all attributes that follow from the labels and the parameters."""
        self.length_ = whole_number(self.length, "length")
        self.order_ = whole_number(self.background_order, "background_order", 0)
        if len(labels) != 2:
            raise ValueError(
                f"a motif is present or absent: expected two classes, found {len(labels)}: {labels.values[:10]}"
            )
        self.labels_, self.alphabet_ = labels, Alphabet(self.alphabet)
        self.complements_ = self.alphabet_.complements() if self.both_strands else np.zeros(0, np.uint8)
        self.n_symbols_ = len(self.alphabet_)
        self._check_at_most("background_order", self.order_, _highest_order(self.n_symbols_))
        self.n_contexts_ = self.n_symbols_ ** (self.order_ + 1)
        self._check_at_most("length", self.length_, (_MOST_WEIGHTS - self.n_contexts_) // self.n_symbols_)
        self._set_size()

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the motif, (l, A), and of the background, (A^k, A): a row per context of k symbols."""
        n = self.n_symbols_
        return {"motif": (self.length_, n), "background": (n**self.order_, n)}

    def _check_at_most(self, name: str, value: int, most: int) -> None:
        """Raise ValueError if a parameter requires more weights than can be numbered."""
        if value > most:
            shown = str(value) if value < _LONGEST_SHOWN else "a far larger number"
            raise ValueError(
                f"{name} over {self.n_symbols_} characters must be at most {most} so that there are no more than "
                f"{_MOST_WEIGHTS} weights, found {shown}"
            )

    def _set_background(self, counts: IntArray) -> None:
        self.background_counts_ = counts.reshape(-1, self.n_symbols_)

    def _examples(self, X: Sequence[str], Y: Sequence[Any] | None) -> MotifExamples:
        symbols, offsets = self.alphabet_.encode(X)
        lengths = np.diff(offsets)
        if (lengths < self.length_).any():
            i = int(np.flatnonzero(lengths < self.length_)[0])
            raise ExampleError.at(
                Place("X", i), f"a sequence of {lengths[i]} characters cannot hold a motif of length {self.length_}"
            )
        if Y is None:
            truths, placed = np.full(len(X), _UNLABELLED, np.int32), np.zeros(len(X), bool)
        else:
            truths, placed = self._truths(Y, lengths)
        return MotifExamples(self, symbols, offsets, truths, placed)

    def _truths(self, Y: Sequence[Any], lengths: IntArray) -> tuple[CodeArray, AnyArray]:
        """Return the site codes of the truth (the first position if none is given), and which positions are given."""
        if len(Y) != len(lengths):
            raise ValueError(f"X has {len(lengths)} sequences but y has {len(Y)} labels")
        truths = self.labels_.encode([_label(y) for y in Y], "y") - 1  # negative: −1 = ABSENT; positive: 0
        placed = np.zeros(len(Y), bool)
        for i, y in enumerate(Y):
            if isinstance(y, MotifSite) and y.position is not None:
                truths[i], placed[i] = self._site_code(y, int(truths[i]), int(lengths[i]), Place("Y", i)), True
        return truths, placed

    def _site_code(self, site: MotifSite, truth: int, length: int, where: Place) -> int:
        """Return the code of a site whose position is given."""
        assert site.position is not None
        if truth == ABSENT:
            raise error_at(where, f"{site.label!r} is the negative label, expected no position")
        if not 0 <= site.position <= length - self.length_:
            raise error_at(
                where,
                f"a motif of length {self.length_} at position {site.position} does not fit into a sequence of "
                f"{length} characters",
            )
        strand = site.strand or "+"
        if strand not in _STRANDS[: self.n_strands_]:
            raise error_at(where, f"expected strand {' or '.join(_STRANDS[: self.n_strands_])}, found {strand!r}")
        return self.n_strands_ * int(site.position) + _STRANDS.index(strand)

    @property
    def n_strands_(self) -> int:
        return 2 if self.both_strands else 1

    # ------------------------------------------------------------------ one example

    def site(self, code: int) -> MotifSite:
        """Return the site of a code."""
        negative, positive = self.labels_.values
        if code == ABSENT:
            return MotifSite(negative)
        position, strand = divmod(code, self.n_strands_)
        return MotifSite(positive, position, _STRANDS[strand])

    def loss(self, y: Any, y_hat: Any) -> float:
        true, predicted = self.labels_.encode([_label(y), _label(y_hat)], "label")
        return float(true != predicted)

    def enumerate(self, x: str) -> list[MotifSite]:
        """Return no motif, followed by all sites."""
        return [self.site(code) for code in range(ABSENT, self.encode([x]).n_sites(0))]

    def topk(self, w: FloatArray, x: str, k: int) -> list[tuple[MotifSite, float]]:
        """Return the k best outputs with their scores, best first; no motif is one of the outputs."""
        k, examples, w = whole_number(k, "k"), self.encode([x]), np.asarray(w, float)
        base = float(w @ self.joint_feature(x, self.labels_.values[0]))
        scores = np.concatenate([[0.0], examples.site_scores(w, 0)])
        order = np.argsort(-scores, kind="stable")[:k].tolist()
        return [(self.site(at + ABSENT), base + float(scores[at])) for at in order]

    # ------------------------------------------------------------------ weights

    def feature_names(self) -> AnyArray:
        characters = self.alphabet_.characters
        names = [f"motif {j + 1}: {c}" for j in range(self.length_) for c in characters]
        words = self.alphabet_.words(self.order_)
        names += [f"background: {word}→{c}" if word else f"background: {c}" for word in words for c in characters]
        return np.array(names, object)

    def weight_columns(self) -> dict[str, AnyArray]:
        """Return feature ("motif" or "background"), position in the motif, character, and the characters before it."""
        characters = np.array(list(self.alphabet_.characters), object)
        words = np.array(self.alphabet_.words(self.order_), object)
        places = np.arange(1, self.length_ + 1).astype(object)
        n_motif, n_background = self.length_ * self.n_symbols_, self.n_contexts_
        return {
            "feature": np.repeat(np.array(["motif", "background"], object), [n_motif, n_background]),
            "position": np.concatenate([np.repeat(places, self.n_symbols_), np.full(n_background, None, object)]),
            "character": np.tile(characters, self.length_ + len(words)),
            "context": np.concatenate([np.full(n_motif, None, object), np.repeat(words, self.n_symbols_)]),
        }

    def motif(self, w: FloatArray) -> FloatArray:
        """Return the motif as a matrix (l, A) like log odds: what a symbol at a position adds to the score.

            M[j, a] = w_motif[j, a] − Σ_c p(c | a) w_background[c, a]

        The symbols of a window are not part of the background, so the background's weight of a symbol is subtracted,
        averaged over the k symbols c before it in the training sequences.
        """
        parts = self.split_weights(np.asarray(w, float))
        seen = np.maximum(self.background_counts_.sum(axis=0), 1)
        background = (self.background_counts_ * parts["background"]).sum(axis=0) / seen
        return parts["motif"] - background

    def site_counts(self, X: Sequence[str], sites: Sequence[MotifSite]) -> IntArray:
        """Return how often each character occurs at each position of these sites, (l, A); wildcards are not counted.

        Sites on the other strand are read as the reverse complement.
        """
        symbols, offsets = self.alphabet_.encode(X)
        counts = np.zeros((self.length_, self.n_symbols_ + 1), np.int64)
        for first, site in zip(offsets.tolist(), sites, strict=False):
            if site.position is not None:
                window = symbols[first + site.position : first + site.position + self.length_]
                window = self.complements_[window[::-1]] if site.strand == "-" else window
                counts[np.arange(self.length_), window] += 1
        return counts[:, :-1]

    def symbol_shares(self) -> FloatArray:
        """Return the frequency of each character in the training sequences, with one added to each count."""
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
            raise ValueError("sites must be integers, and their strands booleans")
        if (positions < ABSENT).any() or (reverse.any() and not self.both_strands):
            raise ValueError("sites must be inside sequences, on a valid strand")
        codes = np.where(positions >= 0, self.n_strands_ * positions + reverse, ABSENT)
        return [self.site(code) for code in codes.tolist()]


def _highest_order(n_symbols: int) -> int:
    """Return the highest order of a background whose weights can be numbered."""
    order = 0
    while n_symbols ** (order + 2) <= _MOST_WEIGHTS:
        order += 1
    return order


def _place(i: int) -> Place:
    return Place("Y", i)


def _label(y: Any) -> Any:
    return y.label if isinstance(y, MotifSite) else y
