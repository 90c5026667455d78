"""`DependencyParser`: the head of every word of a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, is_list, parameter, whole_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import by_position, indexable, kept_examples, one_example, outputs_called
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Compiled
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.files import FilePredictor
from maxmargin.estimators.probabilities import ProbabilisticSets
from maxmargin.estimators.text.relations import (
    check_relations,
    checked_relations,
    learn_relations,
    predict_relations,
    relations_of,
)
from maxmargin.estimators.training_data import TrainingData
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.text.sentences import (
    check_order,
    heads_of,
    is_one_sentence,
    read_sentence,
    split_pair,
    warn_of_unknown_tags,
)
from maxmargin.formats.conllu import conllu_package, read_conllu, with_heads
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


@declared
class DependencyParser(FilePredictor, ProbabilisticSets, MaxMarginEstimator):
    """Dependency parser: the tree of heads of each sentence, trained for a large margin (McDonald et al. 2005).

    A sentence is a list of words, of tuples (form, upos) or (form, upos, xpos), or of dicts with these keys, such as a
    token list of the conllu package. Heads are numbers as in CoNLL-U: the words of a sentence are 1 … n, the root is
    0. `fit` takes sentences X with heads y; or X alone, if it is the path of a CoNLL-U file, a list of token lists with
    heads, or a list of pairs (words, heads).

    With ``labelled=True`` the parser also learns the relation of each word to its head in a second stage, as McDonald,
    Lerman and Pereira 2006 do: a chain over the words, given the tree. Relations are the column ``deprel`` of the rows
    of X, or y has a pair (head, relation) for each word.

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

    Read on: "Spanning trees" in the documentation.
    """

    tags: Sequence[str] = parameter(
        "Columns of tags to use, if all sentences of the training data have them.",
        default=("upos", "xpos"),
        kind="list of str",
    )
    min_count: int = parameter(
        "Features that occur less often in the true arcs of the training data are left out.", whole_number, default=1
    )
    single_root: bool = parameter(
        "Whether exactly one word has the root as its head, as Universal Dependencies require.",
        check_flag,
        default=True,
    )
    projective: bool = parameter(
        "Whether no two arcs cross: Eisner's algorithm (1996) in place of that of Chu, Liu and Edmonds.",
        check_flag,
        default=False,
    )
    lift: bool = parameter(
        "Whether to make true trees projective by lifting arcs (Nivre and Nilsson 2005), with "
        "``projective=True``; otherwise a true tree that is not projective raises an error.",
        check_flag,
        default=False,
    )
    labelled: bool = parameter(
        "Whether to learn relations too, for `predict_labelled`, `predict_conllu` and `labelled_score`. "
        "`max_seconds` limits each of the two stages.",
        check_flag,
        default=False,
    )
    seen_pairs: bool = parameter(
        "Whether a feature of the second stage has weights only for the relations with which it occurs in the "
        "training data, as in `SequenceTagger`: a fraction of the memory and of the time, for 0.3 % of the "
        "relations (English).",
        check_flag,
        default=True,
    )
    C: float = changed(
        "Trade-off for the trees, whose loss counts words; the default was chosen on English "
        "(benchmarks/results/dependency.md).",
        default=0.03,
    )
    tol: float = changed(default=0.03)

    _together = 1000  # the arcs of all sentences would take much memory

    _structure = DependencyTree

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file (gzip or not), `Files` of format ``"conllu"``, or sentences.
        y : sequence, default=None
            The heads of the words of each sentence, or pairs (head, relation); None if X contains them.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each sentence in the objective; 1 by default. Sentences of weight 0 are left out.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted parser.
        """
        return self._fit(X, y, sample_weight, resume=resume)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        with outputs_called("X" if Y is None else "Y"):
            X, Y, relations = _sentences(X, Y, self.labelled)
            data = super()._training_data(X, Y, sample_weight, groups=groups)
        if relations is None:
            return data
        return LabelledData(**vars(data), relations=[relations[i] for i in data.positions.tolist()])

    def _why_not_in_shards(self) -> str:
        return "labelled=True" if self.labelled else super()._why_not_in_shards()

    def _survey(self, X: Any, Y: Any) -> dict[str, Any]:
        with outputs_called("X"):
            return super()._survey(*_sentences(X, Y, False)[:2])

    def _encode_part(self, structure: Compiled, X: Any, Y: Any) -> Examples:
        with outputs_called("X"):
            return super()._encode_part(structure, *_sentences(X, Y, False)[:2])

    def _second_stage(self, data: TrainingData) -> Callable[[], None]:
        if not isinstance(data, LabelledData):
            return super()._second_stage(data)
        return partial(self._learn_relations, data.X, data.Y, data.relations, data.weights)

    def _learn_relations(self, X: Any, heads: Any, relations: Any, weights: FloatArray) -> None:
        self.relation_structure_, self.relation_coef_ = learn_relations(
            X, heads, relations, self.tags_, weights, self.seen_pairs, max_seconds=self.max_seconds,
            n_jobs=self.n_jobs, random_state=self.random_state, verbose=self.verbose,
        )  # fmt: skip

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        return {**super()._fitted_attributes(weights, structure), "tags_": list(structure.arcs_.columns)}

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        chain, weights = getattr(self, "relation_structure_", None), getattr(self, "relation_coef_", None)
        if chain is not None or weights is not None:
            check_relations(chain, weights, structure.arcs_.columns)

    # ------------------------------------------------------------------ prediction

    def _inputs(self, X: Any) -> list[Any]:
        """Return the words of sentences, or of those of a file."""
        sentences = [split_pair(x)[0] for x in _several(X, bool(self.tags_))]
        if self.tags_:
            name, tags = self.tags_[0], self.structure_.arcs_.values[1].columns  # type: ignore[attr-defined]
            columns = [read_sentence(x, Place("X", i), (name,)).columns for i, x in enumerate(sentences)]
            pairs = [
                [(word, tag) for word, tag in zip(some["form"], some[name], strict=True) if tag not in (None, "_")]
                if name in some
                else []
                for some in columns
            ]
            for i, some in enumerate(pairs):
                check_order(some, tags, Place("X", i))
            warn_of_unknown_tags(pairs, tags)
        return sentences

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
        heads: list[list[int]] = super().predict(X)
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
        check_is_fitted(self, "coef_")
        X = self._inputs(X)
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
        check_is_fitted(self, "coef_")
        X = self._inputs(X)
        heads = self.predict(X)
        relations: Any = self._relations(X, heads) if hasattr(self, "relation_coef_") else [None] * len(heads)
        parsed = enumerate(zip(X, heads, relations, strict=True))
        return [with_heads(x, y, Place("X", i), labels) for i, (x, y, labels) in parsed]

    def _predicted_text(self, source: str) -> Iterator[str]:
        for sentence in self.predict_conllu(source):
            yield sentence.serialize()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the unlabelled attachment score: the fraction of words with the right head.

        All words count, punctuation included, as in the shared tasks on Universal Dependencies.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.
        y : sequence, default=None
            The true heads; None if X contains them. They need not be those of a tree that the parser can predict.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence, for all of its words.

        Returns
        -------
        float
            The score.
        """
        return self._attachment(X, y, sample_weight, False)

    def labelled_score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the labelled attachment score: the fraction of words with the right head and the right relation.

        Relations are compared as they are written; the shared tasks on Universal Dependencies ignore what follows a
        colon.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.
        y : sequence, default=None
            Pairs (head, relation) for each word; None if X contains them.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sentence, for all of its words.

        Returns
        -------
        float
            The score.
        """
        return self._attachment(X, y, sample_weight, True)

    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """Return the probability of every arc.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.

        Returns
        -------
        list of ndarray of shape (n + 1, n + 1)
            One table [head, word] for each sentence, as `decision_scores` has it: 0 is the root, the words are 1 … n,
            and the column of each word sums to 1. Relations have no probabilities: with ``decode="risk"`` heads are
            those of least risk, and relations the best ones for these heads.
        """
        tables: list[FloatArray] = super().predict_marginals(X)
        return tables

    def log_likelihood(self, X: Any, y: Any = None) -> FloatArray:
        """Return the logarithm of the probability of each tree of heads; relations do not count.

        Parameters
        ----------
        X : str, path-like or sequence
            A CoNLL-U file, or sentences.
        y : sequence, default=None
            The heads, or pairs (head, relation); None if X contains them.

        Returns
        -------
        ndarray of shape (n,)
            The logarithms.
        """
        with outputs_called("X" if y is None else "Y"):
            X, y, _ = _sentences(X, y, False)
            return super().log_likelihood(X, y)

    def _attachment(self, X: Any, Y: Any, sample_weight: Any, labelled: bool) -> float:
        check_is_fitted(self, "coef_")
        with outputs_called("X" if Y is None else "Y"):
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
                r & (labels == np.array(predicted, object))
                for r, labels, predicted in zip(right, expected, self._relations(X, heads), strict=True)
            ]
        total = weights @ [len(y) for y in true]
        if not total > 0:
            raise ValueError("every sentence is empty: there is nothing to score")
        if relations is not None:
            classes = self.relation_structure_.labels_  # type: ignore[attr-defined]
            if not any((classes.find(labels) >= 0).any() for labels in expected):
                warn_of_unknown_labels(classes)
        return float(weights @ [row.sum() for row in right] / total)


def _several(X: Any, tagged: bool) -> Any:
    """Return a list of sentences, or those of a file; raise ValueError if X is one sentence."""
    if isinstance(X, str) and ("\n" in X or "\t" in X):
        raise ValueError(f"X: expected a path or sentences, found text {X!r:.60}; pass conllu.parse(text)")
    if isinstance(X, str | os.PathLike):
        return read_conllu(X)
    X = indexable(X, "X")
    if is_one_sentence(X, tagged):
        raise one_example("X", "sentence")
    return X


def _sentences(X: Any, Y: Any, labelled: bool) -> tuple[list[Any], Any, list[list[str]] | None]:
    """Return sentences, their heads and, if needed, their relations; X contains both if Y is None."""
    Y = None if Y is None else indexable(Y, "Y")
    one = Y is not None and any(isinstance(y, Integral) for y in Y)
    X = _several(X, tagged=one)
    words = [split_pair(x)[0] for x in X]
    if Y is None:
        heads = [heads_of(x, i) for i, x in enumerate(X)]
        return words, heads, [relations_of(x, i) for i, x in enumerate(words)] if labelled else None
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
