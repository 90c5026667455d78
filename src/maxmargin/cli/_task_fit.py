"""``maxmargin fit TASK`` for the tasks of the table: options of all fits, and those of the task."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, say
from maxmargin.cli._tasks import Option, Task


def common_options(
    train: opt.Train,
    output: opt.Output,
    C: opt.OwnTradeOff = None,
    dev: opt.Dev = None,
    tol: opt.OwnTol = None,
    max_seconds: opt.MaxSeconds = None,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    checkpoint: opt.Checkpoint = None,
    resume: opt.Resume = False,
    zero_based: opt.ZeroBased = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> dict[str, Any]:
    """Return the options of every fit by name."""
    return locals()


def fit_command(task: Task) -> Callable[..., None]:
    """Return the command that fits the model of a task."""

    def command(**given: Any) -> None:
        own = {option.name: given.pop(option.name) for option in task.options}
        _fit(task, common_options(**given), {name: value for name, value in own.items() if value is not None})

    absent = set() if task.numbered else {"zero_based"}
    absent |= set() if task.resumes else {"checkpoint", "resume"}
    hints = get_type_hints(common_options, include_extras=True)
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=part.default, annotation=hints[name])
        for name, part in signature(common_options).parameters.items()
        if name not in absent
    ]
    own = [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(option))
        for option in task.options
    ]
    command.__signature__ = Signature(shared + own)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    command.__name__, command.__doc__ = task.name, task.summary
    command.takes_none = frozenset(  # type: ignore[attr-defined]
        option.name for option in task.options if option.kind in (str, list) and not option.is_file
    )
    return guarded(command)


def _annotation(option: Option) -> Any:
    kind: Any = {list: str, bool: bool}.get(option.kind, option.kind)
    metavar = None if option.kind is bool else "FILE" if option.is_file else "N" if option.kind is int else "VALUE"
    return Annotated[kind | None, typer.Option(option.flag, metavar=metavar, help=option.help, show_default=False)]


def _fit(task: Task, common: dict[str, Any], own: dict[str, Any]) -> None:
    plan = opt.plan(*(common[name] for name in ("C", "train", "dev", "output", "checkpoint", "resume")))

    import maxmargin
    from maxmargin.cli._examples import Request
    from maxmargin.cli._training import Training, fit

    quiet, files = common["quiet"], {}
    parameters: dict[str, Any] = {
        "max_seconds": common["max_seconds"], "n_jobs": common["jobs"], "random_state": common["seed"],
        "verbose": int(not quiet), "checkpoint": common["checkpoint"],
    }  # fmt: skip
    if common["tol"] is not None:
        parameters["tol"] = common["tol"]
    for option in task.options:
        if option.name in own:
            value = own[option.name]
            if option.is_file:
                files[option.name] = value
            else:
                parameters[option.name] = _value(option, value)
    model = getattr(maxmargin, task.estimator)(**parameters)
    request = Request(common["zero_based"], training=True, given=frozenset(parameters), files=files)
    data = task.examples(model, common["train"], request)
    say(f"{common['train']}: {data.size}", quiet)
    held_out = Request(common["zero_based"], width=getattr(data.X, "shape", (0, None))[1], files=files)
    with data.located():
        fit(
            Training(
                model, data.X, data.Y, data.groups,
                read=lambda path: task.examples(model, path, held_out),
                scores=lambda fitted, dev: task.scores(fitted, dev, held_out),
            ),
            plan, quiet,
        )  # fmt: skip


def _value(option: Option, given: Any) -> Any:
    """Return the value of a parameter; ``none`` is None, or an empty list."""
    if option.kind is list:
        return [] if given.strip() == "none" else [part.strip() for part in given.split(",") if part.strip()]
    return None if given == "none" else given
