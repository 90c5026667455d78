"""What the structures of this folder have in common: one example is a whole set of labelled rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, finite_number, is_list, whole_number
from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.ragged import ONLY, offsets_among, places, row_sums
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes, key_of, rounding_units
from maxmargin.core.scores import Scores
from maxmargin.core.structure import Compiled, WeightTable
from maxmargin.features.mercer.kernel import KernelFeatures
from maxmargin.features.rows.labels import Labels, distinct_labels
from maxmargin.features.rows.rows import squared_norms
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.structure import packed_codes, unpacked_codes

#: Length of the runs whose sums are added up so that rounding errors do not grow with the number of rows.
RUN = 1024


class RowEncoder(SequenceEncoder):
    """Encoder of sets of feature rows."""

    row = "row"


class RowSets(Compiled):
    """Base of structures whose examples are sets of rows, each with one of two labels.

    With ``n_labels=K`` above 1 each row has K labels of 0 and 1, and all n K of them count together.
    """

    learns: ClassVar[dict[str, type]] = {"rows_": RowEncoder}
    state_keys: ClassVar[dict[str, str]] = {"rows_": "rows"}
    kernel_rows: ClassVar[dict[str, str]] = {"rows_": "rows"}
    output_name: ClassVar[str] = "labelling"
    inputs_name: ClassVar[str] = "sets of rows"
    capabilities: ClassVar[frozenset[str]] = frozenset({"max_marginals"})
    #: Whether a constant feature has an effect.
    has_constant: ClassVar[bool] = True

    n_labels: int
    fit_intercept: bool
    rows_: SequenceEncoder

    # ------------------------------------------------------------------ what a structure writes

    @abstractmethod
    def _examples(
        self, block: Block, offsets: IntArray, labels: AnyArray | None, weights: FloatArray | None
    ) -> RowSetExamples:
        """Return the examples of rows and their labels 0 and 1."""

    # ------------------------------------------------------------------ sizes

    def check_parameters(self) -> None:
        whole_number(self.n_labels, "n_labels")
        check_flag(self.fit_intercept, "fit_intercept")

    @property
    def constant(self) -> bool:
        """Whether rows have a constant feature."""
        return bool(self.fit_intercept) and self.has_constant

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> RowSetExamples:
        rows, offsets = self.rows_.fit(X) if learn else self.rows_.encode(X)
        if learn:
            assert Y is not None
            self.labels_ = self._found_labels(Y)
        labels = None if Y is None else self._codes(Y, offsets, check=True)
        if learn and labels is not None:
            self.share_ = float(labels.mean())
        return self._of_rows(rows, offsets, labels)

    def fit_rows(
        self,
        rows: Any,
        labels: AnyArray,
        weights: FloatArray | None,
        classes: Labels,
        features: KernelFeatures | None = None,
    ) -> RowSetExamples:
        """Fit and encode one set of rows, an array or a CSR matrix that is not copied.

        Parameters
        ----------
        rows : {ndarray, CSR matrix} of shape (n, d)
            Checked rows.
        labels : ndarray of int8 of shape (n · n_labels,)
            Labels 0 and 1.
        weights : ndarray of shape (n · n_labels,) or None
            Weight of each label, for losses that are sums over rows.
        classes : Labels
            The two labels, or the names of `n_labels` labels.
        features : KernelFeatures, optional
            The features of a kernel that rows are made of.
        """
        self.set_width(int(rows.shape[1]), classes, float(labels.mean()), features)
        try:
            return self._of_rows(rows, np.array([0, rows.shape[0]]), labels, weights)
        except ExampleError as error:  # rows are what the user calls X, and there is only one set of them
            raise ValueError(error.message) from None

    def set_width(self, width: int, classes: Labels, share: float, features: KernelFeatures | None = None) -> None:
        """Set the number of features, or those of a kernel, the labels, and the share of positive ones."""
        encoder = RowEncoder().set_state({"width": width if features is None else features.n_inputs})
        encoder.features = features
        self.rows_, self.labels_, self.share_ = encoder, classes, share
        self._set_size()

    def _of_rows(
        self, rows: Any, offsets: IntArray, labels: AnyArray | None, weights: FloatArray | None = None
    ) -> RowSetExamples:
        return self._examples(Block(rows, offsets, self.n_labels, self.constant), offsets, labels, weights)

    def _found_labels(self, Y: Sequence[Any]) -> Labels:
        """Return the two labels that occur, or the numbers of several labels per row."""
        if self.n_labels > 1:
            return Labels(range(self.n_labels))
        labels = Labels(value for i, y in enumerate(Y) for value in _distinct(y, Place("Y", i)))
        if len(labels) != 2:
            shown = ", ".join(map(repr, labels.values[:5])) + (", …" if len(labels) > 5 else "")
            raise ValueError(f"Y: expected two labels, found {len(labels)}: {shown}")
        return labels

    def _codes(self, Y: Sequence[Any], offsets: IntArray, check: bool) -> AnyArray:
        """Return the labels of all sets as 0 and 1."""
        parts = [self._codes_of(y, Place("Y", i)) for i, y in enumerate(Y)]
        for i, part in enumerate(parts):
            n = int(offsets[i + 1] - offsets[i])
            if len(part) != n * self.n_labels:
                raise error_at(Place("X", i), f"{n} rows but {len(part) // self.n_labels} labels")
            if check and not 0 < np.count_nonzero(part) < len(part):
                raise error_at(Place("Y", i), f"all {n} rows have the same label, expected rows of both labels")
        return np.concatenate([*parts, np.zeros(0, np.int8)]).astype(np.int8)

    def _codes_of(self, y: Any, where: Where) -> AnyArray:
        """Return the labels of one set as 0 and 1, row by row."""
        if self.n_labels == 1:
            return self.labels_.encode(_listed(y, where), where).astype(np.int8)
        try:
            table = np.asarray(y, float)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[1] != self.n_labels or not np.isin(table, (0.0, 1.0)).all():
            raise error_at(
                where, f"expected an array (n, {self.n_labels}) of 0 and 1, found {type(y).__name__} {y!r:.60}"
            )
        return table.astype(np.int8).ravel()

    # ------------------------------------------------------------------ one example

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) of labels."""
        rows, offsets = self.rows_.encode([x])
        return self._of_rows(rows, offsets, self._codes([y], offsets, check=False)).joint_features()

    # ------------------------------------------------------------------ weights and saving

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rows": (self.rows_.output_width + self.constant, self.n_labels)}

    def feature_names(self, columns: Any = None) -> AnyArray:
        """Return the name of each weight, by the names of the columns if they are given."""
        known = columns is None or self.features_ is not None
        names = [*(self.rows_.column_names() if known else columns), *(["constant"] if self.constant else [])]
        labels = [str(label) for label in self.labels_.values] if self.n_labels > 1 else None
        return np.array(WeightTable(names, labels).names(), object)

    def _learnt(self) -> dict[str, Any]:
        return {**super()._learnt(), "labels": self.labels_.get_state(), "share": self.share_}

    def _set_learnt(self, learnt: Any) -> None:
        labels = Labels.from_state(learnt["labels"])
        expected = 2 if self.n_labels == 1 else self.n_labels
        if len(labels) != expected:
            raise ValueError(f"expected {expected} labels, found {len(labels)}")
        self._set_encoders(learnt)
        self.labels_, self.share_ = labels, finite_number(learnt["share"], "the share of positive rows")
        self._set_size()

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        return packed_codes([self._packed(output) for output in outputs])

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return [self.output_of(code) for code in unpacked_codes(packed)]

    @abstractmethod
    def _packed(self, output: Any) -> CodeArray:
        """Return an output as a row of int32."""

    @abstractmethod
    def output_of(self, code: CodeArray) -> Any:
        """Return the output of such a row; raise ValueError if it is not one."""


