"""`DependencyParser`: the head of every word of a sentence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import check_flag, is_list
from maxmargin._input import by_position, either, indexable, kept_examples, outputs_in_x
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import ExampleError, Place
from maxmargin.core.structure import Structure
from maxmargin.encoding.sentences import heads_of, split_pair
from maxmargin.estimators._relations import checked_relations, learn_relations, predict_relations, relations_of
from maxmargin.estimators.base import MaxMarginEstimator, TrainingData
from maxmargin.io.formats.conllu import conllu_package, read_conllu, with_heads
from maxmargin.solvers.base import State
from maxmargin.structures.tree.dependency import DependencyTree
from maxmargin.structures.tree.structure import Tree


@dataclass(frozen=True)
class LabelledData(TrainingData):
    """Training data with the relations of all words.

    Attributes
    ----------
    relations : list of list of str
        The relation of each word to its head.
    """

    relations: Any


#: Sentences whose arcs are in memory at a time while many are parsed.
_SENTENCES_TOGETHER = 1000


class DependencyParser(MaxMarginEstimator):
    """Dependency parser: the tree of heads of each sentence, trained for a large margin (McDonald et al. 2005).

    A sentence is a list of words, of tuples (form, upos) or (form, upos, xpos), or of dicts with these keys, such as a
    token list of the conllu package. Heads are numbers as in CoNLL-U: the words of a sentence are 1 … n, the root is
    0. `fit` takes sentences X with heads Y; or X alone, if it is the path of a CoNLL-U file, a list of token lists with
    heads, or a list of pairs (words, heads).

    With ``labelled=True`` the parser also learns the relation of each word to its head in a second stage, as McDonald,
    Lerman and Pereira 2006 do: a chain over the words, given the tree. Relations are the column ``deprel`` of the rows
    of X, or Y has a pair (head, relation) for each word.

    Parameters
    ----------
    tags : list of str, default=("upos", "xpos")
        Columns of tags to use, if all sentences of the training data have them.
    min_count : int, default=1
        Features that occur less often in the true arcs of the training data are left out.
    single_root : bool, default=True
        Whether exactly one word has the root as its head, as Universal Dependencies require.
    projective : bool, default=False
        Whether no two arcs cross: Eisner's algorithm (1996) in place of that of Chu, Liu and Edmonds.
    lift : bool, default=False
        Whether to make true trees projective by lifting arcs (Nivre and Nilsson 2005), with ``projective=True``;
        otherwise a true tree that is not projective raises an error.
    labelled : bool, default=False
        Whether to learn relations too, for `predict_labelled`, `predict_conllu` and `labelled_score`. `max_seconds`
        limits each of the two stages.
    C : float, default=0.03
        Trade-off for the trees, whose loss counts words; the default was chosen on English
        (benchmarks/results/dependency.md).
    tol : float, default=3e-2
        Relative gap at which training stops.
    bound, slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    tags_ : list of str
        Columns of tags in use.
    relation_structure_, relation_coef_ : Chain, ndarray
        The chain of relations and its weights, with ``labelled=True``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> sentences = [(["she", "reads", "books"], [2, 0, 2]), (["he", "writes"], [2, 0])]
    >>> mm.DependencyParser(C=1.0).fit(sentences).predict([["he", "reads", "books"]])
    [[2, 0, 2]]
    """

    def __init__(
        self,
        *,
        tags: Sequence[str] = ("upos", "xpos"),
        min_count: int = 1,
        single_root: bool = True,
        projective: bool = False,
        lift: bool = False,
        labelled: bool = False,
        C: float = 0.03,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        solver: Any = "auto",
        tol: float = 3e-2,
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
        self.tags, self.min_count = tags, min_count
        self.single_root, self.projective, self.lift, self.labelled = single_root, projective, lift, labelled
        self.C, self.bound, self.slack, self.solver = C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        return DependencyTree(
            tags=self.tags,
            min_count=self.min_count,
            single_root=self.single_root,
            projective=self.projective,
            lift=self.lift,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag(self.labelled, "labelled")
        self._make_structure().check_parameters()  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file (gzip or not), or sentences.
        Y : sequence, default=None
            The heads of the words of each sentence, or pairs (head, relation); None if X contains them.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each sentence in the objective; 1 by default. Sentences of weight 0 are left out.
        y : sequence, default=None
            Another name of Y, for scikit-learn's tools.

        Returns
        -------
        self
            The fitted parser.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight)

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
            X, Y, relations = _sentences(X, Y, self.labelled)
            data = super()._training_data(X, Y, sample_weight, groups=groups)
        if relations is None:
            return data
        return LabelledData(**vars(data), relations=[relations[i] for i in data.positions.tolist()])

    def _learn(self, data: TrainingData, *arguments: Any, **options: Any) -> State:
        state = super()._learn(data, *arguments, **options)
        if isinstance(data, LabelledData):
            self.relation_structure_, self.relation_coef_ = learn_relations(
                data.X, data.Y, data.relations, self.tags_, data.weights, max_seconds=self.max_seconds,
                n_jobs=self.n_jobs, random_state=self.random_state, verbose=self.verbose,
            )  # fmt: skip
        return state

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        return {**super()._fitted_attributes(weights, structure), "tags_": list(structure.arcs_.columns)}

    # ------------------------------------------------------------------ prediction

    def _features(self, X: Any) -> Any:
        return [split_pair(x)[0] for x in X]

    def _explained_names(self) -> Any:
        return self.structure_.arcs_.column_names()  # type: ignore[attr-defined]

    def predict(self, X: Any) -> list[list[int]]:
        """Return the head of each word of each sentence: its number, counted from 1, or 0 for the root.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences; heads that they have are not used.

        Returns
        -------
        list of list of int
            The heads.
        """
        check_is_fitted(self, "coef_")
        X, heads = indexable(_read(X), "X"), list[list[int]]()
        for first in range(0, len(X), _SENTENCES_TOGETHER):
            some = X[first : first + _SENTENCES_TOGETHER]
            with by_position(np.arange(first, first + len(some))):
                heads += super().predict(some)
        return heads

    def predict_labelled(self, X: Any) -> list[list[tuple[int, str]]]:
        """Return the head of each word and its relation to it, of a parser with ``labelled=True``.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences; heads and relations that they have are not used.

        Returns
        -------
        list of list of (int, str)
            Heads and relations.
        """
        X = self._features(indexable(_read(X), "X"))
        heads = self.predict(X)
        return [list(zip(*pair, strict=True)) for pair in zip(heads, self._relations(X, heads), strict=True)]

    def _relations(self, X: Any, heads: list[list[int]]) -> list[list[str]]:
        check_is_fitted(self, "coef_")
        if not hasattr(self, "relation_coef_"):
            raise ValueError("this parser has learnt no relations: fit it with labelled=True")
        return predict_relations(self.relation_structure_, self.relation_coef_, X, heads, self.tags_, self.n_jobs)

    def predict_conllu(self, X: Any) -> list[Any]:
        """Return sentences as token lists of the conllu package, with the predicted heads (extra ``nlp``).

        Token lists keep all of their rows and columns, except for heads and what depends on them: enhanced dependencies
        are removed, and the relation is the predicted one, or ``root`` or ``dep`` if the parser is not labelled.
        ``serialize()`` of a token list is its text.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.

        Returns
        -------
        list of conllu.TokenList
            The parsed sentences.
        """
        conllu_package()
        X = self._features(indexable(_read(X), "X"))
        heads = self.predict(X)
        relations: Any = self._relations(X, heads) if hasattr(self, "relation_coef_") else [None] * len(heads)
        parsed = enumerate(zip(X, heads, relations, strict=True))
        return [with_heads(x, y, Place("X", i), labels) for i, (x, y, labels) in parsed]

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the unlabelled attachment score: the fraction of words with the right head.

        All words count, punctuation included, as in the shared tasks on Universal Dependencies.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.
        Y : sequence, default=None
            The true heads; None if X contains them. They need not be those of a tree that the parser can predict.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence, for all of its words.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The score.
        """
        return self._attachment(X, either(Y, y, "Y", "y"), sample_weight, False)

    def labelled_score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the labelled attachment score: the fraction of words with the right head and the right relation.

        Relations are compared as they are written; the shared tasks on Universal Dependencies ignore what follows a
        colon.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.
        Y : sequence, default=None
            Pairs (head, relation) for each word; None if X contains them.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence, for all of its words.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The score.
        """
        return self._attachment(X, either(Y, y, "Y", "y"), sample_weight, True)

    def _attachment(self, X: Any, Y: Any, sample_weight: Any, labelled: bool) -> float:
        check_is_fitted(self, "coef_")
        with outputs_in_x(Y is None):
            X, Y, relations = _sentences(X, Y, labelled)
            X, Y, weights, kept = kept_examples(X, Y, sample_weight)
            with by_position(kept):
                true = [_heads(y, i) for i, y in enumerate(Y)]
                heads = self.predict(X)
                right = []
                for i, (y, y_hat) in enumerate(zip(true, heads, strict=True)):
                    if len(y) != len(y_hat):
                        raise ExampleError.at(
                            Place("Y", i), f"{len(y)} heads, expected one for each of {len(y_hat)} words"
                        )
                    right.append(y == y_hat)
        if relations is not None:
            expected = [np.array(relations[i], object) for i in kept.tolist()]
            right = [
                r & (labels == np.array(found, object))
                for r, labels, found in zip(right, expected, self._relations(X, heads), strict=True)
            ]
        total = weights @ [len(y) for y in true]
        if not total > 0:
            raise ValueError("every sentence is empty: there is nothing to score")
        return float(weights @ [row.sum() for row in right] / total)


def _read(X: Any) -> Any:
    """Return the sentences of a file; anything else as it is."""
    if isinstance(X, str) and ("\n" in X or "\t" in X):
        raise ValueError(f"X: expected a path or sentences, found text {X!r:.60}; pass conllu.parse(text)")
    return read_conllu(X) if isinstance(X, str | os.PathLike) else X


def _sentences(X: Any, Y: Any, labelled: bool) -> tuple[list[Any], Any, list[list[str]] | None]:
    """Return sentences, their heads and, if needed, their relations; X contains both if Y is None."""
    X = indexable(_read(X), "X")
    words = [split_pair(x)[0] for x in X]
    if Y is None:
        heads = [heads_of(x, i) for i, x in enumerate(X)]
        return words, heads, [relations_of(x, i) for i, x in enumerate(words)] if labelled else None
    Y = indexable(Y, "Y")
    if not labelled and not any(_is_labelled(y) for y in Y):
        return words, Y, None
    pairs = [_pairs(y, i) for i, y in enumerate(Y)]
    relations = [checked_relations([relation for _, relation in y], "Y", i) for i, y in enumerate(pairs)]
    return words, [[head for head, _ in y] for y in pairs], relations if labelled else None


def _is_labelled(y: Any) -> bool:
    return is_list(y) and len(y) > 0 and isinstance(y[0], tuple | list)


def _pairs(y: Any, i: int) -> list[Any]:
    """Return the pairs (head, relation) of a sentence."""
    if not is_list(y):
        raise ExampleError.at(Place("Y", i), f"expected (head, relation) for each word, found {y!r:.60}")
    for m, pair in enumerate(y, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ExampleError.at(Place("Y", i, f", word {m}"), f"expected (head, relation), found {pair!r:.60}")
    return list(y)


def _heads(y: Any, i: int) -> IntArray:
    """Return the heads of a true tree; any tree will do."""
    return Tree().code_of(y, Place("Y", i)).astype(np.int64)
