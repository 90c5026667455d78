"""Inputs of aligners: pairs and alignments, or FASTA files of them."""

from __future__ import annotations

import os
from typing import Any

from maxmargin._base.errors import Place
from maxmargin._base.input import indexable
from maxmargin.features.biology.aligned import aligned_pair, check_spelling, placed_region
from maxmargin.features.biology.annotated import read_pair
from maxmargin.formats.fasta import read_aligned_fasta, read_fasta_pairs


def pairs_of(X: Any) -> Any:
    """Return pairs of sequences, which a FASTA file contains, or as they are."""
    return read_fasta_pairs(X) if isinstance(X, str | os.PathLike) else indexable(X, "X")


def aligned_examples(X: Any, Y: Any) -> tuple[Any, Any]:
    """Return pairs and alignments, which an aligned FASTA file contains, or as they are."""
    if isinstance(X, str | os.PathLike):
        if Y is not None:
            raise ValueError("X is a FASTA file, which contains the alignments: expected no Y")
        return read_aligned_fasta(X)
    return indexable(X, "X"), Y


def spelt_alignments(X: Any, Y: Any, mode: str) -> list[tuple[str, str]]:
    """Return true alignments as strings that spell the whole sequences; raise an error if they do not."""
    spelt = []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        first, second = read_pair(x, Place("X", i))
        texts, rows = (first.text, second.text), aligned_pair(y, Place("Y", i))
        if mode == "local":
            rows = placed_region(*rows, texts, Place("Y", i))
        check_spelling(*rows, texts, Place("Y", i))
        spelt.append(rows)
    return spelt
