"""Stockholm files of RNA families, as Rfam has them: alignments with a consensus structure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.features.biology.rna import dot_bracket, partners
from maxmargin.formats.dot_bracket import FoldedSequence
from maxmargin.formats.fasta import numbered_lines
from maxmargin.formats.streams import FormatError, Source

_GAPS = frozenset("-.~_")
_CANONICAL = frozenset({"AU", "UA", "CG", "GC", "GU", "UG"})


class _Family(NamedTuple):
    """An alignment: the line where it begins, its accession, its rows by name, and its consensus structure."""

    line: int
    names: dict[str, str]
    rows: dict[str, list[str]]
    consensus: list[str]


def read_stockholm(source: Source) -> list[FoldedSequence]:
    r"""Read the sequences of alignments, each with the consensus structure of its alignment.

    The pairs of the consensus structure (``#=GC SS_cons``) are projected onto each sequence: pairs with a gap, or of
    bases that are not A–U, C–G or G–U, are left out. Pseudoknots (letters) stay. Rows may be interleaved, and a file
    may have several alignments.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    list of FoldedSequence
        The sequences without gaps; the description is the accession (``#=GF AC``) of the alignment, or its name
        (``#=GF ID``): sequences of one family have the same.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "family.sto"
    ...     _ = path.write_text("# STOCKHOLM 1.0\n#=GF ID tiny\na GAA-C\nb GAAAC\n#=GC SS_cons <...>\n//\n")
    ...     records = mm.formats.read_stockholm(path)
    >>> [(record.name, record.sequence, record.structure) for record in records]
    [('a', 'GAAC', '(..)'), ('b', 'GAAAC', '(...)')]
    """
    records, family = list[FoldedSequence](), None
    for number, line in numbered_lines(source):
        if line.startswith("# STOCKHOLM"):
            family = _Family(number, {}, {}, [])
        elif family is None:
            raise FormatError(source, number, f"expected '# STOCKHOLM 1.0', found {line!r:.60}")
        elif line == "//":
            records += _records(source, family)
            family = None
        elif line.startswith("#=GF"):
            fields = line.split(None, 2)
            if len(fields) == 3 and fields[1] in ("AC", "ID"):
                family.names[fields[1]] = fields[2].strip()
        elif line.startswith("#=GC SS_cons") and len(line.split()) == 3:
            family.consensus.append(line.split()[2])
        elif not line.startswith("#"):
            fields = line.split()
            if len(fields) != 2:
                raise FormatError(source, number, f"expected the name and the row of a sequence, found {line!r:.60}")
            family.rows.setdefault(fields[0], []).append(fields[1])
    if family is not None:
        raise FormatError(source, family.line, "expected '//' at the end of the alignment, found none")
    if not records:
        raise FormatError(source, None, "no sequences: expected alignments with rows, found none")
    return records


def _records(source: Source, family: _Family) -> list[FoldedSequence]:
    if family.rows and not family.consensus:
        raise FormatError(source, family.line, "expected a consensus structure, #=GC SS_cons, found none")
    try:
        consensus = partners("".join(family.consensus), "SS_cons")
    except ValueError as error:
        raise FormatError(source, family.line, str(error)) from None
    about = family.names.get("AC") or family.names.get("ID", "")
    records = []
    for name, parts in family.rows.items():
        row = "".join(parts)
        if len(row) != len(consensus):
            raise FormatError(
                source, family.line,
                f"{name!r:.60}: a row of {len(row)} columns, but the consensus structure has {len(consensus)}",
            )  # fmt: skip
        records.append(FoldedSequence(name, *_projected(row, consensus), about))
    return records


def _projected(row: str, consensus: np.ndarray) -> tuple[str, str]:
    """Return the sequence of a row without gaps, and the pairs of the consensus structure that it can have."""
    kept = [k for k, letter in enumerate(row) if letter not in _GAPS]
    place = {k: i for i, k in enumerate(kept)}
    letters = row.upper().replace("T", "U")
    code = np.full(len(kept), -1, np.int32)
    for i, k in enumerate(kept):
        other = int(consensus[k])
        if other in place and letters[k] + letters[other] in _CANONICAL:
            code[i] = place[other]
    return "".join(row[k] for k in kept), dot_bracket(code)
