"""CoNLL-2002 Spanish: all of train, the same feature strings as CRFsuite; then the tagger's own templates."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated, tag_crfsuite, train_crfsuite
from benchmarks.report import table
from benchmarks.tokens import plain_features
from maxmargin.metrics.entities import entity_f1

CHOICES = (0.03, 0.05, 0.1, 0.2)


def load(part: str) -> tuple[list[Any], list[Any]]:
    sentences, Y = mm.datasets.load_conll2002(part)
    return [plain_features(sentence) for sentence in sentences], Y


def f1(Y: Any, Y_hat: Any) -> float:
    return 100 * float(entity_f1(Y, Y_hat).f1)


def warm_up() -> None:
    mm.SequenceTagger(tol=0.5, n_jobs=1).fit([[["a"], ["b"]]] * 20, [["x", "y"]] * 20).predict([[["a"]]])


def ours() -> dict[str, Any]:
    """Default settings, one thread; the clock runs over encoding and training."""
    X, Y = load("train")
    warm_up()
    clock = Clock()
    model = mm.SequenceTagger(n_jobs=1).fit(X, Y)
    cpu, wall = clock.cpu, clock.wall
    tests, truth = load("testb")
    best = np.inf
    for _ in range(3):
        clock = Clock()
        predicted = model.predict(tests)
        best = min(best, clock.cpu)
    return {
        "cpu": cpu, "wall": wall, "f1": f1(truth, predicted), "tagging": sum(map(len, truth)) / best,
        "weights": len(model.coef_), "gap": model.certificate_.gap,
        "sweeps": model.certificate_.oracle_calls / len(X), "solver_seconds": model.certificate_.seconds,
    }  # fmt: skip


def crfsuite() -> dict[str, Any]:
    X, Y = load("train")
    tests, truth = load("testb")
    with tempfile.NamedTemporaryFile() as file:
        clock = train_crfsuite(X, Y, file.name)
        best = np.inf
        for _ in range(3):
            predicted, tagging = tag_crfsuite(tests, file.name)
            best = min(best, tagging.cpu_total)  # type: ignore[attr-defined]
    return {
        "cpu": clock.cpu_total, "wall": clock.wall_total, "f1": f1(truth, predicted),  # type: ignore[attr-defined]
        "tagging": sum(map(len, truth)) / best,
    }  # fmt: skip


def only_data() -> dict[str, Any]:
    """The feature strings alone, which both sides hold."""
    load("train")
    return {}


def templates() -> dict[str, Any]:
    """The tagger's own feature templates, C chosen on testa."""
    parts = {part: mm.datasets.load_conll2002(part) for part in ("train", "testa", "testb")}
    make = mm.TokenTemplates()
    X = {part: [make(sentence) for sentence in sentences] for part, (sentences, _) in parts.items()}
    models = mm.regularization_path(mm.SequenceTagger(), X["train"], parts["train"][1], CHOICES)
    on_dev = {str(model.C): f1(parts["testa"][1], model.predict(X["testa"])) for model in models}
    best = max(models, key=lambda model: on_dev[str(model.C)])
    return {"testa": on_dev, "C": best.C, "testb": f1(parts["testb"][1], best.predict(X["testb"]))}


def run() -> dict[str, Any]:
    return {
        "maxmargin": isolated(ours),
        "crfsuite": isolated(crfsuite),
        "data": isolated(only_data),
        "templates": isolated(templates),
    }


def markdown(result: dict[str, Any]) -> str:
    a, b, base, own = (result[name] for name in ("maxmargin", "crfsuite", "data", "templates"))
    rows = [
        ["CPU s, encoding and training", a["cpu"], b["cpu"], b["cpu"] / a["cpu"]],
        ["testb entity F1", a["f1"], b["f1"], None],
        ["tagging, tokens per CPU s (strings in, labels out)", round(a["tagging"]), round(b["tagging"]),
         a["tagging"] / b["tagging"]],
        ["peak memory, MB", round(a["peak_mb"]), round(b["peak_mb"]), a["peak_mb"] / b["peak_mb"]],
    ]  # fmt: skip
    chosen = ", ".join(f"C = {C}: {value:.2f}" for C, value in own["testa"].items())
    return (
        "# CoNLL-2002 Spanish\n\nTrain on all 8,323 sentences with the same feature strings; CRFsuite: L-BFGS with its "
        "defaults; maxmargin: SequenceTagger with its defaults, one thread. Peak memory is that of the whole process, "
        f"of which the feature strings themselves are {base['peak_mb']:.0f} MB.\n\n"
        + table(["", "maxmargin", "CRFsuite", "ratio"], rows)
        + f"\n\n{a['weights']} weights, certified gap {a['gap']:.2g} after {a['sweeps']:.0f} sweeps.\n\nWith the "
        f"tagger's own feature templates, C chosen on testa ({chosen}): testb F1 **{own['testb']:.2f}** at "
        f"C = {own['C']}."
    )
