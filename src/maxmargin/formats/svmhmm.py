"""SVM-hmm sequences: ``TAG qid:SEQUENCE FEATURE:VALUE FEATURE:VALUE ... # comment``, a token per line."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import scipy.sparse as sp

from maxmargin.formats.streams import FormatError, Source, decode, read_bytes
from maxmargin.formats.svmlight import check_features, parse_rows, shown

_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")


def read_svmhmm(
    source: Source, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[list[sp.csr_array], list[list[Any]]]:
    r"""Read sequences as sparse matrices, and the tags of their tokens.

    The tokens of a sequence must be adjacent.

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
    X : list of csr_array of shape (T, d)
        Features of the tokens of each sequence.
    Y : list of list
        Tags, as integers if all are integers, else as strings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.dat"
    ...     _ = path.write_text("2 qid:1 1:1 3:0.5\n1 qid:1 2:1\n1 qid:2 1:1\n")
    ...     X, Y = mm.formats.read_svmhmm(path)
    >>> X[0].toarray().tolist(), Y
    ([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]], [[2, 1], [1]])
    """
    data = read_bytes(source).removeprefix(b"\xef\xbb\xbf")
    tags, rows, numbers, starts = _tokens(data, source)
    if not tags:
        raise FormatError(source, None, "no tokens: expected lines of TAG qid:NUMBER FEATURE:VALUE ..., found none")
    try:
        matrix, _ = parse_rows(b"\n".join(rows), source, zero_based, n_features)
    except FormatError:
        for number, row in zip(numbers, rows, strict=True):
            check_features(decode(row, source, number).split()[1:], source, number, zero_based)
        raise
    ends = [*starts, len(tags)]
    labels = _integers(tags)
    return [matrix[a:b] for a, b in pairwise(ends)], [labels[a:b] for a, b in pairwise(ends)]


def _tokens(data: bytes, source: Source) -> tuple[list[str], list[bytes], list[int], list[int]]:
    """Return tags, svmlight rows with 0 as the tag, line numbers, and offsets of sequences."""
    tags: list[str] = []
    rows: list[bytes] = []
    numbers: list[int] = []
    starts: list[int] = []
    began: dict[bytes, int] = {}
    current = b""
    for number, line in enumerate(data.split(b"\n"), 1):
        fields = line.partition(b"#")[0].split(None, 2)
        if not fields:
            continue
        sequence = fields[1] if len(fields) > 1 else b""
        if not sequence.startswith(b"qid:") or len(sequence) == 4:
            rest = shown(decode(sequence, source, number)) if sequence else "the end of the line"
            raise FormatError(source, number, f"expected TAG qid:NUMBER FEATURE:VALUE ..., found {rest} after the tag")
        if sequence != current:
            name = decode(sequence, source, number)
            if sequence in began:
                raise FormatError(
                    source, number,
                    f"expected the tokens of a sequence to be adjacent, found {name} again (first on line "
                    f"{began[sequence]})",
                )  # fmt: skip
            began[sequence] = number
            starts.append(len(tags))
            current = sequence
        tags.append(decode(fields[0], source, number))
        rows.append(b"0 " + fields[2] if len(fields) > 2 else b"0")
        numbers.append(number)
    return tags, rows, numbers, starts


def _integers(tags: list[str]) -> list[Any]:
    # Not int() alone, which also reads 1_0 as 10.
    return [int(tag) for tag in tags] if all(map(_INTEGER.fullmatch, tags)) else [*tags]
