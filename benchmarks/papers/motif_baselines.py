"""Baselines of motif finding: the best word, a weight matrix by expectation-maximisation, counts of all words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.svm import LinearSVC

PAIRS = str.maketrans("ACGT", "TGCA")
#: Context of the Markov background, as in the paper.
ORDER = 3


def strands(x: str) -> tuple[str, str]:
    return x, x.translate(PAIRS)[::-1]


def best_word(X: Sequence[str], y: np.ndarray, length: int) -> tuple[str, float]:
    """Return the word whose presence on either strand is the best classifier, and its training error."""
    counter = CountVectorizer(analyzer="char", ngram_range=(length, length), lowercase=False, binary=True)
    present = counter.fit_transform([" ".join(strands(x)) for x in X])
    gain = (y[:, None] == 1).T.astype(float) @ present - (y[:, None] != 1).T.astype(float) @ present
    names = counter.get_feature_names_out()
    gain = np.where([" " in name for name in names], -np.inf, np.asarray(gain)[0])
    best = int(np.argmax(gain))
    return names[best], float(np.mean(y == 1) - gain[best] / len(y))


def has_word(X: Sequence[str], word: str) -> np.ndarray:
    return np.where([any(word in strand for strand in strands(x)) for x in X], 1, -1)


def word_counts_svm() -> Any:
    """Return a linear classifier of the counts of all words of 6 on both strands, which ignores positions."""
    return make_pipeline(
        FunctionTransformer(lambda X: [" ".join(strands(x)) for x in X]),
        CountVectorizer(analyzer="char", ngram_range=(6, 6), lowercase=False),
        FunctionTransformer(np.log1p),
        Normalizer(),
        LinearSVC(),
    )


def best_threshold(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the threshold on the scores with the fewest errors; scores above it are positive."""
    cuts = np.concatenate([[-np.inf], np.sort(scores)])
    errors = [np.mean((scores > cut) != (y == 1)) for cut in cuts]
    return float(cuts[int(np.argmin(errors))])


@dataclass
class Windows:
    """All windows of sequences, on both strands: their symbols, their sequence, log-likelihood as background."""

    symbols: np.ndarray
    sequence: np.ndarray
    background: np.ndarray

    @classmethod
    def of(cls, X: Sequence[str], length: int, background: np.ndarray) -> Windows:
        symbols, sequence, likelihood = [], [], []
        for i, x in enumerate(X):
            for strand in strands(x):
                codes = encode(strand)
                sums = np.concatenate([[0.0], np.cumsum(background[contexts(codes)])])
                symbols.append(np.lib.stride_tricks.sliding_window_view(codes, length))
                likelihood.append(sums[length:] - sums[:-length])
                sequence.append(np.full(len(symbols[-1]), i))
        return cls(np.concatenate(symbols), np.concatenate(sequence), np.concatenate(likelihood))

    def log_odds(self, matrix: np.ndarray) -> np.ndarray:
        return sum(np.log(row)[self.symbols[:, j]] for j, row in enumerate(matrix)) - self.background

    def best(self, matrix: np.ndarray) -> np.ndarray:
        """Return the log odds of the best window of each sequence."""
        out = np.full(self.sequence.max() + 1, -np.inf)
        np.maximum.at(out, self.sequence, self.log_odds(matrix))
        return out


def encode(x: str) -> np.ndarray:
    return np.frombuffer(x.translate(str.maketrans("ACGT", "\0\1\2\3")).encode(), np.uint8)


def contexts(codes: np.ndarray) -> np.ndarray:
    """Return each symbol and the ORDER symbols before it as a number, padded with A at the beginning."""
    padded = np.concatenate([np.zeros(ORDER, np.int64), codes])
    return sum(4 ** (ORDER - j) * padded[j : j + len(codes)] for j in range(ORDER + 1))


def markov_background(X: Sequence[str]) -> np.ndarray:
    """Return log p(symbol | the ORDER symbols before), estimated on both strands."""
    counts = np.ones(4 ** (ORDER + 1))
    for x in X:
        for strand in strands(x):
            counts += np.bincount(contexts(encode(strand)), minlength=len(counts))
    table = counts.reshape(-1, 4)
    return np.log(table / table.sum(axis=1, keepdims=True)).ravel()


def over_represented(X: Sequence[str], background: np.ndarray, length: int) -> list[str]:
    """Return words by decreasing (n − e) / √e: n occurrences on both strands of X, e expected from the background."""
    codes = [encode(strand) for x in X for strand in strands(x)]
    places = 4 ** np.arange(length)[::-1]
    words = np.concatenate([np.lib.stride_tricks.sliding_window_view(c, length) @ places for c in codes])
    counts = np.bincount(words, minlength=4**length)
    symbols = np.arange(4**length)[:, None] // places % 4
    shares = np.bincount(np.concatenate(codes), minlength=4) / sum(map(len, codes))
    likelihood = np.log(shares)[symbols[:, :ORDER]].sum(axis=1)
    for j in range(ORDER, length):
        likelihood += background[symbols[:, j - ORDER : j + 1] @ 4 ** np.arange(ORDER, -1, -1)]
    expected = np.exp(likelihood) * len(words)
    order = np.argsort(-(counts - expected) / np.sqrt(expected), kind="stable")
    names = ["".join("ACGT"[s] for s in symbols[word]) for word in order[:100]]
    return [name for name in names if name <= strands(name)[1]]


def expectation_maximisation(windows: Windows, start: np.ndarray, steps: int = 30) -> tuple[np.ndarray, float]:
    """Return a weight matrix (l, 4) for one site per sequence, and its mean log-likelihood (Bailey and Elkan 1995).

    E: the probability of a window is proportional to its odds; M: the matrix has the shares of the symbols, with 1
    added to each count.
    """
    matrix, likelihood = start, -np.inf
    counts = np.bincount(windows.sequence)
    for _ in range(steps):
        odds = windows.log_odds(matrix)
        most = windows.best(matrix)
        weights = np.exp(odds - most[windows.sequence])
        totals = np.bincount(windows.sequence, weights)
        likelihood = float(np.mean(np.log(totals / counts) + most))
        weights /= totals[windows.sequence]
        matrix = 1.0 + np.array([np.bincount(column, weights, 4) for column in windows.symbols.T])
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, likelihood
