"""Matchings of bipartite graphs: assignments of left nodes to right nodes.

Parts are pairs of a left and a right node; with `unassigned`, a second block has one part per left node, counted once
for each right node that it lacks. The code of a matching lists the right nodes of each left node in ascending order,
then −1. Argmaxes are exact for any capacities: shortest augmenting paths with prices of the nodes (`_jit.py`). The
constraints of an assignment are totally unimodular, so the linear program over its polytope has the same maxima as the
argmax (`structure.py`).
"""
