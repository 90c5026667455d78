"""Sentences with trees: CoNLL-U for dependency parsers, brackets for grammars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from maxmargin._base.errors import Place
from maxmargin.cli._examples import Examples, Request, TaskScores
from maxmargin.features.text.brackets import written
from maxmargin.features.text.treebank import read_tree
from maxmargin.formats.conll import CONLLU_COLUMNS, ColumnReader, Sentence
from maxmargin.formats.fasta import numbered_lines
from maxmargin.formats.streams import FormatError, first_bytes
from maxmargin.formats.trees import read_trees

#: Number of sentences parsed at a time so that memory does not grow with the input.
_BATCH = 1000
_TAGS = ("lemma", "upos", "xpos", "feats")
_HEAD, _RELATION, _ENHANCED = (CONLLU_COLUMNS.index(name) for name in ("head", "deprel", "deps"))


# ---------------------------------------------------------------------- CoNLL-U


def read_dependencies(model: Any, source: str, request: Request) -> Examples:
    """Return sentences with their heads, or with (head, relation) if the model is labelled.

    Unless the user has decided, a model to be fitted is labelled if the file has relations.
    """
    sentences = [sentence for sentence in _sentences(source) if sentence.tokens]
    if request.training and "labelled" not in request.given:
        known = all(token[_RELATION] != "_" for sentence in sentences for token in sentence.tokens)
        model.set_params(labelled=known)
    Y: list[Any] = [_heads(source, sentence) for sentence in sentences]
    if model.labelled:
        Y = [list(zip(y, _relations(source, sentence), strict=True)) for y, sentence in zip(Y, sentences, strict=True)]
    examples = _examples(source, sentences, Y)
    return replace(examples, size=f"{examples.size}{_used(model, examples.X)}") if request.training else examples


def read_words(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield sentences, a batch at a time; the last one may have no words."""
    batch: list[Sentence] = []
    for sentence in _sentences(source):
        batch.append(sentence)
        if len(batch) == _BATCH:
            yield _examples(source, batch)
            batch = []
    yield _examples(source, batch)


