"""Dependency trees of sentences, by templates over words and tags (McDonald et al. 2005)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, is_list, whole_number
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.features.graphs.arcs import Arcs
from maxmargin.features.text.arc_templates import ArcSurvey, ArcTemplates
from maxmargin.features.text.sentences import Words, concatenated, read_sentence
from maxmargin.parts.indicators import Indicators
from maxmargin.structures.tree import _projective
from maxmargin.structures.tree.structure import Tree, TreeExamples


class DependencyTree(Tree):
    """Dependency trees of sentences: the head of each word.

    Each x is a sentence: a list of words, of tuples (form, upos) or (form, upos, xpos), or of dicts with the keys
    ``form``, ``upos`` and ``xpos``, such as a token list of the conllu package; rows of multiword tokens and of empty
    nodes are left out. Each y lists the head of each word: its number, counted from 1, or 0 for the root.

        Ψ(x, y) = Σ_{arcs of y} φ(x, arc)        Δ(y, ŷ) = number of words with a wrong head

    φ has the value 1 for words, tags and pairs of them at both ends of the arc, for the tags around and between them,
    and for all of these with the direction and distance of the arc. Only features of true arcs of the training data
    have weights. They take about 4 bytes per feature of an arc.

    Parameters
    ----------
    tags : list of str, default=("upos", "xpos")
        Columns of tags to use, if the training data have them.
    min_count : int, default=1
        Features that occur less often in the true arcs of the training data are left out.
    single_root : bool, default=True
        Whether exactly one word has the root as its head.
    projective : bool, default=False
        Whether no two arcs cross, as in `Tree`.
    lift : bool, default=False
        Whether to make true trees projective by lifting arcs (Nivre and Nilsson 2005), with ``projective=True``;
        otherwise a true tree that is not projective raises an error.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [["she", "reads", "books"], ["he", "writes"]]
    >>> model = mm.StructuralSVM(mm.DependencyTree(), C=10.0).fit(X, [[2, 0, 2], [2, 0]])
    >>> model.predict([["he", "reads", "books"]])
    [[2, 0, 2]]
    """

    learns: ClassVar[dict[str, type]] = {"arcs_": ArcTemplates}
    kernel_rows: ClassVar[dict[str, str]] = {}
    no_kernel: ClassVar[str] = "its templates already combine the words and tags of an arc"
    directed = True

    def __init__(
        self,
        *,
        tags: Sequence[str] = ("upos", "xpos"),
        min_count: int = 1,
        single_root: bool = True,
        projective: bool = False,
        lift: bool = False,
    ) -> None:
        self.tags, self.min_count, self.lift = tags, min_count, lift
        self.single_root, self.projective = single_root, projective

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag(self.lift, "lift")
        whole_number(self.min_count, "min_count")
        if not is_list(self.tags) or not all(isinstance(name, str) for name in self.tags) or len(self.tags) > 5:
            raise ValueError(f"tags must be a list of at most 5 names of columns, found {self.tags!r:.60}")
        if "form" in self.tags or len(set(self.tags)) < len(self.tags):
            raise ValueError(f"tags must be distinct columns besides form, found {self.tags!r:.60}")
        if self.lift and not self.projective:
            raise ValueError("lift=True needs projective=True: other trees need not be lifted")

    def _set_learnt(self, learnt: Any) -> None:
        super()._set_learnt(learnt)
        if not set(self.arcs_.columns) <= set(self.tags):
            raise ValueError(f"columns of tags must be of {tuple(self.tags)}, found {self.arcs_.columns}")

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> TreeExamples:
        names = tuple(self.tags if learn else self.arcs_.columns)
        words = self._words(X, names, learn)
        lengths = np.diff(words.offsets)
        truths: list[CodeArray] | None = None
        costs: FloatArray | float = 1.0
        if Y is not None:
            truths, costs = self._truths(Y, lengths)
        if learn:
            assert truths is not None
            self.arcs_.tags, self.arcs_.min_count = names, int(self.min_count)
            self.arcs_.fit(words, np.concatenate([*truths, np.zeros(0, np.int32)]))
        rows = self.arcs_.encode(words)
        forbidden = np.zeros(int(rows.offsets[-1]), bool)
        child = np.arange(words.offsets[-1]) - np.repeat(words.offsets[:-1], lengths)
        forbidden[np.repeat(rows.offsets[:-1], lengths) + child * np.repeat(lengths + 1, lengths) + child + 1] = True
        block = Indicators(rows.indptr, rows.indices, len(self.arcs_.keys), rows.offsets, forbidden)
        return TreeExamples(self, [block], words.offsets, truths, [costs], self._settings())

    def _words(self, X: Sequence[Any], names: tuple[str, ...], learn: bool) -> Words:
        """Return the columns of all words; raise an error for sentences from which nothing can be learnt."""
        sentences = [read_sentence(x, Place("X", i), names) for i, x in enumerate(X)]
        words = concatenated(sentences, names, required=not learn)
        empty = np.flatnonzero(np.diff(words.offsets) == 0)
        if learn and len(empty):
            raise error_at(Place("X", int(empty[0])), "a sentence without words")
        for name in names if learn else ():
            if name in ("upos", "xpos"):  # named by default, whether data have them or not
                continue
            if all(value is None for sentence in sentences for value in sentence.columns.get(name, ())):
                raise ValueError(f"tags: no training sentence has the column {name!r}; leave it out, or correct it")
        return words

    def _truths(self, Y: Sequence[Any], lengths: IntArray) -> tuple[list[CodeArray], FloatArray | float]:
        """Return the heads of true trees, and the costs of arcs."""
        arcs = [Arcs(None, int(n) + 1, True, None) for n in lengths]
        truths = [self._truth(y, arc, Place("Y", i)) for i, (y, arc) in enumerate(zip(Y, arcs, strict=True))]
        return truths, self._costs(Y, truths, arcs)

    def survey(self, X: Sequence[Any], Y: Sequence[Any]) -> ArcSurvey:
        words, encoder = self._words(X, tuple(self.tags), True), ArcTemplates()
        truths, _ = self._truths(Y, np.diff(words.offsets))
        encoder.tags = tuple(self.tags)
        return encoder.survey(words, np.concatenate([*truths, np.zeros(0, np.int32)]))

    def learn_from(self, surveys: Sequence[ArcSurvey]) -> None:
        self.arcs_ = ArcTemplates()
        self.arcs_.tags, self.arcs_.min_count = tuple(self.tags), int(self.min_count)
        self.arcs_.learn_from(surveys)
        self._set_size()

    def _size_of(self, arcs: Arcs) -> str:
        return f"{arcs.n_nodes - 1} words"

    def code_of(self, y: Any, where: Where) -> CodeArray:
        if not self.lift:
            return super().code_of(y, where)
        heads = Tree(single_root=self.single_root).code_of(y, where).astype(np.int64)
        _projective.lift(heads)
        return heads.astype(np.int32)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of words with a wrong head, or the costs of false and missed arcs if y has costs."""
        return super().loss(y, y_hat)

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all trees of a sentence, for tests: there may be (n + 1)ⁿ⁻¹ of them."""
        n = len(read_sentence(x, "x"))
        for heads in product(range(n + 1), repeat=n):
            try:
                Tree(single_root=self.single_root, projective=self.projective).code_of(list(heads), "y")
            except ValueError:
                continue
            yield list(heads)
