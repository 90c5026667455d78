"""CoNLL-2002 Spanish: the whole training part, the same feature strings for CRFsuite; then the tagger's own templates.

There are two sets of strings: those of a plain tagger, about as many as in the first figures of this project (82,148
columns there, 82,137 here), and a richer one. One hyper-parameter per package (C here, c2 there) is chosen on testa,
from the same number of values in the same steps around the default; all others keep their defaults. testb is scored
only at the default and at the chosen value. CRFsuite's default has no limit of iterations; it is run again with the
settings that its tutorials use, 100 iterations and a small c1.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated, tag_crfsuite, train_crfsuite
from benchmarks.report import table
from benchmarks.tokens import plain_features, rich_features
from maxmargin.metrics.entities import entity_f1

C_VALUES = (0.3, 3.0, 1.0, 0.1)  # the default first
C2_VALUES = (1.0, 0.1, 0.3, 3.0)
TEMPLATE_C_VALUES = (0.03, 0.05, 0.1, 0.2)
USUAL = ({"c1": 0.1, "c2": 0.1}, {"c1": 0.1, "c2": 0.01})
ITERATIONS = 100
TAGGING_RUNS, TEMPLATE_RUNS = 5, 2
FEATURES = {"plain": plain_features, "rich": rich_features}

Tag = Callable[[list[Any]], list[list[str]]]


def load(part: str, features: str) -> tuple[list[Any], list[Any]]:
    sentences, Y = mm.datasets.load_conll2002(part)
    return [FEATURES[features](sentence) for sentence in sentences], Y


def load_all(features: str) -> dict[str, tuple[list[Any], list[Any]]]:
    return {part: load(part, features) for part in ("train", "testa", "testb")}


def f1(Y: Any, Y_hat: Any) -> float:
    return 100 * float(entity_f1(Y, Y_hat).f1)


def ours(features: str) -> dict[str, Any]:
    """Return the results of `SequenceTagger` with default settings except for C, in one thread."""
    data = load_all(features)
    mm.SequenceTagger(tol=0.5, n_jobs=1).fit([[["a"], ["b"]]] * 20, [["x", "y"]] * 20).predict([[["a"]]])
    about: dict[str, Any] = {}

    def fit(C: float) -> tuple[float, Tag]:
        clock = Clock()
        model = mm.SequenceTagger(C=C, n_jobs=1).fit(*data["train"])
        cpu, certificate = clock.cpu, model.certificate_
        about[str(C)] = {"gap": certificate.gap, "sweeps": certificate.oracle_calls / len(data["train"][0])}
        about["weights"] = len(model.coef_)
        return cpu, model.predict

    columns = len({name for x in data["train"][0] for token in x for name in token})
    return {**search(fit, C_VALUES, data), **about, "columns": columns}


def crfsuite(features: str) -> dict[str, Any]:
    """Return the results of CRFsuite's L-BFGS with default settings except for c2."""
    data = load_all(features)
    with tempfile.NamedTemporaryFile() as file:

        def fit(c2: float) -> tuple[float, Tag]:
            clock = train_crfsuite(*data["train"], file.name, c2=c2)
            return clock.cpu_total, lambda X: tag_crfsuite(X, file.name)[0]  # type: ignore[attr-defined]

        return search(fit, C2_VALUES, data)


def crfsuite_as_usual(features: str) -> dict[str, Any]:
    """Return CPU seconds and F1 of CRFsuite with the settings of its tutorials."""
    data = load_all(features)
    rows = []
    with tempfile.NamedTemporaryFile() as file:
        for parameters in USUAL:
            limits: dict[str, Any] = {**parameters, "max_iterations": ITERATIONS, "feature.possible_transitions": True}
            clock = train_crfsuite(*data["train"], file.name, **limits)
            found = {part: f1(data[part][1], tag_crfsuite(data[part][0], file.name)[0]) for part in ("testa", "testb")}
            rows.append({**parameters, "cpu": clock.cpu_total, **found})  # type: ignore[attr-defined]
    return {"rows": rows}


def ours_as_usual(features: str) -> dict[str, Any]:
    """Return the same of `SequenceTagger` with default settings, and with weights of seen pairs only."""
    data = load_all(features)
    rows = []
    for seen_pairs in (False, True):
        mm.SequenceTagger(tol=0.5, n_jobs=1, seen_pairs=seen_pairs).fit([[["a"], ["b"]]] * 20, [["x", "y"]] * 20)
        cpu = []
        for _ in range(TEMPLATE_RUNS):
            clock = Clock()
            model = mm.SequenceTagger(n_jobs=1, seen_pairs=seen_pairs).fit(*data["train"])
            cpu.append(clock.cpu)
        found = {part: f1(data[part][1], model.predict(data[part][0])) for part in ("testa", "testb")}
        rows.append({"seen_pairs": seen_pairs, "cpu": min(cpu), "weights": len(model.coef_), **found})
    return {"rows": rows}


