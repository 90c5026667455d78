"""Align sequences with secondary structure that a tagger of the library predicts.

Synthetic proteins: letters change often, the structure rarely, and letters depend on the structure. A tagger learns the
structure from annotated chains; it annotates training and test pairs, cross-fitted. Prints the recall of
aligners of letters, of predicted and of known structure.
"""

import numpy as np

import maxmargin as mm

#: Number of pairs with known alignments; there are more chains with known structures.
N_PAIRS = 20
LETTERS = {"H": "AELKMQR", "E": "VIYFWTC", "C": "GNPDSH"}


def relatives(n, rng):
    """Return n pairs of sequences, their structures and their alignments."""
    X, kinds, Y = [], [], []
    for _ in range(n):
        structure = "".join(str(kind) * int(rng.integers(4, 10)) for kind in rng.choice(list("HEC"), 6))
        rows, shown = ["", ""], ["", ""]
        for kind in structure:
            for side in range(2):
                lost = kind == "C" and rng.random() < 0.25
                source = kind if rng.random() < 0.5 else str(rng.choice(list("HEC")))
                rows[side] += "-" if lost else str(rng.choice(list(LETTERS[source])))
                shown[side] += "" if lost else kind
        columns = [(a, b) for a, b in zip(*rows, strict=True) if a + b != "--"]
        Y.append(("".join(a for a, _ in columns), "".join(b for _, b in columns)))
        X.append(tuple(row.replace("-", "") for row in rows))
        kinds.append(tuple(shown))
    return X, kinds, Y


def main():
    rng = np.random.default_rng(0)
    X, kinds, Y = relatives(100, rng)
    X_test, kinds_test, Y_test = relatives(40, rng)
    families = np.repeat(np.arange(len(X)), 2)
    chains, labels = [text for x in X for text in x], [row for pair in kinds for row in pair]
    annotate = mm.position_annotator(chains, labels, groups=families, reach=4)
    X, kinds, Y = X[:N_PAIRS], kinds[:N_PAIRS], Y[:N_PAIRS]

    tables = annotate.probabilities([text for x in X_test for text in x])
    found = "".join(annotate.labels[k] for table in tables for k in table.argmax(axis=1))
    right = np.mean(np.array(list(found)) == np.array(list("".join(row for pair in kinds_test for row in pair))))
    print(f"structure predicted at {right:.0%} of the test positions")

    def known(X, kinds):
        return [
            tuple({"sequence": t, "structure": k} for t, k in zip(x, ks, strict=True))
            for x, ks in zip(X, kinds, strict=True)
        ]

    print("recall on test pairs")
    for name, train, test in (
        ("letters", X, X_test),
        ("predicted structure", annotate.pairs(X), annotate.pairs(X_test)),
        ("known structure", known(X, kinds), known(X_test, kinds_test)),
    ):
        odds = mm.LogOddsAligner().fit(train, Y).score(test, Y_test)
        aligner = mm.PairwiseAligner(window=3).fit(train, Y)
        print(f"  {name:20s} log odds {odds:.3f}, learnt {aligner.score(test, Y_test):.3f}")


if __name__ == "__main__":
    main()
