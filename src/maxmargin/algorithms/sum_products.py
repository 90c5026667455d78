"""Sums of products, of numbers or of their logarithms, as functions that compiled recursions inline.

A recursion that is written with these functions runs with numbers, which is fast but may underflow, and with
logarithms, which takes several times as long. `logs` is one of `NUMBERS` and `LOGS`; they differ in type, so each
is compiled on its own. Rows are spans of flat arrays: `at` is where they begin.
Loops that are to be vectorised count places by unsigned numbers, as negative ones would count from the end.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined
from maxmargin.algorithms.log_sums import log_add

NUMBERS, LOGS = None, True
#: Logarithm of the least total of sums that are not in logarithms, if no sum of outputs exceeds 1: what underflows is
#: below 1e-300, and less than 1e-39 of such a total.
LEAST_LOG = -600.0


@inlined
def zero(logs):
    """Return 0."""
    return 0.0 if logs is None else -np.inf


@inlined
def one(logs):
    """Return 1."""
    return 1.0 if logs is None else 0.0


@inlined
def weight(score, logs):
    """Return exp(score)."""
    return np.exp(score) if logs is None else score


@inlined
def number(a, logs):
    """Return a as a number."""
    return a if logs is None else np.exp(a)


@inlined
def as_sum(a, logs):
    """Return what stands for the number a, the inverse of `number`."""
    return a if logs is None else np.log(a)


@inlined
def logarithm(a, logs):
    """Return log a."""
    return np.log(a) if logs is None else a


@inlined
def product(a, b, logs):
    """Return a · b."""
    return a * b if logs is None else a + b


@inlined
def sum_of(a, b, logs):
    """Return a + b."""
    return a + b if logs is None else log_add(a, b)


@inlined
def quotient(a, b, logs):
    """Return a / b for b > 0."""
    return a / b if logs is None else a - b


@inlined
def total(row, at, n, logs):
    """Return the sum of n numbers."""
    if logs is None:
        first, mass = np.uint64(at), 0.0
        for t in range(np.uint64(n)):
            mass += row[first + t]
        return mass
    top = -np.inf
    for t in range(n):
        top = max(top, row[at + t])
    if top == -np.inf:
        return top
    mass = 0.0
    for t in range(n):
        mass += np.exp(row[at + t] - top)
    return top + np.log(mass)


@inlined
def dot(row, at, other, at_other, n, logs):
    """Return the sum of the products of n numbers of two rows."""
    if logs is None:
        first, first_other, mass = np.uint64(at), np.uint64(at_other), 0.0
        for t in range(np.uint64(n)):
            mass += row[first + t] * other[first_other + t]
        return mass
    top = -np.inf
    for t in range(n):
        top = max(top, row[at + t] + other[at_other + t])
    if top == -np.inf:
        return top
    mass = 0.0
    for t in range(n):
        mass += np.exp(row[at + t] + other[at_other + t] - top)
    return top + np.log(mass)


@inlined
def add_multiple(out, at_out, factor, row, at, n, logs):
    """Add factor · row to n numbers of `out`."""
    if logs is None:
        first, to = np.uint64(at), np.uint64(at_out)
        for t in range(np.uint64(n)):
            out[to + t] += factor * row[first + t]
    elif factor > -np.inf:
        for t in range(n):
            out[at_out + t] = log_add(out[at_out + t], factor + row[at + t])


@inlined
def drawn(row, at, other, at_other, n, whole, u):
    """Return t with a probability in proportion to exp(row[at + t] + other[at_other + t]), for u from [0, 1).

    `whole` is the logarithm of the sum of these numbers.
    """
    left, chosen = u, 0
    for t in range(n):
        p = np.exp(row[at + t] + other[at_other + t] - whole)
        if p > 0.0:
            chosen = t
            left -= p
            if left < 0.0:
                break
    return chosen
