"""CoNLL columns: a token per line, a blank line between sentences, any column as the label."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, overload

from maxmargin.formats.streams import FormatError, Piece, Source, line_blocks, shown_name, write_text

Token = tuple[str, ...]

#: Characters that `str.split` treats as white space but a column may contain, such as a no-break space in a number.
_INNER_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_SPACES = re.compile("[ \t]+")

#: Lines that are comments however many words they have: ``# name = value`` as in CoNLL-U, and scores of predictions.
_COMMENT = re.compile(r"# (\S+ = .*|scores( [-+.\deinfa]+)+)\s*")

#: First columns of CoNLL-U: of a word, and of the rows that are no words, such as ``1-2`` (a contraction) or ``1.1``.
_FIRST_WORD = re.compile(r"1(-\d+)?|0\.\d+")
_NO_WORD = re.compile(r"\d+[-.]\d+")
#: Names of the columns of CoNLL-U.
CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


@dataclass(slots=True)
class Sentence:
    """One sentence of a file.

    Attributes
    ----------
    line : int
        Line number of its first token.
    tokens : list of tuple of str
        The columns of each token.
    text : list of str
        The lines of the tokens, unchanged.
    before : list of str
        Blank, comment and document lines since the previous sentence.
    between : list of (int, str)
        CoNLL-U's rows of contractions and empty nodes, each with the number of tokens before it.

    Examples
    --------
    >>> import maxmargin as mm
    >>> sentence = mm.formats.Sentence(line=1, tokens=[("Ana", "B-PER"), ("sings", "O")])
    >>> [word for word, _ in sentence.tokens]
    ['Ana', 'sings']
    """

    line: int
    tokens: list[Token] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    between: list[tuple[int, str]] = field(default_factory=list)

    def line_of(self, t: int) -> int:
        """Return the line number of token t."""
        return self.line + t + sum(0 < before <= t for before, _ in self.between)


class ColumnReader:
    r"""Iterator over the sentences of a file.

    Columns are separated by tabs if the first token's line has a tab, else by blanks. All lines of tokens must have the
    same number of columns, also those of a piece of a file. In CoNLL-U files, rows of contractions (``1-2``) and empty
    nodes (``1.1``) are no tokens. A file is in CoNLL-U if its columns are separated by tabs and its name ends with
    ``.conllu``, or if there are ten or more, of which the first counts the words from 1.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.
    comments : bool, default=True
        Whether lines that begin with ``"# "`` before the first token of a sentence are comments. Lines that have all
        columns are tokens, except ``# name = value``.
    documents : bool, default=True
        Whether lines whose first column is ``-DOCSTART-`` are outside of sentences.

    Attributes
    ----------
    n_columns : int
        Number of columns; 0 before the first line of a token.
    separator : str
        Separator of the columns.
    first_line : int
        Number of the first line of a token; 0 before it.
    conllu : bool
        Whether the file is in CoNLL-U.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.conll"
    ...     _ = path.write_text("Ana B-PER\nsings O\n\nOslo B-LOC\n")
    ...     reader = mm.formats.ColumnReader(path)
    ...     [sentence.tokens for sentence in reader], reader.n_columns
    ([[('Ana', 'B-PER'), ('sings', 'O')], [('Oslo', 'B-LOC')]], 2)
    """

    def __init__(self, source: Source, *, comments: bool = True, documents: bool = True) -> None:
        self.source, self.comments, self.documents = source, comments, documents
        self.n_columns, self.separator, self.first_line, self.conllu = 0, " ", 0, False

    def __iter__(self) -> Iterator[Sentence]:
        """Yield sentences; the last one has no tokens if other lines follow the last token."""
        sentence = Sentence(0)
        for first, lines in self._from_first_token():
            split = self._splitter(lines)
            tokens, text = sentence.tokens, sentence.text
            for number, line in enumerate(lines, first):
                columns = split(line)
                if columns and not (line[0] in "#-" and self._is_aside(line, columns, bool(tokens))):
                    if len(columns) != self.n_columns:
                        self._check_width(number, len(columns), line)
                    if self.conllu and _NO_WORD.fullmatch(columns[0]):
                        sentence.between.append((len(tokens), line))
                        continue
                    if not tokens:
                        sentence.line = number
                    tokens.append(tuple(columns))
                    text.append(line)
                    continue
                if tokens:
                    yield sentence
                    sentence = Sentence(0)
                    tokens, text = sentence.tokens, sentence.text
                sentence.before.append(line)
        if sentence.tokens or sentence.before:
            yield sentence

    def names(self) -> list[str]:
        """Return the names of the columns: those of CoNLL-U, or their numbers."""
        given = CONLLU_COLUMNS if self.conllu else ()
        return [given[at] if at < len(given) else str(at) for at in range(self.n_columns)]

    def index(self, column: int | str, what: str = "column") -> int:
        """Return the number of a column, counted from the front; raise FormatError if there is none."""
        if not isinstance(column, str):
            return column_index(column, self.n_columns, self.source, what)
        if column.lower() not in self.names():
            names = "the columns have no names, since the file is not CoNLL-U: give numbers from 0"
            if self.conllu:
                names = f"the columns are {', '.join(self.names())}"
            raise FormatError(self.source, None, f"there is no {what} {column!r}: {names}")
        return self.names().index(column.lower())

    def cells(self, line: str) -> list[str]:
        """Return the columns of a line."""
        return _tabs(line) if self.separator == "\t" else _blanks(line)

    def _from_first_token(self) -> Iterator[tuple[int, list[str]]]:
        """Yield batches of lines, of which the first one contains a line that is certainly a token."""
        waiting: list[str] = []
        if isinstance(self.source, Piece):
            for first, lines in line_blocks(os.fspath(self.source)):
                self._find_columns(first, lines)
                if self.n_columns:
                    break
        for first, lines in line_blocks(self.source):
            if not self.n_columns:
                self._find_columns(first, lines)
                waiting += lines
                if self.n_columns:
                    yield first + len(lines) - len(waiting), waiting
                    waiting = []
                continue
            yield first, lines
        if waiting:
            yield 1, waiting

    def _find_columns(self, first: int, lines: list[str]) -> None:
        """Set separator and number of columns by the first line that cannot be a comment."""
        for number, line in enumerate(lines, first):
            columns = _blanks(line)
            if columns and not self._is_aside(line, columns, False):
                self.separator = "\t" if "\t" in line.strip() else " "
                columns = _tabs(line) if self.separator == "\t" else columns
                self.n_columns, self.first_line = len(columns), number
                named = shown_name(self.source).removesuffix(".gz").endswith(".conllu")
                numbered = len(columns) >= len(CONLLU_COLUMNS) and _FIRST_WORD.fullmatch(columns[0]) is not None
                self.conllu = self.separator == "\t" and (named or numbered)
                return

    def _splitter(self, lines: list[str]) -> Callable[[str], list[str]]:
        if self.separator == "\t":
            return _tabs
        return _blanks if _INNER_SPACE.search("\n".join(lines)) else str.split

    def _is_aside(self, line: str, columns: Sequence[str], within: bool) -> bool:
        if self.documents and columns[0].startswith("-DOCSTART-"):
            return True
        if not self.comments or within or not line.startswith("# "):
            return False
        return len(columns) != self.n_columns or _COMMENT.fullmatch(line) is not None

    def _check_width(self, number: int, width: int, line: str) -> None:
        why = "each line is a token with its columns"
        if self.separator == "\t" and "\t" not in line and len(_blanks(line)) > 1:
            why = "its columns are separated by blanks, those of the first lines by tabs"
        raise FormatError(
            self.source, number,
            f"expected {self.n_columns} columns as on line {self.first_line}, found {width}; {why}",
        )  # fmt: skip


def _tabs(line: str) -> list[str]:
    return line.split("\t") if line.strip() else []


def _blanks(line: str) -> list[str]:
    return [column for column in _SPACES.split(line) if column]


def column_index(column: int, n_columns: int, source: Source, what: str = "label column") -> int:
    """Return a column number counted from the front; raise FormatError if it is out of range."""
    if not -n_columns <= column < n_columns:
        raise FormatError(
            source, None,
            f"there is no {what} {column}: lines have {n_columns} columns, numbered 0 to {n_columns - 1}",
        )  # fmt: skip
    return column % n_columns


def labels_of(sentence: Sentence, column: int, source: Source) -> list[str]:
    """Return one column of a sentence; raise FormatError if a value is empty."""
    labels = [*map(itemgetter(column), sentence.tokens)]
    if "" in labels:
        at = sentence.line_of(labels.index(""))
        raise FormatError(source, at, f"expected a label in column {column}, found none")
    return labels


def split_sentences(
    reader: ColumnReader, positions: Callable[[ColumnReader], tuple[Sequence[int], int | None]]
) -> tuple[list[list[Token]], list[list[str]]]:
    """Return some columns and the labels of all sentences; equal tokens and labels are the same objects.

    `positions` is called at the first token, when the columns are known, and returns the numbers of the columns and
    that of the label; None for no labels. A text repeats its tokens, so it takes a fraction of the memory of
    separate ones.
    """
    X: list[list[Token]] = []
    Y: list[list[str]] = []
    tokens: dict[Token, Token] = {}
    labels: dict[str, str] = {}
    columns: tuple[Sequence[int], int | None] = ((), None)
    for sentence in reader:
        if not sentence.tokens:
            continue
        if not X:
            columns = positions(reader)
        used, at = columns
        cells = [tuple([token[c] for c in used]) for token in sentence.tokens]
        X.append([tokens.setdefault(token, token) for token in cells])
        if at is not None:
            Y.append([labels.setdefault(label, label) for label in labels_of(sentence, at, reader.source)])
    return X, Y


@overload
def read_conll(
    source: Source, *, label_column: int = -1, comments: bool = True, documents: bool = True
) -> tuple[list[list[Token]], list[list[str]]]: ...


@overload
def read_conll(
    source: Source, *, label_column: None, comments: bool = True, documents: bool = True
) -> tuple[list[list[Token]], None]: ...


def read_conll(
    source: Source, *, label_column: int | None = -1, comments: bool = True, documents: bool = True
) -> tuple[list[list[Token]], list[list[str]] | None]:
    r"""Read sentences as lists of column tuples, and their labels.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.
    label_column : int or None, default=-1
        Column of the labels, counted from 0, negative from the end; None if there are no labels.
    comments : bool, default=True
        Whether lines that begin with ``"# "`` before the first token of a sentence are comments. Lines that have all
        columns are tokens, except ``# name = value``.
    documents : bool, default=True
        Whether lines whose first column is ``-DOCSTART-`` are outside of sentences.

    Returns
    -------
    X : list of list of tuple of str
        The other columns of each token.
    Y : list of list of str, or None
        The labels; None without a label column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.conll"
    ...     _ = path.write_text("Ana NP B-PER\nsings V O\n\nOslo NP B-LOC\n")
    ...     mm.formats.read_conll(path)
    ([[('Ana', 'NP'), ('sings', 'V')], [('Oslo', 'NP')]], [['B-PER', 'O'], ['B-LOC']])
    """
    reader = ColumnReader(source, comments=comments, documents=documents)

    def positions(reader: ColumnReader) -> tuple[Sequence[int], int | None]:
        if label_column is None:
            return range(reader.n_columns), None
        at = column_index(label_column, reader.n_columns, source)
        if reader.n_columns == 1:
            raise FormatError(source, None, "expected a label and at least one more column, found one column")
        return [c for c in range(reader.n_columns) if c != at], at

    X, Y = split_sentences(reader, positions)
    if not X:
        raise FormatError(source, None, "no tokens: expected a line of columns for each token, found an empty file")
    return X, None if label_column is None else Y


def write_conll(
    target: Source, sentences: Iterable[Sequence[Any]], *columns: Iterable[Sequence[Any]], separator: str = " "
) -> None:
    """Write sentences with further columns, such as labels, at the end.

    Data that `read_conll` would read differently raise ValueError: an empty sentence, blanks in columns that are
    separated by blanks, ``-DOCSTART-``, a token ``#`` at the very beginning that would be a comment (unless tabs are
    the separator).

    Parameters
    ----------
    target : str or path-like
        The file, which replaces an existing one when it is complete; ``"-"`` for standard output.
    sentences : iterable
        Lists of words or of column tuples.
    *columns : iterable
        The values of every sentence, per further column.
    separator : str, default=" "
        Blanks, or a tab.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tagged.conll"
    ...     mm.formats.write_conll(path, [["Ana", "sings"]], [["B-PER", "O"]])
    ...     print(path.read_text().rstrip())
    Ana B-PER
    sings O
    """
    if separator != "\t" and (separator.strip(" ") or not separator):
        raise ValueError(f"separator: expected a blank or a tab, found {separator!r}")
    reader = ColumnReader(target)
    with write_text(target) as file:
        for i, (tokens, *values) in enumerate(zip(sentences, *columns, strict=True)):
            _check_sentence(i, tokens, values)
            for t, (token, *more) in enumerate(zip(tokens, *values, strict=True)):
                cells = [*map(str, [token] if isinstance(token, str) else token), *map(str, more)]
                line = separator.join(cells)
                expected = _unlike_what_is_read(reader, line, cells, t)
                if expected:
                    raise ValueError(f"sentence {i}, token {t}: expected {expected}, found {cells!r:.200}")
                file.write(line + "\n")
            file.write("\n")


def _check_sentence(i: int, tokens: Sequence[Any], values: Sequence[Sequence[Any]]) -> None:
    if isinstance(tokens, str) or not len(tokens):
        raise ValueError(f"sentence {i}: expected a list of at least one token, found {tokens!r:.60}")
    for column in values:
        if len(column) != len(tokens):
            raise ValueError(f"sentence {i}: {len(tokens)} tokens but {len(column)} values")


def _unlike_what_is_read(reader: ColumnReader, line: str, cells: list[str], t: int) -> str:
    """Return the expectation that these cells violate, or an empty string if they would be read as written."""
    if "\n" in line or "\r" in line:
        return "columns without line ends"
    if cells and reader._is_aside(line, cells, t > 0):
        return "a token whose line is neither a comment (# and a blank) nor a document line (-DOCSTART-)"
    if not reader.n_columns:
        if line.startswith("\ufeff"):
            return "a file that does not begin with a byte order mark"
        reader._find_columns(1, [line])
        reader.n_columns = len(cells)
    if len(cells) != reader.n_columns:
        return f"{reader.n_columns} columns as in the first token"
    if reader.conllu and _NO_WORD.fullmatch(cells[0]):
        return "a word, not a row of a contraction or an empty node, which CoNLL-U does not count as a token"
    tabs = reader.separator == "\t"
    if (_tabs if tabs else _blanks)(line) != cells:
        return f"columns that are not empty and hold no {'' if tabs else 'blanks and no '}tabs"
    return ""


def labelled(reader: ColumnReader, sentence: Sentence, labels: Sequence[Sequence[str]], at: int | None) -> str:
    """Return the text of a sentence with the labels of each token, one or more, best first.

    `at` is the column that the next program reads labels from. In CoNLL-U the first label replaces that of the column,
    and others are entries of MISC (``Upos2=VERB``), since there are ten columns; rows of contractions and empty nodes
    stay. In other files, labels are inserted there, or follow the last column if `at` is None; document lines get
    ``O`` so that all lines have the same number of columns.
    """
    if reader.conllu and at is not None:
        lines = [_filled(reader, text, best, at) for text, best in zip(sentence.text, labels, strict=True)]
        for before, text in reversed(sentence.between):
            lines.insert(before, text)
        return "".join(f"{line}\n" for line in [*sentence.before, *lines])
    lines = [_inserted(reader, text, best, at) for text, best in zip(sentence.text, labels, strict=True)]
    aside = [_document_line(reader, line, labels, at) for line in sentence.before]
    return "".join(f"{line}\n" for line in [*aside, *lines])


def _filled(reader: ColumnReader, text: str, labels: Sequence[str], at: int) -> str:
    """Return a line of CoNLL-U with the first label in a column, and the others in MISC."""
    cells, misc = reader.cells(text), CONLLU_COLUMNS.index("misc")
    cells[at] = labels[0]
    others = [f"{reader.names()[at].capitalize()}{rank}={label}" for rank, label in enumerate(labels[1:], 2)]
    if others and at != misc:
        cells[misc] = "|".join([*([] if cells[misc] == "_" else [cells[misc]]), *others])
    return "\t".join(cells)


def _inserted(reader: ColumnReader, text: str, labels: Sequence[str], at: int | None) -> str:
    """Return a line with labels in the place of a column, or at its end."""
    if at is None or at == reader.n_columns:
        return reader.separator.join([text.rstrip(" "), *labels])
    cells = reader.cells(text)
    return reader.separator.join([*cells[:at], *labels, *cells[at:]])


def _document_line(reader: ColumnReader, line: str, labels: Sequence[Sequence[str]], at: int | None) -> str:
    """Return a document line with as many columns as the lines of tokens; other lines stay."""
    cells = _blanks(line)
    if not cells or not reader.documents or not cells[0].startswith("-DOCSTART-"):
        return line
    cells = [*cells[: reader.n_columns], *["O"] * (reader.n_columns - len(cells))]
    return _inserted(reader, reader.separator.join(cells), ["O"] * (len(labels[0]) if labels else 1), at)
