"""Data with known matchings: disulfide bonds, word alignments, landmarks of images."""

from __future__ import annotations

import gzip
from typing import NamedTuple

import numpy as np

from maxmargin._base.types import IntArray
from maxmargin.datasets.real import data_folder


class Chain(NamedTuple):
    """A protein chain.

    Attributes
    ----------
    name, sequence : str
        Name and amino acids.
    cysteines : list of int
        Positions of all cysteines, from 0.
    bonds : list of (int, int)
        Bonds as pairs of indices of `cysteines`.
    fold : int
        Fold of cross-validation, 0 to 3.
    """

    name: str
    sequence: str
    cysteines: list[int]
    bonds: list[tuple[int, int]]
    fold: int


def load_disulfide() -> list[Chain]:
    """Return 425 chains with 2 to 5 disulfide bonds (not the data of Taskar et al. 2005, but of the same kind)."""
    text = gzip.decompress((data_folder("disulfide_top2018") / "disulfide_top2018.tsv.gz").read_bytes()).decode()
    names, *rows = (line.split("\t") for line in text.splitlines())
    names[0] = names[0].lstrip("#")
    chains = []
    for row in (dict(zip(names, row, strict=True)) for row in rows):
        cysteines = [p for p, residue in enumerate(row["sequence"]) if residue == "C"]
        number = {p: k for k, p in enumerate(cysteines)}
        ends = [tuple(int(p) - 1 for p in bond.split("-")) for bond in row["bonds_1based"].split(",")]
        bonds = [(number[a], number[b]) for a, b in ends]
        chains.append(Chain(row["id"], row["sequence"], cysteines, bonds, int(row["fold"])))
    return chains


class SentencePair(NamedTuple):
    """An English and a French sentence with their sure and possible links; the sure ones are possible too."""

    english: list[str]
    french: list[str]
    sure: set[tuple[int, int]]
    possible: set[tuple[int, int]]


def load_hansards(part: str) -> list[SentencePair]:
    """Return the annotated pairs of ``"test"`` (447) or ``"trial"`` (37)."""
    english, french = (_sentences(f"{part}.{side}") for side in "ef")
    pairs = [SentencePair(e, f, set(), set()) for e, f in zip(english, french, strict=True)]
    for line in _lines(f"{part}.wa.nonullalign"):
        number, e, f, kind = line.split()
        link = int(e) - 1, int(f) - 1
        pairs[int(number) - 1].possible.add(link)
        if kind == "S":
            pairs[int(number) - 1].sure.add(link)
    return pairs


def load_hansards_bitext() -> tuple[list[list[str]], list[list[str]]]:
    """Return 25,000 English sentences and their French translations."""
    return _sentences("bitext25k.e"), _sentences("bitext25k.f")


def _lines(name: str) -> list[str]:
    return gzip.decompress((data_folder("wordalign_hansards") / f"{name}.gz").read_bytes()).decode().splitlines()


def _sentences(name: str) -> list[list[str]]:
    return [line.split() for line in _lines(name)]


class House(NamedTuple):
    """Landmarks of the CMU house.

    Attributes
    ----------
    contexts : array of shape (111, 30, 60)
        Shape contexts of the landmarks of each frame, in the same order in all frames.
    pairs : dict
        (separation, "train" | "validate" | "test") → pairs of frames, (n, 2).
    """

    contexts: IntArray
    pairs: dict[tuple[int, str], IntArray]


def load_house() -> House:
    """Return the shape contexts and the lists of pairs of frames of Caetano et al. 2009."""
    folder = data_folder("matching_house")
    with np.load(folder / "house.npz") as arrays:
        contexts = arrays["shape_context"].astype(np.int64)
    found: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for line in gzip.decompress((folder / "house_pairs.tsv.gz").read_bytes()).decode().splitlines()[1:]:
        separation, split, a, b = line.split("\t")
        found.setdefault((int(separation), split), []).append((int(a), int(b)))
    return House(contexts, {key: np.array(pairs) for key, pairs in found.items()})
