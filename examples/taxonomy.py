"""Classes of a taxonomy: `TaxonomyClassifier`.

News groups have names such as ``comp/new/1`` and ``rec/old/3``. With few examples of each, it helps to learn what
``comp`` and ``rec`` are about; and if a mistake happens, one within ``comp`` is less bad than one across. The documents
are made up: words of the group, words of the nodes above it, and words that occur everywhere.
"""

import numpy as np

import maxmargin as mm

GROUPS = [f"{top}/{topic}/{n}" for top in ("comp", "rec", "sci") for topic in ("old", "new") for n in range(5)]
WORDS = 3000


def documents(n, rng):
    """Return word counts of n documents, and their groups."""
    groups = np.array(GROUPS)[rng.permutation(np.arange(n) % len(GROUPS))]
    X = np.zeros((n, WORDS))
    for row, group in zip(X, groups, strict=True):
        parts = group.split("/")
        for depth in range(1, len(parts) + 1):
            seed = sum(ord(c) * 31**i for i, c in enumerate("/".join(parts[:depth]))) % 2**32
            vocabulary = np.random.default_rng(seed).integers(0, WORDS, 40)
            np.add.at(row, rng.choice(vocabulary, 4), 1.0)
        np.add.at(row, rng.integers(0, WORDS, 20), 1.0)
    return np.log1p(X), groups


def main():
    rng = np.random.default_rng(0)
    X, y = documents(120, rng)
    X_test, y_test = documents(900, rng)
    print(f"{len(GROUPS)} groups, {len(y) // len(GROUPS)} training documents each\n")
    print("hierarchy  loss       right  tree loss")
    for hierarchy in (None, "/"):
        for loss in ("zero-one", "mixed", "tree"):
            matrix = mm.Taxonomy(hierarchy="/", cost=loss).fit(X, y).costs_
            model = mm.TaxonomyClassifier(hierarchy=hierarchy, loss=matrix).fit(X, y)
            found = model.predict(X_test)
            tree = mm.metrics.tree_loss(y_test, found, hierarchy="/")
            print(f"{hierarchy!r:9s}  {loss:9s}  {np.mean(found == y_test):.3f}  {tree:.3f}")

    model = mm.TaxonomyClassifier(hierarchy="/").fit(X, y)
    print(f"\n{model.certificate_}")
    print(f"nodes with weights: {len(model.nodes_)}, first {model.nodes_[:4]}")
    group, score = model.topk(X_test[0], 2)[0]
    print(f"a document of {y_test[0]}: {group} ({score:.2f})")

    print("\nlabels may be as exact as they are known: some documents are only 'sci'")
    vague = y.astype(object)
    vague[[i for i, group in enumerate(y) if group.startswith("sci")][::2]] = "sci"
    inner = mm.TaxonomyClassifier(hierarchy=GROUPS, inner_nodes=True, loss="tree").fit(X, vague)
    found = inner.predict(X_test)
    science = np.array([group.startswith("sci") for group in y_test])
    inside = np.mean([group.startswith("sci") for group in found[science]])
    print(
        f"documents of sci with a class in sci: {inside:.3f}, other documents: {np.mean(found[~science] == 'sci'):.3f}"
    )


if __name__ == "__main__":
    main()
