"""Linear chains: a label per token, first-order transitions (Tsochantaridis et al. 2004, section 5.3).

    Ψ(x, y) = [ Σ_t x_t ⊗ e(y_t) | Σ_t e(y_{t−1}) ⊗ e(y_t) | e(y_1) | e(y_T) | Σ_t z_t ⊗ e(y_{t−1}) ⊗ e(y_t) ]

The blocks are token features, transitions, start, end, and transition features z if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import check_flag, is_list, positive_number, whole_number
from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import ONLY, Numbered, offsets_of, split_rows
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import Compiled
from maxmargin.features.mercer.kernel import PartKernel
from maxmargin.features.rows.labels import Labels, check_costs, cost_matrix, distinct_labels, is_missing, named_classes
from maxmargin.features.rows.rows import Rows
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.features.text.template_encoder import TemplateEncoder
from maxmargin.features.text.templates import TokenTemplates
from maxmargin.structures.chain import _jit
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

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.words()
    >>> X = [[[f"word={word}"] for word in x] for x in X]  # a list of strings for each token
    >>> model = mm.StructuralSVM(mm.Chain(cost="hamming"), C=1.0).fit(X, Y)
    >>> model.predict([[["word=Ana"], ["word=sings"], ["word=in"], ["word=Rio"]]])
    [['PER', 'O', 'O', 'LOC']]
    """

    learns: ClassVar[dict[str, type]] = {"tokens_": SequenceEncoder, "edges_": SequenceEncoder}
    state_keys: ClassVar[dict[str, str]] = {"tokens_": "tokens", "edges_": "edges"}
    kernel_rows: ClassVar[dict[str, str]] = {"tokens_": "tokens"}
    output_name: ClassVar[str] = "label sequence"
    inputs_name: ClassVar[str] = "sequences"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope", "sums"})
    #: Named costs.
    cost_names: ClassVar[tuple[str, ...]] = ("hamming", "hamming-share", "zero-one")

    tokens_: SequenceEncoder | TemplateEncoder
    edges_: SequenceEncoder | None
    seen_: SeenPairs | None

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
        super().use_kernel(kernel)

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> ChainExamples:
        if learn:
            assert Y is not None
            self._set_labels(Labels(_distinct(Y)) if self.classes is None else named_classes(self.classes))
            self.seen_ = None
        tokens, edges = self._split(X)
        matrix, offsets = self.tokens_.fit(tokens) if learn else self.tokens_.encode(tokens)
        edge_rows = None
        if self.edges_ is not None:
            given = self.edges_.fit(edges) if learn else self.edges_.encode(edges)
            edge_rows = Rows(self._place_edges(*given, offsets), False)
        labels, rows = None if Y is None else self._encode_labels(Y, offsets), self._rows(matrix)
        if learn and self.seen_pairs:
            assert labels is not None
            self.seen_ = SeenPairs.of(rows, labels, len(self.labels_))
        if learn:
            self._set_size()
            for encoder in (self.tokens_, self.edges_):
                if (vocabulary := getattr(encoder, "vocabulary", None)) is not None:
                    vocabulary.forget_counts()
        self._check_feasible(offsets)
        examples = ChainExamples(self, rows, offsets, edge_rows, labels)
        examples.empty = getattr(X, "empty", np.empty)
        return examples

    def survey(self, X: Sequence[Any], Y: Sequence[Any]) -> dict[str, Any]:
        self._check_surveyed()
        labels = Labels(_distinct(Y))
        tokens = self._new_encoder("tokens_")
        assert tokens is not None
        tokens.min_count = 1  # what is rare is known when all parts have been counted
        matrix, offsets = tokens.fit(X)
        templates = isinstance(tokens, TemplateEncoder)
        learnt: dict[str, Any] = {"labels": labels.values, "tokens": tokens.get_state() if templates else tokens}
        rows = self._rows(matrix)
        if self.min_count > 1:
            learnt["counts"] = np.bincount(rows.indices, minlength=tokens.width)[: tokens.width]
        if self.seen_pairs:
            _check_lengths(offsets, np.array(list(map(len, Y)), np.int64))
            codes = labels.encode(list(chain.from_iterable(Y)), "Y")
            learnt["seen"] = SeenPairs.of(rows, codes, len(labels))
        return learnt

    def learn_from(self, surveys: Sequence[dict[str, Any]]) -> None:
        self._check_surveyed()
        labels = Labels(chain.from_iterable(survey["labels"] for survey in surveys))
        self._set_labels(labels if self.classes is None else named_classes(self.classes))
        self.edges_, self.seen_, tokens = None, None, self._new_encoder("tokens_")
        assert tokens is not None
        parts: Any = [survey["tokens"] for survey in surveys]
        counts = [survey["counts"] for survey in surveys] if self.min_count > 1 else None
        columns = tokens.merge(parts, counts) if isinstance(tokens, TemplateEncoder) else tokens.merge(parts)
        self.tokens_ = tokens
        if self.seen_pairs:
            constant = [np.array([tokens.width])] if self.fit_intercept else []
            self.seen_ = SeenPairs.merged(
                [survey["seen"] for survey in surveys], [np.concatenate([part, *constant]) for part in columns],
                [self.labels_.find(survey["labels"]) for survey in surveys], (self.n_columns_, len(self.labels_)),
            )  # fmt: skip
        self._set_size()

    def _check_surveyed(self) -> None:
        """Raise TypeError for parameters with which all of the data must be read at once."""
        for name, given in (("transition_features", self.transition_features), ("kernel", self.kernel_ is not None)):
            if given:
                raise self._not_surveyed(name)

    def _rows(self, matrix: Any) -> Rows:
        return matrix if isinstance(matrix, Rows) else Rows(matrix, self.fit_intercept)

    def _set_labels(self, labels: Labels) -> None:
        """Set all attributes that follow from the labels."""
        if len(labels) < 2:
            raise ValueError(f"expected at least two classes, found one class: {labels.values}")
        self.labels_, self.costs_ = labels, cost_matrix(self.cost, labels)
        tables = resolve_constraints(self.constraints, labels).tables(labels)
        self.allowed_, self.start_allowed_, self.end_allowed_ = tables

    def _new_encoder(self, name: str) -> SequenceEncoder | TemplateEncoder | None:
        if name == "edges_":
            return SequenceEncoder("[1]", may_be_empty=True) if self.transition_features else None
        if self.templates is None:
            return SequenceEncoder(min_count=self.min_count)
        return TemplateEncoder(self.templates, bool(self.fit_intercept), self.min_count)

    @property
    def n_columns_(self) -> int:
        """Number of columns in the rows of tokens, the constant included."""
        return self.tokens_.output_width + bool(self.fit_intercept)

    @property
    def n_token_weights_(self) -> int:
        """Number of weights of tokens, which are the first ones."""
        return self.n_columns_ * len(self.labels_) if self.seen_ is None else len(self.seen_)

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        K = len(self.labels_)
        tokens = (self.n_columns_, K) if self.seen_ is None else (len(self.seen_),)
        borders: dict[str, tuple[int, ...]] = {"start": (K,), "end": (K,)} if self.start_end else {}
        edges = (0 if self.edges_ is None else self.edges_.width, K, K)
        return {"tokens": tokens, "transitions": (K, K), **borders, "edges": edges}

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
        n_edges, expected = np.diff(edge_offsets), np.maximum(np.diff(offsets) - 1, 0)
        if (n_edges != expected).any():
            i = int(np.flatnonzero(n_edges != expected)[0])
            raise ExampleError.at(
                Place("X", i),
                f"{int(offsets[i + 1] - offsets[i])} tokens have {expected[i]} transitions, "
                f"found {n_edges[i]} rows of transition features",
            )
        counts = np.zeros(int(offsets[-1]), np.int64)
        inner = np.ones(len(counts), bool)
        inner[offsets[:-1][np.diff(offsets) > 0]] = False
        matrix = sp.csr_array(matrix)
        counts[inner] = np.diff(matrix.indptr)
        indptr = offsets_of(counts)
        return sp.csr_array((matrix.data, matrix.indices, indptr), shape=(len(counts), matrix.shape[1]))

    def _encode_labels(self, Y: Sequence[Any], offsets: IntArray) -> CodeArray:
        sequences = Y if isinstance(Y, Numbered) else [label_sequence(y, Place("Y", i)) for i, y in enumerate(Y)]
        if isinstance(Y, Numbered):
            lengths = np.diff(Y.offsets)
        else:
            lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))

        def place_of(position: int) -> Where:
            i = int(np.searchsorted(np.cumsum(lengths), position, "right"))
            return inside(Place("Y", i), f"position {position - int(lengths[:i].sum())}")

        if isinstance(Y, Numbered) and set(Y.values) <= set(self.labels_.codes):
            codes = Y.translated(self.labels_.encode(Y.values, "Y"))
        else:
            codes = self.labels_.encode(list(chain.from_iterable(sequences)), place_of)
        _check_lengths(offsets, lengths)
        if self.allowed_.all() and self.start_allowed_.all() and self.end_allowed_.all():
            return codes
        first, last = codes[offsets[:-1][lengths > 0]], codes[offsets[1:][lengths > 0] - 1]
        within = self.allowed_[codes[:-1], codes[1:]]
        within[(offsets[1:-1] - 1)[(offsets[1:-1] > 0) & (offsets[1:-1] < len(codes))]] = True
        if not (within.all() and self.start_allowed_[first].all() and self.end_allowed_[last].all()):
            for i in np.flatnonzero(lengths > 0).tolist():
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
                f"{problem} by the constraints, so it can never be predicted; correct the labels "
                f"(for BIO, with maxmargin.repair_bio) or remove the constraint",
                separator=", ",
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
        true, predicted = (
            self.labels_.encode(label_sequence(v, name), name) for v, name in ((y, "y"), (y_hat, "y_hat"))
        )
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} labels but y_hat has {len(predicted)}")
        if isinstance(self.cost, str) and self.cost == "zero-one":
            return float((true != predicted).any())
        total = float(self.costs_[true, predicted].sum())
        return total / max(len(true), 1) if isinstance(self.cost, str) and self.cost == "hamming-share" else total

    def score_loss(self, y: Any, y_hat: Any) -> float:
        true, predicted = (
            self.labels_.find(label_sequence(y, "y")),
            self.labels_.encode(label_sequence(y_hat, "y_hat"), ""),
        )
        unknown = true < 0
        if not unknown.any() or len(true) != len(predicted) or not isinstance(self.cost, str | Mapping):
            return self.loss(y, y_hat)
        if self.cost == "zero-one":
            return 1.0
        total = float(unknown.sum() + self.costs_[true, predicted][~unknown].sum())
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
        tables = examples.tables(np.asarray(w, float), ONLY)
        paths, values = _jit.best_paths(*tables, k)
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

    def transition_weights(self, w: FloatArray, n_tokens: int | None = None) -> dict[str, FloatArray]:
        """Return the tables of `split_weights` except that of tokens, as views; `n_tokens` weights come before them."""
        size, at = len(self.costs_), self.n_token_weights_ if n_tokens is None else n_tokens
        after = at + size * size
        rest = w[after:] if self.start_end else np.concatenate([np.zeros(2 * size), w[after:]])
        return {
            "transitions": w[at:after].reshape(size, size),
            "start": rest[:size],
            "end": rest[size : 2 * size],
            "edges": rest[2 * size :].reshape(-1, size, size),
        }

    def log_probabilities(
        self, X: Sequence[Any], Y: Sequence[Any], sample_weight: Any = None, smoothing: float = 1.0
    ) -> FloatArray:
        """Return the weights of a hidden Markov model: logarithms of smoothed relative frequencies (Rabiner 1989).

            w(f, k) = log ((n(f, k) + s) / Σ_g (n(g, k) + s)),      w(j, k) = log ((n(j, k) + s) / Σ_l (n(j, l) + s))

        n(f, k) is the sum of feature f over the tokens of label k, as if a token were a bag of independent features;
        n(j, k) counts transitions. The end of a sequence is one of the possible successors of a label if `start_end` is
        True. Constants and features of transitions get 0.

        Parameters
        ----------
        X, Y : sequence
            Sequences and their labels; features must be at least 0.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence; 1 by default.
        smoothing : float, default=1.0
            s > 0, the number added to all counts.

        Returns
        -------
        ndarray of shape (size,)
            The weights.
        """
        s = positive_number(smoothing, "smoothing")
        if self.seen_ is not None or self.kernel_ is not None:
            what = "seen_pairs=True" if self.seen_ is not None else "a kernel"
            raise ValueError(f"a hidden Markov model has a weight for every feature and label, which {what} has not")
        examples = self.encode(X, Y)
        if examples.rows.values().min(initial=0.0) < 0.0:
            raise ValueError("a hidden Markov model counts features, but some are negative; pass names or counts")
        ids, counts = np.arange(examples.n_examples), np.zeros(examples.dim)
        weights = np.ones(len(ids)) if sample_weight is None else np.asarray(sample_weight, float)
        examples.add_joint_features(examples.true_counts(ids), ids, weights, counts)
        parts = self.split_weights(counts)
        tokens = parts["tokens"][: self.tokens_.output_width] + s
        follow = parts["transitions"] + s
        if self.start_end:
            follow = np.column_stack([follow, parts["end"] + s])
        w, K = np.zeros(examples.dim), len(self.labels_)
        out = self.split_weights(w)
        out["tokens"][: len(tokens)] = np.log(tokens / tokens.sum(axis=0))
        follow = np.log(follow / follow.sum(axis=1, keepdims=True))
        out["transitions"][:] = follow[:, :K]
        if self.start_end:
            out["start"][:] = np.log((parts["start"] + s) / (parts["start"] + s).sum())
            out["end"][:] = follow[:, K]
        return w

    def _learnt(self) -> dict[str, Any]:
        seen = {} if self.seen_ is None else {"seen": self.seen_.get_state()}
        return {"labels": self.labels_.get_state(), **super()._learnt(), **seen}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_encoders(learnt)
        self._set_labels(Labels.from_state(learnt["labels"]))
        self.seen_ = None
        if self.seen_pairs:
            self.seen_ = SeenPairs.from_state(learnt["seen"], self.n_columns_, len(self.labels_))
        self._set_size()

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        labels = [label for output in outputs for label in output]
        lengths = np.fromiter(map(len, outputs), np.int64, len(outputs))
        return {"codes": self.labels_.encode(labels, "outputs"), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return split_rows(self.labels_.decode(np.asarray(packed["codes"])), packed["lengths"], "labels")


def label_sequence(y: Any, where: Where) -> list[Any]:
    """Return the labels of an output as a list; raise an error with its place if it is not a sequence."""
    if not is_list(y):
        raise error_at(where, f"expected a sequence of labels, found {type(y).__name__} {y!r}")
    return y.tolist() if isinstance(y, np.ndarray) else list(y)


def _check_lengths(offsets: IntArray, lengths: IntArray) -> None:
    """Raise ExampleError unless each sequence of tokens has as many labels."""
    expected = np.diff(offsets)
    if (lengths != expected).any():
        i = int(np.flatnonzero(lengths != expected)[0])
        raise ExampleError.at(Place("X", i), f"{expected[i]} rows of features but {lengths[i]} labels")


def _distinct(Y: Sequence[Any]) -> Iterator[Any]:
    """Yield the labels of all outputs, each of them at least once."""
    if isinstance(Y, Numbered):
        yield from Y.values
        return
    sequences = [label_sequence(y, Place("Y", i)) for i, y in enumerate(Y)]
    with suppress(TypeError):  # a label that cannot be a key
        distinct = dict.fromkeys(chain.from_iterable(sequences))
        if not any(map(is_missing, distinct)):
            yield from distinct
            return
    for i, labels in enumerate(sequences):
        yield from distinct_labels(labels, lambda t, i=i: inside(Place("Y", i), f"position {t}"))  # type: ignore[misc]
