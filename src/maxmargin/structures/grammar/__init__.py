"""Weighted context-free grammars read off a treebank.

The code of a tree is its derivation in pre-order: a pair (rule or tag, unary chain) for each node.

`derivations.py`, `rules.py`, `arrays.py`
    How trees are derived; symbols, rules and unary chains, and codes of trees; the trie of right-hand sides.
`_chart.py`
    The chart, filled from the last start to the first. Each partial right-hand side of (i, k), a node of the trie, is
    continued by all phrases that begin at k at once, in a loop over their ends that vectorises; tags continue one end
    only. Of nodes that end rules of the same left-hand side with the same last symbol, only the best one counts.
`_trace.py`
    The best tree. The chart keeps splits and chains, and the trace finds the nodes again.
`spans.py`
    Features of constituents. Scores are sums over the first token, the last token, and tables of tags and lengths:
    memory grows with tokens, not with spans. Scores of a split are added once for each label and end.
`_search.py`, `_many_best.py`
    Losses enter as `mu` per constituent and `eta` per true one. 1 − F1 is a search over these two, closed by a chart
    with several slots per symbol, which also ranks the k best trees.
`_max_marginals.py`
    The inside and the outside sweep of decision scores.

A label that repeats in a chain counts as often as it occurs.
"""
