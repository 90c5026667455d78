"""Each default against the usual tool, on development data.

Every estimator has its default parameters, and the tool those of its documentation or the best ones of a small search
in favour of the tool, as stated. No row is of test data of another benchmark; figures of other results are those of
development data there. F1, shares and losses are in percent; "difference" is positive if the default is better.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.data import load_ohsumed, ohsumed_fold
from benchmarks.data.diversity import load_reuters_topics
from benchmarks.data.taxonomies import questions
from benchmarks.default_classifiers import SETS, data, scaled
from benchmarks.multilabel import scene, yeast
from benchmarks.papers.p1_taxonomy import drawn, pages, weighted
from benchmarks.report import FOLDER, table
from maxmargin.metrics.queries import rows_by_query
from maxmargin.metrics.ranking import ndcg_at_k

#: Estimator, data and measure, tool, figure of the default, figure of the tool.
Row = tuple[str, str, str, float, float]
#: Rows of training and of held-out data of each set of `MulticlassSVM`.
MOST = 2000
#: Seeds of made-up data with a rare class.
SEEDS = range(5)


def rare_classes() -> list[Row]:
    """Compare `MeasureSVC` with a linear SVM whose threshold is chosen by cross-validation."""
    ours, theirs = [], []
    for seed in SEEDS:
        X, y = make_classification(
            4000, 40, n_informative=8, weights=[0.95], flip_y=0.05, class_sep=0.6, random_state=100 + seed
        )
        X = StandardScaler().fit_transform(X)
        learn, held = slice(0, 2000), slice(2000, None)
        ours.append(f1_score(y[held], mm.MeasureSVC(measure="f1").fit(X[learn], y[learn]).predict(X[held])))
        svm = LinearSVC(class_weight="balanced", C=0.1, dual=False)
        scores = cross_val_predict(svm, X[learn], y[learn], cv=3, method="decision_function")
        best = max(np.quantile(scores, np.linspace(0.5, 0.99, 99)), key=lambda t: f1_score(y[learn], scores > t))
        decisions = svm.fit(X[learn], y[learn]).decision_function(X[held])
        theirs.append(f1_score(y[held], decisions > best))
    tool = "LinearSVC, balanced, threshold by cross-validation"
    return [("MeasureSVC", "a rare class with weak signals, F1", tool, *percent(ours, theirs))]


def classifiers() -> list[Row]:
    """Compare `MulticlassSVM` with one-versus-rest."""
    ours, theirs = [], []
    for name in SETS:
        X, y = data(name)
        order = np.random.default_rng(1).permutation(len(y))
        learn, held = order[: min(MOST, 2 * len(y) // 3)], order[-min(MOST, len(y) // 3) :]
        rows, others = (scaled(X[some], X[learn], "[0, 1]") for some in (learn, held))
        ours.append(mm.MulticlassSVM().fit(rows, y[learn]).score(others, y[held]))
        theirs.append(LinearSVC().fit(rows, y[learn]).score(others, y[held]))
    what = f"{len(SETS)} sets, accuracy"
    return [("MulticlassSVM", what, "LinearSVC", *percent(ours, theirs))]


def rankings() -> list[Row]:
    """Compare `StructuredRanker` with LightGBM's LambdaRank on the validation subsets of OHSUMED."""
    import lightgbm

    ours, theirs = [], []
    for fold in (1, 2, 3, 4, 5):
        parts = ohsumed_fold(fold)
        X, y, groups = load_ohsumed(*parts["train"])
        X_held, y_held, groups_held = load_ohsumed(*parts["validation"])
        ranker = mm.StructuredRanker(drop_empty=True).fit(X, y, groups=groups)
        ours.append(ndcg_at_k(y_held, ranker.predict(X_held), groups_held, 10))
        sizes = [len(rows) for rows in rows_by_query(groups)[1]]
        trees = lightgbm.LGBMRanker(n_jobs=1, verbose=-1, random_state=0).fit(X, y, group=sizes)
        theirs.append(ndcg_at_k(y_held, np.asarray(trees.predict(X_held)), groups_held, 10))
    return [("StructuredRanker", "OHSUMED, validation, NDCG@10", "LightGBM, LGBMRanker", *percent(ours, theirs))]