def search(fit: Callable[[float], tuple[float, Tag]], values: tuple[float, ...], data: Any) -> dict[str, Any]:
    """Fit with each value; times include encoding. Tagging and memory are those of the default, the first value."""
    (A, true_a), (B, true_b) = data["testa"], data["testb"]
    cpu, testa, found, result = {}, {}, {}, {}
    for value in values:
        cpu[value], tag = fit(value)
        if value == values[0]:
            result["tagging"] = sum(map(len, true_b)) / min(tagging_seconds(tag, B) for _ in range(TAGGING_RUNS))
            result["fit_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        testa[value], found[value] = f1(true_a, tag(A)), tag(B)
    chosen = max(values, key=lambda value: testa[value])
    return {
        **result, "cpu": cpu, "testa": testa, "default": values[0], "chosen": chosen,
        "testb": {value: f1(true_b, found[value]) for value in (values[0], chosen)},
        "counts": [counts([y], [y_hat]) for y, y_hat in zip(true_b, found[chosen], strict=True)],
    }  # fmt: skip


def tagging_seconds(tag: Tag, X: list[Any]) -> float:
    clock = Clock()
    tag(X)
    return clock.cpu


def counts(Y: Any, Y_hat: Any) -> tuple[int, int]:
    """Return numerator and denominator of F1: twice the right entities, and the predicted plus the true ones."""
    scores = entity_f1(Y, Y_hat)
    return 2 * scores.n_right, scores.n_predicted + scores.n_true


def difference(a: list[Any], b: list[Any], draws: int = 10_000) -> list[float]:
    """Return the 95 % bootstrap interval of the difference in F1, a minus b, over sentences."""
    pairs = np.hstack([np.array(a), np.array(b)]).astype(float)
    weights = np.random.default_rng(0).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=draws)
    right_a, all_a, right_b, all_b = (weights @ pairs).T
    return np.quantile(100 * (right_a / all_a - right_b / all_b), [0.025, 0.975]).tolist()


def only_data(features: str) -> dict[str, Any]:
    """Load only the feature strings, which both packages hold in memory."""
    load_all(features)
    return {}


def templates() -> dict[str, Any]:
    """Return the results with the tagger's own feature templates, with C chosen on testa."""
    parts = {part: mm.datasets.load_conll2002(part) for part in ("train", "testa", "testb")}
    X = {part: sentences for part, (sentences, _) in parts.items()}
    models = mm.regularization_path(mm.ColumnTagger(), X["train"], parts["train"][1], TEMPLATE_C_VALUES)
    on_dev = {str(model.C): f1(parts["testa"][1], model.predict(X["testa"])) for model in models}
    best = max(models, key=lambda model: on_dev[str(model.C)])
    return {"testa": on_dev, "C": best.C, "testb": f1(parts["testb"][1], best.predict(X["testb"]))}


def from_words(seen_pairs: bool) -> dict[str, Any]:
    """Return time and memory of `ColumnTagger` with default settings: words in, labels out."""
    X, Y = mm.datasets.load_conll2002("train")
    B, true = mm.datasets.load_conll2002("testb")
    mm.ColumnTagger(n_jobs=1, seen_pairs=seen_pairs).fit(X[:30], Y[:30]).predict(X[:3])
    cpu = []
    for _ in range(TEMPLATE_RUNS):
        clock = Clock()
        model = mm.ColumnTagger(n_jobs=1, seen_pairs=seen_pairs).fit(X, Y)
        cpu.append(clock.cpu)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first = tagging_seconds(model.predict, B)
    later = min(tagging_seconds(model.predict, B) for _ in range(TAGGING_RUNS))
    tokens = sum(map(len, B))
    return {
        "cpu": min(cpu), "weights": len(model.coef_), "testb": f1(true, model.predict(B)), "fit_peak_mb": peak,
        "tagging_first": tokens / first, "tagging": tokens / later,
    }  # fmt: skip


def run() -> dict[str, Any]:
    return {
        **{features: side_by_side(features) for features in FEATURES}, "templates": isolated(templates),
        "from_words": {str(seen): isolated(from_words, seen) for seen in (False, True)},
    }  # fmt: skip


