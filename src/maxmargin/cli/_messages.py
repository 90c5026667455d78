"""Output of the command line on both standard streams; errors end it with a one-line message and exit code 1."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import wraps
from typing import Any

import typer


def say(text: str, quiet: bool = False) -> None:
    """Write a line to standard error."""
    if not quiet:
        typer.echo(text, err=True)


def show_anything() -> None:
    """Make standard output escape characters that its encoding does not have, as standard error does."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def can_be_shown(text: str) -> bool:
    """Return whether standard output can encode these characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def print_json(content: dict[str, Any]) -> None:
    """Print JSON; numbers that JSON does not have are the strings "inf", "-inf" and "nan"."""
    content = _with_finite_numbers(content)
    text = json.dumps(content, ensure_ascii=False, indent=2, default=str, allow_nan=False)
    typer.echo(text if can_be_shown(text) else json.dumps(content, indent=2, default=str, allow_nan=False))


def _with_finite_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_finite_numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_finite_numbers(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{os.fspath(error.filename)}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def _calm(quiet: bool) -> AbstractContextManager[None]:
    """Return a block without messages about compilation if `quiet` is true."""
    if not quiet:
        return nullcontext()
    from maxmargin._base.jit import silent_compilation

    return silent_compilation()


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """End the command with a message instead of a traceback on bad input, unless ``--debug`` is given."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        show_anything()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.simplefilter("ignore", DeprecationWarning)
                quiet = bool(options.get("quiet"))
                warnings.showwarning = lambda message, *_, **__: say(
                    f"maxmargin: warning: {_worded(str(message), command)}", quiet
                )
                with _calm(quiet):
                    command(*args, **options)
        except BrokenPipeError:  # the reader of a pipe has closed it
            _discard_output()
            raise typer.Exit(1) from None
        except (ValueError, OSError, ImportError, MemoryError) as error:
            if options.get("debug"):
                raise
            _discard_output()
            with suppress(OSError):
                say(f"maxmargin: {_worded_error(error, command)}")
            raise typer.Exit(1) from None

    return run


def _worded(text: str, command: Callable[..., None]) -> str:
    """Return a message of the library in the words of a command."""
    from maxmargin.cli._wording import flags_of, in_options

    return in_options(text, flags_of(command))


def _worded_error(error: Exception, command: Callable[..., None]) -> str:
    """Return the message of an error in the words of a command; names of files stay as they are."""
    from maxmargin.formats.streams import FormatError

    text = one_line(error)
    if isinstance(error, OSError):
        return text
    message = " ".join(error.message.split()) if isinstance(error, FormatError) else text
    return text.removesuffix(message) + _worded(message, command)


def _discard_output() -> None:
    """Discard what standard output has not taken (pipe closed, disk full): the interpreter would write it on exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
