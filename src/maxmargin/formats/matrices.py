"""Substitution matrices in the format of NCBI, and motifs in those of MEME and JASPAR, for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.formats.streams import Source, write_text

#: Alphabets of JASPAR, and those that MEME knows by their letters.
_NUCLEOTIDES = ("ACGT", "ACGU")
_KNOWN = (*_NUCLEOTIDES, "ACDEFGHIKLMNPQRSTVWY")


def write_substitution_matrix(target: Source, scores: Any, letters: str, *, comments: Iterable[str] = ()) -> None:
    """Write scores of pairs of letters as BLAST, EMBOSS, Biopython and others read them (the format of BLOSUM62).

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    scores : array-like of shape (A, A)
        Score of each pair of letters; most programs read integers only.
    letters : str
        The A letters.
    comments : iterable of str, default=()
        Lines at the beginning, which are written after a ``#``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scores.txt"
    ...     mm.formats.write_substitution_matrix(path, [[5, -4], [-4, 5]], "AC", comments=["learnt"])
    ...     print(path.read_text().rstrip())
    # learnt
       A  C
    A  5 -4
    C -4  5
    """
    table = np.asarray(scores, float)
    if table.shape != (len(letters),) * 2 or not np.isfinite(table).all():
        raise ValueError(f"scores: expected {len(letters)} × {len(letters)} finite numbers, found shape {table.shape}")
    whole = bool((table == np.rint(table)).all())
    cells = [[f"{value:.0f}" if whole else f"{value:.6g}" for value in row] for row in table.tolist()]
    width = 1 + max(len(cell) for row in cells for cell in row)
    with write_text(target) as file:
        for comment in comments:
            file.write(f"# {comment}\n")
        file.write(" " + "".join(letter.rjust(width) for letter in letters) + "\n")
        for letter, row in zip(letters, cells, strict=True):
            file.write(letter + "".join(cell.rjust(width) for cell in row) + "\n")


def write_meme(
    target: Source,
    motifs: Mapping[str, Any],
    *,
    alphabet: str = "ACGT",
    background: Any = None,
    both_strands: bool = False,
    pseudocount: float = 1.0,
) -> None:
    """Write motifs in MEME's minimal format, which the programs of the MEME suite read.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    motifs : dict
        Names and tables: the count of each letter at each position of a motif, of shape (l, A), as
        `MotifFinder.site_counts` returns it.
    alphabet : str, default="ACGT"
        The letters: DNA, RNA or amino acids.
    background : array-like of shape (A,), default=None
        Frequencies of the letters; equal by default.
    both_strands : bool, default=False
        Whether motifs may be on both strands.
    pseudocount : float, default=1.0
        Number of sites with the frequencies of the background that is added to the counts.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "motifs.meme"
    ...     mm.formats.write_meme(path, {"two": [[8, 0, 1, 1], [0, 9, 1, 0]]}, pseudocount=0.0)
    ...     print(path.read_text().split("MOTIF ")[1].rstrip())
    two
    letter-probability matrix: alength= 4 w= 2 nsites= 10 E= 0
    0.800000 0.000000 0.100000 0.100000
    0.000000 0.900000 0.100000 0.000000
    """
    _check_alphabet(alphabet, _KNOWN, "MEME")
    shares = np.full(len(alphabet), 1.0 / len(alphabet)) if background is None else np.asarray(background, float)
    if shares.shape != (len(alphabet),) or not (shares >= 0).all() or not np.isclose(shares.sum(), 1.0):
        raise ValueError(f"background: expected {len(alphabet)} frequencies with sum 1, found {background!r:.60}")
    with write_text(target) as file:
        strands = "" if alphabet not in _NUCLEOTIDES else f"strands: {'+ -' if both_strands else '+'}\n\n"
        listed = " ".join(f"{letter} {share:.6f}" for letter, share in zip(alphabet, shares.tolist(), strict=True))
        file.write(f"MEME version 4\n\nALPHABET= {alphabet}\n\n{strands}Background letter frequencies\n{listed}\n")
        for name, counts in _tables(motifs, alphabet):
            added = counts + pseudocount * shares
            sites, rows = counts.sum(axis=1).max(), added / added.sum(axis=1, keepdims=True)
            file.write(f"\nMOTIF {name}\n")
            file.write(f"letter-probability matrix: alength= {len(alphabet)} w= {len(rows)} nsites= {sites:.0f} E= 0\n")
            file.writelines(" ".join(f"{value:.6f}" for value in row) + "\n" for row in rows.tolist())


def write_jaspar(target: Source, motifs: Mapping[str, Any], *, alphabet: str = "ACGT") -> None:
    """Write motifs of DNA in the format of JASPAR: a line of counts for each letter.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    motifs : dict
        Names and tables: the count of each letter at each position of a motif, of shape (l, 4), as
        `MotifFinder.site_counts` returns it.
    alphabet : str, default="ACGT"
        The letters in the order of the columns; U is written as T.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "motifs.jaspar"
    ...     mm.formats.write_jaspar(path, {"two": [[8, 0, 1, 1], [0, 9, 1, 0]]})
    ...     print(path.read_text().rstrip())
    >two
    A [ 8 0 ]
    C [ 0 9 ]
    G [ 1 1 ]
    T [ 1 0 ]
    """
    _check_alphabet(alphabet, _NUCLEOTIDES, "JASPAR")
    with write_text(target) as file:
        for name, counts in _tables(motifs, alphabet):
            cells = [[f"{value:.6g}" for value in column] for column in counts.T.tolist()]
            width = max((len(cell) for column in cells for cell in column), default=0)
            file.write(f">{name}\n")
            for letter, column in zip("ACGT", cells, strict=True):
                file.write(f"{letter} [ {' '.join(cell.rjust(width) for cell in column)} ]\n")


def _check_alphabet(alphabet: str, known: tuple[str, ...], name: str) -> None:
    if alphabet not in known:
        raise ValueError(f"alphabet: {name} has the alphabets {', '.join(known)}, found {alphabet!r:.60}")


def _tables(motifs: Mapping[str, Any], alphabet: str) -> Iterable[tuple[str, FloatArray]]:
    """Return names and counts; raise ValueError for the first motif that is not a table of counts."""
    if not isinstance(motifs, Mapping):
        raise ValueError(f"motifs: expected a dict of names and counts, found {type(motifs).__name__}")
    for name, counts in motifs.items():
        table = np.asarray(counts, float)
        fine = table.ndim == 2 and table.shape[1] == len(alphabet) and len(table) and np.isfinite(table).all()
        if not fine or (table < 0).any() or not (table.sum(axis=1) > 0).all():
            raise ValueError(
                f"motifs[{name!r}]: expected counts of {len(alphabet)} letters, at least one at each position, found "
                f"an array of shape {table.shape}"
            )
        yield str(name), table
