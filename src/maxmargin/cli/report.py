"""``maxmargin report``: a model, and what it does to a test file, as one page of HTML."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, say


@guarded
def report(
    model: opt.Model,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page (HTML).")],
    test: Annotated[
        str | None, typer.Option("--test", metavar="FILE", help="Data with outputs, to compare predictions with.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Weights shown for each label or part.")] = 10,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Wrong examples shown, the worst first.")] = 10,
    zero_based: opt.ZeroBased = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Write a page about a model: certificate, curve, weights that matter; with --test also errors, explained.

    The page is one file without links to others, so it can be sent and opened anywhere.
    """
    from maxmargin._base.archive import replacing
    from maxmargin.cli._data import load_model
    from maxmargin.cli._report_page import page
    from maxmargin.cli._report_test import analysis
    from maxmargin.formats.streams import check_writable, is_standard

    if is_standard(output):
        raise typer.BadParameter("a page is written to a file, not to standard output", param_hint="-o")
    check_writable(output)
    kind = load_model(model, zero_based)
    analysed = None if test is None else analysis(kind, test, zero_based, examples)
    text = page(model, kind.model, analysed, top)
    with replacing(output) as file:
        file.write(text.encode("utf-8"))
    say(f"wrote {output}", quiet)
