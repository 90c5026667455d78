"""Align pairs of sequences: weights of matches and gaps learnt from aligned pairs, with secondary structure.

Synthetic proteins: letters change often, the structure rarely. Prints the recall of aligners with and without structure
and of two baselines, the three best alignments of a pair and the weights of gaps, and draws a dot matrix.
"""

import matplotlib

matplotlib.use("Agg")
import numpy as np

import maxmargin as mm

LETTERS = {"H": "AELKMQR", "E": "VIYFWTC", "C": "GNPDSH"}


def relatives(n, rng):
    """Return n pairs of sequences with their structures, and their alignments."""
    X, Y = [], []
    for _ in range(n):
        structure = "".join(str(kind) * int(rng.integers(4, 10)) for kind in rng.choice(list("HEC"), 6))
        rows, kinds = ["", ""], ["", ""]
        for kind in structure:
            for side in range(2):
                lost = kind == "C" and rng.random() < 0.25
                rows[side] += "-" if lost else str(rng.choice(list(LETTERS[kind])))
                kinds[side] += "" if lost else kind
        columns = [(a, b) for a, b in zip(*rows, strict=True) if a + b != "--"]
        Y.append(("".join(a for a, _ in columns), "".join(b for _, b in columns)))
        X.append(tuple({"sequence": row.replace("-", ""), "ss": k} for row, k in zip(rows, kinds, strict=True)))
    return X, Y


def letters_of(X):
    return [tuple(record["sequence"] for record in x) for x in X]


def main():
    rng = np.random.default_rng(0)
    X, Y = relatives(40, rng)
    X_test, Y_test = relatives(40, rng)

    print("recall on test pairs")
    letters = mm.LogOddsAligner().fit(letters_of(X), Y)
    print(f"  {'log odds of letters':30s} {letters.score(letters_of(X_test), Y_test):.3f}")
    baseline = mm.LogOddsAligner().fit(X, Y)
    print(f"  {'log odds with structure':30s} {baseline.score(X_test, Y_test):.3f}")
    aligner = mm.PairwiseAligner().fit(X, Y)  # a ramp around log odds; C by held-out folds
    print(f"  {'learnt, window and structure':30s} {aligner.score(X_test, Y_test):.3f}")
    print(aligner.certificate_)
    print(f"{len(aligner.coef_)} weights; gaps: open {aligner.gap_open_:.3f}, extend {aligner.gap_extend_:.3f}")

    print("three best alignments of a pair")
    for (first, second), score in aligner.topk(X_test[0], 3):
        print(f"  {score:.3f}\n  {first}\n  {second}")

    display = mm.plots.AlignmentDisplay(aligner.predict(X_test[:1])[0], true=Y_test[0])
    display.plot().figure_.savefig("alignment.png", dpi=100)
    print("\nwritten: alignment.png")


if __name__ == "__main__":
    main()