def selections() -> list[Row]:
    """Compare `DiverseSelector` with the greedy choice that covers most words."""
    X, Y = load_reuters_topics()
    counts = [CountVectorizer(token_pattern=r"(?u)\b\w\w+\b").fit_transform(texts) for texts in X]
    rows: list[Row] = []
    for k in (5, 10):
        ours, theirs = [], []
        for learn, held in KFold(4, shuffle=True, random_state=0).split(X):
            some, truths = [counts[i] for i in held], [Y[i] for i in held]
            model = mm.DiverseSelector(k=k).fit([counts[i] for i in learn], [Y[i] for i in learn])
            ours += mm.metrics.subtopic_coverage(truths, model.predict(some)).tolist()
            model.coef_ = np.eye(len(model.coef_))[0]
            theirs += mm.metrics.subtopic_coverage(truths, model.predict(some)).tolist()
        what = f"{len(X)} countries of Reuters, coverage of topics by {k}"
        rows.append(("DiverseSelector", what, "greedy, unweighted words", *percent(ours, theirs)))
    return rows


def label_sets() -> list[Row]:
    """Compare `MultilabelSVM` with one classifier for each label, on a third of the training parts."""
    rows: list[Row] = []
    for name, (X, Y, _, _) in (("yeast", yeast()), ("scene", scene())):
        order = np.random.default_rng(0).permutation(len(X))
        X, Y = StandardScaler().fit_transform(X), Y.astype(int)
        learn, held = order[len(X) // 3 :], order[: len(X) // 3]
        ours = mm.MultilabelSVM(n_jobs=1).fit(X[learn], Y[learn]).predict(X[held])
        theirs = OneVsRestClassifier(LinearSVC()).fit(X[learn], Y[learn]).predict(X[held])
        scores = [[f1_score(Y[held], found, average="samples", zero_division=1.0)] for found in (ours, theirs)]
        rows.append(("MultilabelSVM", f"{name}, F1 of rows", "one LinearSVC for each label", *percent(*scores)))
    return rows


def taxonomies() -> list[Row]:
    """Compare `TaxonomyClassifier` with a flat classifier, on draws of two data sets that no benchmark reports."""
    words, _ = questions()
    rows: list[Row] = []
    for name, documents, n in (
        ("questions, words and pairs present", words, 2), ("questions, words and pairs present", words, 4),
        ("web pages, tf-idf", pages(), 2), ("web pages, tf-idf", pages(), 4),
    ):  # fmt: skip
        ours, theirs = [], []
        for seed in range(100, 106):
            learn, held = drawn(documents, n, seed)
            X, others = weighted(learn.X, held.X, True) if "tf-idf" in name else (learn.X, held.X)
            X, others = (sp.csr_matrix((A.data, A.indices.astype(np.int32), A.indptr), A.shape) for A in (X, others))
            ours.append(mm.TaxonomyClassifier(hierarchy=documents.edges).fit(X, learn.y).score(others, held.y))
            theirs.append(LinearSVC().fit(X, learn.y).score(others, held.y))
        what = f"{name}, {n} of each class, accuracy"
        rows.append(("TaxonomyClassifier", what, "LinearSVC, flat", *percent(ours, theirs)))
    return rows


def recorded() -> list[Row]:
    """Return figures of development data in the results of other benchmarks."""
    rows: list[Row] = []
    for name, part in result("conll_usual").items():
        if name != "about":
            ours = next(row["testa"] for row in part["maxmargin"]["rows"] if not row["seen_pairs"])
            theirs = max(row["testa"] for row in part["crfsuite"]["rows"])
            what = f"CoNLL-2002 Spanish, testa, {name} features, F1 of entities"
            rows.append(("SequenceTagger", what, "CRFsuite, the better of two usual settings", ours, theirs))
    parsers = result("dependency")
    ours = parsers["fits"][str(mm.DependencyParser().C)]["dev"]["all"]
    theirs = max(row["dev"]["all"] for row in parsers["perceptrons"].values())
    rows.append(
        ("DependencyParser", "UD English, dev, UAS", "averaged perceptron, the better of 5 and 10 epochs", ours, theirs)
    )
    return rows


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def percent(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """Return the means of two lists of shares in percent."""
    return 100.0 * float(np.mean(ours)), 100.0 * float(np.mean(theirs))


TASKS: tuple[Callable[[], list[Row]], ...] = (
    rare_classes,
    classifiers,
    rankings,
    selections,
    label_sets,
    taxonomies,
    recorded,
)


def run() -> dict[str, Any]:
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in TASKS:
            rows += task()
            print(task.__name__, rows[-1], flush=True)
    return {"rows": rows}


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [*row, f"{row[3] - row[4]:+.1f}"] for row in ([*r[:3], round(r[3], 1), round(r[4], 1)] for r in result["rows"])
    ]
    head = ["estimator", "development data, measure", "usual tool", "default", "tool", "difference"]
    return f"# {__doc__.strip()}\n\n" + table(head, rows)
