"""Which data a model takes, and reading them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import maxmargin
from maxmargin.estimators.column_tagger import ColumnTagger
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.tagger import SequenceTagger
from maxmargin.formats import FormatError, read_svmhmm, read_svmlight
from maxmargin.formats.streams import first_bytes, is_standard

#: How a svmlight row begins: a number, and a feature with its value.
_ROW = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)? \d+:[-+.\de]*", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """What a model is to the command line.

    Attributes
    ----------
    model : the estimator.
    name : ``"columns"``, ``"sequences"`` or ``"rows"``.
    zero_based : how features are numbered in files of sequences and rows.
    """

    model: Any
    name: str
    zero_based: bool = False

    @property
    def is_tagger(self) -> bool:
        return self.name != "rows"

    def read(self, source: str, width: int | None = None) -> tuple[Any, Any]:
        """Inputs and labels of a file; rows and sequences as wide as the model, or as said, or as the file."""
        if self.name == "columns":
            check_format(source, "conll")
            return self.model.read(source)
        width = getattr(self.model, "n_features_in_", width)
        if self.name == "sequences":
            check_format(source, "svmhmm")
            return read_svmhmm(source, zero_based=self.zero_based, n_features=width)
        check_format(source, "svmlight")
        return read_svmlight(source, zero_based=self.zero_based, n_features=width)


def load_model(path: str, zero_based: bool = False) -> Kind:
    """A model from a file, if it is one whose data come in files."""
    if is_standard(path):
        raise ValueError("a model is read from a file, not from standard input")
    model = maxmargin.load(path)
    if isinstance(model, ColumnTagger):
        return Kind(model, "columns")
    if isinstance(model, SequenceTagger) and hasattr(model, "n_features_in_") and not model.transition_features:
        return Kind(model, "sequences", zero_based)
    if isinstance(model, MulticlassSVM):
        return Kind(model, "rows", zero_based)
    raise ValueError(
        f"{path} holds a {type(model).__name__} whose inputs no file format here describes; use it from Python: "
        f"maxmargin.load"
    )


def detect_format(source: str) -> str:
    """``"svmhmm"``, ``"svmlight"`` or ``"conll"``, by the first line that says something."""
    for line in first_bytes(source).decode("utf-8-sig", "replace").split("\n"):
        fields = line.partition("#")[0].split()
        if fields:
            if len(fields) > 1 and fields[1].startswith("qid:"):
                return "svmhmm"
            return "svmlight" if len(fields) > 1 and _ROW.fullmatch(" ".join(fields[:2])) else "conll"
    return "conll"


_DESCRIBED = {
    "conll": "CoNLL columns",
    "svmhmm": "sequences in SVM-hmm's format (TAG qid:NUMBER FEATURE:VALUE ...)",
    "svmlight": "svmlight rows (LABEL FEATURE:VALUE ...)",
}


def check_format(source: str, expected: str) -> None:
    """A sentence where a file is plainly of another format."""
    found = detect_format(source)
    if found != expected and not (found == "conll" and expected != "conll"):  # readers name the line themselves
        raise FormatError(source, None, f"expected {_DESCRIBED[expected]}, found {_DESCRIBED[found]}")


def template_columns(
    n_columns: int, label: int, word: int, others: list[int] | None
) -> tuple[int, tuple[int, ...] | None]:
    """Columns of a file as templates count them, the label being taken out: that of the word, and further ones."""
    label %= n_columns

    def counted(column: int, option: str) -> int:
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{option} {column}: lines have {n_columns} columns, numbered 0 to {n_columns - 1}")
        if column % n_columns == label:
            raise ValueError(f"{option} {column}: this is the column of the label")
        return column % n_columns - (column % n_columns > label)

    columns = None if others is None else tuple(counted(column, "--column") for column in others)
    return counted(word, "--word-column"), columns
