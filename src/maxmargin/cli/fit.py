"""``maxmargin fit``: taggers from columns, attributes or numbered features, classifiers from svmlight rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, say


@guarded
def tagger(
    train: opt.Train,
    output: opt.Output,
    C: opt.TradeOff = "0.3",
    dev: opt.Dev = None,
    data_format: Annotated[
        opt.Format, typer.Option("--format", metavar="NAME", help="conll, crfsuite, svmhmm or auto (detect).")
    ] = opt.Format.auto,
    label_column: Annotated[
        int, typer.Option("--label-column", metavar="N", help="Column of the label, from 0; negative from the end.")
    ] = -1,
    constraints: Annotated[
        opt.ConstraintName,
        typer.Option("--constraints", metavar="NAME", help="none, bio (iob2), bioes, bilou or auto (detect)."),
    ] = opt.ConstraintName.auto,
    loss: Annotated[
        str, typer.Option("--loss", metavar="LOSS", help="hamming, hamming-share, zero-one, or costs: B-PER=2,I-PER=2")
    ] = "hamming",
    window: Annotated[int, typer.Option("--window", metavar="N", min=0, help="Number of neighbours on each side.")] = 2,
    affixes: Annotated[int, typer.Option("--affixes", metavar="N", min=0, help="Longest prefix and suffix.")] = 4,
    shape: Annotated[bool, typer.Option("--shape/--no-shape", help="Shapes of words, as Xxxx.")] = True,
    pairs: Annotated[bool, typer.Option("--pairs/--no-pairs", help="Pairs and triples of neighbours.")] = True,
    column: Annotated[
        list[int] | None,
        typer.Option("--column", metavar="N", help="A further column to use; repeatable; all by default."),
    ] = None,
    words_only: Annotated[bool, typer.Option("--words-only", help="Use no further column.")] = False,
    word_column: Annotated[int, typer.Option("--word-column", metavar="N", help="Column of the word.")] = 0,
    min_count: Annotated[
        int, typer.Option("--min-count", metavar="N", min=1, help="Leave out features of fewer tokens.")
    ] = 1,
    seen_pairs: Annotated[
        bool, typer.Option("--seen-pairs", help="Weights only for pairs (feature, label) of the training data.")
    ] = False,
    zero_based: opt.ZeroBased = False,
    bound: opt.BoundOption = opt.BoundName.margin,
    slack: opt.SlackOption = opt.SlackName.linear,
    tol: opt.Tol = 1e-2,
    max_seconds: opt.MaxSeconds = None,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    checkpoint: opt.Checkpoint = None,
    resume: opt.Resume = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Train a tagger: a label for every token of a sequence."""
    plan = _plan(C, train, dev, output, checkpoint, resume)
    if words_only and column:
        raise typer.BadParameter(
            "--words-only uses no further columns, so --column cannot be given", param_hint="--column"
        )

    from maxmargin.cli import _data, _labels, _training
    from maxmargin.encoding.templates import TokenTemplates
    from maxmargin.estimators.column_tagger import ColumnTagger
    from maxmargin.estimators.tagger import SequenceTagger
    from maxmargin.formats import FormatError

    said = data_format is not opt.Format.auto
    found = data_format.value if said else _data.detect_format(train)
    if found == "svmlight":
        raise FormatError(
            train, None,
            "these are svmlight rows without qid, for `maxmargin fit multiclass` (or columns, with --format conll; "
            "or attributes, with --format crfsuite)",
        )  # fmt: skip
    common: dict[str, Any] = {
        "bound": bound.value, "slack": slack.value, "tol": tol, "max_seconds": max_seconds, "n_jobs": jobs,
        "random_state": seed, "verbose": int(not quiet), "checkpoint": checkpoint, "min_count": min_count,
        "seen_pairs": seen_pairs,
    }  # fmt: skip
    if found == "conll":
        kind = _data.Kind(ColumnTagger(label_column=label_column, **common), "columns", said=said)
    else:
        name = "attributes" if found == "crfsuite" else "sequences"
        kind = _data.Kind(SequenceTagger(**common), name, zero_based, said)
    X, Y = kind.read(train)
    if found == "conll":
        if not said and label_column == -1:
            _data.check_label_column(train, X, Y)
        word, columns = _data.template_columns(
            len(X[0][0]) + 1, label_column, word_column, [] if words_only else column
        )
        templates = TokenTemplates(window, affixes, shape, pairs, columns, word)
        kind.model.set_params(templates=templates)
    scheme, Y, note = _labels.constrain(constraints.value, Y)
    say(note, quiet or not note)
    known = {label for y in Y for label in y}
    kind.model.set_params(constraints=scheme, loss=_labels.costs(loss, known, _labels.TAGGER_LOSSES))
    say(f"{train}: {len(X)} sequences, {sum(map(len, Y))} tokens, {len(known)} labels", quiet)
    _training.fit(kind, X, Y, plan, quiet)


@guarded
def multiclass(
    train: opt.Train,
    output: opt.Output,
    C: opt.TradeOff = "1.0",
    dev: opt.Dev = None,
    loss: Annotated[str, typer.Option("--loss", metavar="LOSS", help="zero-one, or costs: 3=10,4=10")] = "zero-one",
    intercept: Annotated[bool, typer.Option("--intercept/--no-intercept", help="A constant feature.")] = True,
    zero_based: opt.ZeroBased = False,
    bound: opt.BoundOption = opt.BoundName.margin,
    slack: opt.SlackOption = opt.SlackName.linear,
    tol: opt.Tol = 1e-3,
    max_seconds: opt.MaxSeconds = None,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    checkpoint: opt.Checkpoint = None,
    resume: opt.Resume = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Train a classifier of svmlight (libsvm) rows."""
    plan = _plan(C, train, dev, output, checkpoint, resume)

    from maxmargin.cli import _data, _labels, _training
    from maxmargin.estimators.multiclass import MulticlassSVM

    model = MulticlassSVM(
        fit_intercept=intercept, bound=bound.value, slack=slack.value, tol=tol, max_seconds=max_seconds, n_jobs=jobs,
        random_state=seed, verbose=int(not quiet), checkpoint=checkpoint,
    )  # fmt: skip
    kind = _data.Kind(model, "rows", zero_based)
    X, y = kind.read(train)
    classes = set(y.tolist())
    model.set_params(loss=_labels.costs(loss, classes, ("zero-one",)))
    say(f"{train}: {X.shape[0]} rows, {X.shape[1]} features, {len(classes)} labels", quiet)
    _training.fit(kind, X, y, plan, quiet)


def _plan(C: str, train: str, dev: str | None, output: str, checkpoint: str | None, resume: bool) -> Any:
    """Return the plan of a fit, checked before any file is read."""
    values = opt.several_C(C)
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
    from maxmargin.io.formats.streams import check_writable

    for target in (output, checkpoint):
        if target is not None:
            check_writable(target)
    return Plan(values, output, dev, checkpoint, resume)
