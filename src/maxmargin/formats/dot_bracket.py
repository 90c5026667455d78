"""Dot-bracket files, as ViennaRNA reads and writes them: ``>name``, a sequence, and its structure below."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from maxmargin.features.biology.rna import partners
from maxmargin.formats.fasta import numbered_lines, split_title
from maxmargin.formats.streams import FormatError, Source, write_text

_BRACKETS = frozenset(".()[]{}<>,:_-~")


class FoldedSequence(NamedTuple):
    """A sequence with its secondary structure.

    Attributes
    ----------
    name : str
        The first word after ``>``; empty if there is none.
    sequence : str
        The bases, as they are in the file.
    structure : str
        The structure in dot-bracket notation.
    description : str, default=""
        The rest of the line after the name.

    Examples
    --------
    >>> import maxmargin as mm
    >>> hairpin = mm.formats.FoldedSequence("hairpin", "GGAAACC", "((...))")
    >>> mm.RNAFolder(C=1.0, prior=None).fit([hairpin.sequence], [hairpin.structure]).predict(["GCAAAGC"])
    ['((...))']
    """

    name: str
    sequence: str
    structure: str
    description: str = ""


class _Reader:
    """The record that is being read, and those before."""

    def __init__(self, source: Source) -> None:
        self.source, self.records = source, list[FoldedSequence]()
        self.title, self.sequence, self.structure, self.number = "", "", "", 0

    def title_line(self, number: int, line: str) -> None:
        self.finish(number)
        self.title, self.number = line, number

    def body_line(self, number: int, line: str) -> None:
        symbols, *energy = line.split(None, 1)
        complete = bool(self.structure) and len(self.structure) == len(self.sequence)
        if complete and (line.startswith("frequency of mfe ") or (energy and energy[0][0] in "[{")):
            return
        if _BRACKETS.isdisjoint(symbols):
            if self.structure:
                self.finish(number)
            self.sequence += symbols
        elif complete:
            title, sequence = self.title, self.sequence
            self.finish(number)
            self.title, self.sequence, self.structure = title, sequence, symbols
        else:
            self.structure += symbols
        self.number = self.number or number

    def finish(self, number: int) -> None:
        """Keep the record that ends before this line, if one has begun."""
        if not self.number:
            return
        if not self.sequence or not self.structure:
            missing = "sequence" if not self.sequence else "structure"
            raise FormatError(self.source, self.number, f"expected a sequence and its structure, found no {missing}")
        if len(self.sequence) != len(self.structure):
            raise FormatError(
                self.source, self.number,
                f"a sequence of {len(self.sequence)} bases with a structure of {len(self.structure)} positions",
            )  # fmt: skip
        try:
            partners(self.structure, "structure")
        except ValueError as error:
            raise FormatError(self.source, self.number, str(error)) from None
        name, description = split_title(self.title) if self.title else ("", "")
        self.records.append(FoldedSequence(name, self.sequence, self.structure, description))
        self.title, self.sequence, self.structure, self.number = "", "", "", 0


def read_dot_bracket(source: Source) -> list[FoldedSequence]:
    r"""Read sequences with their structures from a dot-bracket file (``.dbn``, output of RNAfold).

    Lines that begin with ``#`` are comments, and an energy after a structure is left out. Sequences and structures may
    continue on further lines. A sequence with several structures (output of RNAsubopt) has a record for each of them;
    lines about the ensemble (output of RNAfold -p, with energies in ``[]`` or ``{}``) are skipped.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    list of FoldedSequence
        The records. Brackets are balanced; they may cross.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "hairpin.dbn"
    ...     _ = path.write_text(">hairpin\nGAAAC\n(...) (-0.30)\n")
    ...     mm.formats.read_dot_bracket(path)
    [FoldedSequence(name='hairpin', sequence='GAAAC', structure='(...)', description='')]
    """
    reader, number = _Reader(source), 0
    for number, line in numbered_lines(source):
        if line.startswith(">"):
            reader.title_line(number, line)
        elif not line.startswith("#"):
            reader.body_line(number, line)
    reader.finish(number)
    if not reader.records:
        raise FormatError(source, None, "no structures: expected sequences with dot-bracket lines, found none")
    return reader.records


def write_dot_bracket(target: Source, records: Iterable[tuple[str, ...]]) -> None:
    """Write sequences with their structures to a dot-bracket file.

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
    ...     path = pathlib.Path(folder) / "hairpin.dbn"
    ...     mm.formats.write_dot_bracket(path, [("hairpin", "GAC", "(.)")])
    ...     print(path.read_text(), end="")
    >hairpin
    GAC
    (.)
    """
    with write_text(target) as file:
        file.writelines(record_text(FoldedSequence(*record)) for record in records)


def record_text(record: FoldedSequence) -> str:
    """Return the lines of a record, as `write_dot_bracket` writes them."""
    title = f"{record.name} {record.description}".strip()
    lines = [f">{title}"] if title else []
    return "".join(f"{line}\n" for line in [*lines, record.sequence, record.structure])
