"""FASTA files: a line ``>name description``, then the sequence in one line or several; pairs of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from maxmargin.features.biology.aligned import without_gaps
from maxmargin.formats.streams import FormatError, Source, line_blocks, write_text

#: Letters in a line of a FASTA file that is written.
_WIDTH = 80


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

    Examples
    --------
    >>> import maxmargin as mm
    >>> record = mm.formats.FastaRecord("P1", "MKV", "a short protein")
    >>> record.name, len(record.sequence), record.description
    ('P1', 3, 'a short protein')
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
    name, *description = line[1:].strip().split(maxsplit=1) or [""]
    return name, "".join(description)


def read_fasta(source: Source) -> list[FastaRecord]:
    r"""Read sequences of nucleic acids or proteins.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    list of FastaRecord
        The sequences; letters are not checked, and gaps stay.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "one.fasta"
    ...     _ = path.write_text(">P1 a short protein\nMKV\nLAT\n")
    ...     mm.formats.read_fasta(path)
    [FastaRecord(name='P1', sequence='MKVLAT', description='a short protein')]
    """
    return [record for _, record in _numbered_records(source)]


def _numbered_records(source: Source) -> list[tuple[int, FastaRecord]]:
    """Return the records of a file with the numbers of their first lines."""
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
    split = ((number, *split_title(title), "".join(parts)) for number, title, parts in records)
    return [(number, FastaRecord(name, sequence, description)) for number, name, description, sequence in split]


def write_fasta(target: Source, records: Iterable[Any]) -> None:
    """Write sequences, 80 letters in a line.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    records : iterable of FastaRecord, tuple or SeqRecord
        Name, sequence and, optionally, description of each sequence; or records of Biopython.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "one.fasta"
    ...     mm.formats.write_fasta(path, [("P1", "MKVLAT", "a short protein")])
    ...     print(path.read_text(), end="")
    >P1 a short protein
    MKVLAT
    """
    with write_text(target) as file:
        file.writelines(sequence_lines(_record(record)) for record in records)


def sequence_lines(record: FastaRecord) -> str:
    """Return the lines of a record, as `write_fasta` writes them."""
    parts = [record.sequence[first : first + _WIDTH] for first in range(0, len(record.sequence), _WIDTH)]
    return "".join(f"{line}\n" for line in [f">{f'{record.name} {record.description}'.strip()}", *parts])


def _record(record: Any) -> FastaRecord:
    if hasattr(record, "seq") and hasattr(record, "description"):
        description = str(record.description).removeprefix(str(record.id)).replace("<unknown description>", "")
        return FastaRecord(str(record.id), str(record.seq), description.strip())
    if not isinstance(record, tuple | list) or not 2 <= len(record) <= 3 or not all(isinstance(s, str) for s in record):
        raise ValueError(f"expected (name, sequence) or (name, sequence, description), found {record!r:.60}")
    return FastaRecord(*record)


def read_fasta_pairs(source: Source) -> list[tuple[str, str]]:
    r"""Return pairs of sequences: records 1 and 2, 3 and 4, and so on, without gaps.

    Parameters
    ----------
    source : str or path-like
        The file.

    Returns
    -------
    list of (str, str)
        Pairs, as `PairwiseAligner.predict` takes them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.fasta"
    ...     _ = path.write_text(">a\nACGT\n>b\nAC-T\n")
    ...     mm.formats.read_fasta_pairs(path)
    [('ACGT', 'ACT')]
    """
    return [(without_gaps(a), without_gaps(b)) for _, (a, b) in _pairs(source)]


def read_aligned_fasta(source: Source) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    r"""Return pairs of sequences and their alignments: records 1 and 2, 3 and 4, and so on.

    Parameters
    ----------
    source : str or path-like
        A file of aligned records; the two of a pair have equal lengths, with ``-`` or ``.`` for gaps.

    Returns
    -------
    X : list of (str, str)
        Pairs of sequences, as `PairwiseAligner.fit` takes them.
    Y : list of (str, str)
        Their alignments.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.fasta"
    ...     _ = path.write_text(">a\nACGT\n>b\nAC-T\n")
    ...     mm.formats.read_aligned_fasta(path)
    ([('ACGT', 'ACT')], [('ACGT', 'AC-T')])
    """
    Y = []
    for number, (a, b) in _pairs(source):
        if len(a) != len(b):
            raise FormatError(
                source, number,
                f"this record and the next one have lengths {len(a)} and {len(b)}; expected aligned records of equal "
                f"length",
            )  # fmt: skip
        Y.append((a, b))
    return [(without_gaps(a), without_gaps(b)) for a, b in Y], Y


def _pairs(source: Source) -> list[tuple[int, tuple[str, str]]]:
    """Return pairs of sequences with the numbers of their first lines."""
    records = _numbered_records(source)
    if len(records) % 2:
        raise FormatError(source, None, f"expected pairs of records, found {len(records)} records")
    pairs = zip(records[::2], records[1::2], strict=True)
    return [(number, (a.sequence, b.sequence)) for (number, a), (_, b) in pairs]
