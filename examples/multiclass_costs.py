"""The effect of costs and of sample weights on decisions: `MulticlassSVM`.

A screening test has three outcomes. Sending an ill person home costs ten times as much as seeing a healthy one again.
With a cost matrix, training accepts more of the cheap mistakes to avoid the expensive ones.
"""

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

import maxmargin as mm

CLASSES = ["healthy", "unclear", "ill"]
COSTS = np.array(
    [
        [0.0, 1.0, 1.0],  # a healthy person who is seen again
        [1.0, 0.0, 1.0],
        [10.0, 2.0, 0.0],  # an ill person who is sent home, or seen later
    ]
)


def show(title, model, X, y):
    table = confusion_matrix(y, model.predict(X), labels=CLASSES)
    print(f"\n{title}")
    print(f"  {'':18s}" + "".join(f"{'→ ' + name:>11s}" for name in CLASSES))
    for name, row in zip(CLASSES, table, strict=True):
        print(f"  {'truly ' + name:18s}" + "".join(f"{count:11d}" for count in row))
    print(f"  right {model.score(X, y):.3f}   mean cost {(table * COSTS).sum() / len(y):.3f}")
    return table


def main():
    X, codes = mm.datasets.make_multiclass(1500, n_features=6, n_classes=3, noise=1.5, random_state=1)
    y = np.array(CLASSES)[codes]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

    plain = mm.MulticlassSVM(C=0.1, classes=CLASSES).fit(X, y)
    costly = mm.MulticlassSVM(C=0.1, classes=CLASSES, loss=COSTS).fit(X, y)
    before = show("loss='zero-one'", plain, X_test, y_test)
    after = show("loss=COSTS", costly, X_test, y_test)
    print(f"\nill people sent home: {before[2, 0]} with zero-one loss, {after[2, 0]} with the cost matrix")

    per_class = mm.MulticlassSVM(C=0.1, classes=CLASSES, loss={"ill": 5.0}).fit(X, y)
    show("loss={'ill': 5.0}: any mistake on an ill person costs 5, all others 1", per_class, X_test, y_test)

    print("\nsample_weight: weight 2 has the same effect as including the example twice")
    weights = np.where(y == "ill", 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = mm.MulticlassSVM(C=0.1).fit(X, y, sample_weight=weights)
    repeated = mm.MulticlassSVM(C=0.1).fit(X[twice], y[twice])
    print(f"  weighted {weighted.certificate_.primal:.6f}   repeated {repeated.certificate_.primal:.6f}")
    print(f"  the same weights, bit for bit: {np.array_equal(weighted.coef_, repeated.coef_)}")


if __name__ == "__main__":
    main()
