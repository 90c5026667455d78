"""`SequenceTagger`: a label for every token of a sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import check_flag, whole_number
from maxmargin._input import either, example_weights, paired_examples
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import ExampleError, Place, inside
from maxmargin.core.structure import Structure
from maxmargin.encoding.class_weights import check_class_weight, class_weights
from maxmargin.encoding.costs import check_costs
from maxmargin.encoding.labels import Labels, distinct_labels, named_classes
from maxmargin.estimators._margins import label_margins
from maxmargin.estimators._warnings import warn_of_unknown_labels
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.structures.chain.structure import Chain, label_sequence


class SequenceTagger(MaxMarginEstimator):
    """Sequence tagger: a first-order chain trained for a large margin.

    Each x is an array (T, d), a sparse matrix, or a list of tokens, each a dict ``{"word": "casa", "caps": False}``
    or a list of strings, as in CRF packages; each y is a sequence of T labels of any type. `predict` returns
    lists of labels.

    Parameters
    ----------
    C : float, default=0.3
        Trade-off; the default was chosen for losses that count wrong tokens ("How the defaults were chosen"
        in the documentation).
    loss : str, array-like of shape (K, K) or dict, default="hamming"
        ``"hamming"`` (number of wrong tokens), ``"hamming-share"``, ``"zero-one"`` (whole sequences), a cost matrix per
        token in the order of `classes_` (row: true label), or a dict of costs by true label (default 1).
    constraints : "bio" (or "iob2"), "bioes", "bilou", Constraints, list of pairs or None, default=None
        Transitions that are never predicted.
    fit_intercept : bool, default=True
        Whether to add a constant feature to every token.
    start_end : bool, default=True
        Whether first and last labels have weights.
    transition_features : bool, default=False
        Whether each x is a pair (tokens, transitions), the second with T − 1 rows of features.
    classes : list or None, default=None
        All labels, in case some do not occur in the training data; None for the labels of the data.
    class_weight : dict, "balanced" or None, default=None
        Factor of the cost of every error at a token whose true label is this one, by label (default 1), or
        ``"balanced"`` for n_tokens / (K · number of tokens with the label). For losses that are sums over tokens:
        ``"hamming"``, a matrix or a dict.
    min_count : int, default=1
        Named features (dicts, strings) that occur fewer times in the training data are left out.
    seen_pairs : bool, default=False
        Whether a feature has weights only for the labels with which it occurs in the training data, as in CRF packages.
        The model is several times as small, but cannot learn that a feature speaks against a label.
    tol : float, default=1e-2
        Relative gap at which training stops.
    kernel, degree, gamma, coef0, n_components, kernel_method : optional
        Kernel on the features of tokens, as in `StructuralSVM`; transitions and their features stay linear.
    bound, slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the tables below.
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    transitions_ : ndarray of shape (K, K)
        Weights of label pairs (row: previous label).
    start_, end_ : ndarray of shape (K,)
        Weights of first and of last labels.
    """

    def __init__(
        self,
        *,
        C: float = 0.3,
        loss: Any = "hamming",
        constraints: Any = None,
        fit_intercept: bool = True,
        start_end: bool = True,
        transition_features: bool = False,
        classes: Any = None,
        class_weight: Any = None,
        min_count: int = 1,
        seen_pairs: bool = False,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        n_components: int | None = None,
        kernel_method: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.C, self.loss, self.constraints, self.fit_intercept = C, loss, constraints, fit_intercept
        self.start_end, self.transition_features, self.classes = start_end, transition_features, classes
        self.class_weight = class_weight
        self.min_count, self.seen_pairs = min_count, seen_pairs
        self.bound, self.slack, self.solver = bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_costs(self.loss, Chain.cost_names, "loss")
        whole_number(self.min_count, "min_count")
        check_flag(self.seen_pairs, "seen_pairs")
        check_class_weight(self.class_weight)
        if self.class_weight is not None and isinstance(self.loss, str) and self.loss != "hamming":
            raise ValueError(
                f"class_weight needs a loss that sums over tokens ('hamming', a matrix or a dict), found {self.loss!r}"
            )

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X, Y, weights, positions = super()._prepare(X, Y, sample_weight, groups)
        if self.class_weight is not None:
            self.class_weight_ = class_weights(self.class_weight, _label_counts(Y, weights))
        return X, Y, weights, positions

    def _costs(self) -> Any:
        """Return the costs of errors, multiplied by the weights of the true labels if there are some."""
        if self.class_weight is None:
            return self.loss
        if isinstance(self.loss, str | Mapping):
            costs = {} if isinstance(self.loss, str) else self.loss
            return {**costs, **{label: costs.get(label, 1.0) * w for label, w in self.class_weight_.items()}}
        labels = Labels(self.class_weight_) if self.classes is None else named_classes(self.classes)
        table: FloatArray = np.array(self.loss, float)
        factors = np.array([self.class_weight_.get(label, 1.0) for label in labels.values])
        return table * factors[:, None] if len(table) == len(factors) else table

    def _make_structure(self) -> Structure:
        return Chain(
            cost=self._costs(),
            constraints=self.constraints,
            fit_intercept=self.fit_intercept,
            start_end=self.start_end,
            transition_features=self.transition_features,
            classes=self.classes,
            min_count=self.min_count,
            seen_pairs=self.seen_pairs,
        )

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        attributes = super()._fitted_attributes(weights, structure)
        parts = structure.transition_weights(attributes["coef_"])
        attributes["classes_"] = structure.labels_.array()
        attributes |= {f"{name}_": parts[name].copy() for name in ("transitions", "start", "end")}
        if not structure.tokens_.named:
            attributes["n_features_in_"] = structure.tokens_.width
        if structure.tokens_.names is not None:
            attributes["feature_names_in_"] = np.array(structure.tokens_.names, object)
        return attributes

    def decision_scores(self, X: Any) -> list[FloatArray]:
        """Return, for every token and label, the best score of a labelling that has this label at this token.

            m[t, k] = max_{ŷ: ŷ_t = k} w·Ψ(x, ŷ)        (max-marginals)

        Every row has the same maximum, the score of the prediction. A label that the constraints exclude at a token
        has −∞.

        Parameters
        ----------
        X : sequence
            Sequences.

        Returns
        -------
        list of ndarray of shape (T, K)
            One table for each sequence, with columns in the order of `classes_`.
        """
        found: list[FloatArray] = super().decision_scores(X)
        return found

    def decision_margins(self, X: Any) -> list[FloatArray]:
        """Return how clear each decision is: the best minus the second best decision score of every token.

        The least margin of a sequence is the difference of its two best labellings. Margins grow with C and are not
        probabilities.

        Parameters
        ----------
        X : sequence
            Sequences.

        Returns
        -------
        list of ndarray of shape (T,)
            One array for each sequence; infinite where only one label is possible.
        """
        return [label_margins(scores) for scores in self.decision_scores(X)]

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the fraction of tokens with the correct label.

        A label that is not a class, as in a fold that lacks it, is a wrong prediction.

        Parameters
        ----------
        X, Y : sequence
            Sequences and their true labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence, for all of its tokens.
        y : sequence, default=None
            Another name of Y, as in scikit-learn.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        weights = example_weights(sample_weight, len(Y))
        labels: Labels = self.structure_.labels_  # type: ignore[attr-defined]
        right, total, known = np.zeros(len(Y)), np.zeros(len(Y)), False
        for i, (true, found) in enumerate(zip(Y, self.predict(X), strict=True)):
            codes = labels.find(label_sequence(true, Place("Y", i)))
            if len(codes) != len(found):
                raise ExampleError.at(Place("X", i), f"{len(found)} rows of features but {len(codes)} labels")
            right[i], total[i] = (codes == labels.find(found)).sum(), len(found)
            known |= bool((codes >= 0).any())
        if not weights @ total > 0:
            raise ValueError("every sequence is empty, or has the sample_weight 0: there is nothing to score")
        if not known:
            warn_of_unknown_labels(labels)
        return float(weights @ right / (weights @ total))


def _label_counts(Y: Any, weights: FloatArray) -> Counter[Any]:
    """Return the number of tokens of each label, by the weights of their sequences."""
    counts: Counter[Any] = Counter()
    for i, (y, weight) in enumerate(zip(Y, weights.tolist(), strict=True)):
        place = Place("Y", i)
        labels = label_sequence(y, place)
        distinct_labels(labels, lambda t, place=place: inside(place, f"position {t}"))  # type: ignore[misc]
        for label, count in Counter(labels).items():
            counts[label] += count * weight
    return counts
