"""RNA sequences with known secondary structures: S-151Rfam and seed alignments of Rfam."""

from __future__ import annotations

from typing import NamedTuple

import maxmargin as mm
from maxmargin.datasets.real import data_folder


class Molecule(NamedTuple):
    """A sequence with its structure, and the words NAME=VALUE of its title."""

    sequence: str
    structure: str
    about: dict[str, str]


def molecules(folder: str, file: str) -> list[Molecule]:
    """Return the records of a dot-bracket file."""
    records = mm.formats.read_dot_bracket(data_folder(folder) / file)
    return [Molecule(r.sequence, r.structure, _about(r.description)) for r in records]


def _about(description: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in description.split() if "=" in word)


def s151() -> list[Molecule]:
    """Return S-151Rfam, one RNA of each of 151 families (Do et al. 2006); ``about["split"]`` is A or B."""
    return molecules("rna_s151rfam", "s151rfam.dbn.gz")


def rfam() -> list[Molecule]:
    """Return 1,250 RNAs of 174 families of an early Rfam; ``about["fold"]`` is 0 to 4, by family."""
    return molecules("rna_rfam5seed", "rfam5seed_nr80.dbn.gz")
