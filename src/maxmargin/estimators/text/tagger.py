"""`SequenceTagger`: a label for every token of a sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, parameter, whole_number
from maxmargin._base.errors import ExampleError, Place, inside
from maxmargin._base.input import by_position, example_weights, paired_examples
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.structure import Compiled, Structure
from maxmargin.estimators.base import MaxMarginEstimator, refitting
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.predictor import label_margins
from maxmargin.estimators.probabilities import Probabilistic
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.rows.labels import (
    Labels,
    check_class_weight,
    check_costs,
    class_weights,
    distinct_labels,
    named_classes,
)
from maxmargin.structures.chain.structure import Chain, label_sequence


@declared
class Tagger(Probabilistic, MaxMarginEstimator):
    """Base class of taggers: a first-order chain of labels."""

    C: float = changed(
        'Trade-off; the default was chosen for losses that count wrong tokens ("How the defaults were chosen" '
        "in the documentation).",
        default=0.3,
    )
    loss: Any = parameter(
        '``"hamming"`` (number of wrong tokens), ``"hamming-share"``, ``"zero-one"`` (whole sequences), a '
        "cost matrix per token in the order of `classes_` (row: true label), or a dict of costs by true label "
        "(default 1).",
        default="hamming",
        kind="str, array-like of shape (K, K) or dict",
    )
    constraints: Any = parameter(
        "Transitions that are never predicted.",
        default=None,
        kind='"bio" (or "iob2"), "bioes", "bilou", Constraints, list of pairs or None',
    )
    fit_intercept: bool = parameter("Whether to add a constant feature to every token.", check_flag, default=True)
    start_end: bool = parameter("Whether first and last labels have weights.", check_flag, default=True)
    classes: Any = parameter(
        "All labels, in case some do not occur in the training data; None for the labels of the data.",
        default=None,
        kind="list or None",
    )
    class_weight: Any = parameter(
        "Factor of the cost of every error at a token whose true label is this one, by label (default 1), or "
        '``"balanced"`` for n_tokens / (K · number of tokens with the label). For losses that are sums over '
        'tokens: ``"hamming"``, a matrix or a dict.',
        default=None,
        kind='dict, "balanced" or None',
    )
    min_count: int = parameter(
        "Named features (dicts, strings) that occur fewer times in the training data are left out.",
        whole_number,
        default=1,
    )
    seen_pairs: bool = parameter(
        "Whether a feature has weights only for the labels with which it occurs in the training data, as in "
        "CRF packages. The model is several times as small, but cannot learn that a feature speaks against a "
        "label.",
        check_flag,
        default=False,
    )
    tol: float = changed(default=0.01)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_costs(self.loss, Chain.cost_names, "loss")
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

    def _survey(self, X: Any, Y: Any) -> dict[str, Any]:
        facts = super()._survey(X, Y)
        if self.class_weight is not None:
            facts["labels"] = _label_counts(Y, np.ones(len(Y)))
        return facts

    def _learn_from(self, surveys: Sequence[dict[str, Any]], weights: FloatArray) -> tuple[Compiled, FloatArray]:
        if self.class_weight is not None:
            if (weights != 1.0).any():
                raise ValueError("class_weight and sample_weight together need the data of all files in one process; "
                                 "use engine='threads'")  # fmt: skip
            counts = sum((survey["labels"] for survey in surveys), Counter[Any]())
            self.class_weight_ = class_weights(self.class_weight, counts)
        return super()._learn_from(surveys, weights)

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
            classes=self.classes,
            min_count=self.min_count,
            seen_pairs=self.seen_pairs,
        )

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        attributes = super()._fitted_attributes(weights, structure)
        parts = structure.transition_weights(attributes["coef_"])
        attributes["classes_"] = structure.labels_.array()
        if self.class_weight is None:
            attributes["class_weight_"] = dict.fromkeys(structure.labels_.values, 1.0)
        attributes |= {f"{name}_": parts[name].copy() for name in ("transitions", "start", "end")}
        if not structure.tokens_.named:
            attributes["n_features_in_"] = structure.tokens_.width
        if structure.tokens_.names is not None:
            attributes["feature_names_in_"] = np.array(structure.tokens_.names, object)
        return attributes

    def fit_hmm(self, X: Any, y: Any, sample_weight: Any = None, *, smoothing: float = 1.0) -> Self:
        """Set the weights to those of a hidden Markov model instead of training them.

        The weights are logarithms of smoothed relative frequencies of features by label and of transitions; features of
        a token count as if they were independent (`Chain.log_probabilities`). There is no certificate.

        Parameters
        ----------
        X, y, sample_weight : optional
            As in `fit`; features must be at least 0.
        smoothing : float, default=1.0
            Number added to all counts.

        Returns
        -------
        self
            The fitted tagger.
        """
        self._check_parameters()
        with refitting(self):
            X, Y, weights, positions = self._prepare(X, y, sample_weight)
            chain: Any = self._make_structure()
            with by_position(positions):
                coefficients = chain.fit(X, Y).log_probabilities(X, Y, weights, smoothing)
            for name, value in self._fitted_attributes(coefficients, chain).items():
                setattr(self, name, value)
        return self

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
        scores: list[FloatArray] = super().decision_scores(X)
        return scores

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of tokens with the correct label.

        A label that is not a class, as in a fold that lacks it, is a wrong prediction.

        Parameters
        ----------
        X, y : sequence
            Sequences and their true labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence, for all of its tokens.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        labels: Labels = self.structure_.labels_  # type: ignore[attr-defined]
        right, total, known = np.zeros(len(Y)), np.zeros(len(Y)), False
        for i, (true, predicted) in enumerate(zip(Y, self.predict(X), strict=True)):
            codes = labels.find(label_sequence(true, Place("Y", i)))
            if len(codes) != len(predicted):
                raise ExampleError.at(Place("X", i), f"{len(predicted)} rows of features but {len(codes)} labels")
            right[i], total[i] = (codes == labels.find(predicted)).sum(), len(predicted)
            known |= bool((codes >= 0).any())
        if not weights @ total > 0:
            raise ValueError("every sequence is empty, or has the sample_weight 0: there is nothing to score")
        if not known:
            warn_of_unknown_labels(labels)
        return float(weights @ right / (weights @ total))


@declared
class SequenceTagger(Kernelised, Tagger):
    """Tagger of sequences: a label for each token, by a first-order chain.

    It is trained for a large margin, or by likelihood. Each x is an array (T, d), a sparse matrix, or a list of tokens,
    each a dict ``{"word": "casa", "caps": False}`` or a list of strings, as in CRF packages; each y is a sequence of T
    labels of any type. `predict` returns lists of labels.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the tables below.
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    class_weight_ : dict
        The weight of each label.
    transitions_ : ndarray of shape (K, K)
        Weights of label pairs (row: previous label).
    start_, end_ : ndarray of shape (K,)
        Weights of first and of last labels.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [[{"word": "Ana", "caps": True}, {"word": "sings"}], [{"word": "Tom", "caps": True}, {"word": "ran"}]]
    >>> tagger = mm.SequenceTagger(C=1.0).fit(X, [["PER", "O"], ["PER", "O"]])
    >>> tagger.predict([[{"word": "Eve", "caps": True}, {"word": "sings"}]])
    [['PER', 'O']]

    Arrays of features, and the certificate of the fit:

    >>> X, Y = mm.datasets.make_chains(100, random_state=0)
    >>> tagger = mm.SequenceTagger().fit(X[:50], Y[:50])
    >>> round(tagger.score(X[50:], Y[50:]), 2)
    0.75
    >>> tagger.certificate_.gap <= tagger.tol
    True

    Read on: "Tagging sequences" in the documentation.
    """

    transition_features: bool = parameter(
        "Whether each x is a pair (tokens, transitions), the second with T − 1 rows of features.",
        check_flag,
        default=False,
    )
    kernel: Any = changed(
        "Kernel on the features of tokens, as in `StructuralSVM`; transitions and their features stay linear.",
        default="linear",
    )

    def _make_structure(self) -> Structure:
        structure: Any = super()._make_structure()
        return structure.set_params(transition_features=self.transition_features)


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
