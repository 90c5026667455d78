"""Pictures of the site, drawn from the committed results of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt


def figures(results: Path, target: Path) -> list[tuple[str, str]]:
    """Draw all pictures into a folder, and return their names and titles."""
    drawn = []
    for draw in (_folding, _sums, _graphs, _likelihood):
        result = json.loads((results / f"{draw.__name__[1:]}.json").read_text(encoding="utf-8"))
        figure = plt.figure(figsize=(7.2, 3.6), layout="constrained")
        title = draw(figure.subplots(), result)
        name = f"figure_{draw.__name__[1:]}.png"
        figure.savefig(target / name, dpi=110)
        plt.close(figure)
        drawn.append((name, title))
    runs = [json.loads(line) for line in (results / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    figure = plt.figure(figsize=(9, 5.4), layout="constrained")
    title = _history(figure, runs)
    figure.savefig(target / "figure_history.png", dpi=110)
    plt.close(figure)
    return [*drawn, ("figure_history.png", title)]


def _history(figure: Any, runs: list[Any]) -> str:
    """Draw the ratios of `make bench-quick`, each over the runs that have it."""
    names = list(dict.fromkeys(name for run in runs for name in run["ratios"]))
    columns = 3
    for axes, name in zip(figure.subplots(-(-len(names) // columns), columns, squeeze=False).flat, names, strict=False):
        known = [(k, run) for k, run in enumerate(runs) if name in run["ratios"]]
        values = [run["ratios"][name]["ratio"] for _, run in known]
        spread = [run["ratios"][name].get("spread", 0.0) for _, run in known]
        axes.errorbar([k for k, _ in known], values, spread, fmt="o-", markersize=3)
        axes.set_ylim(0.0, 1.3 * max(v + s for v, s in zip(values, spread, strict=True)))
        axes.set_xticks([k for k, _ in known][:: max(len(known) // 6, 1)])
        axes.set_xticklabels([run["commit"][:7] for _, run in known][:: max(len(known) // 6, 1)], fontsize=6)
        axes.set_title(f"{name}\n÷ {known[0][1]['ratios'][name]['by']}", fontsize=7)
        axes.tick_params(labelsize=6)
    for axes in figure.axes[len(names) :]:
        axes.remove()
    return "History of speed: CPU time, divided by that of other work on the same machine (`make bench-quick`)"


def _folding(axes: Any, result: Any) -> str:
    lengths = [int(n) for n in result["lengths"]]
    for package in ("maxmargin", "ViennaRNA"):
        axes.loglog(lengths, [result["lengths"][str(n)][package] for n in lengths], "o-", label=package)
    axes.set_xlabel("bases")
    axes.set_ylabel("sequences per CPU second")
    axes.legend()
    return "Folding of RNA"


def _sums(axes: Any, result: Any) -> str:
    rows = []
    for name, chain in result["chains"].items():
        rows.append((f"{name}: CRFsuite", chain["CRFsuite"] / chain["from names"]))
        rows.append((f"{name}: torch-struct", chain["torch-struct"] / chain["sums"]))
    _bars(axes, rows, "CPU time of the package ÷ ours")
    return "Marginals of chains"


def _graphs(axes: Any, result: Any) -> str:
    rows = [
        (f"{data}: {model}", fit["accuracy"])
        for data, models in result.items()
        if data != "about" and isinstance(models, dict)
        for model, fit in models.items()
        if isinstance(fit, dict) and "accuracy" in fit
    ]
    axes.figure.set_size_inches(7.2, 5.4)
    _bars(axes, rows, "accuracy of labels", log=False)
    return "Labels of graphs"


def _likelihood(axes: Any, result: Any) -> str:
    speed = result["speed"]
    rows = [
        ("training to CRFsuite's objective", speed["crfsuite_cpu"] / speed["ours_cpu"]),
        ("marginals from names of features", speed["marginals_crfsuite"] / speed["marginals_ours"]),
    ]
    axes.figure.set_size_inches(7.2, 1.8)
    _bars(axes, rows, "CPU time of CRFsuite ÷ ours", log=False)
    return "Conditional random fields on CoNLL-2002"


def _bars(axes: Any, rows: list[tuple[str, float]], label: str, log: bool = True) -> None:
    names, values = zip(*rows[::-1], strict=True)
    axes.barh(names, values, log=log)
    axes.set_xlabel(label)
    for k, value in enumerate(values):
        axes.text(value, k, f" {value:.3g}", va="center", fontsize=8)
    axes.margins(x=0.12)
