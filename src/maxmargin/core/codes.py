"""Codes of outputs: rows of int32, their keys, and the answers of a decode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._compile import inlined
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray

#: FNV-1a over the labels of a code, in 64 bits.
HASH_START = np.int64(1469598103934665603)
HASH_PRIME = np.int64(1099511628211)

#: The key of the true output.
TRUTH = 0
#: First symbol of a code where forbidden parts leave no output.
NO_OUTPUT = -(2**31)


@inlined
def hash_step(key, symbol):
    """Mix one more int of a code into its key."""
    return (key ^ np.int64(symbol + 1)) * HASH_PRIME


_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix_step(key, word):
    """Mix 64 bits of any kind into a key (the finaliser of splitmix64): bits of floats are all at the upper end, where
    multiplying alone would lose them."""
    z = np.uint64(key) ^ np.uint64(word)
    z = (z ^ (z >> _SHIFT_30)) * _MIX_1
    z = (z ^ (z >> _SHIFT_27)) * _MIX_2
    return np.int64(z ^ (z >> _SHIFT_31))


@dataclass
class Answers:
    """What decoding gives, in arrays over all examples; a call overwrites the entries of its batch.

    Attributes
    ----------
    codes : the codes of all examples, concatenated.
    losses : Δ(y_i, ŷ_i).
    rises : w·Ψ(x_i, ŷ_i) − w·Ψ(x_i, y_i).
    keys : hash of the code; 0 where ŷ_i is the truth.
    upper : proven upper bounds of max_ŷ rise + scale · loss, written where `Examples.bounded`; elsewhere what a decode
        found is the maximum (`Examples.exact`), or nothing is proven.
    outputs : the outputs themselves where they have no code (user-defined structures), else of length 0.
    """

    codes: CodeArray
    losses: FloatArray
    rises: FloatArray
    keys: IntArray
    upper: FloatArray
    outputs: AnyArray

    @classmethod
    def empty(cls, n_examples: int, code_size: int, n_outputs: int = 0) -> Answers:
        """Return answers with room for that many examples, symbols of codes and outputs."""
        n = n_examples
        return cls(
            np.zeros(code_size, np.int32), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.full(n, np.inf),
            np.empty(n_outputs, object),
        )  # fmt: skip


def spans(rows: IntArray, offsets: IntArray) -> IntArray:
    """Positions offsets[r] … offsets[r + 1] of each of these rows, one behind the other."""
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[rows] - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
