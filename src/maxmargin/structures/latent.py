"""What structures with latent variables share: an output is (y, h), and only y of the truth is known (paper 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.planes import Answers
from maxmargin.structures.base import Compiled


class LatentCompiled(Compiled):
    """A compiled structure whose examples offer `complete`."""

    def complete(self, w: FloatArray, x: Any, y: Any) -> Any:
        """The output (y, h*) of best score among those that agree with y: h* = argmax_h w·Ψ(x, y, h)."""
        examples = self.encode([x], [y])
        answers = Answers.empty(1, int(examples.code_offsets[-1]))
        examples.complete(np.asarray(w, float), np.zeros(1, np.int64), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)
