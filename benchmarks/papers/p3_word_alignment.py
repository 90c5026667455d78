"""Word alignment as a bipartite matching (Taskar, Lacoste-Julien and Klein 2005), English-French Hansards.

Training: the first 100 annotated sentence pairs of the test set; validation: the 37 trial pairs; test: the other 347.
Features of a pair of words: Dice coefficients of their co-occurrence in 25,000 sentence pairs without annotation (the
paper has 1.1 million), those of their left and right neighbours, the distance of their relative positions, equal words
and prefixes, lengths, and whether they are frequent. A word may stay without partner, with a learnt score. The true
matching is a largest one of sure links; a false link costs 1 if it is not even possible, a missed one `MISSED`, as the
paper weighs recall higher. Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.matchings import SentencePair, load_hansards, load_hansards_bitext
from benchmarks.papers import publish
from benchmarks.report import table

C_VALUES, MISSED = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1), 3.0
#: (links of an English word, links of a French word)
DEGREES = ((1, 1), (2, 2))
GROUPS = ("Dice", "Dice, neighbours", "Dice, neighbours, position", "all")


class Association:
    """Dice coefficients 2 n_ef / (n_e + n_f) of words in a bitext, by sentences."""

    def __init__(self) -> None:
        self.english: Counter[str] = Counter()
        self.french: Counter[str] = Counter()
        self.both: Counter[tuple[str, str]] = Counter()
        for e, f in zip(*load_hansards_bitext(), strict=True):
            left, right = {w.lower() for w in e}, {w.lower() for w in f}
            self.english.update(left)
            self.french.update(right)
            self.both.update((a, b) for a in left for b in right)

    def dice(self, e: str, f: str) -> float:
        together = self.both.get((e, f), 0)
        return 2.0 * together / (self.english[e] + self.french[f]) if together else 0.0


def pair_features(pair: SentencePair, words: Association, group: str) -> np.ndarray:
    """Return the features of all pairs of words, (English, French, d)."""
    e, f = [w.lower() for w in pair.english], [w.lower() for w in pair.french]
    dice = np.array([[words.dice(a, b) for b in f] for a in e])
    columns = [np.ones_like(dice), dice, dice**2, dice > 0.3, dice == dice.max(axis=1, keepdims=True),
               dice == dice.max(axis=0, keepdims=True)]  # fmt: skip
    if group != "Dice":
        padded = np.pad(dice, 1)
        columns += [padded[2:, 2:], padded[:-2, :-2]]
    if "position" in group or group == "all":
        gap = np.abs(np.arange(len(e))[:, None] / len(e) - np.arange(len(f)) / len(f))
        columns += [gap, gap**2, gap**0.5, dice * gap]
    if group == "all":
        alike = np.array([[a == b for b in f] for a in e], float)
        prefix = np.array([[len(a) > 4 and a[:4] == b[:4] for b in f] for a in e], float)
        sizes = np.abs(np.log(np.array([len(a) for a in e]))[:, None] - np.log([len(b) for b in f]))
        sign = np.array([[not a.isalnum() and a == b for b in f] for a in e], float)
        common = np.array([[words.english[a] > 1000 for b in f] for a in e], float)
        other = np.array([[words.french[b] > 1000 for b in f] for a in e], float)
        columns += [alike, prefix, sizes, sign, common, other, common * other]
    return np.stack([np.asarray(c, float) for c in columns], axis=2)


def largest_matching(pair: SentencePair, degrees: tuple[int, int]) -> list[Any]:
    """Return as many sure links as a matching can have."""
    shape = len(pair.english), len(pair.french)
    x = np.full((*shape, 1), -1.0)
    for link in pair.sure:
        x[link] = 1.0
    structure = mm.BipartiteMatching(per_left=degrees[0], per_right=degrees[1], unassigned=True)
    structure.fit([x], [[-1] * shape[0] if degrees[0] == 1 else [[]] * shape[0]])
    return structure.argmax(np.array([1.0, 0.0]), x)


def target(pair: SentencePair, degrees: tuple[int, int]) -> mm.PartCosts:
    """Return a true matching with the costs of false and missed links."""
    false = np.ones((len(pair.english), len(pair.french)))
    for link in pair.possible:
        false[link] = 0.0
    return mm.PartCosts(largest_matching(pair, degrees), false, MISSED)


def links(y: list[Any]) -> set[tuple[int, int]]:
    return {(i, k) for i, given in enumerate(y) for k in (given if isinstance(given, list) else [given]) if k >= 0}


def error_rate(pairs: list[SentencePair], predicted: list[Any]) -> dict[str, float]:
    """Return the alignment error rate, precision by possible and recall by sure links."""
    found = [links(y) for y in predicted]
    size, sure = sum(map(len, found)), sum(len(p.sure) for p in pairs)
    in_sure = sum(len(a & p.sure) for a, p in zip(found, pairs, strict=True))
    in_possible = sum(len(a & p.possible) for a, p in zip(found, pairs, strict=True))
    return {
        "aer": 1.0 - (in_sure + in_possible) / (size + sure),
        "precision": in_possible / max(size, 1),
        "recall": in_sure / sure,
    }


def unlearnt(validation: list[SentencePair], test: list[SentencePair], words: Association) -> dict[str, float]:
    """Return the figures of matchings by Dice alone, with the threshold that is best on the validation pairs."""
    structure = mm.BipartiteMatching(unassigned=True).fit([np.ones((1, 1, 1))], [[0]])

    def predicted(pairs: list[SentencePair], threshold: float) -> list[Any]:
        inputs = [np.array([[words.dice(a.lower(), b.lower()) for b in p.french] for a in p.english]) for p in pairs]
        return [structure.argmax(np.array([1.0, threshold]), x[:, :, None]) for x in inputs]

    thresholds = np.linspace(0.0, 0.5, 26)
    best = min(thresholds, key=lambda t: error_rate(validation, predicted(validation, float(t)))["aer"])
    return error_rate(test, predicted(test, float(best))) | {"threshold": float(best)}


def learnt(
    parts: dict[str, list[SentencePair]], words: Association, group: str, degrees: tuple[int, int]
) -> dict[str, float]:
    inputs = {name: [pair_features(pair, words, group) for pair in pairs] for name, pairs in parts.items()}
    Y = [target(pair, degrees) for pair in parts["train"]]
    structure = mm.BipartiteMatching(per_left=degrees[0], per_right=degrees[1], unassigned=True)
    models = [mm.StructuralSVM(structure, C=C, tol=1e-2, n_jobs=1).fit(inputs["train"], Y) for C in C_VALUES]
    rates = [error_rate(parts["validation"], model.predict(inputs["validation"]))["aer"] for model in models]
    model, C = models[int(np.argmin(rates))], C_VALUES[int(np.argmin(rates))]
    return error_rate(parts["test"], model.predict(inputs["test"])) | {"C": C}


def run() -> dict[str, Any]:
    pairs, words = load_hansards("test"), Association()
    parts = {"train": pairs[:100], "validation": load_hansards("trial"), "test": pairs[100:]}
    rows = {"Dice, not learnt": unlearnt(parts["validation"], parts["test"], words)}
    for group in GROUPS:
        rows[f"{group}, one to one"] = learnt(parts, words, group, DEGREES[0])
    rows["all, up to two links per word"] = learnt(parts, words, "all", DEGREES[1])
    limits = {
        f"largest matching of sure links, {name}": error_rate(
            parts["test"], [largest_matching(pair, degrees) for pair in parts["test"]]
        )
        for name, degrees in zip(("one to one", "up to two links per word"), DEGREES, strict=True)
    }
    return {"models": rows, "limits": limits}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures on the test pairs."""
    rows = [
        [name, *(f"{found[key]:.3f}" for key in ("aer", "precision", "recall")), found.get("C")]
        for name, found in {**result["models"], **result["limits"]}.items()
    ]
    return (
        "# Word alignment of the Hansards\n\n347 test sentence pairs; alignment error rate, precision by possible "
        "links, recall by sure links.\n\n" + table(["model", "AER", "precision", "recall", "C"], rows)
        + "\n\nOur Dice coefficients are from 25,000 sentence pairs, those of the paper from 1.1 million, so its "
        "error rates are not comparable. The last rows are what "
        "perfect scores would reach: some words have several sure links, which a matching cannot have."
    )  # fmt: skip


if __name__ == "__main__":
    publish("p3_word_alignment", run, markdown)
