"""`Contingency`: labels of a whole set of rows, with a loss of their contingency table (Joachims 2005)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from maxmargin._base.errors import Place, error_at
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.parts.blocks import Block
from maxmargin.structures.measures import _best_tables as _tables
from maxmargin.structures.measures.measures import AtSize, Linear, Measure, Sorted, TableMeasure, counts
from maxmargin.structures.measures.names import measure_of
from maxmargin.structures.measures.row_sets import RowSetExamples, RowSets, prefix_sums

#: Rows above which positive and negative ones are sorted in threads.
MANY_ROWS = 1 << 16


class Contingency(RowSets):
    """Labels of all rows of a set at once, with any function of their contingency table as loss.

    One example is a whole set of rows (Joachims 2005; Joachims et al. 2009, section 3.1):

        Ψ(x, y) = ½ Σ_i ±x_i        Δ(y, ŷ) = p · (1 − measure(tp, fp, fn, tn))

    with + for rows labelled positive, p of them. The loss counts in rows (that of ``"error"`` is n times the measure),
    so C has the scale of a linear SVM for any number of rows. With Ψ = (1/n) Σ ±x_i and a loss up to 1, as
    published, the best C changes with n.

    Loss-augmented argmaxes are exact. They take O(n log n), for ``"mcc"`` and user-defined measures O(p q).

    For ``"prbep"``, ``"precision@10"`` and ``"recall@10"`` the outputs are the labellings with k positive rows (k = p
    for ``"prbep"``; for rows without labels the share p/n of the training data). If p is not k, Ψ of the truth is the
    mean of Ψ over all best outputs, so the hinge remains an upper bound on the loss.

    Each x is an array (n, d), a sparse matrix, a data frame or a list of dicts; each y is n labels, of which the second
    in sorted order is the positive one. An output is a list of n labels.

    Parameters
    ----------
    measure : str or callable, default="f1"
        ``"f1"`` (F_β with any β in the name: ``"f2"``, ``"f0.5"``), ``"prbep"``, ``"precision@10"``, ``"recall@10"``
        (of the 10 best rows), ``"recall@precision=0.9"`` (the recall if the precision is at least 0.9, otherwise 0),
        ``"error"``, ``"mcc"`` (Matthews), ``"jaccard"``, or a function of (tp, fp, fn, tn) of any scale, which must not
        rise with errors; its loss is p if no row is predicted positive.
    fit_intercept : bool, default=True
        Whether rows have a constant feature of value 1. It has no effect, and is left out, if the number of positive
        rows is given.
    n_labels : int, default=1
        Number of labels of a row. Above 1, each y is an array (n, n_labels) of 0 and 1, each label has its own weights,
        and one table counts all labels (the micro-average).

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x, y = np.array([[2.0], [1.0], [0.0], [-1.0]]), [1, 1, 0, 0]
    >>> model = mm.StructuralSVM(mm.Contingency(measure="f1"), C=10.0).fit([x], [y])
    >>> model.predict([x])
    [[1, 1, 0, 0]]
    """

    def __init__(
        self,
        *,
        measure: Any = "f1",
        fit_intercept: bool = True,
        n_labels: int = 1,
    ) -> None:
        self.measure, self.fit_intercept, self.n_labels = measure, fit_intercept, n_labels

    def check_parameters(self) -> None:
        super().check_parameters()
        self.table_measure()

    def table_measure(self) -> Measure:
        """Return the measure; raise ValueError if the parameters are not valid."""
        measure = measure_of(self.measure)
        if isinstance(measure, Linear) and measure.balanced:
            raise ValueError(
                f"measure={self.measure!r} is the error of rows that are weighted by their true classes, which outputs "
                f"do not have: use MeasureSVC(measure={self.measure!r}), or measure='error'"
            )
        return measure

    @property
    def has_constant(self) -> bool:  # type: ignore[override]
        """Whether a constant feature has an effect: not if the number of positive rows is given."""
        return not isinstance(self.table_measure(), AtSize)

    def _examples(
        self, block: Block, offsets: IntArray, labels: AnyArray | None, weights: FloatArray | None
    ) -> ContingencyExamples:
        return ContingencyExamples(self, block, offsets, labels, weights)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ(y, ŷ) of labels; 0 if they are equal."""
        true, predicted = self._codes_of(y, "y"), self._codes_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true) // self.n_labels} rows but y_hat has {len(predicted) // self.n_labels}")
        a, b, p, q = counts(true, predicted)
        return 0.0 if np.array_equal(true, predicted) else float(self.table_measure().loss(a, b, p, q))

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all labellings of a small set of rows, for tests."""
        n = len(self.encode([x]).truths)
        size = self.predicted_positive(n)
        if size is None:
            return (self.output_of(np.array(code, np.int32)) for code in product((0, 1), repeat=n))
        chosen = combinations(range(n), size)
        return (self.output_of(np.isin(np.arange(n), some).astype(np.int32)) for some in chosen)

    def predicted_positive(self, n: int) -> int | None:
        """Return the number of positive labels among n where the truth is not known; None if it is not given."""
        measure = self.table_measure()
        return measure.size(round(self.share_ * n), n) if isinstance(measure, AtSize) else None

    def _packed(self, output: Any) -> CodeArray:
        return self._codes_of(output, "output").astype(np.int32)

    def output_of(self, code: CodeArray) -> Any:
        if not np.isin(code, (0, 1)).all() or len(code) % self.n_labels:
            raise ValueError(f"expected rows of {self.n_labels} labels 0 and 1")
        if self.n_labels > 1:
            return code.reshape(-1, self.n_labels).tolist()
        return self.labels_.decode(code)


class ContingencyExamples(RowSetExamples):
    """Sets of rows; the code of an output is its labels.

    c_p = weight · (label − ½), where the weight of a row is 1 unless the loss is a sum over rows. If the number of
    positive rows is given, the truth has the mean c_p of all best outputs.
    """

    optional_parts = True
    why_not_summable = (
        "its measure joins all rows of a set, and is not a sum over them; use Multiclass for probabilities of rows, or "
        "Multilabel if rows have several labels"
    )

    def __init__(
        self,
        structure: Contingency,
        block: Block,
        offsets: IntArray,
        labels: AnyArray | None,
        weights: FloatArray | None,
    ) -> None:
        self.measure, self.weights = structure.table_measure(), weights
        super().__init__(structure, block, offsets, labels, None if labels is None else labels.astype(np.int32))
        for i in range(self.n_examples) if self.known else ():
            self._check_measure(i)
        if not self.known and isinstance(self.measure, AtSize):
            for i, n in enumerate(np.diff(self.code_offsets).tolist()):
                size = structure.predicted_positive(n)
                if size is not None and size > n:
                    raise error_at(Place("X", i), f"k={self.measure.k} is larger than the number of rows, {n}; lower k")

    def _check_measure(self, i: int) -> None:
        labels = self.labels[self._span(i)]
        p = int(np.count_nonzero(labels))
        if not 0 < p < len(labels):  # an output, whose Ψ is asked for
            return
        try:
            self.measure.check(p, len(labels) - p)
        except ValueError as error:
            raise error_at(Place("X", i), str(error)) from None

    # ------------------------------------------------------------------ argmaxes

    def _argmax(self, i: int, scores: FloatArray, scale: float, code: CodeArray) -> float:
        labels = self.labels[self._span(i)]
        if not isinstance(self.measure, TableMeasure):
            return self._flip_rows(labels, scores, scale, code)
        positive, negative = self._sorted(scores, labels)
        ordered = Sorted(positive, negative, prefix_sums(positive), prefix_sums(negative), self.engine)
        a, b = self.measure.best(ordered, scale)
        self._mark(scores, labels, negative, positive, (b, a), code)
        return float(self.measure.loss(a, b, len(positive), len(negative))) if a < len(positive) or b else 0.0

    def _flip_rows(self, labels: AnyArray, scores: FloatArray, scale: float, code: CodeArray) -> float:
        """Write the labels where each row decides by itself."""
        code[:] = scores + scale * np.where(labels == 1, -1.0, 1.0) > 0.0
        wrong = code != labels
        return float(np.count_nonzero(wrong) if self.weights is None else np.sum(self.weights * wrong))

    def _sorted(self, scores: FloatArray, labels: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores of positive and of negative rows in descending order, each in its own thread if large."""
        by_label: dict[int, FloatArray] = {}

        def sort(first: int, stop: int) -> None:
            for label in range(first, stop):
                by_label[label] = np.sort(scores[labels == label])[::-1]

        if self.engine is None or len(scores) < MANY_ROWS:
            sort(0, 2)
        else:
            self.engine.map_range(sort, 0, 2)
        return by_label[1], by_label[0]

    @staticmethod
    def _mark(
        scores: FloatArray, labels: AnyArray, zero: FloatArray, one: FloatArray, sizes: tuple[int, int], code: CodeArray
    ) -> None:
        """Write 1 for the first sizes[label] rows of each label in descending order of scores; ties by position."""
        limits, at_limits = np.full(2, np.inf), np.zeros(2, np.int64)
        for label, (ordered, size) in enumerate(zip((zero, one), sizes, strict=True)):
            if size:
                limits[label] = ordered[size - 1]
                at_limits[label] = size - int(np.searchsorted(-ordered[:size], -limits[label]))
        _tables.mark_best(scores, labels, limits, at_limits, code)

    def _best(self, i: int, scores: FloatArray, code: CodeArray) -> None:
        k = self.structure.predicted_positive(len(scores))
        if k is None:
            code[:] = scores > 0.0
            return
        nothing, ordered = np.zeros(len(scores), np.int8), np.sort(scores)[::-1]
        self._mark(scores, nothing, ordered, ordered[:0], (k, 0), code)

    # ------------------------------------------------------------------ coefficients

    def coefficients(self, i: int, code: CodeArray) -> FloatArray:
        c: FloatArray = code.astype(np.float64) - 0.5
        return c if self.weights is None else c * self.weights

    def true_coefficients(self, i: int) -> FloatArray:
        p, k = self._sizes(i)
        if k == p:
            return self.coefficients(i, self.truths[self._span(i)])
        labels = self.labels[self._span(i)]
        n = len(labels)
        of_positive, of_negative = min(1.0, k / max(p, 1)), max(0.0, (k - p) / max(n - p, 1))
        return np.where(labels == 1, of_positive, of_negative) - 0.5

    def _reaches_truth(self, i: int) -> bool:
        p, k = self._sizes(i)
        return k == p

    def _sizes(self, i: int) -> tuple[int, int]:
        """Return the number of positive rows of the truth of example i, and that of its outputs.

        Where the latter is not given, it counts as that of the truth, which is an output.
        """
        labels = self.labels[self._span(i)]
        p = int(np.count_nonzero(labels))
        return p, self.measure.size(p, len(labels)) if isinstance(self.measure, AtSize) else p

    def _largest_coefficient(self) -> float:
        return 1.0 if self.weights is None else float(self.weights.max(initial=0.0))

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        name = getattr(self.structure.measure, "__qualname__", self.structure.measure)
        about = repr(name).encode()
        weights = () if self.weights is None else (self.weights,)
        return *super().digest_arrays(), np.frombuffer(about, np.uint8), *weights
