"""`Coverage`: sets of candidates that cover most (Joachims et al. 2009, section 3.1; Yue and Joachims 2008)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import is_list, whole_number
from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.ragged import ONLY
from maxmargin._base.types import AnyArray, CodeArray, FloatArray
from maxmargin.core.structure import Compiled
from maxmargin.features.text.candidates import Incidence, incidence, subtopic_rows
from maxmargin.metrics.coverage import WEIGHTS
from maxmargin.structures.coverage.examples import CoverageExamples
from maxmargin.structures.coverage.features import check_features, element_features
from maxmargin.structures.ranking.documents import distinct_documents
from maxmargin.structures.ranking.outputs import SelectedDocuments, pack, unpack


class Coverage(Compiled):
    """The k candidates that together cover most.

    Each x is the candidates of a query: a list of texts, a list of lists of elements, or a matrix (candidates,
    elements) of counts, dense or sparse. Each y is a list with the set of subtopics of each candidate. An element v, a
    word for example, is worth w·φ(v, x), which counts once if a chosen candidate contains v:

        Ψ(x, ŷ) = (1/n) Σ_{v ∈ V(ŷ)} φ(v, x)      Δ(y, ŷ) = c(y*) − c(ŷ), at least 0

    V(ŷ) are the elements that ŷ covers and n is the mean number of elements of a candidate. φ are indicators of
    thresholds, whether at least this share of the candidates contains v, and features that you give. c is the weighted
    share of subtopics that are covered, and y* the choice that covers most of them, found greedily (Joachims et al.
    2009); Δ is the weighted share of subtopics that ŷ leaves uncovered, minus the share that y* leaves uncovered too.

    The argmax is greedy, and the loss-augmented argmax a greedy choice that is then improved; both are approximate.
    Each loss-augmented argmax has a proven upper bound that depends on the data (Lagrangian; at least as good as the
    usual one of a greedy choice), so a fit proves an upper bound on its objective. Worths may be negative, and
    covered subtopics count negatively in a loss-augmented argmax, so the guarantee of 1 − 1/e does not apply; the
    bound does.

    Parameters
    ----------
    k : int, default=5
        Number of candidates to choose; inputs with fewer are chosen whole.
    thresholds : sequence of float, default=(0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5)
        Shares of candidates, ascending between 0 and 1: the features φ of an element.
    levels : sequence of float, default=(1.0,)
        For a richer φ: a candidate covers an element at level l if it contains it at least l times, and each level has
        its own features. With the default, an element is covered if it occurs.
    features : callable, array-like of shape (n_elements, d) or None, default=None
        For a richer φ: more features of elements, each with a weight of its own. A function is called with an element
        (a word, a member of a list, the number of a column) and returns one number or d of them; a table has a row for
        each column of matrices. They count for elements that are covered at the first level and reach the lowest
        threshold. Elements may contain where they occur, as ("title", "river"): ``features=lambda v: v[0] == "title"``.
    cost : {"popularity", "uniform"}, default="popularity"
        Weights of subtopics in the loss: the number of candidates that have them, or 1.
    bound_steps : int, default=30
        Subgradient steps that tighten the proven bound on each maximum.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.search_results()
    >>> model = mm.StructuralSVM(mm.Coverage(k=2), C=1.0, solver="nslack").fit(X, Y)
    >>> chosen = model.predict(X[:1])[0]
    >>> len(chosen), sorted(set().union(*(Y[0][i] for i in chosen)))
    (2, [0])
    """

    output_name: ClassVar[str] = "selection"
    exact = False

    def __init__(
        self,
        *,
        k: int = 5,
        thresholds: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5),
        levels: Sequence[float] = (1.0,),
        features: Any = None,
        cost: str = "popularity",
        bound_steps: int = 30,
    ) -> None:
        self.k, self.thresholds, self.levels, self.features = k, thresholds, levels, features
        self.cost, self.bound_steps = cost, bound_steps

    def check_parameters(self) -> None:
        whole_number(self.k, "k")
        whole_number(self.bound_steps, "bound_steps", 0)
        for name, lowest, highest in (("thresholds", 0.0, 1.0), ("levels", 0.0, np.inf)):
            _check_ascending(getattr(self, name), name, lowest, highest)
        if self.levels[0] <= 0:
            raise ValueError(f"levels must be above 0, found {self.levels[0]!r}")
        check_features(self.features)
        if self.cost not in WEIGHTS:
            raise ValueError(f"cost must be {' or '.join(map(repr, WEIGHTS))}, found {self.cost!r:.60}")

    # ------------------------------------------------------------------ sizes

    n_extra_: int | None

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"thresholds": (len(self.levels), len(self.thresholds)), "features": (self.n_extra_ or 0,)}

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> CoverageExamples:
        if learn:
            self.n_extra_ = None
        examples = self._examples(X, Y)
        if learn:
            self.n_extra_ = examples.n_extra
        return examples

    def _examples(self, X: Sequence[Any], Y: Sequence[Any] | None) -> CoverageExamples:
        inputs = [self._candidates(x, Place("X", i)) for i, x in enumerate(X)]
        rows = self._extra(inputs)
        if Y is None:
            return CoverageExamples(self, inputs, None, rows)
        subtopics = [subtopic_rows(y, Place("Y", i)) for i, y in enumerate(Y)]
        for i, (candidates, topics) in enumerate(zip(inputs, subtopics, strict=True)):
            if candidates.n_candidates != topics.n_candidates:
                message = f"{candidates.n_candidates} candidates but {topics.n_candidates} sets of subtopics"
                raise ExampleError.at(Place("X", i), message)
            _check_subtopics(topics, Place("Y", i))
        return CoverageExamples(self, inputs, subtopics, rows)

    def _extra(self, inputs: list[Incidence]) -> list[FloatArray] | None:
        """Return the features of the elements of each input that the user gives, if any."""
        if self.features is None:
            return None
        rows = element_features(self.features, inputs)
        expected = self.n_extra_
        for i, own in enumerate(rows):
            if expected is not None and len(own) and own.shape[1] != expected:
                raise error_at(Place("X", i), f"expected {expected} features of elements, found {own.shape[1]}")
        return [own if expected is None or len(own) else np.zeros((0, expected)) for own in rows]

    def _candidates(self, x: Any, where: Where) -> Incidence:
        candidates = incidence(x, where)
        if candidates.n_candidates == 0:
            raise error_at(where, "expected at least one candidate, found none")
        parts = np.flatnonzero(candidates.counts < min(1.0, self.levels[0]))
        if len(parts):
            candidate = int(np.searchsorted(candidates.ptr, parts[0], "right")) - 1
            raise error_at(
                inside(where, f"candidate {candidate}"),
                f"contains an element {candidates.counts[parts[0]]:g} times, but it counts only if it is contained at "
                f"least levels[0]={self.levels[0]:g} times: pass counts (x > 0 for whether elements occur), or "
                f"lower levels",
            )
        return candidates

    def shares(self, topics: Incidence) -> FloatArray:
        """Return the weight of each subtopic, divided by their sum."""
        weights = topics.frequencies().astype(float) if self.cost == "popularity" else np.ones(topics.size)
        return weights / max(weights.sum(), 1.0)

    # ------------------------------------------------------------------ one example

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, ŷ) of chosen candidates, or of the truth if sets of subtopics are given."""
        if not isinstance(y, SelectedDocuments):
            return super().joint_feature(x, y)
        examples = self.encode([x])
        code, psi = np.sort(self._chosen(y, examples.n_candidates)).astype(np.int32), np.zeros(examples.dim)
        examples.add_joint_features(examples.parts(ONLY, code), ONLY, np.ones(1), psi)
        return psi

    def _chosen(self, y: Any, n: int) -> list[int]:
        """Return chosen candidates, checked."""
        return distinct_documents(y, min(self.k, n), n, "candidates")

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return c(y*) − c(ŷ), at least 0, for sets of subtopics y and chosen candidates; 0 for y itself."""
        if not isinstance(y_hat, SelectedDocuments):
            if not is_list(y_hat) or [set(part) for part in y] != [set(part) for part in y_hat]:
                raise ValueError("expected SelectedDocuments, or the sets of subtopics themselves, as y_hat")
            return 0.0
        topics = subtopic_rows(y, "y")
        _check_subtopics(topics, "y")
        truth = CoverageExamples(self, [topics], [topics], None).truths.tolist()
        return max(0.0, self._covered(topics, truth) - self._covered(topics, self._chosen(y_hat, topics.n_candidates)))

    def _covered(self, topics: Incidence, chosen: Sequence[int]) -> float:
        """Return the weighted share of subtopics that candidates cover."""
        covered = {v for j in chosen for v in topics.elements[topics.ptr[j] : topics.ptr[j + 1]].tolist()}
        return float(self.shares(topics)[sorted(covered)].sum())

    def enumerate(self, x: Any) -> Iterator[SelectedDocuments]:
        """Yield all choices, for tests."""
        n = self._candidates(x, "x").n_candidates
        return map(SelectedDocuments, combinations(range(n), min(self.k, n)))

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self) -> AnyArray:
        levels = [""] if len(self.levels) == 1 else [f", {level:g} times" for level in self.levels]
        names = [f"in {100 * share:g} % of candidates{level}" for level in levels for share in self.thresholds]
        return np.array([*names, *(f"feature {f}" for f in range(self.n_extra_ or 0))], object)

    def _learnt(self) -> dict[str, Any]:
        return {"size": self.size, "n_extra": self.n_extra_}

    def _set_learnt(self, learnt: Any) -> None:
        self.n_extra_ = whole_number(learnt["n_extra"], "the number of features of elements", 0)
        self._set_size()
        if learnt["size"] != self.size:
            raise ValueError(f"expected {self.size} weights, found {learnt['size']!r}")

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        return pack(outputs)

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return unpack(packed)

    def output_of(self, code: CodeArray) -> SelectedDocuments:
        """Return the output of a code."""
        return SelectedDocuments(code.tolist())


def _check_ascending(values: Any, name: str, lowest: float, highest: float) -> None:
    """Raise ValueError unless values are ascending numbers in a range."""
    fine = is_list(values) and len(values) > 0 and all(isinstance(v, int | float | np.number) for v in values)
    numbers = np.array(values, float) if fine else np.zeros(0)
    if not fine or numbers.ndim != 1 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise ValueError(f"{name} must be ascending numbers, found {values!r:.60}")
    if numbers[0] < lowest or numbers[-1] > highest:
        raise ValueError(f"{name} must be between {lowest:g} and {highest:g}, found {values!r:.60}")


def _check_subtopics(topics: Incidence, where: Where) -> None:
    """Raise an error at `where` if no candidate has a subtopic."""
    if topics.size == 0:
        raise error_at(where, "no candidate has a subtopic, so the example cannot be learnt from: leave it out")
