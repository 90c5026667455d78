"""Cold start is a feature: what is imported when, and what the cache of compiled code can and cannot break."""

import os
import subprocess
import sys
from time import perf_counter

import pytest
from numba import njit

import maxmargin as mm
from maxmargin._base import jit as _jit
from maxmargin._base.jit import working_seconds


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_import_loads_nothing_heavy():
    out = run("import sys, maxmargin; print([m for m in ('numba', 'scipy', 'sklearn', 'pandas') if m in sys.modules])")
    assert out.stdout.strip() == "[]", out.stderr


def test_every_public_name_resolves():
    code = (
        "import maxmargin as mm\n"
        "for module in (mm, mm.exceptions, mm.outputs, mm.plots, mm.solvers):\n"
        "    for name in module.__all__: getattr(module, name)\n"
        "print(len(dir(mm)) > 20)\n"
    )
    out = run(code)
    assert out.stdout.strip() == "True", out.stderr


def test_names_of_modules_are_not_at_the_top_level():
    for name, place in {
        "ArcDisplay": "plots", "StructureError": "exceptions", "InexactArgmaxWarning": "exceptions",
        "MotifSite": "outputs", "NSlack": "solvers",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=rf"^maxmargin has no {name}: use maxmargin\.{place}\.{name}$"):
            getattr(mm, name)
        assert getattr(getattr(mm, place), name).__name__ == name


def test_optional_packages_are_not_needed_for_a_fit():
    code = (
        "import sys\n"
        "for name in ('matplotlib', 'rich', 'typer', 'pooch', 'conllu'): sys.modules[name] = None\n"
        "import maxmargin as mm\n"
        "X, Y = mm.datasets.make_chains(10)\n"
        "model = mm.SequenceTagger(verbose=1).fit(X, Y)\n"
        "try: mm.plots.ConvergenceDisplay.from_estimator(model)\n"
        "except ImportError as error: print(error)\n"
    )
    out = run(code)
    expected = "plots need matplotlib: pip install matplotlib, or the whole extra: pip install 'maxmargin[plot]'"
    assert out.stdout.strip() == expected, out.stderr


def test_compiling_is_not_counted():
    @njit
    def fresh(x):
        return x + 1.0

    began, working = perf_counter(), working_seconds()
    fresh(1.0)
    working = working_seconds() - working
    assert 0.0 <= working < perf_counter() - began


@pytest.mark.slow
def test_second_process_compiles_nothing(tmp_path):
    """With a warm cache a first small fit loads its functions instead of compiling them."""
    code = (
        "import maxmargin as mm\n"
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as recorder:\n"
        "    X, Y = mm.datasets.make_chains(10)\n"
        "    mm.SequenceTagger().fit(X, Y).predict(X)\n"
        "print(len([1 for _, e in recorder.buffer if e.is_start and 'args' in e.data or e.is_start]))\n"
    )
    first = run(code)
    second = run(code)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert int(second.stdout) == 0, second.stdout


def test_no_cache_directory_breaks_nothing(monkeypatch):

    calls = []

    def njit(**options):
        def decorate(function):
            calls.append(options.get("cache", False))
            if options.get("cache"):
                raise RuntimeError("cannot cache function: no locator available")
            return function

        return decorate

    monkeypatch.setattr(_jit, "njit", njit)

    def double(x):
        return 2 * x

    assert _jit.jit(double)(4) == 8
    assert calls == [True, False]


@pytest.mark.slow
def test_an_edit_of_what_a_function_calls_is_seen(tmp_path):
    """Functions and constants of other files are compiled into a function: its cache is stale when they change."""
    caller = (
        "from maxmargin._base.jit import jit\n"
        "from called import OFFSET, step\n\n\n"
        "@jit\ndef shifted(x):\n    return step(x) + OFFSET\n"
    )
    called = "from maxmargin._base.jit import inlined\n\nOFFSET = {}\n\n\n@inlined\ndef step(x):\n    return x {} 3\n"
    (tmp_path / "calling.py").write_text(caller)
    use = "from calling import shifted; print(shifted(5), sum(shifted.stats.cache_hits.values()))"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    printed = []
    for offset, sign in [(0, "+"), (0, "+"), (0, "-"), (1, "-"), (1, "-")]:
        (tmp_path / "called.py").write_text(called.format(offset, sign))
        os.utime(tmp_path / "called.py", (0, 0))
        out = run(use, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        printed.append(out.stdout.strip() or out.stderr)
    assert printed == ["8 0", "8 1", "2 0", "3 0", "3 1"]


@pytest.mark.parametrize("name", ["Nothing", "numpy"])
def test_unknown_names(name):
    import maxmargin

    with pytest.raises(AttributeError, match=f"attribute {name}"):
        getattr(maxmargin, name)
