"""Perturb-and-MAP samples (Papandreou and Yuille 2011): argmaxes of scores with random noise.

They are not samples of p(ŷ) ∝ exp(score), which would need independent noise for every output. With noise for each part
they follow a distribution of their own. It is p if an output has one part (Gumbel 1954), or if parts are chosen
independently of one another; otherwise it differs from p. Rankings, which an argmax sorts, follow the model of Plackett
and Luce (Yellott 1977).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.ragged import offsets_among, spans
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.algorithms.log_sums import uniform
from maxmargin.core.examples import Examples
from maxmargin.core.scores import Scores

#: The least random number whose logarithm is taken.
_LEAST = 2.0**-54


def perturbed_samples(examples: Examples, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
    """Return the codes of n perturb-and-MAP samples of each example of ids, in the form of `Examples.samples`.

    Each is the argmax of the scores with noise: Gumbel variables, or the difference of two if parts are optional. They
    need nothing but an argmax, so they are available where exact samples are #P-hard.

    Parameters
    ----------
    examples : Examples
        Examples with scores of parts.
    scores : list of Scores
        Scores of the parts of ids; at a temperature T, those divided by T.
    ids : ndarray of int
        The examples.
    n : int
        Number of samples of each example.
    seeds : ndarray of uint64
        ``seeds[r]`` determines all random numbers of ``ids[r]``, whatever else is in ids.
    """
    noisy = range(len(scores)) if examples.perturbable is None else examples.perturbable
    if not noisy:
        raise TypeError(
            f"{type(examples).__name__.removesuffix('Examples')} has no perturb-and-MAP samples: its argmax needs "
            f"costs of at least 0, which noise would make negative"
        )
    starts, states = offsets_among(ids, examples.code_offsets), np.array(seeds, np.uint64)
    codes, answers = np.empty((n, int(starts[-1])), np.int32), examples.empty_answers()
    where, zeros = spans(ids, examples.code_offsets), np.zeros(len(ids))
    shared = [len(block.values) > 0 and not block.starts.any() for block in scores]
    # A table that all examples share has noise of its own for each of them.
    groups = [slice(r, r + 1) for r in range(len(ids))] if any(shared[b] for b in noisy) else [slice(0, len(ids))]
    for m in range(n):
        for some in groups:
            changed = [_of(block, some, own) for block, own in zip(scores, shared, strict=True)]
            for b in noisy:
                values = np.empty_like(changed[b].values)
                ends = np.array([0, len(values)]) if shared[b] else changed[b].starts
                add_noise(states[some], ends, changed[b].values, examples.optional_parts, values)
                changed[b] = Scores(values, changed[b].starts)
            examples.decode_scores(changed, ids[some], zeros[some], answers)
        codes[m] = answers.codes[where]
    return codes


def _of(block: Scores, some: slice, shared: bool) -> Scores:
    """Return the scores of some examples of a batch."""
    starts = block.starts[some.start : some.stop + 1]
    return block if shared else Scores(block.values[starts[0] : starts[-1]], starts - starts[0])


@jit
def add_noise(states, starts, values, both, out):
    """Add Gumbel noise to values, or if `both` is True the difference of two Gumbel variables; states advance."""
    state = np.zeros(1, np.uint64)
    for r in range(len(starts) - 1):
        state[0] = states[r]
        for p in range(starts[r], starts[r + 1]):
            out[p] = values[p] - np.log(-np.log(max(uniform(state), _LEAST)))
            if both:
                out[p] += np.log(-np.log(max(uniform(state), _LEAST)))
        states[r] = state[0]
