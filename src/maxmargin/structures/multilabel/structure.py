"""Sets of labels, with terms for pairs of labels (multilabel classification).

Ψ(x, y) = (x ⊗ y, (y_j y_k) for pairs j < k)        w·Ψ(x, y) = Σ_k y_k w_k·x + Σ_{j<k} y_j y_k w_jk
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, stored_array, whole_number
from maxmargin._base.errors import Where, error_at
from maxmargin._base.memory import check_rows
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.core.structure import WeightTable
from maxmargin.features.mercer.on_rows import MatrixEncoder
from maxmargin.features.rows.labels import Labels
from maxmargin.features.rows.matrices import feature_matrix, label_matrix, label_row
from maxmargin.parts.blocks import Block
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.multilabel.examples import Forest, MultilabelExamples, f1_losses
from maxmargin.structures.multilabel.pairs import information_tree

#: Labels up to which all 2^L sets can be enumerated.
MOST_ENUMERATED = 15


class Multilabel(PartStructure):
    """A set of labels for each row of features, with scores of pairs of labels.

    Inputs are rows of features, outputs rows of 0 and 1, one number for each label. A label that is present adds
    w_k·x, a pair of labels that are both present adds w_jk. Without pairs and with the Hamming loss, this is one
    support vector machine for each label.

    Argmaxes are exact for both losses and all bounds. With all pairs, all 2^L sets are enumerated. With pairs that form
    a tree, a dynamic program finds the best set; if the loss or the bound is not a sum over labels, it does so for
    every number of true and of false positives.

    Parameters
    ----------
    cost : {"hamming", "f1"}, default="hamming"
        The loss: the number of wrong labels, or 1 − F1 of the two sets of labels (0 if both are empty).
    pairs : {"all", "tree"} or None, default="all"
        Pairs of labels with a weight: all (at most 15 labels); the edges of the tree of greatest mutual information
        between the labels of the training data (Chow and Liu 1968), for any number of labels; or none.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for each label (regularised).
    loss : str, optional
        Another name of `cost`.

    Attributes
    ----------
    labels_ : Labels
        The numbers of the labels.
    n_labels_ : int
        Number of labels L.
    edges_ : ndarray of shape (n_pairs, 2)
        The pairs of labels j < k that have a weight.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> model = mm.StructuralSVM(mm.Multilabel(pairs="tree"), C=10.0).fit(X, Y)
    >>> model.predict(X)
    [[1, 0], [0, 1], [1, 1], [0, 0]]
    """

    output_name: ClassVar[str] = "label set"
    inputs_name: ClassVar[str] = "rows"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "sums"})
    learns: ClassVar[dict[str, type]] = {"rows_": MatrixEncoder}
    state_keys: ClassVar[dict[str, str]] = {"rows_": ""}
    kernel_rows: ClassVar[dict[str, str]] = {"rows_": "labels"}

    rows_: MatrixEncoder

    def __init__(
        self,
        *,
        cost: str = "hamming",
        pairs: str | None = "all",
        fit_intercept: bool = True,
        loss: str | None = None,
    ) -> None:
        self.cost, self.pairs, self.fit_intercept = cost if loss is None else loss, pairs, fit_intercept

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters without `loss`, which is kept as `cost`."""
        return [name for name in super()._get_param_names() if name != "loss"]

    def check_parameters(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_loss_and_pairs(self.cost, self.pairs, "cost")

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Any, Y: Any, learn: bool) -> MultilabelExamples:
        X, Y = feature_matrix(X), None if Y is None else label_matrix(Y)
        if learn:
            self._learn(Y)
        elif Y is not None and Y.shape[1] != self.n_labels_:
            raise ValueError(f"Y has {Y.shape[1]} labels, expected {self.n_labels_}")
        X = self.rows_.fit(X) if learn else self.rows_.encode(X)
        n = X.shape[0]
        check_rows([X], f"encoding {n} rows with {X.shape[1]} features")
        blocks = [Block(X, np.arange(n + 1), self.n_labels_, constant=bool(self.fit_intercept))]
        if len(self.edges_):
            blocks.append(Block.table(len(self.edges_)))
        return MultilabelExamples(self, blocks, self.cost, self.edges_, self._forest(), Y)

    @property
    def n_features_(self) -> int:
        """Number of features of a row."""
        return self.rows_.width

    def _learn(self, Y: CodeArray) -> None:
        """Learn the number of labels and their pairs."""
        n_labels = Y.shape[1]
        if self.pairs == "all" and n_labels > MOST_ENUMERATED:
            raise ValueError(
                f"pairs='all' enumerates all sets of up to {MOST_ENUMERATED} labels, found {n_labels} labels; use "
                f"pairs='tree' or None"
            )
        edges: list[tuple[int, int]] = []
        if self.pairs == "all":
            edges = list(combinations(range(n_labels), 2))
        elif self.pairs == "tree":
            edges = information_tree(Y)
        self._set_pairs(n_labels, np.array(edges, np.int64).reshape(-1, 2))

    def _set_pairs(self, n_labels: int, edges: IntArray) -> None:
        self.n_labels_, self.edges_ = n_labels, edges
        self.labels_ = Labels(range(n_labels))

    def _forest(self) -> Forest | None:
        """Return the forest of the pairs; None if all pairs have a weight."""
        return None if self.pairs == "all" else Forest.of(self.n_labels_, self.edges_)

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        row = label_row(y, where)
        if len(row) != self.n_labels_:
            raise error_at(where, f"{len(row)} labels, expected {self.n_labels_}")
        return row

    def output_of(self, code: CodeArray) -> list[int]:
        labels: list[int] = code.tolist()
        return labels

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of wrong labels, or 1 − F1."""
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if self.cost == "hamming":
            return float((true != predicted).sum())
        return float(f1_losses(true[None], predicted[None])[0])

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """Yield all 2^L sets of labels, for tests."""
        return map(list, product((0, 1), repeat=self.n_labels_))

    # ------------------------------------------------------------------ weights and saving

    def tables(self, columns: Sequence[str] | None = None) -> dict[str, WeightTable]:
        names = self.rows_.column_names(columns) + ["intercept"] * bool(self.fit_intercept)
        tables = {"labels": WeightTable(names, [str(k) for k in range(self.n_labels_)])}
        if len(self.edges_):
            tables["pairs"] = WeightTable([f"{j} & {k}" for j, k in self.edges_.tolist()])
        return tables

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        return np.array([name for table in self.tables(columns).values() for name in table.names()], object)

    def _learnt(self) -> dict[str, Any]:
        return {**super()._learnt(), "n_labels": self.n_labels_, "edges": self.edges_}

    def _set_learnt(self, learnt: Any) -> None:
        n_labels = whole_number(learnt["n_labels"], "n_labels", 0)
        edges = stored_array(learnt["edges"], "pairs of labels", np.int64, (None, 2), 0)
        if (edges >= n_labels).any():
            raise ValueError(f"the pairs of {n_labels} labels must be pairs of numbers below it")
        n_pairs = {"all": n_labels * (n_labels - 1) // 2, "tree": n_labels - 1}.get(str(self.pairs), 0)
        if len(edges) != n_pairs:
            raise ValueError(f"expected {n_pairs} pairs of labels, found {len(edges)}")
        self._set_encoders(learnt)
        self._set_pairs(n_labels, edges)
        self._forest()
        self._set_size()


def check_loss_and_pairs(loss: Any, pairs: Any, name: str) -> None:
    """Raise ValueError unless the loss and the pairs are known."""
    if not isinstance(loss, str) or loss not in ("hamming", "f1"):
        raise ValueError(f"{name} must be 'hamming' or 'f1', found {loss!r:.60}")
    if pairs is not None and (not isinstance(pairs, str) or pairs not in ("all", "tree")):
        raise ValueError(f"pairs must be 'all', 'tree' or None, found {pairs!r:.60}")
