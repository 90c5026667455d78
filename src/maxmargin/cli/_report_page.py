"""The page of ``maxmargin report``: one HTML file with its own style and pictures."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import maxmargin
from maxmargin.cli._examples import shown_number
from maxmargin.cli._report_test import Analysis, Marked, Table
from maxmargin.cli.inspect import content_of, has_numbered_features
from maxmargin.estimators.html import certificate_html, curve_html

#: Labels for which weights or transitions are shown.
_MOST_LABELS = 40
#: Tables of weights that are shown at once; the others unfold.
_OPEN = 12

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #8886; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .9rem; }
th, td { padding: .15rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8883; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
pre { overflow-x: auto; background: #8881; padding: .6rem; font-size: .85rem; }
.scroll { overflow-x: auto; } .columns { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.wrong { background: #d55e0033; } .right { color: #009e73; } .note { opacity: .75; font-size: .9rem; }
section.example { border: 1px solid #8884; border-radius: 6px; padding: .2rem .9rem; margin: .8rem 0; }
nav a { margin-right: 1rem; }
"""


def page(path: str, model: Any, analysis: Analysis | None, top: int) -> str:
    """Return the page about a model, and about what it does to test data."""
    content = content_of(model, top)
    parts = {
        "model": ("Model", _model(path, model, content)),
        "certificate": ("Certificate", _certificate(model)),
        "data": ("Data", _data(model, analysis)),
        "weights": ("Weights that matter", _weights(model, content)),
    }
    if analysis is not None:
        parts["errors"] = ("Errors", _errors(analysis))
        parts["examples"] = ("Examples that went wrong", _examples(analysis))
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, (title, _) in parts.items())
    body = "".join(f'<h2 id="{name}">{escape(title)}</h2>{text}' for name, (title, text) in parts.items())
    title = f"{content['estimator']}: {path}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1><nav>{links}</nav>{body}"
        f'<p class="note">maxmargin {escape(maxmargin.__version__)}, {datetime.date.today().isoformat()}</p>'
        f"</body></html>\n"
    )


def table_html(table: Table) -> str:
    """Return a table; numbers are aligned at the right, and cells marked as wrong are coloured."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.head)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'<div class="scroll"><table>{caption}<tr>{head}</tr>{rows}</table></div>{note}'


def _cell(value: Any) -> str:
    if isinstance(value, Marked):
        number = " number" if value.isdecimal() else ""
        return f'<td class="wrong{number}">{escape(str(value))}</td>'
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape(str(value))}</td>"
    return f'<td class="number">{escape(shown_number(value))}</td>'


def _pairs(rows: Iterable[tuple[str, Any]]) -> str:
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def _model(path: str, model: Any, content: dict[str, Any]) -> str:
    usual = type(model)._get_param_names()
    defaults = {name: getattr(type(model), name, None) for name in usual}
    changed = {name: value for name, value in content["parameters"].items() if _differs(value, defaults.get(name))}
    shown = ", ".join(f"{name}={value}" for name, value in changed.items()) or "all as by default"
    return _pairs(
        [
            ("estimator", content["estimator"]), ("file", path), ("parameters", shown),
            ("weights", f"{content['n_weights']:,}, of which {content['n_nonzero_weights']:,} are not 0"),
            ("stopped by", f"{content['stop_reason']}, after {content['n_iter']} steps"),
        ]
    )  # fmt: skip


def _differs(value: Any, default: Any) -> bool:
    return bool(value != default and value != repr(default))


def _certificate(model: Any) -> str:
    about = (
        "The objective that training minimised, a lower bound on its least value that is proven, and the gap between "
        "the two: how far the weights can be from optimal."
    )
    facts = f'<div class="columns">{certificate_html(model)}{curve_html(model)}</div>'
    return f'<p>{escape(str(model.certificate_))}</p>{facts}<p class="note">{about}</p>'


def _data(model: Any, analysis: Analysis | None) -> str:
    rows: list[tuple[str, Any]] = []
    if hasattr(model, "classes_"):
        labels = [str(label) for label in model.classes_.tolist()]
        more = f", … ({len(labels)} in all)" if len(labels) > _MOST_LABELS else ""
        rows.append((f"{len(labels)} labels", ", ".join(labels[:_MOST_LABELS]) + more))
    if hasattr(model, "n_features_in_"):
        rows.append(("features of a row", f"{model.n_features_in_:,}"))
    if analysis is not None:
        rows += [("test file", analysis.source), ("its size", analysis.size)]
    blocks = getattr(model.structure_, "split_weights", None)
    if blocks is not None:
        for name, weights in blocks(model._flat_weights()).items():
            if weights.size:
                rows.append((f"weights of {name}", " × ".join(map(str, weights.shape))))
    return _pairs(rows)


def _weights(model: Any, content: dict[str, Any]) -> str:
    parts = []
    for entry, what in (("top_weights", "label" if "labels" in content else "part"), ("relations", "relation")):
        tables: dict[str, Sequence[tuple[str, float]]] = content.get(entry, {})
        shown = [(name, rows) for name, rows in tables.items() if rows][:_MOST_LABELS]
        parts += [table_html(Table(f"{what} {name}", ["feature", "weight"], list(rows))) for name, rows in shown]
    if content.get("largest_weights"):
        parts.append(table_html(Table("", ["feature", "weight"], list(content["largest_weights"]))))
    note = ""
    if parts and has_numbered_features(model):
        note = '<p class="note">x0 is the first feature: number 1 in svmlight and SVM-hmm files.</p>'
    if not parts:
        return "<p>No weights are above 0.</p>" + _transitions(content)
    first, others = parts[:_OPEN], parts[_OPEN:]
    columns = f'<div class="columns">{"".join(first)}</div>'
    if others:
        more = f"<summary>{len(others)} more tables</summary>"
        columns += f'<details>{more}<div class="columns">{"".join(others)}</div></details>'
    return columns + note + _transitions(content)


def _transitions(content: dict[str, Any]) -> str:
    labels = content.get("labels", [])
    if "transitions" not in content or len(labels) > _MOST_LABELS:
        return ""
    weight = {(row["from"], row["to"]): row["weight"] for row in content["transitions"]}
    rows: list[list[Any]] = [
        [name, *(weight.get((source, label), "–") for label in labels), weight.get((source, None), "–")]
        for name, source in [("(start)", None), *((str(label), label) for label in labels)]
    ]
    rows[0][-1] = "–"
    head = ["from \\ to", *map(str, labels), "(end)"]
    return table_html(Table("Transitions", head, rows, "– is a transition that the model forbids."))


def _errors(analysis: Analysis) -> str:
    scores = Table("", ["score", "value"], [[name, value] for name, value in analysis.scores.items()])
    return table_html(scores) + "".join(map(table_html, analysis.tables))


def _examples(analysis: Analysis) -> str:
    if not analysis.wrong:
        return "<p>None.</p>"
    parts = []
    for wrong in analysis.wrong:
        tables = "".join(map(table_html, wrong.tables))
        lines = f"<pre>{escape(wrong.lines)}</pre>" if wrong.lines else ""
        why = f"<h3>Why the model prefers its prediction</h3><pre>{escape(wrong.why)}</pre>" if wrong.why else ""
        parts.append(f'<section class="example"><h3>{escape(wrong.title)}</h3>{tables}{lines}{why}</section>')
    n = f"{analysis.n_wrong} of {analysis.n_examples} examples have an error; the worst {len(analysis.wrong)} follow."
    return f"<p>{n}</p>{''.join(parts)}"
