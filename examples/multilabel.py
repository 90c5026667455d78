"""Sets of labels, with pairs of labels that go together: `MultilabelSVM`.

A picture shows some of sea, beach, boat, forest, mountain and snow. Boats are hard to see, but they are not in forests,
and snow is on mountains: weights of pairs of labels use what the features do not show. The data are made up.
"""

import numpy as np
from sklearn.metrics import f1_score, hamming_loss

import maxmargin as mm

LABELS = ["sea", "beach", "boat", "forest", "mountain", "snow"]


def pictures(n, rng):
    """Return features and labels of n pictures."""
    Y = np.zeros((n, 6), int)
    coast, cold = rng.random(n) < 0.5, rng.random(n) < 0.4
    Y[:, 0] = coast
    Y[:, 1] = coast & (rng.random(n) < 0.7)
    Y[:, 2] = coast & (rng.random(n) < 0.9)
    Y[:, 3] = ~coast & (rng.random(n) < 0.6)
    Y[:, 4] = ~coast & (rng.random(n) < 0.7)
    Y[:, 5] = Y[:, 4] & cold
    X = Y * np.array([2.0, 1.0, 0.3, 1.0, 1.5, 1.0]) + rng.normal(size=(n, 6))
    return X, Y


def main():
    rng = np.random.default_rng(0)
    X, Y = pictures(300, rng)
    X_test, Y_test = pictures(3000, rng)
    print("loss     pairs  Hamming loss  F1     all labels right")
    for loss in ("hamming", "f1"):
        for pairs in (None, "tree", "all"):
            model = mm.MultilabelSVM(loss=loss, pairs=pairs).fit(X, Y)
            found = model.predict(X_test)
            wrong, f1 = hamming_loss(Y_test, found), f1_score(Y_test, found, average="samples", zero_division=1.0)
            print(f"{loss:8s} {pairs!s:6s} {wrong:12.3f}  {f1:.3f}  {model.score(X_test, Y_test):.3f}")

    model = mm.MultilabelSVM().fit(X, Y)
    print(f"\n{model.certificate_}")
    order = np.argsort(-np.abs(model.pair_coef_))[:4]
    for (j, k), weight in zip(model.pairs_[order], model.pair_coef_[order], strict=True):
        print(f"  {LABELS[j]} and {LABELS[k]}: {weight:+.2f}")
    margins = model.decision_function(X_test[:1])[0]
    print("first picture:", ", ".join(f"{name} {margin:+.1f}" for name, margin in zip(LABELS, margins, strict=True)))


if __name__ == "__main__":
    main()
