"""Words that discriminate sequences with a motif from those without, as starting points for a motif search.

The concave-convex procedure finds a motif only from a point near one. From random positions it mostly ends at weights
that find no motif in any sequence; from a word that is frequent in positive and rare in negative sequences it does not.
The procedure hardly ever shifts a motif along the sequences, so the word must also be at its right position in the
motif.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.biology.alphabet import holds_wildcard, word_indices
from maxmargin.structures.motif.examples import MotifExamples

#: Number of a word with a wildcard; −1 is the reverse complement of a word if there is one strand.
_NO_WORD = -2


def start_from_word(examples: MotifExamples, weights: FloatArray, rank: int) -> FloatArray | None:
    """Return weights of a motif made of the most discriminative word after `rank` others; None if there is none.

    A window in which m of the word's symbols differ scores 1 − m/2.
    """
    words = Words(examples, weights)
    telling = words.telling()
    if rank >= len(telling):
        return None
    start = np.zeros(examples.dim)
    first = words.place(int(telling[rank]))
    motif = examples.structure.split_weights(start)["motif"][first : first + words.length]
    motif[:] = 1.0 / words.length - 0.5
    motif[np.arange(words.length), words.symbols(int(telling[rank]))] = 1.0 / words.length
    return start


class Words:
    """The words of labelled sequences, as numbers: their symbols read in base A.

    With both strands, a word and its reverse complement are the same word, and its number is the lesser of the two.

    Attributes
    ----------
    length : int
        Length of the words, log_A N for N symbols: a word then occurs about once in the positive sequences by chance,
        so more frequent words stand out. N counts sequences by weight.
    """

    def __init__(self, examples: MotifExamples, weights: FloatArray) -> None:
        self.examples, self.structure, self.weights = examples, examples.structure, weights
        self.positive = (examples.truths >= 0).astype(np.int64)
        n_symbols = float(np.diff(examples.offsets) @ (self.positive * weights))
        most = int(np.log(max(n_symbols, 1.0)) / np.log(self.structure.n_symbols_))
        self.length = max(1, min(self.structure.length_, most))
        n_symbols_ = self.structure.n_symbols_
        words = word_indices(examples.symbols, n_symbols_, self.length).astype(np.int32)
        words[holds_wildcard(examples.symbols, n_symbols_, self.length)] = _NO_WORD
        self.words = words

    def symbols(self, word: int) -> IntArray:
        """Return the symbols of a word."""
        n_symbols: int = self.structure.n_symbols_
        return word // n_symbols ** np.arange(self.length)[::-1] % n_symbols

    def telling(self) -> IntArray:
        """Return the words that are more frequent in positive than in negative sequences, by their z-score.

            z = (p₊ − p₋) / √(p (1 − p) (1/n₊ + 1/n₋))

        p₊, p₋ and p are the fractions of positive, negative and all sequences that contain the word, and n₊ and n₋ the
        weights of the positive and negative sequences.
        """
        complements = self._complements()
        counts: FloatArray = np.zeros((2, len(complements)))
        canonical = np.minimum(np.arange(len(complements)), complements)
        count_sequences(self.examples.offsets, self.words, canonical, self.length, self.positive, self.weights, counts)
        n = np.bincount(self.positive, self.weights, 2)
        share = counts.sum(axis=0) / n.sum()
        spread = np.sqrt(share * (1.0 - share) * (1.0 / n).sum())
        z = np.divide(counts[1] / n[1] - counts[0] / n[0], spread, out=np.zeros(len(spread)), where=spread > 0)
        return np.argsort(-z, kind="stable")[: np.count_nonzero(z > 0)]

    def place(self, word: int) -> int:
        """Return the position of the word in the motif at which the surrounding characters are most discriminative.

        The criterion is Σ_j Σ_a p_j(a) log (p_j(a) / q_j(a)) over the positions j of the motif; p_j(a) is the fraction
        of a at j around occurrences of the word in positive sequences, q_j(a) in negative ones, with one added to each
        count.
        """
        room = self.structure.length_ - self.length
        counts = np.ones((2, self.length + 2 * room, self.structure.n_symbols_))
        reverse = int(self._complements()[word]) if self.structure.both_strands else -1
        count_around(
            self.examples.offsets, self.words, self.examples.symbols, self.structure.complements_, word, reverse,
            self.length, room, self.positive, self.weights, counts,
        )  # fmt: skip
        negative, positive = counts / counts.sum(axis=2, keepdims=True)
        information = (positive * np.log(positive / negative)).sum(axis=1)
        sums = np.convolve(information, np.ones(self.structure.length_), "valid")
        return room - int(np.argmax(sums))

    def _complements(self) -> IntArray:
        """Return the reverse complement of each word; the word itself if there is only one strand."""
        words = np.arange(self.structure.n_symbols_**self.length)
        if not self.structure.both_strands:
            return words
        rest, complements = words.copy(), np.zeros_like(words)
        for _ in range(self.length):
            rest, symbol = np.divmod(rest, self.structure.n_symbols_)
            complements = complements * self.structure.n_symbols_ + self.structure.complements_[symbol]
        return complements


@jit
def count_sequences(offsets, words, canonical, length, side, weights, found):
    """Add the weights of sequences of side s that contain a word to found[s, word], each sequence once."""
    last = np.full(found.shape[1], -1, np.int64)
    for i in range(len(offsets) - 1):
        for p in range(offsets[i], offsets[i + 1] - length + 1):
            if words[p] < 0:
                continue
            word = canonical[words[p]]
            if last[word] != i:
                last[word] = i
                found[side[i], word] += weights[i]


@jit
def count_around(offsets, words, symbols, complements, word, reverse, length, room, side, weights, counts):
    """Add the weights of occurrences of the word with symbol a at j after its start to counts[s, room + j, a].

    s is the side of the sequence, and −room ≤ j < length + room; if the word is reversed, all is read on the other
    strand.
    """
    for i in range(len(offsets) - 1):
        for p in range(offsets[i], offsets[i + 1] - length + 1):
            if words[p] != word and words[p] != reverse:
                continue
            for j in range(-room, length + room):
                forward = words[p] == word
                at = p + j if forward else p + length - 1 - j
                if offsets[i] <= at < offsets[i + 1]:
                    symbol = symbols[at] if forward else complements[symbols[at]]
                    if symbol < counts.shape[2]:
                        counts[side[i], room + j, symbol] += weights[i]
