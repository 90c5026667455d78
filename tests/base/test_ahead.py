"""Functions compiled side by side, before they are called."""

import os
import subprocess
import sys

import pytest
from numba.core import types

from maxmargin._base import ahead
from maxmargin._base.ahead import Queue, Signature, all_functions, called_by, functions_of
from maxmargin.core.planes import all_float32
from maxmargin.solvers.working_sets._jit import insert_planes


@pytest.mark.parametrize(
    "kind",
    [types.float64, types.boolean, types.float32[::1], types.int64[:, ::1], types.float64[:],
     types.Array(types.float64, 1, "C", readonly=True), types.Array(types.int32, 2, "F")],
)  # fmt: skip
def test_types_as_text(kind):
    signature = Signature.of(all_float32, (kind,))
    assert signature.types() == (kind,)
    assert signature.dispatcher() is all_float32


def test_other_types_have_no_text():
    assert Signature.of(all_float32, (types.unicode_type,)) is None
    assert Signature.of(all_float32, (types.UniTuple(types.int64, 2),)) is None
    assert Signature.of(all_float32, (types.literal(0),)) is Signature.of(all_float32, (types.literal(True),)) is None


def test_what_a_function_calls():
    module = "maxmargin.solvers.working_sets._jit"
    called = called_by(insert_planes)
    assert {(module, "block_step"), (module, "block_scores"), ("maxmargin.core.planes", "sparse_dot")} <= called


def test_a_function_waits_for_those_that_it_calls():
    module = "maxmargin.solvers.working_sets._jit"
    caller, called = Signature(module, "insert_planes", ()), Signature(module, "block_step", ())
    queue = Queue([caller, called])
    assert queue.take(wait=False) == called
    assert queue.take(wait=False) is None
    queue.done(called)
    assert queue.take(wait=False) == caller
    queue.done(caller, again=True)  # the process that had it is lost
    assert queue.take(wait=False) == caller
    queue.done(caller)
    assert (queue.take(wait=True), queue.left()) == (None, 0)


def test_every_function_of_the_list_exists():
    listed = all_functions()
    assert len(listed) > 30
    for signature in listed:
        function = signature.dispatcher()
        assert function is not None, signature
        assert len(signature.types()) == function.py_func.__code__.co_argcount, signature


def test_an_unknown_setting_has_the_functions_of_all_that_are_known():
    known = "Chain; margin linear; proximal; float64; cost=hamming fit_intercept=True seen_pairs=False start_end=True"
    other = {s.name for s in functions_of(known + " other=True")}
    assert {"insert_planes", "block_step", "match_keys"} <= other
    assert functions_of("nothing; margin linear; proximal; float64; ") == []


@pytest.mark.parametrize(("given", "found"), [("3", 3), ("1", 1)])
def test_number_of_processes(monkeypatch, given, found):
    monkeypatch.setenv(ahead.PROCESSES, given)
    assert ahead.processes() == found


def test_a_program_that_is_not_python_is_not_started(monkeypatch):
    monkeypatch.delenv(ahead.PROCESSES)
    monkeypatch.setattr(sys, "executable", "/usr/bin/gimp")
    assert ahead.processes() == 1


def test_a_process_that_ends_loses_no_function(monkeypatch):
    """What a lost process should have compiled is compiled by this one."""
    compiled = []
    monkeypatch.setattr(Signature, "compile", lambda signature: compiled.append(signature))
    signatures = [Signature("maxmargin.core.planes", name, ()) for name in ("all_float32", "copy_spans", "add_rows")]
    command = [sys.executable, "-c", "pass"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        Queue(signatures).compile_with([worker])
    assert sorted(compiled) == sorted(signatures)


FIT = """
import numpy as np, maxmargin as mm
from maxmargin.core.planes import all_float32
X, Y = mm.datasets.toy.rows()
print(mm.MulticlassSVM().fit(X, Y).coef_.sum().hex(), sum(all_float32.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_a_first_fit_in_two_processes(tmp_path):
    """The fit is that of one process, and its functions come from both."""
    found = []
    for name, processes in (("two", "2"), ("two", "2"), ("one", "1")):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / name), ahead.PROCESSES: processes}
        environment.pop("MAXMARGIN_QUIET", None)
        out = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True, env=environment)
        found.append((out.stdout.split()[0], "in 2 processes" in out.stderr, "compiled " in out.stderr))
    assert found[0][1:] == (True, True)
    assert found[1] == (found[0][0], False, False)
    assert found[2] == (found[0][0], False, True)


def test_the_list_is_that_of_a_fit():
    """The functions of the commonest fit, so that a change of a type does not make the list stale."""
    code = (
        "import sys, maxmargin as mm\n"
        "from maxmargin._base import ahead\nfrom maxmargin.estimators import base\n"
        "kinds = []\n"
        "base.compile_kind = kinds.append\n"
        "X, Y = mm.datasets.toy.chains()\n"
        "mm.SequenceTagger().fit(X, Y)\n"
        "listed = ahead.functions_of(kinds[0])\n"
        "print(len(listed), [s for s in listed if s.name in NAMES and s.types() not in s.dispatcher().signatures])\n"
    ).replace("NAMES", "('insert_planes', 'block_pass', 'decode_chains', 'chain_planes', 'match_keys')")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, _, wrong = out.stdout.strip().partition(" ")
    assert int(count) > 15
    assert wrong == "[]"
