"""Strings over an alphabet as flat arrays of symbols, and their words of k symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, IntArray

_UNKNOWN = 255
_PAIRS = {"A": "T", "C": "G", "G": "C", "T": "A"}
_AMINO_ACIDS = frozenset("ACDEFGHIKLMNPQRSTVWY")
#: Letters of IUPAC that stand for one of several others or for rare amino acids, by the wildcard.
_AMBIGUOUS = {"N": "RYSWKMBDHV", "X": "BJOUZ"}


class Alphabet:
    """Characters in order; the symbol of a character is its position.

    Lower-case letters are read as upper-case letters unless the alphabet contains them. The symbol after the last one
    is a wildcard, an unknown character: N in DNA and RNA, X in proteins, unless the alphabet contains it.

    Parameters
    ----------
    characters : str
        2 to 254 distinct characters.
    ambiguous : bool, default=False
        Whether letters of IUPAC that stand for one of several others (R, Y, …; in proteins B, J and Z, and the rare
        amino acids O and U) are read as the wildcard.

    Attributes
    ----------
    wildcard : str or None
        The character of the wildcard; None if the alphabet is neither of nucleotides nor of amino acids.
    """

    def __init__(self, characters: Any, ambiguous: bool = False) -> None:
        if not isinstance(characters, str) or not 2 <= len(set(characters)) == len(characters) < _UNKNOWN:
            raise ValueError(f"alphabet must be a string of 2 to 254 different characters, found {characters!r}")
        self.characters = characters
        self.wildcard = _wildcard(characters)
        unknown = "" if self.wildcard is None else self.wildcard + (_AMBIGUOUS[self.wildcard] if ambiguous else "")
        symbol_of = dict.fromkeys(unknown + unknown.lower(), len(self))
        symbol_of |= {c.lower(): s for s, c in enumerate(characters) if len(c.lower()) == 1}
        symbol_of.update((c, s) for s, c in enumerate(characters))
        self._symbols = np.full(max(map(ord, symbol_of)) + 2, _UNKNOWN, np.uint8)
        self._symbols[[ord(c) for c in symbol_of]] = list(symbol_of.values())

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, X: Any) -> tuple[AnyArray, IntArray]:
        """Return the concatenated symbols (uint8) of all strings, and the offset of each string."""
        X = plain_texts(X)
        check_strings(X)
        points = np.frombuffer("".join(X).encode("utf-32-le", "surrogatepass"), np.uint32)
        symbols = self._symbols[np.minimum(points, len(self._symbols) - 1)]
        offsets = offsets_of([len(x) for x in X])
        if (symbols == _UNKNOWN).any():
            at = int(np.flatnonzero(symbols == _UNKNOWN)[0])
            i = int(np.searchsorted(offsets, at, "right")) - 1
            raise ExampleError.at(
                Place("X", i, f", position {at - offsets[i]}"),
                f"character {chr(points[at])!r} is not in the alphabet {self.characters!r}{self._or_wildcard()}; "
                f"leave such strings out, split them there, or name all characters with alphabet=",
            )
        return symbols, offsets

    def _or_wildcard(self) -> str:
        return "" if self.wildcard is None else f" (or {self.wildcard}, for any of them)"

    def complements(self) -> AnyArray:
        """Return the complementary symbol of each symbol, and of the wildcard, on the other strand of DNA or RNA."""
        letters = self.characters.upper().replace("U", "T")
        if sorted(letters) != sorted(_PAIRS):
            raise ValueError(f"both_strands needs an alphabet of A, C, G and T or U, found {self.characters!r}")
        return np.array([*(letters.index(_PAIRS[c]) for c in letters), len(letters)], np.uint8)

    def words(self, length: int) -> list[str]:
        """Return all words of this number of characters, in the order of `word_indices`."""
        words = [""]
        for _ in range(length):
            words = [word + c for word in words for c in self.characters]
        return words


def _wildcard(characters: str) -> str | None:
    """Return the character that stands for any other, by the conventions of sequence files."""
    letters = set(characters.upper())
    if len(letters) < len(characters):  # lower case has a meaning of its own
        return None
    if sorted(letters) in (["A", "C", "G", "T"], ["A", "C", "G", "U"]):
        return "N"
    return "X" if letters >= _AMINO_ACIDS and "X" not in letters else None


def plain_texts(X: Any) -> Any:
    """Return X with the letters of sequences and records of Biopython; anything else unchanged."""
    if isinstance(X, str | bytes) or not isinstance(X, Sequence | np.ndarray):
        return X
    return [letters_of(x) for x in X]


def letters_of(x: Any) -> Any:
    """Return the letters of a sequence or a record of Biopython; anything else unchanged."""
    letters = getattr(x, "seq", x)
    return str(letters) if type(letters).__module__.startswith("Bio.") else letters


def check_strings(X: Any) -> None:
    """Raise ValueError if X is not a sequence of strings."""
    if isinstance(X, str | bytes) or not isinstance(X, Sequence | np.ndarray):
        raise ValueError(f"X must be a sequence of strings, found {type(X).__name__}")
    for i, x in enumerate(X):
        if not isinstance(x, str):
            raise ExampleError.at(Place("X", i), f"expected a string, found {type(x).__name__}")


def word_indices(symbols: AnyArray, n_symbols: int, length: int) -> AnyArray:
    """Return the word of `length` symbols that begins at each position, as a number in base n_symbols.

    Symbols past the end of the string count as 0.
    """
    padded = np.concatenate([symbols, np.zeros(length, np.uint8)])
    kind: Any = np.uint16 if n_symbols**length <= 2**16 else np.int32
    indices: AnyArray = np.zeros(len(symbols), kind)
    for j in range(length):
        indices *= kind(n_symbols)
        indices += padded[j : j + len(symbols)]
    return indices


def holds_wildcard(symbols: AnyArray, n_symbols: int, length: int) -> AnyArray:
    """Return whether a wildcard is among the `length` symbols that begin at each position."""
    ahead = offsets_of(symbols == n_symbols)
    ends = np.minimum(np.arange(len(symbols)) + length, len(symbols))
    return np.asarray(ahead[ends] > ahead[:-1])


def context_indices(symbols: AnyArray, offsets: IntArray, n_symbols: int, order: int) -> AnyArray:
    """Return the word of order + 1 symbols that ends at each position, as a number in base n_symbols.

    Positions with fewer than `order` symbols before them, and words with a wildcard, have the number
    n_symbols^(order + 1).
    """
    indices = np.full(len(symbols), n_symbols ** (order + 1), np.int32)
    if len(symbols) > order:
        words = word_indices(symbols, n_symbols, order + 1)[: len(symbols) - order]
        unknown = holds_wildcard(symbols, n_symbols, order + 1)[: len(words)]
        indices[order:] = np.where(unknown, indices[order:], words)
    for j in range(order):
        early = offsets[:-1] + j
        indices[early[early < offsets[1:]]] = n_symbols ** (order + 1)
    return indices
