"""RNA folding: secondary structures learnt from sequences with known structures.

The sequences are generated: helices of complementary bases, with hairpins, bulges, interior loops and multi-loops. Real
data are read with mm.formats.read_dot_bracket or read_ct.
Shown: training, sensitivity and selectivity for two losses, the ramp bound, the k best structures, the weights, files,
and two pictures (rna_arcs.png, rna_circle.png).
"""

import matplotlib.pyplot as plt

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display


def main():
    X, Y = mm.datasets.make_rna(60, n_helices=4, random_state=0)
    test_X, test_Y = mm.datasets.make_rna(60, n_helices=4, random_state=1)

    model = mm.RNAFolder(tol=0.01).fit(X, Y)
    print(f"certificate: {model.certificate_}")
    folders = {
        "1 − recall": model,
        "1 − recall, ramp": mm.RNAFolder(bound="ramp", tol=0.05).fit(X, Y),
        "missed 0.1, false 1": mm.RNAFolder(loss={"missed": 0.1, "false": 1.0}, tol=0.05).fit(X, Y),
    }
    for name, folder in folders.items():
        scores = mm.metrics.base_pair_scores(test_Y, folder.predict(test_X))
        print(
            f"{name:22s} sensitivity {scores.sensitivity:.3f}, selectivity {scores.selectivity:.3f}, F1 {scores.f1:.3f}"
        )

    predicted = model.predict(test_X)
    wrong = [(x, y) for x, y, found in zip(test_X, test_Y, predicted, strict=True) if y != found]
    x, y = max(wrong, key=lambda pair: len(pair[0]))
    print(f"\nthe longest sequence with a wrong pair, its true structure, and the three best ones:\n{x}\n{y}")
    for structure, score in model.topk(x, 3):
        print(f"{structure} {score:.3f}")

    print("\nstacked pairs (outer, inner) by weight:")
    tables, weights = model.structure_.tables(), model.structure_.split_weights(model.coef_)
    stacks = sorted(zip(weights["stacking"], tables["stacking"].columns, strict=True), reverse=True)
    print(", ".join(f"{name} {weight:.2f}" for weight, name in stacks[:4]))

    records = [(f"rna{i}", *pair) for i, pair in enumerate(zip(test_X, predicted, strict=True))]
    mm.formats.write_dot_bracket("predicted.dbn", records)
    again = mm.formats.read_dot_bracket("predicted.dbn")
    print(f"\npredicted.dbn: {len(again)} structures, the first is {again[0].structure}")

    mm.ArcDisplay.from_estimator(model, x, y).figure_.savefig("rna_arcs.png", dpi=60)
    mm.CircleDisplay.from_estimator(model, x, y).figure_.savefig("rna_circle.png", dpi=90)
    print("written: rna_arcs.png, rna_circle.png")


if __name__ == "__main__":
    main()
