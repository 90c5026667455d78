"""`MotifFinder`: classification of strings by a motif, and the position of the motif."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin._base.checks import changed, check_flag, declared, parameter, stored_array
from maxmargin._base.input import check_labels_of_one_kind, indexable, paired_examples
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import Structure
from maxmargin.estimators.latent import Restarted
from maxmargin.estimators.probabilities import NO_LATENT_TEMPERATURE, Probabilistic
from maxmargin.estimators.starts import NamedStart, no_weights
from maxmargin.estimators.training_data import TrainingData
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.rows.labels import named_classes, with_positive_last
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.motif.structure import Motif, MotifSite
from maxmargin.structures.motif.words import start_from_word
from maxmargin.training.run import Run

#: Position in sequences of weight 0, which are not read.
_LEFT_OUT = -1


@declared
class MotifFinder(ClassifierMixin, Probabilistic, Restarted):
    """Classifier of strings by a motif that those of one class contain (Yu and Joachims 2009, section 5.1).

    A site at h scores Σ_j w_j[x_{h+j}] minus the background's weights in its window (a Markov model of order k); a
    sequence is positive if its best site scores above 0. The sites of the training sequences are latent:

        ½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ(x_i, ŷ, ĥ) + [ŷ ≠ y_i]] − max_h w·Ψ(x_i, y_i, h))

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive label.
    motif_ : ndarray of shape (l, A)
        Matrix like log odds: what a character at a position adds to the score of a site, minus its mean background.
    consensus_ : str
        The character of greatest weight at each position.
    positions_ : ndarray of shape (n,)
        First position of the best site of each training sequence; −1 for sequences of weight 0, which are not read.
    coef_ : ndarray of shape (n_weights,)
        All weights (`feature_names_out`), those of the motif first.
    history_, certificate_, stop_reason_ : object
        As in `StructuralSVM`, of the best run.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> rng = np.random.default_rng(0)
    >>> without = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(30)]
    >>> holding = [x[:h] + "TTGACC" + x[h + 6 :] for x, h in zip(without, rng.integers(0, 15, 30))]
    >>> finder = mm.MotifFinder(length=6, background_order=0).fit(without + holding, [0] * 30 + [1] * 30)
    >>> finder.consensus_
    'TTGACC'
    >>> finder.predict(["ACATTGACCGA", "ACAGGTCTAGA"])
    array([1, 0])
    >>> finder.sites(["ACATTGACCGA"])
    [MotifSite(label=1, position=3, strand='+')]

    Read on: "Latent variables and ramps" in the documentation.
    """

    length: int = parameter("Length l of the motif.", default=11)
    background_order: int = parameter(
        "Order k of the Markov background. 3 is that of Yu and Joachims; cross-validation on yeast's "
        "replication origins chose 0 in every fold (benchmarks/results/p5_motifs.md).",
        default=3,
    )
    alphabet: str = parameter(
        'The characters; lower case is read as upper case. For RNA use ``"ACGU"``. N in DNA and RNA, and X in '
        "proteins, stand for an unknown character: it scores 0 in the motif and in the background, and the k "
        "characters after it have no full context. A string with any other character is an error.",
        default="ACGT",
    )
    both_strands: bool = parameter(
        "Whether the motif may also be on the other strand of DNA or RNA, read as the reverse complement.",
        check_flag,
        default=False,
    )
    classes: Any = parameter(
        "The negative and the positive label, in this order. None for those of the data, the greater one "
        'positive: 1 for 0 and 1, and the last in sorted order for strings. With the labels "with" and '
        '"without", the finder would search for a motif of the strings "without": pass '
        '``positive_label="with"``.',
        default=None,
        kind="list or None",
    )
    positive_label: Any = parameter(
        "The label of strings that contain the motif; the other label is negative. None for the last of `classes`.",
        default=None,
        kind="label or None",
    )
    C: float = changed(
        "Trade-off. The default is from yeast's replication origins, where errors from 0.1 to 1 differ by "
        "less than the folds do; it was chosen with those errors in view and not tested on other data. Choose "
        "it by cross-validation.",
        default=0.1,
    )
    start: Any = changed(
        '``"words"``, which is ``"auto"``: run r starts at the r-th of the words that separate the classes best, which '
        'finds a motif in yeast\'s replication origins. ``"random"``: at random positions, as Yu and Joachims do; most '
        "such runs end without a motif in any sequence. It needs short sequences and a strong motif. Or "
        '``"perceptron"``, weights, a fitted estimator, or a list of several of these.',
        default="auto",
    )
    n_restarts: int = changed(
        "Number of runs, of which the one with the best objective is kept. Five cover the neighbours of the "
        "best word: a run hardly ever moves a motif along the sequence, and the best word may be off its "
        "middle.",
        default=5,
    )
    tol: float = changed(
        "Tolerance of the inner gap and the outer decrease, both relative. On parts of the yeast data 0.001 "
        "predicted no better than 0.01, at twice the time.",
        default=0.01,
    )

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.temperature, str):
            raise ValueError(NO_LATENT_TEMPERATURE)

    def _make_structure(self) -> Structure:
        return Motif(
            length=self.length,
            background_order=self.background_order,
            alphabet=self.alphabet,
            both_strands=self.both_strands,
            classes=self.classes_.tolist(),
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from strings with one of two labels each.

        Sequences that are only presumed to have no motif can be passed as negative ones of small `sample_weight`: they
        determine the background (Yu and Joachims give 6,460 of them a weight of 1/50 each).

        Parameters
        ----------
        X : sequence of str
            Sequences; also `Seq` and `SeqRecord` of Biopython.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each sequence; 1 by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        named = None if self.classes is None else named_classes(self.classes).array()
        check_labels_of_one_kind(Y)
        y = column_or_1d(Y)
        check_classification_targets(y)
        self.positions_ = np.full(len(y), _LEFT_OUT)
        X, y, weights, positions = super()._prepare(X, y, sample_weight, groups)
        labels = np.unique(y)
        if len(labels) == 1:
            only = labels.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}: expected sequences with and without the motif")
        self.classes_ = with_positive_last(labels if named is None else named, self.positive_label)
        if named is not None and self.classes_[-1] != named[-1]:
            raise ValueError(
                f"positive_label={self.positive_label!r} contradicts classes={self.classes!r:.60}, whose last label is "
                f"the positive one: pass one of the two"
            )
        return X, y.tolist(), weights, positions

    @property
    def _auto_start(self) -> str:
        return "words"

    def _words_start(self, data: Any, problem: Problem, restart: int) -> FloatArray | None:
        examples: Any = problem.examples
        return start_from_word(examples, problem.objective.weights, restart)

    named_starts: ClassVar[Mapping[str, NamedStart]] = {
        **Restarted.named_starts,
        "words": _words_start,
        "random": no_weights,
    }

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        examples: Any = problem.examples
        codes, _, _ = examples.best_sites(state.best_w, np.arange(examples.n_examples))
        self.positions_ = self.positions_.copy()  # the models of a path start with the same array
        self.positions_[problem.positions] = codes // examples.structure.n_strands_

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        stored_array(self.positions_, "positions_", np.int64, (None,))

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        motif = structure.motif(weights)
        consensus = "".join(structure.alphabet[a] for a in motif.argmax(axis=1))
        return {**super()._fitted_attributes(weights, structure), "motif_": motif, "consensus_": consensus}

    # ------------------------------------------------------------------ use

    @property
    def _motif(self) -> Motif:
        assert isinstance(self.structure_, Motif)
        return self.structure_

    def _best_sites(self, X: Any) -> tuple[CodeArray, FloatArray]:
        """Return the code of the best site of each sequence, and its score above no motif."""
        check_is_fitted(self, "coef_")
        X = indexable(X, "X")
        codes, scores, _ = self._motif.encode(X).best_sites(self.coef_, np.arange(len(X)))
        return codes, scores

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of the best site of each sequence.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        ndarray of shape (n,)
            Scores, above 0 for the positive class.
        """
        return self._best_sites(X)[1]

    def predict(self, X: Any) -> AnyArray:
        """Return the label of each sequence, by its best site, or by all sites (``decode="risk"``).

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        positive = self.decision_function(X) > 0 if self.decode == "map" else self._probabilities(X) > 0.5
        return self.classes_[positive.astype(int)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of both labels: that of the positive one is the sum over all sites.

            p(positive | x) = Σ_h exp(score(h) / T) / (1 + Σ_h exp(score(h) / T))

        A long sequence has many sites, so this may be above 1/2 though no site scores above 0.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        ndarray of shape (n, 2)
            Probabilities, in the order of `classes_`.
        """
        positive = self._probabilities(X)
        return np.stack([1.0 - positive, positive], axis=1)

    def log_likelihood(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of the label of each sequence, summed over all sites.

        Parameters
        ----------
        X : sequence of str
            Sequences.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        ndarray of shape (n,)
            The logarithms of the probabilities of the labels.
        """
        X, y = paired_examples(X, column_or_1d(y))
        logs: list[FloatArray] = [np.zeros((0, 2))]
        for examples in self._summable(X):
            ids = np.arange(examples.n_examples)
            (values, starts), *_ = self._tempered_scores(examples, ids)
            sites = np.array([logsumexp(values[a:b]) for a, b in pairwise(starts.tolist())])
            logs.append(np.stack([-np.logaddexp(0.0, sites), -np.logaddexp(0.0, -sites)], axis=1))
        return np.concatenate(logs)[np.arange(len(y)), self._motif.labels_.encode(y, "y")]

    def _probabilities(self, X: Any) -> FloatArray:
        """Return the probability of the positive label of each sequence."""
        return np.array([min(table.sum(), 1.0) for table in self.predict_marginals(X)])

    def sites(self, X: Any) -> list[MotifSite]:
        """Return the best site of each sequence, also of sequences that are predicted to be negative.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        list of MotifSite
            Label, position and strand.
        """
        codes, _ = self._best_sites(X)
        sites, labels = map(self._motif.site, codes.tolist()), self.predict(X).tolist()
        return [site._replace(label=label) for site, label in zip(sites, labels, strict=True)]

    def site_counts(self, X: Any) -> IntArray:
        """Return how often each character occurs at each position of the motif, for logos and other programs.

        `maxmargin.formats.write_meme` and `write_jaspar` write these counts.

        Parameters
        ----------
        X : sequence of str
            Sequences; the sites of those that are predicted to be positive are counted.

        Returns
        -------
        ndarray of int of shape (l, A)
            Counts; sites on the other strand are read as the reverse complement, and unknown characters not counted.
        """
        X = indexable(X, "X")
        sites, positive = self.sites(X), self._motif.labels_.values[1]
        kept = [i for i, site in enumerate(sites) if site.label == positive]
        return self._motif.site_counts([X[i] for i in kept], [sites[i] for i in kept])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of correct labels; a label that is not a class is a wrong prediction.

        Parameters
        ----------
        X : sequence of str
            Sequences.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        labels = self._motif.labels_
        if not (labels.find(column_or_1d(y)) >= 0).any():
            warn_of_unknown_labels(labels)
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags
