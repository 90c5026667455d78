"""Compilation of functions ahead of their first use: images of containers, CI, first lessons."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ahead import all_functions, compile_ahead
from maxmargin._base.jit import silent_compilation
from maxmargin.datasets import toy

#: Any fit of a kind compiles the same functions, however few steps it takes.
_SHORT: dict[str, Any] = {"max_iter": 30, "n_jobs": 1}


def warmup(what: str | Iterable[str] = "all", *, verbose: int = 1) -> None:
    """Compile the functions of fits and predictions, by training tiny models of each kind, with all cores.

    Functions are compiled when they are first used and kept in Numba's cache: next to the installed package, or in the
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
    names = _chosen(what)
    if len(names) == len(_KINDS):  # otherwise each fit compiles its own functions so
        with silent_compilation(not verbose):
            compile_ahead(all_functions())
    for name in names:
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
    from maxmargin.estimators.text.column_tagger import ColumnTagger
    from maxmargin.estimators.text.tagger import SequenceTagger

    X, Y = toy.chains()
    tagger = _used(SequenceTagger(**_SHORT), X, Y)
    tagger.decision_scores(X[:2])
    tagger.topk(X[0], 2)
    _used(SequenceTagger(**_SHORT), [sp.csr_array(x) for x in X], Y)
    _used(SequenceTagger(**_SHORT), [np.round(x) for x in X], Y)  # integers are stored in float32
    _used(SequenceTagger(**_SHORT), X[:3], Y[:3])
    SequenceTagger(C=1e9, **_SHORT).fit(X, Y)
    SequenceTagger(C=float("inf"), **_SHORT).fit(X[:5], Y[:5])
    pairs = [(x, x[1:, :2]) for x in X]
    _used(SequenceTagger(transition_features=True, **_SHORT), pairs, Y).decision_scores(pairs[:1])
    SequenceTagger(loss="zero-one", **_SHORT).fit(X, Y)
    _used(SequenceTagger(**_SHORT), *toy.named_tokens())
    words, tags = toy.words()
    _used(ColumnTagger(**_SHORT), words, tags).decision_scores(words[:1])


def _multiclass() -> None:
    from maxmargin.estimators.rows.multiclass import MulticlassSVM

    X, y = toy.rows()
    for rows in (X, np.round(X), sp.csr_array(X)):  # integers are stored in float32
        _used(MulticlassSVM(**_SHORT), rows, y)
    MulticlassSVM(C=1e9, **_SHORT).fit(X, y)
    MulticlassSVM(C=float("inf"), **_SHORT).fit(X[:6], y[:6])
    MulticlassSVM(**_SHORT).fit(X[:3], [0, 1, 1])
    MulticlassSVM(nonnegative=True, **_SHORT).fit(X, y)


def _tree() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.tree.structure import Tree

    for directed in (True, False):
        X, Y = toy.arcs(directed)
        named = [[[{"a": float(cell[0]), "b": "x"} for cell in row] for row in x] for x in X]
        for inputs in (X, named):
            model = _used(StructuralSVM(Tree(directed=directed), **_SHORT), inputs, Y)
            model.topk(inputs[0], 2)
            model.decision_scores(inputs[:1])
    StructuralSVM(Tree(single_root=True), **_SHORT).fit(*toy.arcs())


def _dependency() -> None:
    from maxmargin.estimators.text.dependency_parser import DependencyParser

    X, Y = toy.phrases()
    tagged = [[(word, word[:1]) for word in x] for x in X]
    for projective in (False, True):
        _used(DependencyParser(projective=projective, **_SHORT), tagged, Y).topk(tagged[0], 2)


def _matching() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.bipartite_matching.structure import BipartiteMatching
    from maxmargin.structures.matching.structure import Matching

    X, Y = toy.assignments()
    for structure, outputs in (
        (BipartiteMatching(), Y),
        (BipartiteMatching(unassigned=True), [[1, -1, 2]] * len(X)),
        (BipartiteMatching(per_left=2, per_right=3), [[[0, 1], [1, 2], [0, 3]]] * len(X)),
    ):
        model = _used(StructuralSVM(structure, **_SHORT), X, outputs)
        model.topk(X[0], 2)
        model.decision_scores(X[:1])
    for perfect, n in ((True, 4), (False, 10)):
        _used(StructuralSVM(Matching(perfect=perfect), **_SHORT), *toy.partners(n))


def _graphs() -> None:
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.structures.cut.structure import Cut
    from maxmargin.structures.graph.structure import Graph
    from maxmargin.structures.knapsack.structure import Knapsack
    from maxmargin.structures.path.structure import Path

    for n_labels in (2, 3):
        X, Y = toy.graphs(n_labels)
        _used(StructuralSVM(Cut(), **_SHORT), X, Y).decision_scores(X[:1])
        _used(StructuralSVM(Graph(), **_SHORT), X, Y).decision_scores(X[:1])
    _used(StructuralSVM(Graph(inference="trws"), **_SHORT), X, Y)
    X, Y = toy.paths()
    _used(StructuralSVM(Path(), **_SHORT), X, Y).decision_scores(X[:1])
    _used(StructuralSVM(Knapsack(), **_SHORT), *toy.items())


def _optimizers() -> None:
    from maxmargin.estimators.decisions.cost_learner import CostLearner
    from maxmargin.optimizers.optimizer import Optimizer

    X, costs = toy.costs()
    arcs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    for optimizer, m in (
        (Optimizer.shortest_path(arcs, 0, 3), 4),
        (Optimizer.assignment(3), 9),
        (Optimizer.knapsack([1.0, 2.0, 1.0], 2.0), 3),
    ):
        CostLearner(optimizer, **_SHORT).fit(X, costs=costs[:, :m]).predict(X)


