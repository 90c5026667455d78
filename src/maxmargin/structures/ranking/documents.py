"""Base class of structures over the documents of queries: features, relevance labels, outputs of three kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.codes import spans
from maxmargin.core.errors import ExampleError, Place, Where, error_at, inside
from maxmargin.core.structure import LatentCompiled
from maxmargin.encoding.sequences import SequenceEncoder
from maxmargin.kernel_features.kernel import KernelFeatures, PartKernel
from maxmargin.kernel_features.points import PointFeatures
from maxmargin.parts.examples import PartExamples
from maxmargin.structures.ranking.outputs import pack, unpack


class Form(ABC):
    """What a measure defines: its outputs, their features and losses, and its encoded examples."""

    #: Classes of outputs.
    outputs: ClassVar[tuple[type, ...]]

    @abstractmethod
    def examples(self, structure: Any, rows: Any, offsets: IntArray, labels: FloatArray | None) -> PartExamples:
        """Return the encoded queries; without labels they can only be used for prediction."""

    @abstractmethod
    def check_labels(self, labels: FloatArray, where: Where) -> None:
        """Raise an error at `where` if a query with these labels cannot be learnt from."""

    @abstractmethod
    def counts(self, output: Any, n: int) -> tuple[IntArray, FloatArray]:
        """Return documents and their counts c, with Ψ = Σ c_j x_j, of an output for n documents, checked."""

    @abstractmethod
    def loss(self, labels: FloatArray, output: Any) -> float:
        """Return the loss of an output, checked."""

    @abstractmethod
    def enumerate(self, n: int) -> Iterator[Any]:
        """Yield all outputs for n documents without labels."""


class DocumentExamples(PartExamples):
    """Documents of all queries, each a part.

    Attributes
    ----------
    offsets : ndarray of int64
        Offsets of the documents of each query.
    """

    whole_counts = False

    offsets: IntArray

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the scores w·x of the documents of each query of ids."""
        values, starts = self.scores(w, ids)[0]
        return [values[a:b] for a, b in pairwise(starts.tolist())]

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"offsets": np.concatenate([[0], np.cumsum(self.offsets[ids + 1] - self.offsets[ids])])}

    def _documents(self, names: Sequence[str], ids: IntArray) -> dict[str, Any]:
        """Return arrays over documents for the given queries."""
        rows = spans(ids, self.offsets)
        return {name: getattr(self, name)[rows] for name in names}


