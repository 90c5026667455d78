"""`Files`: many files in the place of X, read one after the other as if they were one."""

from __future__ import annotations

import glob
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.extras import needed
from maxmargin._base.mapped import Growing, check_folder, empty_in
from maxmargin._base.ragged import Numbered, offsets_of
from maxmargin._base.types import IntArray
from maxmargin.formats.conll import ColumnReader, column_index, labels_of
from maxmargin.formats.conllu import read_conllu
from maxmargin.formats.fasta import read_aligned_fasta
from maxmargin.formats.partitions import Parted, rows_of_table, shown
from maxmargin.formats.pieces import RowGroups, Run, checked_size, pieces, source_size
from maxmargin.formats.streams import FormatError, Source, line_in_file
from maxmargin.formats.svmlight import read_svmlight, whole_numbers, with_width
from maxmargin.formats.trees import read_trees


class Files(Parted):
    r"""Files in the place of X: ``fit(mm.Files("train/*.conll.gz", format="conll"))``.

    The examples are those of all files in order, so names and labels are numbered as if the files were one. Files of
    columns are read a sentence at a time; a token takes 8 bytes, since distinct tokens and labels are kept once.

    Parameters
    ----------
    paths : str, path-like or sequence of these
        Files, gzip or not, or patterns such as ``"train/**/*.conll.gz"``, whose files are sorted by name.
    format : {"conll", "conllu", "trees", "svmlight", "fasta", "parquet"}
        ``"conll"``: columns (also those of CoNLL-U), for taggers; ``"conllu"``: sentences with heads, for
        `DependencyParser`; ``"trees"``: trees in brackets, for `ConstituencyParser`; ``"svmlight"``: rows, for
        `MulticlassSVM`; ``"fasta"``: aligned pairs, for `PairwiseAligner`; ``"parquet"``: tables of numbers with a
        column of labels, for `MulticlassSVM` (extra ``parquet``).
    split : int or str, default="64MB"
        The workers of an engine read larger files in pieces of about this size, bytes or text such as ``"64MB"``. The
        model does not depend on it. Pieces begin with a sentence, tree, row, pair or group of rows. None to read files
        as a whole, as packed ones always are, trees with ``clean=True`` and CoNLL-U Plus.
    memory : str or path-like, default=None
        Folder on a disk for the largest arrays of encoded sentences of a `ColumnTagger`, which are then mapped into
        memory instead of being kept in it. The files there are removed at the end. None for arrays in memory.
    **options : optional
        ``"conll"``: `columns` (numbers or names of CoNLL-U; by default all but the label, of CoNLL-U the words alone),
        `label_column` (by default the last one, of CoNLL-U ``"upos"``), `comments` and `documents`; ``"parquet"``:
        `target`, the column of labels, and `columns`, those of features (all others by default); the others: those
        of `read_trees` and `read_svmlight`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "a.conll").write_text("Ana PER\nsings O\n")
    ...     _ = (folder / "b.conll").write_text("Tom PER\n\nhe O\nmet O\nAna PER\n")
    ...     files = mm.Files(folder / "*.conll", format="conll")
    ...     tagger = mm.ColumnTagger(C=1.0).fit(files)
    >>> tagger.predict([["Tom", "sings"]])
    [['PER', 'O']]
    """

    def __init__(
        self, paths: Any, format: str, *, split: int | str | None = "64MB", memory: Any = None, **options: Any
    ) -> None:
        if format not in _READERS:
            raise ValueError(f"format must be one of {', '.join(map(repr, _READERS))}, found {format!r}")
        read, allowed = _READERS[format]
        unknown = sorted(set(options) - set(allowed))
        if unknown:
            known = ", ".join(allowed) or "none"
            raise TypeError(f"Files of format {format!r} take no {unknown[0]!r}; the options are: {known}")
        if format == "parquet" and not isinstance(options.get("target"), str):
            raise TypeError("Files of format 'parquet' need target=, the column of the labels")
        self.format, self.split, self.options, self.memory = format, checked_size(split), options, memory
        self.paths: list[Any] = expanded(paths)
        if memory is not None:
            if format != "conll":
                raise ValueError(f"memory= is for files of columns, format='conll', found format={format!r}")
            check_folder(memory, "memory")
        self._read: Callable[..., tuple[Any, Any]] = read
        super().__init__()
        self._lines: IntArray | None = None
        self._sources = self.paths

    def __repr__(self) -> str:
        return f"Files of format {self.format!r}: {len(self.paths)} files from {os.fspath(self.paths[0])!r}"

    def read(self) -> tuple[Any, Any]:
        """Return the inputs and outputs of all files.

        Returns
        -------
        X : sequence or csr_array
            The inputs.
        Y : sequence, ndarray or None
            The outputs; None if the inputs contain them.
        """
        self._sources = self.paths
        return self._read(self, **self.options)

    def parts(self, run: Run = map) -> list[Files]:
        """Return each file by itself, or each piece of a large file."""
        whole = self.split is None or self.options.get("clean", False)
        sources: list[Any] = []
        for path in self.paths:
            sources += [path] if whole else pieces(path, self.format, self.split, run)  # type: ignore[arg-type]
        return [self._part(source) for source in sources]

    def _part(self, source: Source) -> Files:
        part = copy(self)
        Parted.__init__(part)
        part.paths, part._lines = [source], None
        return part

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum(map(source_size, self.paths))

    def note_parts(self, parts: Sequence[Files], surveyed: Sequence[tuple[int, Any]]) -> None:
        """Note the number of examples of each part, and check its form, as others have read them."""
        super().note_parts(parts, surveyed)
        self._lines, self._sources = None, [part.paths[0] for part in parts]

    def check_form(self, form: Any) -> None:
        """Raise FormatError if a file has other columns than the first: `form` is columns, name and first line."""
        if self.form is None:
            self.form = form
        elif form[0] != self.form[0]:
            expected, actual = (f"{form[0]} columns" if isinstance(form[0], int) else f"the columns {shown(form[0])}"
                               for form in (self.form, form))  # fmt: skip
            actual = actual.removesuffix(" columns")
            raise FormatError(form[1], form[2], f"expected {expected} as in {self.form[1]}, found {actual}")

    def place(self, example: int) -> str:
        """Return the file of an example that has been read, and its line if it is known."""
        source = self._sources[self.part_of(example)]
        if self._lines is None:
            return os.fspath(source)
        return f"{os.fspath(source)}:{line_in_file(source, int(self._lines[example]))}"

    def _concatenated(self, read: Callable[[Any], Sequence[Any]]) -> list[Any]:
        """Return what is read from all files, and note how many examples each has."""
        parts = [read(path) for path in self.paths]
        self._first = offsets_of([len(part) for part in parts])
        return list(chain.from_iterable(parts))

    def _columns(
        self, columns: Any = None, label_column: int | str | None = None, comments: bool = True, documents: bool = True
    ) -> tuple[Numbered, Numbered]:
        texts = _Numbers(self.memory), _Numbers(self.memory)
        lengths, lines = array("q"), array("q")
        counts: list[int] = []
        self.form = None
        for path in self.paths:
            reader, before = ColumnReader(path, comments=comments, documents=documents), len(lengths)
            used: tuple[int, ...] = ()
            at = 0
            for sentence in reader:
                if not sentence.tokens:
                    continue
                if len(lengths) == before:
                    self.check_form((reader.n_columns, os.fspath(path), reader.first_line))
                    used, at = _positions(reader, columns, label_column)
                texts[0].add([tuple([token[c] for c in used]) for token in sentence.tokens])
                texts[1].add(labels_of(sentence, at, path))
                lengths.append(len(sentence.tokens))
                lines.append(sentence.line)
            if len(lengths) == before:
                raise FormatError(path, None, "expected a line of columns for each token, found no tokens")
            counts.append(len(lengths) - before)
        self._first, self._lines = offsets_of(counts), np.frombuffer(lines, np.int64)
        offsets = offsets_of(np.frombuffer(lengths, np.int64))
        X, Y = (Numbered(list(text), text.numbers(), offsets) for text in texts)
        if self.memory is not None:
            X.empty = Y.empty = empty_in(self.memory)
        return X, Y

    def _conllu(self) -> tuple[Any, None]:
        return self._concatenated(read_conllu), None

    def _trees(self, clean: bool = False) -> tuple[Any, None]:
        return self._concatenated(lambda path: read_trees(path, clean)), None

    def _rows(self, zero_based: bool = False, n_features: int | None = None) -> tuple[Any, Any]:
        parts = [read_svmlight(path, zero_based=zero_based, n_features=n_features) for path in self.paths]
        self._first = offsets_of([len(labels) for _, labels in parts])
        width = max(rows.shape[1] for rows, _ in parts)
        rows = sp.vstack([with_width(rows, width) for rows, _ in parts], format="csr")
        return sp.csr_array(rows), whole_numbers(np.concatenate([labels for _, labels in parts]))

    def _tables(self, target: str, columns: Sequence[str] | None = None) -> tuple[Any, Any]:
        pandas = needed("pandas", "parquet", "Parquet files need")
        used = None if columns is None else [*columns, target]
        parts = []
        self.form = None
        for path in self.paths:
            table = path.table(used) if isinstance(path, RowGroups) else pandas.read_parquet(path, columns=used)
            X, y, names = rows_of_table(table, target, columns)
            if len(y) == 0:
                raise FormatError(path, None, "expected at least one row, found none")
            self.check_form((names, os.fspath(path), None))
            parts.append((X, y))
        self._first = offsets_of([len(y) for _, y in parts])
        rows = sp.vstack([X for X, _ in parts], format="csr")
        return sp.csr_array(rows), np.concatenate([y for _, y in parts])

    def _alignments(self) -> tuple[Any, Any]:
        Y: list[Any] = []

        def read(path: Source) -> Any:
            pairs, alignments = read_aligned_fasta(path)
            Y.extend(alignments)
            return pairs

        return self._concatenated(read), Y


