"""``maxmargin explain``: why a model predicts what it predicts for an example of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import _options as opt
from maxmargin.cli._messages import guarded, print_json

if TYPE_CHECKING:
    from maxmargin.cli._data import Kind, TaskModel


@guarded
def explain(
    model: opt.Model,
    data: opt.Input,
    example: Annotated[int, typer.Option("--example", metavar="N", min=1, help="Which example, from 1.")] = 1,
    top: Annotated[int, typer.Option("--top", min=0, help="Features shown.")] = 10,
    as_json: opt.AsJson = False,
    zero_based: opt.ZeroBased = False,
    debug: opt.Debug = False,
) -> None:
    """Show why a model prefers its prediction for an example to the best other output: the features that decide."""
    from maxmargin.cli._data import load_model
    from maxmargin.estimators.explain import why_not_explained
    from maxmargin.formats.streams import FormatError, check_standard_output

    check_standard_output()
    kind, n = load_model(model, zero_based), 0
    if not hasattr(kind.model, "explain"):
        raise ValueError(f"{model}: {why_not_explained(kind.model.structure_)}")
    for X in _inputs(kind, data, zero_based):
        size = X.shape[0] if hasattr(X, "shape") else len(X)
        if example <= n + size:
            break
        n += size
    else:
        raise FormatError(data, None, f"--example {example}: the file has {n} examples")
    at = example - 1 - n
    x = X[[at]].toarray()[0] if hasattr(X, "shape") else X[at]  # one row of features, as explain takes it
    why = kind.model.explain(x, n_features=top)
    if as_json:
        print_json({"example": example, **vars(why)})
    else:
        outcome, *features = str(why).splitlines()
        typer.echo("\n".join([outcome, *_decisive_words(x, why.prediction, why.runner_up), *features]))


def _decisive_words(x: Any, prediction: Any, runner_up: Any) -> list[str]:
    """Return the tokens of a sentence for which two lists of labels or heads differ."""
    lists = isinstance(prediction, list) and isinstance(runner_up, list) and isinstance(x, list)
    if not lists or not len(x) == len(prediction) == len(runner_up):
        return []
    words = [_word(token) for token in x]
    changed = zip(words, prediction, runner_up, strict=True)
    return [
        f"  token {t} ({word}): {best}, not {other}"
        for t, (word, best, other) in enumerate(changed, 1)
        if word is not None and best != other
    ]


def _word(token: Any) -> str | None:
    """Return the word of a token: itself, its form, or its first column; None for features."""
    if isinstance(token, Mapping):
        return token.get("form")
    first = token[0] if isinstance(token, tuple) and token else token
    return first if isinstance(first, str) else None


def _inputs(kind: Kind | TaskModel, source: str, zero_based: bool) -> Iterator[Any]:
    """Yield the inputs of a file, some at a time."""
    from maxmargin.cli._data import TaskModel
    from maxmargin.cli._examples import Request
    from maxmargin.formats.conll import ColumnReader

    if isinstance(kind, TaskModel):
        for examples in kind.task.batches(kind.model, source, Request(zero_based)):
            yield examples.X
    elif kind.name == "columns":
        reader = ColumnReader(source)
        with kind.read_as_columns(source):
            for sentence in reader:
                used, _ = kind.model.positions(reader)
                if sentence.tokens:
                    yield [[tuple([token[c] for c in used]) for token in sentence.tokens]]
    else:
        yield kind.read(source, labelled=False)[0]
