"""Spanning trees, directed and undirected, and dependency trees of sentences.

Parts are arcs. The code of a directed tree is the head of each node, that of an undirected tree the sorted numbers of
its edges. Argmaxes are exact: maximum arborescences in O(n²) for directed trees, with one root arc if required
(`_jit.py`), Eisner's algorithm for projective ones (`_projective.py`), maximum spanning forests for undirected ones
(`algorithms/spanning_forest.py`). `_polytope.py` has polytopes by subsets of nodes, by flows, and by exchanges of
edges.

`DependencyTree` (`dependency.py`) makes the features of arcs from templates over words and tags
(`features/text/arc_templates.py`): hundreds of millions of indicators of 4 bytes each (`parts/indicators.py`).
"""
