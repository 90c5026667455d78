"""Dependency trees on UD English EWT: all 12,544 training sentences, gold words and tags, unlabelled attachment.

C is chosen on dev from three values; test is scored only at the chosen C, for the perceptron with the same features
(its number of epochs chosen on dev), and for projective trees at the same C. One thread.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated
from benchmarks.report import table
from maxmargin.datasets.real import data_folder
from maxmargin.formats.conllu import read_conllu

C_VALUES = (0.01, 0.03, 0.1)
EPOCHS = (5, 10)


def load(part: str) -> list[Any]:
    return read_conllu(data_folder("ud_english_ewt") / f"en_ewt-ud-{part}.conllu.gz")


def heads_and_marks(sentences: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the true heads of all words, and which words are punctuation."""
    words = [token for sentence in sentences for token in sentence if isinstance(token["id"], int)]
    heads = np.array([word["head"] for word in words])
    return heads, np.array([word["upos"] == "PUNCT" for word in words])


def attachment(sentences: list[Any], predicted: list[list[int]]) -> dict[str, float]:
    """Return the attachment score in per cent: of all words, and without punctuation; and the share of whole trees."""
    heads, marks = heads_and_marks(sentences)
    right = heads == np.concatenate(predicted)
    ends = np.cumsum([len(y) for y in predicted])[:-1]
    whole = np.mean([some.all() for some in np.split(right, ends)])
    return {"all": 100 * right.mean(), "words": 100 * right[~marks].mean(), "trees": 100 * float(whole)}


def trained(parameters: dict[str, Any]) -> dict[str, Any]:
    """Train on all sentences; return CPU seconds, the certificate, and the scores on dev and test."""
    small = [(["a", "b", "c"], [2, 0, 2])] * 8
    mm.DependencyParser(**{**parameters, "max_iter": 2, "tol": 0.5}).fit(small).predict([small[0][0]])  # loads code
    clock = Clock()
    train = load("train")
    reading = clock.cpu
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the perceptron does not close the gap
        model = mm.DependencyParser(n_jobs=1, **parameters).fit(train)
    result: dict[str, Any] = {"reading_cpu": reading, "fit_cpu": clock.cpu, "sentences": len(train)}
    certificate = model.certificate_
    result |= {"gap": certificate.gap, "sweeps": certificate.oracle_calls / len(train), "weights": len(model.coef_)}
    for part in ("dev", "test"):
        sentences = load(part)
        clock = Clock()
        predicted = model.predict(sentences)
        result[f"{part}_cpu_ms"] = 1000 * clock.cpu / len(sentences)
        result[part] = attachment(sentences, predicted)
    return result


def run() -> dict[str, Any]:
    fits = {str(C): isolated(trained, {"C": C}) for C in C_VALUES}
    chosen = max(C_VALUES, key=lambda C: fits[str(C)]["dev"]["all"])
    perceptrons = {str(k): isolated(trained, {"solver": "perceptron", "max_iter": k}) for k in EPOCHS}
    projective = isolated(trained, {"C": chosen, "projective": True, "lift": True})
    for result in (*(fits[str(C)] for C in C_VALUES if chosen != C), *others(perceptrons)):
        del result["test"]
    return {"C": chosen, "fits": fits, "perceptrons": perceptrons, "projective": projective}


def others(perceptrons: dict[str, Any]) -> list[Any]:
    """Return the results of the numbers of epochs that are not the best on dev."""
    best = max(perceptrons.values(), key=lambda result: result["dev"]["all"])
    return [result for result in perceptrons.values() if result is not best]


def markdown(result: dict[str, Any]) -> str:
    rows = [row(f"max-margin, C = {C}", fit) for C, fit in result["fits"].items()]
    rows += [row(f"averaged perceptron, {k} epochs", fit) for k, fit in result["perceptrons"].items()]
    rows.append(row(f"projective (Eisner), C = {result['C']}", result["projective"]))
    head = ["", "dev UAS", "test UAS", "test without punctuation", "test, whole trees", "training CPU s",
            "ms per sentence", "parsing, ms per sentence", "sweeps", "gap", "peak MB"]  # fmt: skip
    first = next(iter(result["fits"].values()))
    return (
        f"# Dependency trees\n\nUD English EWT 2.16, all {first['sentences']} training sentences, gold words and gold "
        f"tags (UPOS and XPOS), {first['weights']} weights, one thread. Unlabelled attachment in per cent; all words "
        f"count, punctuation included, except in one column. C and epochs are chosen on dev; test is scored only at "
        f"the chosen values. Training includes the encoding of all arcs, but not reading the file by the conllu "
        f"package ({first['reading_cpu']:.0f} CPU s). Projective trees: true trees lifted in training.\n\n"
        + table(head, rows)
    )


def row(name: str, fit: dict[str, Any]) -> list[Any]:
    test = fit.get("test", {})
    shown = [f"{fit['dev']['all']:.2f}", *(f"{test[k]:.2f}" if test else None for k in ("all", "words", "trees"))]
    cpu = [round(fit["fit_cpu"]), 1000 * fit["fit_cpu"] / fit["sentences"], fit["dev_cpu_ms"]]
    return [name, *shown, *cpu, round(fit["sweeps"]), f"{fit['gap']:.1e}", round(fit["peak_mb"])]
