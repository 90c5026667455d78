"""Compilation of kernels ahead of their first use: images of containers, CI, first lessons."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import datasets
from maxmargin._compile_messages import silent_compilation
from maxmargin.core.structure import Structure

#: Any fit of a kind compiles the same kernels, however few steps it takes.
_SHORT: dict[str, Any] = {"max_iter": 30, "n_jobs": 1}


def warmup(what: str | Iterable[str] = "all", *, verbose: int = 1) -> None:
    """Compile the kernels of fits and predictions, by training tiny models of each kind.

    Kernels are compiled when they are first used and kept in Numba's cache: next to the installed package, or in the
    folder that the environment variable ``NUMBA_CACHE_DIR`` names. A second call finds them there and takes seconds.

    Parameters
    ----------
    what : str or iterable of str, default="all"
        ``"tagger"``, ``"multiclass"``, ``"tree"``, ``"dependency"``, ``"matching"``, ``"graphs"`` (cuts, paths,
        knapsacks), ``"optimizers"``, ``"clustering"``, ``"ranking"``, ``"diversity"``, ``"measures"``, ``"motif"``,
        ``"folding"``, ``"alignment"``, ``"grammar"``, ``"taxonomy"`` (and label sets), ``"own"`` (user-defined
        structures), ``"bounds"`` (slack re-scaling, ramps, quadratic slack), ``"solvers"`` (all but the default), or
        ``"all"``.
    verbose : int, default=1
        Whether to write a line for each kind to standard error.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.warmup("multiclass", verbose=0)
    """
    for name in _chosen(what):
        began = perf_counter()
        with warnings.catch_warnings(), silent_compilation():
            warnings.simplefilter("ignore")  # tiny models stop early
            _KINDS[name]()
        if verbose:
            print(f"maxmargin: {name} ready, {perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


def _chosen(what: str | Iterable[str]) -> list[str]:
    """Return the names of kinds; raise ValueError for one that is unknown."""
    names = [what] if isinstance(what, str) else list(what)
    for name in names:
        if name != "all" and name not in _KINDS:
            raise ValueError(f"what must be {', '.join(map(repr, _KINDS))} or 'all', found {name!r}")
    return list(_KINDS) if "all" in names else names


def _tagger() -> None:
    from maxmargin.estimators.column_tagger import ColumnTagger
    from maxmargin.estimators.tagger import SequenceTagger

    X, Y = datasets.make_chains(40, noise=2.0, random_state=0)
    tagger = _used(SequenceTagger(**_SHORT), X, Y)
    tagger.decision_scores(X[:2])
    tagger.topk(X[0], 2)
    _used(SequenceTagger(**_SHORT), [sp.csr_array(x) for x in X], Y)
    _used(SequenceTagger(**_SHORT), [np.round(x) for x in X], Y)  # whole numbers are stored in float32
    _used(SequenceTagger(**_SHORT), X[:3], Y[:3])
    SequenceTagger(C=1e9, **_SHORT).fit(X, Y)
    SequenceTagger(C=float("inf"), **_SHORT).fit(X[:5], Y[:5])
    pairs = [(x, x[1:, :2]) for x in X]
    _used(SequenceTagger(transition_features=True, **_SHORT), pairs, Y).decision_scores(pairs[:1])
    SequenceTagger(loss="zero-one", **_SHORT).fit(X, Y)
    named = [[{"a": float(t[0]), "b": "x"} for t in x] for x in X]
    _used(SequenceTagger(**_SHORT), named, Y)
    words = [[f"w{t[0]:.0f}" for t in x] for x in X]
    _used(ColumnTagger(**_SHORT), words, [[f"L{label}" for label in y] for y in Y]).decision_scores(words[:1])


def _multiclass() -> None:
    from maxmargin.estimators.multiclass import MulticlassSVM

    X, y = datasets.make_multiclass(80, random_state=0)
    for rows in (X, np.round(X), sp.csr_array(X)):  # whole numbers are stored in float32
        _used(MulticlassSVM(**_SHORT), rows, y)
    MulticlassSVM(C=1e9, **_SHORT).fit(X, y)
    MulticlassSVM(C=float("inf"), **_SHORT).fit(X[:6], y[:6])
    MulticlassSVM(**_SHORT).fit(X[:3], [0, 1, 1])
    MulticlassSVM(nonnegative=True, **_SHORT).fit(X, y)


def _tree() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.tree.structure import Tree

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 4, 3)) for _ in range(20)]
    named = [[[{"a": float(cell[0]), "b": "x"} for cell in row] for row in x] for x in X]
    for directed, tree in ((True, [0, 1, 1]), (False, [(0, 1), (1, 2), (2, 3)])):
        for inputs in (X, named):
            model = _used(StructuralSVM(Tree(directed=directed), **_SHORT), inputs, [tree] * len(X))
            model.topk(inputs[0], 2)
            model.decision_scores(inputs[:1])
    StructuralSVM(Tree(single_root=True), **_SHORT).fit(X, [[0, 1, 1]] * len(X))


def _dependency() -> None:
    from maxmargin.estimators.dependency_parser import DependencyParser

    sentence = ([("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [2, 3, 0])
    for projective in (False, True):
        parser = DependencyParser(projective=projective, **_SHORT).fit([sentence] * 20)
        parser.predict([sentence[0]])
        parser.topk(sentence[0], 2)


def _matching() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.bipartite_matching.structure import BipartiteMatching
    from maxmargin.structures.matching.structure import Matching

    rng = np.random.default_rng(0)
    for structure, y in (
        (BipartiteMatching(), [1, 0, 2]),
        (BipartiteMatching(unassigned=True), [1, -1, 2]),
        (BipartiteMatching(per_left=2, per_right=3), [[0, 1], [1, 2], [0, 3]]),
    ):
        X = [rng.normal(size=(3, 4, 2)) for _ in range(20)]
        _used(StructuralSVM(structure, **_SHORT), X, [y] * len(X)).topk(X[0], 2)
    for perfect, n in ((True, 4), (False, 10)):
        pairs = [x + x.transpose(1, 0, 2) for x in rng.normal(size=(20, n, n, 2))]
        partners = [[i ^ 1 for i in range(n)]] * len(pairs)
        _used(StructuralSVM(Matching(perfect=perfect), **_SHORT), pairs, partners)


def _graphs() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.cut.structure import Cut
    from maxmargin.structures.knapsack.structure import Knapsack
    from maxmargin.structures.path.structure import Path

    rng = np.random.default_rng(0)
    arcs = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]
    for labels in ([0, 1, 1, 0], [0, 1, 2, 1]):
        graphs = [(rng.normal(size=(4, 3)), arcs, np.ones((5, 1))) for _ in range(20)]
        _used(StructuralSVM(Cut(), **_SHORT), graphs, [labels] * 20)
    networks = [(arcs, rng.random((5, 2))) for _ in range(20)]
    _used(StructuralSVM(Path(), **_SHORT), networks, [[0, 4]] * 20)
    items = [(rng.normal(size=(4, 2)), [2.0, 1.0, 3.0, 1.0], 4.0) for _ in range(20)]
    _used(StructuralSVM(Knapsack(), **_SHORT), items, [[1, 1, 0, 0]] * 20)


def _optimizers() -> None:
    from maxmargin.estimators.cost_learner import CostLearner
    from maxmargin.optimizers.optimizer import Optimizer

    rng = np.random.default_rng(0)
    arcs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    for optimizer, m in (
        (Optimizer.shortest_path(arcs, 0, 3), 4),
        (Optimizer.assignment(2), 4),
        (Optimizer.knapsack([1.0, 2.0, 1.0], 2.0), 3),
    ):
        X, costs = rng.normal(size=(20, 2)), rng.random((20, m))
        CostLearner(optimizer, **_SHORT).fit(X, costs=costs).predict(X)


def _clustering() -> None:
    from maxmargin.estimators.forest_clustering import ForestClustering

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 4, 2)) for _ in range(20)]
    condensed = [sp.csr_array(x[np.triu_indices(4, 1)]) for x in X]
    for inputs in (X, condensed):
        _used(ForestClustering(**_SHORT), inputs, [[0, 0, 1, 1]] * len(X)).decision_scores(inputs[:1])


def _ranking() -> None:
    from maxmargin.estimators.precision_at_k import PrecisionAtK
    from maxmargin.estimators.structured_ranker import StructuredRanker

    X, y = datasets.make_multiclass(60, n_classes=2, random_state=0)
    groups = np.arange(60) // 10
    for rows in (X, sp.csr_array(X)):
        PrecisionAtK(k=3, drop_empty=True, **_SHORT).fit(rows, y, groups=groups).score(rows, y, groups=groups)
        StructuredRanker(drop_empty=True, **_SHORT).fit(rows, y, groups=groups).score(rows, y, groups=groups)
    StructuredRanker(measure="ap", drop_empty=True, **_SHORT).fit(X, y, groups=groups)


def _diversity() -> None:
    from maxmargin.estimators.diverse_selector import DiverseSelector

    X = [[f"a{i} b{i}", f"b{i} c{i}", f"c{i} d{i}"] for i in range(20)]
    _used(DiverseSelector(k=2, **_SHORT), X, [[{0}, {0, 1}, {1, 2}]] * len(X))


def _measures() -> None:
    from maxmargin.estimators.measure_svc import MeasureSVC

    X, y = datasets.make_multiclass(60, n_classes=2, random_state=0)
    for rows in (X, sp.csr_array(X)):
        for measure in ("f1", "mcc", "roc_auc", "average_precision"):
            _used(MeasureSVC(measure=measure, **_SHORT), rows, y)


def _motif() -> None:
    from maxmargin.estimators.motif_finder import MotifFinder

    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 24)) for _ in range(30)]
    X = [x[:6] + "TTGACC" + x[12:] if i % 2 else x for i, x in enumerate(X)]
    y = [i % 2 for i in range(30)]
    for settings in ({"length": 6}, {"length": 6, "both_strands": True}, {"length": 11, "start": "random"}):
        finder = _used(MotifFinder(n_restarts=1, **settings, **_SHORT), X, y)
        finder.sites(X)
        finder.decision_scores(X[:1])


def _folding() -> None:
    from maxmargin.estimators.rna_folder import RNAFolder

    X, Y = ["GGGAAAACCC", "GCGAAAGCAA", "GGCAAAAGCC"], ["(((....)))", "((....))..", ".((....))."]
    for bound in ("margin", "slack", "ramp"):
        _used(RNAFolder(bound=bound, **_SHORT), X, Y).topk(X[0], 2)


def _alignment() -> None:
    from maxmargin.estimators.pairwise_aligner import PairwiseAligner

    X, Y = [("ACGTAC", "AGTC"), ("GGCA", "GCA")], [("ACGTAC", "A-GT-C"), ("GGCA", "-GCA")]
    for mode in ("global", "local", "semiglobal"):
        _used(PairwiseAligner(mode=mode, alphabet="ACGT", **_SHORT), X, Y).topk(X[0], 2)


def _grammar() -> None:
    from maxmargin.estimators.constituency_parser import ConstituencyParser

    trees = ["(S (NP A) (VP B C))", "(S (NP A B) (VP C))"]
    for loss in ("f1", "constituents", "zero-one"):
        parser = ConstituencyParser(loss=loss, span_features=loss == "constituents", **_SHORT).fit(trees)
        parser.predict([["A", "B", "C"]])
        parser.topk(["A", "B", "C"], 2)


def _taxonomy() -> None:
    from maxmargin.estimators.multilabel import MultilabelSVM
    from maxmargin.estimators.taxonomy import TaxonomyClassifier

    X, y = datasets.make_multiclass(60, random_state=0)
    names, sets = np.array(["a/x", "a/y", "b/z"])[y % 3], (y[:, None] == np.arange(3)).astype(int)
    for rows in (X, sp.csr_array(X)):
        _used(TaxonomyClassifier(hierarchy="/", **_SHORT), rows, names)
        for pairs in ("all", "tree"):
            _used(MultilabelSVM(loss="f1", pairs=pairs, **_SHORT), rows, sets)


def _own() -> None:
    from maxmargin.estimators.structural import StructuralSVM

    X, y = datasets.make_multiclass(40, n_classes=2, random_state=0)
    for sparse in (False, True):
        _used(StructuralSVM(_Sign(sparse), **_SHORT), list(X), (2 * y - 1).tolist())
    StructuralSVM(_Sign(), **_SHORT).fit(list(X[:3]), [1, -1, 1])


def _bounds() -> None:
    from maxmargin.estimators.multiclass import MulticlassSVM
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.estimators.tagger import SequenceTagger

    X, Y = datasets.make_chains(30, noise=2.0, random_state=0)
    rows, labels = datasets.make_multiclass(60, random_state=0)
    own, signs = list(rows), np.where(labels > 1, 1, -1).tolist()
    for bound, slack in (("slack", "linear"), ("slack", "quadratic"), ("margin", "quadratic"), ("ramp", "linear"),
                         ("ramp-slack", "linear")):  # fmt: skip
        settings: dict[str, Any] = {"bound": bound, "slack": slack, **_SHORT}
        for loss in ("hamming", {0: 2.0}):
            SequenceTagger(loss=loss, **settings).fit(X, Y)
        MulticlassSVM(**settings).fit(rows, labels)
        StructuralSVM(_Sign(), **settings).fit(own, signs)


def _solvers() -> None:
    from maxmargin.estimators.multiclass import MulticlassSVM
    from maxmargin.estimators.tagger import SequenceTagger

    X, Y = datasets.make_chains(30, noise=2.0, random_state=0)
    rows, labels = datasets.make_multiclass(60, random_state=0)
    for solver in ("nslack", "oneslack", "bundle", "subgradient", "perceptron"):
        SequenceTagger(solver=solver, **_SHORT).fit(X, Y)
        MulticlassSVM(solver=solver, **_SHORT).fit(rows, labels)


class _Sign(Structure):
    """The smallest user-defined structure: the sign of w·x."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def joint_feature(self, x: Any, y: int) -> Any:
        psi = y * np.asarray(x, float)
        return sp.csr_array(psi[None]) if self.sparse else psi

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def argmax(self, w: Any, x: Any) -> int:
        return 1 if w @ x >= 0 else -1

    def loss_augmented_argmax(self, w: Any, x: Any, y: int, scale: float = 1.0) -> int:
        return max((-1, 1), key=lambda y_hat: float(y_hat * (w @ x) + scale * (y_hat != y)))


def _used(estimator: Any, X: Any, Y: Any) -> Any:
    """Return the estimator after a fit and a prediction."""
    estimator.fit(X, Y).predict(X)
    return estimator


_KINDS: dict[str, Callable[[], None]] = {
    "tagger": _tagger, "multiclass": _multiclass, "tree": _tree, "dependency": _dependency,
    "matching": _matching, "graphs": _graphs, "optimizers": _optimizers, "clustering": _clustering,
    "ranking": _ranking, "diversity": _diversity, "measures": _measures, "motif": _motif, "folding": _folding,
    "alignment": _alignment, "grammar": _grammar, "taxonomy": _taxonomy, "own": _own, "bounds": _bounds,
    "solvers": _solvers,
}  # fmt: skip
