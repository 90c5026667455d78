"""`ROCArea` and `AveragePrecision`: orders of a whole set of rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import finite_number
from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.average_precision import average_precision_loss, insert_others, write_swaps
from maxmargin.algorithms.pairs import swapped_two_grades
from maxmargin.core.sums import PERTURB
from maxmargin.parts.blocks import Block
from maxmargin.structures.measures.contingency import MANY_ROWS
from maxmargin.structures.measures.row_sets import RowSetExamples, RowSets


class Orders(RowSets):
    """Base of structures whose outputs are orders of the rows of a set.

    An output is a tuple of row numbers, best first. Ψ adds up pairs of a positive row i and a negative row j:

        Ψ(x, ŷ) = (1/2m) Σ_i Σ_j ± (x_i − x_j),      + if i comes before j,

    with m negative rows in each sum, so Ψ depends on the labels of the truth besides.
    """

    output_name: ClassVar[str] = "order"
    #: Ψ of an order depends on the labels, which new rows do not have.
    instead_of_explain: ClassVar[str] = "the scores w·x of the rows, which decision_scores returns"
    has_constant: ClassVar[bool] = False
    fit_intercept: bool = False

    @abstractmethod
    def _order_loss(self, labels: AnyArray) -> float:
        """Return the loss of labels in the order of the output."""

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ(y, ŷ) of an order; 0 for the labels themselves."""
        labels = self._codes_of(y, "y")
        if not isinstance(y_hat, tuple):
            if not np.array_equal(labels, self._codes_of(y_hat, "y_hat")):
                raise ValueError("y_hat: expected an order (a tuple of row numbers), or the labels y themselves")
            return 0.0
        return self._order_loss(labels[self._checked(y_hat, len(labels), "y_hat")])

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) of labels: that of an order in which positive rows come first."""
        if isinstance(y, tuple):
            raise ValueError("y: Ψ of an order depends on the labels too; expected labels")
        return super().joint_feature(x, y)

    @staticmethod
    def _checked(order: Any, n: int, where: Where) -> IntArray:
        """Return an order as an array; raise ValueError if it is not one of n rows."""
        if sorted(order) != list(range(n)):
            raise error_at(where, f"expected an order of the rows 0 to {n - 1}, found {order!r:.60}")
        return np.array(order, np.int64)

    def enumerate(self, x: Any) -> Iterator[tuple[int, ...]]:
        """Yield all orders of a small set of rows, for tests."""
        return permutations(range(len(self.encode([x]).truths)))

    def _packed(self, output: Any) -> CodeArray:
        return self._checked(output, len(output), "output").astype(np.int32)

    def output_of(self, code: CodeArray) -> tuple[int, ...]:
        return tuple(self._checked(code.tolist(), len(code), "output").tolist())


class ROCArea(Orders):
    """Orders of all rows of a set, with the area under the ROC curve (Joachims 2005).

        Ψ(x, ŷ) = (1/2q) Σ_i Σ_j ± (x_i − x_j)        Δ(y, ŷ) = p · (1 − area) = (1/q) · number of swapped pairs

    over pairs of one of p positive and one of q negative rows; − for swapped ones, of which the negative row comes
    first. The loss counts in positive rows, so C has the scale of a linear SVM. Argmaxes sort, in O(n log n).

    Each x and y is as in `Contingency`; an output is a tuple of row numbers, best first.

    Parameters
    ----------
    max_fpr : float or None, default=None
        The area up to this false positive rate, that is, over the ⌈max_fpr · q⌉ negative rows that come first, in place
        of q (Narasimhan and Agarwal 2013, the tight bound); None for the whole area.
    n_labels : int, default=1
        Number of labels of a row, as in `Contingency`: pairs of all labels count together.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.1], [0.9], [0.4], [0.8]]), np.array([0, 1, 0, 1])
    >>> model = mm.StructuralSVM(mm.ROCArea(), C=10.0).fit([X], [y])
    >>> model.predict([X])  # row numbers, best first
    [(1, 3, 2, 0)]
    >>> model.structure_.loss(y, (1, 0, 3, 2))  # one of four pairs is swapped, of two positive rows
    0.5
    """

    def __init__(self, *, max_fpr: float | None = None, n_labels: int = 1) -> None:
        self.max_fpr, self.n_labels = max_fpr, n_labels

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.max_fpr is not None and not 0.0 < finite_number(self.max_fpr, "max_fpr") <= 1.0:
            raise ValueError(f"max_fpr must be a number above 0 and at most 1, or None, found {self.max_fpr!r}")

    def compared(self, q: int) -> int:
        """Return the number of negative rows that are compared with each positive one, of q."""
        return q if self.max_fpr is None else max(1, math.ceil(self.max_fpr * q))

    def _order_loss(self, labels: AnyArray) -> float:
        positive = labels == 1
        negatives_first = np.cumsum(~positive)[positive]
        m = self.compared(len(labels) - len(negatives_first))
        return float(np.minimum(negatives_first, m).sum()) / m

    def _examples(
        self, block: Block, offsets: IntArray, labels: AnyArray | None, weights: FloatArray | None
    ) -> ROCAreaExamples:
        return ROCAreaExamples(self, block, offsets, labels)


class AveragePrecision(Orders):
    """Orders of all rows of a set, with average precision (Yue et al. 2007).

        Ψ(x, ŷ) = (1/2q) Σ_i Σ_j ± (x_i − x_j)        Δ(y, ŷ) = p · (1 − AP)

    as in `ROCArea`, AP being the mean over positive rows of the precision at their rank. The argmax is exact, in
    O(n log n): each negative row has its own best place among the positive ones.

    Each x and y is as in `Contingency`; an output is a tuple of row numbers, best first.

    Parameters
    ----------
    n_labels : int, default=1
        Number of labels of a row, as in `Contingency`: all labels are ranked in one list.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.rows(2)
    >>> model = mm.StructuralSVM(mm.AveragePrecision(), C=1.0).fit([X], [y])
    >>> order = model.predict([X])[0]
    >>> y[list(order[:10])].tolist()  # the rows that come first are positive
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, *, n_labels: int = 1) -> None:
        self.n_labels = n_labels

    def _order_loss(self, labels: AnyArray) -> float:
        p, positive = int(np.count_nonzero(labels)), labels == 1
        return p * average_precision_loss(np.cumsum(positive)[~positive], p)

    def _examples(
        self, block: Block, offsets: IntArray, labels: AnyArray | None, weights: FloatArray | None
    ) -> AveragePrecisionExamples:
        return AveragePrecisionExamples(self, block, offsets, labels)


