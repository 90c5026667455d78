"""``python -m benchmarks.record_compiled [kind ...]``: list the functions that the fits of `warmup` call.

Writes ``src/maxmargin/_base/compiled.json``, which fits read to compile functions ahead; with kinds of `warmup`,
the entries of these alone are written again. Functions are listed by the size of their code, the largest first.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from numba import njit

import maxmargin as mm
from maxmargin._base import ahead, jit
from maxmargin._base.ahead import Signature, called_by
from maxmargin.estimators import base
from maxmargin.estimators.predictor import Predictor
from maxmargin.estimators.warmup import _chosen

TARGET = Path(ahead.__file__).parent / "compiled.json"
#: Methods that a first fit does not need.
OTHERS = ("topk", "decision_scores", "sites", "score")


def dispatchers() -> dict[tuple[str, str], Any]:
    """Return the compiled functions of all modules that are loaded."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("maxmargin.")]
    found = [value for module in modules for value in vars(module).values()]
    cached = [value for value in found if isinstance(getattr(value, "_cache", None), jit.JitCache)]
    return {(value.py_func.__module__, value.py_func.__name__): value for value in cached}


#: What a function with these types was found to call.
_called: dict[Any, tuple[set[Signature], list[tuple[Any, Any]]]] = {}


def loaded() -> set[Signature]:
    """Return the functions that were called, or compiled into others, since `forget`."""
    found = [Signature.of(d, arguments) for d in dispatchers().values() for arguments in d.signatures]
    return {signature for signature in found if signature is not None}


def signatures() -> set[Signature]:
    """Return the functions that were called since `forget`, with the functions that these call."""
    found, waiting, seen = loaded(), exactly_loaded(), set()
    while waiting:
        function, arguments = waiting.pop()
        if (function, arguments) in seen or not called_by(function) & dispatchers().keys():
            continue
        seen.add((function, arguments))
        if (function, arguments) not in _called:  # its code in the cache contains that of what it calls
            forget()
            njit(nogil=True, fastmath=jit._FASTMATH, error_model="numpy")(function.py_func).compile(arguments)
            _called[function, arguments] = loaded(), exactly_loaded()
        found |= _called[function, arguments][0]
        waiting += _called[function, arguments][1]
    return found


def exactly_loaded() -> list[tuple[Any, Any]]:
    """Return dispatchers with the types that they were called with since `forget`."""
    return [(dispatcher, arguments) for dispatcher in dispatchers().values() for arguments in dispatcher.signatures]


def forget() -> None:
    for dispatcher in dispatchers().values():
        dispatcher._reset_overloads()


class Recorder:
    """Functions by kind of fit, one set for each fit."""

    def __init__(self) -> None:
        self.kind: str | None = None
        self.fits: dict[str, list[set[Signature]]] = defaultdict(list)

    def flush(self) -> None:
        if self.kind is not None:
            self.fits[self.kind].append(signatures())
            self.kind = None

    def install(self) -> None:
        fit, kind_of_fit = base.MaxMarginEstimator._fit, base.kind_of_fit

        def recorded_fit(estimator: Any, *arguments: Any, **options: Any) -> Any:
            self.flush()
            forget()
            return fit(estimator, *arguments, **options)

        def recorded(structure: Any, problem: Any, solver: Any, bound: str) -> str:
            kind: str = kind_of_fit(structure, problem, solver, bound)
            self.kind = self.kind or kind
            return kind

        setattr(base.MaxMarginEstimator, "_fit", recorded_fit)  # noqa: B010
        setattr(base, "kind_of_fit", recorded)  # noqa: B010
        setattr(base, "compile_kind", len)  # noqa: B010  # nothing is compiled ahead
        for name in OTHERS:
            for kind in (Predictor, *mm.registry.public_estimators()):
                if name in vars(kind):
                    self._flush_before(kind, name)

    def _flush_before(self, kind: type, name: str) -> None:
        method = vars(kind)[name]

        def flushed(estimator: Any, *arguments: Any, **options: Any) -> Any:
            self.flush()
            return method.__get__(estimator, type(estimator))(*arguments, **options)

        setattr(kind, name, flushed)


def size(signature: Signature) -> int:
    """Return the number of bytes of the compiled code."""
    function = signature.dispatcher()
    file = function._cache._cache._cache_file
    key = function._cache._cache._index_key(signature.types(), function.targetctx.codegen())
    name = file._load_index().get(key)
    return Path(file._data_path(name)).stat().st_size if name else 0


def main(kinds: list[str]) -> None:
    importlib.import_module("maxmargin.registry")
    recorder = Recorder()
    recorder.install()
    for kind in _chosen(kinds or "all"):
        mm.warmup(kind)
        recorder.flush()
        write(recorder, kinds)


def write(recorder: Recorder, kinds: list[str]) -> None:
    """Write the list; what other kinds of `warmup` need stays if kinds were given."""
    before = ahead._listed() if TARGET.exists() and kinds else {}
    fits = {**before, **{kind: most(found) for kind, found in recorder.fits.items()}}
    listed = sorted({s for found in fits.values() for s in found}, key=lambda s: (-size(s), s))
    types = sorted({text for s in listed for text in s.arguments})
    numbers = {s: n for n, s in enumerate(listed)}
    lines = [f'  ["{s.module}", "{s.name}", {json.dumps([types.index(t) for t in s.arguments])}]' for s in listed]
    rows = [f"  {json.dumps(kind)}: {json.dumps(sorted(numbers[s] for s in fits[kind]))}" for kind in sorted(fits)]
    TARGET.write_text(
        f'{{\n "types": {json.dumps(types)},\n "functions": [\n' + ",\n".join(lines) + '\n ],\n "fits": {\n'
        + ",\n".join(rows) + "\n }\n}\n", encoding="utf-8",
    )  # fmt: skip
    print(f"{TARGET}: {len(listed)} functions, {len(fits)} kinds of fits", flush=True)


def most(found: list[set[Signature]]) -> list[Signature]:
    """Return the functions that at least half of the fits of a kind have called."""
    counts = Counter(signature for one in found for signature in one)
    return [signature for signature, count in counts.items() if 2 * count >= len(found)]


if __name__ == "__main__":
    main(sys.argv[1:])
