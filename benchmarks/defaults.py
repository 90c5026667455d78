"""How the defaults were chosen: C and tol of taggers and C of classifiers, on held-out parts of real data."""

from __future__ import annotations

import gzip
from typing import Any

import maxmargin as mm
from benchmarks import default_classifiers
from benchmarks.conll import FEATURES, f1, load
from benchmarks.measure import isolated
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

CS = (0.01, 0.03, 0.1, 0.3, 1.0)
TOLS = (0.1, 0.03, 0.01, 0.003)
#: Sentences of UD English to learn from.
SENTENCES = 5000


def entities() -> dict[str, Any]:
    """Return F1 with three sets of features, of about 13, 23 and 30 per token; with the second also by tol."""
    parts = {part: mm.datasets.load_conll2002(part) for part in ("train", "testa")}
    by_C: dict[str, Any] = {}
    makers: dict[str, Any] = {**FEATURES, "templates": mm.TokenTemplates()}
    for name, make in makers.items():
        X, tests = ([make(sentence) for sentence in parts[part][0]] for part in parts)
        for C in CS:
            model = mm.SequenceTagger(C=C, tol=0.01).fit(X, parts["train"][1])
            by_C.setdefault(str(C), {})[name] = f1(parts["testa"][1], model.predict(tests))
    return {"C": by_C, "tol": tolerances(*load("train", "rich"), *load("testa", "rich"))}


def tolerances(X: Any, Y: Any, tests: Any, truth: Any) -> dict[str, list[float]]:
    by_tol = {}
    for tol in TOLS:
        model = mm.SequenceTagger(tol=tol).fit(X, Y)
        by_tol[str(tol)] = [f1(truth, model.predict(tests)), model.certificate_.oracle_calls / len(X)]
    return by_tol


def letters() -> dict[str, Any]:
    """Return the share of right letters: folds 1–8 for training, fold 9 held out (fold 0, for tests, is not used)."""
    X, Y = mm.datasets.load_ocr_letters(set(range(1, 9)))
    held = mm.datasets.load_ocr_letters({9})
    by_C, by_tol = {}, {}
    for C in CS:
        by_C[str(C)] = 100 * mm.SequenceTagger(C=C, tol=0.01).fit(X, Y).score(*held)
    for tol in TOLS:
        model = mm.SequenceTagger(tol=tol).fit(X, Y)
        by_tol[str(tol)] = [100 * model.score(*held), model.certificate_.oracle_calls / len(X)]
    return {"C": by_C, "tol": by_tol}


def tagged_words(part: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return words and universal tags of UD English."""
    X: list[list[str]] = [[]]
    Y: list[list[str]] = [[]]
    with gzip.open(data_folder("ud_english_ewt") / f"en_ewt-ud-{part}.conllu.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns == [""]:
                X.append([])
                Y.append([])
            elif columns[0].isdigit():
                X[-1].append(columns[1])
                Y[-1].append(columns[3])
    return X[:-1], Y[:-1]


def tags() -> dict[str, Any]:
    """Return the share of right tags of UD English's dev part, with our templates."""
    X, Y = tagged_words("train")
    held, truth = tagged_words("dev")
    by_C = {}
    for C in CS:
        model = mm.ColumnTagger(C=C, tol=0.01).fit(X[:SENTENCES], Y[:SENTENCES])
        by_C[str(C)] = 100 * model.score(held, truth)
    return {"C": by_C}


def run() -> dict[str, Any]:
    tasks = {"classifiers": default_classifiers.classifiers, "tags": tags, "letters": letters, "entities": entities}
    return {name: isolated(task) for name, task in tasks.items()}


def markdown(result: dict[str, Any]) -> str:
    entities_, letters_, tags_ = result["entities"], result["letters"], result["tags"]
    classifiers = {name: case for name, case in result["classifiers"].items() if name != "peak_mb"}
    sets = *FEATURES, "templates"
    by_C = [[C, *entities_["C"][str(C)].values(), letters_["C"][str(C)], tags_["C"][str(C)]] for C in CS]
    by_tol = [
        [
            tol,
            *(
                value
                for part in (entities_, letters_)
                for value in (part["tol"][str(tol)][0], round(part["tol"][str(tol)][1]))
            ),
        ]
        for tol in TOLS
    ]
    return (
        "# Defaults\n\n## SequenceTagger\n\nCoNLL-2002 Spanish (train, F1 on testa; three sets of features) and OCR "
        "letters (folds 1–8, letters right in fold 9), UD English (5,000 sentences of train with our templates, "
        "universal tags right in dev), loss = number of wrong tokens. Every fit starts from w = 0. "
        "The fits with templates in [conll.md](conll.md) are a path with warm starts: the same C and `tol`, but other "
        "weights within this tolerance.\n\n"
        + table(["C (tol = 0.01)", *(f"entity F1, {name}" for name in sets), "letters right %", "tags right %"], by_C)
        + "\n\n"
        + table(["tol (default C)", "entity F1, rich", "sweeps", "letters right %", "sweeps"], by_tol)
        + "\n\n"
        + default_classifiers.markdown(classifiers)
    )
