"""Labels of the nodes of a graph of which some are not observed: latent variables (Yu and Joachims 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import NO_OUTPUT, Answers
from maxmargin.core.scores import Scores
from maxmargin.features.rows.labels import is_missing, plain_label
from maxmargin.structures.chain.structure import label_sequence
from maxmargin.structures.graph.examples import GraphExamples
from maxmargin.structures.graph.structure import Graph


class LatentGraph(Graph):
    """`Graph` with labels that are not observed: hidden nodes, documents without a class, pixels without a mask.

    An unknown label in y is None, NaN or the value of `unknown`. Unknown labels cost nothing; training alternates
    between the best labels for them, given the known ones, and weights (`StructuralSVM`, ``max_outer``). At first they
    are those of the nearest known nodes. Hidden nodes may have labels of their own, by the `allowed` labels of an
    input and `classes`. Predictions have a label for every node.

    Parameters
    ----------
    unknown : object, default=None
        A label that marks unknown ones besides None and NaN, such as −1.
    pairs : {"full", "symmetric", "diagonal", "potts"}, default="full"
        Which pairs of labels have weights, as in `Graph`.
    forbidden : sequence of pairs, optional
        Pairs of labels that no edge may have, as in `Graph`.
    inference : {"auto", "exact", "trws", "expansion", "milp"}, default="auto"
        The argmax, as in `Graph`.
    sweeps : int, default=20
        Messages: maximum number of sweeps over a graph.
    branches : int, default=50
        Messages: maximum number of further sweeps for branch and bound.
    cost : str, array of shape (K, K) or dict, default="hamming"
        The loss of the known labels, as in `Graph`.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every node.
    classes : sequence, optional
        All labels in order; needed if some of them are never known.
    decision : {"auto", "labels", "dict"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.array([[1.0], [0.1], [-0.1], [-1.0]]), [(0, 1), (1, 2), (2, 3)]
    >>> model = mm.StructuralSVM(mm.LatentGraph(pairs="potts"), C=10.0).fit([x], [["in", None, None, "out"]])
    >>> model.predict([x])
    [['in', 'in', 'out', 'out']]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope", "latent"})

    def __init__(
        self,
        *,
        unknown: Any = None,
        pairs: str = "full",
        forbidden: Any = None,
        inference: str = "auto",
        sweeps: int = 20,
        branches: int = 50,
        cost: Any = "hamming",
        fit_intercept: bool = True,
        classes: Any = None,
        decision: str = "auto",
    ) -> None:
        super().__init__(
            pairs=pairs, forbidden=forbidden, inference=inference, sweeps=sweeps, branches=branches, relaxed=False,
            cost=cost, fit_intercept=fit_intercept, classes=classes, decision=decision,
        )  # fmt: skip
        self.unknown = unknown

    def _is_unknown(self, label: Any) -> bool:
        return is_missing(label) or bool(self.unknown is not None and plain_label(label) == self.unknown)

    def _observed(self, labels: list[Any]) -> list[Any]:
        return [label for label in labels if not self._is_unknown(label)]

    def _codes(self, labels: Any, where: Where) -> CodeArray:
        """Return the codes of labels, −1 for those that are not known."""
        given = label_sequence(labels, where)
        known = np.array([not self._is_unknown(label) for label in given], bool)
        code = np.full(len(given), -1, np.int32)
        some = super()._codes([given[v] if known[v] else self.labels_.values[0] for v in range(len(given))], where)
        code[known] = some[known]
        return code

    def _cost_table(self, y: Any, code: CodeArray, where: Where) -> FloatArray:
        costs = np.array(super()._cost_table(y, code, where))
        costs[code < 0] = 0.0
        return costs

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> LatentGraphExamples:
        nodes, edges, graphs, truths, costs, names = self._blocks(X, Y, learn)
        given = np.zeros(0, bool)
        if truths is not None:
            given = np.concatenate([*(code >= 0 for code in truths), np.zeros(0, bool)])
            size, filled = len(self.labels_), list[CodeArray]()
            forbidden = nodes.forbidden
            for i, code in enumerate(truths):
                allowed = np.ones((len(code), size), bool)
                if forbidden is not None:
                    part = slice(*(nodes.offsets[i : i + 2] * size).tolist())
                    allowed = ~forbidden[part].reshape(-1, size)
                filled.append(nearest_labels(code, graphs.edges[slice(*graphs.offsets[i : i + 2])], allowed))
            truths = filled
        examples = LatentGraphExamples(self, nodes, edges, graphs, truths, costs, names)
        examples.given = given
        if truths is not None and examples.hard:
            examples.make_feasible()
        return examples

    def complete(self, w: FloatArray, x: Any, y: Any) -> Any:
        """Return the best labels of all nodes that agree with those that y has."""
        examples = self.encode([x], [y])
        answers = examples.empty_answers()
        examples.complete(np.asarray(w, float), np.zeros(1, np.int64), answers)
        return examples.output(0, 0, answers.codes)


def nearest_labels(code: CodeArray, edges: IntArray, allowed: AnyArray) -> CodeArray:
    """Return labels for all nodes: unknown ones (−1) have that of the nearest known node, if it is allowed."""
    filled = code.copy()
    while (filled < 0).any():
        before = filled.copy()
        for side in (0, 1):
            here, there = edges[:, side], edges[:, 1 - side]
            reached = (before[here] < 0) & (before[there] >= 0)
            fits = reached & allowed[here, np.maximum(before[there], 0)]
            filled[here[fits][::-1]] = before[there[fits][::-1]]
        if np.array_equal(before, filled):
            break
    return np.where(filled < 0, allowed.argmax(axis=1), filled).astype(np.int32)


class LatentGraphExamples(GraphExamples):
    """Graphs with known and unknown labels; the truth of an example is its first completion.

    Attributes
    ----------
    given : ndarray of bool
        Whether the label of each node is known; empty without true labels.
    """

    data: ClassVar[dict[str, str]] = {"graphs": "", "given": "node_offsets"}
    latent = True
    given: AnyArray

    def _set_exactness(self) -> None:
        super()._set_exactness()
        self.summable = False

    def _clamped(self, scores: Scores, ids: IntArray) -> Scores:
        """Return scores that forbid all labels of known nodes but their own."""
        nodes, size = spans(ids, self.node_offsets), self.n_labels
        table, known = scores.values.reshape(-1, size).copy(), np.flatnonzero(self.given[nodes])
        own = self.truths[nodes[known]]
        kept = table[known, own]
        table[known] = -np.inf
        table[known, own] = kept
        return Scores(table.ravel(), scores.starts)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        scores = self.scores(w, ids)
        self.argmax([self._clamped(scores[0], ids), scores[1]], ids, answers.codes)
        self._check_found(ids, answers.codes)
        self.judge(scores, ids, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def make_feasible(self) -> None:
        """Replace first completions by labellings without forbidden pairs."""
        ids, codes = np.arange(self.n_examples), self.truths.copy()
        scores = self.scores(np.zeros(self.dim), ids)
        scores[0] = self._clamped(scores[0], ids)
        known, self.known = self.known, False
        self.argmax(scores, ids, codes)
        self.known = known
        bad = np.flatnonzero(codes[self.code_offsets[:-1]] == NO_OUTPUT)
        if len(bad):
            raise error_at(Place("Y", bad[0]), "no labels of the unknown nodes are without forbidden pairs")
        self.truths = codes
        self.true_parts = self._checked_parts(ids, codes)
