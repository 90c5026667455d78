"""Decisions of an optimiser whose costs are linear in features.

Predicted costs are scores of parts, in the same blocks as elsewhere, and an `Optimizer` is the argmax. A linear loss
l·(ẑ − z*) only shifts the costs that the optimiser sees, so a function ``solve(costs)`` is a whole structure. With
known costs c, the score is −2ĉ·z and l = c: the hinge is then SPO+ (Elmachtoub and Grigas 2022). The code of a decision
is its m integers, or the bits of its floats. Known costs are fixed scores, and ``prior="least-squares"`` is the centre
of the regulariser (`problem.py`).

A truth is a pair of a decision and its costs (`Truth` in `inputs.py`); inputs carry known costs and instances
(`Inputs`). The estimator `CostLearner` makes both from what its user passes.
"""
