"""Matchings of general graphs: which residues of a chain are bonded, with all, or only some, of them in bonds.

The chains are generated: residues have a charge and a size, and bonds prefer opposite charges, similar sizes and a
distance of about six. First every residue is bonded (perfect matchings); then some are not, and the model learns
besides what speaks for staying alone.
Shown: both kinds of training, precision and recall of bonds against the nearest neighbour, the k best matchings with
their scores, and the picture of a chain (matchings.png).
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display


def chain(rng, n):
    """Return positions, charges and sizes of n residues."""
    return np.cumsum(rng.integers(1, 5, n)), rng.choice([-1.0, 1.0], n), rng.random(n)


def features(positions, charges, sizes):
    """Return the features of all pairs, (n, n, 4)."""
    apart = np.abs(positions[:, None] - positions)
    opposite, alike = charges[:, None] * charges < 0, -np.abs(sizes[:, None] - sizes)
    return np.stack([opposite, alike, np.abs(apart - 6) / 10.0, apart < 3], axis=2).astype(float)


def bonds(y):
    return {(a, b) for a, b in enumerate(y) if a < b}


def precision_and_recall(Y, predicted):
    right = sum(len(bonds(y) & bonds(p)) for y, p in zip(Y, predicted, strict=True))
    return right / sum(len(bonds(p)) for p in predicted), right / sum(len(bonds(y)) for y in Y)


def neighbours(n):
    """Return the matching that bonds the first with the second residue, the third with the fourth, …"""
    return [v + 1 - 2 * (v % 2) if v + 1 - 2 * (v % 2) < n else -1 for v in range(n)]


def main():
    rng = np.random.default_rng(0)
    chains = [chain(rng, int(n)) for n in 2 * rng.integers(3, 8, 120)]
    X = [features(*c) for c in chains]
    nature = np.array([2.0, 3.0, -1.5, -1.0])

    maker = mm.Matching().fit([X[0]], [neighbours(len(X[0]))])
    Y = [maker.argmax(nature + 0.3 * rng.normal(size=4), x) for x in X]
    model = mm.StructuralSVM(mm.Matching(), C=1.0).fit(X[:60], Y[:60])
    predicted = model.predict(X[60:])
    print(f"certificate: {model.certificate_}")
    print(f"all bonded: right bonds {precision_and_recall(Y[60:], predicted)[0]:.3f}, "
          f"by neighbours {precision_and_recall(Y[60:], [neighbours(len(y)) for y in Y[60:]])[0]:.3f}")  # fmt: skip

    loose = [(x, None, sizes[:, None]) for x, (_, _, sizes) in zip(X, chains, strict=True)]
    maker = mm.Matching(perfect=False).fit(loose[:1], [neighbours(len(X[0]))])
    Y_loose = [maker.argmax(np.append(nature + 0.3 * rng.normal(size=4), [1.0, -0.8]), x) for x in loose]
    free = mm.StructuralSVM(mm.Matching(perfect=False), C=1.0).fit(loose[:60], Y_loose[:60])
    found = free.predict(loose[60:])
    alone = float(np.mean([partner < 0 for y in Y_loose for partner in y]))
    precision, recall = precision_and_recall(Y_loose[60:], found)
    print(f"{alone:.0%} of the residues not bonded: precision {precision:.3f}, recall {recall:.3f}")
    print("weights:", dict(zip(free.feature_names_out, free.coef_.round(2).tolist(), strict=True)))

    wrong = [i for i, y in enumerate(Y_loose[60:]) if y != found[i]]
    shown = max(wrong or range(len(found)), key=lambda i: len(found[i]))
    print(f"\nthe three best matchings of a chain of {len(found[shown])} residues:")
    for y, score in free.topk(loose[60 + shown], 3):
        print(f"{score:8.2f}", " ".join(f"{a}–{b}" for a, b in sorted(bonds(y))))
    print(f"{'true':>8s}", " ".join(f"{a}–{b}" for a, b in sorted(bonds(Y_loose[60 + shown]))))

    positions, charges, _ = chains[60 + shown]
    labels = ["+" if charge > 0 else "−" for charge in charges]
    display = mm.plots.MatchingDisplay(found[shown], true=Y_loose[60 + shown], labels=labels, positions=positions)
    display.plot().figure_.savefig("matchings.png", dpi=110)
    print("written: matchings.png")


if __name__ == "__main__":
    main()
