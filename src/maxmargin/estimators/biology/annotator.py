"""Annotations of positions that a tagger predicts, for aligners: for example secondary structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin._base.checks import positive_number, whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import indexable, paired_examples
from maxmargin._base.types import FloatArray
from maxmargin.estimators.biology.aligned_input import pairs_of
from maxmargin.estimators.held_out import related_folds
from maxmargin.estimators.text.tagger import SequenceTagger
from maxmargin.features.biology.annotated import AnnotatedSequence, read_pair, read_sequence
from maxmargin.structures.alignment.structure import AMINO_ACIDS

#: The mark of labels that are less probable than `confidence`.
DOUBT = "?"


def position_annotator(
    sequences: Any,
    labels: Any,
    *,
    groups: Any = None,
    name: str = "structure",
    form: str = "classes",
    confidence: float = 0.6,
    reach: int = 8,
    n_folds: int = 4,
    alphabet: str = AMINO_ACIDS,
    tagger: Any = None,
) -> Annotator:
    """Train taggers on labelled sequences, and return a function that annotates others with what they predict.

    A tagger has the letters within `reach` positions as features. Besides the tagger of all sequences there is one for
    each fold, trained without it. A sequence that was among the training sequences, or whose group was, is annotated by
    a tagger that has not seen it: otherwise its annotation would be better than those of new sequences, and an aligner
    would learn to trust it too much.

    Parameters
    ----------
    sequences : sequence of str
        Sequences whose positions have labels.
    labels : sequence of str or of lists
        A label for each position, for example ``"HHHCCEEE"``.
    groups : array-like of shape (n,), default=None
        Families of the sequences; those of one group are in the same fold.
    name : str, default="structure"
        Name of the annotation.
    form : {"classes", "probabilities"}, default="classes"
        ``"classes"``: the most probable label of each position, with a ``"?"`` after it if its probability is below
        `confidence`. ``"probabilities"``: an array with the probability of every label, for ``features="profile"``.
    confidence : float, default=0.6
        Probability from which a label is certain.
    reach : int, default=8
        Greatest distance of letters that are features of a position.
    n_folds : int, default=4
        Number of folds.
    alphabet : str, default="ACDEFGHIKLMNPQRSTVWY"
        The letters; all others are one unknown letter.
    tagger : SequenceTagger or None, default=None
        The tagger, which must have probabilities; by default ``SequenceTagger(bound="likelihood", C=0.03, tol=0.01)``.

    Returns
    -------
    Annotator
        A function of sequences; its method `pairs` takes pairs of sequences, as aligners do.

    Examples
    --------
    >>> import maxmargin as mm
    >>> chains = ["AAALLLGGGVVV", "LLLAAAGGVVVV", "VVVGGGAAALLA"]
    >>> labels = ["HHHHHHCCCEEE", "HHHHHHCCEEEE", "EEECCCHHHHHH"]
    >>> annotate = mm.position_annotator(chains, labels, reach=1, n_folds=3)
    >>> record = annotate(["ALLAGGVV"])[0]
    >>> record["sequence"], len(record["structure"])
    ('ALLAGGVV', 8)
    """
    sequences, labels = paired_examples(sequences, labels)
    whole_number(reach, "reach", 0)
    whole_number(n_folds, "n_folds", 2)
    positive_number(confidence, "confidence")
    if form not in ("classes", "probabilities"):
        raise ValueError(f"form must be 'classes' or 'probabilities', found {form!r:.60}")
    if groups is not None and len(groups) != len(sequences):
        raise ValueError(f"groups has {len(groups)} entries but there are {len(sequences)} sequences")
    texts = [read_sequence(s, Place("sequences", i)).text.upper() for i, s in enumerate(sequences)]
    for i, (text, row) in enumerate(zip(texts, labels, strict=True)):
        if len(text) != len(row):
            raise error_at(Place("labels", i), f"{len(row)} labels but {len(text)} letters")
    model = SequenceTagger(bound="likelihood", C=0.03, tol=0.01) if tagger is None else tagger
    names = [None] * len(texts) if groups is None else [_plain(group) for group in groups]
    members = [{text, ("group", one)} if groups is not None else {text} for text, one in zip(texts, names, strict=True)]
    folds = related_folds(members, n_folds)
    if len(folds) < 2:
        raise ValueError("all sequences are of one group: expected at least two, for cross-fitting")
    X, Y = [letter_windows(text, reach, alphabet) for text in texts], [list(row) for row in labels]

    def trained(held: Sequence[int]) -> Any:
        out = set(held)
        kept = [i for i in range(len(X)) if i not in out]
        return clone(model).fit([X[i] for i in kept], [Y[i] for i in kept])

    models = [*(trained(fold.tolist()) for fold in folds), trained(())]
    of_text = {texts[i]: k for k, fold in enumerate(folds) for i in fold.tolist()}
    of_group = {names[i]: k for k, fold in enumerate(folds) for i in fold.tolist() if groups is not None}
    return Annotator(models, of_text, of_group, name, form, float(confidence), int(reach), alphabet)


@dataclass(frozen=True)
class Annotator:
    """A function that annotates sequences with the labels that taggers predict; see `position_annotator`.

    Attributes
    ----------
    taggers : list of SequenceTagger
        One for each fold, trained without it, and that of all sequences.
    fold_of_text, fold_of_group : dict
        The fold of each training sequence, and of each group.
    name, form, confidence, reach, alphabet
        As in `position_annotator`.
    """

    taggers: list[Any]
    fold_of_text: dict[str, int]
    fold_of_group: dict[Any, int]
    name: str
    form: str
    confidence: float
    reach: int
    alphabet: str

    def __call__(self, sequences: Any, groups: Any = None) -> list[dict[str, Any]]:
        """Return sequences with the predicted annotation besides their own, as aligners take them.

        Parameters
        ----------
        sequences : sequence
            Sequences, with or without annotations.
        groups : array-like of shape (n,), default=None
            Families of the sequences.

        Returns
        -------
        list of dict
            A dict with ``"sequence"`` and annotations for each sequence.
        """
        read = [read_sequence(s, Place("sequences", i)) for i, s in enumerate(indexable(sequences, "sequences"))]
        tables = self._probabilities(read, groups)
        return [self._annotated(s, table) for s, table in zip(read, tables, strict=True)]

    def pairs(self, X: Any, groups: Any = None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return pairs of sequences with the predicted annotation.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences, as `PairwiseAligner` takes them.
        groups : array-like of shape (n,), default=None
            Family of each pair.

        Returns
        -------
        list of (dict, dict)
            The pairs.
        """
        read = [s for i, x in enumerate(pairs_of(X)) for s in read_pair(x, Place("X", i))]
        annotations = self(read, None if groups is None else [group for group in groups for _ in range(2)])
        return list(zip(annotations[::2], annotations[1::2], strict=True))

    def probabilities(self, sequences: Any, groups: Any = None) -> list[FloatArray]:
        """Return the probability of every label at every position.

        Parameters
        ----------
        sequences : sequence
            Sequences.
        groups : array-like of shape (n,), default=None
            Families of the sequences.

        Returns
        -------
        list of ndarray of shape (positions, labels)
            In the order of `labels`.
        """
        read = [read_sequence(s, Place("sequences", i)) for i, s in enumerate(indexable(sequences, "sequences"))]
        return self._probabilities(read, groups)

    @property
    def labels(self) -> list[Any]:
        """The labels, in the order of the columns of `probabilities`."""
        return _values(self.taggers[-1].classes_)

    def _probabilities(self, sequences: list[AnnotatedSequence], groups: Any) -> list[FloatArray]:
        if groups is not None and len(groups) != len(sequences):
            raise ValueError(f"groups has {len(groups)} entries but there are {len(sequences)} sequences")
        by_tagger: dict[int, list[int]] = {}
        for i, sequence in enumerate(sequences):
            fold = self.fold_of_text.get(sequence.text.upper(), len(self.taggers) - 1)
            if groups is not None:
                fold = self.fold_of_group.get(_plain(groups[i]), fold)
            by_tagger.setdefault(fold, []).append(i)
        probabilities: list[Any] = [None] * len(sequences)
        for k, ids in by_tagger.items():
            X = [letter_windows(sequences[i].text.upper(), self.reach, self.alphabet) for i in ids]
            columns = [self.labels.index(label) for label in _values(self.taggers[k].classes_)]
            for i, table in zip(ids, self.taggers[k].predict_marginals(X), strict=True):
                probabilities[i] = np.zeros((len(table), len(self.labels)))
                probabilities[i][:, columns] = table
        return probabilities

    def _annotated(self, sequence: AnnotatedSequence, table: FloatArray) -> dict[str, Any]:
        values: Any = table
        if self.form == "classes":
            values = [
                f"{self.labels[k]}{'' if table[i, k] >= self.confidence else DOUBT}"
                for i, k in enumerate(table.argmax(axis=1).tolist())
            ]
        return {"sequence": sequence.text, **sequence.annotations, self.name: values}


def letter_windows(text: str, reach: int, alphabet: str = AMINO_ACIDS) -> sp.csr_array:
    """Return indicators of the letters at all distances up to `reach` from each position.

    Parameters
    ----------
    text : str
        The sequence.
    reach : int
        The greatest distance.
    alphabet : str, default="ACDEFGHIKLMNPQRSTVWY"
        The letters; others, and positions beyond the ends, are one more letter.

    Returns
    -------
    csr_array of shape (len(text), (2 * reach + 1) * (len(alphabet) + 1))
        The indicators.
    """
    number = {letter: k for k, letter in enumerate(alphabet.upper())}
    n, width, n_letters = len(text), 2 * reach + 1, len(alphabet) + 1
    padded = np.full(n + 2 * reach, n_letters - 1)
    padded[reach : reach + n] = [number.get(letter, n_letters - 1) for letter in text]
    columns = padded[np.add.outer(np.arange(n), np.arange(width))] + n_letters * np.arange(width)
    starts = np.arange(0, n * width + 1, width)
    return sp.csr_array((np.ones(n * width), columns.ravel(), starts), shape=(n, width * n_letters))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _values(classes: Any) -> list[Any]:
    return [_plain(label) for label in classes]
