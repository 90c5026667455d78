"""The motif in strings of one class: what it is, where it is, and on which strand.

The strings are 100 random letters; half of them contain a copy of TTGACGTTAC with some letters changed, on either
strand, at a position that is hidden from training. Shown: learning from labels alone, the effect of the starting
point, the sites that are found, cross-validation, and the logo.
"""

import numpy as np
from sklearn.model_selection import cross_val_score

import maxmargin as mm

MOTIF, COMPLEMENT = "TTGACGTTAC", str.maketrans("ACGT", "TGCA")


def planted(n, seed, size=100, changed=0.15):
    """Return strings, labels, and the position of the motif, which is in every second string."""
    rng = np.random.default_rng(seed)
    X, y, places = [], [], []
    for i in range(n):
        x, place = "".join(rng.choice(list("ACGT"), size)), int(rng.integers(0, size - len(MOTIF) + 1))
        copy = "".join(rng.choice(list("ACGT")) if rng.random() < changed else c for c in MOTIF)
        if rng.random() < 0.5:
            copy = copy.translate(COMPLEMENT)[::-1]
        X.append(x[:place] + copy + x[place + len(MOTIF) :] if i % 2 else x)
        y.append("bound" if i % 2 else "free")
        places.append(place)
    return X, np.array(y), np.array(places)


def main():
    X, y, _ = planted(120, seed=0)
    test_X, test_y, places = planted(200, seed=1)

    print("start    runs   objective   errors: train   test")
    for start, runs in (("words", 1), ("words", 3), ("random", 3)):
        finder = mm.MotifFinder(
            length=10, background_order=0, both_strands=True, classes=["free", "bound"], start=start, n_restarts=runs
        )
        finder.fit(X, y)
        objective = finder.history_[-1]["objective"]
        errors = 1 - finder.score(X, y), 1 - finder.score(test_X, test_y)
        print(f"{start:8} {runs:4} {objective:11.2f} {errors[0]:15.3f} {errors[1]:6.3f}")

    finder.set_params(start="words").fit(X, y)
    print(f"\nplanted {MOTIF} or {MOTIF.translate(COMPLEMENT)[::-1]}, found {finder.consensus_}")
    sites = [site for site, label in zip(finder.sites(test_X), test_y, strict=True) if label == "bound"]
    right = np.mean([site.position == place for site, place in zip(sites, places[test_y == "bound"], strict=True)])
    print(f"in {right:.0%} of the test strings with a motif it is found at the exact position, e.g. {sites[0]}")
    print(f"accuracy in 5-fold cross-validation: {cross_val_score(finder, X, y, cv=5).mean():.3f}")

    bound = [x for x, label in zip(X, y, strict=True) if label == "bound"]
    display = mm.plots.MotifDisplay.from_estimator(finder, bound[:40])
    display.figure_.savefig("motifs.png")
    print("logo and sites: motifs.png")


if __name__ == "__main__":
    main()