def side_by_side(features: str) -> dict[str, Any]:
    a, b = isolated(ours, features), isolated(crfsuite, features)
    interval = difference(a.pop("counts"), b.pop("counts"))
    usual = {"maxmargin": isolated(ours_as_usual, features), "crfsuite": isolated(crfsuite_as_usual, features)}
    return {
        "maxmargin": a, "crfsuite": b, "difference_95": interval, "data": isolated(only_data, features), "usual": usual,
    }  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    own = result["templates"]
    own_choice = ", ".join(f"C = {C}: {value:.2f}" for C, value in own["testa"].items())
    return (
        "# CoNLL-2002 Spanish\n\nTrain on all 8,323 sentences with the same feature strings, one thread. CRFsuite: "
        "L-BFGS; maxmargin: SequenceTagger. Both use their defaults, except for one hyper-parameter each, which is "
        "chosen by entity F1 on testa; testb is scored only at the default and at the chosen value. Tagging and memory "
        "are measured with the defaults; peak memory is that of the whole process. The first set of strings is about "
        "as large as in the first figures of this project (CRFsuite 78.8, a prototype of our solver 79.1 at C = "
        "0.3).\n\n"
        + "\n\n".join(section(features, result[features]) for features in FEATURES)
        + f"\n\n## The tagger's own feature templates\n\nC chosen on testa ({own_choice}): testb F1 "
        f"**{own['testb']:.2f}** at C = {own['C']}. These are the fits of a path, each of which starts from the "
        "previous solution. The separate fits with the same C in [defaults.md](defaults.md) stop at other weights "
        "within the same `tol`, so their F1 may differ slightly.\n\n"
        "With default settings, from words and parts of speech to labels (tagging: the first call, and the best of "
        f"{TAGGING_RUNS} more):\n\n"
        + table(
            ["", "weights", "CPU s of a fit", "testb F1", "tagging, tokens per CPU s", "peak memory, MB"],
            [
                words_row(name, result["from_words"][seen])
                for seen, name in (("False", "default"), ("True", "seen_pairs"))
            ],
        )
    )


def words_row(name: str, row: dict[str, Any]) -> list[Any]:
    tagging = f"{row['tagging_first']:.0f}, {row['tagging']:.0f}"
    return [name, row["weights"], row["cpu"], f"{row['testb']:.2f}", tagging, round(row["fit_peak_mb"])]


def usual_table(result: dict[str, Any]) -> str:
    """Return the comparison with the settings of CRFsuite's tutorials."""
    ours, theirs = result["maxmargin"]["rows"], result["crfsuite"]["rows"]
    rows = [
        ["SequenceTagger" + ("(seen_pairs=True)" if row["seen_pairs"] else "()"), row["cpu"], f"{row['testa']:.2f}",
         f"{row['testb']:.2f}", row["weights"], None, None] for row in ours
    ] + [
        [f"CRFsuite, c1 = {row['c1']:g}, c2 = {row['c2']:g}", row["cpu"], f"{row['testa']:.2f}",
         f"{row['testb']:.2f}", None, row["cpu"] / ours[0]["cpu"], row["cpu"] / ours[1]["cpu"]] for row in theirs
    ]  # fmt: skip
    head = ["", "CPU s", "testa F1", "testb F1", "weights", "times as long as the first", "as the second"]
    return f"With CRFsuite limited to {ITERATIONS} iterations:\n\n" + table(head, rows)


def section(features: str, result: dict[str, Any]) -> str:
    a, b, base = (result[name] for name in ("maxmargin", "crfsuite", "data"))
    default, chosen = (f"C = {a[which]:g}, c2 = {b[which]:g}" for which in ("default", "chosen"))
    low, high = result["difference_95"]
    rows = [
        timed("CPU s, encoding and training, " + default, a["cpu"][a["default"]], b["cpu"][b["default"]]),
        timed("the same, " + chosen, a["cpu"][a["chosen"]], b["cpu"][b["chosen"]]),
        timed("the same, the whole search", sum(a["cpu"].values()), sum(b["cpu"].values())),
        ["testb entity F1, defaults", *(f"{side['testb'][side['default']]:.2f}" for side in (a, b)), None],
        ["testb entity F1, values chosen on testa", *(f"{side['testb'][side['chosen']]:.2f}" for side in (a, b)), None],
        ["tagging, tokens per CPU s (strings in, labels out)", round(a["tagging"]), round(b["tagging"]),
         a["tagging"] / b["tagging"]],
        ["peak memory, MB", *(round(side["fit_peak_mb"]) for side in (a, b)), a["fit_peak_mb"] / b["fit_peak_mb"]],
    ]  # fmt: skip
    on_dev = "; ".join(
        f"{name} " + ", ".join(f"{value:g}: {score:.2f}" for value, score in sorted(side["testa"].items()))
        for name, side in (("C =", a), ("c2 =", b))
    )
    about = a[str(a["default"])]
    return (
        f"## {features.capitalize()} features: {a['columns']} columns, {base['peak_mb']:.0f} MB of strings\n\n"
        + table(["", "maxmargin", "CRFsuite", "ratio"], rows)
        + f"\n\nF1 on testa: {on_dev}. The 95 % bootstrap interval over sentences of the difference on testb, at the "
        f"chosen values, is {low:+.2f} … {high:+.2f}. {a['weights']} weights, certified gap {about['gap']:.2g} after "
        f"{about['sweeps']:.0f} sweeps at C = {a['default']:g}.\n\n" + usual_table(result["usual"])
    )


def timed(what: str, ours: float, theirs: float) -> list[Any]:
    return [what, ours, theirs, theirs / ours]
