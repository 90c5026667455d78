"""Reviewer assignment: learn from assignments of past years which shared words count (Taskar et al. 2005, section 2).

Every paper needs 3 reviewers, and nobody reviews more than 4 papers. The score of a pair is a weighted sum of the words
that occur both in the abstract and on the reviewer's home page. Words of the field ("model", "data") are shared by
nearly all and say nothing; counting shared words, as one would without learning, is therefore poor.
Shown: training on dicts of features per pair, the certificate, wrong pairs against counting words, the best words, a
conflict of interest as a forbidden pair, and a picture of one assignment (reviewers.png).
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

TOPICS = {
    "parsing": ["treebank", "grammar", "syntax"],
    "vision": ["pixel", "camera", "segment"],
    "genomics": ["protein", "genome", "sequence"],
    "theory": ["bound", "convex", "proof"],
    "robots": ["policy", "planning", "motion"],
}
COMMON = ["model", "data", "learning", "method", "results", "training", "feature", "error"]
PER_PAPER, PER_REVIEWER = 3, 4


def text(rng, topics, length):
    """Return a set of words: some of the topics, most of them words of the whole field."""
    words = [str(rng.choice(TOPICS[topics[rng.integers(len(topics))]])) for _ in range(length)]
    return set(words) | set(rng.choice(COMMON, 5, replace=False).tolist())


def conference(rng, n_papers=10, n_reviewers=9):
    """Return the features x[paper][reviewer] of one year, and the assignment that an expert made."""
    names = list(TOPICS)
    papers = [[names[k] for k in rng.choice(len(names), 2, replace=False)] for _ in range(n_papers)]
    experts = [[names[k] for k in rng.choice(len(names), 2, replace=False)] for _ in range(n_reviewers)]
    abstracts, pages = [text(rng, t, 6) for t in papers], [text(rng, t, 8) for t in experts]
    x = [[{word: 1.0 for word in sorted(a & p)} for p in pages] for a in abstracts]
    fit = np.array([[len(set(t) & set(e)) for e in experts] for t in papers], float)
    shared = np.array([[len((a & p) - set(COMMON)) for p in pages] for a in abstracts])
    fit += 0.5 * shared + 0.1 * rng.normal(size=fit.shape)
    return x, best(fit)


def best(scores):
    """Return the best assignment under given scores."""
    structure = mm.BipartiteMatching(per_left=PER_PAPER, per_right=PER_REVIEWER)
    n, m = scores.shape
    any_one = [sorted((PER_PAPER * i + r) % m for r in range(PER_PAPER)) for i in range(n)]
    return structure.fit([scores[:, :, None]], [any_one]).argmax(np.ones(1), scores[:, :, None])


def wrong(Y, predicted):
    """Return the share of wrong pairs."""
    pairs = [len(set(a) - set(b)) for y, p in zip(Y, predicted, strict=True) for a, b in zip(y, p, strict=True)]
    return float(np.mean(pairs)) / PER_PAPER


def main():
    rng = np.random.default_rng(0)
    X, Y = zip(*(conference(rng) for _ in range(60)), strict=True)
    train, test = slice(0, 30), slice(30, 60)

    structure = mm.BipartiteMatching(per_left=PER_PAPER, per_right=PER_REVIEWER)
    model = mm.StructuralSVM(structure, C=0.03).fit(X[train], Y[train])
    predicted = model.predict(X[test])
    counted = [best(np.array([[float(len(cell)) for cell in row] for row in x])) for x in X[test]]
    print(f"certificate: {model.certificate_}")
    print(f"wrong pairs in 30 test years: {wrong(Y[test], predicted):.3f} learnt, "
          f"{wrong(Y[test], counted):.3f} by counting shared words")  # fmt: skip

    weights = sorted(zip(model.coef_, model.feature_names_out, strict=True), reverse=True)
    print("best words: " + ", ".join(f"{name} {w:+.2f}" for w, name in weights[:5]))
    print("least: " + ", ".join(f"{name} {w:+.2f}" for w, name in weights[-5:]))

    year, (paper, reviewer) = X[30], (0, predicted[0][0][0])
    conflict = [[None if (i, k) == (paper, reviewer) else cell for k, cell in enumerate(row)]
                for i, row in enumerate(year)]  # fmt: skip
    (other,) = model.predict([conflict])
    print(f"paper {paper}: reviewers {predicted[0][paper]}; with a conflict of {reviewer}: {other[paper]}")

    scores = np.array([[sum(model.coef_[model.feature_names_out.tolist().index(word)] for word in cell) for cell in row]
                       for row in year])  # fmt: skip
    display = mm.plots.AssignmentDisplay(predicted[0], true=Y[30], scores=scores)
    display.plot().ax_.set(xlabel="reviewer", ylabel="paper")
    display.figure_.savefig("reviewers.png", dpi=110)
    print("written: reviewers.png")


if __name__ == "__main__":
    main()
