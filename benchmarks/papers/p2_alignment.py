"""Joachims et al. 2009, figure 6: alignments of proteins by the features of matches.

Structural alignments of two sets (not those of the paper). SCOPe domains aligned by TM-align, at most 12 test and 40
training pairs of a SCOP fold, in four groups without common folds; training pairs of large folds have smaller weights.
The reach of windows, the scale of log odds, the cap and the form of predicted structure were chosen on group 0; groups
1, 2 and 3 are test groups, each with the models of the other three. Predicted structure: a tagger of the library
(`mm.position_annotator`), trained on the chains of other groups with known structure, cross-fitted. Profiles: letters
that log odds of group 0 align with each position of a domain, from other domains of its superfamily in these data,
without its partner. MALIDUP: two halves, with known secondary structure. Baselines: Biopython with BLOSUM62
and tuned gaps, and log odds with tuned gaps.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.protein_pairs import LETTERS, ProteinPair, capped, groups_of_folds, load_pairs
from benchmarks.measure import Clock
from benchmarks.papers import publish
from benchmarks.report import table
from maxmargin.estimators.biology.substitution import matched_frequencies
from maxmargin.metrics import q_score

LONGEST, N_GROUPS = 200, 4
MOST_TEST, MOST_TRAIN, N_FEW, MOST_RELATIVES, N_PROFILES = 12, 40, 150, 5, 240
SCALE = 0.02
RECIPE: dict[str, Any] = {"prior": {"matrix": "log-odds", "scale": SCALE}, "C": SCALE**2, "tol": 0.03, "n_jobs": 1}
#: Strength of the background in profiles, in letters.
BACKGROUND = 3.0


def truths(pairs: list[ProteinPair]) -> list[tuple[str, str]]:
    return [p.alignment for p in pairs]


class Data:
    """Capped pairs in groups by fold, with predicted structures and profiles."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.domains = [p for p in load_pairs("protein_align_scope_tmalign") if p.longest <= LONGEST]
        tests = capped(self.domains, MOST_TEST, rng)
        self.group = groups_of_folds(tests, N_GROUPS)
        many = capped(self.domains, MOST_TRAIN, rng)
        self.tests = [[p for p in tests if self.group[p.fold] == k] for k in range(N_GROUPS)]
        self.training = [[p for p in many if self.group[p.fold] == k] for k in range(N_GROUPS)]
        self.relatives: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for p in self.domains:
            for text, kind in zip(p.letters, p.classes, strict=True):
                if (text, kind) not in self.relatives[superfamily(kind)]:
                    self.relatives[superfamily(kind)].append((text, kind))
        self.aligned: dict[tuple[str, str], list[str]] = {}

    def without(self, k: int) -> list[ProteinPair]:
        """The training pairs of all groups but one."""
        return [p for j in range(N_GROUPS) if j != k for p in self.training[j]]

    def chains(self, k: int) -> tuple[list[str], list[str], list[int]]:
        """Distinct chains with known structure of all groups but one, their structures and groups."""
        found = {}
        for p in self.domains:
            if p.structures is not None and self.group.get(p.fold, k) != k:
                for text, kinds in zip(p.letters, p.structures, strict=True):
                    found[text] = (kinds, self.group[p.fold])
        return list(found), [kinds for kinds, _ in found.values()], [group for _, group in found.values()]

    def profile(self, model: Any, text: str, kind: str, partner: str) -> np.ndarray:
        """Return log odds of letters at each position, from relatives that a model aligns, without the partner."""
        order = sorted(self.relatives[superfamily(kind)], key=lambda item: item[1] != kind)
        others = [other for other, _ in order if other not in (text, partner)][:MOST_RELATIVES]
        missing = [other for other in others if (text, other) not in self.aligned]
        for other, rows in zip(missing, model.predict([(text, other) for other in missing]), strict=True):
            self.aligned[text, other] = [b for a, b in zip(*rows, strict=True) if a != "-"]
        return log_profile([list(text), *(self.aligned[text, other] for other in others)])


