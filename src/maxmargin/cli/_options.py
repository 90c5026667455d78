"""Options that commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by fit.")]
Input = Annotated[str, typer.Argument(metavar="INPUT", help="A data file, gzip or not; - for standard input.")]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="svmlight, SVM-hmm: features are numbered from 0.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

# Options of a fit, whatever is fitted.
Train = Annotated[str, typer.Argument(metavar="TRAIN", help="Training data, gzip or not; - for standard input.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")]
Dev = Annotated[
    str | None,
    typer.Option("--dev", metavar="FILE", help="Development data: scored, and used to choose the best of several C."),
]
TradeOff = Annotated[str, typer.Option("-C", metavar="X", help="Trade-off; several, X,X,X, need --dev.")]
OwnTradeOff = Annotated[
    str | None,
    typer.Option("-C", metavar="X", help="Trade-off; several, X,X,X, need --dev. By default that of the estimator."),
]
OwnTol = Annotated[
    float | None,
    typer.Option("--tol", metavar="X", help="Stop at this relative gap; by default that of the estimator."),
]
Tol = Annotated[float, typer.Option("--tol", metavar="X", help="Stop at this relative gap to the lower bound.")]
MaxSeconds = Annotated[float | None, typer.Option("--max-seconds", metavar="X", help="Stop after this time.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads; all cores by default.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")]
Checkpoint = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="FILE", help="Write the state of the fit here every minute."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint if it exists.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


class BoundName(StrEnum):
    margin = "margin"
    slack = "slack"
    ramp = "ramp"
    ramp_slack = "ramp-slack"


class SlackName(StrEnum):
    linear = "linear"
    quadratic = "quadratic"


BoundOption = Annotated[
    BoundName,
    typer.Option(
        "--bound", metavar="NAME", help="margin or slack (re-scaling), ramp or ramp-slack (for noisy labels)."
    ),
]
SlackOption = Annotated[SlackName, typer.Option("--slack", metavar="NAME", help="linear or quadratic.")]


class Format(StrEnum):
    auto = "auto"
    conll = "conll"
    svmhmm = "svmhmm"
    crfsuite = "crfsuite"


class ConstraintName(StrEnum):
    auto = "auto"
    none = "none"
    bio = "bio"
    iob2 = "iob2"
    bioes = "bioes"
    bilou = "bilou"


def several_C(text: str) -> list[float]:
    """Return the numbers in ``0.03,0.1,0.3``, in ascending order, which is the fastest."""
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise typer.BadParameter(f"expected numbers separated by commas, found {text!r}", param_hint="-C") from None
    if not values[0] > 0:
        raise typer.BadParameter(f"expected numbers above 0, found {text!r}", param_hint="-C")
    return values


def plan(C: str | None, train: str, dev: str | None, output: str, checkpoint: str | None, resume: bool) -> Any:
    """Return the plan of a fit, checked before any file is read."""
    values: list[Any] = [] if C is None else [C] if C == "auto" else several_C(C)
    if len(values) > 1 and dev is None:
        raise typer.BadParameter("to choose among several C, pass development data: --dev FILE", param_hint="-C")
    if train == dev == "-":
        raise typer.BadParameter("standard input is used for the training data: pass a file", param_hint="--dev")
    if len(values) > 1 and checkpoint is not None:
        raise typer.BadParameter("a checkpoint belongs to one fit: pass one C", param_hint="--checkpoint")
    if resume and checkpoint is None:
        raise typer.BadParameter("pass the checkpoint to resume from: --checkpoint FILE", param_hint="--resume")
    if output == "-":
        raise typer.BadParameter("a model is written to a file, not to standard output", param_hint="-o")

    from maxmargin.cli._training import Plan
    from maxmargin.formats.streams import check_writable

    for target in (output, checkpoint):
        if target is not None:
            check_writable(target)
    return Plan(values, output, dev, checkpoint, resume)
