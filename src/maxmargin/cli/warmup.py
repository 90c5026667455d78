"""``maxmargin warmup``: compile functions ahead of their first use."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded


@guarded
def warmup(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND]...",
            help="tagger, multiclass, tree, clustering, ranking, motif, own, bounds, solvers, or all.",
        ),
    ] = None,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Compile the functions of these kinds of models ahead (containers, CI); all kinds by default."""
    from maxmargin.estimators.warmup import warmup as compile_ahead

    compile_ahead(what or "all", verbose=int(not quiet))
