"""Connectivity tables (CT files), as mfold and RNAstructure write them: a line for each base with its partner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from maxmargin.features.biology.rna import dot_bracket, partners
from maxmargin.formats.dot_bracket import FoldedSequence
from maxmargin.formats.fasta import numbered_lines
from maxmargin.formats.streams import FormatError, Source, write_text

#: Energies that programs write before the name: ``dG = -3.4``, ``ENERGY=-3.4``, ``ENERGY = -3.4 [initially -3.8]``.
_ENERGY = re.compile(
    r"(?:dG|energy)\s*=\s*(?:[-+]?(?:\d+\.?\d*|\.\d+|inf)(?!\S))?\s*(?:\[initially[^]]*\])?", re.IGNORECASE
)
#: Lines before the first structure: comments, and fields such as ``Organism: Escherichia coli``.
_HEADER = re.compile(r"[#;>]|[^\W\d][\w ]*:|Citation ")


def read_ct(source: Source) -> list[FoldedSequence]:
    r"""Read sequences with their structures from a CT file, one or several.

    A structure begins with a line ``LENGTH TITLE``; then each base has a line with its number, letter, the numbers of
    the bases before and after, the number of its partner (0 for none), and its number once more. An energy at the
    beginning of the title, ``dG = -3.4`` or ``ENERGY = -3.4``, is left out of the name. Comments and header lines
    (``Organism: …``) are skipped.

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
    ...     path = pathlib.Path(folder) / "hairpin.ct"
    ...     _ = path.write_text("3 dG = -1.2 tiny\n1 G 0 2 3 1\n2 A 1 3 0 2\n3 C 2 0 1 3\n")
    ...     mm.formats.read_ct(path)
    [FoldedSequence(name='tiny', sequence='GAC', structure='(.)', description='')]
    """
    lines = ((number, line) for number, line in numbered_lines(source) if not _HEADER.match(line))
    records = [_record(source, number, line, lines) for number, line in lines]
    if not records:
        raise FormatError(source, None, "no structures: expected a line LENGTH TITLE, found none")
    return records


def _record(source: Source, number: int, title: str, lines: Iterator[tuple[int, str]]) -> FoldedSequence:
    first, *others = title.split(None, 1)
    rest = _ENERGY.sub("", others[0], count=1).strip() if others and _ENERGY.match(others[0]) else "".join(others)
    words = rest.split() or [""]
    if not first.isdecimal() or int(first) == 0:
        raise FormatError(source, number, f"expected LENGTH TITLE, found {title!r:.60}")
    n = int(first)
    letters, code = [""] * n, np.full(n, -1, np.int32)
    for i in range(n):
        number, line = next(lines, (number, "the end of the file"))
        fields = line.split()
        if len(fields) < 5 or not all(fields[k].isdecimal() for k in (0, 4)):
            expected = "the number, the letter, two neighbours and the partner of a base"
            raise FormatError(source, number, f"expected {expected} ({i + 1} of {n}), found {line!r:.60}")
        if int(fields[0]) != i + 1 or int(fields[4]) > n:
            raise FormatError(source, number, f"expected base {i + 1} with a partner up to {n}, found {line!r:.60}")
        letters[i], code[i] = fields[1], int(fields[4]) - 1
    wrong = [i for i, j in enumerate(code.tolist()) if j >= 0 and (j == i or code[j] != i)]
    if wrong:
        i = wrong[0]
        other = "itself" if code[i] == i else f"{code[i] + 1}, but that of base {code[i] + 1} is {code[code[i]] + 1}"
        raise FormatError(source, None, f"{rest!r:.60}: the partner of base {i + 1} is {other}")
    return FoldedSequence(words[0], "".join(letters), dot_bracket(code), " ".join(words[1:]))


def write_ct(target: Source, records: Iterable[tuple[str, ...]]) -> None:
    r"""Write sequences with their structures to a CT file.

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
    ...     path = pathlib.Path(folder) / "hairpin.ct"
    ...     mm.formats.write_ct(path, [("hairpin", "GAC", "(.)")])
    ...     path.read_text().split("\n")[0].split()
    ['3', 'hairpin']
    """
    with write_text(target) as file:
        for number, record in enumerate(FoldedSequence(*record) for record in records):
            code = partners(record.structure, f"record {number}")
            n = len(record.sequence)
            if len(code) != n:
                raise ValueError(f"record {number}: {n} bases with a structure of {len(code)} positions")
            file.write(f"{n} {record.name} {record.description}".rstrip() + "\n")
            for i, (letter, j) in enumerate(zip(record.sequence, code.tolist(), strict=True), 1):
                file.write(f"{i} {letter} {i - 1} {i + 1 if i < n else 0} {j + 1} {i}\n")
