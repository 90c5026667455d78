"""svmlight and libsvm rows, ``LABEL FEATURE:VALUE FEATURE:VALUE ... # comment``, and LETOR's with queries."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from maxmargin._base.types import AnyArray
from maxmargin.formats.streams import FormatError, Source, decode, read_bytes

#: An underscore outside of comments.
_UNDERSCORE = re.compile(rb"^[^#\n]*_", re.MULTILINE)
#: The name of a document in a comment of LETOR.
_DOCUMENT = re.compile(r"\bdocid\s*=\s*(\S+)")
#: An integer, in digits.
_QUERY = re.compile(r"[+-]?[0-9]{1,19}")


def read_svmlight(
    source: Source, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[sp.csr_array, AnyArray]:
    r"""Read sparse rows and their labels.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.
    zero_based : bool, default=False
        Whether features are numbered from 0; then feature f is column f, otherwise column f − 1.
    n_features : int or None, default=None
        Number of columns; features above it are left out. None for the number in the file.

    Returns
    -------
    X : csr_array of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels; of type int if all are integers.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.svmlight"
    ...     _ = path.write_text("1 1:0.5 3:2\n-1 2:1 # a comment\n")
    ...     X, y = mm.formats.read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    data = read_bytes(source).removeprefix(b"\xef\xbb\xbf")
    rows, labels = parse_rows(data, source, zero_based, n_features)
    if len(labels) == 0:
        raise FormatError(source, None, "no rows: expected lines of LABEL FEATURE:VALUE ..., found an empty file")
    return rows, whole_numbers(labels)


def read_letor(
    source: Source, *, zero_based: bool = False, n_features: int | None = None, documents: bool = False
) -> tuple[Any, ...]:
    r"""Read documents of queries (LETOR's format).

    Lines are ``RELEVANCE qid:QUERY FEATURE:VALUE FEATURE:VALUE ... # comment``.

    This is the format of LETOR, SVM-rank and svmlight's rankings. Features that a line does not name are 0.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.
    zero_based : bool, default=False
        Whether features are numbered from 0; then feature f is column f, otherwise column f − 1.
    n_features : int or None, default=None
        Number of columns; features above it are left out. None for the number in the file.
    documents : bool, default=False
        Whether to return the names of documents too, which LETOR has in the comments: ``#docid = GX008-86-4444840``.

    Returns
    -------
    X : csr_array of shape (n, d)
        A row for each document.
    y : ndarray of shape (n,)
        Relevance; of type int if all are integers.
    qid : ndarray of int of shape (n,)
        Query of each document, for ``groups=`` or ``qid=`` of `StructuredRanker`.
    names : list of str
        The name of each document, with ``documents=True``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.txt"
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 #docid = A\n0 qid:7 2:0.25 #docid = B\n")
    ...     X, y, qid, names = mm.formats.read_letor(path, documents=True)
    >>> X.toarray().tolist(), y.tolist(), qid.tolist(), names
    ([[0.5, 1.0], [0.0, 0.25]], [2, 0], [7, 7], ['A', 'B'])
    """
    data = read_bytes(source).removeprefix(b"\xef\xbb\xbf")
    rows, labels = parse_rows(data, source, zero_based, n_features)
    if len(labels) == 0:
        raise FormatError(
            source, None, "no rows: expected lines of RELEVANCE qid:QUERY FEATURE:VALUE ..., found an empty file"
        )
    content = rows, whole_numbers(labels), _query_numbers(data, source)
    return (*content, _document_names(data, source)) if documents else content


