"""Words to begin with, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.structures.motif.structure import Motif
from maxmargin.structures.motif.words import Words, start_from_word

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def instance(both_strands, length=6, seed=0):
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(8, 40, 30)]
    Y = (np.arange(30) % 3 > 0).astype(int).tolist()
    examples = Motif(length=length, both_strands=both_strands).fit_encode(X, Y)
    weights = rng.integers(1, 4, 30).astype(float)
    return X, np.array(Y), weights, Words(examples, weights)


def text(words, word):
    return "".join("ACGT"[s] for s in words.symbols(int(word)))


def variants(word, both_strands):
    return {word, word.translate(COMPLEMENT)[::-1]} if both_strands else {word}


@pytest.mark.parametrize("both_strands", [False, True])
def test_telling_words_are_sorted_by_their_z_score(both_strands):
    X, Y, weights, words = instance(both_strands)
    assert words.length == int(np.log(weights[Y == 1] @ [len(x) for x, y in zip(X, Y, strict=True) if y]) / np.log(4))

    sides = [Y == 0, Y == 1]

    def z(word):
        holds = np.array([any(v in x for v in variants(word, both_strands)) for x in X])
        negative, positive = (weights[holds & side].sum() / weights[side].sum() for side in sides)
        share = weights[holds].sum() / weights.sum()
        return (positive - negative) / np.sqrt(share * (1 - share) * sum(1 / weights[side].sum() for side in sides))

    found = [text(words, word) for word in words.telling()]
    scores = [z(word) for word in found]
    assert min(scores) > 0
    assert (np.diff(scores) <= 1e-12).all()
    everything = {x[p : p + words.length] for x in X for p in range(len(x) - words.length + 1)}
    best = max(z(word) for word in everything)
    assert scores[0] == pytest.approx(best)
    assert not both_strands or all(word <= min(variants(word, True)) for word in found)


@pytest.mark.parametrize("both_strands", [False, True])
def test_a_word_stands_where_the_characters_around_it_tell_most(both_strands):
    X, Y, weights, words = instance(both_strands, length=7, seed=1)
    word, k = int(words.telling()[0]), words.length
    counts = np.ones((2, 7 + (7 - k), 4))
    for x, y, c in zip(X, Y, weights, strict=True):
        for strand in (x, x.translate(COMPLEMENT)[::-1])[: 1 + both_strands]:
            for p in range(len(x) - k + 1):
                if strand[p : p + k] == text(words, word):
                    for j in range(-(7 - k), 7):
                        if 0 <= p + j < len(x):
                            counts[y, j + 7 - k, "ACGT".index(strand[p + j])] += c
    q, p = counts / counts.sum(axis=2, keepdims=True)
    information = (p * np.log(p / q)).sum(axis=1)
    sums = {first: information[7 - k - first : 14 - k - first].sum() for first in range(8 - k)}
    assert sums[words.place(word)] == pytest.approx(max(sums.values()))


def test_the_start_scores_exact_matches_with_one_and_two_differences_with_nothing():
    _, _, weights, words = instance(False)
    start = start_from_word(words.examples, weights, 0)
    motif = words.structure.split_weights(start)["motif"]
    rows = np.flatnonzero(motif.any(axis=1))
    assert len(rows) == words.length
    assert motif[rows].max(axis=1).sum() == pytest.approx(1.0)
    differing = motif[rows].min(axis=1)[:2].sum() + motif[rows].max(axis=1)[2:].sum()
    assert differing == pytest.approx(0.0)
    assert start_from_word(words.examples, weights, len(words.telling())) is None
