"""Likelihood beside the margin: speed against CRFsuite, and what decisions by marginals gain on three tasks.

Speed: CoNLL-2002 Spanish with CRFsuite's own model (weights of seen pairs of feature and label, all transitions, no
constant, no start and end weights), c2 = 1, i.e. C = 1 / (2 c2). CRFsuite runs 100 iterations of L-BFGS; we run until
the objective is at most the one that it reached, which is recomputed from its saved weights. Marginals are timed on
the sentences of testb; CRFsuite's include the look-up of the names of features, and so do ours.

Tasks: for each bound C is chosen on development data by the accuracy of the best labelling; test data are scored once,
at that C, with ``temperature="auto"`` except for the likelihood. Named entities: CoNLL-2002 (train, testa, testb).
Letters: OCR folds 2–9, 1, 0. Secondary structure: protein chains of disulfide_top2018 with DSSP strings, letters in a
window of 15, folds 0 and 1, 2, 3 (folds never share a cluster of similar sequences).
"""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated, train_crfsuite
from benchmarks.report import table
from benchmarks.tokens import plain_features
from maxmargin.metrics.calibration import decision_confidences, expected_calibration_error
from maxmargin.metrics.entities import entity_f1

C2 = 1.0
ITERATIONS = 100
C_VALUES = (0.01, 0.03, 0.1, 0.3, 1.0)
BOUNDS = ("margin", "softmax-margin", "likelihood")
WINDOW = 7


def conll(part: str) -> tuple[list[Any], list[Any]]:
    sentences, Y = mm.datasets.load_conll2002(part)
    return [plain_features(sentence) for sentence in sentences], Y


def speed() -> dict[str, Any]:
    """CPU seconds of CRFsuite's iterations, and ours to the same objective."""
    import pycrfsuite

    X, Y = conll("train")
    A, true_a = conll("testa")
    B, true_b = conll("testb")
    settings = {"C": 1 / (2 * C2), "seen_pairs": True, "start_end": False, "fit_intercept": False, "n_jobs": 1}
    mm.SequenceTagger(bound="likelihood", tol=0.5, **settings).fit(X[:50], Y[:50]).predict_marginals(X[:2])  # type: ignore[arg-type]
    with tempfile.NamedTemporaryFile() as file:
        theirs = train_crfsuite(
            X, Y, file.name, c1=0.0, c2=C2, max_iterations=ITERATIONS, **{"feature.possible_transitions": True}
        ).cpu_total  # type: ignore[attr-defined]
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        info = tagger.info()
        clock = Clock()
        labels = tagger.labels()
        for x in B:
            tagger.set(x)
            for t in range(len(x)):
                for label in labels:
                    tagger.marginal(label, t)
        their_marginals = clock.cpu
    probe = mm.SequenceTagger(bound="likelihood", max_iter=1, tol=1e9, **settings).fit(X, Y)  # type: ignore[arg-type]
    at = {name: j for j, name in enumerate(probe.feature_names_out)}
    w = np.zeros(len(probe.coef_))
    for (feature, label), value in {**info.state_features, **info.transitions}.items():
        w[at[f"{feature} → {label}"]] = value
    probe.coef_ = w
    target = C2 * float(w @ w) - float(probe.log_likelihood(X, Y).sum())
    reached: list[float] = []
    clock = Clock()

    def watch(step: Any) -> bool:
        if 2 * C2 * step.certificate.primal <= target:
            reached.append(step.iteration)
        return bool(reached)

    model = mm.SequenceTagger(bound="likelihood", tol=1e-6, callbacks=[watch], **settings).fit(X, Y)  # type: ignore[arg-type]
    ours = clock.cpu
    clock = Clock()
    model.predict_marginals(B)
    our_marginals = clock.cpu
    proven = mm.SequenceTagger(bound="likelihood", tol=1e-3, **settings).fit(X, Y)  # type: ignore[arg-type]

    def f1(tag: Any) -> dict[str, float]:
        return {
            part: 100 * float(entity_f1(y, tag(x)).f1) for part, x, y in (("testa", A, true_a), ("testb", B, true_b))
        }

    return {
        "objective": target, "crfsuite_cpu": theirs, "ours_cpu": ours, "iterations": int(reached[0]),
        "f1_crfsuite": f1(lambda X: [tagger.tag(x) for x in X]), "f1_ours": f1(model.predict),
        "marginals_crfsuite": their_marginals, "marginals_ours": our_marginals, "tokens": sum(map(len, B)),
        "proven": {
            "objective": 2 * C2 * proven.certificate_.primal, "gap": proven.certificate_.gap,
            "iterations": proven.n_iter_, "f1": f1(proven.predict),
        },
    }  # fmt: skip


