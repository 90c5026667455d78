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
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="LIST",
            help="Columns to use, the word first: 0,2 or, in CoNLL-U, form,xpos. By default the word alone.",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column",
            metavar="COLUMN",
            help="Column of the label: a number from 0, negative from the end, or a name in CoNLL-U. By default the "
            "last, in CoNLL-U upos.",
        ),
    ] = None,
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
    plan = opt.plan(C, train, dev, output, checkpoint, resume)

    from maxmargin.cli import _data, _training
    from maxmargin.estimators.text.column_tagger import ColumnTagger
    from maxmargin.estimators.text.tagger import SequenceTagger
    from maxmargin.features.text.templates import TokenTemplates
    from maxmargin.formats import ColumnReader
    from maxmargin.formats.streams import FormatError

    said = data_format is not opt.Format.auto
    detected = data_format.value if said else _data.detect_format(train)
    if detected == "svmlight":
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
    if detected == "conll":
        model = ColumnTagger(
            templates=TokenTemplates(window, affixes, shape, pairs),
            columns=None if columns is None else [_data.column(part) for part in columns.split(",")],
            label_column=None if label_column is None else _data.column(label_column),
            **common,
        )
        kind, reader = _data.Kind(model, "columns", said=said), ColumnReader(train)
        with kind.read_as_columns(train):
            X, Y = model.read(reader)
        if not said and columns is None and label_column is None:
            _data.check_label_column(train, X, Y)
        layout, note = _data.described_columns(model, reader)
        model.set_params(**layout)
        say(f"{train}: {note}", quiet)
    else:
        name = "attributes" if detected == "crfsuite" else "sequences"
        kind = _data.Kind(SequenceTagger(**common), name, zero_based, said)
        X, Y = kind.read(train)
    scheme, Y, note = _training.constrain(constraints.value, Y)
    say(note, quiet or not note)
    known = {label for y in Y for label in y}
    kind.model.set_params(constraints=scheme, loss=_training.costs(loss, known, _training.TAGGER_LOSSES))
    say(f"{train}: {len(X)} sequences, {sum(map(len, Y))} tokens, {len(known)} labels", quiet)
    _training.fit(_training.of_kind(kind, X, Y), plan, quiet)


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
    plan = opt.plan(C, train, dev, output, checkpoint, resume)

    from maxmargin.cli import _data, _training
    from maxmargin.estimators.rows.multiclass import MulticlassSVM

    model = MulticlassSVM(
        fit_intercept=intercept, bound=bound.value, slack=slack.value, tol=tol, max_seconds=max_seconds, n_jobs=jobs,
        random_state=seed, verbose=int(not quiet), checkpoint=checkpoint,
    )  # fmt: skip
    kind = _data.Kind(model, "rows", zero_based)
    X, y = kind.read(train)
    classes = set(y.tolist())
    model.set_params(loss=_training.costs(loss, classes, ("zero-one",)))
    say(f"{train}: {X.shape[0]} rows, {X.shape[1]} features, {len(classes)} labels", quiet)
    _training.fit(_training.of_kind(kind, X, y), plan, quiet)
