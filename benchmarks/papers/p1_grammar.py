"""Tsochantaridis et al. 2004, table 5: a weighted context-free grammar over tags; then features of constituents.

Sentences of at most 10 (15) tokens; all brackets count, punctuation included, and evalb's F1 is given too. C = 1 and
tol = 0.03 unless a row says otherwise, linear slack (the paper: quadratic). The recipe for rules alone is the candidate
of best mean F1 on folds of the training parts of CRAFT. Which candidates are compared, and the smoothing, were drafted
on these folds and on folds of four fifths of the Penn Treebank sample; their table may be optimistic. Constraints are
the planes that have a dual value above 0 at the end. The share spent in the quadratic program is the CPU time outside
of argmaxes. McNemar's test compares with the maximum-likelihood grammar, on true brackets: those that one of the two
alone finds.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import binomtest

import maxmargin as mm
from benchmarks.data.treebanks import load_craft, load_folds, load_short
from benchmarks.measure import Clock
from benchmarks.papers import publish
from benchmarks.report import FOLDER, table
from maxmargin.features.text.treebank import constituents
from maxmargin.metrics import bracket_scores
from maxmargin.structures.grammar.examples import GrammarExamples

METHODS: dict[str, dict[str, Any]] = {
    "zero-one": {"loss": "zero-one"},
    "1 − F1, margin": {"loss": "f1"},
    "1 − F1, slack": {"loss": "f1", "bound": "slack"},
}
QUICK = {name: METHODS[name] for name in ("zero-one", "1 − F1, margin")}
#: Maximum-likelihood grammars; the first is the baseline of all tables.
PCFGS: dict[str, dict[str, Any]] = {
    "PCFG": {},
    "PCFG, horizontal=1": {"horizontal": 1},
    "PCFG, horizontal=1, parents": {"horizontal": 1, "parent_annotation": True},
}
#: Candidates for the recipe for rules alone, with the loss "constituents": grammars, then bounds and C for the last.
GRAMMARS: dict[str, dict[str, Any]] = {
    "C = 1, no prior": {"horizontal": 1},
    "C = 1": {"prior": "pcfg"},
    "C = 1, horizontal=1": {"prior": "pcfg", "horizontal": 1},
    "C = 1, horizontal=1, parents": {"prior": "pcfg", "horizontal": 1, "parent_annotation": True},
}
_LAST = GRAMMARS["C = 1, horizontal=1, parents"]
CANDIDATES: dict[str, dict[str, Any]] = GRAMMARS | {
    "C = 1, horizontal=1, parents, no prior": {**_LAST, "prior": None},
    "C = 0.3, horizontal=1, parents": {**_LAST, "C": 0.3},
    "C = 3, horizontal=1, parents": {**_LAST, "C": 3.0},
    "C = 1, horizontal=1, parents, prior_scale=0.3": {**_LAST, "prior_scale": 0.3},
    "C = 1, horizontal=1, parents, ramp": {**_LAST, "bound": "ramp"},
    "C = 1, horizontal=1, parents, softmax-margin, least risk": {**_LAST, "bound": "softmax-margin", "decode": "risk"},
}
#: Grammars under features of constituents, with the defaults of the parser otherwise.
UNDER_SPANS: dict[str, dict[str, Any]] = {
    "horizontal=None": {"horizontal": None},
    "horizontal=1": {"horizontal": 1},
    'horizontal=1, prior="pcfg"': {"horizontal": 1, "prior": "pcfg"},
    "horizontal=1, parents": {"horizontal": 1, "parent_annotation": True},
}
#: Folds of the training parts, and the most sentences of each.
N_FOLDS, MOST_DEVELOPMENT = 3, 900
#: Table 5 of the paper: accuracy and F1 on train and test, constraints, CPU hours (% QP).
PAPER = {
    "PCFG": ("61.4", "90.4", "55.2", "86.0", "–", "0"),
    "zero-one": ("66.3", "92.0", "58.9", "86.2", "7494", "1.2 (81.6 %)"),
    "1 − F1, slack": ("62.2", "92.1", "58.9", "88.5", "8043", "3.4 (10.5 %)"),
    "1 − F1, margin": ("63.5", "92.3", "58.3", "88.4", "7117", "3.5 (18.0 %)"),
}
PARTS = ("develop", "ptb", "short10", "short15", "slack", "recipe", "spans", "whole")
#: With features of constituents: longest sentences, number of training sentences, and the trade-off.
LONGEST, MOST, C_SPANS = 15, 2000, 0.1
#: CPU seconds, after which no further step begins, and threads of training on the whole treebank.
BUDGET, THREADS = 1600.0, 2


class ArgmaxClock:
    """CPU seconds inside of argmaxes, while it is active."""

    def __enter__(self) -> ArgmaxClock:
        self.spent, self.depth = 0.0, 0
        self.methods = {name: getattr(GrammarExamples, name) for name in ("decode", "decode_bound")}
        for name, method in self.methods.items():
            setattr(GrammarExamples, name, self._timed(method))
        return self

    def _timed(self, method: Any) -> Any:
        def timed(*arguments: Any) -> None:
            began, self.depth = time.process_time(), self.depth + 1
            method(*arguments)
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.process_time() - began

        return timed

    def __exit__(self, *_: Any) -> None:
        for name, method in self.methods.items():
            setattr(GrammarExamples, name, method)


def trained(train: list[Any], parameters: dict[str, Any], pcfg: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return a parser and the cost of its training, or the maximum-likelihood grammar."""
    usual: dict[str, Any] = {
        "leaves": "tags", "span_features": False, "horizontal": None, "C": 1.0, "n_jobs": 1, "tol": 3e-2,
    }  # fmt: skip
    model = mm.ConstituencyParser(**(usual | parameters))
    clock = Clock()
    if pcfg:
        return model.fit_pcfg(train), {"cpu": clock.cpu, "constraints": 0}
    with ArgmaxClock() as argmaxes, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # searches with slack re-scaling may leave the gap unproven
        model.fit(train)
    cost = {"cpu": clock.cpu, "qp": 1.0 - argmaxes.spent / clock.cpu, "constraints": len(model.support_ or ())}
    return model, cost | {"proven_gap": model.certificate_.proven_gap, "calls": model.certificate_.oracle_calls}


