"""Few search results that cover many subtopics.

The texts of a query belong to subtopics of different size. Each text has words of its subtopic, words of all texts, and
words that occur nowhere else. Shown: learnt worths of words by their frequency, coverage of subtopics against the
first texts, random texts and covering most words, and a picture of coverage by rank.
"""

from pathlib import Path

import numpy as np

import maxmargin as mm


def queries(n, seed, n_texts=25):
    """Return the texts of n queries, and the set of subtopics of each text."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        topics = rng.choice(6, n_texts, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
        texts = []
        for topic in topics:
            own = [f"topic{topic}{letter}" for letter in rng.choice(list("abcdef"), 3, replace=False)]
            common = rng.choice(["and", "the", "results", "page"], 3)
            rare = [f"rare{rng.integers(10**9)}" for _ in range(rng.integers(0, 4 if topic else 10))]
            texts.append(" ".join([*own, *common, *rare]))
        X.append(texts)
        Y.append([{int(topic)} for topic in topics])
    return X, Y


def main():
    X, Y = queries(40, seed=0)
    test_X, test_Y = queries(60, seed=1)
    model = mm.DiverseSelector(k=5).fit(X, Y)
    print(model.certificate_)
    print("\na word is worth, if it is")
    for name, worth in zip(model.feature_names_out, np.cumsum(model.coef_), strict=True):
        print(f"  {name:24} {worth:6.3f}")

    rng = np.random.default_rng(2)
    unweighted = mm.Coverage(k=5, thresholds=[0.0]).fit(X, Y)
    selections = {
        "learnt": model.predict(test_X),
        "most words": [unweighted.argmax(np.ones(1), x) for x in test_X],
        "first texts": [range(5)] * len(test_X),
        "random texts": [rng.permutation(len(x))[:5].tolist() for x in test_X],
    }
    print("\nweighted share of subtopics covered by 5 texts")
    for name, chosen in selections.items():
        print(f"  {name:14} {mm.metrics.subtopic_coverage(test_Y, chosen).mean():.3f}")
    display = mm.plots.RankingDisplay.from_selections(test_Y, selections)
    Path("diverse-output").mkdir(exist_ok=True)
    display.figure_.savefig("diverse-output/coverage.png", dpi=150)
    print("coverage by rank: diverse-output/coverage.png")


if __name__ == "__main__":
    main()
