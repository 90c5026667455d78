"""`ColumnTagger`: a tagger of words or columns of a file, with built-in feature templates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from maxmargin.core.errors import ExampleError, Place
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.encoding.templates import TokenTemplates
from maxmargin.encoding.token_types import check_tokens
from maxmargin.estimators.tagger import SequenceTagger
from maxmargin.io.formats.conll import ColumnReader, column_index, split_sentences
from maxmargin.io.formats.streams import FormatError

_DEFAULT = TokenTemplates()


class ColumnTagger(SequenceTagger):
    """Tagger of sentences: lists of words, or of tuples of columns such as (word, part of speech).

    A `SequenceTagger` that computes its features by templates. The templates are part of the model, so that a saved
    model tags plain sentences.

    Parameters
    ----------
    templates : TokenTemplates or callable, default=TokenTemplates()
        Function of a sentence that returns the names of the features of each token. With `TokenTemplates` the features
        are computed without their names, which is many times as fast.
    label_column : int, default=-1
        Column of the labels in a file, for `read`; counted from 0, negative from the end.
    C, loss, constraints, fit_intercept, start_end, classes, class_weight, min_count, seen_pairs, bound, slack, \
    nonnegative, solver, tol, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, \
    checkpoint_every : optional
        As in `SequenceTagger`.

    Attributes
    ----------
    n_columns_in_ : int
        Number of columns of each token; 1 for words.
    classes_, coef_, transitions_, start_, end_ : ndarray
        As in `SequenceTagger`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [["Ana", "met", "Tom"], ["Tom", "sings"], ["Ana", "sings"]]
    >>> Y = [["PER", "O", "PER"], ["PER", "O"], ["PER", "O"]]
    >>> mm.ColumnTagger(C=1.0).fit(X, Y).predict([["Tom", "met", "Ana"]])
    [['PER', 'O', 'PER']]
    """

    transition_features = False

    def __init__(
        self,
        *,
        templates: TokenTemplates = _DEFAULT,
        label_column: int = -1,
        C: float = 0.3,
        loss: Any = "hamming",
        constraints: Any = None,
        fit_intercept: bool = True,
        start_end: bool = True,
        classes: Any = None,
        class_weight: Any = None,
        min_count: int = 1,
        seen_pairs: bool = False,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.templates, self.label_column = templates, label_column
        self.C, self.loss, self.constraints, self.fit_intercept = C, loss, constraints, fit_intercept
        self.class_weight = class_weight
        self.start_end, self.classes, self.min_count, self.seen_pairs = start_end, classes, min_count, seen_pairs
        self.bound, self.slack, self.solver = bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

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
        if isinstance(self.label_column, bool) or not isinstance(self.label_column, int):
            raise ValueError(f"label_column must be a whole number, found {self.label_column!r}")

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

    def _features(self, X: Any) -> Any:
        if self.structure_.templates is not None:  # type: ignore[attr-defined]
            return X
        check_tokens(X, self.n_columns_in_)
        return self.features(X)

    # ------------------------------------------------------------------ files

    def read(self, source: str | os.PathLike[str]) -> tuple[list[list[tuple[str, ...]]], list[list[str]]]:
        """Read sentences and labels from a file of CoNLL columns, as `fit` and `score` take them.

        A fitted tagger checks that the file has the columns of the training data, and one more for the label.

        Parameters
        ----------
        source : str or path-like
            The file, gzip or not; ``"-"`` for standard input.

        Returns
        -------
        X : list of list of tuple of str
            The columns of each token.
        Y : list of list of str
            Its labels.
        """

        def label_position(reader: ColumnReader) -> int:
            at = self.label_position(reader)
            if at is None:
                raise FormatError(source, None, f"expected {reader.n_columns + 1} columns, one of them labels, found "
                                  f"{reader.n_columns}")  # fmt: skip
            return at

        X, Y = split_sentences(ColumnReader(source), label_position)
        if not X:
            raise FormatError(source, None, "expected a line of columns for each token, found no tokens")
        return X, Y

    def label_position(self, reader: ColumnReader) -> int | None:
        """Return the column of labels in a file that has been read in part; None if the file has no labels.

        Parameters
        ----------
        reader : ColumnReader
            The reader of the file.

        Returns
        -------
        int or None
            Index of the column.
        """
        found, known = reader.n_columns, getattr(self, "n_columns_in_", None)
        if known is None and found < 2:
            raise FormatError(reader.source, None, "expected a label and at least one more column, found one column")
        if known is None or found == known + 1:
            return column_index(self.label_column, found, reader.source)
        if found == known:
            return None
        raise FormatError(
            reader.source, reader.first_line,
            f"expected {known} columns as in training, or {known + 1} with labels, found {found}",
        )  # fmt: skip
