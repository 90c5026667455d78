"""Multiclass classification: one label per row (Crammer and Singer 2001; Tsochantaridis et al. 2004, section 2).

Ψ(x, y) = x ⊗ e(y),    e(y) the unit vector of label y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import check_flag, whole_number
from maxmargin._base.errors import Place
from maxmargin._base.jit import jit
from maxmargin._base.memory import check_rows
from maxmargin._base.ragged import ONLY, offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.log_sums import uniform
from maxmargin.bounds.rescaling import violation
from maxmargin.core.examples import Examples
from maxmargin.core.planes import HASH_PRIME, HASH_START, Answers, Planes, hash_step, rounding_units
from maxmargin.core.polytopes import Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.structure import Compiled
from maxmargin.core.sums import Sums
from maxmargin.features.mercer.on_rows import MatrixEncoder
from maxmargin.features.rows.labels import Labels, check_costs, cost_matrix, distinct_labels, named_classes
from maxmargin.features.rows.matrices import feature_matrix
from maxmargin.features.rows.rows import Rows, hash_rows

if TYPE_CHECKING:
    from maxmargin.bounds import Bound


class Multiclass(Compiled):
    """One of K labels for each row of features.

    Weights are stored feature by feature: entry f K + k is feature f for class k.

    Parameters
    ----------
    cost : "zero-one", array of shape (K, K) or dict, default="zero-one"
        The loss: zero-one, a cost matrix (rows: true classes), or a dict of costs by true class (default 1).
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for each class (regularised, as in LIBLINEAR).
    classes : sequence, optional
        All labels in order, in case some do not occur in the training data; by default the labels of the data, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]]), ["red", "green", "blue"]
    >>> model = mm.StructuralSVM(mm.Multiclass(cost={"red": 5.0}), C=1.0).fit(X, y)
    >>> model.predict(X)
    ['red', 'green', 'blue']
    """

    learns: ClassVar[dict[str, type]] = {"rows_": MatrixEncoder}
    state_keys: ClassVar[dict[str, str]] = {"rows_": ""}
    kernel_rows: ClassVar[dict[str, str]] = {"rows_": "rows"}
    output_name: ClassVar[str] = "label"
    inputs_name: ClassVar[str] = "rows"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope", "sums"})
    #: Named costs.
    cost_names: ClassVar[tuple[str, ...]] = ("zero-one",)

    rows_: MatrixEncoder

    def __init__(self, *, cost: Any = "zero-one", fit_intercept: bool = True, classes: Any = None) -> None:
        self.cost, self.fit_intercept, self.classes = cost, fit_intercept, classes

    def check_parameters(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_costs(self.cost, self.cost_names, "cost")

    def _encoded(self, X: Any, Y: Any, learn: bool) -> MulticlassExamples:
        rows = feature_matrix(X)
        if learn:
            labels = (
                Labels(distinct_labels(labels_of(Y), place_of_label))
                if self.classes is None
                else named_classes(self.classes)
            )
            self._set_labels(labels)
        rows = self.rows_.fit(rows) if learn else self.rows_.encode(rows)
        return MulticlassExamples(self, self._compiled_rows(rows), self._codes(Y))

    def survey(self, X: Any, Y: Any) -> dict[str, Any]:
        if self.kernel_ is not None:
            raise self._not_surveyed("kernel")
        return {"width": X.shape[1], "labels": distinct_labels(labels_of(Y), place_of_label)}

    def learn_from(self, surveys: Sequence[dict[str, Any]]) -> None:
        labels = Labels(label for survey in surveys for label in survey["labels"])
        self._set_labels(labels if self.classes is None else named_classes(self.classes))
        self.rows_ = MatrixEncoder()
        self.rows_.width = max(survey["width"] for survey in surveys)
        self._set_size()

    def _set_labels(self, labels: Labels) -> None:
        """Set all attributes that follow from the labels."""
        if len(labels) < 2:
            raise ValueError(f"expected at least two classes, found one class: {labels.values}")
        self.labels_, self.costs_ = labels, cost_matrix(self.cost, labels)

    @property
    def n_features_(self) -> int:
        """Number of features of a row."""
        return self.rows_.width

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rows": (self._n_columns, len(self.labels_))}

    @property
    def _n_columns(self) -> int:
        """Number of columns of rows: the features, those of the kernel if there is one, and the constant."""
        return self.rows_.output_width + bool(self.fit_intercept)

    def _codes(self, Y: Any) -> CodeArray | None:
        """Return the codes of the labels, if there are labels."""
        return None if Y is None else self.labels_.encode(labels_of(Y), place_of_label)

    def _compiled_rows(self, rows: Any) -> Rows:
        check_rows([rows], f"encoding {rows.shape[0]} rows with {rows.shape[1]} features")
        return Rows(rows, self.fit_intercept)

    def loss(self, y: Any, y_hat: Any) -> float:
        true, predicted = self.labels_.encode([y, y_hat], ["y", "y_hat"].__getitem__)
        return float(self.costs_[true, predicted])

    def score_loss(self, y: Any, y_hat: Any) -> float:
        if isinstance(self.cost, str | Mapping) and self.labels_.find([y])[0] < 0:
            return 1.0
        return self.loss(y, y_hat)

    def enumerate(self, x: Any) -> list[Any]:
        """Return all labels."""
        return list(self.labels_.values)

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best labels with their scores, best first."""
        k = whole_number(k, "k")
        scores = self.encode([x]).table(np.asarray(w, float), ONLY)[0]
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.labels_.values[c], float(scores[c])) for c in order]

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        names = self._column_names(columns)
        return np.array([f"{name} → {label}" for name in names for label in self.labels_.values], object)

    def _column_names(self, columns: Sequence[str] | None) -> list[str]:
        return self.rows_.column_names(columns) + ["intercept"] * bool(self.fit_intercept)

    def weight_columns(self, columns: Sequence[str] | None = None) -> dict[str, AnyArray]:
        names, labels = np.array(self._column_names(columns), object), self.labels_.array().astype(object)
        return {"feature": np.repeat(names, len(labels)), "label": np.tile(labels, len(names))}

    def _learnt(self) -> dict[str, Any]:
        return {"labels": self.labels_.get_state(), **super()._learnt()}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_encoders(learnt)
        self._set_labels(Labels.from_state(learnt["labels"]))
        self._set_size()

    def pack_outputs(self, outputs: list[Any]) -> AnyArray:
        return self.labels_.encode(outputs, "outputs")

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return self.labels_.decode(np.asarray(packed))