def read_label_sets(
    source: Source, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[sp.csr_array, list[list[int]]]:
    """Return rows and their sets of labels, numbers from 0 separated by commas, of lines ``3,7 FEATURE:VALUE …``.

    A line that begins with a feature has no labels.
    """
    sets: list[list[int]] = []
    lines: list[str] = []
    text = decode(read_bytes(source).removeprefix(b"\xef\xbb\xbf"), source)
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.partition("#")[0].split()
        if fields:
            labels = [] if ":" in fields[0] else fields[0].split(",")
            for label in labels:
                if not (label.isascii() and label.isdecimal() and int(label) < 2**31):
                    raise FormatError(source, number, f"expected numbers from 0 as labels, found {shown(fields[0])}")
            sets.append(sorted({int(label) for label in labels}))
            lines.append(" ".join(["0", *fields[bool(labels) :]]))
        else:
            lines.append("")
    if not sets:
        raise FormatError(source, None, "no rows: expected lines of LABEL,LABEL FEATURE:VALUE ..., found an empty file")
    return parse_rows("\n".join(lines).encode(), source, zero_based, n_features)[0], sets


def _document_names(data: bytes, source: Source) -> list[str]:
    """Return the name of each document; raise FormatError for the first line without one."""
    names = []
    for number, line in enumerate(decode(data, source).split("\n"), 1):
        fields, _, comment = line.partition("#")
        if not fields.strip():
            continue
        name = _DOCUMENT.search(comment)
        if name is None:
            raise FormatError(source, number, f"expected a comment with docid = NAME, found {shown(comment)}")
        names.append(name[1])
    return names


def _query_numbers(data: bytes, source: Source) -> AnyArray:
    """Return the query of each line; raise FormatError for the first line without one."""
    queries = []
    for number, line in enumerate(decode(data, source).split("\n"), 1):
        fields = line.partition("#")[0].split(None, 2)
        if not fields:
            continue
        name, _, value = (fields[1] if len(fields) > 1 else "").partition(":")
        if name != "qid" or not _QUERY.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
            what = shown(fields[1]) if len(fields) > 1 else "nothing"
            raise FormatError(source, number, f"expected qid:QUERY, an integer, after the relevance, found {what}")
        queries.append(int(value))
    return np.array(queries, np.int64)


def parse_rows(data: bytes, source: Source, zero_based: bool, n_features: int | None) -> tuple[sp.csr_array, AnyArray]:
    """Return rows and labels, read by scikit-learn; raise FormatError for the first line it cannot read."""
    if _UNDERSCORE.search(data):  # scikit-learn's reader reads 1_0 as 10
        check_lines(data, source, zero_based)
    try:
        rows, labels = load_svmlight_file(io.BytesIO(data), zero_based=zero_based)
    except (ValueError, OverflowError, IndexError, UnicodeDecodeError) as error:
        check_lines(data, source, zero_based)
        raise FormatError(source, None, str(error)) from None
    if not np.isfinite(rows.data).all() or not np.isfinite(labels).all():
        check_lines(data, source, zero_based)
    return _short_indices(with_width(sp.csr_array(rows), n_features)), labels


def _short_indices(rows: sp.csr_array) -> sp.csr_array:
    """Return rows with indices of 32 bits if these suffice: scikit-learn's linear models take no others."""
    if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:
        rows.indices, rows.indptr = rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False)
    return rows


def with_width(rows: Any, width: int | None) -> sp.csr_array:
    """Return the first `width` columns, with empty columns added if there are fewer."""
    if width is None or rows.shape[1] == width:
        return rows
    if rows.shape[1] > width:
        return sp.csr_array(rows[:, :width])
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


def whole_numbers(labels: AnyArray) -> AnyArray:
    """Return labels of type int if all are integers in its range."""
    is_whole = (labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)
    return labels.astype(np.int64) if is_whole.all() else labels


def check_lines(data: bytes, source: Source, zero_based: bool) -> None:
    """Raise FormatError for the first line that is not a row."""
    for number, line in enumerate(decode(data, source).split("\n"), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        if _number(fields[0]) is None:
            raise FormatError(source, number, f"expected a number as label, found {shown(fields[0])}")
        start = 2 if fields[1:2] and fields[1].startswith("qid:") else 1
        check_features(fields[start:], source, number, zero_based)


def check_features(fields: list[str], source: Source, number: int, zero_based: bool) -> None:
    """Raise FormatError for the first field that is not FEATURE:VALUE, or not in ascending order."""
    last, lowest = -1, 0 if zero_based else 1
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon or not (name.isascii() and name.isdigit()) or _number(value) is None:
            raise FormatError(source, number, f"expected FEATURE:VALUE, both finite numbers, found {shown(field)}")
        feature = int(name)
        if feature < lowest:
            raise FormatError(
                source, number,
                f"expected features numbered from 1, found {shown(field)}; for features numbered from 0 use zero_based "
                f"(--zero-based)",
            )  # fmt: skip
        if feature >= 2**31:
            raise FormatError(source, number, f"expected a feature below 2^31, found {shown(field)}")
        if feature <= last:
            raise FormatError(
                source, number, f"expected features in ascending order, found {shown(field)} after {last}"
            )
        last = feature


def shown(text: str) -> str:
    """Return a field for an error message, shortened to one line."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if "_" in text:
        return None
    return value if np.isfinite(value) else None
