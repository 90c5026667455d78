"""Formats of the data of a model, and reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import maxmargin
from maxmargin.cli._tasks import Task, task_of
from maxmargin.estimators.rows.multiclass import MulticlassSVM
from maxmargin.estimators.text.column_tagger import ColumnTagger
from maxmargin.estimators.text.tagger import Tagger
from maxmargin.formats import ColumnReader, read_crfsuite, read_svmhmm, read_svmlight
from maxmargin.formats.conll import Token
from maxmargin.formats.crfsuite import looks_like_crfsuite
from maxmargin.formats.streams import FormatError, first_bytes, is_standard
from maxmargin.metrics import is_entity_scheme

#: A svmlight row: a number, and features with their values, of which the last may be truncated if only the start
#: of a file is read.
_ROW = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?( \d+:[-+.\de]*)+( \d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class TaskModel:
    """A model and its task."""

    model: Any
    task: Task


@dataclass(frozen=True)
class Kind:
    """A model and the format of its data.

    Attributes
    ----------
    model : the estimator.
    name : ``"columns"``, ``"attributes"``, ``"sequences"`` or ``"rows"``.
    zero_based : how features are numbered in files of sequences and rows.
    said : whether the user has specified the format; then it is not guessed.
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

        Attributes may lack labels unless `labelled`.
        """
        if self.name == "attributes":
            return read_crfsuite(source, labelled=labelled)
        if self.name == "columns":
            with self.read_as_columns(source):
                return self.model.read(source)
        width = getattr(self.model, "n_features_in_", width)
        expected, read = ("svmhmm", read_svmhmm) if self.name == "sequences" else ("svmlight", read_svmlight)
        if not self.said:
            check_format(source, expected)
        return read(source, zero_based=self.zero_based, n_features=width)

    @contextmanager
    def read_as_columns(self, source: str) -> Iterator[None]:
        """If reading columns fails and the file looks like another format, name that format in the error.

        Any line may be one of columns, also ``7 19:30 O``, so a file is read whatever it looks like.
        """
        detected = "conll" if self.said else detect_format(source)
        try:
            yield
        except FormatError as error:
            if detected == "conll":
                raise
            raise FormatError(source, None, f"{_mismatch('conll', detected)} (read as columns, {error})") from None


def load_model(path: str, zero_based: bool = False) -> Kind | TaskModel:
    """Load a model from a file; raise ValueError if the command line does not read files for it."""
    if is_standard(path):
        raise ValueError("a model is read from a file, not from standard input")
    model = maxmargin.load(path)
    if isinstance(model, ColumnTagger):
        return Kind(model, "columns")
    if isinstance(model, Tagger) and not getattr(model, "transition_features", False):
        return Kind(model, "sequences" if hasattr(model, "n_features_in_") else "attributes", zero_based)
    if type(model) is MulticlassSVM:
        return Kind(model, "rows", zero_based)
    task = task_of(model)
    if task is not None:
        return TaskModel(model, task)
    raise ValueError(
        f"{path} contains a {type(model).__name__}, whose data are not files of the command line: use it from Python, "
        f"maxmargin.load({path!r}).predict(X)"
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
    detected = detect_format(source)
    if detected not in (expected, "conll"):  # for other lines, readers raise errors with the line
        raise FormatError(source, None, _mismatch(expected, detected))


def _mismatch(expected: str, detected: str) -> str:
    return f"expected {_DESCRIBED[expected]}, found {_DESCRIBED[detected]}"


def check_label_column(source: str, X: list[list[Token]], Y: list[list[str]]) -> None:
    """Raise FormatError if the first column holds labels of entities and the last one does not."""
    if is_entity_scheme({token[0] for x in X for token in x}) and not is_entity_scheme({y for part in Y for y in part}):
        raise FormatError(
            source, None,
            "the first column looks like labels, and the last one does not: give --label-column 0, or "
            "--format crfsuite if attributes follow the labels, or --format conll if the last column is the label",
        )  # fmt: skip


def column(text: str) -> int | str:
    """Return a column of an option: a number, or a name in lower case."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdecimal() else text.lower()


def described_columns(model: ColumnTagger, reader: ColumnReader) -> tuple[dict[str, Any], str]:
    """Return parameters that state which columns of the training file are used, and a message about them."""
    used, label = model.positions(reader)
    assert label is not None
    names = reader.names()
    columns, at = ([names[c] for c in used], names[label]) if reader.conllu else (list(used), label)
    others = [name for c, name in enumerate(names) if c not in (*used, label)]
    first, *more = (names[c] for c in used)
    shown = f"columns: word {first}, {'also ' + ', '.join(more) + ', ' if more else ''}label {names[label]}"
    if others:
        other = "xpos" if "xpos" in others else others[-1]
        example = ",".join([first, *more, other])
        shown += f"; not used: {', '.join(others)} (--columns {example} would use {other} too)"
    return {"columns": columns, "label_column": at, "width": None if reader.conllu else reader.n_columns}, shown
