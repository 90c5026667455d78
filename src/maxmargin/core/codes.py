"""Codes of outputs, their keys, and the answers of a decode.

A **code** is a row of int32: the label of a row, the labels of a sequence, the heads of a tree. The codes of all
examples are concatenated in `Answers.codes`, that of example i at ``code_offsets[i]:code_offsets[i + 1]``. The **key**
is a 64-bit hash of the code, 0 for the truth. Solvers compare keys only: a plane whose key is already in the working
set is not stored twice.

Outputs of user-defined structures are any Python objects and have no code; `Answers.outputs` holds them. Their key is a
hash of the plane (its entries and its loss), because two outputs with the same plane are the same to a solver. The
objects behind the planes that a solver holds are kept by (example, key) until the plane is dropped (`Examples.forget`).
A resumed fit does not have them, and `support_` shows None for planes from before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray

#: FNV-1a over the labels of a code, in 64 bits.
HASH_START = np.int64(1469598103934665603)
HASH_PRIME = np.int64(1099511628211)

#: The key of the true output.
TRUTH = 0
#: First symbol of the code if forbidden parts leave no valid output.
NO_OUTPUT = -(2**31)


@inlined
def hash_step(key, symbol):
    """Return the key after mixing in one more symbol of a code."""
    return (key ^ np.int64(symbol + 1)) * HASH_PRIME


@jit
def key_of(code):
    """Return the key of a code that is not the true one."""
    key = HASH_START
    for symbol in code:
        key = hash_step(key, symbol)
    return key


_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix_step(key, word):
    """Return the key after mixing in 64 arbitrary bits (the finaliser of splitmix64).

    The significant bits of floats are the upper ones, which multiplication alone would lose.
    """
    z = np.uint64(key) ^ np.uint64(word)
    z = (z ^ (z >> _SHIFT_30)) * _MIX_1
    z = (z ^ (z >> _SHIFT_27)) * _MIX_2
    return np.int64(z ^ (z >> _SHIFT_31))


@dataclass
class Answers:
    """Results of decoding, in arrays over all examples.

    A decode overwrites the entries of its batch.

    Attributes
    ----------
    codes : ndarray of int32
        Codes of all examples, concatenated.
    losses : ndarray of shape (n_examples,)
        Δ(y_i, ŷ_i).
    rises : ndarray of shape (n_examples,)
        w·Ψ(x_i, ŷ_i) − w·Ψ(x_i, y_i).
    keys : ndarray of int64 of shape (n_examples,)
        Hash of the code; 0 if ŷ_i is the truth.
    upper : ndarray of shape (n_examples,)
        Proven upper bounds on max_ŷ rise + scale · loss, written if `Examples.bounded`. Otherwise the decode found the
        maximum (`Examples.exact`), or nothing is proven.
    outputs : ndarray of object
        The outputs themselves if they have no code (user-defined structures); otherwise of length 0.
    """

    codes: CodeArray
    losses: FloatArray
    rises: FloatArray
    keys: IntArray
    upper: FloatArray
    outputs: AnyArray

    @classmethod
    def empty(cls, n_examples: int, code_size: int, n_outputs: int = 0) -> Answers:
        """Return answers with space for this number of examples, code symbols and outputs."""
        n = n_examples
        return cls(
            np.zeros(code_size, np.int32), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.full(n, np.inf),
            np.empty(n_outputs, object),
        )  # fmt: skip
