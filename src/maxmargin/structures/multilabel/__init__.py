"""Sets of labels for each row of features.

Parts are labels, and pairs of labels that are both present; the code of a set is 0 or 1 for each label. The losses are
functions of two counts (true and false positives, or wrong labels), and every bound rises with the score. So an argmax
finds the best score for each pair of counts and then the best pair: one enumeration of 2^L sets, or one dynamic program
over a forest of pairs, serves both losses and all bounds (`_jit.py`). Sums over labels (Hamming loss in margin
re-scaling, prediction) need no counts. `pairs.py` finds the tree of pairs (Chow and Liu 1968).
"""
