"""Tables on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from maxmargin.cli._messages import can_be_shown
from maxmargin.metrics import EntityScores


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", left: int = 1) -> None:
    """Print a table whose first `left` columns hold words, and the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, name in enumerate(columns):
        table.add_column(name, justify="left" if at < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:  # nothing is truncated in a file or a pipe
        console = Console(highlight=False, markup=False, width=10_000)
    if title:
        console.print(title)
    console.print(table)


def print_entities(scores: EntityScores) -> None:
    """Print the scores of entities, overall and per type."""
    parts: list[tuple[str, Any]] = [("all", scores), *scores.types.items()]
    rows = [
        [name, *(f"{100 * share:.2f}" for share in (part.precision, part.recall, part.f1)),
         *map(str, (part.n_true, part.n_predicted, part.n_right))]
        for name, part in parts
    ]  # fmt: skip
    print_table(["entities", "precision %", "recall %", "F1", "true", "predicted", "right"], rows)


#: Maximum number of labels for which transitions are a square table; otherwise a list of the strongest.
_SQUARE_UP_TO = 14


def print_transitions(labels: Sequence[Any], transitions: Sequence[dict[str, Any]]) -> None:
    """Print the weights of transitions; missing ones are forbidden."""
    weights = {(row["from"], row["to"]): row["weight"] for row in transitions}
    if len(labels) > _SQUARE_UP_TO:
        strongest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:20]
        rows = [[_name(a, "start"), _name(b, "end"), f"{weight:.3f}"] for (a, b), weight in strongest]
        print_table(["from", "to", "weight"], rows, "strongest transitions", left=2)
        return
    forbidden = "·" if can_be_shown("·") else "."
    rows = [
        [
            _name(a, "start"),
            *(forbidden if (a, b) not in weights else f"{round(weights[a, b], 2) + 0.0:.2f}" for b in [*labels, None]),
        ]
        for a in [None, *labels]
    ]
    print_table(["from \\ to", *map(str, labels), "end"], rows, f"transitions ({forbidden} forbidden)")


def _name(label: Any, outside: str) -> str:
    return outside if label is None else str(label)
