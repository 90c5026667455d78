"""Functions compiled side by side by several processes, before they are called.

Numba compiles one function at a time in a process. Which functions a fit calls, and with what types, is known before it
starts, so they are divided among this process and others, which put them into the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from threading import Condition, Thread
from time import perf_counter
from typing import Any, NamedTuple

from numba.core import types

from maxmargin._base.jit import JitCache, messages, paused_messages

#: Environment variable with the number of processes that compile, this one included; by default that of the cores.
PROCESSES = "MAXMARGIN_COMPILE_PROCESSES"
#: Missing functions for which other processes are worth their start, about a second each.
_WORTH = 6
#: Seconds between lines about progress.
_BETWEEN = 5.0


class Signature(NamedTuple):
    """A compiled function and the types of its arguments.

    Attributes
    ----------
    module, name : str
        Where the function is.
    arguments : tuple of str
        ``"float64"`` for a number, ``"float64[2]"`` for an array of two dimensions in C order; read-only arrays and
        those in another order have the suffix ``" readonly"`` or ``" A"``.
    """

    module: str
    name: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, function: Any, arguments: Sequence[Any]) -> Signature | None:
        """Return the signature of a dispatcher; None if a type is neither a number nor an array."""
        texts = [_text(kind) for kind in arguments]
        if None in texts:
            return None
        return cls(function.py_func.__module__, function.py_func.__name__, tuple(texts))  # type: ignore[arg-type]

    def dispatcher(self) -> Any:
        """Return the function; None if there is none of this name any more."""
        return getattr(import_module(self.module), self.name, None)

    def types(self) -> tuple[Any, ...]:
        """Return the types of the arguments as Numba has them."""
        return tuple(_type(text) for text in self.arguments)

    def is_ready(self) -> bool:
        """Return whether the function is compiled, in this process or in the cache; true if it cannot be cached."""
        function, kinds = self.dispatcher(), self.types()
        if function is None or not isinstance(getattr(function, "_cache", None), JitCache):
            return True
        return kinds in function.overloads or function._cache.has(kinds, function.targetctx)

    def compile(self) -> None:
        """Compile the function into the cache, or load it."""
        self.dispatcher().compile(self.types())


def _text(kind: Any) -> str | None:
    if isinstance(kind, types.Array):
        suffix = ("" if kind.layout == "C" else f" {kind.layout}") + ("" if kind.mutable else " readonly")
        return f"{kind.dtype}[{kind.ndim}]{suffix}" if kind.aligned else None
    plain = isinstance(kind, types.Number | types.Boolean) and not isinstance(kind, types.Literal)
    return str(kind) if plain else None


@cache
def _type(text: str) -> Any:
    name, bracket, rest = text.partition("[")
    dtype: Any = types.boolean if name == "bool" else getattr(types, name)
    if not bracket:
        return dtype
    ndim, _, suffixes = rest.partition("]")
    layout: Any = "A" if " A" in suffixes else "F" if " F" in suffixes else "C"
    return types.Array(dtype, int(ndim), layout, readonly="readonly" in suffixes)


def compile_ahead(signatures: Sequence[Signature]) -> None:
    """Compile the functions that are missing, in several processes if there are enough of them.

    Functions that call each other are compiled one after the other, the called one first. Nothing here makes a call
    fail: what cannot be compiled here is compiled, or raises its error, when it is called.
    """
    missing = [signature for signature in signatures if not signature.is_ready()]
    others = min(processes() - 1, len(missing) // _WORTH)
    if others < 1:
        return
    with paused_messages(), _workers(others) as workers:
        Queue(missing).compile_with(workers)


def processes() -> int:
    """Return the number of processes that may compile."""
    given = os.environ.get(PROCESSES, "")
    if given.isdecimal():
        return int(given)
    program = os.path.basename(sys.executable or "").lower()
    if not program.startswith(("python", "pypy")) or getattr(sys, "frozen", False):  # it starts something else
        return 1
    with suppress(AttributeError):
        return min(len(os.sched_getaffinity(0)), 8)  # 200 MB each
    return min(os.cpu_count() or 1, 8)


class Queue:
    """Functions to compile, of which each is taken by one process once those that it calls are compiled."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.waiting, self.total = list(signatures), len(signatures)
        names = {(s.module, s.name) for s in signatures}
        self.calls = {s: called_by(s.dispatcher()) & names for s in signatures}
        self.running: list[Signature] = []
        self.changed = Condition()

    def take(self, wait: bool) -> Signature | None:
        """Return a function whose called functions are compiled; None if nothing is left (or, unless `wait`, now).

        As long as another process compiles a function it may be lost, and that function is waiting again.
        """
        with self.changed:
            while self.waiting or self.running:
                open_names = {(s.module, s.name) for s in [*self.waiting, *self.running]}
                for s in self.waiting:
                    if not (self.calls[s] - {(s.module, s.name)}) & open_names:
                        self.waiting.remove(s)
                        self.running.append(s)
                        return s
                if not wait or not self.running:
                    return None
                self.changed.wait()
            return None

    def done(self, signature: Signature, again: bool = False) -> None:
        """Say that a function is compiled, or that it must be compiled by another process."""
        with self.changed:
            self.running.remove(signature)
            if again:
                self.waiting.append(signature)
            self.changed.notify_all()

    def left(self) -> int:
        with self.changed:
            return len(self.waiting) + len(self.running)

    def compile_with(self, workers: Sequence[subprocess.Popen[str]]) -> None:
        """Compile all functions in this process and the others, with lines about the progress."""
        began = shown = perf_counter()
        messages.say(
            f"compiling {self.total} functions, once per machine, in {len(workers) + 1} processes "
            f"(`maxmargin warmup` compiles ahead) …"
        )
        threads = [Thread(target=self._feed, args=(worker,), daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        while (signature := self.take(wait=True)) is not None:
            with suppress(Exception):  # it is raised again when the function is called
                signature.compile()
            self.done(signature)
            if perf_counter() - shown > _BETWEEN:
                shown = perf_counter()
                messages.say(f"compiled {self.total - self.left()} of {self.total} functions, {shown - began:.0f} s")
        for thread in threads:
            thread.join()
        messages.say(f"compiled {self.total} functions in {perf_counter() - began:.0f} s")

    def _feed(self, worker: subprocess.Popen[str]) -> None:
        """Give functions to another process, one at a time, until none is left or the process has ended."""
        assert worker.stdin is not None and worker.stdout is not None
        while (signature := self.take(wait=True)) is not None:
            answer = ""
            with suppress(OSError, ValueError):
                worker.stdin.write(json.dumps(signature) + "\n")
                worker.stdin.flush()
                answer = worker.stdout.readline()
            self.done(signature, again=not answer)
            if not answer:
                return


def called_by(function: Any) -> set[tuple[str, str]]:
    """Return module and name of the compiled functions that a function calls, itself or by those compiled into it."""
    callees: set[tuple[str, str]] = set()
    _collect_calls(function, callees)
    return callees


def _collect_calls(function: Any, callees: set[tuple[str, str]]) -> None:
    for name in function.py_func.__code__.co_names:
        called = function.py_func.__globals__.get(name)
        inner = getattr(called, "py_func", None)
        if inner is not None and (inner.__module__, inner.__name__) not in callees:
            callees.add((inner.__module__, inner.__name__))
            _collect_calls(called, callees)


@contextmanager
def _workers(count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes that compile what they are sent; they end when this block does."""
    code = "from maxmargin._base.ahead import work; work()"
    environment = {**os.environ, PROCESSES: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ExitStack() as stack:
        workers = []
        for _ in range(count):
            with suppress(OSError):  # no memory, no more processes: this one compiles alone
                worker = subprocess.Popen(
                    [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True, env=environment,
                )  # fmt: skip
                workers.append(stack.enter_context(worker))
        try:
            yield workers
        except BaseException:
            for worker in workers:
                worker.kill()
            raise


def work() -> None:
    """Compile the functions that another process sends, one line each, and answer with a line."""
    for line in sys.stdin:
        module, name, arguments = json.loads(line)
        with suppress(Exception):
            Signature(module, name, tuple(arguments)).compile()
        print("done", flush=True)


@cache
def compile_kind(kind: str) -> None:
    """Compile the functions of a kind of fit that are not in the cache, once per process, if there are several cores.

    ``compiled.json`` lists them for the fits of `warmup`, by structure, bound, solver and type of features. It says
    what to compile early: a function that is missing there is compiled when it is called.
    ``python -m benchmarks.record_compiled`` writes it.
    """
    compile_ahead(functions_of(kind))


def functions_of(kind: str) -> list[Signature]:
    """Return the functions of a kind of fit, or those of all fits that differ from it only in settings."""
    kinds = _listed()
    if kind in kinds:
        return list(kinds[kind])
    general = kind.rpartition("; ")[0]
    similar = [signatures for name, signatures in kinds.items() if name.rpartition("; ")[0] == general]
    if not similar:
        return []
    everywhere = set(similar[0]).intersection(*similar)
    return [signature for signature in similar[0] if signature in everywhere]


@cache
def _listed() -> dict[str, list[Signature]]:
    content = json.loads(files("maxmargin._base").joinpath("compiled.json").read_text(encoding="utf-8"))
    types: Sequence[str] = content["types"]
    signatures = [
        Signature(module, name, tuple(types[t] for t in kinds)) for module, name, kinds in content["functions"]
    ]
    return {kind: [signatures[f] for f in functions] for kind, functions in content["fits"].items()}


def all_functions(kinds: Sequence[str] | None = None) -> list[Signature]:
    """Return the functions of these kinds of fits, or of all that are listed, each once."""
    listed = _listed()
    return list(dict.fromkeys(s for kind in (listed if kinds is None else kinds) for s in listed.get(kind, [])))
