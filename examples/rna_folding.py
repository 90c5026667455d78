"""RNA folding: secondary structures learnt from sequences with known structures.

The sequences are generated: helices of complementary bases, with hairpins, bulges, interior loops and multi-loops. Real
data are read with mm.formats.read_dot_bracket or read_ct.
Shown: training from Turner's energies and from 0, sensitivity and selectivity, suboptimal structures, constraints, the
weights, files, and two pictures (rna_arcs.png, rna_circle.png).
"""

import matplotlib.pyplot as plt

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display


def main():
    X, Y = mm.datasets.make_rna(60, n_helices=4, random_state=0)
    test_X, test_Y = mm.datasets.make_rna(60, n_helices=4, random_state=1)

    model = mm.RNAFolder().fit(X, Y)
    print(f"certificate: {model.certificate_}")
    print(f"F1 on held-out sequences: learnt {model.comparison_['learnt']:.3f}, prior {model.comparison_['prior']:.3f}")
    plain = {"prior": None, "bound": "margin", "C": 1.0, "decode": "map", "tol": 0.05}
    folders = {
        "from Turner's energies": model,
        "from 0, convex bound": mm.RNAFolder(**plain).fit(X, Y),
        "missed 0.1, false 1": mm.RNAFolder(**plain, loss={"missed": 0.1, "false": 1.0}).fit(X, Y),
    }
    for name, folder in folders.items():
        scores = mm.metrics.base_pair_scores(test_Y, folder.predict(test_X))
        print(
            f"{name:24s}sensitivity {scores.sensitivity:.3f}, selectivity {scores.selectivity:.3f}, F1 {scores.f1:.3f}"
        )

    predicted = model.predict(test_X)
    wrong = [(x, y) for x, y, found in zip(test_X, test_Y, predicted, strict=True) if y != found]
    x, y = max(wrong, key=lambda pair: len(pair[0]))
    print(f"\nthe longest sequence with a wrong pair, its true structure, and the three of least energy:\n{x}\n{y}")
    for structure, energy in model.suboptimal(x, delta=5.0, max_structures=3):
        print(f"{structure} {energy:.2f} kcal/mol")
    known = "".join("x" if symbol == "." else "." for symbol in y)
    print(f"{model.predict([x], [known])[0]} if the unpaired bases are known")

    print("\nstacked pairs (outer, inner) by weight:")
    tables, weights = model.structure_.tables(), model.structure_.split_weights(model.coef_)
    stacks = sorted(zip(weights["stacking"], tables["stacking"].columns, strict=True), reverse=True)
    print(", ".join(f"{name} {weight:.2f}" for weight, name in stacks[:4]))

    records = [(f"rna{i}", *pair) for i, pair in enumerate(zip(test_X, predicted, strict=True))]
    mm.formats.write_dot_bracket("predicted.dbn", records)
    again = mm.formats.read_dot_bracket("predicted.dbn")
    print(f"\npredicted.dbn: {len(again)} structures, the first is {again[0].structure}")

    mm.plots.ArcDisplay.from_estimator(model, x, y).figure_.savefig("rna_arcs.png", dpi=60)
    mm.plots.CircleDisplay.from_estimator(model, x, y).figure_.savefig("rna_circle.png", dpi=90)
    print("written: rna_arcs.png, rna_circle.png")


if __name__ == "__main__":
    main()
