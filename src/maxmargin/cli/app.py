"""The commands of ``maxmargin``."""

from __future__ import annotations

from typing import Annotated

import typer

import maxmargin
from maxmargin.cli._task_fit import fit_command
from maxmargin.cli._tasks import TASKS
from maxmargin.cli.evaluate import evaluate
from maxmargin.cli.explain import explain
from maxmargin.cli.fit import multiclass, tagger
from maxmargin.cli.inspect import inspect
from maxmargin.cli.predict import predict
from maxmargin.cli.report import report
from maxmargin.cli.warmup import warmup

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train and use models with a large margin, and a proof of how close to optimal they are: taggers, parsers, "
    "rankers and others whose data are files.",
)
fit = typer.Typer(no_args_is_help=True, help="Train a model and write it to a file.")
fit.command()(tagger)
fit.command()(multiclass)
for task in TASKS:
    fit.command(task.name)(fit_command(task))
app.add_typer(fit, name="fit")
app.command()(predict)
app.command()(evaluate)
app.command()(inspect)
app.command()(explain)
app.command()(report)
app.command()(warmup)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maxmargin {maxmargin.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Handle the options of the program itself."""
