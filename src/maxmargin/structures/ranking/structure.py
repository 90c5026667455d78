"""`Ranking`: the order of the documents of a query, under a measure of rankings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import FloatArray
from maxmargin.metrics.gains import DISCOUNTS, GAINS, check_choice
from maxmargin.structures.ranking.documents import DocumentStructure, Form
from maxmargin.structures.ranking.pairs import PairForm
from maxmargin.structures.ranking.positions import PositionForm
from maxmargin.structures.ranking.sets import SetForm

_MEASURE = re.compile(r"(ndcg|precision)(?:@(\d+))?|ap|pairwise")


def parsed_measure(measure: Any) -> tuple[str, int | None]:
    """Return the name and the k of ``"ndcg@10"``, ``"ndcg"``, ``"precision@5"``, ``"ap"`` or ``"pairwise"``."""
    match = _MEASURE.fullmatch(measure) if isinstance(measure, str) else None
    if match is None or measure == "precision":
        raise ValueError(
            f"measure must be 'ndcg@k', 'precision@k' (k a number, as in 'ndcg@10'), 'ndcg', 'ap' or 'pairwise', "
            f"found {measure!r:.60}"
        )
    k = match.group(2)
    return match.group(1) or measure, None if k is None else whole_number(int(k), "k of the measure")


class Ranking(DocumentStructure):
    """The order of the documents of each query.

    Each x is the documents of a query, an array (n, d), a sparse matrix or a list of dicts; each y is their n relevance
    labels. Documents are ranked by scores w·x_j; the measure decides what is learnt:

    ``"ndcg@k"``, ``"ndcg"``
        Ψ(x, ŷ) = Σ_p c_p x_{ŷ(p)} and Δ = 1 − NDCG@k (Do et al. 2008). Outputs are `RankedDocuments`, the documents in
        the first k positions. The loss-augmented argmax is a linear assignment of documents to positions, which a sort
        solves if the weights c of positions are the discounts.
    ``"ap"``
        Δ = 1 − average precision (Yue et al. 2007), labels above 0 mean relevant. Outputs are `SwappedPairs`.
    ``"pairwise"``
        Δ is the share of pairs of documents of different relevance in the wrong order, and the hinge of a query is the
        mean of the hinges of its pairs: the ranking SVM (Joachims 2002), in O(n log n). Outputs are `SwappedPairs`.
    ``"precision@k"``
        Δ is the greatest possible precision@k minus that of the k documents shown (Yu and Joachims 2009, section 5.3),
        labels above 0 mean relevant. Ψ is the mean of their features. Outputs are `TopDocuments`. A query with at most
        k documents shows all of them, so its loss is 0.

    Labels of many documents are equal, and many rankings are equally good. The truth of ``"ndcg@k"`` is the one in
    which earlier documents come first, and the convex bound asks for this one: often w = 0 is then the best solution.
    A ramp repairs this; `StructuralSVM`, which takes the ranking of best score among those equally good, helps less.

    Parameters
    ----------
    measure : str, default="ndcg@10"
        The measure, as above.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of relevance r for NDCG: 2^r − 1, or r.
    discount : {"log2", "letor"}, default="log2"
        Discount of position p for NDCG: 1/log2(p + 1), or LETOR's 1/log2(max(p, 2)).
    position_weights : "discount" or array-like, default="discount"
        Weights c of the positions for NDCG, not negative and not increasing; positions beyond them have weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> structure = mm.Ranking(measure="ndcg@2").fit([np.eye(3)], [[0, 2, 1]])
    >>> structure.argmax(np.array([0.1, 0.5, 0.2]), np.eye(3))
    (1, 2)
    >>> round(structure.loss([0, 2, 1], mm.outputs.RankedDocuments([2, 1])), 3)
    0.203
    """

    instead_of_explain = "the scores w·x of the documents, which decision_scores returns"

    def __init__(
        self,
        *,
        measure: str = "ndcg@10",
        gain: str = "exponential",
        discount: str = "log2",
        position_weights: Any = "discount",
    ) -> None:
        self.measure, self.gain, self.discount, self.position_weights = measure, gain, discount, position_weights

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """Decision scores; equally good rankings are latent for NDCG and precision, and sets have sums."""
        latent = str(self.measure).startswith(("ndcg", "precision"))
        every = {"max_marginals", "latent"} if latent else {"max_marginals"}
        return frozenset(every | {"sums"} if str(self.measure).startswith("precision") else every)

    def form(self) -> Form:
        name, k = parsed_measure(self.measure)
        check_choice(self.gain, "gain", GAINS)
        check_choice(self.discount, "discount", DISCOUNTS)
        weights = _checked_weights(self.position_weights)
        if name == "ndcg":
            return PositionForm(k, self.gain, self.discount, weights)
        if name == "precision":
            assert k is not None
            return SetForm(k)
        return PairForm(precision=name == "ap")


def _checked_weights(weights: Any) -> str | FloatArray:
    """Return weights of positions; raise ValueError if they rise, are negative, or all 0."""
    if isinstance(weights, str):
        if weights != "discount":
            raise ValueError(f"position_weights must be 'discount' or numbers, found {weights!r}")
        return weights
    try:
        values = np.array(weights, float)
    except (TypeError, ValueError):
        raise ValueError(f"position_weights must be 'discount' or numbers, found {weights!r:.60}") from None
    fine = values.ndim == 1 and len(values) > 0 and np.isfinite(values).all()
    if not fine or values[-1] < 0 or (np.diff(values) > 0).any() or values[0] <= 0:
        raise ValueError(
            f"position_weights must be finite numbers that do not rise, the first above 0 and none below 0, found "
            f"{weights!r:.60}"
        )
    return values
