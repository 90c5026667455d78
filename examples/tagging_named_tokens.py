"""Named entities with feature dicts, as in CRF packages, and labels that must form BIO spans.

Shown: `SequenceTagger` on dicts of features, BIO constraints in training and prediction, the k best taggings of a
sentence, why the best one won, and the weights as a data frame. The sentences are made from templates; the test part
contains names that do not occur in training.
"""

import numpy as np

import maxmargin as mm

TEMPLATES = [
    "PER met PER in LOC",
    "the mayor of LOC thanked PER",
    "PER moved from LOC to LOC",
    "yesterday PER won in LOC",
    "LOC and LOC signed a treaty",
    "people in LOC like PER",
    "PER and PER sing",
]
NAMES = {
    "train": {
        "PER": ["Ana Silva", "Tom Baker", "Mia Stone", "Leo Marsh", "Eva", "Sam Reed Junior"],
        "LOC": ["Lisbon", "New York", "Oslo", "San Marino", "Great Baker Street"],
    },
    "test": {"PER": ["Ida Holm", "Ben", "Ana Baker"], "LOC": ["Paris", "New Delhi", "San Silva"]},
}


def sentences(part, n, rng):
    """Return lists of words with their BIO labels."""
    words, labels = [], []
    for _ in range(n):
        xs, ys = [], []
        for slot in rng.choice(TEMPLATES).split():
            name = str(rng.choice(NAMES[part][slot])).split() if slot in NAMES[part] else [slot]
            xs += name
            ys += [f"B-{slot}"] + [f"I-{slot}"] * (len(name) - 1) if slot in NAMES[part] else ["O"]
        words.append(xs)
        labels.append(ys)
    return words, labels


def features(sentence):
    """Return one dict per token: numbers and booleans are values, each string is a feature of value 1."""
    padded = ["<s>", *sentence, "</s>"]
    return [
        {
            "word": word.lower(),
            "capital": word[0].isupper(),
            "ends": [word[-2:], word[-3:]],
            "before": padded[t].lower(),
            "after": padded[t + 2].lower(),
        }
        for t, word in enumerate(sentence)
    ]


def broken(labels):
    """Return the number of I-X labels that do not continue a span."""
    return sum(a != b for a, b in zip(mm.repair_bio(labels), labels, strict=True))


def main():
    rng = np.random.default_rng(0)
    words, Y = sentences("train", 60, rng)
    test_words, Y_test = sentences("test", 200, rng)
    X, X_test = [features(s) for s in words], [features(s) for s in test_words]

    free = mm.SequenceTagger().fit(X, Y)
    tagger = mm.SequenceTagger(constraints="bio").fit(X, Y)
    for name, model in (("without constraints", free), ("constraints='bio'", tagger)):
        predicted = model.predict(X_test)
        print(
            f"{name:20s} right labels {model.score(X_test, Y_test):.3f}   broken spans {sum(map(broken, predicted))}   "
            f"gap {model.certificate_.gap:.1e}"
        )

    sentence = ["the", "mayor", "of", "San", "Silva", "met", "Ana", "Baker"]
    print("\nThe three best taggings of a new sentence")
    print(f"{'':9s}" + " ".join(f"{word:6s}" for word in sentence))
    for labels, score in tagger.topk(features(sentence), 3):
        print(f"{score:7.2f}  " + " ".join(f"{label:6s}" for label in labels))

    print("\nWhy the best one won")
    print(tagger.explain(features(sentence), n_features=6))

    print("\nThe largest weights")
    print(tagger.weights_frame().head(8).to_string(index=False))

    print("\nWeights of transitions (rows: first label); forbidden ones stay 0 and are never used")
    print(f"{'':7s}" + "".join(f"{label:>7s}" for label in tagger.classes_))
    for label, row in zip(tagger.classes_, tagger.transitions_, strict=True):
        print(f"{label:7s}" + "".join(f"{weight:7.2f}" for weight in row))


if __name__ == "__main__":
    main()
