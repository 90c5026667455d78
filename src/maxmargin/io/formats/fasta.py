"""FASTA files: a line ``>name description``, then the sequence in one line or several; pairs of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from maxmargin.io.formats.streams import FormatError, Source, line_blocks, write_text

#: Letters in a line of a FASTA file that is written.
_WIDTH = 80
_GAPS = str.maketrans("", "", "-")


class FastaRecord(NamedTuple):
    """A sequence of a FASTA file.

    Attributes
    ----------
    name : str
        The first word after ``>``.
    sequence : str
        The letters, as they are in the file.
    description : str, default=""
        The rest of the line after the name.
    """

    name: str
    sequence: str
    description: str = ""


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, without spaces at their ends; empty ones are left out."""
    for first, lines in line_blocks(source):
        for number, line in enumerate(lines, first):
            if line.strip():
                yield number, line.strip()


def split_title(line: str) -> tuple[str, str]:
    """Return name and description of a line that begins with ``>``."""
    name, *description = line[1:].split(None, 1) or [""]
    return name, "".join(description).strip()


def read_fasta(source: Source) -> list[FastaRecord]:
    """Read sequences of nucleic acids or proteins.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    list of FastaRecord
        The sequences; letters are not checked, and gaps stay.
    """
    records: list[tuple[int, str, list[str]]] = []
    for number, line in numbered_lines(source):
        if line.startswith(">"):
            records.append((number, line, []))
        elif line.startswith(";"):  # a comment
            continue
        elif not records:
            raise FormatError(source, number, f"expected a line that begins with '>', found {line!r:.60}")
        else:
            records[-1][2].append("".join(line.split()))
    if not records:
        raise FormatError(source, None, "no sequences: expected lines that begin with '>', found none")
    for number, title, parts in records:
        if not parts:
            raise FormatError(source, number, f"expected a sequence after {title!r:.60}, found none")
    split = ((*split_title(title), "".join(parts)) for _, title, parts in records)
    return [FastaRecord(name, sequence, description) for name, description, sequence in split]


def write_fasta(target: Source, records: Iterable[tuple[str, ...]]) -> None:
    """Write sequences, 80 letters in a line.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    records : iterable of FastaRecord or tuple
        Name, sequence and, optionally, description of each sequence.
    """
    with write_text(target) as file:
        for record in map(_record, records):
            file.write(f">{f'{record.name} {record.description}'.strip()}\n")
            for first in range(0, len(record.sequence), _WIDTH):
                file.write(f"{record.sequence[first : first + _WIDTH]}\n")


def _record(record: tuple[str, ...]) -> FastaRecord:
    return FastaRecord(*record[:3])


def read_fasta_pairs(source: Source) -> list[tuple[str, str]]:
    """Return pairs of sequences: records 1 and 2, 3 and 4, and so on, without gaps.

    Parameters
    ----------
    source : str or path-like
        The file.

    Returns
    -------
    list of (str, str)
        Pairs, as `PairwiseAligner.predict` takes them.
    """
    return [(a.translate(_GAPS), b.translate(_GAPS)) for a, b in _pairs(source)]


def read_aligned_fasta(source: Source) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return pairs of sequences and their alignments: records 1 and 2, 3 and 4, and so on.

    Parameters
    ----------
    source : str or path-like
        A file of aligned records; the two of a pair have equal lengths, with ``-`` for gaps.

    Returns
    -------
    X : list of (str, str)
        Pairs of sequences, as `PairwiseAligner.fit` takes them.
    Y : list of (str, str)
        Their alignments.
    """
    Y = _pairs(source)
    for k, (a, b) in enumerate(Y):
        if len(a) != len(b):
            raise FormatError(
                source, None,
                f"records {2 * k + 1} and {2 * k + 2} have lengths {len(a)} and {len(b)}; expected aligned records of "
                f"equal length",
            )  # fmt: skip
    return [(a.translate(_GAPS), b.translate(_GAPS)) for a, b in Y], Y


def _pairs(source: Source) -> list[tuple[str, str]]:
    records = [record.sequence for record in read_fasta(source)]
    if len(records) % 2:
        raise FormatError(source, None, f"expected pairs of records, found {len(records)} records")
    return list(zip(records[::2], records[1::2], strict=True))
