"""Decisions of optimisers against all decisions."""

from __future__ import annotations

import numpy as np

import maxmargin as mm
from maxmargin.structures.decisions.structure import Decisions
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.decisions import ListedDecisions

PLAIN = Decisions(mm.Optimizer.assignment(2))
X = np.ones((2, 3))
DIAGONAL = [1, 0, 0, 1]


class TestDecisions(StructureConformance):
    n_cases = -(-StructureConformance.n_cases // 2)  # every argmax calls Python
    bad_input = (
        (Decisions(PLAIN.optimizer, weights="each"), X, [DIAGONAL] * 2, "weights must be 'per-variable' or 'shared'"),
        (
            Decisions(PLAIN.optimizer, cost="l1"),
            X,
            [DIAGONAL] * 2,
            "loss must be 'hamming', 'missed', 'false' or a function",
        ),
        (PLAIN, X, [DIAGONAL], "X has 2 examples but Y has 1"),
        (PLAIN, X, [DIAGONAL, [1, 1, 0, 0]], "Y[1]: expected a feasible decision, found a decision that is not an"),
        (PLAIN, X, [DIAGONAL, [0.5] * 4], "Y[1]: expected a feasible decision, found a decision that is not an"),
        (PLAIN, X, [DIAGONAL, [9]], "Y[1]: found 1 numbers, expected a decision: 4 numbers, or distinct indices"),
        (PLAIN, X * np.inf, [DIAGONAL] * 2, "X[0]: features must be finite, found inf"),
    )

    def instance(self, seed):
        return ListedDecisions(seed)
