"""Shortest and longest paths.

Parts are edges, and the code of a path is its edges from the source on, then −1. Graphs without cycles may have scores
of any sign: one pass in topological order. Graphs with cycles need costs ≥ 0, therefore features and weights ≥ 0:
Dijkstra's algorithm (`_jit.py`). `Path` then sets lower bounds on weights (`core/lower_bounds.py`), and its loss counts
missed edges only. Decision scores are the best path to an edge plus the best path from it. Paths are vertices of the
polytope of unit flows.
"""