class RowSetExamples(PartExamples):
    """Sets of rows with labels; a code has one number for each label.

    Attributes
    ----------
    labels : ndarray of int8
        The labels of all sets, 0 and 1; of length 0 if they are not known.
    """

    data: ClassVar[dict[str, str]] = {"labels": "code_offsets"}
    derived: ClassVar[dict[str, str]] = {"_all_true": "code_offsets"}
    whole_counts = False

    def __init__(
        self, structure: RowSets, block: Block, offsets: IntArray, labels: AnyArray | None, truths: AnyArray | None
    ) -> None:
        self.labels = np.zeros(0, np.int8) if labels is None else labels
        code_offsets = offsets * structure.n_labels
        codes = None if truths is None else np.split(truths, code_offsets[1:-1])[: len(offsets) - 1]
        super().__init__(structure, [block], code_offsets, codes, [None])
        total = int(code_offsets[-1])
        self.operations = block.operations + total * max(1.0, np.log2(max(total, 2)))

    # ------------------------------------------------------------------ what a structure writes

    @abstractmethod
    def _argmax(self, i: int, scores: FloatArray, scale: float, code: CodeArray) -> float:
        """Write the code of example i with the greatest rise + scale · loss, and return its loss."""

    @abstractmethod
    def _best(self, i: int, scores: FloatArray, code: CodeArray) -> None:
        """Write the code of the greatest score, for labels that are not known."""

    @abstractmethod
    def coefficients(self, i: int, code: CodeArray) -> FloatArray:
        """Return c_p of a code of example i."""

    def true_coefficients(self, i: int) -> FloatArray:
        """Return c_p of the truth of example i."""
        return self.coefficients(i, self.truths[self._span(i)])

    # ------------------------------------------------------------------ what follows

    def _change(self, i: int, code: CodeArray) -> FloatArray:
        """Return c(y) − c(ŷ) of a code of example i."""
        change = self.coefficients(i, code)
        np.subtract(self._all_true[self._span(i)], change, out=change)
        return change

    @cached_property
    def _all_true(self) -> FloatArray:
        """The c_p of the truths of all examples."""
        return np.concatenate([*map(self.true_coefficients, range(self.n_examples)), np.zeros(0)])

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the scores of labels for each example of ids: how much predicting a label as positive adds."""
        values, starts = self.scores(w, ids)[0]
        K = self.structure.n_labels
        return [values[a:b].reshape(-1, K)[:, 0 if K == 1 else slice(None)] for a, b in pairwise(starts.tolist())]

    def _span(self, i: int) -> slice:
        return slice(int(self.code_offsets[i]), int(self.code_offsets[i + 1]))

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        values, starts = scores[0]
        for r, i in enumerate(ids.tolist()):
            span, s = self._span(i), values[starts[r] : starts[r + 1]]
            code = answers.codes[span]
            if not self.known:
                self._best(i, s, code)
                answers.losses[i], answers.rises[i], answers.keys[i] = 0.0, 0.0, key_of(code)
                continue
            answers.losses[i] = self._argmax(i, s, float(scales[r]), code)
            if np.array_equal(code, self.truths[span]) and self._reaches_truth(i):
                answers.keys[i], answers.rises[i] = 0, 0.0
            else:
                answers.keys[i], answers.rises[i] = key_of(code), -float(np.sum(self._change(i, code) * s))

    def _reaches_truth(self, i: int) -> bool:
        """Return whether the truth of example i is an output."""
        return True

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        return [self._all_parts(ids, [self.coefficients(i, codes[self._span(i)]) for i in ids.tolist()])]

    def _all_parts(self, ids: IntArray, coefficients: list[FloatArray]) -> Planes:
        offsets = offsets_among(ids, self.code_offsets)
        return Planes(offsets, places(offsets).astype(np.uint32), np.concatenate([*coefficients, np.zeros(0)]))

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        """Return c(y) − c(ŷ), without the rows of no change."""
        indptr, indices, values = np.zeros(len(ids) + 1, np.int64), [], []
        for r, i in enumerate(ids.tolist()):
            change = self._change(i, answers.codes[self._span(i)])
            changed = np.flatnonzero(change)
            indptr[r + 1] = indptr[r] + len(changed)
            indices.append(changed.astype(np.uint32))
            values.append(change[changed])
        none = np.zeros(0)
        return [Planes(indptr, np.concatenate([*indices, none.astype(np.uint32)]), np.concatenate([*values, none]))]

    def joint_features(self) -> FloatArray:
        rows = self._sums(ONLY, [self._all_parts(ONLY, [self.true_coefficients(0)])], np.float64)
        dense: FloatArray = rows.matrix(self.dim).toarray()[0]
        return dense

    def rounding_units(self) -> FloatArray:
        """Return the errors of sums of scores, which are added up in runs."""
        block, sizes = self.blocks[0], np.diff(self.code_offsets)
        if block.dense is not None:
            squares = np.einsum("ij,ij->i", block.dense, block.dense)
        else:
            squares = squared_norms(block.indptr, block.data)
        assert block.offsets is not None
        total = row_sums(np.sqrt(squares + float(block.constant)), block.offsets) * block.n_outputs
        terms = block.fullest(self.n_examples) + RUN + sizes / RUN
        return rounding_units(terms, self._largest_coefficient() * total)

    def _largest_coefficient(self) -> float:
        """Return an upper bound on |c_p|."""
        return 1.0


def prefix_sums(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, … n values, added up in runs so that rounding errors stay small."""
    n = len(values)
    out = np.zeros(n + 1)
    if n <= RUN:
        np.cumsum(values, out=out[1:])
        return out
    padded = np.zeros(-(-n // RUN) * RUN)
    padded[:n] = values
    runs = padded.reshape(-1, RUN)
    within = np.cumsum(runs, axis=1)
    within[1:] += np.cumsum(within[:-1, -1])[:, None]
    out[1:] = within.ravel()[:n]
    return out


def _distinct(y: Any, where: Place) -> list[Any]:
    """Return each label of one set once."""
    return distinct_labels(_listed(y, where), lambda row: inside(where, f"row {row}"))


def _listed(y: Any, where: Where) -> Any:
    """Return the labels of one set as a list or an array."""
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    if not is_list(y) or getattr(y, "ndim", 1) != 1:
        raise error_at(where, f"expected one label for each row, found {type(y).__name__} {y!r:.60}")
    return y
