"""Label sequences: a label per token, with first-order transitions.

`Chain` keeps compiled code of its own, which is faster than the parts layer, and offers `scores`, `decode_scores` and
`changes` besides. The code of an output is its labels.

`_jit.py`
    Loss-augmented Viterbi. Back pointers are not stored: the trace finds predecessors again. If all costs are multiples
    of one number, a table with one level per value of the loss gives exact argmaxes of every bound.
`_max_marginals.py`
    The best score of a labelling that has a given label at a given token, for `decision_scores`.
`_polytope.py`
    Label sequences as flows of one unit through tokens × labels, for joint programs.
`constraints.py`
    Forbidden transitions, which score −∞ in training and in prediction.
`seen_pairs.py`
    The compact index of pairs of a feature and a label that occur together, if only these have weights.
`examples.py`, `structure.py`
    Encoded sequences, and the structure.
"""
