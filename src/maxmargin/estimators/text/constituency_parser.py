"""`ConstituencyParser`: the tree of phrases of a sentence."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, parameter, positive_number, whole_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.input import by_position, indexable, kept_examples, one_example, outputs_called
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Compiled
from maxmargin.estimators.base import MaxMarginEstimator, refitting
from maxmargin.estimators.probabilities import ProbabilisticSets
from maxmargin.estimators.starts import check_prior
from maxmargin.estimators.training_data import TrainingData
from maxmargin.features.text.brackets import TreeTuple, cleaned
from maxmargin.features.text.sentences import warn_of_unknown_tags
from maxmargin.features.text.treebank import (
    ReadTree,
    TreeForm,
    check_tagged,
    has_words,
    is_one_sentence,
    is_tree,
    kind_of,
    read_sentence_tags,
    read_tree,
)
from maxmargin.formats.trees import read_trees
from maxmargin.metrics.brackets import BracketScores, bracket_scores
from maxmargin.structures.grammar.examples import NoTreeWarning, warn_of_missing
from maxmargin.structures.grammar.structure import Grammar

#: Name of the prior that is the maximum-likelihood grammar, and its frequency of rules that part of the data lacks.
PCFG, RAREST = "pcfg", 1e-3


def check_grammar_prior(prior: Any, name: str) -> None:
    """Raise ValueError unless the prior is None, the maximum-likelihood grammar or a vector of finite numbers."""
    if not isinstance(prior, str):
        check_prior(prior, name)
    elif prior != PCFG:
        raise ValueError(f"{name} must be None, {PCFG!r} or a vector of weights, found {prior!r}")


@declared
class ConstituencyParser(ProbabilisticSets, MaxMarginEstimator):
    """Constituency parser: a weighted context-free grammar, trained for a large margin (Tsochantaridis et al. 2004).

        Ψ(x, y) = how often y uses each rule (and features of its constituents)

    Trees are strings in brackets, nested tuples (label, child, …) or nltk trees; their leaves are tags, or words below
    their tags. A sentence is a list of tags, or of pairs (word, tag). `fit` takes trees alone, the path of a file of
    trees in brackets, or sentences X with trees y. All rules of the training trees belong to the grammar. Predictions
    are trees of the same kind as the training trees.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    labels_ : list of str
        Labels of constituents.
    rules_ : list of str
        Rules of the grammar; ``coef_[:len(rules_)]`` are their weights.

    Examples
    --------
    >>> import maxmargin as mm
    >>> trees = ["(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP DT NN)))"]
    >>> mm.ConstituencyParser().fit(trees).predict([["DT", "NN", "VBZ", "DT", "NN"]])
    ['(S (NP DT NN) (VP VBZ (NP DT NN)))']

    Read on: "Grammars" in the documentation.
    """

    loss: str = parameter(
        "What wrong trees cost in training: the number of wrong and missed constituents, 1 − F1 of labelled "
        "constituents, or 1. All tokens and all labels but that of the root count. Argmaxes are exact; those "
        'with "f1" take 10 to 60 times as long as with "constituents".',
        default="constituents",
        kind='{"constituents", "f1", "zero-one"}',
    )
    parent_annotation: bool = parameter(
        "Whether symbols of the grammar carry the label of their parent (Johnson 1998). A rule that occurs under one "
        "parent belongs to the grammar under all parents that its left-hand side has in the training trees.",
        check_flag,
        default=False,
    )
    horizontal: int | None = parameter(
        "Number of siblings to the left that the next child of a long rule depends on; None for all, so "
        "only right-hand sides of the training trees occur.",
        default=1,
    )
    span_features: bool | Sequence[str] = parameter(
        'Features of constituents with their label: any of "first" and "last" (their first and last tags), '
        '"length", "split" (the tags where the last child begins), "context" (the tags around them) and '
        '"words" (words, where the others have tags). True for all, False for rules alone.',
        default=True,
        kind="bool or list of str",
    )
    leaves: str = parameter(
        'What leaves of trees are; "auto" for words if nine of ten leaves of the training trees are only children.',
        default="auto",
        kind='{"auto", "tags", "words"}',
    )
    clean: bool = parameter(
        "Whether to remove function tags, co-indices and traces from training trees and from trees to compare "
        "with, as in `maxmargin.formats.read_trees`.",
        check_flag,
        default=True,
    )
    glue: bool = parameter(
        "What to predict for sentences that the grammar does not derive: a root over as few pieces as "
        "possible if True, otherwise None, with a `NoTreeWarning`.",
        check_flag,
        default=True,
    )
    min_count: int = parameter(
        "Words, and pairs of tags, that occur less often in the training data are left out of `span_features`.",
        whole_number,
        default=1,
    )
    prior: Any = parameter(
        'Weights w₀ that the regulariser ½‖w − w₀‖² prefers: ``"pcfg"`` for the logarithms of the rules\' relative '
        "frequencies in the training trees, as `fit_pcfg` sets them; 0 for other features. None means 0.",
        check_grammar_prior,
        default=None,
        kind='"pcfg", array-like of shape (n_weights,) or None',
    )
    prior_scale: float = parameter("Factor of the prior.", positive_number, default=1.0)
    C: float = changed(
        'Trade-off. The losses "f1" and "zero-one" are at most 1 for each tree, so a C about ten times '
        "as large suits them; so it does for rules alone.",
        default=0.1,
    )
    tol: float = changed(default=0.01)

    _together = 1000  # the features of all sentences would take much memory

    _structure = Grammar

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: Any = None) -> Self:
        """Learn the grammar and its weights.

        Parameters
        ----------
        X : str, path-like or sequence
            A file of trees in brackets (gzip or not), `Files` of format ``"trees"``, trees, or sentences.
        y : sequence, default=None
            The tree of each sentence; None if X contains trees.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each tree in the objective; 1 by default. Trees of weight 0 are left out.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted parser.
        """
        return self._fit(X, y, sample_weight, resume=resume)

    def fit_pcfg(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the weights to those of the maximum-likelihood grammar instead of training them.

            w_r = log (Σ_i c_i n_r(y_i) / Σ_i c_i n_{left-hand side of r}(y_i))

        With `parent_annotation`, frequencies are smoothed by those without annotations (`Grammar.log_probabilities`).
        The prediction is the most probable tree of a probabilistic context-free grammar, which has no `span_features`.
        There is no certificate.

        Parameters
        ----------
        X, y, sample_weight : optional
            As in `fit`.

        Returns
        -------
        self
            The fitted parser.
        """
        self._check_parameters()
        with refitting(self), outputs_called("X" if y is None else "Y"):
            X, Y, weights, positions = self._prepare(X, y, sample_weight)
            grammar: Any = self._make_structure().set_params(span_features=False)  # type: ignore[attr-defined]
            with by_position(positions):
                coefficients = grammar.fit(X, Y).log_probabilities(X, Y, weights)
            for name, value in self._fitted_attributes(coefficients, grammar).items():
                setattr(self, name, value)
        return self

    def _centre(self, data: TrainingData) -> FloatArray | None:
        if isinstance(self.prior, str):
            examples: Any = data.examples
            prior = examples.log_probabilities(data.weights, RAREST)
        else:
            prior = super()._centre(data)
        return None if prior is None else float(self.prior_scale) * prior

    def _why_not_in_shards(self) -> str:
        return f"prior={PCFG!r}" if isinstance(self.prior, str) else super()._why_not_in_shards()

    def _survey(self, X: Any, Y: Any) -> dict[str, Any]:
        with outputs_called("X"):
            return super()._survey(X, Y)

    def _encode_part(self, structure: Compiled, X: Any, Y: Any) -> Examples:
        with outputs_called("X"):
            return super()._encode_part(structure, *self._sentences(X, Y))

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        with outputs_called("X" if Y is None else "Y"):
            return super()._training_data(X, Y, sample_weight, groups=groups)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X, Y = self._sentences(X, Y)
        return super()._prepare(X, Y, sample_weight, groups)

    def _sentences(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Return sentences and their trees, which X contains if Y is None."""
        X = _listed(X)
        trees = X if Y is None else _listed(Y, "Y")
        kinds = [kind_of(tree) for tree in trees]
        raw = [read_tree(tree, Place("Y", i)) for i, tree in enumerate(trees)]
        words = has_words(raw) if self.leaves == "auto" else self.leaves == "words"
        read = [self._cleaned(tree, words, Place("Y", i)) for i, tree in enumerate(raw)]
        if Y is None:
            form = TreeForm()
            form.fit(trees, read, self.leaves)
            X = [_sentence(form, tree, Place("Y", i)) for i, tree in enumerate(read)]
        return X, [ReadTree(tree, kind) for tree, kind in zip(read, kinds, strict=True)]

    def _cleaned(self, read: TreeTuple, words: bool, where: Where) -> TreeTuple:
        """Return a tree without function tags and traces, if they are to be removed."""
        if not self.clean:
            return read
        kept = cleaned(read, words and has_words([read]))
        if kept is None:
            raise error_at(where, "an empty tree: it has only traces (-NONE-); leave it out")
        return kept

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        grammar = structure.rules_
        return {
            **super()._fitted_attributes(weights, structure),
            "labels_": list(grammar.labels),
            "rules_": grammar.column_names(),
        }

    # ------------------------------------------------------------------ prediction

    def _inputs(self, X: Any) -> list[Any]:
        """Return sentences, or those of a file; trees are replaced by their tokens."""
        grammar: Any = self.structure_
        form, tags = grammar.form_, grammar.rules_.tags

        def tokens(x: Any, where: Where) -> list[Any]:
            return _sentence(form, self._cleaned(read_tree(x, where), form.words, where), where)

        X = _listed(X)
        if is_one_sentence(X, tags):
            raise one_example("X", "sentence")
        sentences = [tokens(x, Place("X", i)) if is_tree(x) else x for i, x in enumerate(X)]
        tokens_of = [read_sentence_tags(x, Place("X", i)) for i, x in enumerate(sentences)]
        for i, sentence in enumerate(tokens_of):
            check_tagged(sentence, tags, form.words, Place("X", i))
        warn_of_unknown_tags(tokens_of, tags)
        return sentences

    def predict(self, X: Any) -> list[Any]:
        """Return the tree of each sentence.

        Parameters
        ----------
        X : str, path-like or sequence
            Sentences: lists of tags or of pairs (word, tag). Trees, or a file of trees, stand for their sentences.

        Returns
        -------
        list
            Trees of the same kind as the training trees; None for an empty sentence, and, with ``glue=False``, for
            sentences that the grammar does not derive.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoTreeWarning)  # one warning for all batches
            trees: list[Any] = super().predict(X)
        warn_of_missing(trees, bool(self.structure_.glue))  # type: ignore[attr-defined]
        return trees

    def decision_scores(self, X: Any) -> list[FloatArray]:
        """Return, for every possible constituent, the best score of a tree that has it.

            m[i, j, k] = max_{ŷ: ŷ has label k on the tokens i … j − 1} w·Ψ(x, ŷ)        (max-marginals)

        The greatest entry is the score of the prediction, which its constituents have; the difference to it is what
        forcing a constituent costs. The time is that of a few predictions.

        Parameters
        ----------
        X : str, path-like or sequence
            Sentences, as in `predict`.

        Returns
        -------
        list of ndarray of shape (n, n + 1, K)
            One table for each sentence of n tokens, with labels in the order of `labels_`. Constituents that no tree of
            the grammar has are −∞, as all are of a sentence that the grammar does not derive.
        """
        scores: list[FloatArray] = super().decision_scores(X)
        return scores

    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """Return the probability of every possible constituent, by inside and outside sums.

        Parameters
        ----------
        X : str, path-like or sequence
            Sentences, as in `predict`.

        Returns
        -------
        list of ndarray of shape (n, n + 1, K)
            p[i, j, k] for label k, in the order of `labels_`, on the tokens i … j − 1, as `decision_scores` has it.
        """
        tables: list[FloatArray] = super().predict_marginals(X)
        return tables

    def log_likelihood(self, X: Any, y: Any = None) -> FloatArray:
        """Return the logarithm of the probability of each tree.

        Parameters
        ----------
        X : str, path-like or sequence
            A file of trees, trees, or sentences.
        y : sequence, default=None
            The true trees; None if X contains them. Their rules must belong to the grammar.

        Returns
        -------
        ndarray of shape (n,)
            The logarithms.
        """
        with outputs_called("X" if y is None else "Y"):
            return super().log_likelihood(*self._sentences(X, y))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the labelled F1 of the predictions by evalb's conventions (`maxmargin.metrics.bracket_scores`).

        The root (TOP) and tags are not brackets, punctuation is removed before brackets are compared, PRT counts as
        ADVP, and brackets are counted over all sentences together.

        Parameters
        ----------
        X : str, path-like or sequence
            A file of trees, trees, or sentences.
        y : sequence, default=None
            The true trees; None if X contains them. Their rules need not belong to the grammar.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence.

        Returns
        -------
        float
            The F1.
        """
        return self.bracket_scores(X, y, sample_weight).f1

    def bracket_scores(self, X: Any, y: Any = None, sample_weight: Any = None) -> BracketScores:
        """Return precision, recall, F1 and the share of exact trees of the predictions.

        Parameters
        ----------
        X, y, sample_weight : optional
            As in `score`.

        Returns
        -------
        BracketScores
            The scores by evalb's conventions.
        """
        check_is_fitted(self, "coef_")
        with outputs_called("X" if y is None else "Y"):
            X, Y = self._sentences(X, y)
            X, Y, weights, kept = kept_examples(X, Y, sample_weight)
            with by_position(kept):
                return bracket_scores(
                    Y, self.predict(X), leaves="words" if self.structure_.form_.words else "tags",  # type: ignore[attr-defined]
                    sample_weight=weights,
                )  # fmt: skip


def _listed(X: Any, name: str = "X") -> Any:
    """Return a list of trees or sentences, or the trees of a file; raise ValueError if X is one tree."""
    if is_tree(X):
        raise one_example(name, "tree")
    return indexable(read_trees(X) if isinstance(X, str | os.PathLike) else X, name)


def _sentence(form: TreeForm, tree: TreeTuple, where: Where) -> list[Any]:
    """Return the tokens of a tree: tags, or pairs (word, tag)."""
    tokens = form.bare(tree, where)[1]
    return [tag if word is None else (word, tag) for word, tag in tokens]
