"""Base class of structures over the documents of queries: features, relevance labels, outputs of three kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.structure import Compiled
from maxmargin.core.sums import PERTURB
from maxmargin.features.mercer.points import PointFeatures
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.parts.examples import PartExamples
from maxmargin.structures.ranking.outputs import pack, unpack


class DocumentEncoder(SequenceEncoder):
    """Encoder of the feature rows of documents."""

    row = "document"


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

    derived: ClassVar[dict[str, str]] = {"offsets": "offsets"}
    whole_counts = False
    why_not_summable = (
        "the sum over all rankings is the permanent of exp(c_p s_j), for which no fast algorithm is known; use "
        f"measure='precision@k', which has sums over sets of k documents; for rankings {PERTURB}, as in the model of "
        "Plackett and Luce"
    )

    offsets: IntArray

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[FloatArray]:
        """Return the scores w·x of the documents, for each query of ids."""
        values, starts = self.scores(w, ids)[0]
        return [values[a:b] for a, b in pairwise(starts.tolist())]


class DocumentStructure(Compiled):
    """Structure whose inputs are the documents of a query and whose truths are their relevance labels.

    A subclass defines `form`. The true ranking is not given, only labels, and often many rankings are equally good:
    examples implement `complete`, which finds the one with the best score among them.
    """

    learns: ClassVar[dict[str, type]] = {"documents_": DocumentEncoder}
    state_keys: ClassVar[dict[str, str]] = {"documents_": "documents"}
    kernel_rows: ClassVar[dict[str, str]] = {"documents_": "documents"}
    output_name: ClassVar[str] = "ranking"
    inputs_name: ClassVar[str] = "queries"

    documents_: DocumentEncoder

    @abstractmethod
    def form(self) -> Form:
        """Return the form that belongs to the measure; raise ValueError if a parameter is invalid."""

    def check_parameters(self) -> None:
        self.form()

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> PartExamples:
        form, (rows, offsets) = self.form(), self.documents_.fit(X) if learn else self.documents_.encode(X)
        return form.examples(self, rows, offsets, None if Y is None else self._labels(form, Y, offsets))

    def name_points(self, rows: IntArray, offsets: IntArray) -> None:
        """Name the points of a kernel by rows of one matrix, given the row of each document of all queries."""
        features = self.documents_.features
        if isinstance(features, PointFeatures) and features.places is not None:
            named = rows[offsets[features.places[:, 0]] + features.places[:, 1]]
            self.documents_.features = replace(features, places=np.stack([named, 0 * named], axis=1), row="")

    @staticmethod
    def _labels(form: Form, Y: Sequence[Any], offsets: IntArray) -> FloatArray:
        """Return the labels of all documents, checked."""
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

    # ------------------------------------------------------------------ saving

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
    documents = sorted(set(output))
    if (
        len(documents) != expected
        or len(output) != expected
        or (documents and not 0 <= documents[0] <= documents[-1] < n)
    ):
        raise ValueError(f"expected {expected} distinct {noun} between 0 and {n - 1}, found {tuple(output)!r}")
    return list(output)
