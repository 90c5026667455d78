"""Functions compiled ahead, and messages while they are compiled."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base import jit as _jit
from maxmargin._base.jit import CompileMessages

SIGNATURES = """
import sys, warnings
import numpy as np
import maxmargin as mm
warnings.simplefilter("ignore")

def signatures():
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("maxmargin.")]
    values = [value for module in modules for value in vars(module).values()]
    compiled = {id(k): k for k in values if hasattr(k, "signatures") and hasattr(k, "py_func")}
    return {(k.py_func.__name__, str(s)) for k in compiled.values() for s in k.signatures}

mm.warmup(KIND, verbose=0)
before = signatures()
"""
USES = {
    "tagger": """
X, Y = mm.datasets.make_chains(200, n_labels=6, random_state=3)
model = mm.SequenceTagger(C=1.0, tol=1e-3).fit(X, Y)
model.predict(X), model.decision_scores(X), model.topk(X[0], 5), model.score(X, Y)
words = [["ab"[int(t[0] > 0)] for t in x] for x in X]
tagger = mm.ColumnTagger(constraints=[(0, 1)], classes=[0, 1, 2, 3, 4, 5])
tagger.fit(words, [[2] * len(x) for x in words]).predict(words)
""",
    "multiclass": """
X, y = mm.datasets.make_multiclass(1000, n_features=30, n_classes=6, random_state=3)
for rows in (X, np.round(X)):
    mm.MulticlassSVM(C=10.0).fit(rows, y).predict(rows)
""",
    ("matching", "graphs", "optimizers"): """
rng = np.random.default_rng(1)
X = [rng.normal(size=(5, 6, 3)) for _ in range(100)]
mm.StructuralSVM(mm.BipartiteMatching(), C=10.0).fit(X, [[3, 1, 0, 2, 5]] * 100).predict(X)
arcs = [(0, 1), (1, 2), (0, 2)]
X = [(arcs, rng.random((3, 2))) for _ in range(100)]
mm.StructuralSVM(mm.Path(), C=10.0).fit(X, [[0, 1]] * 50 + [[2]] * 50).predict(X)
X, costs = rng.normal(size=(100, 3)), rng.random((100, 3))
mm.CostLearner(mm.Optimizer.shortest_path(arcs, 0, 2)).fit(X, costs=costs).predict(X)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", USES)
def test_nothing_is_left_to_compile(kind):
    code = SIGNATURES.replace("KIND", repr(kind)) + USES[kind] + "print(sorted(signatures() - before))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert out.stdout.strip() == "[]", out.stdout + out.stderr


def test_what_is_ready_is_said(capsys):
    mm.warmup(["multiclass"])
    assert capsys.readouterr().err.startswith("maxmargin: multiclass ready, ")
    mm.warmup("multiclass", verbose=0)
    assert capsys.readouterr().err == ""


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"what must be 'tagger', .* or 'all', found 'tager'"):
        mm.warmup("tager")


@pytest.fixture
def listener(monkeypatch):
    """A listener that does not wait for its first line."""
    monkeypatch.delenv("MAXMARGIN_QUIET", raising=False)
    monkeypatch.setattr(_jit, "_SHORT", 0.0)
    return CompileMessages()


def event(module="maxmargin.structures.tree"):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def compile_one(listener, module="maxmargin.structures.tree"):
    listener.on_start(event(module))
    if listener._timer.ident is not None:
        listener._timer.join()
    listener.on_start(event("maxmargin.core"))  # what it calls is compiled within
    listener.on_end(event("maxmargin.core"))
    listener.on_end(event(module))


def test_lines_at_the_start_and_at_the_end(listener, capsys):
    compile_one(listener)
    compile_one(listener)
    listener.finish()
    listener.finish()
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("maxmargin: compiling functions, once per machine")
    assert last == "maxmargin: compiled 2 functions in 0 s"


def test_what_is_short_or_a_users_is_not_mentioned(listener, capsys, monkeypatch):
    compile_one(listener, "users.functions")
    monkeypatch.setattr(_jit, "_SHORT", 1000.0)
    listener.on_start(event())
    listener.on_end(event())
    listener.finish()
    assert capsys.readouterr().err == ""


def test_messages_are_silenced(listener, capsys, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_QUIET", "1")
    compile_one(listener)
    listener.finish()
    assert capsys.readouterr().err == ""


def test_a_fit_with_cached_functions_is_silent(capsys, monkeypatch):
    monkeypatch.delenv("MAXMARGIN_QUIET", raising=False)
    mm.warmup("multiclass", verbose=0)
    capsys.readouterr()
    mm.MulticlassSVM().fit(np.eye(3), [0, 1, 2]).predict(np.eye(3))
    assert capsys.readouterr().err == ""
