"""CoNLL-2002 Spanish against CRFsuite with the settings of its tutorials alone, in a few minutes.

`conll` contains the same comparison beside the search over hyper-parameters.
"""

from __future__ import annotations

from typing import Any

from benchmarks.conll import FEATURES, ITERATIONS, crfsuite_as_usual, ours_as_usual, usual_table
from benchmarks.measure import isolated


def run() -> dict[str, Any]:
    return {
        name: {"maxmargin": isolated(ours_as_usual, name), "crfsuite": isolated(crfsuite_as_usual, name)}
        for name in FEATURES
    }


def markdown(result: dict[str, Any]) -> str:
    text = (
        f"# CoNLL-2002 Spanish, CRFsuite with usual settings\n\nCRFsuite: L-BFGS, {ITERATIONS} iterations, c1 and c2 "
        "as in its tutorials; maxmargin: SequenceTagger with its defaults, in one thread. The same feature strings."
    )
    return "\n\n".join(
        [text, *(f"## {name.title()} features\n\n{usual_table(usual)}" for name, usual in result.items())]
    )
