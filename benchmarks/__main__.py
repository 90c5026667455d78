"""``python -m benchmarks [name ...]``: run benchmarks and write their results."""

from __future__ import annotations

import importlib
import sys
import time

from benchmarks.report import write

NAMES = (
    "ocr",
    "conll",
    "conll_usual",
    "likelihood",
    "sums",
    "risk",
    "large_tagger",
    "multiclass",
    "kernels",
    "multilabel",
    "taxonomy",
    "viterbi",
    "scaling",
    "startup",
    "first_fit",
    "overhead",
    "tree",
    "dependency",
    "relations",
    "cky",
    "matchings",
    "minmax",
    "graph_decoders",
    "folding",
    "segmentation",
    "graphs",
    "graph_inference",
    "optimizers",
    "measures",
    "ranking",
    "alignment",
    "conformance",
    "own_structure",
    "engines",
    "python_argmaxes",
    "shards",
    "sharded",
    "memory",
    "capacity",
    "defaults",
    "default_tools",
    "p1_tables",
)


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"unknown benchmarks: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        began = time.time()
        result = module.run()
        print(write(name, result, module.markdown(result), time.time() - began), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
