"""Labelled brackets of constituency trees, by the conventions of evalb."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import example_weights
from maxmargin.features.text.brackets import TRACE
from maxmargin.features.text.treebank import TreeForm, constituents, read_tree

#: Tags of tokens that evalb removes (COLLINS.prm).
PUNCTUATION = (",", ":", "``", "''", ".")
#: Labels that evalb treats as another one (COLLINS.prm).
SAME_LABELS = {"PRT": "ADVP"}


class BracketScores(NamedTuple):
    """Scores of labelled brackets, over all sentences together.

    Attributes
    ----------
    precision, recall, f1 : float
        Share of predicted brackets that are true, of true ones that are predicted, and their harmonic mean.
    exact : float
        Share of sentences whose brackets are all right.
    n_true, n_predicted, n_matched : float
        Numbers of brackets, weighted if sentences have weights.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.bracket_scores(["(S (NP DT NN) (VP VBZ))"], ["(S (NP DT) (VP NN VBZ))"])
    >>> scores.n_matched, scores.n_predicted, scores.n_true
    (1.0, 3.0, 3.0)
    """

    precision: float
    recall: float
    f1: float
    exact: float
    n_true: float
    n_predicted: float
    n_matched: float


def bracket_scores(
    Y: Sequence[Any],
    Y_hat: Sequence[Any],
    *,
    punctuation: Collection[str] = PUNCTUATION,
    same_labels: Mapping[str, str] = SAME_LABELS,
    leaves: str = "auto",
    sample_weight: Any = None,
) -> BracketScores:
    """Return precision, recall and F1 of labelled brackets.

    A bracket is a label and the tokens below it. As evalb does with COLLINS.prm: roots (TOP, ROOT, S1 or no label) and
    tags are not brackets; traces (-NONE-) and punctuation are removed, so brackets are compared without them, and
    brackets over nothing else are not counted; PRT counts as ADVP; brackets are counted as often as they occur; and
    counts are summed over all sentences before the ratios are formed. Labels are compared as they are: remove function
    tags before (`maxmargin.formats.read_trees` with ``clean=True``).

    Parameters
    ----------
    Y, Y_hat : sequence
        True and predicted trees: strings in brackets, nested tuples or nltk trees. A prediction of None has no
        brackets.
    punctuation : collection of str, default=(",", ":", "``", "''", ".")
        Tags of tokens to remove; ``()`` counts all tokens.
    same_labels : mapping of str to str, default={"PRT": "ADVP"}
        Labels to replace.
    leaves : {"auto", "tags", "words"}, default="auto"
        What leaves of trees are; "auto" for words if nine of ten leaves of the true trees are only children.
    sample_weight : array-like of shape (n,), default=None
        Weight of each sentence.

    Returns
    -------
    BracketScores
        The scores; F1 is 1 if there are no brackets at all.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.bracket_scores(["(S (NP DT NN) (VP VBZ))"], ["(S DT (NP NN) (VP VBZ))"])
    >>> round(scores.f1, 3)
    0.667
    """
    if len(Y) != len(Y_hat):
        raise ValueError(f"Y has {len(Y)} trees but Y_hat has {len(Y_hat)}")
    weights, form = example_weights(sample_weight, len(Y)), TreeForm()
    read = [read_tree(y, Place("Y", i)) for i, y in enumerate(Y)]
    form.fit(Y, read, leaves)
    counts = np.zeros((len(read), 3))
    for i, (true, y_hat) in enumerate(zip(read, Y_hat, strict=True)):
        expected, n = _brackets(*form.bare(true, Place("Y", i)), punctuation, same_labels)
        predicted: Counter[Any] = Counter()
        if y_hat is not None:
            place = Place("Y_hat", i)
            predicted, m = _brackets(*form.bare(read_tree(y_hat, place), place), punctuation, same_labels)
            if m != n:
                raise error_at(place, f"a tree of {m} tokens, expected {n} as in Y[{i}]")
        counts[i] = expected.total(), predicted.total(), (expected & predicted).total()
    n_true, n_predicted, n_matched = (weights @ counts).tolist()
    whole = (counts[:, 0] == counts[:, 2]) & (counts[:, 1] == counts[:, 2])
    both = n_true + n_predicted
    return BracketScores(
        n_matched / n_predicted if n_predicted else float(not n_true),
        n_matched / n_true if n_true else float(not n_predicted),
        2.0 * n_matched / both if both else 1.0,
        float(np.average(whole, weights=weights)) if weights.any() else 0.0,
        n_true, n_predicted, n_matched,
    )  # fmt: skip


def _brackets(
    tree: Any, tokens: Any, punctuation: Collection[str], same_labels: Mapping[str, str]
) -> tuple[Counter[Any], int]:
    """Return the brackets of a tree of tags, and its number of tokens without traces."""
    brackets = ((same_labels.get(label, label), i, j) for label, i, j in constituents(tree, {*punctuation, TRACE}))
    return Counter(brackets), sum(tag != TRACE for _, tag in tokens)