def superfamily(kind: str) -> str:
    return ".".join(kind.split(".")[:3])


def log_profile(rows: list[list[str]]) -> np.ndarray:
    """Return log odds of letters at each position, smoothed by the letters that BLOSUM62 expects there."""
    joint = matched_frequencies(LETTERS)
    assert joint is not None
    chance = joint.sum(axis=0)
    counts = np.zeros((len(rows[0]), len(LETTERS)))
    for row in rows:
        for i, letter in enumerate(row):
            if letter in LETTERS:
                counts[i, LETTERS.index(letter)] += 1.0
    total = counts.sum(axis=1, keepdims=True)
    seen = np.where(total > 0, counts / np.maximum(total, 1.0), chance)
    expected = seen @ (joint / chance[:, None])
    shares = (total * seen + BACKGROUND * expected) / (total + BACKGROUND)
    return np.log(shares / chance)


def weights(pairs: list[ProteinPair]) -> np.ndarray:
    """Return sample weights with which no fold counts more than `MOST_TEST` pairs."""
    sizes = Counter(p.fold for p in pairs)
    return np.array([min(1.0, MOST_TEST / sizes[p.fold]) for p in pairs])


def fitted(model: Any, X: list[Any], pairs: list[ProteinPair], **arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, truths(pairs), **arguments)


def one_group(data: Data, k: int, first: Any) -> tuple[dict[str, Any], float]:
    """Return alignments and CPU seconds of all models of the other groups for the test pairs of one, and Q3."""
    train, test = data.without(k), data.tests[k]
    letters, test_letters = [p.letters for p in train], [p.letters for p in test]
    found: dict[str, Any] = {}

    def add(name: str, model: Any, X: list[Any], X_test: list[Any], pairs: list[ProteinPair], **more: Any) -> None:
        clock = Clock()
        fitted(model, X, pairs, **more)
        predicted = model.predict(X_test)
        scores = [q_score(truths(test), predicted, tolerance).tolist() for tolerance in (4, 0)]
        size = len(model.coef_) if hasattr(model, "coef_") else None
        found[name] = {"q4": scores[0], "recall": scores[1], "cpu": clock.cpu, "weights": size}
        print(k, name, *(f"{100 * np.mean(s):.2f}" for s in scores), f"{clock.cpu:.0f} s", flush=True)

    few = [train[i] for i in np.random.default_rng(0).permutation(len(train))[:N_FEW]]
    some: dict[str, Any] = {"X": [p.letters for p in few], "X_test": test_letters, "pairs": few}
    everything: dict[str, Any] = {"X": letters, "X_test": test_letters, "pairs": train}
    add("BLOSUM62, tuned gaps", mm.MatrixAligner(n_tune=None), **everything)
    add("log odds", mm.LogOddsAligner(n_tune=None), **everything)
    add(f"log odds, {N_FEW} pairs", mm.LogOddsAligner(), **some)
    add(f"PairwiseAligner(), {N_FEW} pairs", mm.PairwiseAligner(n_jobs=1), **some, groups=[p.fold for p in few])
    by_fold = weights(train)
    add("Simple", mm.PairwiseAligner("global", "simple", **RECIPE), **everything, sample_weight=by_fold)
    add("Window", mm.PairwiseAligner(**RECIPE), **everything, sample_weight=by_fold)
    chains, kinds, groups = data.chains(k)
    annotate = mm.position_annotator(chains, kinds, groups=groups, n_folds=N_GROUPS - 1)
    X, X_test = annotate.pairs(letters, [data.group[p.fold] for p in train]), annotate.pairs(test_letters)
    add("Window, predicted structure", mm.PairwiseAligner(**RECIPE), X, X_test, train, sample_weight=by_fold)

    def with_profiles(pairs: list[ProteinPair]) -> list[Any]:
        return [tuple(with_profile(p, side) for side in range(2)) for p in pairs]

    def with_profile(p: ProteinPair, side: int) -> dict[str, Any]:
        text, partner = p.letters[side], p.letters[1 - side]
        return {"sequence": text, "profile": data.profile(first, text, p.classes[side], partner)}

    fewer = [p for j in range(N_GROUPS) if j != k for p in data.tests[j]]
    fewer = [fewer[i] for i in np.random.default_rng(0).permutation(len(fewer))[:N_PROFILES]]
    for name, features, make in (("Window", "window", None), ("Profile", "profile", with_profiles)):
        model = mm.PairwiseAligner("global", features, window=3, **RECIPE)
        inputs = [make(pairs) if make else [p.letters for p in pairs] for pairs in (fewer, test)]
        add(f"{name}, reach 3, {N_PROFILES} pairs", model, inputs[0], inputs[1], fewer)
    known = [(t, s) for p in test if p.structures is not None for t, s in zip(p.letters, p.structures, strict=True)]
    tables = annotate.probabilities([text for text, _ in known])
    right = [annotate.labels[j] == c for table_, (_, s) in zip(tables, known, strict=True)
             for j, c in zip(table_.argmax(axis=1).tolist(), s, strict=True)]  # fmt: skip
    return found, float(np.mean(right))


