"""Argmaxes, completions and planes of the top k documents of each query.

Common arguments: `ids` are the queries of a batch; `offsets` are the offsets of their documents, and `begin` is the
offset of one query in the batch's `scores`; `relevant` and `others` (2, k + 1) are documents, best first, and their
scores.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.bounds.rescaling import violation
from maxmargin.core.planes import HASH_START, hash_step

#: Relevance of documents; 0 means not relevant.
RELEVANT, UNLABELLED = 1, -1
#: Forms of the argmax besides those of bounds: rise + scale · loss, and the best documents given the labels.
SCALED, COMPLETE = -1, -2


@inlined
def keep_best(document, score, held, best, room):
    """Insert a document into a list of at most `room` best ones, after equal scores; return the new length."""
    if held == room:
        if room == 0 or score <= best[1, room - 1]:
            return held
        held -= 1
    at = held
    while at > 0 and best[1, at - 1] < score:
        best[0, at], best[1, at] = best[0, at - 1], best[1, at - 1]
        at -= 1
    best[0, at], best[1, at] = document, score
    return held + 1


@inlined
def split_documents(first, n, k, begin, scores, relevance, relevant, others):
    """Find the k best relevant and the k best other documents; return the number relevant, and those held per kind."""
    n_relevant, held_relevant, held_others = 0, 0, 0
    for j in range(n):
        if relevance[first + j] == RELEVANT:
            n_relevant += 1
            held_relevant = keep_best(j, scores[begin + j], held_relevant, relevant, k)
        else:
            held_others = keep_best(j, scores[begin + j], held_others, others, k)
    others[0, held_others], others[1, held_others] = n, -np.inf
    return n_relevant, held_relevant, held_others


@inlined
def merged_count(relevant, others, most, k, price):
    """Return how many of the k best documents are relevant if these cost `price`; ties go to the first."""
    taken = 0
    for step in range(k):
        if taken < most:
            ahead = relevant[1, taken] - price - others[1, step - taken]
            if ahead > 0.0 or (ahead == 0.0 and relevant[0, taken] < others[0, step - taken]):
                taken += 1
    return taken


@inlined
def best_count(relevant, others, least, most, k, most_loss, truth, form):
    """Return the number of relevant documents of greatest violation; ties go to the greatest number."""
    total = 0.0
    for j in range(most):
        total += relevant[1, j]
    for j in range(k - most):
        total += others[1, j]
    count, value = most, violation(form, total / k - truth, most_loss - most / k)
    for taken in range(most - 1, least - 1, -1):
        total += others[1, k - taken - 1] - relevant[1, taken]
        v = violation(form, total / k - truth, most_loss - taken / k)
        if v > value:
            count, value = taken, v
    return count


@inlined
def mean_score(documents, at, k, begin, scores):
    """Return w·Ψ of the documents in documents[at : at + k]."""
    total = 0.0
    for q in range(at, at + k):
        total += scores[begin + documents[q]]
    return total / k


@inlined
def write_code(codes, at, k, taken, relevant, others):
    """Write the chosen documents in ascending order, and their key."""
    for q in range(k):
        codes[at + q] = np.int32(relevant[0, q] if q < taken else others[0, q - taken])
    codes[at : at + k].sort()
    key = HASH_START
    for q in range(at, at + k):
        key = hash_step(key, codes[q])
    return key


@jit
def choose_documents(ids, offsets, code_offsets, scores, relevance, truths, scales, form, codes, losses, rises, keys):
    """Find the k documents of greatest violation of each query, via the number of relevant ones among them.

    `scores` holds the concatenated scores of the documents of ids.
    """
    room = 0
    for r in range(len(ids)):
        room = max(room, code_offsets[ids[r] + 1] - code_offsets[ids[r]])
    relevant, others, begin = np.empty((2, room + 1)), np.empty((2, room + 1)), 0
    for r in range(len(ids)):
        i = ids[r]
        first, n, at = offsets[i], offsets[i + 1] - offsets[i], code_offsets[i]
        k = code_offsets[i + 1] - at
        if k == 0:
            losses[i], rises[i], keys[i] = 0.0, 0.0, 0
            continue
        known = len(truths) > 0 and relevance[first] != UNLABELLED
        truth = mean_score(truths, at, k, begin, scores) if known else 0.0
        n_relevant, most, held_others = split_documents(first, n, k, begin, scores, relevance, relevant, others)
        most_loss = min(1.0, n_relevant / k)
        if form == COMPLETE:
            taken = most
        elif form == SCALED:
            taken = merged_count(relevant, others, most, k, scales[r])
        else:
            taken = best_count(relevant, others, k - held_others, most, k, most_loss, truth, form)
        keys[i] = write_code(codes, at, k, taken, relevant, others)
        losses[i] = most_loss - taken / k if known else 0.0
        rises[i] = mean_score(codes, at, k, begin, scores) - truth
        if known and (codes[at : at + k] == truths[at : at + k]).all():
            keys[i], rises[i] = 0, 0.0
        begin += n
