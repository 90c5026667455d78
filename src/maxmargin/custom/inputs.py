"""Inputs of a user-defined structure, whose argmaxes an engine asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import Answers
from maxmargin.core.structure import plain_output
from maxmargin.custom.any_values import own_copy
from maxmargin.custom.arguments import raised_by
from maxmargin.custom.examples import CustomExamples


class OwnInputs:
    """Inputs without true outputs, for predictions.

    Parameters
    ----------
    structure : Structure
        The user-defined structure.
    X : sequence
        Inputs.
    n_examples : int
        Number of inputs.
    """

    smallest_chunk: int | None = CustomExamples.smallest_chunk
    fault: tuple[int, str] | None = None
    engine: Any = None

    def __init__(self, structure: Any, X: Any, n_examples: int) -> None:
        self.structure, self.X, self.n_examples = structure, X, n_examples
        self.code_offsets = np.zeros(n_examples + 1, np.int64)

    def begin(self, ids: IntArray) -> None:
        """Nothing is kept between batches."""

    def noted(self, ids: IntArray) -> Any:
        """Return None: nothing but answers is kept."""

    def note(self, ids: IntArray, noted: Any) -> None:
        """Take over nothing."""

    def empty_answers(self) -> Answers:
        """Return answers with space for all inputs."""
        return Answers.empty(self.n_examples, 0, self.n_examples)

    def decode(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Write the output of best score of each input."""
        for i in ids.tolist():
            try:
                returned = self.structure.argmax(w, self.X[i])
            except Exception as error:
                raise raised_by("argmax", error, i) from error
            # At once: the next call may overwrite the same object.
            answers.outputs[i] = own_copy(plain_output(returned))
