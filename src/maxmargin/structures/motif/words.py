"""Words that tell sequences with a motif from those without: where a search for the motif may begin.

The concave-convex procedure finds a motif only from a point that lies near one. From random positions it mostly ends
where no sequence has a motif; from a word that stands in many positive and few negative sequences it does not. It
hardly ever moves a motif along the sequences, so the word must also have its right place in the motif.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel
from maxmargin._types import FloatArray, IntArray
from maxmargin.encoding.alphabet import word_indices
from maxmargin.structures.motif.examples import MotifExamples


def start_from_word(examples: MotifExamples, weights: FloatArray, rank: int) -> FloatArray | None:
    """Weights of a motif made of the most telling word but `rank`; None where there are no more words.

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
    """The words in labelled sequences, as numbers: their symbols read in base A.

    With both strands, a word stands for its reverse complement too, and is the lesser of the two numbers.

    Attributes
    ----------
    length : of the words. They stand about once in the positive sequences by chance, log_A N for N symbols, so that
        what stands there more often is seen; N counts sequences by weight.
    """

    def __init__(self, examples: MotifExamples, weights: FloatArray) -> None:
        self.examples, self.structure, self.weights = examples, examples.structure, weights
        self.positive = (examples.truths >= 0).astype(np.int64)
        n_symbols = float(np.diff(examples.offsets) @ (self.positive * weights))
        most = int(np.log(max(n_symbols, 1.0)) / np.log(self.structure.n_symbols_))
        self.length = max(1, min(self.structure.length_, most))
        self.words = word_indices(examples.symbols, self.structure.n_symbols_, self.length)

    def symbols(self, word: int) -> IntArray:
        """The symbols of a word."""
        n_symbols: int = self.structure.n_symbols_
        return word // n_symbols ** np.arange(self.length)[::-1] % n_symbols

    def telling(self) -> IntArray:
        """The words that stand in a greater share p₊ of positive sequences than p₋ of negative ones, by their z-score

            z = (p₊ − p₋) / √(p (1 − p) (1/n₊ + 1/n₋)),

        where p is the share of all sequences and n the weight of the positive or negative ones.
        """
        complements = self._complements()
        found: FloatArray = np.zeros((2, len(complements)))
        canonical = np.minimum(np.arange(len(complements)), complements)
        count_sequences(self.examples.offsets, self.words, canonical, self.length, self.positive, self.weights, found)
        n = np.bincount(self.positive, self.weights, 2)
        share = found.sum(axis=0) / n.sum()
        spread = np.sqrt(share * (1.0 - share) * (1.0 / n).sum())
        z = np.divide(found[1] / n[1] - found[0] / n[0], spread, out=np.zeros(len(spread)), where=spread > 0)
        return np.argsort(-z, kind="stable")[: np.count_nonzero(z > 0)]

    def place(self, word: int) -> int:
        """Where in the motif the word begins, so that the characters around it tell most.

        That is Σ_j Σ_a p_j(a) log (p_j(a) / q_j(a)) over the positions j of the motif; p_j(a) is the share of a at j
        where the word stands in positive sequences, q_j(a) in negative ones, with one added to each count.
        """
        room = self.structure.length_ - self.length
        counts = np.ones((2, self.length + 2 * room, self.structure.n_symbols_))
        reverse = int(self._complements()[word]) if self.structure.both_strands else -1
        count_around(
            self.examples.offsets, self.words, self.examples.symbols, self.structure.complements_, word, reverse,
            self.length, room, self.positive, self.weights, counts,
        )  # fmt: skip
        negative, positive = counts / counts.sum(axis=2, keepdims=True)
        told = (positive * np.log(positive / negative)).sum(axis=1)
        sums = np.convolve(told, np.ones(self.structure.length_), "valid")
        return room - int(np.argmax(sums))

    def _complements(self) -> IntArray:
        """The reverse complement of each word; the word itself where there is one strand only."""
        words = np.arange(self.structure.n_symbols_**self.length)
        if not self.structure.both_strands:
            return words
        rest, complements = words.copy(), np.zeros_like(words)
        for _ in range(self.length):
            rest, symbol = np.divmod(rest, self.structure.n_symbols_)
            complements = complements * self.structure.n_symbols_ + self.structure.complements_[symbol]
        return complements


@kernel
def count_sequences(offsets, words, canonical, length, side, weights, found):
    """found[s, word] += the weights of the sequences of side s that hold the word, each of them once."""
    last = np.full(found.shape[1], -1, np.int64)
    for i in range(len(offsets) - 1):
        for p in range(offsets[i], offsets[i + 1] - length + 1):
            word = canonical[words[p]]
            if last[word] != i:
                last[word] = i
                found[side[i], word] += weights[i]


@kernel
def count_around(offsets, words, symbols, complements, word, reverse, length, room, side, weights, counts):
    """counts[s, room + j, a] += the weights of the places of the word in sequences of side s with a at j behind its
    beginning, for −room ≤ j < length + room; where the word is reversed, all is read on the other strand.
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
                    counts[side[i], room + j, symbol] += weights[i]