def letters(folds: set[int]) -> tuple[list[Any], list[Any]]:
    return mm.datasets.load_ocr_letters(folds)


def proteins(folds: set[str]) -> tuple[list[Any], list[Any]]:
    """Letters around each residue as names, and the states H, E, C; residues that are not resolved stay in."""
    path = Path(os.environ["MAXMARGIN_DATA"]) / "disulfide_top2018" / "disulfide_top2018.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader((line.lstrip("#") for line in file), delimiter="\t"))
    X, Y = [], []
    for row in rows:
        if row["ss3"] == "-" or row["fold"] not in folds:
            continue
        letters = "^" * WINDOW + row["sequence"] + "$" * WINDOW
        X.append(
            [[f"{k - WINDOW}={letters[t + k]}" for k in range(2 * WINDOW + 1)] for t in range(len(row["sequence"]))]
        )
        Y.append(list(row["ss3"]))
    return X, Y


TASKS: dict[str, Any] = {
    "named entities (F1)": lambda: (conll("train"), conll("testa"), conll("testb")),
    "OCR letters (accuracy)": lambda: (letters(set(range(2, 10))), letters({1}), letters({0})),
    "secondary structure (Q3)": lambda: (proteins({"0", "1"}), proteins({"2"}), proteins({"3"})),
}


def measured(task: str, bound: str) -> dict[str, Any]:
    """Choose C on development data, then score the test data by the best labelling and by marginals."""
    train, dev, test = TASKS[task]()
    entities = "F1" in task

    def value(true: Any, found: Any) -> float:
        return 100 * float(entity_f1(true, found).f1 if entities else mm.metrics.token_accuracy(true, found))

    scores = {}
    for C in C_VALUES:
        model = mm.SequenceTagger(bound=bound, C=C, seen_pairs=entities).fit(*train)
        scores[C] = value(dev[1], model.predict(dev[0]))
    C = max(scores, key=lambda c: scores[c])
    clock = Clock()
    model = mm.SequenceTagger(
        bound=bound, C=C, seen_pairs=entities, temperature="auto" if bound != "likelihood" else 1.0
    )
    model.fit(*train)
    cpu = clock.cpu
    by_map, tokens = value(test[1], model.predict(test[0])), sum(map(len, test[1]))
    model.decode = "risk"
    by_risk = value(test[1], model.predict(test[0]))
    error = expected_calibration_error(*decision_confidences(model, *test))
    return {
        "C": C, "dev": scores, "map": by_map, "risk": by_risk, "temperature": model.temperature_, "cpu": cpu,
        "calibration_error": error, "log_likelihood": float(model.log_likelihood(*test).sum() / tokens),
    }  # fmt: skip


def run() -> dict[str, Any]:
    return {
        "speed": isolated(speed),
        "tasks": {task: {bound: isolated(measured, task, bound) for bound in BOUNDS} for task in TASKS},
    }


def markdown(result: dict[str, Any]) -> str:
    s = result["speed"]
    scores = (s["f1_crfsuite"], s["f1_ours"], s["proven"]["f1"])
    theirs, ours, proven = (f"{f1['testa']:.2f} / {f1['testb']:.2f}" for f1 in scores)
    lines = [
        f"CRFsuite's objective after {ITERATIONS} iterations is {s['objective']:.1f}: {s['crfsuite_cpu']:.1f} CPU s.",
        f"We reach it after {s['iterations']} steps, {s['ours_cpu']:.1f} CPU s, encoding included: "
        f"{s['crfsuite_cpu'] / s['ours_cpu']:.2f} × as fast.",
        f"F1 on testa / testb: CRFsuite {theirs}, ours {ours}; at a proven gap of 0.1 % {proven}",
        f"(objective {s['proven']['objective']:.1f}, {s['proven']['iterations']} steps).",
        f"Marginals of {s['tokens']} tokens from names of features: CRFsuite {s['marginals_crfsuite']:.2f} CPU s, ours",
        f"{s['marginals_ours']:.2f}: {s['marginals_crfsuite'] / s['marginals_ours']:.1f} × as fast.",
        "",
    ]
    rows = [
        [task, bound, r["C"], f"{r['map']:.2f}", f"{r['risk']:.2f}", f"{r['log_likelihood']:.3f}",
         f"{r['calibration_error']:.3f}", f"{r['temperature']:.2f}", f"{r['cpu']:.1f}"]
        for task, bounds in result["tasks"].items()
        for bound, r in bounds.items()
    ]  # fmt: skip
    header = [
        "task",
        "bound",
        "C",
        "best labelling",
        "least risk",
        "log-likelihood per token",
        "calibration error",
        "T",
        "CPU s",
    ]
    return "\n".join(lines) + table(header, rows)