def _clustering() -> None:
    from maxmargin.estimators.graphs.forest_clustering import ForestClustering

    X, Y = toy.places()
    condensed = [sp.csr_array(x[np.triu_indices(len(x), 1)]) for x in X]
    for inputs in (X, condensed):
        _used(ForestClustering(**_SHORT), inputs, Y).decision_scores(inputs[:1])


def _ranking() -> None:
    from maxmargin.estimators.ranking.structured_ranker import StructuredRanker

    X, y, groups = toy.queries()
    for rows, measure in itertools.product((X, sp.csr_array(X)), ("precision@3", "ndcg@10")):
        ranker = StructuredRanker(measure=measure, **_SHORT)
        ranker.fit(rows, y, groups=groups).score(rows, y, groups=groups)
    StructuredRanker(measure="ap", drop_empty=True, **_SHORT).fit(X, y, groups=groups)


def _diversity() -> None:
    from maxmargin.estimators.ranking.diverse_selector import DiverseSelector

    _used(DiverseSelector(k=2, **_SHORT), *toy.search_results())


def _measures() -> None:
    from maxmargin.estimators.rows.measure_svc import MeasureSVC

    X, y = toy.rows(2)
    for rows in (X, sp.csr_array(X)):
        for measure in ("f1", "mcc", "roc_auc", "average_precision"):
            _used(MeasureSVC(measure=measure, **_SHORT), rows, y)


def _motif() -> None:
    from maxmargin.estimators.biology.motif_finder import MotifFinder

    X, y = toy.strings()
    for settings in ({"length": 4}, {"length": 4, "both_strands": True}, {"length": 11, "start": "random"}):
        finder = _used(MotifFinder(n_restarts=1, **settings, **_SHORT), X, y)
        finder.sites(X)
        finder.decision_scores(X[:1])


def _folding() -> None:
    from maxmargin.estimators.biology.rna_folder import RNAFolder

    X, Y = toy.molecules()
    for bound in ("margin", "slack", "ramp"):
        _used(RNAFolder(bound=bound, **_SHORT), X, Y).topk(X[0], 2)


def _alignment() -> None:
    from maxmargin.estimators.biology.pairwise_aligner import PairwiseAligner

    X, Y = toy.alignments()
    for mode in ("global", "local", "semiglobal"):
        _used(PairwiseAligner(mode=mode, alphabet="ACGT", **_SHORT), X, Y).topk(X[0], 2)
    _used(PairwiseAligner(alphabet="ACGT", **_SHORT), X[:2], Y[:2])


def _grammar() -> None:
    from maxmargin.estimators.text.constituency_parser import ConstituencyParser

    X, Y = toy.constituents()
    for loss in ("f1", "constituents", "zero-one"):
        parser = _used(ConstituencyParser(loss=loss, span_features=loss == "constituents", **_SHORT), X, Y)
        parser.topk(X[0], 2)
        parser.decision_scores(X[:1])
    contradiction = ["(S (NP A) (VP B C))", "(S (NP A B) (VP C))"]  # so few planes are summed by another function
    ConstituencyParser(loss="constituents", span_features=True, **_SHORT).fit(contradiction)


def _taxonomy() -> None:
    from maxmargin.estimators.rows.multilabel import MultilabelSVM
    from maxmargin.estimators.rows.taxonomy import TaxonomyClassifier

    (X, names), (other, sets) = toy.species(), toy.label_sets()
    for sparse in (False, True):
        rows, others = (sp.csr_array(X), sp.csr_array(other)) if sparse else (X, other)
        _used(TaxonomyClassifier(hierarchy="/", **_SHORT), rows, names)
        for pairs in ("all", "tree"):
            _used(MultilabelSVM(loss="f1", pairs=pairs, **_SHORT), others, sets)


def _own() -> None:
    from maxmargin.estimators.structural import StructuralSVM

    X, Y = toy.signs()
    for sparse in (False, True):
        _used(StructuralSVM(toy.Sign(sparse), **_SHORT), X, Y)
    StructuralSVM(toy.Sign(), **_SHORT).fit(X[:3], [1, -1, 1])


def _bounds() -> None:
    from maxmargin.estimators.rows.multiclass import MulticlassSVM
    from maxmargin.estimators.structural import StructuralSVM
    from maxmargin.estimators.text.tagger import SequenceTagger

    for bound, slack in (("slack", "linear"), ("slack", "quadratic"), ("margin", "quadratic"), ("ramp", "linear"),
                         ("ramp-slack", "linear")):  # fmt: skip
        settings: dict[str, Any] = {"bound": bound, "slack": slack, **_SHORT}
        for loss in ("hamming", {0: 2.0}):
            SequenceTagger(loss=loss, **settings).fit(*toy.chains())
        MulticlassSVM(**settings).fit(*toy.rows())
        StructuralSVM(toy.Sign(), **settings).fit(*toy.signs())


def _solvers() -> None:
    from maxmargin.estimators.rows.multiclass import MulticlassSVM
    from maxmargin.estimators.text.tagger import SequenceTagger

    for solver in ("nslack", "sharded", "oneslack", "bundle", "subgradient", "perceptron"):
        SequenceTagger(solver=solver, **_SHORT).fit(*toy.chains())
        MulticlassSVM(solver=solver, **_SHORT).fit(*toy.rows())


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
