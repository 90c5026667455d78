"""Decisions of least risk of parsers: attachment of dependency trees and labelled F1 of constituents.

Each model is trained once; its test sentences are parsed by the best tree (map) and by the tree of least expected loss
(risk), whose arcs or constituents are the most probable ones. Max-margin models have ``temperature="auto"``, for which
two more models are trained on halves of the data. Dependencies: UD English EWT 2.16, gold words and tags, the first
sentences of the training part, C = 0.1. Constituents: craft_treebank, random training sentences of at most 15 tokens
with features of constituents, C = 0.1. Nothing is chosen on the test sentences.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.treebanks import load_craft
from benchmarks.dependency import attachment, load
from benchmarks.measure import Clock, isolated
from benchmarks.papers.p1_grammar import C_SPANS, LONGEST
from benchmarks.report import table
from maxmargin.metrics.calibration import decision_confidences, expected_calibration_error

#: Training sentences.
N_DEPENDENCIES, N_CONSTITUENTS = 400, 400
C_DEPENDENCIES = 0.1
BOUNDS = ("margin", "likelihood")


def temperature_of(bound: str) -> Any:
    return "auto" if bound == "margin" else 1.0


def dependencies(bound: str) -> dict[str, Any]:
    """Return attachment scores on test by both decisions."""
    train, test = load("train")[:N_DEPENDENCIES], load("test")
    settings: dict[str, Any] = {"bound": bound, "n_jobs": 1, "tol": 0.03}
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.DependencyParser(C=C_DEPENDENCIES, temperature=temperature_of(bound), **settings).fit(train)
    cpu = clock.cpu
    scores = {}
    for decode in ("map", "risk"):
        model.decode = decode
        scores[decode] = attachment(test, model.predict(test))
    error = expected_calibration_error(*decision_confidences(model, test, true_heads(test)))
    return {
        "C": C_DEPENDENCIES, "map": scores["map"]["all"], "risk": scores["risk"]["all"],
        "map, whole": scores["map"]["trees"], "risk, whole": scores["risk"]["trees"],
        "temperature": model.temperature_, "calibration_error": error, "cpu": cpu,
    }  # fmt: skip


def true_heads(sentences: list[Any]) -> list[list[int]]:
    return [[token["head"] for token in sentence if isinstance(token["id"], int)] for sentence in sentences]


def constituents(bound: str) -> dict[str, Any]:
    """Return evalb's F1 and whole trees on test by both decisions."""
    train, test = load_craft("train", LONGEST), load_craft("test", LONGEST)
    train = [train[i] for i in np.random.default_rng(0).permutation(len(train))[:N_CONSTITUENTS]]
    model = mm.ConstituencyParser(
        loss="constituents", bound=bound, C=C_SPANS, tol=0.03, leaves="words", n_jobs=1,
        temperature=temperature_of(bound),
    )  # fmt: skip
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train)
    cpu, found = clock.cpu, dict[str, float]()
    for decode in ("map", "risk"):
        model.decode = decode
        scores = model.bracket_scores(test)
        found |= {decode: 100 * scores.f1, f"{decode}, whole": 100 * scores.exact}
    return {**found, "C": C_SPANS, "temperature": model.temperature_, "cpu": cpu}


def run() -> dict[str, Any]:
    rows = {}
    for bound in BOUNDS:
        rows[f"constituents (F1), {bound}"] = isolated(constituents, bound)
        rows[f"dependencies (UAS), {bound}"] = isolated(dependencies, bound)
        print({name: (row["map"], row["risk"]) for name, row in rows.items()}, flush=True)
    return {"rows": dict(sorted(rows.items()))}


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [name, row["C"], f"{row['map']:.2f}", f"{row['risk']:.2f}", f"{row['map, whole']:.2f}",
         f"{row['risk, whole']:.2f}", f"{row['temperature']:.2f}",
         f"{row['calibration_error']:.3f}" if "calibration_error" in row else None, f"{row['cpu']:.0f}"]
        for name, row in result["rows"].items()
    ]  # fmt: skip
    head = ["task, bound", "C", "best tree", "least risk", "whole trees, best", "whole trees, least risk", "T",
            "calibration error", "training CPU s"]  # fmt: skip
    return (
        f"# Parsers and risk\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n{N_DEPENDENCIES} and {N_CONSTITUENTS} "
        f"training sentences.\n\n{table(head, rows)}"
    )
