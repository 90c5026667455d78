"""`ConstituencyParser`: the tree of phrases of a sentence."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import check_flag, is_list
from maxmargin._input import by_position, either, indexable, kept_examples, outputs_in_x
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import Place, Where, error_at
from maxmargin.core.structure import Structure
from maxmargin.encoding.brackets import TreeTuple, cleaned
from maxmargin.encoding.treebank import TreeForm, has_words, is_tree, kind_of, read_tree, shown_tree
from maxmargin.estimators._refit import refitting
from maxmargin.estimators.base import MaxMarginEstimator, TrainingData
from maxmargin.io.formats.trees import read_trees
from maxmargin.metrics.brackets import BracketScores, bracket_scores
from maxmargin.structures.grammar.examples import NoTreeWarning, warn_of_missing
from maxmargin.structures.grammar.structure import Grammar

#: Sentences whose features are in memory at a time while many are parsed.
_SENTENCES_TOGETHER = 1000


class ConstituencyParser(MaxMarginEstimator):
    """Constituency parser: a weighted context-free grammar, trained for a large margin (Tsochantaridis et al. 2004).

        Ψ(x, y) = how often y uses each rule (and features of its constituents)

    Trees are strings in brackets, nested tuples (label, child, …) or nltk trees; their leaves are tags, or words below
    their tags. A sentence is a list of tags, or of pairs (word, tag). `fit` takes trees alone, the path of a file of
    trees in brackets, or sentences X with trees Y. All rules of the training trees belong to the grammar. Predictions
    are trees of the same kind as the training trees.

    Parameters
    ----------
    loss : {"f1", "constituents", "zero-one"}, default="f1"
        What wrong trees cost in training: 1 − F1 of labelled constituents, the number of wrong and missed constituents,
        or 1. All tokens and all labels but that of the root count. Argmaxes are exact; those with "f1" take 10 to 60
        times as long as with "constituents", which is recommended for sentences of 40 tokens.
    parent_annotation : bool, default=False
        Whether symbols of the grammar carry the label of their parent (Johnson 1998).
    horizontal : int or None, default=None
        Number of siblings to the left that the next child of a long rule depends on; None for all, so that only
        right-hand sides of the training trees occur.
    span_features : bool or list of str, default=False
        Features of constituents with their label: any of "first" and "last" (their first and last tags), "length",
        "split" (the tags where the last child begins), "context" (the tags around them) and "words" (words, where the
        others have tags). True for all.
    leaves : {"auto", "tags", "words"}, default="auto"
        What leaves of trees are; "auto" for words if nine of ten leaves of the training trees are only children.
    clean : bool, default=True
        Whether to remove function tags, co-indices and traces from training trees and from trees to compare with, as in
        `maxmargin.formats.read_trees`.
    glue : bool, default=True
        What to predict for sentences that the grammar does not derive: a root over as few pieces as possible if True,
        otherwise None, with a `NoTreeWarning`.
    min_count : int, default=1
        Words, and pairs of tags, that occur less often in the training data are left out of `span_features`.
    C : float, default=1.0
        Trade-off. The loss "constituents" counts, so that a smaller C suits it.
    tol : float, default=1e-2
        Relative gap at which training stops.
    bound, slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

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
    """

    def __init__(
        self,
        *,
        loss: str = "f1",
        parent_annotation: bool = False,
        horizontal: int | None = None,
        span_features: bool | Sequence[str] = False,
        leaves: str = "auto",
        clean: bool = True,
        glue: bool = True,
        min_count: int = 1,
        C: float = 1.0,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
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
        self.loss, self.parent_annotation, self.horizontal = loss, parent_annotation, horizontal
        self.span_features, self.leaves, self.clean = span_features, leaves, clean
        self.glue, self.min_count = glue, min_count
        self.C, self.bound, self.slack, self.solver = C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        return Grammar(
            cost=self.loss,
            parent_annotation=self.parent_annotation,
            horizontal=self.horizontal,
            span_features=self.span_features,
            leaves=self.leaves,
            glue=self.glue,
            min_count=self.min_count,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag(self.clean, "clean")
        self._make_structure().check_parameters()  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn the grammar and its weights.

        Parameters
        ----------
        X : str, path-like or sequence
            A file of trees in brackets (gzip or not), trees, or sentences.
        Y : sequence, default=None
            The tree of each sentence; None if X contains trees.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each tree in the objective; 1 by default. Trees of weight 0 are left out.
        y : sequence, default=None
            Another name of Y, for scikit-learn's tools.

        Returns
        -------
        self
            The fitted parser.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight)

    def fit_pcfg(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Set the weights to those of the maximum-likelihood grammar instead of training them.

            w_r = log (Σ_i c_i n_r(y_i) / Σ_i c_i n_{left-hand side of r}(y_i))

        The prediction is the most probable tree of a probabilistic context-free grammar; the weights of
        `span_features` are 0. There is no certificate.

        Parameters
        ----------
        X, Y, sample_weight, y : optional
            As in `fit`.

        Returns
        -------
        self
            The fitted parser.
        """
        self._check_parameters()
        with refitting(self):
            data = self._training_data(X, either(Y, y, "Y", "y"), sample_weight)
            weights = data.structure.log_probabilities(data.X, data.Y, data.weights)  # type: ignore[attr-defined]
            for name, value in self._fitted_attributes(weights, data.structure).items():
                setattr(self, name, value)
        return self

    def resume(
        self, path: str | os.PathLike[str], X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None
    ) -> Self:
        """Resume a fit from a checkpoint; the result is bit for bit that of an uninterrupted fit.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X, Y, sample_weight, y : optional
            As in `fit`.

        Returns
        -------
        self
            The fitted parser.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight, resume=path)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        with outputs_in_x(Y is None):
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
        return X, [shown_tree(tree, kind) for tree, kind in zip(read, kinds, strict=True)]

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

    def _features(self, X: Any) -> Any:
        """Return sentences; trees are replaced by their tokens."""
        form = self.structure_.form_  # type: ignore[attr-defined]

        def tokens(x: Any, where: Where) -> list[Any]:
            return _sentence(form, self._cleaned(read_tree(x, where), form.words, where), where)

        return [tokens(x, Place("X", i)) if is_tree(x) else x for i, x in enumerate(X)]

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
        check_is_fitted(self, "coef_")
        X, trees = indexable(_listed(X), "X"), list[Any]()
        self._warn_of_words(X)
        for first in range(0, len(X), _SENTENCES_TOGETHER):
            some = X[first : first + _SENTENCES_TOGETHER]
            with by_position(np.arange(first, first + len(some))), warnings.catch_warnings():
                warnings.simplefilter("ignore", NoTreeWarning)  # one warning for all sentences
                trees += super().predict(some)
        warn_of_missing(trees, bool(self.structure_.glue))  # type: ignore[attr-defined]
        return trees

    def _warn_of_words(self, X: Any) -> None:
        """Warn if sentences of single strings have no tag of the training trees: they are likely words."""
        grammar: Any = self.structure_
        if not grammar.form_.words or not all(is_list(x) and all(isinstance(t, str) for t in x) for x in X):
            return
        token = next((str(token) for x in X for token in x), None)
        if token is not None and not any(token in grammar.rules_.tags for x in X for token in x):
            warnings.warn(
                f"X: sentences of single strings are tags, but no training tree has one of these, for example "
                f"{token!r}; give pairs (word, tag)", UserWarning, stacklevel=3,
            )  # fmt: skip

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the labelled F1 of the predictions by evalb's conventions (`maxmargin.metrics.bracket_scores`).

        The root (TOP) and tags are not brackets, punctuation is removed before brackets are compared, PRT counts as
        ADVP, and brackets are counted over all sentences together.

        Parameters
        ----------
        X : str, path-like or sequence
            A file of trees, trees, or sentences.
        Y : sequence, default=None
            The true trees; None if X contains them. Their rules need not belong to the grammar.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The F1.
        """
        return self.bracket_scores(X, Y, sample_weight, y=y).f1

    def bracket_scores(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> BracketScores:
        """Return precision, recall, F1 and the share of exact trees of the predictions.

        Parameters
        ----------
        X, Y, sample_weight, y : optional
            As in `score`.

        Returns
        -------
        BracketScores
            The scores by evalb's conventions.
        """
        check_is_fitted(self, "coef_")
        Y = either(Y, y, "Y", "y")
        with outputs_in_x(Y is None):
            X, Y = self._sentences(X, Y)
            X, Y, weights, kept = kept_examples(X, Y, sample_weight)
            with by_position(kept):
                return bracket_scores(
                    Y, self.predict(X), leaves="words" if self.structure_.form_.words else "tags",  # type: ignore[attr-defined]
                    sample_weight=weights,
                )  # fmt: skip


def _listed(X: Any, name: str = "X") -> Any:
    """Return the trees of a file; anything else as it is."""
    if isinstance(X, str) and X.lstrip().startswith("("):
        raise ValueError(f"{name}: expected a list of trees or a path, found one tree; pass [tree]")
    return indexable(read_trees(X) if isinstance(X, str | os.PathLike) else X, name)


def _sentence(form: TreeForm, tree: TreeTuple, where: Where) -> list[Any]:
    """Return the tokens of a tree: tags, or pairs (word, tag)."""
    tokens = form.bare(tree, where)[1]
    return [tag if word is None else (word, tag) for word, tag in tokens]
