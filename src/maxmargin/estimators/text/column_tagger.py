"""`ColumnTagger`: a tagger of words or columns of a file, with built-in feature templates."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from maxmargin._base.checks import changed, declared, is_list, parameter, whole_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import one_example
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.files import FilePredictor
from maxmargin.estimators.text.tagger import Tagger
from maxmargin.features.text.sentences import are_tokens
from maxmargin.features.text.template_encoder import check_tokens, n_columns_of
from maxmargin.features.text.templates import TokenTemplates
from maxmargin.formats.conll import ColumnReader, Sentence, Token, column_index, labelled, split_sentences
from maxmargin.formats.streams import FormatError, shown_name

_DEFAULT = TokenTemplates()
#: Number of tokens of a file that are tagged at a time.
BATCH = 50_000


@declared
class ColumnTagger(FilePredictor, Tagger):
    """Tagger of sentences: lists of words, or of tuples of columns such as (word, part of speech).

    A `SequenceTagger` that computes its features by templates. The templates are part of the model, so a saved
    model tags plain sentences.

    Attributes
    ----------
    n_columns_in_ : int
        Number of columns of each token; 1 for words.
    classes_, coef_, class_weight_, transitions_, start_, end_
        As in `SequenceTagger`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [["Ana", "met", "Tom"], ["Tom", "sings"], ["Ana", "sings"]]
    >>> Y = [["PER", "O", "PER"], ["PER", "O"], ["PER", "O"]]
    >>> mm.ColumnTagger(C=1.0).fit(X, Y).predict([["Tom", "met", "Ana"]])
    [['PER', 'O', 'PER']]

    Read on: "Tagging sequences" in the documentation.
    """

    templates: TokenTemplates = parameter(
        "Function of a sentence that returns the names of the features of each token. With `TokenTemplates` "
        "the features are computed without their names, which is many times as fast.",
        default=_DEFAULT,
        kind="TokenTemplates or callable",
    )
    columns: Sequence[int | str] | None = parameter(
        "Columns of a file that `read` returns, the word first: numbers counted from 0, negative from the "
        'end, or in CoNLL-U names such as ``"form"`` and ``"xpos"``. None for the word alone: ``"form"``, or '
        "the first column that is not the label.",
        default=None,
        kind="sequence of int or str",
    )
    label_column: int | str | None = parameter(
        'Column of the labels in a file, likewise. None for the last column, in CoNLL-U ``"upos"``.',
        default=None,
        kind="int or str",
    )
    width: int | None = parameter(
        "Number of columns of the training file, the label included: a file with one less has no labels, and "
        "other files than CoNLL-U with another number are an error. None for any number.",
        default=None,
        kind="int",
    )
    C: float = changed(default=0.3)

    @property
    def _maps(self) -> bool:
        return type(self.templates) is TokenTemplates

    # ------------------------------------------------------------------ sentences to features

    def features(self, X: Any) -> list[list[tuple[str, ...]]]:
        """Return the names of the features of every token.

        Parameters
        ----------
        X : list of sentences
            Lists of words, or of tuples of columns.

        Returns
        -------
        list of list of tuple of str
            Names for each token of each sentence.
        """
        rows: list[list[tuple[str, ...]]] = []
        for i, sentence in enumerate(X):
            try:
                rows.append(self.templates(sentence))
            except (TypeError, ValueError) as error:
                raise ExampleError.at(Place("X", i), str(error)) from error
        return rows

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not callable(self.templates):
            raise ValueError(f"templates must be a TokenTemplates or a function, found {self.templates!r}")
        if self.label_column is not None and not _is_column(self.label_column):
            raise ValueError(f"label_column must be a number or a name, found {self.label_column!r}")
        if self.columns is not None and (
            not is_list(self.columns) or not len(self.columns) or not all(map(_is_column, self.columns))
        ):
            raise ValueError(f"columns must be a list of numbers or names, the word first, found {self.columns!r:.60}")
        if self.width is not None:
            whole_number(self.width, "width", 2)

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        whole_number(self.n_columns_in_, "n_columns_in_")
        if self.n_columns_in_ != getattr(structure.tokens_, "n_columns", self.n_columns_in_):
            raise ValueError(f"n_columns_in_ is {self.n_columns_in_}, its structure has {structure.tokens_.n_columns}")

    def _make_structure(self) -> Structure:
        structure: Any = super()._make_structure()
        return structure.set_params(templates=self.templates) if type(self.templates) is TokenTemplates else structure

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        if type(self.templates) is TokenTemplates:
            structure, examples = super()._encode(X, Y)
            self.n_columns_in_ = structure.tokens_.n_columns  # type: ignore[attr-defined]
            return structure, examples
        self.n_columns_in_ = check_tokens(X)
        return super()._encode(self.features(X), Y)

    def _survey(self, X: Any, Y: Any) -> dict[str, Any]:
        if type(self.templates) is TokenTemplates:
            return {"n_columns": n_columns_of(X), **super()._survey(X, Y)}
        return {"n_columns": check_tokens(X), **super()._survey(self.features(X), Y)}

    def _learn_from(self, surveys: Sequence[dict[str, Any]], weights: Any) -> Any:
        self.n_columns_in_ = surveys[0]["n_columns"]
        return super()._learn_from(surveys, weights)

    def _encode_part(self, structure: Any, X: Any, Y: Any) -> Examples:
        return super()._encode_part(structure, X if structure.templates is not None else self.features(X), Y)

    def _features(self, X: Any) -> Any:
        if self.structure_.templates is not None:  # type: ignore[attr-defined]
            return X
        check_tokens(X, self.n_columns_in_)
        return self.features(X)

    def _inputs(self, X: Any) -> Any:
        X = super()._inputs(X)
        if len(X) and (are_tokens(X) or all(_is_token(x, self.n_columns_in_) for x in X)):
            raise one_example("X", "sentence")
        return X

    # ------------------------------------------------------------------ files

    def read(self, source: str | os.PathLike[str] | ColumnReader) -> tuple[list[list[Token]], list[list[str]]]:
        """Read sentences and labels from a file of CoNLL columns or CoNLL-U, as `fit` and `score` take them.

        Only `columns` are read. A column that is empty throughout (``_``) is an error if it is the label, otherwise a
        warning.

        Parameters
        ----------
        source : str, path-like or ColumnReader
            The file, gzip or not; ``"-"`` for standard input; or a reader of it.

        Returns
        -------
        X : list of list of tuple of str
            The columns of each token.
        Y : list of list of str
            Its labels.
        """
        reader = source if isinstance(source, ColumnReader) else ColumnReader(source)
        source = reader.source

        def positions(reader: ColumnReader) -> tuple[tuple[int, ...], int]:
            used, at = self.positions(reader)
            if at is None:
                raise FormatError(source, None, f"expected {reader.n_columns + 1} columns, one of them labels, found "
                                  f"{reader.n_columns}")  # fmt: skip
            return used, at

        X, Y = split_sentences(reader, positions)
        if not X:
            raise FormatError(source, None, "expected a line of columns for each token, found no tokens")
        used, at = positions(reader)
        if all(label == "_" for y in Y for label in y):
            raise FormatError(source, None, f"the column {reader.names()[at]}, that of the labels, is empty (_)")
        warn_of_empty(reader, used, filled_columns(X, len(used)))
        return X, Y

    def _predicted_text(self, source: str) -> Iterator[str]:
        return tagged_columns(self, source, lambda X: (([[str(label)] for label in y], "") for y in self.predict(X)))

    def positions(self, reader: ColumnReader) -> tuple[tuple[int, ...], int | None]:
        """Return the numbers of the columns in a file that has been read in part, and that of the label.

        Parameters
        ----------
        reader : ColumnReader
            The reader of the file.

        Returns
        -------
        columns : tuple of int
            The columns, in the order of the tuples of X.
        label : int or None
            The column of labels; None if the file has none.
        """
        n, wanted, label = reader.n_columns, self.columns, self.label_column
        if label is None:
            label = "upos" if reader.conllu else -1
        if wanted is None:
            k = getattr(self, "n_columns_in_", 1)
            first = int(not reader.conllu and n > 1 and reader.index(label, "label column") == 0)
            wanted = ("form",) if reader.conllu and k == 1 else range(first, first + k)
        named = any(isinstance(column, str) for column in (*wanted, label))
        if not named and n + 1 == self.width:  # without labels
            at, *numbers = (column_index(int(column), n + 1, reader.source) for column in (label, *wanted))
            return tuple(column - (column > at) for column in numbers), None
        if n == len(wanted) and hasattr(self, "n_columns_in_"):  # exactly these columns
            return tuple(range(n)), None
        if not (reader.conllu if named else self.width in (None, n)):
            kind = "CoNLL-U" if named else f"{self.width} columns, as in the training data, or one less without labels"
            several = f"{len(wanted)} columns" if len(wanted) > 1 else "column"
            alone = f"a file of the {several} {', '.join(map(str, wanted))} alone, one token per line"
            raise FormatError(reader.source, reader.first_line, f"expected {kind}, or {alone}, found {n} columns")
        if n < 2:
            raise FormatError(reader.source, None, "expected a label and at least one more column, found one column")
        at = reader.index(label, "label column")
        used = tuple(reader.index(column) for column in wanted)
        if at in used:
            raise FormatError(
                reader.source, None,
                f"the column {reader.names()[at]} is the label, so it cannot be a column to predict it from",
            )  # fmt: skip
        return used, at


def tagged_columns(
    tagger: ColumnTagger, source: str, labellings: Callable[[Any], Iterable[tuple[list[list[str]], str]]]
) -> Iterator[str]:
    """Yield the text of a file with labels, a batch of sentences at a time so that memory does not grow with the file.

    Parameters
    ----------
    tagger : ColumnTagger
        The fitted tagger.
    source : str
        A file of columns, gzip or not; ``"-"`` for standard input. Labels in it are ignored.
    labellings : callable
        Returns for each of some sentences the labels of every token, one or more, and a comment or an empty string.
    """
    reader, size = ColumnReader(source), 0
    batch: list[Sentence] = []
    filled: set[int] = set()

    def tagged() -> Iterator[str]:
        if not reader.n_columns:
            raise FormatError(source, None, "expected a line of columns for each token, found no tokens")
        used, at = tagger.positions(reader)
        if at is None and tagger.width == reader.n_columns + 1:  # the file gets the columns of the training data
            label = -1 if tagger.label_column is None else int(tagger.label_column)
            at = column_index(label, reader.n_columns + 1, source)
        elif not reader.conllu:
            at = None  # after the label, as programs that compare both expect
        tokens = [[tuple([token[c] for c in used]) for token in sentence.tokens] for sentence in batch]
        filled.update(filled_columns(tokens, len(used)))
        for sentence, (lines, comment) in zip(batch, labellings(tokens), strict=True):
            if comment and sentence.tokens:
                sentence.before.append(comment.replace("scores", "scores =") if reader.conllu else comment)
            yield labelled(reader, sentence, lines, at)

    for sentence in reader:
        batch.append(sentence)
        size += len(sentence.tokens)
        if size >= BATCH:
            yield from tagged()
            batch, size = [], 0
    yield from tagged()
    warn_of_empty(reader, tagger.positions(reader)[0], filled)


def filled_columns(X: Sequence[Sequence[Sequence[str]]], n_columns: int) -> list[int]:
    """Return the columns of tokens that are not empty (``_``) throughout."""
    return [c for c in range(n_columns) if any(token[c] != "_" for x in X for token in x)]


def warn_of_empty(reader: ColumnReader, used: Sequence[int], filled: Collection[int]) -> None:
    """Warn of columns in use that are empty in a whole file."""
    for place, column in enumerate(used):
        if place not in filled:
            name = f"{reader.names()[column]}, which the tagger uses,"
            warnings.warn(f"{shown_name(reader.source)}: the column {name} is empty (_)", UserWarning, stacklevel=3)


def _is_column(column: Any) -> bool:
    return isinstance(column, str) or (isinstance(column, int) and not isinstance(column, bool))


def _is_token(x: Any, n_columns: int) -> bool:
    """Return whether a value is a tuple of the columns of a token; sentences are lists."""
    return isinstance(x, tuple) and len(x) == n_columns and are_tokens(x)
