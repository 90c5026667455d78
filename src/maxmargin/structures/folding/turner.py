"""Turner's energies as weights of a folding model: `turner2004.csv`.

The table has the score of each term, −energy in kcal/mol at 37 °C (Mathews et al. 2004). `python -m benchmarks.turner`
made it: the weights whose sums are closest to the energies that ViennaRNA has for 32,400 structures (rms error
0.51 kcal/mol, R² 0.997 on structures that were held out).
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.structures.folding.terms import FoldingTerms

#: Kinds whose weights are cumulative: "≥ 5" is what a length of 5 adds to one of 4.
_CUMULATIVE = frozenset({"hairpin length", "bulge length", "interior length", "interior asymmetry"})


@cache
def turner_table() -> dict[str, dict[str, float]]:
    """Return the score of each term of the default model in kcal/mol, by kind and name."""
    table: dict[str, dict[str, float]] = {}
    file = resources.files("maxmargin.structures.folding") / "turner2004.csv"
    for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        table.setdefault(row["kind"], {})[row["term"]] = float(row["score"])
    return table


def turner_weights(terms: FoldingTerms) -> FloatArray:
    """Return Turner's energies as weights of these terms, in kcal/mol.

    A length outside of the table scores as the nearest one in it. Terms of pairs that are not canonical have no energy:
    they score as the worst term of their kind.
    """
    weights = list[float]()
    for kind, names in turner_table().items():
        columns = [str(name) for name in terms.tables[kind].columns]
        if kind in _CUMULATIVE:
            totals = dict(zip(map(_length, names), np.cumsum(list(names.values())), strict=True))
            least, most = min(totals), max(totals)
            at = [totals[min(max(_length(name), least), most)] for name in columns]
            weights += np.diff(at, prepend=0.0).tolist()
        else:
            weights += [names.get(name, min(names.values())) for name in columns]
    return np.array(weights)


def _length(name: str) -> int:
    return int(name.removeprefix("≥ "))