def scores(trees: list[Any], predicted: list[Any]) -> dict[str, float]:
    """Return exact trees and F1 of all brackets, and evalb's F1, in per cent."""
    every = bracket_scores(trees, predicted, punctuation=(), same_labels={}, leaves="tags")
    exact = np.mean([tree == other for tree, other in zip(trees, predicted, strict=True)])
    evalb = bracket_scores(trees, predicted, leaves="tags").f1
    return {"accuracy": 100 * float(exact), "f1": 100 * every.f1, "evalb": 100 * evalb}


def found_brackets(trees: list[Any], predicted: list[Any]) -> np.ndarray:
    """Return for each true bracket whether it was predicted."""
    return np.array(
        [bracket in set(constituents(other)) for tree, other in zip(trees, predicted, strict=True)
         for bracket in constituents(tree)]
    )  # fmt: skip


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Return the probability of a difference at least as large, if both find a bracket equally often."""
    better, worse = int((first & ~second).sum()), int((second & ~first).sum())
    return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0


def compared(folds: list[tuple[list[Any], list[Any]]], methods: dict[str, Any]) -> dict[str, Any]:
    """Return the results of all methods on pairs (train, test), pooled over the pairs."""
    rows, baseline = {}, None
    for name, parameters in (PCFGS | methods).items():
        row: dict[str, Any] = {"cpu": 0.0, "constraints": 0, "calls": 0, "spent_qp": 0.0, "proven_gap": 0.0}
        pooled: dict[str, list[Any]] = {"train": [], "train_hat": [], "test": [], "test_hat": []}
        for train, test in folds:
            model, cost = trained(train, parameters, name in PCFGS)
            row["cpu"] += cost["cpu"]
            row["spent_qp"] += cost.get("qp", 0.0) * cost["cpu"]
            row["constraints"] += cost["constraints"]
            row["calls"] += cost.get("calls", 0)
            row["proven_gap"] = max(row["proven_gap"], cost.get("proven_gap", 0.0))
            for part, trees in (("train", train), ("test", test)):
                pooled[part] += trees
                pooled[f"{part}_hat"] += model.predict(trees)
        row |= {part: scores(pooled[part], pooled[f"{part}_hat"]) for part in ("train", "test")}
        found = found_brackets(pooled["test"], pooled["test_hat"])
        row["mcnemar"] = None if baseline is None else mcnemar(found, baseline)
        baseline = found if baseline is None else baseline
        rows[name] = row
        print(name, row, flush=True)
    sizes = {"train": len(pooled["train"]), "test": len(pooled["test"])}
    return {"sizes": sizes, "rows": rows}


def with_spans() -> dict[str, Any]:
    """Return results with features of constituents on `MOST` training sentences of at most `LONGEST` tokens."""
    train, test = load_craft("train", LONGEST), load_craft("test", LONGEST)
    train = [train[i] for i in np.random.default_rng(0).permutation(len(train))[:MOST]]
    chosen: dict[str, Any] = {"rules only": False, "with features of constituents": True, "PCFG": None}
    rows = {name: row_with_spans(name, train, test, features, 1) for name, features in chosen.items()}
    return {"sizes": {"train": len(train), "test": len(test)}, "rules": rows["PCFG"]["weights"], "rows": rows}


def on_all_sentences() -> dict[str, Any]:
    """Return results with features of constituents on the whole treebank, sentences of any length."""
    train, test = load_craft("train"), load_craft("test")
    chosen: dict[str, Any] = {"with features of constituents": True, "PCFG": None}
    rows = {name: row_with_spans(name, train, test, features, THREADS, BUDGET) for name, features in chosen.items()}
    return {"sizes": {"train": len(train), "test": len(test)}, "rules": rows["PCFG"]["weights"], "rows": rows}


def row_with_spans(
    name: str, train: list[Any], test: list[Any], features: bool | None, threads: int, seconds: float = np.inf
) -> dict[str, Any]:
    """Return the results of one training: rules alone, features of constituents too, or (None) maximum likelihood.

    No step begins when these CPU seconds are spent.
    """
    clock = Clock()

    def stop(step: Any) -> bool:
        print(step.certificate, flush=True)
        return clock.cpu > seconds

    model = mm.ConstituencyParser(
        loss="constituents", C=C_SPANS, tol=3e-2, span_features=bool(features), horizontal=None, leaves="words",
        n_jobs=threads, callbacks=[stop],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the limit, which the table says
        model = model.fit_pcfg(train) if features is None else model.fit(train)
    row: dict[str, Any] = {"cpu": clock.cpu, "weights": len(model.coef_)}
    if features is not None:
        certificate = model.certificate_
        row |= {"sweeps": certificate.oracle_calls / len(train), "gap": certificate.proven_gap}
    clock = Clock()
    found = model.bracket_scores(test)
    row |= {"f1": 100 * found.f1, "exact": 100 * found.exact, "parsing_ms": 1000 * clock.cpu / len(test)}
    print(name, row, flush=True)
    return row


def development() -> dict[str, Any]:
    """Return the F1 of all candidates on folds of the training parts of CRAFT, and the best by their mean."""
    found: dict[str, dict[str, float]] = {}
    for name in ("short10", "short15"):
        trees, rng = load_short("craft_treebank", name, "train"), np.random.default_rng(0)
        held = np.array_split(rng.permutation(len(trees))[:MOST_DEVELOPMENT], N_FOLDS)
        for method, parameters in (PCFGS | CANDIDATES).items():
            true, predicted = [], []
            for fold in range(N_FOLDS):
                train = [trees[i] for other in range(N_FOLDS) if other != fold for i in held[other].tolist()]
                test = [trees[i] for i in held[fold].tolist()]
                true += test
                predicted += trained(train, parameters, method in PCFGS)[0].predict(test)
            found.setdefault(method, {})[name] = scores(true, predicted)["f1"]
            print(name, method, found[method][name], flush=True)
    chosen = max(CANDIDATES, key=lambda method: float(np.mean(list(found[method].values()))))
    return {"f1": found, "chosen": chosen, "spans": {n: development_with_spans(n) for n in (10, 15)}}


def development_with_spans(longest: int) -> dict[str, float]:
    """Return evalb's F1 with features of constituents on two halves of sentences of the training part of CRAFT."""
    trees = load_craft("train", longest)
    halves = np.array_split(np.random.default_rng(0).permutation(len(trees))[:MOST_DEVELOPMENT], 2)
    first, second = ([trees[i] for i in half.tolist()] for half in halves)
    found = {}
    for name, parameters in UNDER_SPANS.items():
        true, predicted = [], []
        for train, test in ((first, second), (second, first)):
            true += test
            predicted += mm.ConstituencyParser(leaves="words", n_jobs=1, **parameters).fit(train).predict(test)
        found[name] = 100 * bracket_scores(true, predicted, leaves="words").f1
        print(longest, name, found[name], flush=True)
    return found


