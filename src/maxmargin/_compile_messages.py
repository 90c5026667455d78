"""Messages while kernels are compiled, which takes up to a minute once per machine and is silent otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from time import perf_counter
from typing import Any

from numba.core import event

#: Environment variable that silences the messages.
QUIET = "MAXMARGIN_QUIET"
#: Seconds of compilation before the first line, and between lines.
_SHORT, _BETWEEN = 1.0, 10.0


class CompileMessages(event.Listener):
    """Listener that writes to standard error when compilation takes long, how far it is, and when it has ended."""

    def __init__(self) -> None:
        self.silent = False
        self._depth, self._timer = 0, Timer(0.0, lambda: None)
        self._forget()

    def _forget(self) -> None:
        self.count, self.seconds, self.announced, self._shown_at = 0, 0.0, False, 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1 and _ours(event):
            self._began = perf_counter()
            if not self.announced:
                self._timer = Timer(max(_SHORT - self.seconds, 0.0), self._announce)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and _ours(event):
            self._timer.cancel()
            self.count += 1
            self.seconds += perf_counter() - self._began
            if self.announced and perf_counter() - self._shown_at >= _BETWEEN:
                self._say(f"compiled {self._kernels()} so far, {self.seconds:.0f} s")

    def _announce(self) -> None:
        self.announced = True
        self._say("compiling kernels, once per machine, up to a minute (`maxmargin warmup` compiles ahead) …")

    def finish(self) -> None:
        """Write how many kernels were compiled, if a line was written before, and count from 0 again."""
        if self.announced:
            self._say(f"compiled {self._kernels()} in {self.seconds:.0f} s")
        self._forget()

    def _kernels(self) -> str:
        return "1 kernel" if self.count == 1 else f"{self.count} kernels"

    def _say(self, text: str) -> None:
        self._shown_at = perf_counter()
        if not self.silent and os.environ.get(QUIET, "0") in ("", "0") and sys.stderr is not None:
            print(f"maxmargin: {text}", file=sys.stderr, flush=True)


def _ours(event: Any) -> bool:
    """Return whether a kernel of this library is compiled, not a function of a user."""
    dispatcher = (event.data or {}).get("dispatcher")
    return str(getattr(getattr(dispatcher, "py_func", None), "__module__", "")).startswith("maxmargin.")


messages = CompileMessages()
event.register("numba:compile", messages)


@contextmanager
def silent_compilation(silent: bool = True) -> Iterator[None]:
    """Write no messages in this block, if `silent` is true."""
    before = messages.silent
    messages.silent = before or silent
    try:
        yield
    finally:
        messages.silent = before
