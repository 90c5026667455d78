"""Labels of the nodes of graphs whose neighbours tend to agree (associative Markov networks, Taskar et al. 2004).

Parts are nodes with a label, and edges that join equal labels; the code is the label of each node. Edges must reward
equal labels, which requires features ≥ 0 and weights ≥ 0: `Cut` sets lower bounds on these weights
(`core/lower_bounds.py`), and a kernel leaves their block linear.

Two labels: one minimum cut, which is exact (`algorithms/max_flow.py`). More labels: α-expansion, each move a minimum
cut, with a proven upper bound on the maximum (`_jit.py`), which keeps certificates valid. `ranking.py` finds the k best
labellings and decision scores by max-marginals; with more than two labels, decision scores are lower bounds.
"""