def table_of(part: str, methods: dict[str, Any]) -> dict[str, Any]:
    """Return the results of some methods on one data set, by its name."""
    if part == "ptb":
        trees = load_folds("short10")
        folds = [([t for k, t in trees if k != fold], [t for k, t in trees if k == fold]) for fold in range(5)]
        return {"ptb_sample short10": compared(folds, methods)}
    pair = load_short("craft_treebank", part, "train"), load_short("craft_treebank", part, "test")
    return {f"craft_treebank {part}": compared([pair], methods)}


def tables(part: str, chosen: str) -> dict[str, Any]:
    """Return the results of a part: the recipe on all data sets, slack re-scaling, or usual methods on one data set."""
    if part == "recipe":
        recipe = {f"recipe: {chosen}": CANDIDATES[chosen]}
        return table_of("short10", recipe) | table_of("ptb", recipe) | table_of("short15", recipe)
    return table_of("short10", METHODS) if part == "slack" else table_of(part, QUICK)


def run(parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
    """Run parts of the benchmark; those that are not run keep their results."""
    small = ["(S (NP A) (VP B C))", "(S (NP A B) (VP C))"]
    for parameters in METHODS.values():  # loads kernels
        trained(small, parameters)
    others = {"develop": development, "spans": with_spans, "whole": on_all_sentences}
    saved = FOLDER / "p1_grammar.json"
    before = json.loads(saved.read_text()) if saved.exists() and parts != PARTS else {}
    found: dict[str, Any] = {}
    runs: dict[str, str] = {}
    for part in parts:
        began = time.time()
        recipe: dict[str, Any] = found.get("develop") or before.get("develop") or {}
        found[part] = others[part]() if part in others else tables(part, recipe.get("chosen", ""))
        runs[part] = f"{time.strftime('%Y-%m-%d', time.gmtime(began))}, {time.time() - began:.0f} s"
        print(f"{part}: {runs[part]}", file=sys.stderr, flush=True)
    result = {"tables": before.get("tables", {})} | {part: found.pop(part, before.get(part)) for part in others}
    for name, some in (pair for tables_of_part in found.values() for pair in tables_of_part.items()):
        rows = result["tables"].get(name, {}).get("rows", {})
        if any(method.startswith("recipe") for method in some["rows"]):
            rows = {method: row for method, row in rows.items() if not method.startswith("recipe")}
        result["tables"][name] = some | {"rows": rows | some["rows"]}
    return result | {"runs": before.get("runs", {}) | runs}


def markdown(result: dict[str, Any]) -> str:
    """Return one table for each data set, after that of the paper."""
    head = ["", "train accuracy", "train F1", "test accuracy", "test F1", "test F1 (evalb)", "constraints",
            "CPU s (% QP)", "proven gap", "McNemar against PCFG, p"]  # fmt: skip
    text = (
        "# Weighted context-free grammars\n\nTsochantaridis et al. 2004, table 5 (Penn Treebank, 4,098 training and "
        "163 test sentences of at most 10 words; CPU in hours):\n\n"
        + table(
            ["", "train accuracy", "train F1", "test accuracy", "test F1", "constraints", "CPU h (% QP)"],
            [[name, *row] for name, row in PAPER.items()],
        )
        + "\n\nHere: C = 1 unless a row says otherwise, linear slack, relative gap 0.03, one thread. Accuracy is the "
        "share of trees that are right as a whole; F1 counts all labelled brackets except the root; sentences outside "
        "the grammar get glued trees."
    )
    text += development_table(result["develop"]) if result.get("develop") else ""
    for name, part in result["tables"].items():
        note = " (five folds by file number, pooled; CPU and constraints summed)" if name.startswith("ptb") else ""
        rows = [grammar_row(method, row) for method, row in part["rows"].items()]
        text += (
            f"\n\n## {name}{note}\n\n{part['sizes']['train']} training and {part['sizes']['test']} test sentences.\n\n"
            + table(head, rows)
        )
    if result.get("spans"):
        text += span_table(
            result["spans"], "with features of constituents", f" of at most {LONGEST} tokens",
            "Random training sentences; these limits keep the run short.",
        )  # fmt: skip
    if result.get("whole"):
        text += span_table(
            result["whole"], "with features of constituents, all sentences", "",
            f"The whole treebank, sentences of any length; training ends with the step in which {BUDGET:.0f} CPU "
            f"seconds are spent. C is that of the short sentences: nothing was chosen on these.",
        )  # fmt: skip
    runs = "; ".join(f"`{part}`: {when}" for part, when in result.get("runs", {}).items())
    return f"{text}\n\nParts may be run one by one (`python -m benchmarks.papers.p1_grammar whole`): {runs}."


def development_table(part: dict[str, Any]) -> str:
    """Return F1 of the candidates for rules alone as a section."""
    rows = [
        [f"**{name}**" if name == part["chosen"] else name, *(f"{value:.2f}" for value in found.values())]
        for name, found in part["f1"].items()
    ]
    return (
        '\n\n## The recipe for rules alone\n\nLoss "constituents", `prior="pcfg"` unless a row says otherwise; '
        f"*parents* is `parent_annotation=True`. F1 of all brackets on {N_FOLDS} folds of the training parts of "
        f"craft_treebank (at most {MOST_DEVELOPMENT} sentences of each, pooled). The best mean is the recipe of the "
        "tables below.\n\n"
        + table(["", "at most 10 tokens", "at most 15 tokens"], rows)
        + "\n\nWith features of constituents and the other defaults of the parser, words and tags; evalb's F1, half of "
        "the sentences for training and half for test, both ways:\n\n"
        + table(
            ["", *(f"at most {longest} tokens" for longest in part["spans"])],
            [[name, *(f"{found[name]:.2f}" for found in part["spans"].values())] for name in UNDER_SPANS],
        )
    )


def span_table(part: dict[str, Any], title: str, which: str, note: str) -> str:
    """Return the results with features of constituents as a section."""
    rows = [
        [name, f"{row['f1']:.1f}", f"{row['exact']:.1f}", row["weights"], f"{row['cpu']:.0f}",
         f"{row['sweeps']:.1f}" if "sweeps" in row else None, f"{row['gap']:.1e}" if "gap" in row else None,
         f"{row['parsing_ms']:.1f}"]
        for name, row in part["rows"].items()
    ]  # fmt: skip
    head = [
        "",
        "F1",
        "exact trees",
        "weights",
        "training CPU s",
        "sweeps",
        "proven gap",
        "parsing, CPU ms per sentence",
    ]
    return (
        f"\n\n## craft_treebank {title}\n\n{part['sizes']['train']} training sentences{which} ({part['rules']} rules), "
        f'words and tags, loss "constituents", C = {C_SPANS}, gap 0.03; evalb\'s F1 on {part["sizes"]["test"]} '
        f"test sentences{which}. {note}\n\n" + table(head, rows)
    )


def grammar_row(method: str, row: dict[str, Any]) -> list[Any]:
    """Return the results of one method as a row."""
    shown = [f"{row['train'][k]:.1f}" for k in ("accuracy", "f1")]
    shown += [f"{row['test'][k]:.1f}" for k in ("accuracy", "f1", "evalb")]
    if method in PCFGS:
        p = None if row["mcnemar"] is None else f"{row['mcnemar']:.2g}"
        return [method, *shown, None, f"{row['cpu']:.1f}", None, p]
    cpu = f"{row['cpu']:.1f} ({100 * row['spent_qp'] / row['cpu']:.0f} %)"
    return [method, *shown, row["constraints"], cpu, f"{row['proven_gap']:.1e}", f"{row['mcnemar']:.2g}"]


if __name__ == "__main__":
    chosen = tuple(sys.argv[1:]) or PARTS
    publish("p1_grammar", lambda: run(chosen), markdown)