class OrderExamples(RowSetExamples):
    """Sets of rows; a code is the number of rows of the other label with which each row is swapped.

    c_p = (½ − swaps/m) for positive and −(p/2 − swaps)/m for negative rows. Where labels are not known, the code is the
    order itself.
    """

    why_not_summable = (
        f"no fast sum over all orders of rows is known; use Multiclass for probabilities of rows; for orders {PERTURB}"
    )

    def __init__(self, structure: Orders, block: Block, offsets: IntArray, labels: AnyArray | None) -> None:
        super().__init__(structure, block, offsets, labels, None if labels is None else np.zeros(len(labels), np.int32))

    def _compared(self, q: int) -> int:
        return q

    @abstractmethod
    def _place(
        self,
        positive: FloatArray,
        negative: FloatArray,
        scale: float,
        orders: tuple[IntArray, IntArray],
        code: CodeArray,
    ) -> float:
        """Write the swaps of the best order for scores in descending order, and return its loss."""

    def _argmax(self, i: int, scores: FloatArray, scale: float, code: CodeArray) -> float:
        labels = self.labels[self._span(i)]
        rows_of: dict[int, IntArray] = {}

        def sort(first: int, stop: int) -> None:
            for label in range(first, stop):
                rows = np.flatnonzero(labels == label)
                rows_of[label] = rows[np.argsort(-scores[rows])]

        if self.engine is None or len(scores) < MANY_ROWS:
            sort(0, 2)
        else:
            self.engine.map_range(sort, 0, 2)
        code[:] = 0
        return self._place(scores[rows_of[1]], scores[rows_of[0]], scale, (rows_of[1], rows_of[0]), code)

    def _best(self, i: int, scores: FloatArray, code: CodeArray) -> None:
        code[:] = np.argsort(-scores, kind="stable")

    def coefficients(self, i: int, code: CodeArray) -> FloatArray:
        if not self.known:
            return np.zeros(len(code))
        labels = self.labels[self._span(i)]
        p = int(np.count_nonzero(labels))
        m = self._compared(len(labels) - p)
        return np.where(labels == 1, 0.5 * m - code, code - 0.5 * p) / m

    def _largest_coefficient(self) -> float:
        largest = 1.0
        for i in range(self.n_examples) if self.known else ():
            labels = self.labels[self._span(i)]
            p = int(np.count_nonzero(labels))
            largest = max(largest, p / self._compared(len(labels) - p))
        return largest

    def output(self, example: int, key: int, code: CodeArray) -> tuple[int, ...]:
        if not self.known:
            return tuple(code.tolist())
        labels = self.labels[self._span(example)]
        positive, negative = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
        positive = positive[np.argsort(code[positive], kind="stable")]
        places = np.concatenate([np.arange(len(positive)), len(positive) - code[negative] - 0.5])
        return tuple(np.concatenate([positive, negative])[np.argsort(places, kind="stable")].tolist())


class ROCAreaExamples(OrderExamples):
    """Each pair decides by itself (`algorithms.pairs`)."""

    def _compared(self, q: int) -> int:
        compared: int = self.structure.compared(q)
        return compared

    def _place(
        self,
        positive: FloatArray,
        negative: FloatArray,
        scale: float,
        orders: tuple[IntArray, IntArray],
        code: CodeArray,
    ) -> float:
        m = self._compared(len(negative))
        swaps = np.empty(len(positive), np.int32), np.empty(m, np.int32)
        swapped_two_grades(positive, negative[:m], scale, *swaps)
        code[orders[0]], code[orders[1][:m]] = swaps
        return float(swaps[0].sum(dtype=np.int64)) / m


class AveragePrecisionExamples(OrderExamples):
    """Each negative row has its own best place (`algorithms.average_precision`)."""

    def _place(
        self,
        positive: FloatArray,
        negative: FloatArray,
        scale: float,
        orders: tuple[IntArray, IntArray],
        code: CodeArray,
    ) -> float:
        ahead = np.empty(len(negative), np.int64)
        insert_others(positive, negative, 1.0 / len(negative), scale * len(positive), ahead)
        write_swaps(*orders, ahead, code)
        return len(positive) * float(average_precision_loss(ahead, len(positive)))