_READERS: Mapping[str, tuple[Callable[..., tuple[Any, Any]], tuple[str, ...]]] = {
    "conll": (Files._columns, ("columns", "label_column", "comments", "documents")),
    "conllu": (Files._conllu, ()),
    "trees": (Files._trees, ("clean",)),
    "svmlight": (Files._rows, ("zero_based", "n_features")),
    "fasta": (Files._alignments, ()),
    "parquet": (Files._tables, ("target", "columns")),
}


class _Numbers(dict[Any, int]):
    """Distinct values, numbered in the order in which they first occur, and the numbers of a sequence of them.

    The numbers are in memory, or in a file of a folder.
    """

    def __init__(self, folder: Any) -> None:
        super().__init__()
        self._all, self._new = Growing(folder, np.int32), array("i")

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number

    def add(self, values: Sequence[Any]) -> None:
        self._new.extend(map(self.__getitem__, values))
        if len(self._new) > 1 << 16:
            self._pack()

    def _pack(self) -> None:
        self._all.append(self._new)
        self._new = array("i")

    def numbers(self) -> Any:
        self._pack()
        return self._all.array()


def _positions(reader: ColumnReader, columns: Any, label_column: int | str | None) -> tuple[tuple[int, ...], int]:
    """Return the numbers of the columns of tokens, and of the label.

    The other columns of CoNLL-U are annotations, which a new text does not have: only the words are used by default.
    """
    if label_column is None:
        label_column = "upos" if reader.conllu else -1
    if columns is None and reader.conllu:
        columns = ("form",)
    if isinstance(label_column, str):
        at = reader.index(label_column, "label column")
    else:
        at = column_index(label_column, reader.n_columns, reader.source)
    if columns is None:
        used = tuple(c for c in range(reader.n_columns) if c != at)
    else:
        named = (columns,) if isinstance(columns, str | int) else columns
        used = tuple(reader.index(column) for column in named)
    if not used or at in used:
        what = "found one column" if not used else f"column {reader.names()[at]} is the label"
        path = os.fspath(reader.source)  # lines of a piece would be counted from its start
        raise FormatError(path, reader.first_line, f"expected a label and at least one more column, {what}")
    return used, at


def expanded(paths: Any) -> list[str]:
    """Return the files of paths and patterns, each once; raise FileNotFoundError if there are none."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("paths: expected at least one file or pattern, found none")
    listed: dict[str, None] = {}
    for name in given:
        path = os.fspath(name)
        if os.path.isfile(path):
            listed[path] = None
            continue
        files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if not files:
            raise FileNotFoundError(f"{path}: expected a file, or a pattern of files, found none")
        listed.update(dict.fromkeys(files))
    return list(listed)


def targets_in(folder: Source, sources: Sequence[str]) -> list[Path]:
    """Return the file in a folder for each source, without ``.gz``; raise ValueError if two are the same."""
    targets = [Path(folder) / Path(source).name.removesuffix(".gz") for source in sources]
    first: dict[Path, str] = {}
    for source, target in zip(sources, targets, strict=True):
        if first.setdefault(target, source) != source:
            raise ValueError(f"{first[target]} and {source} would both be written to {target}: use two folders")
        if target.exists() and target.samefile(source):
            raise ValueError(f"{source} would be replaced by its predictions: use another folder than {folder}")
    return targets