class DocumentStructure(LatentCompiled):
    """Structure whose inputs are the documents of a query and whose truths are their relevance labels.

    A subclass defines `form`. The true ranking is not given, only labels, and often many rankings are equally good:
    examples implement `complete`, which finds the one with the best score among them.
    """

    output_name: ClassVar[str] = "ranking"

    @abstractmethod
    def form(self) -> Form:
        """Return what the measure defines; raise ValueError if a parameter is invalid."""

    def check_parameters(self) -> None:
        self.form()

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> DocumentStructure:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> PartExamples:
        """Fit and encode in one pass over the data."""
        encoder = SequenceEncoder()
        encoder.kernel = self.kernel_
        form, (rows, offsets) = self.form(), encoder.fit(X)
        self._set_sizes(encoder)
        return form.examples(self, rows, offsets, self._labels(form, Y, offsets))

    def _set_sizes(self, documents: SequenceEncoder) -> None:
        self.documents_, self.size = documents, documents.output_width

    def use_kernel(self, kernel: PartKernel) -> None:
        self.kernel_ = kernel

    def name_points(self, rows: IntArray, offsets: IntArray) -> None:
        """Name the points of a kernel by rows of one matrix, given the row of each document of all queries."""
        features = self.documents_.features
        if isinstance(features, PointFeatures) and features.places is not None:
            found = rows[offsets[features.places[:, 0]] + features.places[:, 1]]
            self.documents_.features = replace(features, places=np.stack([found, 0 * found], axis=1), row="")

    @property
    def features_(self) -> KernelFeatures | None:
        """Features of the kernel; None without one."""
        return self.documents_.features

    @property
    def n_points(self) -> int:
        return self.documents_.n_points

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        features = self.documents_.features
        if not isinstance(features, PointFeatures):
            return []
        return [(features, w[:, None][: features.width])]

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[DocumentStructure, FloatArray]:
        if self.kernel_ is None:
            return self, w
        model = copy(self)
        documents, table = self.documents_.expanded(w[:, None], positions)
        model._set_sizes(documents)
        return model, table.ravel()

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> PartExamples:
        form, (rows, offsets) = self.form(), self.documents_.encode(X)
        return form.examples(self, rows, offsets, None if Y is None else self._labels(form, Y, offsets))

    @staticmethod
    def _labels(form: Form, Y: Sequence[Any], offsets: IntArray) -> FloatArray:
        """Return the labels of all documents, checked."""
        if len(Y) != len(offsets) - 1:
            raise ValueError(f"X has {len(offsets) - 1} queries but Y has {len(Y)}")
        parts = [relevance_labels(y, Place("Y", i)) for i, y in enumerate(Y)]
        for i, part in enumerate(parts):
            n = int(offsets[i + 1] - offsets[i])
            if len(part) != n:
                raise ExampleError.at(Place("X", i), f"{n} documents but {len(part)} relevance labels")
            form.check_labels(part, Place("Y", i))
        return np.concatenate([*parts, np.zeros(0)])

    # ------------------------------------------------------------------ one example

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, ŷ) of an output, or of the initial truth of relevance labels."""
        form = self.form()
        if not isinstance(y, form.outputs):
            return super().joint_feature(x, y)
        matrix, offsets = self.documents_.encode([x])
        documents, counts = form.counts(y, int(offsets[1]))
        return np.asarray(matrix[documents].T @ counts).ravel()

    def _joint_features(self, examples: Any) -> FloatArray:
        features: FloatArray = examples.joint_features()
        return features

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ of the output y_hat for the relevance labels y; 0 for the labels themselves."""
        form, labels = self.form(), relevance_labels(y, "y")
        if isinstance(y_hat, form.outputs):
            form.check_labels(labels, "y")
            return form.loss(labels, y_hat)
        if not np.array_equal(labels, relevance_labels(y_hat, "y_hat")):
            names = " or ".join(kind.__name__ for kind in form.outputs)
            raise ValueError(f"expected {names}, or the relevance labels themselves, as y_hat")
        return 0.0

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all outputs, for tests."""
        return self.form().enumerate(int(self.documents_.encode([x])[1][1]))

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self) -> AnyArray:
        return np.array([*self.documents_.column_names()], object)

    def _learnt(self) -> dict[str, Any]:
        return {"documents": self.documents_.get_state()}

    def _set_learnt(self, learnt: Any) -> None:
        self.check_parameters()
        self._set_sizes(SequenceEncoder().set_state(learnt["documents"]))

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        return pack(outputs)

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return unpack(packed)


def relevance_labels(y: Any, where: Where) -> FloatArray:
    """Return labels as finite floats, one per document."""
    try:
        labels = np.asarray(y, float)
    except (TypeError, ValueError):
        raise error_at(where, f"relevance labels must be numbers, found {y!r}") from None
    if labels.ndim != 1:
        raise error_at(where, f"expected one relevance label for each document, found {type(y).__name__} {y!r}")
    if not np.isfinite(labels).all():
        document = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise error_at(inside(where, f"document {document}"), f"relevance must be finite, found {y[document]!r}")
    return labels


def check_some_relevant(relevant: AnyArray, where: Where) -> None:
    """Raise an error at `where` if no document is relevant."""
    if not relevant.any():
        raise error_at(
            where,
            "the query has no relevant document (no label above 0), so it cannot be learnt from: leave it out",
        )


def distinct_documents(output: Any, expected: int, n: int, noun: str = "documents") -> list[int]:
    """Return the documents of an output; raise ValueError unless they are distinct, and as many as expected."""
    found = sorted(set(output))
    if len(found) != expected or len(output) != expected or (found and not 0 <= found[0] <= found[-1] < n):
        raise ValueError(f"expected {expected} distinct {noun} between 0 and {n - 1}, found {tuple(output)!r}")
    return list(output)
