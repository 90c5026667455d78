"""Objects of Biopython (extra ``bio``): substitution matrices, alignments, aligners."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.extras import missing_package
from maxmargin._base.types import FloatArray
from maxmargin.features.biology.aligned import GAP


def biopython(need: str) -> Any:
    """Return the module Bio.Align; the error message of a missing one names the extra."""
    try:
        import Bio.Align
        import Bio.Align.substitution_matrices
    except ImportError:
        raise missing_package(f"{need} needs", "biopython", "bio") from None
    return Bio.Align


def named_matrix(matrix: Any) -> Any:
    """Return a substitution matrix of Biopython, by its name or as it is."""
    if not isinstance(matrix, str):
        if getattr(matrix, "alphabet", None) is None or np.ndim(matrix) != 2:
            raise ValueError(
                f"expected the name of a substitution matrix or an Array of Biopython, found {matrix!r:.60}"
            )
        return matrix
    matrices = biopython(f"the substitution matrix {matrix}").substitution_matrices
    if matrix not in matrices.load():
        raise ValueError(f"unknown substitution matrix {matrix!r}; Biopython has {', '.join(matrices.load())}")
    return matrices.load(matrix)


def matrix_values(matrix: Any, letters: str) -> FloatArray:
    """Return the scores of all pairs of letters, and 0 for an unknown letter, which comes last."""
    array, values = named_matrix(matrix), np.zeros((len(letters) + 1, len(letters) + 1))
    position = {letter: k for k, letter in enumerate(array.alphabet)}
    missing = [letter for letter in letters.upper() if letter not in position]
    if missing:
        raise ValueError(f"the substitution matrix has no letter {missing[0]!r} of the alphabet {letters!r}")
    at = [position[letter] for letter in letters.upper()]
    values[:-1, :-1] = np.asarray(array, float)[np.ix_(at, at)]
    return values


def matrix_of_weights(weights: FloatArray, letters: str) -> Any:
    """Return weights of pairs of letters as a substitution matrix of Biopython."""
    module = biopython("a substitution matrix")
    array = module.substitution_matrices.Array(letters, dims=2)
    array[:, :] = weights[: len(letters), : len(letters)]
    return array


def alignment_of_strings(first: str, second: str, local: bool) -> Any:
    """Return an Alignment of Biopython; of a local alignment the part from the first to the last match."""
    module = biopython("an Alignment")
    sequences = [row.replace(GAP, "") for row in (first, second)]
    start, stop = 0, len(first)
    if local:
        matches = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != GAP != b]
        start, stop = (matches[0], matches[-1] + 1) if matches else (0, 0)
    points = [[start - row[:start].count(GAP) for row in (first, second)]]
    kinds = [(a != GAP, b != GAP) for a, b in zip(first[start:stop], second[start:stop], strict=True)]
    for k, kind in enumerate(kinds):
        if k == 0 or kind != kinds[k - 1]:
            points.append(list(points[-1]))
        points[-1] = [at + step for at, step in zip(points[-1], kind, strict=True)]
    return module.Alignment(sequences, np.array(points, int).T)