def scope(data: Data, results: list[tuple[dict[str, Any], float]]) -> dict[str, Any]:
    """Return the figures of all models over the test pairs of all test groups."""
    pooled: dict[str, Any] = {}
    for found, _ in results:
        for name, row in found.items():
            whole = pooled.setdefault(name, {"q4": [], "recall": [], "cpu": 0.0, "weights": row["weights"]})
            whole["cpu"] += row["cpu"]
            whole["q4"] += row["q4"]
            whole["recall"] += row["recall"]
    models = {name: summary(row, pooled["BLOSUM62, tuned gaps"]) for name, row in pooled.items()}
    sizes = {"train": [len(g) for g in data.training], "test": [len(g) for g in data.tests], "folds": len(data.group)}
    return {"models": models, "q3": [right for _, right in results], **sizes}


def summary(row: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return means and differences from the baseline, with 95 % intervals over pairs."""
    out: dict[str, Any] = {key: row[key] for key in ("cpu", "weights")}
    for measure in ("q4", "recall"):
        scores, gain = np.array(row[measure]), np.array(row[measure]) - np.array(base[measure])
        out[measure] = float(scores.mean())
        out[f"{measure} gain"] = [float(gain.mean()), float(1.96 * gain.std(ddof=1) / np.sqrt(len(gain)))]
    return out


def malidup() -> dict[str, Any]:
    doubles = [p for p in load_pairs("protein_align_malidup") if p.longest <= LONGEST]
    doubles = [doubles[i] for i in np.random.default_rng(0).permutation(len(doubles))]
    halves = [doubles[: len(doubles) // 2], doubles[len(doubles) // 2 :]]
    convex: dict[str, Any] = {"prior": None, "bound": "margin", "C": 0.0001, "tol": 0.03, "n_jobs": 1}
    models: dict[str, tuple[bool, Any]] = {
        "BLOSUM62, tuned gaps": (False, lambda: mm.MatrixAligner(n_tune=None)),
        "log odds, letters": (False, mm.LogOddsAligner),
        "Window, letters": (False, lambda: mm.PairwiseAligner(**RECIPE)),
        "log odds, structure": (True, mm.LogOddsAligner),
        "Simple, structure": (True, lambda: mm.PairwiseAligner("global", "simple", **RECIPE)),
        "Anova2 (= Tensor), structure": (True, lambda: mm.PairwiseAligner("global", "anova2", **RECIPE)),
        "Window, structure": (True, lambda: mm.PairwiseAligner(**RECIPE)),
        "Window, structure, convex, no prior": (
            True,
            lambda: mm.PairwiseAligner("global", "window", window=3, **convex),
        ),
    }
    rows: dict[str, Any] = {}
    for name, (structures, make) in models.items():
        row = rows[name] = {"q4": [], "recall": [], "cpu": 0.0, "weights": None}
        for train, test in (halves, halves[::-1]):
            clock = Clock()
            model = fitted(make(), [p.records if structures else p.letters for p in train], train)
            predicted = model.predict([p.records if structures else p.letters for p in test])
            row["cpu"] += clock.cpu
            row["weights"] = len(model.coef_) if hasattr(model, "coef_") else None
            row["q4"] += q_score(truths(test), predicted).tolist()
            row["recall"] += q_score(truths(test), predicted, 0).tolist()
        print(name, np.mean(row["q4"]), np.mean(row["recall"]), flush=True)
    base = rows["BLOSUM62, tuned gaps"]
    return {"pairs": len(doubles), "models": {name: summary(row, base) for name, row in rows.items()}}


def run() -> dict[str, Any]:
    data = Data()
    first = mm.LogOddsAligner().fit([p.letters for p in data.training[0]], truths(data.training[0]))
    with ProcessPoolExecutor(N_GROUPS) as pool:
        doubles = pool.submit(malidup)
        tasks = [pool.submit(one_group, data, k, first) for k in range(1, N_GROUPS)]
        return {"malidup": doubles.result(), "scope": scope(data, [task.result() for task in tasks])}


def rows_of(models: dict[str, Any]) -> list[list[Any]]:
    def both(values: list[float]) -> str:
        return f"{100 * values[0]:+.1f} ± {100 * values[1]:.1f}"

    return [
        [name, f"{100 * row['q4']:.1f}", f"{100 * row['recall']:.1f}", both(row["q4 gain"]), both(row["recall gain"]),
         row["weights"], f"{row['cpu']:.0f}"]
        for name, row in models.items()
    ]  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    """Return the scores of all models for each set."""
    sets, head = result["scope"], ["model", "Q4", "recall", "Q4 gain", "recall gain", "weights", "CPU s"]
    return (
        "# Alignments of proteins by features (Joachims et al. 2009, figure 6)\n\n"
        "Q4-scores and recall in percent; gains over BLOSUM62 with tuned gaps, pair by pair, with 95 % intervals over "
        f"pairs. Pairs of up to {LONGEST} residues.\n\n"
        f"## SCOPe, {sum(sets['test'][1:])} test pairs of three groups\n\n"
        f"At most {MOST_TEST} test and {MOST_TRAIN} training pairs of each of {sets['folds']} SCOP folds, in four "
        f"groups without common folds ({', '.join(map(str, sets['test']))} test pairs). Group 0 served all choices; "
        f"each of groups 1, 2 and 3 is tested with models of the other three. Models have the ramp, {RECIPE['prior']} "
        f"and C = {RECIPE['C']:.4g}; `PairwiseAligner()` with {N_FEW} pairs has no parameters but the defaults. The "
        f"tagger of predicted structure has Q3 {', '.join(f'{v:.2f}' for v in sets['q3'])} on chains of these groups. "
        f"Profiles are not those of a search in a data base: they consist of at most {MOST_RELATIVES} other domains of "
        f"the same SCOP superfamily in these data, aligned by log odds of group 0, without the partner of the pair "
        f"(leave-one-out)."
        "\n\n" + table(head, rows_of(sets["models"])) + f"\n\n## MALIDUP, {result['malidup']['pairs']} test pairs\n\n"
        "Two halves, each tested with models of the other, with known secondary structure where stated; "
        "MALIDUP has no accessibility, so Tensor is Anova2.\n\n" + table(head, rows_of(result["malidup"]["models"]))
    )


if __name__ == "__main__":
    publish("p2_alignment", run, markdown)
