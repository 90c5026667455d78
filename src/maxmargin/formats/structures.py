"""Files of RNA structures of any format, which the suffix of the name determines."""

from __future__ import annotations

import os
from collections.abc import Callable

from maxmargin.formats.bpseq import read_bpseq
from maxmargin.formats.ct import read_ct
from maxmargin.formats.dot_bracket import FoldedSequence, read_dot_bracket
from maxmargin.formats.fasta import read_fasta
from maxmargin.formats.stockholm import read_stockholm
from maxmargin.formats.streams import Source

STOCKHOLM = (".sto", ".stk", ".stockholm", ".seed")
_READERS: dict[str, Callable[[Source], list[FoldedSequence]]] = {
    ".ct": read_ct,
    ".bpseq": read_bpseq,
    **dict.fromkeys(STOCKHOLM, read_stockholm),
}
FASTA = (".fa", ".fas", ".fasta", ".fna", ".ffn", ".frn")


def suffix_of(source: Source) -> str:
    """Return the suffix of a file name in lower case, without that of gzip."""
    return os.path.splitext(os.fspath(source).lower().removesuffix(".gz"))[1]


def read_structures(source: Source) -> list[FoldedSequence]:
    """Read sequences with their structures from a file whose suffix names its format.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not: ``.ct``, ``.bpseq``, Stockholm (``.sto``, ``.stk``, ``.stockholm``, ``.seed``); any other
        suffix is that of a dot-bracket file.

    Returns
    -------
    list of FoldedSequence
        The records.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "hairpin.bpseq"  # the suffix names the format
    ...     mm.formats.write_bpseq(path, [("hairpin", "GAAAC", "(...)")])
    ...     mm.formats.read_structures(path)[0].structure
    '(...)'
    """
    return _READERS.get(suffix_of(source), read_dot_bracket)(source)


def read_rna(source: Source) -> list[str]:
    """Return the sequences of a file: FASTA (``.fa``, ``.fasta``, …), or one with structures."""
    if suffix_of(source) in FASTA:
        return [record.sequence for record in read_fasta(source)]
    return [record.sequence for record in read_structures(source)]