def place_of_label(i: int) -> Place:
    """Return the place of a label in messages."""
    return Place("Y", i)


def labels_of(Y: Any) -> list[Any]:
    """Return labels as a list."""
    return np.asarray(Y).ravel().tolist() if isinstance(Y, np.ndarray) else list(Y)


class MulticlassExamples(Examples):
    """Rows with their labels; the code of an output is its label."""

    one_part = summable = True

    def __init__(self, structure: Multiclass, rows: Rows, labels: CodeArray | None) -> None:
        n = len(rows.indptr) - 1
        self._set(
            structure.costs_, structure.labels_.values, rows, np.full(n, -1, np.int32) if labels is None else labels
        )

    def _set(self, costs: FloatArray, label_values: list[Any], rows: Rows, labels: CodeArray) -> None:
        self.costs, self.label_values, self.rows, self.truths = costs, label_values, rows, labels
        self.n_examples, self.n_labels = len(labels), len(label_values)
        self.dim = rows.n_columns * self.n_labels
        self.code_offsets = np.arange(self.n_examples + 1)
        self.operations = 0.5 * len(rows.indices) * self.n_labels  # rows are read sequentially, twice as fast
        self.plane_entries = 2 * rows.counts()
        self.float32_exact = rows.float32_exact

    def merged(self, weights: FloatArray) -> tuple[MulticlassExamples, FloatArray, IntArray]:
        """Merge equal rows with equal labels into one example with the sum of their weights, in a canonical order.

        The result of a fit then depends neither on the order of the rows nor on whether a row occurs twice or has twice
        the weight.

        Returns
        -------
        examples : MulticlassExamples
            The distinct examples.
        weights : array of float
            Their weights.
        firsts : array of int
            The first position of each in the original order.
        """
        first, group = self._equal_rows()
        part = self.take(first)
        part.shuffled = True  # sorted by hash
        total: FloatArray = np.bincount(group, weights, len(first)).astype(float)
        return part, total, first.astype(np.int64)

    def example_hashes(self) -> tuple[IntArray, IntArray]:
        """Return two independent hashes of each pair of row and label."""
        again = np.empty(self.n_examples, np.int64)
        hash_rows(self.rows.indptr, self.rows.indices, (self.rows.values() + 0.0).view(np.int64), HASH_PRIME, again)
        return hash_pairs(self.rows.hashes(), self.truths), hash_pairs(again, self.truths)

    def _equal_rows(self) -> tuple[IntArray, IntArray]:
        """Return the first position of each distinct pair of row and label, by hash, and the pair of each row."""
        keys = hash_pairs(self.rows.hashes(), self.truths)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        if same_rows(first[group], *self.rows.arrays(), self.truths):
            return first, group
        contents = [(int(keys[i]), *self._content(i)) for i in range(self.n_examples)]  # unequal rows, equal hashes
        number = {content: g for g, content in enumerate(sorted(set(contents)))}
        group = np.fromiter(map(number.__getitem__, contents), np.int64, len(contents))
        return np.unique(group, return_index=True)[1], group

    def _content(self, i: int) -> tuple[int, bytes, bytes]:
        """Return a row with its label as a value that can be compared."""
        span = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
        return int(self.truths[i]), self.rows.indices[span].tobytes(), (self.rows.data[span] + 0.0).tobytes()

    def table(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return the score of every label for each example of ids."""
        return self.rows.scores(w.reshape(-1, self.n_labels), ids)

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return the scores of the parts: one for each label."""
        return [Scores(self.table(w, ids).ravel(), np.arange(len(ids) + 1) * self.n_labels)]

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the score of every label, for each example of ids."""
        return list(self.table(w, ids))

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._decode(scores[0].values.reshape(-1, self.n_labels), ids, scales, -1, answers)

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        table = scores[0].values.reshape(-1, self.n_labels)
        top = table.max(axis=1, keepdims=True)
        shares = np.exp(table - top)
        totals = shares.sum(axis=1, keepdims=True)
        shares /= totals
        expected = np.where(shares > 0.0, shares * table, 0.0).sum(axis=1)
        if coefficients is not None:
            shares *= coefficients[:, None]
        return Sums((top + np.log(totals)).ravel(), expected, [shares.ravel()])

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.zeros((n, len(ids)), np.int32)
        sample_labels(scores[0].values.reshape(-1, self.n_labels), seeds, codes)
        return codes

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        if not scales.any() or (self.truths[ids] < 0).all():
            return scores
        costs = scales[:, None] * self.costs[self.truths[ids]]
        return [Scores(scores[0].values + costs.ravel(), scores[0].starts)]

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        self.rows.add_weighted(values[0].reshape(-1, self.n_labels), ids, out.reshape(-1, self.n_labels), squared)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        return [Scores(-(marginals[0].reshape(-1, self.n_labels) @ self.costs).ravel(), scores[0].starts)]

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        return marginals[0]

    def rounding_units(self) -> FloatArray:
        return rounding_units(self.rows.counts(), self.rows.norms())

    def exact_for(self, bound: Bound) -> bool:
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._decode(self.table(w, ids), ids, np.ones(len(ids)), bound.form, answers)

    def _decode(self, table: FloatArray, ids: IntArray, scales: FloatArray, form: int, answers: Answers) -> None:
        decode_labels(
            ids, table, self.truths, self.costs, scales, form, answers.codes, answers.losses,
            answers.rises, answers.keys,
        )  # fmt: skip

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        rows = self.rows
        indptr = offsets_of(self.plane_entries[ids])
        planes = Planes(indptr, np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], self.value_type))
        label_planes(
            ids, rows.indptr, rows.indices, rows.data, self.truths, answers.codes, self.n_labels, indptr,
            planes.indices, planes.values,
        )  # fmt: skip
        return planes

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        return [Planes(np.arange(len(ids) + 1), codes[ids].astype(np.uint32), np.ones(len(ids)))]

    def polytope(self, example: int) -> Polytope:
        return Polytope(np.ones((1, self.n_labels)), 1.0, 1.0)

    def part_features(self, example: int) -> Any:
        return sp.csr_array(sp.kron(self.rows.matrix(example, example + 1), sp.eye_array(self.n_labels)))

    def take(self, ids: IntArray) -> MulticlassExamples:
        part = object.__new__(MulticlassExamples)
        part._set(self.costs, self.label_values, self.rows.take(ids), self.truths[ids])
        return part

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.label_values[int(code[0])]

    def outputs(self, answers: Answers) -> list[Any]:
        return [self.label_values[code] for code in answers.codes.tolist()]

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *self.rows.arrays(), self.truths, self.costs


def hash_pairs(hashes: IntArray, labels: CodeArray) -> IntArray:
    """Compute hashes of pairs: the label mixed into the hash of its row."""
    with np.errstate(over="ignore"):
        return (hashes ^ (labels.astype(np.int64) + 1)) * HASH_PRIME


@jit
def same_rows(other, indptr, indices, data, labels):
    """Return whether every row i equals the row other[i], label included, entry by entry."""
    for i in range(len(other)):
        p, j = indptr[i], other[i]
        if labels[i] != labels[j] or indptr[i + 1] - p != indptr[j + 1] - indptr[j]:
            return False
        for q in range(indptr[j], indptr[j + 1]):
            if indices[p] != indices[q] or data[p] != data[q]:
                return False
            p += 1
    return True


@jit
def sample_labels(scores, seeds, codes):
    """Write labels drawn with probabilities proportional to exp(score), one row of `codes` for each sample."""
    state, size = np.zeros(1, np.uint64), scores.shape[1]
    weight = np.empty(size)
    for r in range(len(scores)):
        top, total = scores[r].max(), 0.0
        for k in range(size):
            weight[k] = np.exp(scores[r, k] - top)
            total += weight[k]
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            left, label = uniform(state) * total, 0
            for k in range(size):
                if weight[k] > 0.0:
                    label = k
                    left -= weight[k]
                    if left < 0.0:
                        break
            codes[m, r] = label


@jit
def decode_labels(ids, scores, labels, costs, scales, form, codes, losses, rises, keys):
    """Find the label of greatest violation of each row: by `form`, or by rise + scale · cost if form is −1.

    Rows without a true label (−1) get their best label. Ties go to the first label.
    """
    n_labels = scores.shape[1]
    for r in range(len(ids)):
        i = ids[r]
        y, row = labels[i], scores[r]
        if y < 0:
            best = 0
            for k in range(1, n_labels):
                if row[k] > row[best]:
                    best = k
            codes[i], losses[i], rises[i], keys[i] = best, 0.0, row[best], hash_step(HASH_START, best)
            continue
        best, most, truth = y, 0.0, row[y]
        for k in range(n_labels):
            rise = row[k] - truth
            v = rise + scales[r] * costs[y, k] if form < 0 else violation(form, rise, costs[y, k])
            if v > most or (v == most and k < best):
                most, best = v, k
        codes[i], losses[i], rises[i] = best, costs[y, best], row[best] - truth
        keys[i] = 0 if best == y else hash_step(HASH_START, best)


@jit
def label_planes(ids, indptr, indices, data, labels, codes, n_labels, out_ptr, out_index, out_value):
    """Write +x for the true label and −x for the coded label."""
    for r in range(len(ids)):
        i, p = ids[r], out_ptr[r]
        y, c = labels[i], codes[i]
        for q in range(indptr[i], indptr[i + 1]):
            at = np.int64(indices[q]) * n_labels
            out_index[p], out_value[p] = at + y, data[q]
            out_index[p + 1], out_value[p + 1] = at + c, -data[q]
            p += 2
