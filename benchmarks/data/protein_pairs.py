"""Pairs of proteins aligned by their structures, and synthetic homologues among decoys."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.datasets.real import data_folder

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


class ProteinPair(NamedTuple):
    """Two aligned proteins.

    Attributes
    ----------
    alignment : tuple of (str, str)
        The aligned strings.
    structures : tuple of (str, str) or None
        Secondary structure of each position, H, E or C; None if it is not known.
    split : str
        ``"train"``, ``"val"`` or ``"test"``; empty if there is no given split.
    classes : tuple of (str, str)
        Their classes in SCOP, such as ``"a.4.5.12"`` (class, fold, superfamily, family); empty if they are not known.
    """

    alignment: tuple[str, str]
    structures: tuple[str, str] | None
    split: str
    classes: tuple[str, str] = ("", "")

    @property
    def letters(self) -> tuple[str, str]:
        """The two sequences."""
        first, second = self.alignment
        return first.replace("-", ""), second.replace("-", "")

    @property
    def fold(self) -> str:
        """The SCOP fold of the first sequence."""
        return ".".join(self.classes[0].split(".")[:2])

    @property
    def of_one_fold(self) -> bool:
        """Whether both sequences have the same SCOP fold."""
        return self.classes[0].split(".")[:2] == self.classes[1].split(".")[:2]

    @property
    def records(self) -> Any:
        """The two sequences with their structures."""
        assert self.structures is not None
        pairs = zip(self.letters, self.structures, strict=True)
        return tuple({"sequence": text, "ss": kinds} for text, kinds in pairs)

    @property
    def identity(self) -> float:
        """Share of the matches with equal letters."""
        matches = [(a, b) for a, b in zip(*self.alignment, strict=True) if a != "-" != b]
        return float(np.mean([a == b for a, b in matches])) if matches else 0.0

    @property
    def longest(self) -> int:
        """Length of the longer sequence."""
        return max(map(len, self.letters))


def load_pairs(name: str) -> list[ProteinPair]:
    """Return the pairs of ``"protein_align_malidup"`` or ``"protein_align_scope_tmalign"``."""
    lines = gzip.decompress((data_folder(name) / "pairs.afa.gz").read_bytes()).decode().splitlines()
    found: dict[str, dict[str, str]] = {}
    for head, body in zip(lines[::2], lines[1::2], strict=True):
        pair, kind, *rest = head[1:].split("|")
        fields = found.setdefault(pair, {})
        fields[kind.split()[0]] = body
        if kind in ("A", "B"):
            fields[f"class {kind}"] = rest[1].split()[0]
        for word in " ".join(rest).split():
            if word.startswith("split="):
                fields["split"] = word.removeprefix("split=")
    pairs = []
    for fields in found.values():
        kinds = [fields.get(side, "").replace("-", "") for side in ("ssA", "ssB")]
        structures = (kinds[0], kinds[1]) if all(kinds) else None
        classes = (fields["class A"], fields["class B"])
        pairs.append(ProteinPair((fields["A"], fields["B"]), structures, fields.get("split", ""), classes))
    return pairs


def capped(pairs: Sequence[ProteinPair], most: int, rng: np.random.Generator) -> list[ProteinPair]:
    """Return pairs of one fold in random order, at most `most` of each."""
    seen: Counter[str] = Counter()
    found = []
    for i in rng.permutation(len(pairs)).tolist():
        if pairs[i].of_one_fold and seen[pairs[i].fold] < most:
            seen[pairs[i].fold] += 1
            found.append(pairs[i])
    return found


def groups_of_folds(pairs: Sequence[ProteinPair], n: int) -> dict[str, int]:
    """Return a group for each fold; groups have about the same number of pairs."""
    sizes, groups = [0] * n, dict[str, int]()
    for fold, count in Counter(pair.fold for pair in pairs).most_common():
        groups[fold] = int(np.argmin(sizes))
        sizes[groups[fold]] += count
    return groups


def make_families(n: int, rng: np.random.Generator, n_decoys: int = 10) -> tuple[list[Any], list[Any]]:
    """Return natives with a homologue and decoys, and the alignments of the homologues, as in Joachims (2003).

    Letter c = 1 … 20 has probability c/210 and all sequences have 50 letters. A homologue is a random part of its
    native changed by 30 operations, match (0.2), substitution c → (c mod 20) + 1 (0.4), insertion (0.2) and deletion
    (0.2), with random letters added up to 50.
    """
    chances = np.arange(1, 21) / 210.0

    def draw(size: int) -> list[int]:
        return rng.choice(20, size, p=chances).tolist()

    X, Y = [], []
    for _ in range(n):
        native = draw(50)
        kinds = rng.choice(4, 30, p=[0.2, 0.4, 0.2, 0.2])
        used = int((kinds != 2).sum())
        start = int(rng.integers(0, 50 - used + 1))
        at, above, below = start, [], []
        for kind in kinds.tolist():
            letter = None if kind == 2 else native[at]
            above.append(letter)
            below.append({0: letter, 1: None if letter is None else (letter + 1) % 20, 3: None}.get(kind))
            if kind == 2:
                below[-1] = draw(1)[0]
            else:
                at += 1
        core = [letter for letter in below if letter is not None]
        before = int(rng.integers(0, 50 - len(core) + 1))
        left, right = draw(before), draw(50 - len(core) - before)
        first = [*native[:start], *[None] * len(left), *above, *native[at:], *[None] * len(right)]
        second = [*[None] * start, *left, *below, *[None] * (50 - at), *right]
        decoys = [_text(draw(50)) for _ in range(n_decoys)]
        X.append((_text(native), _text([*left, *core, *right]), decoys))
        Y.append((_text(first), _text(second)))
    return X, Y


def _text(letters: Sequence[int | None]) -> str:
    return "".join("-" if letter is None else LETTERS[letter] for letter in letters)
