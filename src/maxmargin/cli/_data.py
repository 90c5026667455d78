"""Formats of the data of a model, and reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import maxmargin
from maxmargin.estimators.column_tagger import ColumnTagger
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.tagger import SequenceTagger
from maxmargin.formats import ColumnReader, FormatError, read_crfsuite, read_svmhmm, read_svmlight
from maxmargin.io.formats.conll import Sentence, Token, without_column
from maxmargin.io.formats.crfsuite import looks_like_crfsuite
from maxmargin.io.formats.streams import first_bytes, is_standard
from maxmargin.metrics import is_entity_scheme

#: A svmlight row: a number, and features with their values, of which the last may be truncated if only the start
#: of a file is read.
_ROW = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?( \d+:[-+.\de]*)+( \d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """A model and the format of its data.

    Attributes
    ----------
    model : the estimator.
    name : ``"columns"``, ``"attributes"``, ``"sequences"`` or ``"rows"``.
    zero_based : how features are numbered in files of sequences and rows.
    said : whether the user has specified the format, so that it is not guessed.
    """

    model: Any
    name: str
    zero_based: bool = False
    said: bool = False

    @property
    def is_tagger(self) -> bool:
        return self.name != "rows"

    def read(self, source: str, width: int | None = None, labelled: bool = True) -> tuple[Any, Any]:
        """Return inputs and labels of a file; the width is that of the model, as specified, or that of the file.

        Raise FormatError if the number of columns differs from `width`. Attributes may lack labels unless `labelled`.
        """
        if self.name == "attributes":
            return read_crfsuite(source, labelled=labelled)
        if self.name == "columns":
            with self.read_as_columns(source):
                X, Y = self.model.read(source)
                found = len(X[0][0])
                if width is not None and found != width:
                    raise FormatError(
                        source, None, f"expected {width + 1} columns as in the training data, found {found + 1}"
                    )
                return X, Y
        width = getattr(self.model, "n_features_in_", width)
        expected, read = ("svmhmm", read_svmhmm) if self.name == "sequences" else ("svmlight", read_svmlight)
        if not self.said:
            check_format(source, expected)
        return read(source, zero_based=self.zero_based, n_features=width)

    @contextmanager
    def read_as_columns(self, source: str) -> Iterator[None]:
        """If reading columns fails and the file looks like another format, name that format in the error.

        Any line may be one of columns, also ``7 19:30 O``, so that a file is read whatever it looks like.
        """
        found = "conll" if self.said else detect_format(source)
        try:
            yield
        except FormatError as error:
            if found == "conll":
                raise
            raise FormatError(source, None, f"{_mismatch('conll', found)} (read as columns, {error})") from None


def load_model(path: str, zero_based: bool = False) -> Kind:
    """Load a model from a file; raise ValueError if no file format describes its inputs."""
    if is_standard(path):
        raise ValueError("a model is read from a file, not from standard input")
    model = maxmargin.load(path)
    if isinstance(model, ColumnTagger):
        return Kind(model, "columns")
    if isinstance(model, SequenceTagger) and not model.transition_features:
        return Kind(model, "sequences" if hasattr(model, "n_features_in_") else "attributes", zero_based)
    if isinstance(model, MulticlassSVM):
        return Kind(model, "rows", zero_based)
    raise ValueError(
        f"{path} contains a {type(model).__name__}, whose inputs have no file format; use it from Python: "
        f"maxmargin.load"
    )


def detect_format(source: str) -> str:
    """Return ``"svmhmm"``, ``"svmlight"``, ``"crfsuite"`` or ``"conll"``, by the first lines."""
    lines = first_bytes(source).decode("utf-8-sig", "replace").split("\n")
    for line in lines:
        fields = line.partition("#")[0].split()
        if fields:
            if len(fields) > 1 and fields[1].startswith("qid:"):
                return "svmhmm"
            if _ROW.fullmatch(" ".join(fields)):
                return "svmlight"
            break
    whole = lines[:-1] if len(lines) > 1 else lines  # the last line may be cut off
    return "crfsuite" if looks_like_crfsuite(whole) else "conll"


_DESCRIBED = {
    "conll": "CoNLL columns",
    "crfsuite": "CRFsuite's attributes (LABEL, ATTRIBUTE ... separated by tabs)",
    "svmhmm": "sequences in SVM-hmm's format (TAG qid:NUMBER FEATURE:VALUE ...)",
    "svmlight": "svmlight rows (LABEL FEATURE:VALUE ...)",
}


def check_format(source: str, expected: str) -> None:
    """Raise FormatError if a file of numbered features is clearly of another format."""
    found = detect_format(source)
    if found not in (expected, "conll"):  # for other lines, readers raise errors with the line
        raise FormatError(source, None, _mismatch(expected, found))


def _mismatch(expected: str, found: str) -> str:
    return f"expected {_DESCRIBED[expected]}, found {_DESCRIBED[found]}"


def check_label_column(source: str, X: list[list[Token]], Y: list[list[str]]) -> None:
    """Raise FormatError if the first column holds labels of entities and the last one does not."""
    if is_entity_scheme({token[0] for x in X for token in x}) and not is_entity_scheme({y for part in Y for y in part}):
        raise FormatError(
            source, None,
            "the first column looks like labels, and the last one does not: give --label-column 0 --word-column 1, or "
            "--format crfsuite if attributes follow the labels, or --format conll if the last column is the label",
        )  # fmt: skip


def column_tokens(model: ColumnTagger, reader: ColumnReader, sentences: list[Sentence]) -> list[list[Token]]:
    """Return the tokens of sentences without labels; a model that uses words alone takes files of words alone."""
    width, templates = model.n_columns_in_, model.templates
    if reader.n_columns == 1 < width and getattr(templates, "columns", None) == ():
        before = templates.word % width
        pads = ("_",) * before, ("_",) * (width - before - 1)
        return [[(*pads[0], *token, *pads[1]) for token in sentence.tokens] for sentence in sentences]
    at = model.label_position(reader)
    return [s.tokens if at is None else without_column(s.tokens, at) for s in sentences]


def template_columns(
    n_columns: int, label: int, word: int, others: list[int] | None
) -> tuple[int, tuple[int, ...] | None]:
    """Return the column of the word and further columns, counted without the column of the label."""
    label %= n_columns

    def counted(column: int, option: str) -> int:
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{option} {column}: lines have {n_columns} columns, numbered 0 to {n_columns - 1}")
        if column % n_columns == label:
            raise ValueError(f"{option} {column}: this is the column of the label")
        return column % n_columns - (column % n_columns > label)

    columns = None if others is None else tuple(counted(column, "--column") for column in others)
    return counted(word, "--word-column"), columns
