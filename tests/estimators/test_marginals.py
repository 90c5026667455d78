"""Marginals, samples, likelihoods and decisions of least risk of every estimator whose structure has sums."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxmargin as mm
from maxmargin.datasets import toy

N_SAMPLES = 600


def arcs(model, heads):
    return {(h, m) for m, h in enumerate(heads, 1)}


def edges(model, tree):
    return {(min(e), max(e)) for e in tree}


def positions(model, chosen):
    return {(p,) for p in chosen}


def ones(model, row):
    return {(k,) for k in np.flatnonzero(row).tolist()}


def base_pairs(model, brackets):
    opened, pairs = [], set()
    for i, mark in enumerate(brackets):
        if mark == "(":
            opened.append(i)
        elif mark == ")":
            pairs.add((opened.pop(), i))
    return pairs


def matches(model, pair):
    found, i, j = set(), 0, 0
    for a, b in zip(*pair, strict=True):
        if "-" not in (a, b):
            found.add((i, j))
        i, j = i + (a != "-"), j + (b != "-")
    return found


def constituents(model, tree):
    found, opened, n = set(), [], 0
    for token in re.findall(r"\(\S+|\)|[^\s()]+", tree):
        if token[0] == "(":
            opened.append((token[1:], n))
        elif token == ")":
            label, start = opened.pop()
            found.add((start, n, model.labels_.index(label)))
        else:
            n += 1
    return found


def site(model, found):
    return set() if found.position is None else {(found.position, "+-".index(found.strand))}


@dataclass
class Case:
    model: Any
    data: tuple[Any, Any]
    parts: Callable[[Any, Any], set]
    temperature: float = 1.0
    table: Callable[[Any], Any] = lambda marginals: marginals


SENTENCES = [["PRP", "VBZ", "DT", "NN", "IN", "NN"], ("NN VBZ NN" + 3 * " IN DT NN").split()]  # of several trees
CASES = {
    "dependencies": Case(mm.DependencyParser(), toy.phrases(), arcs, 2.0),
    "projective": Case(mm.DependencyParser(projective=True), toy.phrases(), arcs, 2.0),
    "constituents": Case(
        mm.ConstituencyParser(loss="constituents"), toy.constituents(), constituents, 8.0
    ),
    "global alignment": Case(
        mm.PairwiseAligner(alphabet="ACGT"), toy.alignments(), matches, 0.5, lambda tables: tables["matches"]
    ),
    "local alignment": Case(
        mm.PairwiseAligner(alphabet="ACGT", mode="local"), toy.alignments(), matches, 0.5,
        lambda tables: tables["matches"],
    ),
    "folding": Case(mm.RNAFolder(), toy.molecules(), base_pairs, 0.5, np.triu),
    "label sets": Case(mm.MultilabelSVM(), toy.label_sets(), ones, 2.0),
    "tree of labels": Case(mm.MultilabelSVM(pairs="tree"), toy.label_sets(), ones, 2.0),
    "motif": Case(mm.MotifFinder(length=4), toy.strings(), site, 0.5),
    "path": Case(mm.StructuralSVM(mm.Path()), toy.paths(), positions, 10.0),
    "knapsack": Case(mm.StructuralSVM(mm.Knapsack()), toy.items(), ones, 10.0),
    "tree": Case(mm.StructuralSVM(mm.Tree()), toy.arcs(), arcs, 3.0),
    "undirected": Case(mm.StructuralSVM(mm.Tree(directed=False)), toy.arcs(False), edges, 3.0, np.triu),
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    case = CASES[request.param]
    case.model.set_params(temperature=case.temperature, max_iter=30, tol=0.5, n_jobs=1).fit(*case.data)
    X = SENTENCES if request.param == "constituents" else case.data[0][:6]
    return case, case.model, X


def test_marginals_are_the_frequencies_of_samples(fitted):
    case, model, X = fitted
    drawn = model.sample(X, N_SAMPLES, random_state=2)
    for outputs, marginals in zip(drawn, model.predict_marginals(X), strict=True):
        table = case.table(marginals)
        assert ((table >= 0) & (table <= 1 + 1e-12)).all()
        counts = np.zeros_like(table)
        for y in outputs:
            for part in case.parts(model, y):
                counts[part] += 1
        spread = np.sqrt(table * (1 - np.minimum(table, 1.0)) / N_SAMPLES)
        assert (np.abs(counts / N_SAMPLES - table) <= 5 * spread + 2 / N_SAMPLES).all()


def test_the_least_risk(fitted):
    """The expected number of false and missed parts is Σ_p m_p + Σ_{p in ŷ} (1 − 2 m_p)."""
    case, model, X = fitted
    if isinstance(model, mm.MotifFinder):
        pytest.skip("the loss of a motif compares labels only: see test_motifs")
    rng, fitted_weights, differ = np.random.default_rng(0), (model.coef_, getattr(model, "pair_coef_", None)), 0
    for _ in range(20):  # weights of many kinds, for some of which the two decisions differ
        model.coef_ = 2.0 * rng.normal(size=model.coef_.shape)
        if fitted_weights[1] is not None:
            model.pair_coef_ = 2.0 * rng.normal(size=model.pair_coef_.shape)
        tables = [case.table(marginals) for marginals in model.predict_marginals(X)]
        found = {}
        for decode in ("map", "risk"):
            found[decode] = [case.parts(model, y) for y in model.set_params(decode=decode).predict(X)]
        for table, best, risky in zip(tables, found["map"], found["risk"], strict=True):
            of_best, of_risky = (sum(1 - 2 * table[part] for part in parts) for parts in (best, risky))
            assert of_risky <= of_best + 1e-9
            differ += of_risky < of_best - 1e-9
    model.set_params(decode="map")
    model.coef_ = fitted_weights[0]
    if fitted_weights[1] is not None:
        model.pair_coef_ = fitted_weights[1]
    assert differ > 0


def test_likelihoods_are_those_of_samples(fitted):
    """The frequency of the likeliest sample is its probability."""
    _, model, X = fitted
    drawn = model.sample(X, N_SAMPLES, random_state=3)
    if isinstance(model, mm.MotifFinder):
        drawn = [[y.label for y in outputs] for outputs in drawn]
    for x, outputs in zip(X, drawn, strict=True):
        shown = [repr(y) for y in outputs]
        y = outputs[max(range(N_SAMPLES), key=lambda k: shown.count(shown[k]))]
        p = float(np.exp(model.log_likelihood([x], [y])[0]))
        assert abs(shown.count(repr(y)) / N_SAMPLES - p) <= 5 * np.sqrt(p * (1 - p) / N_SAMPLES) + 2 / N_SAMPLES


@pytest.mark.parametrize("projective", [False, True])
def test_heads_of_words_sum_to_one(projective):
    X, Y = toy.phrases()
    labelled = [[(h, "root" if h == 0 else "dep") for h in y] for y in Y]
    model = mm.DependencyParser(projective=projective, labelled=True, decode="risk", max_iter=30, tol=0.5)
    model.fit(X, labelled)
    for x, table in zip(X, model.predict_marginals(X), strict=True):
        assert table.shape == (len(x) + 1, len(x) + 1)
        np.testing.assert_allclose(table.sum(axis=0)[1:], 1.0, atol=1e-12)
        assert table[0].sum() == pytest.approx(1.0), "one root"
        assert not table[:, 0].any()
    assert [[h for h, _ in y] for y in model.predict_labelled(X)] == model.predict(X)
    np.testing.assert_array_equal(model.log_likelihood(X, labelled), model.log_likelihood(list(zip(X, Y, strict=True))))


def test_trees_contain_their_sentences():
    X, Y = toy.constituents()
    parser = mm.ConstituencyParser(loss="f1", max_iter=30, tol=0.5).fit(X, Y)
    np.testing.assert_array_equal(parser.log_likelihood(Y), parser.log_likelihood(X, Y))
    with pytest.raises(ValueError, match="1 − F1 of trees is not a sum over constituents; use the loss 'constituents'"):
        parser.set_params(decode="risk").predict(X)


@pytest.mark.parametrize("pairs", ["all", "tree", None])
def test_probabilities_of_label_sets(pairs):
    X, Y = toy.label_sets()
    model = mm.MultilabelSVM(pairs=pairs, bound="likelihood", tol=1e-3).fit(X, Y)
    p = model.predict_proba(X)
    assert p.shape == Y.shape and ((p > 0) & (p < 1)).all()
    np.testing.assert_array_equal(p, model.predict_marginals(X))
    assert p[Y == 1].mean() > p[Y == 0].mean() + 0.2
    if pairs is None:
        np.testing.assert_allclose(p, 1.0 / (1.0 + np.exp(-model.decision_function(X))))
    np.testing.assert_array_equal(model.set_params(decode="risk").predict(X), p > 0.5)
    np.testing.assert_array_equal(model.set_params(gamma=3.0).predict(X), p > 0.25)


def test_frames_and_columns_are_checked_as_by_predict():
    X, Y = toy.label_sets()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    for model, y in ((mm.MultilabelSVM(tol=0.5), Y), (mm.MulticlassSVM(tol=0.5), Y[:, 0])):
        model.fit(frame, y)
        assert model.sample(frame, 2) == model.sample(frame.copy(), 2)
        for method in (model.sample, model.predict_proba, lambda rows, y=y, m=model: m.log_likelihood(rows, y)):
            with pytest.raises(ValueError, match="feature names"):
                method(frame.rename(columns={"f0": "other"}))
            with pytest.raises(ValueError, match="missing"):
                method(frame[["f1", "f2"]])


def test_motifs():
    X, y = toy.strings()
    model = mm.MotifFinder(length=4, both_strands=True, temperature=0.5).fit(X, y)
    p, sites = model.predict_proba(X), model.predict_marginals(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    scores = model.decision_scores(X)
    for row, table, score in zip(p, sites, scores, strict=True):
        assert table.shape == score.shape == (len(X[0]) - 3, 2)
        weights = np.exp(score / 0.5)
        np.testing.assert_allclose(table, weights / (1 + weights.sum()))
        assert row[1] == pytest.approx(table.sum())
    np.testing.assert_allclose(model.log_likelihood(X, y), np.log(p[np.arange(len(y)), y]))
    by_best = model.predict(X)
    by_all = model.set_params(decode="risk").predict(X)
    np.testing.assert_array_equal(by_all, model.classes_[(p[:, 1] > 0.5).astype(int)])
    assert (by_best != by_all).any()
    assert [found.label for found in model.sites(X)] == by_all.tolist()


def test_likelihoods_of_motifs_do_not_underflow():
    X, y = toy.strings()
    model = mm.MotifFinder(length=4, temperature=1e-3, tol=0.5).fit(X, y)
    logs = model.log_likelihood(X, [1 - label for label in y])
    assert np.isfinite(logs).all() and logs.min() < -50


def test_latent_variables_have_no_best_temperature():
    X, y = toy.strings()
    with pytest.raises(ValueError, match='temperature="auto" needs whole true outputs'):
        mm.MotifFinder(length=4, temperature="auto").fit(X, y)
    with pytest.raises(TypeError, match='temperature="auto" needs whole true outputs'):
        mm.StructuralSVM(mm.Motif(length=4), temperature="auto", tol=0.5).fit(X, y)


def test_taxonomies():
    X, y = toy.species()
    model = mm.TaxonomyClassifier(hierarchy="/", temperature=3.0, tol=0.5).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    drawn = model.sample(X[:3], N_SAMPLES)
    for row, labels in zip(p, drawn, strict=False):
        assert [labels.count(c) / N_SAMPLES for c in model.classes_] == pytest.approx(row.tolist(), abs=0.1)
    risky = model.set_params(decode="risk").predict(X)
    costs = np.array([[model.losses([a], [b])[0] for b in model.classes_] for a in model.classes_])
    np.testing.assert_array_equal(risky, model.classes_[(p @ costs).argmin(axis=1)])


def test_gamma_names_more_pairs():
    X, Y = toy.molecules()
    model = mm.RNAFolder(decode="risk", tol=0.5, max_iter=30).fit(X, Y)
    counts = [sum(y.count("(") for y in model.set_params(gamma=gamma).predict(X)) for gamma in (0.0, 1.0, 30.0)]
    assert counts[0] == 0 and counts[0] <= counts[1] < counts[2]


def test_what_has_none_lacks_the_methods():
    for kind in (mm.CutSegmenter, mm.CostLearner, mm.ForestClustering, mm.DiverseSelector, mm.MeasureSVC):
        assert not any(
            hasattr(kind, name) for name in ("predict_marginals", "sample", "log_likelihood", "predict_proba")
        )


@pytest.mark.parametrize(("structure", "data", "message"), [
    (mm.Cut(), toy.graphs(), "#P-hard"), (mm.Forest(), toy.places(), "#P-hard"),
    (mm.BipartiteMatching(), toy.assignments(), "permanent"), (mm.Path(cycles=True), None, "cycles=False"),
])  # fmt: skip
def test_errors_of_structures_without_sums(structure, data, message):
    if data is None:
        X, Y = toy.paths()
        data = [(graph, np.abs(features)) for graph, features in X], Y
    model = mm.StructuralSVM(structure, max_iter=5, tol=0.9, **({"nonnegative": True} if message[0] == "c" else {}))
    model.fit(*data)
    risky = model.set_params(decode="risk").predict
    X, Y = data
    for method in (model.predict_marginals, model.sample, risky, lambda X: model.log_likelihood(X, Y)):
        with pytest.raises(TypeError, match=f"has no probabilities: .*{message}"):
            method(X)


def test_sentences_outside_of_the_grammar_are_glued_by_both_decisions():
    X, Y = toy.constituents()
    parser = mm.ConstituencyParser(loss="constituents", max_iter=30, tol=0.5).fit(X, Y)
    sentences = [X[0], ["IN", "IN", "IN"], X[1]]
    with pytest.raises(ValueError, match=r"X\[1\]: the allowed parts form no output"):
        parser.predict_marginals(sentences)
    best = parser.predict(sentences)
    risky = parser.set_params(decode="risk").predict(sentences)
    assert risky[1] == best[1]
    assert [risky[0], risky[2]] == parser.predict([X[0], X[1]])