def write_dependencies(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the sentences with HEAD and DEPREL filled; other columns and lines stay, except for DEPS."""
    labelled = hasattr(model, "relation_coef_")
    with examples.located():
        predictions = iter(model.predict_labelled(examples.X) if labelled else model.predict(examples.X))
    for sentence in examples.records:
        y = next(predictions) if sentence.tokens else []
        lines = []
        for text, head in zip(sentence.text, y, strict=True):
            cells = text.split("\t")
            pair = head if labelled else (head, "dep" if head else "root")
            cells[_HEAD], cells[_RELATION], cells[_ENHANCED] = str(pair[0]), pair[1], "_"
            lines.append("\t".join(cells))
        for before, text in reversed(sentence.between):
            lines.insert(before, text)
        yield "".join(f"{line}\n" for line in [*sentence.before, *lines])


def score_dependencies(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the attachment scores."""
    with examples.located():
        heads = [[pair[0] for pair in y] for y in examples.Y] if model.labelled else examples.Y
        scores = {"UAS": model.score(examples.X, heads)}
        if model.labelled:
            scores["LAS"] = model.labelled_score(examples.X, examples.Y)
    return TaskScores({**scores, "n_words": sum(map(len, heads)), "n_sentences": len(heads)})


def _sentences(source: str) -> Iterator[Sentence]:
    """Yield the sentences of a file; raise FormatError if it is not in CoNLL-U."""
    reader = ColumnReader(source)
    for sentence in reader:
        if not reader.conllu or reader.n_columns != len(CONLLU_COLUMNS):
            raise FormatError(
                source, reader.first_line or None,
                f"expected CoNLL-U, {len(CONLLU_COLUMNS)} columns separated by tabs, found {reader.n_columns}"
                + (" separated by blanks" if reader.separator != "\t" and reader.n_columns > 1 else ""),
            )  # fmt: skip
        for t, token in enumerate(sentence.tokens):
            if token[0] != str(t + 1):
                raise FormatError(
                    source, sentence.line_of(t), f"expected the id {t + 1}, as words are numbered, found {token[0]!r}"
                )
        yield sentence
    if not reader.n_columns:
        raise FormatError(source, None, "expected sentences in CoNLL-U, found none")


def _used(model: Any, X: list[Any]) -> str:
    """Return a message about the columns that a parser learns from, which are often what taggers have filled."""
    tags = [name for name in model.tags if all(any(word.get(name) for word in x) for x in X)]
    used = f"; used: form, {', '.join(tags)} (files to be parsed need these too)" if tags else "; used: form"
    return f"{used}, {'with' if model.labelled else 'without'} relations"


def _examples(source: str, sentences: list[Sentence], Y: Any = None) -> Examples:
    X = [[_word(token) for token in sentence.tokens] for sentence in sentences if sentence.tokens]
    lines = [sentence.line for sentence in sentences if sentence.tokens]
    size = f"{len(X)} sentences, {sum(map(len, X))} words"
    return Examples(source, X, Y, size, lines=lines, records=sentences)


def _word(token: tuple[str, ...]) -> dict[str, Any]:
    row = dict(zip(CONLLU_COLUMNS, token, strict=True))
    return {"form": row["form"], **{name: None if row[name] == "_" else row[name] for name in _TAGS}}


def _heads(source: str, sentence: Sentence) -> list[int]:
    n = len(sentence.tokens)
    for t, token in enumerate(sentence.tokens):
        if not (token[_HEAD].isascii() and token[_HEAD].isdecimal() and int(token[_HEAD]) <= n):
            raise FormatError(
                source, sentence.line_of(t), f"expected a head, a number from 0 to {n}, found {token[_HEAD]!r}"
            )
    return [int(token[_HEAD]) for token in sentence.tokens]


def _relations(source: str, sentence: Sentence) -> list[str]:
    for t, token in enumerate(sentence.tokens):
        if token[_RELATION] == "_":
            raise FormatError(source, sentence.line_of(t), "expected a relation (DEPREL), found '_'")
    return [token[_RELATION] for token in sentence.tokens]


# ---------------------------------------------------------------------- brackets


def read_phrases(model: Any, source: str, request: Request) -> Examples:
    """Return the trees of a file, which stand for their sentences too."""
    trees = read_trees(source)
    return Examples(source, trees, None, f"{len(trees)} trees")


def read_tokens(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield sentences, a batch at a time: trees, or lines of tokens ``word_TAG`` (or ``TAG``, without words)."""
    if first_bytes(source).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"("):
        trees = read_trees(source)
        for first in range(0, len(trees), _BATCH):
            yield Examples(source, trees[first : first + _BATCH])
        return
    form, tags = model.structure_.form_, set(model.structure_.rules_.tags)
    batch: list[Any] = []
    lines: list[int] = []
    for number, line in numbered_lines(source):
        batch.append([_token(source, number, token, form.words, tags) for token in line.split()])
        lines.append(number)
        if len(batch) == _BATCH:
            yield Examples(source, batch, lines=lines)
            batch, lines = [], []
    if batch:
        yield Examples(source, batch, lines=lines)


def write_phrases(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield a tree per line; the line of a sentence without a tree is empty."""
    with examples.located():
        trees = model.predict(examples.X)
    for i, tree in enumerate(trees):
        yield "\n" if tree is None else f"{written(read_tree(tree, Place('X', i)))}\n"


def score_phrases(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return F1, precision and recall of labelled brackets, and the share of exact trees."""
    scores = model.bracket_scores(examples.X)
    values = {name: float(getattr(scores, name)) for name in ("f1", "precision", "recall", "exact")}
    return TaskScores({**values, "n_trees": len(examples.X)})


def _token(source: str, number: int, token: str, words: bool, tags: set[str]) -> Any:
    """Return a pair (word, tag), or a tag if the model has no words."""
    word, underscore, tag = token.rpartition("_")
    if words and not (word and tag):
        raise FormatError(source, number, f"expected tokens word_TAG, as taggers write them, found {token!r:.60}")
    if words:
        return word, tag
    return tag if underscore and token not in tags else token
