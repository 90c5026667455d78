"""Yeast replication origins for motif finding (Yu and Joachims 2009, section 5.1), from public annotation."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.types import IntArray
from maxmargin.datasets.real import data_folder


class ConsensusSite(NamedTuple):
    """An annotated ARS consensus sequence: ``sequence[start:stop]`` on the strand ``"+"`` or ``"-"``."""

    start: int
    stop: int
    strand: str


@dataclass(frozen=True)
class YeastARS:
    """Sequences that start replication, and as many of the same lengths that are presumed not to.

    Attributes
    ----------
    names : names of the sequences.
    sequences : strings of A, C, G and T, forward strand; the motif may be on either strand.
    labels : +1 for annotated origins, −1 for windows of intergenic regions (not tested).
    folds : 0 to 9, stratified by label.
    consensus : the annotated consensus sites of each sequence: one or more for about half of the positives.
    putative, telomeric : which origins are described as putative, and which are at telomeres, where sequences repeat.
    background : intergenic sequences away from origins. The negatives are windows of some of them: leave those out
        if a classifier is trained on the background and tested on negatives (`background_without`).
    """

    names: list[str]
    sequences: list[str]
    labels: IntArray
    folds: IntArray
    consensus: list[list[ConsensusSite]]
    putative: NDArray[np.bool_]
    telomeric: NDArray[np.bool_]
    background: list[str]

    def background_without(self, sequences: Sequence[str]) -> list[str]:
        """Return the background without the sequences that contain one of these."""
        return [x for x in self.background if not any(part in x for part in sequences)]


def load_yeast_ars() -> YeastARS:
    """Return origins of S. cerevisiae (SGD), length-matched negatives, and the intergenic background."""
    folder = data_folder("motif_yeast_ars")
    rows = _rows(folder / "ars.tsv.gz")
    return YeastARS(
        names=[row["name"] for row in rows],
        sequences=[row["sequence"] for row in rows],
        labels=np.array([int(row["label"]) for row in rows]),
        folds=np.array([int(row["fold"]) for row in rows]),
        consensus=[_sites(row["acs_1based"]) for row in rows],
        putative=np.array([row["confidence"] == "putative" for row in rows]),
        telomeric=np.array([row["telomeric"] == "1" for row in rows]),
        background=[row["sequence"] for row in _rows(folder / "intergenic_background.tsv.gz")],
    )


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the lines of a tab-separated file as dicts by the names in its first line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names, *lines = (line.rstrip("\n").split("\t") for line in file)
    names[0] = names[0].removeprefix("#")
    return [dict(zip(names, line, strict=True)) for line in lines]


def _sites(text: str) -> list[ConsensusSite]:
    """Return the sites in ``from-to:strand,...``, counted from 1, both ends included; ``-`` for none."""
    sites = []
    for part in [] if text == "-" else text.split(","):
        span, _, strand = part.partition(":")
        start, _, stop = span.partition("-")
        sites.append(ConsensusSite(int(start) - 1, int(stop), strand))
    return sites
