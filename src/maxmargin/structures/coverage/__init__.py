"""Sets of candidates that cover most.

Elements of the same frequency are worth the same. So a part is such a bin, which all examples share, and its count is
the number of covered elements: memory does not grow with φ. The loss-augmented worth of a selection is a difference of
two coverage functions, P − N, over the covered items of positive and of negative worth.

No argmax is exact; `_jit.py` proves an upper bound on the maximum instead, for worths of any sign. Prices of the items
of positive worth (Lagrange multipliers) make P a sum over candidates. Charges for items of negative worth, shared by
the candidates of one item and divided otherwise, add up to at most N. A recursion then decides how many candidates of
each item are chosen. Subgradient steps lower the bound, and the best candidates of each step improve the greedy choice.
"""
