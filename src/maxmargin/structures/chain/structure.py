"""Linear chains: a label per token, first-order transitions (Tsochantaridis et al. 2004, section 5.3).

    Ψ(x, y) = [ Σ_t x_t ⊗ e(y_t) | Σ_t e(y_{t−1}) ⊗ e(y_t) | e(y_1) | e(y_T) | Σ_t z_t ⊗ e(y_{t−1}) ⊗ e(y_t) ]

The blocks are token features, transitions, start, end, and transition features z if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._checked import check_flag, is_list, whole_number
from maxmargin._memory import check_memory
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.errors import ExampleError, Place, Where, error_at, inside
from maxmargin.core.structure import Compiled
from maxmargin.encoding.costs import check_costs, cost_matrix
from maxmargin.encoding.labels import Labels, distinct_labels, named_classes
from maxmargin.encoding.rows import Rows
from maxmargin.encoding.sequences import SequenceEncoder
from maxmargin.encoding.template_encoder import TemplateEncoder
from maxmargin.encoding.templates import TokenTemplates
from maxmargin.kernel_features.kernel import PartKernel
from maxmargin.kernel_features.points import PointFeatures
from maxmargin.structures.chain import _kernels as kernels
from maxmargin.structures.chain.constraints import count_sequences, feasible_lengths, resolve_constraints
from maxmargin.structures.chain.examples import ChainExamples
from maxmargin.structures.chain.seen_pairs import SeenPairs

#: Bytes of the k best labellings, per token, label and labelling: a score and a pointer, and the labelling itself.
_BYTES_PER_STEP = 8.0 + 8.0 + 4.0


class Chain(Compiled):
    """Sequences of labels.

    Each x is an array (T, d), a sparse matrix, or a list of tokens, each a dict or a list of strings; each y is a
    sequence of T labels.

    Parameters
    ----------
    cost : str, array of shape (K, K) or dict, default="hamming"
        The loss: ``"hamming"`` (number of wrong labels), ``"hamming-share"`` (fraction of wrong labels), ``"zero-one"``
        (1 unless all labels are correct), a cost matrix per token (rows: true labels), or a dict of costs by true label
        (default 1).
    constraints : "bio" (or "iob2"), "bioes", "bilou", Constraints or sequence of pairs, optional
        Forbidden transitions; a pair is (label, next label).
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every token.
    start_end : bool, default=True
        Whether to use weights for the first and for the last label.
    transition_features : bool, default=False
        Whether each x is a pair (tokens, transitions), the second with T − 1 rows of features.
    classes : sequence, optional
        All labels in order, in case some do not occur in the training data; by default the labels of the data, sorted.
    templates : TokenTemplates, optional
        Templates that make the features; each x is then a list of words, or of tuples of columns.
    min_count : int, default=1
        Named features of tokens that occur fewer times in the training data are left out.
    seen_pairs : bool, default=False
        Whether a feature of a token has weights only for the labels with which it occurs in the training data. All
        other weights are 0, and are neither learnt nor stored.
    """

    output_name: ClassVar[str] = "label sequence"
    #: Named costs.
    cost_names: ClassVar[tuple[str, ...]] = ("hamming", "hamming-share", "zero-one")

    def __init__(
        self,
        *,
        cost: Any = "hamming",
        constraints: Any = None,
        fit_intercept: bool = True,
        start_end: bool = True,
        transition_features: bool = False,
        classes: Any = None,
        templates: TokenTemplates | None = None,
        min_count: int = 1,
        seen_pairs: bool = False,
    ) -> None:
        self.cost, self.constraints, self.fit_intercept, self.start_end = cost, constraints, fit_intercept, start_end
        self.transition_features, self.classes = transition_features, classes
        self.templates, self.min_count, self.seen_pairs = templates, min_count, seen_pairs

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Chain:
        self.check_parameters()
        self.fit_encode(X, Y)
        return self

    def check_parameters(self) -> None:
        for name in ("fit_intercept", "start_end", "transition_features", "seen_pairs"):
            check_flag(getattr(self, name), name)
        whole_number(self.min_count, "min_count")
        if not (self.templates is None or isinstance(self.templates, TokenTemplates)):
            raise ValueError(f"templates must be TokenTemplates or None, found {self.templates!r}")
        check_costs(self.cost, self.cost_names, "cost")

    def use_kernel(self, kernel: PartKernel) -> None:
        for name, given in (("seen_pairs", self.seen_pairs), ("templates", self.templates is not None)):
            if given:
                raise ValueError(f"a kernel needs the features of tokens as rows, which {name} does not have")
        self.kernel_ = kernel

    @property
    def n_points(self) -> int:
        return self.tokens_.n_points if isinstance(self.tokens_, SequenceEncoder) else 0

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        features = self.tokens_.features if isinstance(self.tokens_, SequenceEncoder) else None
        if not isinstance(features, PointFeatures):
            return []
        return [(features, w[: self.n_token_weights_].reshape(-1, len(self.labels_))[: features.width])]

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[Chain, FloatArray]:
        if self.kernel_ is None:
            return self, w
        model, tokens = copy(self), self.split_weights(w)["tokens"]
        model.tokens_, table = self.tokens_.expanded(tokens, positions)  # type: ignore[union-attr]
        model._set_sizes()
        return model, np.concatenate([table.ravel(), w[self.n_token_weights_ :]])

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> ChainExamples:
        """Fit and encode in one pass over the data."""
        self._set_labels(Labels(_distinct(Y)) if self.classes is None else named_classes(self.classes))
        tokens, edges = self._split(X)
        matrix, offsets = self.tokens_.fit(tokens)
        edge_matrix = None if self.edges_ is None else self._place_edges(*self.edges_.fit(edges), offsets)
        labels, rows = self._encode_labels(Y, offsets), self._rows(matrix)
        if self.seen_pairs:
            self.seen_ = SeenPairs.of(rows, labels, len(self.labels_))
        self._set_sizes()
        return self._examples(rows, offsets, edge_matrix, labels)

    def _rows(self, matrix: Any) -> Rows:
        return matrix if isinstance(matrix, Rows) else Rows(matrix, self.fit_intercept)

    seen_: SeenPairs | None

    def _set_labels(self, labels: Labels) -> None:
        """Set all attributes that follow from the labels, and new encoders."""
        if len(labels) < 2:
            raise ValueError(f"expected at least two classes, found one class: {labels.values}")
        self.labels_, self.costs_ = labels, cost_matrix(self.cost, labels)
        tables = resolve_constraints(self.constraints, labels).tables(labels)
        self.allowed_, self.start_allowed_, self.end_allowed_ = tables
        self.tokens_, self.seen_ = self._token_encoder(), None
        self.edges_ = SequenceEncoder("[1]", may_be_empty=True) if self.transition_features else None

    def _token_encoder(self) -> SequenceEncoder | TemplateEncoder:
        if self.templates is None:
            encoder = SequenceEncoder(min_count=self.min_count)
            encoder.kernel = self.kernel_
            return encoder
        return TemplateEncoder(self.templates, bool(self.fit_intercept), self.min_count)

    def _set_sizes(self) -> None:
        """Set all attributes that follow from the labels and the encoders."""
        size = len(self.labels_)
        self.n_columns_ = self.tokens_.output_width + self.fit_intercept
        self.n_token_weights_ = self.n_columns_ * size if self.seen_ is None else len(self.seen_)
        n_edges = self.edges_.width if self.edges_ else 0
        self.size = self.n_token_weights_ + size * size + 2 * size * bool(self.start_end) + n_edges * size * size

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> ChainExamples:
        tokens, edges = self._split(X)
        matrix, offsets = self.tokens_.encode(tokens)
        edge_matrix = None if self.edges_ is None else self._place_edges(*self.edges_.encode(edges), offsets)
        labels = None if Y is None else self._encode_labels(Y, offsets)
        return self._examples(self._rows(matrix), offsets, edge_matrix, labels)

    def _split(self, X: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        if not self.transition_features:
            return X, ()
        for i, x in enumerate(X):
            if not (isinstance(x, tuple) and len(x) == 2):
                raise ExampleError.at(Place("X", i), "with transition_features, expected a pair (tokens, transitions)")
        return [x[0] for x in X], [x[1] for x in X]

    @staticmethod
    def _place_edges(matrix: Any, edge_offsets: IntArray, offsets: IntArray) -> Any:
        """Return one row per token: the features of the transition into it, empty for first tokens."""
        found, expected = np.diff(edge_offsets), np.maximum(np.diff(offsets) - 1, 0)
        if (found != expected).any():
            i = int(np.flatnonzero(found != expected)[0])
            raise ExampleError.at(
                Place("X", i),
                f"{int(offsets[i + 1] - offsets[i])} tokens have {expected[i]} transitions, "
                f"found {found[i]} rows of transition features",
            )
        counts = np.zeros(int(offsets[-1]), np.int64)
        inner = np.ones(len(counts), bool)
        inner[offsets[:-1][np.diff(offsets) > 0]] = False
        matrix = sp.csr_array(matrix)
        counts[inner] = np.diff(matrix.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sp.csr_array((matrix.data, matrix.indices, indptr), shape=(len(counts), matrix.shape[1]))

    def _examples(self, rows: Rows, offsets: IntArray, edges: Any, labels: CodeArray | None) -> ChainExamples:
        self._check_feasible(offsets)
        return ChainExamples(self, rows, offsets, None if edges is None else Rows(edges, False), labels)

    def _encode_labels(self, Y: Sequence[Any], offsets: IntArray) -> CodeArray:
        if len(Y) != len(offsets) - 1:
            raise ValueError(f"X has {len(offsets) - 1} sequences but Y has {len(Y)}")
        sequences = [label_sequence(y, Place("Y", i)) for i, y in enumerate(Y)]
        found, expected = np.fromiter(map(len, sequences), np.int64, len(sequences)), np.diff(offsets)

        def place_of(position: int) -> Where:
            i = int(np.searchsorted(np.cumsum(found), position, "right"))
            return inside(Place("Y", i), f"position {position - int(found[:i].sum())}")

        codes = self.labels_.encode(list(chain.from_iterable(sequences)), place_of)
        if (found != expected).any():
            i = int(np.flatnonzero(found != expected)[0])
            raise ExampleError.at(Place("X", i), f"{expected[i]} rows of features but {found[i]} labels")
        first, last = codes[offsets[:-1][found > 0]], codes[offsets[1:][found > 0] - 1]
        within = self.allowed_[codes[:-1], codes[1:]]
        within[(offsets[1:-1] - 1)[(offsets[1:-1] > 0) & (offsets[1:-1] < len(codes))]] = True
        if not (within.all() and self.start_allowed_[first].all() and self.end_allowed_[last].all()):
            for i in np.flatnonzero(found > 0).tolist():
                self._check_allowed(i, codes[offsets[i] : offsets[i + 1]])
        return codes

    def _check_allowed(self, i: int, codes: CodeArray) -> None:
        """Raise ExampleError if the constraints forbid the labels of an example, of which there is at least one."""
        names = self.labels_.values
        forbidden = np.flatnonzero(~self.allowed_[codes[:-1], codes[1:]])
        problem = None
        if len(forbidden):
            t = int(forbidden[0])
            problem = f"position {t + 1}: the transition {names[codes[t]]} → {names[codes[t + 1]]} is forbidden"
        elif not self.start_allowed_[codes[0]]:
            problem = f"a sequence may not begin with {names[codes[0]]}"
        elif not self.end_allowed_[codes[-1]]:
            problem = f"a sequence may not end with {names[codes[-1]]}"
        if problem:
            raise ExampleError.at(
                Place("Y", i),
                f"{problem} by the constraints, so that it can never be predicted; correct the labels "
                f"(for BIO, with maxmargin.repair_bio) or remove the constraint",
                joint=", ",
            )

    def _check_feasible(self, offsets: IntArray) -> None:
        lengths = np.diff(offsets)
        if (self.allowed_.all() and self.start_allowed_.all() and self.end_allowed_.all()) or not len(lengths):
            return
        possible = feasible_lengths(self.allowed_, self.start_allowed_, self.end_allowed_, int(lengths.max()))
        if not possible[lengths].all():
            i = int(np.flatnonzero(~possible[lengths])[0])
            raise ExampleError.at(Place("X", i), f"the constraints allow no label sequence of length {lengths[i]}")

    # ------------------------------------------------------------------ one example

    def loss(self, y: Any, y_hat: Any) -> float:
        true, found = (self.labels_.encode(label_sequence(v, name), name) for v, name in ((y, "y"), (y_hat, "y_hat")))
        if len(true) != len(found):
            raise ValueError(f"y has {len(true)} labels but y_hat has {len(found)}")
        if isinstance(self.cost, str) and self.cost == "zero-one":
            return float((true != found).any())
        total = float(self.costs_[true, found].sum())
        return total / max(len(true), 1) if isinstance(self.cost, str) and self.cost == "hamming-share" else total

    def score_loss(self, y: Any, y_hat: Any) -> float:
        true, found = self.labels_.find(label_sequence(y, "y")), self.labels_.encode(label_sequence(y_hat, "y_hat"), "")
        unknown = true < 0
        if not unknown.any() or len(true) != len(found) or not isinstance(self.cost, str | Mapping):
            return self.loss(y, y_hat)
        if self.cost == "zero-one":
            return 1.0
        total = float(unknown.sum() + self.costs_[true, found][~unknown].sum())
        return total / len(true) if self.cost == "hamming-share" else total

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all allowed label sequences, up to K^T of them, for tests."""
        length, size, names = int(self.encode([x]).code_offsets[-1]), len(self.labels_), self.labels_.values
        begun: list[list[int]] = [[]]
        while begun:
            codes = begun.pop()
            if len(codes) < length:
                allowed = self.allowed_[codes[-1]] if codes else self.start_allowed_
                begun.extend([*codes, k] for k in reversed(range(size)) if allowed[k])
            elif not codes or self.end_allowed_[codes[-1]]:
                yield [names[c] for c in codes]

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[list[Any], float]]:
        """Return the k best label sequences with their scores, best first; fewer if there are fewer."""
        k = whole_number(k, "k")
        examples = self.encode([x])
        if examples.code_offsets[-1] == 0:
            return [([], 0.0)]
        length, size = int(examples.code_offsets[-1]), len(self.labels_)
        k = count_sequences(self.allowed_, self.start_allowed_, self.end_allowed_, length, k)
        planned = _BYTES_PER_STEP * k * length * size
        check_memory(planned, f"the {k} best labellings of {length} tokens", "use a smaller k")
        tables = examples.tables(np.asarray(w, float), np.zeros(1, np.int64))
        paths, values = kernels.best_paths(*tables, k)
        names = self.labels_.values
        return [([names[c] for c in path], float(v)) for path, v in zip(paths, values, strict=True) if v > -np.inf]

    # ------------------------------------------------------------------ weights

    def feature_names(self) -> AnyArray:
        labels = [str(v) for v in self.labels_.values]
        columns = [*self.tokens_.column_names(), *["intercept"] * bool(self.fit_intercept)]
        pairs = [f"{a} → {b}" for a in labels for b in labels]
        if self.seen_ is None:
            names = [f"{column} → {label}" for column in columns for label in labels]
        else:
            seen = zip(self.seen_.columns().tolist(), self.seen_.labels.tolist(), strict=True)
            names = [f"{columns[f]} → {labels[k]}" for f, k in seen]
        names += pairs
        if self.start_end:
            names += [f"start → {label}" for label in labels] + [f"{label} → end" for label in labels]
        names += [
            f"{column}: {pair}" for column in (self.edges_.column_names() if self.edges_ else []) for pair in pairs
        ]
        return np.array(names, object)

    def weight_columns(self) -> dict[str, AnyArray]:
        """Return feature, label and next label, which is None for a weight of one label.

        The feature of label pairs is "transition", that of first and last labels "start" and "end".
        """
        labels, size = self.labels_.array().astype(object), len(self.labels_)
        columns = np.array([*self.tokens_.column_names(), *["intercept"] * bool(self.fit_intercept)], object)
        edges = np.array(self.edges_.column_names() if self.edges_ else [], object)
        before, after = np.repeat(labels, size), np.tile(labels, size)
        borders = ["start", "end"] * bool(self.start_end)
        named = np.array(["transition"], object)
        tokens, token_labels = np.repeat(columns, size), np.tile(labels, len(columns))
        if self.seen_ is not None:
            tokens, token_labels = columns[self.seen_.columns()], labels[self.seen_.labels]
        features = [tokens, np.repeat(named, size**2), np.repeat(np.array(borders, object), size)]
        first = [token_labels, before, np.tile(labels, len(borders)), np.tile(before, len(edges))]
        single = [np.full(len(part), None, object) for part in (first[0], first[2])]
        return {
            "feature": np.concatenate([*features, np.repeat(edges, size**2)]),
            "label": np.concatenate(first),
            "next_label": np.concatenate([single[0], after, single[1], np.tile(after, len(edges))]),
        }

    def split_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the weights as tables.

        The shapes are (columns, K) for tokens, (K, K) for transitions, (K,) for start and end, and (columns, K, K) for
        edges.
        """
        tokens = w[: self.n_token_weights_]
        table = tokens.reshape(-1, len(self.labels_)) if self.seen_ is None else self.seen_.table(tokens)
        return {"tokens": table, **self.transition_weights(w)}

    def transition_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the tables of `split_weights` except that of tokens, as views."""
        size, at = len(self.labels_), self.n_token_weights_
        after = at + size * size
        rest = w[after:] if self.start_end else np.concatenate([np.zeros(2 * size), w[after:]])
        return {
            "transitions": w[at:after].reshape(size, size),
            "start": rest[:size],
            "end": rest[size : 2 * size],
            "edges": rest[2 * size :].reshape(-1, size, size),
        }

    def _learnt(self) -> dict[str, Any]:
        edges = None if self.edges_ is None else self.edges_.get_state()
        seen = {} if self.seen_ is None else {"seen": self.seen_.get_state()}
        return {"labels": self.labels_.get_state(), "tokens": self.tokens_.get_state(), "edges": edges, **seen}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_labels(Labels.from_state(learnt["labels"]))
        self.tokens_.set_state(learnt["tokens"])
        if self.edges_ is not None:
            self.edges_.set_state(learnt["edges"])
        if self.seen_pairs:
            n_columns = self.tokens_.output_width + self.fit_intercept
            self.seen_ = SeenPairs.from_state(learnt["seen"], n_columns, len(self.labels_))
        self._set_sizes()

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        labels = [label for output in outputs for label in output]
        lengths = np.fromiter(map(len, outputs), np.int64, len(outputs))
        return {"codes": self.labels_.encode(labels, "outputs"), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        labels, lengths = self.labels_.decode(np.asarray(packed["codes"])), np.asarray(packed["lengths"])
        if (lengths < 0).any() or lengths.sum() != len(labels):
            raise ValueError(f"expected outputs of {lengths.sum()} labels in total, found {len(labels)}")
        return [labels[a:b] for a, b in pairwise([0, *np.cumsum(lengths).tolist()])]

    def _joint_features(self, examples: Any) -> FloatArray:
        parts = self.split_weights(np.zeros(int(self.size or 0)))
        seen = self.seen_
        y, rows = examples.labels, examples.rows
        counts = rows.counts()
        np.add.at(parts["tokens"], (rows.indices.astype(int), np.repeat(y, counts)), rows.values())
        if len(y):
            np.add.at(parts["transitions"], (y[:-1], y[1:]), 1.0)
            parts["start"][y[0]] += 1.0
            parts["end"][y[-1]] += 1.0
        if examples.edges is not None and len(y):
            counts, before = examples.edges.counts(), np.concatenate([[0], y[:-1]])
            at = (examples.edges.indices.astype(int), np.repeat(before, counts), np.repeat(y, counts))
            np.add.at(parts["edges"], at, examples.edges.values())
        if seen is not None:
            parts["tokens"] = seen.entries(parts["tokens"])
        if not self.start_end:
            del parts["start"], parts["end"]
        return np.concatenate([part.ravel() for part in parts.values()])


def label_sequence(y: Any, where: Where) -> list[Any]:
    """Return the labels of an output as a list; raise an error with its place if it is not a sequence."""
    if not is_list(y):
        raise error_at(where, f"expected a sequence of labels, found {type(y).__name__} {y!r}")
    return y.tolist() if isinstance(y, np.ndarray) else list(y)


def _distinct(Y: Sequence[Any]) -> Iterator[Any]:
    """Yield the distinct labels of each output."""
    for i, y in enumerate(Y):
        place = Place("Y", i)
        yield from distinct_labels(label_sequence(y, place), lambda t, place=place: inside(place, f"position {t}"))  # type: ignore[misc]
