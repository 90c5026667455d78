"""Bpseq files, as RNA STRAND and CONTRAfold have them: a line ``NUMBER BASE PARTNER`` for each base."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from maxmargin.features.biology.rna import dot_bracket, partners
from maxmargin.formats.dot_bracket import FoldedSequence
from maxmargin.formats.fasta import numbered_lines, split_title
from maxmargin.formats.streams import FormatError, Source, write_text

#: Lines before the bases: comments, titles, and fields such as ``Organism: Escherichia coli``.
_HEADER = re.compile(r"[#;]|[^\W\d][\w ]*:|Citation ")


def read_bpseq(source: Source) -> list[FoldedSequence]:
    r"""Read sequences with their structures from a bpseq file, one or several.

    Each base has a line with its number, letter, and the number of its partner (0 for none). A sequence begins with
    base 1; a line ``>name description`` may come before it. Comments (``#``) and header lines (``Organism: …``) are
    skipped.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    list of FoldedSequence
        The records; pairs that cross have brackets of different kinds.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "hairpin.bpseq"
    ...     _ = path.write_text(">hairpin\n1 G 5\n2 A 0\n3 A 0\n4 A 0\n5 C 1\n")
    ...     mm.formats.read_bpseq(path)
    [FoldedSequence(name='hairpin', sequence='GAAAC', structure='(...)', description='')]
    """
    records = list[tuple[str, int, list[tuple[str, int]]]]()
    title = ""
    for number, line in numbered_lines(source):
        if line.startswith(">"):
            title = line
            continue
        if _HEADER.match(line):
            continue
        fields = line.split()
        if len(fields) != 3 or not (fields[0].isdecimal() and fields[2].isdecimal()):
            raise FormatError(source, number, f"expected NUMBER BASE PARTNER, found {line!r:.60}")
        if int(fields[0]) == 1:
            records.append((title, number, []))
            title = ""
        expected = len(records[-1][2]) + 1 if records else 1
        if int(fields[0]) != expected:
            raise FormatError(source, number, f"expected base {expected}, found {line!r:.60}")
        records[-1][2].append((fields[1], int(fields[2])))
    if not records:
        raise FormatError(source, None, "no structures: expected lines NUMBER BASE PARTNER, found none")
    return [_record(source, *one) for one in records]


def _record(source: Source, title: str, number: int, bases: list[tuple[str, int]]) -> FoldedSequence:
    code = np.array([partner - 1 for _, partner in bases], np.int32)
    for i, j in enumerate(code.tolist()):
        if j >= len(code) or j == i or (j >= 0 and code[j] != i):
            raise FormatError(
                source, number + i, f"the partner of base {i + 1} is {j + 1}, which is not paired with base {i + 1}"
            )
    name, description = split_title(title) if title else ("", "")
    return FoldedSequence(name, "".join(letter for letter, _ in bases), dot_bracket(code), description)


def write_bpseq(target: Source, records: Iterable[tuple[str, ...]]) -> None:
    """Write sequences with their structures to a bpseq file.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    records : iterable of FoldedSequence or tuple
        Name, sequence, structure and, optionally, description.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "hairpin.bpseq"
    ...     mm.formats.write_bpseq(path, [("hairpin", "GAC", "(.)")])
    ...     print(path.read_text(), end="")
    >hairpin
    1 G 3
    2 A 0
    3 C 1
    """
    with write_text(target) as file:
        for number, record in enumerate(FoldedSequence(*record) for record in records):
            code = partners(record.structure, f"record {number}")
            if len(code) != len(record.sequence):
                raise ValueError(
                    f"record {number}: {len(record.sequence)} bases with a structure of {len(code)} positions"
                )
            title = f"{record.name} {record.description}".strip()
            file.write(f">{title}\n" if title else "")
            for i, (letter, j) in enumerate(zip(record.sequence, code.tolist(), strict=True), 1):
                file.write(f"{i} {letter} {j + 1}\n")
