"""Sums of exponentials without overflow, and random numbers, as functions that compiled recursions inline.

Random numbers follow from a seed for each example (splitmix64), so samples depend neither on batches nor on threads.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit

#: Increment of the state of splitmix64 (Steele et al. 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
#: 2⁻⁵³, the distance of two random numbers.
_UNIT = 1.0 / 9007199254740992.0


@inlined
def log_add(a, b):
    """Return log(eᵃ + eᵇ); −∞ is the logarithm of 0."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@inlined
def uniform(state):
    """Return the next random number in [0, 1); `state` is an array of one uint64."""
    state[0] = state[0] + GOLDEN
    z = state[0]
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    z = z ^ (z >> _S31)
    return float(z >> _S11) * _UNIT


@jit
def draw(weights, number, share):
    """Return one of the first indices drawn in proportion to exp(weights), given a random share in [0, 1).

    −1 if all weights are −∞. The weights are overwritten.
    """
    high, total, last = -np.inf, 0.0, -1
    for t in range(number):
        high = max(high, weights[t])
    if high == -np.inf:
        return last
    for t in range(number):
        weights[t] = np.exp(weights[t] - high)
        total += weights[t]
    left = share * total
    for t in range(number):
        if weights[t] > 0.0:
            last = t
            left -= weights[t]
            if left < 0.0:
                break
    return last
