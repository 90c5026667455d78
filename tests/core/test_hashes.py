"""Keys tell planes and rows apart, also where values are small integers (few bits of a float differ)."""

import itertools

import numpy as np

import maxmargin as mm
from maxmargin.core.planes import Answers
from maxmargin.custom.examples import CustomExamples
from maxmargin.features.rows.rows import Rows

VALUES = np.array(list(itertools.product((-4, -3, -2, -1, 1, 2, 3, 4), repeat=4)), float)


def test_rows_of_small_numbers_have_distinct_hashes():
    assert len(set(Rows(VALUES, False).hashes().tolist())) == len(VALUES)
    counts = np.random.default_rng(0).integers(1, 101, size=(20_000, 10)).astype(float)
    assert len(set(Rows(counts, True).hashes().tolist())) == len(np.unique(counts, axis=0))


class Points(mm.Structure):
    """Outputs are the rows of a table; the last one asked for is the answer."""

    def __init__(self, table):
        self.table, self.size, self.answer = table, table.shape[1], 0

    def joint_feature(self, x, y):
        return self.table[y]

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return int(np.argmax(self.table @ w))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self.answer


def test_planes_of_small_numbers_have_distinct_keys():
    structure = Points(np.vstack([np.zeros(4), VALUES]))
    examples, answers, ids = CustomExamples(structure, [0], [0]), Answers.empty(1, 0), np.zeros(1, np.int64)
    keys = set()
    for output in range(1, len(VALUES) + 1):
        structure.answer = output
        examples.begin(ids)
        examples.decode(np.zeros(4), ids, np.ones(1), answers)
        keys.add(int(answers.keys[0]))
    assert len(keys) == len(VALUES)


def test_rows_that_differ_are_never_merged():
    rng = np.random.default_rng(1)
    X = rng.integers(1, 101, size=(400, 6)).astype(float)
    y = (X @ rng.normal(size=(6, 3))).argmax(axis=1)
    merged, weights, first = mm.Multiclass().fit(X, y).encode(X, y).merged(np.ones(400))
    assert merged.n_examples == len(first) == len(np.unique(np.column_stack([X, y]), axis=0))
    assert weights.sum() == 400
