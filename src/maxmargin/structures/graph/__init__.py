"""Labels of the nodes of any graph, with any scores of the label pairs of edges (Markov random fields).

Parts are nodes with a label, and edges with a class of label pairs; the code is the label of each node. The argmax of a
graph is chosen by the graph (`_decode.py`), and always proves an upper bound on the maximum:

`_elimination.py`
    Forests and graphs of small treewidth, exactly: elimination of nodes; also max-marginals, sums and samples.
`_two_labels.py`
    Two labels: a minimum cut where edges reward equal labels, roof duality elsewhere.
`_messages.py`
    Everything else: sequential tree-reweighted messages with rounding and moves of single nodes, closed by branch and
    bound within a limit that is counted in sweeps.
`relaxed.py`, `_relaxed.py`
    Training on the relaxation: answers whose nodes have one label, or two labels by half.
`_expansion.py`
    Moves that change any nodes to one label, for ``inference="expansion"``.
`_tree_reweighted.py`
    Upper bounds on the log-partition of graphs that elimination cannot solve.
`_pairs.py`
    Scores of label pairs: K² for each edge, or fewer if only equal labels have scores.
"""
