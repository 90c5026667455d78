"""Matchings of general graphs, perfect and not.

Parts are edges; if matchings need not be perfect, a second block has one part for each node, present if the node has no
partner. The code is the partner of each node. Argmaxes are exact: a recursion over subsets in small graphs, a weighted
blossom algorithm in others (`algorithms/blossom.py`). `_jit.py` reduces matchings that need not be perfect to perfect
ones. `_polytope.py` has three polytopes for joint programs: fractional matchings, matchings with odd-set constraints,
and the multipliers of distance constraints (Taskar et al. 2005).
"""
