"""The order of one list that maximises rise + loss for average precision (Yue et al. 2007), as compiled functions.

- `insert_others(relevant, others, swap_unit, loss_unit, ahead)`: for sorted scores, where each other item is inserted.
- `average_precision_loss(ahead, n_relevant)`: 1 − AP of these places.
- `order_list(scores, relevant, swap_unit, loss_unit, swaps)`: all of it for the items of one list as they come.

An output says for each pair of a relevant and an other item which of them comes first. A swapped pair (k, j), the other
item j before the relevant item k, raises the score by swap_unit · (t_j − s_k); the loss is loss_unit · (1 − AP). With
the relevant items k = 1 … P and the others j = 1 … N in descending order of their scores s and t, a best order keeps
both orders, and

    1 − AP = (1/P) Σ_j Σ_{k > p_j} k / ((k + j − 1)(k + j)),      p_j relevant items come before the other item j.

So each j has its own best p_j, which maximises

    Σ_{k > p} (loss_unit/P · k / ((k + j − 1)(k + j)) − swap_unit · (s_k − t_j)).

The terms fall with j, so p_j rises with j: halving j confines the search for p_j, O((P + N) log N) in all.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@inlined
def best_place(relevant, other, j, low, high, swap_unit, loss_unit):
    """Return the best number of relevant items before other item j (from 1), low to high; ties go to the largest."""
    best, place, total = 0.0, high, 0.0
    share = loss_unit / len(relevant)
    for step in range(high - low):
        k = high - step
        total += share * k / ((k + j - 1.0) * (k + j)) - swap_unit * (relevant[k - 1] - other)
        if total > best:
            best, place = total, k - 1
    return place


@jit
def insert_others(relevant, others, swap_unit, loss_unit, ahead):
    """Write how many relevant items come before each other item; both lists of scores are in descending order."""
    n, bounds = len(others), np.empty((2 * 64 + 2, 4), np.int64)
    bounds[0, 0], bounds[0, 1], bounds[0, 2], bounds[0, 3] = 0, n, 0, len(relevant)
    held = 1 if n > 0 else 0
    while held > 0:
        held -= 1
        first, stop, low, high = bounds[held, 0], bounds[held, 1], bounds[held, 2], bounds[held, 3]
        middle = (first + stop) // 2
        place = best_place(relevant, others[middle], middle + 1, low, high, swap_unit, loss_unit)
        ahead[middle] = place
        if first < middle:
            bounds[held, 0], bounds[held, 1], bounds[held, 2], bounds[held, 3] = first, middle, low, place
            held += 1
        if middle + 1 < stop:
            bounds[held, 0], bounds[held, 1], bounds[held, 2], bounds[held, 3] = middle + 1, stop, place, high
            held += 1


@jit
def average_precision_loss(ahead, n_relevant):
    """Return 1 − AP of an order; ahead[j] relevant items come before the other item j, and `ahead` does not fall."""
    before, total = 0, 0.0
    for k in range(1, n_relevant + 1):
        while before < len(ahead) and ahead[before] < k:
            before += 1
        total += before / (k + before)
    return total / n_relevant if n_relevant > 0 else 0.0


@jit
def write_swaps(relevant_order, other_order, ahead, swaps):
    """Write for each item with how many items of the other kind it is swapped; both orders are descending."""
    n_relevant, before = len(relevant_order), 0
    for j in range(len(other_order)):
        swaps[other_order[j]] = n_relevant - ahead[j]
    for k in range(n_relevant):
        while before < len(ahead) and ahead[before] <= k:
            before += 1
        swaps[relevant_order[k]] = before


@jit
def order_list(scores, relevant, swap_unit, loss_unit, swaps):
    """Write with how many items of the other kind each item of one list is swapped; return loss and rise.

    `relevant` are booleans. The loss is loss_unit · (1 − AP), and the plane of the order is
    swap_unit · Σ_i ± swaps[i] x_i, + for relevant items. Items with equal scores keep their order.
    """
    order = np.argsort(-scores, kind="mergesort")
    n_relevant = 0
    for i in range(len(scores)):
        n_relevant += 1 if relevant[i] else 0
    places, others = np.empty(n_relevant, np.int64), np.empty(len(scores) - n_relevant, np.int64)
    p, q = 0, 0
    for i in order:
        if relevant[i]:
            places[p] = i
            p += 1
        else:
            others[q] = i
            q += 1
    ahead = np.empty(q, np.int64)
    insert_others(scores[places], scores[others], swap_unit, loss_unit, ahead)
    write_swaps(places, others, ahead, swaps)
    rise = 0.0
    for i in range(len(scores)):
        rise += -swaps[i] * scores[i] if relevant[i] else swaps[i] * scores[i]
    return loss_unit * average_precision_loss(ahead, n_relevant), swap_unit * rise
