"""Numbers of classes as sums over their ancestors, and back: for marginals, costs and risks of taxonomies.

`order` lists classes after all classes above them, and `own` is the node of each class, −1 for the root, which has no
weights. Other arguments are those of `structures.taxonomy._jit`.
"""

from __future__ import annotations

from maxmargin._base.jit import jit


@jit
def add_above(classes, pointers, ancestors, nodes):
    """Add the number of each class to all nodes above it: nodes[r, z] += Σ classes[r, k] over the classes below z."""
    for r in range(len(classes)):
        row = nodes[r]
        for k in range(len(pointers) - 1):
            value = classes[r, k]
            if value != 0.0:
                for a in range(pointers[k], pointers[k + 1]):
                    row[ancestors[a]] += value


@jit
def class_shares(nodes, pointers, ancestors, order, own, totals, classes):
    """Write the classes whose sums `add_above` adds to nodes; those of one row sum to totals[r]."""
    for r in range(len(nodes)):
        rest, left, root = nodes[r].copy(), totals[r], -1
        for q in range(len(order) - 1, -1, -1):
            k = order[q]
            if own[k] < 0:
                root = k
                continue
            value = max(rest[own[k]], 0.0)
            classes[r, k] = value
            left -= value
            for a in range(pointers[k], pointers[k + 1]):
                rest[ancestors[a]] -= value
        if root >= 0:
            classes[r, root] = max(left, 0.0)


@jit
def node_values(classes, pointers, ancestors, order, own, nodes):
    """Write values of nodes whose sums along ancestors are those of the classes, up to the value of the root.

    Only nodes of classes have a value that is not 0.
    """
    for r in range(len(classes)):
        row, base = nodes[r], 0.0
        for q in range(len(order)):
            k = order[q]
            if own[k] < 0:
                base = classes[r, k]
                continue
            total = 0.0
            for a in range(pointers[k], pointers[k + 1]):
                total += row[ancestors[a]]
            row[own[k]] = classes[r, k] - base - total
