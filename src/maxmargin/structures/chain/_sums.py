"""Sums over all labellings of linear chains: log-partition, marginals and samples, by forward and backward sums.

Forward values are kept as probabilities that sum to 1 at each token (Rabiner 1989). Scores of one token or transition
that differ by more than `MOST_RANGE`, and forward values below `LEAST`, might lose labellings that later tokens make
probable; such a sequence is summed in logarithms, which takes longer. Arguments are those of `structures.chain._jit`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import log_add, uniform
from maxmargin.structures.chain._jit import FORBIDDEN, transition

#: Greatest difference of two scores of a token, or of two transitions, for sums that are not in logarithms.
MOST_RANGE = 60.0
#: Least forward or backward value of a label for sums that are not in logarithms.
LEAST = 1e-240


@inlined
def exponentials(pairs, edges, t, out):
    """Write exp(transition into token t − the greatest) to `out`; return the greatest, and whether they are close."""
    size, high, low = pairs.shape[0], FORBIDDEN, np.inf
    for j in range(size):
        for k in range(size):
            v = transition(pairs, edges, t, j, k)
            out[j, k] = v
            if v > FORBIDDEN:
                high, low = max(high, v), min(low, v)
    for j in range(size):
        for k in range(size):
            out[j, k] = np.exp(out[j, k] - high) if out[j, k] > FORBIDDEN else 0.0
    return high, high - low <= MOST_RANGE


@inlined
def sum_scaled(
    at, length, scores, pairs, start, end, edges, shared, shared_high, close, table, emit, alpha, scale, own, ahead,
    behind, coefficient, nodes, pair_sums, edge_nodes,
):  # fmt: skip
    """Add the marginals of one sequence; return log Z, E[score], and whether they are right: False means logarithms."""
    size, log_z, has_edges = pairs.shape[0], 0.0, len(edges) > 0
    high = shared_high
    for t in range(length):
        if t > 0:
            if has_edges:
                high, close = exponentials(pairs, edges, at + t, table[t])
            if not close:
                return 0.0, 0.0, False
            log_z += high
        top, low = FORBIDDEN, np.inf
        for k in range(size):
            v = scores[at + t, k]
            if t == 0:
                v += start[k]
            if t == length - 1:
                v += end[k]
            emit[t, k] = v
            if v > FORBIDDEN:
                top, low = max(top, v), min(low, v)
        if not top - low <= MOST_RANGE:
            return 0.0, 0.0, False
        for k in range(size):
            emit[t, k] = np.exp(emit[t, k] - top) if emit[t, k] > FORBIDDEN else 0.0
        log_z += top
        row = alpha[t]
        if t == 0:
            for k in range(size):
                row[k] = emit[0, k]
        else:
            step = table[t] if has_edges else shared
            for k in range(size):
                row[k] = 0.0
            for j in range(size):
                p, e = alpha[t - 1, j], step[j]
                for k in range(size):
                    row[k] += p * e[k]
            for k in range(size):
                row[k] *= emit[t, k]
        total = 0.0
        for k in range(size):
            total += row[k]
        if not total > LEAST:
            return 0.0, 0.0, False
        scale[t] = 1.0 / total
        log_z += np.log(total)
        for k in range(size):
            row[k] *= scale[t]
            if 0.0 < row[k] < LEAST:
                return 0.0, 0.0, False
    last, expected = length - 1, 0.0
    for j in range(size):
        for k in range(size):
            own[j, k] = 0.0
        nodes[at + last, j] = coefficient * alpha[last, j]
        ahead[j] = 1.0
        if alpha[last, j] > 0.0:
            expected += alpha[last, j] * (scores[at + last, j] + end[j])
    for t in range(last - 1, -1, -1):
        step, row, out = table[t + 1] if has_edges else shared, alpha[t], nodes[at + t]
        for k in range(size):
            ahead[k] *= emit[t + 1, k] * scale[t + 1]
        for j in range(size):
            total, p, e, counts = 0.0, row[j], step[j], own[j]
            for k in range(size):
                v = e[k] * ahead[k]
                total += v
                counts[k] += p * v
            behind[j] = total
        if has_edges:
            for j in range(size):
                for k in range(size):
                    v = row[j] * step[j, k] * ahead[k]
                    edge_nodes[at + t + 1, j * size + k] = coefficient * v
                    if v > 0.0:
                        expected += v * edges[at + t + 1, j * size + k]
        least = 1.0
        for j in range(size):
            p = behind[j]
            ahead[j] = p
            least = min(least, p if p > 0.0 else 1.0)
            p *= row[j]
            out[j] = coefficient * p
            if p > 0.0:
                expected += p * scores[at + t, j]
        if least < LEAST:
            return 0.0, 0.0, False
    for j in range(size):
        p = alpha[0, j] * ahead[j]
        if p > 0.0:
            expected += p * start[j]
        for k in range(size):
            if own[j, k] > 0.0:
                pair_sums[j, k] += coefficient * own[j, k]
                expected += own[j, k] * pairs[j, k]
    return log_z, expected, True


@inlined
def forward_logs(at, length, scores, pairs, start, edges, alpha, shift):
    """Write the logarithms of forward sums, without the end, relative to the greatest of each token, in `shift`.

    So rounding errors do not grow with the length of the sequence. A shift of −∞ means that there is no labelling.
    """
    size = pairs.shape[0]
    for t in range(length):
        high = FORBIDDEN
        for k in range(size):
            if t == 0:
                alpha[0, k] = start[k] + scores[at, k]
            else:
                top = FORBIDDEN
                for j in range(size):
                    top = max(top, alpha[t - 1, j] + transition(pairs, edges, at + t, j, k))
                total = 0.0
                if top > FORBIDDEN:
                    for j in range(size):
                        total += np.exp(alpha[t - 1, j] + transition(pairs, edges, at + t, j, k) - top)
                alpha[t, k] = top + np.log(total) + scores[at + t, k] if top > FORBIDDEN else FORBIDDEN
            high = max(high, alpha[t, k])
        shift[t] = high
        if high > FORBIDDEN:
            for k in range(size):
                alpha[t, k] -= high


@inlined
def sum_logs(
    at, length, scores, pairs, start, end, edges, alpha, beta, shift, coefficient, nodes, pair_sums, edge_nodes
):  # fmt: skip
    """Add the marginals of one sequence, in logarithms; return log Z and E[score], −∞ and 0 if it has no labelling."""
    size, last, has_edges = pairs.shape[0], length - 1, len(edges) > 0
    forward_logs(at, length, scores, pairs, start, edges, alpha, shift)
    log_z, total = FORBIDDEN, 0.0
    for k in range(size):
        log_z = log_add(log_z, alpha[last, k] + end[k])
        beta[last, k] = end[k]
    for t in range(length):
        total += shift[t]
    log_z += total
    if log_z == FORBIDDEN:
        return log_z, 0.0
    for t in range(last - 1, -1, -1):
        high = FORBIDDEN
        for j in range(size):
            top = FORBIDDEN
            for k in range(size):
                top = max(top, transition(pairs, edges, at + t + 1, j, k) + scores[at + t + 1, k] + beta[t + 1, k])
            total = 0.0
            if top > FORBIDDEN:
                for k in range(size):
                    v = transition(pairs, edges, at + t + 1, j, k) + scores[at + t + 1, k] + beta[t + 1, k]
                    total += np.exp(v - top)
            beta[t, j] = top + np.log(total) if top > FORBIDDEN else FORBIDDEN
            high = max(high, beta[t, j])
        for j in range(size):
            beta[t, j] -= high
    expected = 0.0
    for t in range(length):
        level = FORBIDDEN
        for k in range(size):
            level = log_add(level, alpha[t, k] + beta[t, k])
        for k in range(size):
            p = np.exp(alpha[t, k] + beta[t, k] - level)
            nodes[at + t, k] = coefficient * p
            if p > 0.0:
                s = scores[at + t, k]
                if t == 0:
                    s += start[k]
                if t == last:
                    s += end[k]
                expected += p * s
        if t == 0:
            continue
        for j in range(size):
            for k in range(size):
                s = transition(pairs, edges, at + t, j, k)
                p = np.exp(alpha[t - 1, j] + s + scores[at + t, k] + beta[t, k] - shift[t] - level)
                if has_edges:
                    edge_nodes[at + t, j * size + k] = coefficient * p
                if p > 0.0:
                    pair_sums[j, k] += coefficient * p
                    expected += p * s
    return log_z, expected


@jit
def chain_sums(
    spans, scores, pairs, start, end, edges, coefficients, log_partitions, expected_scores, nodes, pair_sums,
    start_sums, end_sums, edge_nodes,
):  # fmt: skip
    """Write log Z and E[score] of each sequence; write or add coefficient · marginals of tokens and transitions."""
    size, longest = pairs.shape[0], 0
    for r in range(len(spans) - 1):
        longest = max(longest, spans[r + 1] - spans[r])
    has_edges = len(edges) > 0
    table = np.empty((longest if has_edges else 0, size, size))
    emit, alpha, beta = np.empty((longest, size)), np.empty((longest, size)), np.empty((longest, size))
    scale, shared = np.empty(longest), np.empty((size, size))
    own, ahead, behind = np.empty((size, size)), np.empty(size), np.empty(size)
    high, close = 0.0, True
    if not has_edges:
        high, close = exponentials(pairs, edges, 0, shared)
    for r in range(len(spans) - 1):
        at, length, coefficient = spans[r], spans[r + 1] - spans[r], coefficients[r]
        if length == 0:
            log_partitions[r], expected_scores[r] = 0.0, 0.0
            continue
        log_z, expected, right = sum_scaled(
            at, length, scores, pairs, start, end, edges, shared, high, close, table, emit, alpha, scale, own,
            ahead, behind, coefficient, nodes, pair_sums, edge_nodes,
        )  # fmt: skip
        if not right:
            log_z, expected = sum_logs(
                at, length, scores, pairs, start, end, edges, alpha, beta, scale, coefficient, nodes, pair_sums,
                edge_nodes,
            )  # fmt: skip
        log_partitions[r], expected_scores[r] = log_z, expected
        for k in range(size):
            start_sums[k] += nodes[at, k]
            end_sums[k] += nodes[at + length - 1, k]


@jit
def chain_samples(spans, scores, pairs, start, end, edges, seeds, codes):
    """Write labels drawn from the distribution of each sequence, one row of `codes` for each sample.

    The first label of a sequence without a labelling is −1.
    """
    size, longest = pairs.shape[0], 0
    for r in range(len(spans) - 1):
        longest = max(longest, spans[r + 1] - spans[r])
    alpha, shift = np.empty((longest, size)), np.empty(longest)
    weight, state = np.empty(size), np.zeros(1, np.uint64)
    for r in range(len(spans) - 1):
        at, length = spans[r], spans[r + 1] - spans[r]
        if length == 0:
            continue
        forward_logs(at, length, scores, pairs, start, edges, alpha, shift)
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            label = -1
            for t in range(length - 1, -1, -1):
                top = FORBIDDEN
                for k in range(size):
                    after = end[k] if t == length - 1 else transition(pairs, edges, at + t + 1, k, label)
                    weight[k] = alpha[t, k] + after
                    top = max(top, weight[k])
                if top == FORBIDDEN:
                    codes[m, at] = -1
                    break
                total = 0.0
                for k in range(size):
                    weight[k] = np.exp(weight[k] - top)
                    total += weight[k]
                left = uniform(state) * total
                label = -1
                for k in range(size):
                    if weight[k] > 0.0:
                        label = k
                        left -= weight[k]
                        if left < 0.0:
                            break
                codes[m, at + t] = label
