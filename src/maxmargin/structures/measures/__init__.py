"""Measures of a whole set of rows: contingency tables, areas under ROC curves, average precision.

One example is a whole set of rows, and parts are rows (`row_sets.py`).

`Contingency` (`contingency.py`) needs the scores of positive and of negative rows in descending order, and the sums of
the first of them. A `TableMeasure` (`measures.py`; by name: `names.py`; a user's own: `user_measure.py`) then finds the
best table (a, b), and a threshold for each class recovers the rows: no permutation is sorted.

`ROCArea` and `AveragePrecision` (`orders.py`) have as code the number of rows of the other class with which each row is
swapped. Their compiled functions work on one list (`algorithms/pairs.py`, `algorithms/average_precision.py`) and serve
rankings by query too.

Sums of scores are added up in runs of 1024: the bound on rounding errors, and with it the proof of the gap, then holds
for a million rows. With K labels per row, all n K labels count together, which is a micro-average.
"""
