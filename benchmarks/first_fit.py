"""The first fit of every estimator: CPU seconds and wall seconds of a new process with an empty cache of functions.

Each fit runs in a process of its own with a cache directory of its own; what other processes do for it counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.report import table

#: Fit and prediction of each estimator with default parameters, on the tiny data of `maxmargin.datasets.toy`.
FITS = {
    "SequenceTagger": "data(mm.SequenceTagger(), toy.chains())",
    "SequenceTagger, named features": "data(mm.SequenceTagger(), toy.named_tokens())",
    "ColumnTagger": "data(mm.ColumnTagger(), toy.words())",
    "MulticlassSVM": "data(mm.MulticlassSVM(), toy.rows())",
    "MulticlassSVM, sparse": "X, y = toy.rows(); data(mm.MulticlassSVM(), (sp.csr_array(X), y))",
    "TaxonomyClassifier": "data(mm.TaxonomyClassifier(hierarchy='/'), toy.species())",
    "MultilabelSVM": "data(mm.MultilabelSVM(), toy.label_sets())",
    "MeasureSVC": "data(mm.MeasureSVC(), toy.rows(2))",
    "MeasureSVC, roc_auc": "data(mm.MeasureSVC(measure='roc_auc'), toy.rows(2))",
    "StructuredRanker": "X, y, g = toy.queries(); mm.StructuredRanker().fit(X, y, groups=g).predict(X)",
    "DiverseSelector": "data(mm.DiverseSelector(k=2), toy.search_results())",
    "DependencyParser": "data(mm.DependencyParser(), toy.phrases())",
    "ConstituencyParser": "data(mm.ConstituencyParser(), toy.constituents())",
    "PairwiseAligner": "data(mm.PairwiseAligner(alphabet='ACGT'), toy.alignments())",
    "DecoyRanker": "data(mm.DecoyRanker(alphabet='ACGT'), toy.decoys(), False)",
    "RNAFolder": "data(mm.RNAFolder(), toy.molecules())",
    "MotifFinder": "data(mm.MotifFinder(length=4), toy.strings())",
    "ForestClustering": "data(mm.ForestClustering(), toy.places())",
    "CutSegmenter": "data(mm.CutSegmenter(), toy.images())",
    "GraphLabeler": "data(mm.GraphLabeler(), toy.images())",
    "CostLearner, assignment": "costs(mm.Optimizer.assignment(3), 9)",
    "CostLearner, shortest path": "costs(mm.Optimizer.shortest_path([(0, 1), (0, 2), (1, 3), (2, 3)], 0, 3), 4)",
    "StructuralSVM, Tree": "data(mm.StructuralSVM(mm.Tree()), toy.arcs())",
    "StructuralSVM, BipartiteMatching": "data(mm.StructuralSVM(mm.BipartiteMatching()), toy.assignments())",
    "StructuralSVM, Matching": "data(mm.StructuralSVM(mm.Matching()), toy.partners())",
    "StructuralSVM, Path": "data(mm.StructuralSVM(mm.Path()), toy.paths())",
    "StructuralSVM, Knapsack": "data(mm.StructuralSVM(mm.Knapsack()), toy.items())",
    "StructuralSVM, Graph": "data(mm.StructuralSVM(mm.Graph()), toy.graphs(3))",
    "StructuralSVM, own methods": "data(mm.StructuralSVM(toy.Sign()), toy.signs())",
}

#: What a process runs before the fit: it records how long the compilation of each function takes without what it calls.
CHILD = """
import json, sys, time, warnings
import scipy.sparse as sp
from numba.core import event

class Listener(event.Listener):
    stack, seconds = [], {}
    def on_start(self, event):
        self.stack.append([time.process_time(), 0.0])
    def on_end(self, event):
        began, inner = self.stack.pop()
        whole = time.process_time() - began
        if self.stack:
            self.stack[-1][1] += whole
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        calls, spent = self.seconds.get(name, (0, 0.0))
        self.seconds[name] = calls + 1, spent + whole - inner

event.register("numba:compile", Listener())
warnings.simplefilter("ignore")
import maxmargin as mm
from maxmargin.datasets import toy

def data(model, data, predict=True):
    X, Y = data
    model.fit(X, Y)
    if predict:
        model.predict(X)

def costs(optimizer, m):
    X, costs = toy.costs()
    mm.CostLearner(optimizer).fit(X, costs=costs[:, :m]).predict(X)

FIT
print(json.dumps(Listener.seconds))
"""


def first_fit(code: str, cache: str) -> dict[str, Any]:
    """Return wall seconds, CPU seconds of the process and of all that it started, and seconds by compiled function."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "MAXMARGIN_QUIET": "1"}
    began = time.perf_counter()
    command = [sys.executable, "-c", CHILD.replace("FIT", code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{code} ended with status {process.returncode}")
    seconds = json.loads(out.splitlines()[-1])
    return {
        "wall": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "functions": {name: [calls, round(spent, 3)] for name, (calls, spent) in seconds.items()},
    }


def run(names: list[str] | None = None) -> dict[str, Any]:
    fits: dict[str, Any] = {}
    for name in names or FITS:
        with tempfile.TemporaryDirectory() as cache:
            fits[name] = {"cold": first_fit(FITS[name], cache)}
            fits[name]["warm"] = {
                key: value for key, value in first_fit(FITS[name], cache).items() if key != "functions"
            }
    return {"fits": fits}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for name, fit in result["fits"].items():
        cold, warm, functions = fit["cold"], fit["warm"], fit["cold"]["functions"]
        ours = [calls for function, (calls, _) in functions.items() if function.startswith("maxmargin.")]
        costly = sorted(functions.items(), key=lambda item: -item[1][1])[:3]
        most = ", ".join(f"`{function.rpartition('.')[2]}` {spent:.1f}" for function, (_, spent) in costly)
        rows.append([name, cold["cpu"], cold["wall"], warm["cpu"], warm["wall"], sum(ours), most])
    head = ["fit and prediction", "CPU, cold", "wall, cold", "CPU, warm", "wall, warm", "functions", "most costly"]
    about = (
        "Seconds of a new process, from its start to its end: imports, a fit on tiny data with default parameters, a "
        "prediction. Cold: the cache of compiled functions is empty; CPU seconds include those of other processes that "
        "compile. `functions` counts those that the process of the fit compiled itself, and the last column lists CPU "
        "seconds of those that took it longest, without what they call."
    )
    return f"# The first fit\n\n{about}\n\n" + table(head, rows)
