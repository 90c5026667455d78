"""Relations of dependency trees on UD English EWT: labelled attachment, and the CPU of the second stage.

The trees are those of the benchmark `dependency` at its chosen C. Gold words and tags, one thread.
"""

from __future__ import annotations

from typing import Any

import maxmargin as mm
from benchmarks.dependency import attachment, load
from benchmarks.measure import Clock, isolated
from benchmarks.report import table


def labelled() -> dict[str, Any]:
    train, clock = load("train"), Clock()
    model = mm.DependencyParser(labelled=True, seen_pairs=False, n_jobs=1).fit(train)
    result: dict[str, Any] = {"cpu": clock.cpu, "sentences": len(train), "classes": len(relations(train))}
    for part in ("dev", "test"):
        sentences = load(part)
        clock = Clock()
        predicted = model.predict_labelled(sentences)
        result[f"{part}_cpu_ms"] = 1000 * clock.cpu / len(sentences)
        heads = [[head for head, _ in y] for y in predicted]
        result[part] = {"unlabelled": attachment(sentences, heads)["all"]} | attached(sentences, predicted)
    return result


def words(sentences: list[Any]) -> list[Any]:
    return [token for sentence in sentences for token in sentence if isinstance(token["id"], int)]


def relations(sentences: list[Any]) -> set[str]:
    return {word["deprel"] for word in words(sentences)}


def attached(sentences: list[Any], predicted: list[Any]) -> dict[str, float]:
    """Return the labelled attachment in per cent: whole relations, and without what follows a colon."""
    pairs = [pair for y in predicted for pair in y]
    whole = [(word["head"], word["deprel"]) == pair for word, pair in zip(words(sentences), pairs, strict=True)]
    coarse = [
        word["head"] == head and word["deprel"].split(":")[0] == relation.split(":")[0]
        for word, (head, relation) in zip(words(sentences), pairs, strict=True)
    ]
    return {"labelled": 100 * sum(whole) / len(whole), "universal": 100 * sum(coarse) / len(coarse)}


def run() -> dict[str, Any]:
    return isolated(labelled)


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [part, *(f"{result[part][name]:.2f}" for name in ("unlabelled", "labelled", "universal")),
         result[f"{part}_cpu_ms"]]
        for part in ("dev", "test")
    ]  # fmt: skip
    return (
        f"# Relations of dependency trees\n\nUD English EWT 2.16, {result['sentences']} training sentences, "
        f"{result['classes']} relations, `DependencyParser(labelled=True, seen_pairs=False)`, gold words and tags, one "
        f"thread: {result['cpu']:.0f} CPU s for both stages. Attachment in per cent of all words.\n\n"
        + table(["", "UAS", "LAS", "LAS without subtypes", "parsing, ms per sentence"], rows)
    )
