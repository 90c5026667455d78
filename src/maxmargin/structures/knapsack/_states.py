"""Compiled function for knapsacks with any weights: a list of undominated states (Nemhauser and Ullmann 1969).

Items are added in the order of their value per weight. A state is the weight and value of a set of items; it is kept
only if no state has less weight and more value, and if the fractional knapsack of the items that follow (Dantzig 1957)
says that it may become the best.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import NO_OUTPUT

#: Sum of values, relative to all values, that counts as rounding error; states within it are not pruned.
_ROUNDING = 1e-12


@inlined
def split_item(room, first, total_weight):
    """Return the first of the items from `first` on that does not fit after all items between."""
    low, high = first, len(total_weight) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if total_weight[middle] - total_weight[first] <= room:
            low = middle
        else:
            high = middle - 1
    return low


@jit
def best_choice(scores, weights, capacity, most_states, code):
    """Write the items of greatest total score within the capacity; return whether `most_states` were enough.

    Items of score −∞ are forbidden, items of score +∞ required; if these do not fit, the first symbol is `NO_OUTPUT`.
    """
    room, n = capacity, 0
    items, density = np.empty(len(scores), np.int64), np.empty(len(scores))
    for j in range(len(scores)):
        code[j] = 0
        if scores[j] == np.inf:
            code[j] = 1
            room -= weights[j]
    if room < 0.0:
        code[0] = NO_OUTPUT
        return True
    for j in range(len(scores)):
        if 0.0 < scores[j] < np.inf and weights[j] <= room:
            if weights[j] == 0.0:
                code[j] = 1
            else:
                items[n], density[n] = j, -scores[j] / weights[j]
                n += 1
    order = items[:n][np.argsort(density[:n], kind="mergesort")]
    total_weight, total_value = np.zeros(n + 1), np.zeros(n + 1)
    for t in range(n):
        total_weight[t + 1] = total_weight[t] + weights[order[t]]
        total_value[t + 1] = total_value[t] + scores[order[t]]
    slack, lowest = _ROUNDING * total_value[n], 0.0
    weight, value = np.zeros(64), np.zeros(64)
    before, item = np.full(64, -1, np.int32), np.full(64, -1, np.int32)
    front, n_front, n_states = np.zeros(1, np.int64), 1, 1
    for t in range(n):
        own_weight, own_value = weights[order[t]], scores[order[t]]
        if n_states + n_front > len(weight):
            if n_states + n_front > most_states:
                return False
            size = 2 * (n_states + n_front)
            more_weight, more_value = np.empty(size), np.empty(size)
            more_before, more_item = np.empty(size, np.int32), np.empty(size, np.int32)
            for k in range(n_states):
                more_weight[k], more_value[k] = weight[k], value[k]
                more_before[k], more_item[k] = before[k], item[k]
            weight, value, before, item = more_weight, more_value, more_before, more_item
        merged, n_merged, kept_value = np.empty(2 * n_front, np.int64), 0, -1.0
        a, b = 0, 0  # the next state without and with the item
        while a < n_front or b < n_front:
            with_item = b < n_front and (
                a == n_front
                or weight[front[b]] + own_weight < weight[front[a]]
                or (weight[front[b]] + own_weight == weight[front[a]] and value[front[b]] + own_value > value[front[a]])
            )
            state = front[b] if with_item else front[a]
            new_weight = weight[state] + own_weight if with_item else weight[state]
            new_value = value[state] + own_value if with_item else value[state]
            if with_item:
                b += 1
            else:
                a += 1
            if new_weight > room or new_value <= kept_value:
                continue
            rest = room - new_weight
            split = split_item(rest, t + 1, total_weight)
            filled = new_value + total_value[split] - total_value[t + 1]
            bound = filled
            if split < n:
                left = rest - (total_weight[split] - total_weight[t + 1])
                bound += max(0.0, left) * (scores[order[split]] / weights[order[split]])
            lowest = max(lowest, filled)
            if bound < lowest - slack:
                continue
            kept_value = new_value
            if with_item:
                weight[n_states], value[n_states], before[n_states], item[n_states] = new_weight, new_value, state, t
                state = n_states
                n_states += 1
            merged[n_merged] = state
            n_merged += 1
        front, n_front = merged, n_merged
    state = front[n_front - 1]
    while state > 0:
        code[order[item[state]]] = 1
        state = before[state]
    return True
