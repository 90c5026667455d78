"""Measures of whole sets of rows against all labellings and all orders."""

import numpy as np

from maxmargin.structures.measures.contingency import Contingency
from maxmargin.structures.measures.orders import AveragePrecision, ROCArea
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.measures import MEASURES, RowsInOrder, RowsOfGivenSize, RowsOfLabels

ROWS = np.array([[0.0], [1.0], [2.0]])


class TestContingency(StructureConformance):
    bad_input = (
        (Contingency(), [ROWS], [[1, 1, 1]], "Y: expected two labels, found 1: 1"),
        (Contingency(), [ROWS, ROWS], [[0, 1, 1], [1, 1, 1]], "Y[1]: all 3 rows have the same label"),
        (Contingency(), [ROWS], [[0, 1, 2]], "Y: expected two labels, found 3: 0, 1, 2"),
        (Contingency(), [ROWS], [[0, 1]], "X[0]: 3 rows but 2 labels"),
        (Contingency(), [ROWS], [[0, 1, None]], "Y[0], row 2: expected a label, found None"),
        (Contingency(), [ROWS], ["abc"], "Y[0]: expected one label for each row, found str"),
        (Contingency(), [ROWS], [], "X has 1 sets of rows but Y has 0"),
        (Contingency(measure="f-2"), [ROWS], [[0, 1, 1]], "measure must be 'f1'"),
        (Contingency(measure="f0"), [ROWS], [[0, 1, 1]], "measure='f0': β must be above 0"),
        (Contingency(measure="precision@0"), [ROWS], [[0, 1, 1]], "k must be an integer ≥ 1, found 0"),
        (Contingency(measure="precision@4"), [ROWS], [[0, 1, 1]], "X[0]: k=4 rows are to be predicted positive, but"),
        (
            Contingency(measure="recall@precision=1.5"),
            [ROWS],
            [[0, 1, 1]],
            "the precision must be above 0 and at most 1",
        ),
        (Contingency(measure=lambda *t: np.nan), [ROWS], [[0, 1, 1]], "returned nan for tp=0, fp=0, fn=2, tn=1"),
        (
            Contingency(measure=lambda tp, fp, fn, tn: tp / (tp + fp)),
            [ROWS],
            [[0, 1, 1]],
            "returned nan for tp=0, fp=0",
        ),
        (
            Contingency(measure=lambda tp, fp, fn, tn: fp + fn),
            [ROWS],
            [[0, 1, 1]],
            "rises with errors: 1 for tp=1, fp=0, fn=1, tn=1 but 2 for tp=0, fp=0, fn=2, tn=1, with fewer true",
        ),
        (
            Contingency(measure=lambda tp, fp, fn, tn: 1.0 if tp > fp else 0.0),
            [np.zeros((10_000, 1))],
            [[0, 1] * 5000],
            "X[0]: measure <lambda> does not accept arrays, so 25010001 tables would take",
        ),
        (Contingency(n_labels=0), [ROWS], [[0, 1, 1]], "n_labels must be an integer ≥ 1"),
        (Contingency(n_labels=2), [ROWS], [[0, 1, 1]], "Y[0]: expected an array (n, 2) of 0 and 1"),
    )

    def instance(self, seed):
        name = list(MEASURES)[seed % len(MEASURES)]
        return RowsOfLabels(seed, *MEASURES[name])


class TestGivenSize(StructureConformance):
    """The outputs have k positive rows; the truth may have another number."""

    n_checked = 0  # with labels that are not an output, check_structure would find that no argmax reaches them

    def instance(self, seed):
        return RowsOfGivenSize(seed, [None, 1, 2, 3][seed % 4], recall=seed % 8 > 4)


class TestOrders(StructureConformance):
    n_checked = 0  # Ψ of an order depends on the labels
    bad_input = (
        (ROCArea(max_fpr=0.0), [ROWS], [[0, 1, 1]], "max_fpr must be a number above 0"),
        (ROCArea(), [ROWS], [[1, 1, 1]], "Y: expected two labels, found 1"),
        (AveragePrecision(), [ROWS], [[0, 1]], "X[0]: 3 rows but 2 labels"),
    )

    def instance(self, seed):
        return RowsInOrder(seed, [None, None, 0.4][seed % 3], average_precision=seed % 3 == 0)
