"""TaxonomyClassifier: what a hierarchy changes, its forms, large ones, bad input."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.structures.taxonomy import pairs, structure

PARENTS = {"dog": "mammal", "cat": "mammal", "owl": "bird", "hen": "bird", "mammal": "animal", "bird": "animal"}
LEAVES = ["cat", "dog", "hen", "owl"]


def beasts(n=60, noise=0.5, seed=0):
    """Features that tell kinds apart, and weaker ones that tell leaves apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(scale=noise, size=(n, 6))
    X[:, 0] += 2.0 * (y < 2)
    X[np.arange(n), 1 + y] += 1.0
    return X, np.array(LEAVES)[y]


X, Y = beasts()


def test_a_flat_hierarchy_is_multiclass():
    flat = mm.TaxonomyClassifier(C=1.0, tol=1e-6).fit(X, Y)
    plain = mm.MulticlassSVM(tol=1e-6).fit(X, Y)
    assert flat.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=3e-6)
    np.testing.assert_allclose(flat.decision_scores(X), plain.decision_scores(X), atol=0.02)
    assert flat.nodes_ == LEAVES


def test_forms_of_a_hierarchy_give_the_same_scores(tmp_path):
    edges = [(parent, child) for child, parent in PARENTS.items()]
    paths = [f"animal/{PARENTS[leaf]}/{leaf}" for leaf in LEAVES]
    forms = PARENTS, edges, nx.DiGraph(edges), paths
    models = [mm.TaxonomyClassifier(hierarchy=given, tol=1e-5).fit(X, Y) for given in forms]
    for model in models[1:]:
        np.testing.assert_allclose(model.decision_function(X), models[0].decision_function(X), atol=0.02)
    whole = mm.TaxonomyClassifier(hierarchy="/", tol=1e-5).fit(X, [paths[LEAVES.index(y)] for y in Y])
    order = [whole.classes_.tolist().index(path) for path in paths]
    np.testing.assert_allclose(whole.decision_function(X)[:, order], models[0].decision_function(X), atol=0.02)
    models[2].save(tmp_path / "model")
    again = mm.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), models[2].predict(X))
    assert again.hierarchy == edges


def test_scores_are_sums_over_nodes():
    model = mm.TaxonomyClassifier(hierarchy=PARENTS).fit(X, Y)
    rows = np.column_stack([X, np.ones(len(X))])
    expected = [rows @ (model.node_weights(leaf) + model.node_weights(PARENTS[leaf])) for leaf in LEAVES]
    np.testing.assert_allclose(model.decision_function(X), np.transpose(expected), atol=1e-9)
    assert set(model.nodes_) == {*LEAVES, "mammal", "bird"}
    assert len(model.coef_) == len(model.feature_names_out) == 7 * 6
    assert "x0 → mammal" in model.feature_names_out
    with pytest.raises(ValueError, match="node 'animal' has no weights"):
        model.node_weights("animal")


def test_the_default_loss_is_mostly_zero_one():
    model = mm.TaxonomyClassifier(hierarchy=PARENTS).fit(X, Y)
    assert model.losses(["cat", "cat", "cat"], ["cat", "dog", "owl"]).tolist() == [0.0, 0.875, 1.0]
    flat = mm.TaxonomyClassifier().fit(X, Y)
    assert flat.losses(["cat", "cat"], ["cat", "dog"]).tolist() == [0.0, 1.0]


def few_of_many_classes(seed):
    """Two rows of each of 24 classes below 4 nodes that have no features in common, and 20 rows of each to test."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(24, 60))
    y = np.repeat(np.arange(24), 22)
    X = centres[y] + rng.normal(scale=2.0, size=(len(y), 60))
    X /= np.linalg.norm(X, axis=1)[:, None]
    train = np.arange(len(y)) % 22 < 2
    return X[train], y[train], X[~train], y[~train], {k: f"group {k % 4}" for k in range(24)}


def test_the_default_is_not_below_flat_where_nodes_mean_nothing():
    """With separable data the loss sets the ratio of margins: that of siblings must not be half of the others."""
    right: dict[str, list[float]] = {}
    for seed in range(4):
        X, y, held, true, parents = few_of_many_classes(seed)
        tree = parents | {f"group {k}": "all" for k in range(4)}
        for name, given in {"flat": {"loss": "zero-one"}, "default": {"hierarchy": tree}}.items():
            model = mm.TaxonomyClassifier(C=10.0, tol=1e-2, **given).fit(X, y)
            right.setdefault(name, []).append(model.score(held, true))
        tall = mm.TaxonomyClassifier(hierarchy=tree, loss="tree", C=10.0, tol=1e-2).fit(X, y)
        right.setdefault("tree", []).append(tall.score(held, true))
    flat, default, tree_loss = (np.mean(right[name]) for name in ("flat", "default", "tree"))
    assert tree_loss < 0.85 * flat
    assert default > 0.92 * flat


def test_the_tree_loss_avoids_distant_classes():
    noisy, labels = beasts(400, 1.5, 1)
    held, true = beasts(2000, 1.5, 2)
    models = [mm.TaxonomyClassifier(hierarchy=PARENTS, loss=loss).fit(noisy, labels) for loss in ("tree", "zero-one")]
    losses = [mm.metrics.tree_loss(true, model.predict(held), hierarchy=PARENTS) for model in models]
    assert losses[0] < losses[1]
    assert losses[0] == models[0].losses(true, models[0].predict(held)).mean()


def test_classes_without_examples_and_listed_classes():
    some = Y != "owl"
    model = mm.TaxonomyClassifier(hierarchy=PARENTS).fit(X[some], Y[some])
    assert model.classes_.tolist() == LEAVES
    assert model.decision_function(X).shape == (len(X), 4)
    listed = mm.TaxonomyClassifier(hierarchy=PARENTS, classes=["hen", "dog", "cat"]).fit(X[some], Y[some])
    assert listed.classes_.tolist() == ["hen", "dog", "cat"]
    assert "owl" not in listed.nodes_
    matrix = np.array([[0, 1, 5], [1, 0, 1], [1, 2, 0.0]])
    costly = mm.TaxonomyClassifier(hierarchy=PARENTS, classes=["hen", "dog", "cat"], loss=matrix).fit(X[some], Y[some])
    assert costly.losses(["hen", "cat"], ["cat", "dog"]).tolist() == [5.0, 2.0]


def test_inner_nodes_as_classes():
    vague = Y.astype(object)
    vague[:10] = [PARENTS[y] for y in Y[:10]]
    model = mm.TaxonomyClassifier(hierarchy=PARENTS, inner_nodes=True, loss="tree", C=10.0).fit(X, vague)
    assert model.classes_.tolist() == ["animal", "bird", "cat", "dog", "hen", "mammal", "owl"]
    assert not model.decision_scores(X)[:, 0].any(), "the root has no weights"
    assert model.score(X, vague) > 0.8
    assert model.losses(["cat", "cat", "mammal"], ["mammal", "animal", "mammal"]).tolist() == [1.0, 2.0, 0.0]
    paths = [f"animal/{PARENTS[y]}/{y}" for y in LEAVES]
    same = mm.TaxonomyClassifier(hierarchy=paths, inner_nodes=True, C=10.0).fit(X, vague)
    assert same.classes_.tolist() == model.classes_.tolist()


def test_a_lattice():
    lattice = {**PARENTS, "owl": ["bird", "hunter"], "cat": ["mammal", "hunter"], "hunter": "animal"}
    model = mm.TaxonomyClassifier(hierarchy=lattice, loss="tree", C=10.0).fit(X, Y)
    assert model.losses(["owl", "owl"], ["cat", "dog"]).tolist() == [1.0, 2.0]
    assert model.score(X, Y) > 0.9


def test_sparse_pipelines_searches_and_pickles():
    dense, sparse = (mm.TaxonomyClassifier(hierarchy=PARENTS, tol=1e-6).fit(x, Y) for x in (X, sp.coo_array(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), mm.TaxonomyClassifier(hierarchy=PARENTS)),
        {"taxonomyclassifier__C": [0.1, 1.0], "taxonomyclassifier__loss": ["tree", "zero-one"]}, cv=3,
    ).fit(X, Y)  # fmt: skip
    assert search.best_score_ > 0.6
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict(X), dense.predict(X))
    assert clone(dense).hierarchy == PARENTS
    bounds = [mm.TaxonomyClassifier(hierarchy=PARENTS, bound=b, slack=s).fit(X, Y).certificate_ for b in
              ("margin", "slack") for s in ("linear", "quadratic")]  # fmt: skip
    assert all(certificate.exact for certificate in bounds)


# ---------------------------------------------------------------------- many pairs of features and nodes


def test_only_pairs_that_occur_have_weights(tmp_path):
    rows = sp.csr_array(np.array([[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0], [0, 0, 1.0, 0, 0], [0, 0, 0, 1.0, 0]]))
    model = mm.TaxonomyClassifier(hierarchy=PARENTS, seen_pairs=True, fit_intercept=False, C=100.0).fit(rows, LEAVES)
    found = set(model.feature_names_out)
    kinds = {f"x{f} → {kind}" for f in range(4) for kind in ("mammal", "bird")}
    leaves = {f"x{f} → {leaf}" for f in (0, 1) for leaf in ("cat", "dog")}
    leaves |= {f"x{f} → {leaf}" for f in (2, 3) for leaf in ("hen", "owl")}
    assert found == kinds | leaves
    assert model.predict(rows).tolist() == LEAVES
    assert model.node_weights("owl")[:2].tolist() == [0.0, 0.0]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(mm.load(tmp_path / "model").decision_scores(rows), model.decision_scores(rows))


def test_many_children_do_not_share_features(monkeypatch):
    rows = np.eye(4)
    monkeypatch.setattr(pairs, "MANY_CHILDREN", 3)
    model = mm.TaxonomyClassifier(seen_pairs=True, fit_intercept=False).fit(rows, LEAVES)
    assert model.feature_names_out.tolist() == [f"x{f} → {leaf}" for f, leaf in enumerate(LEAVES)]


def test_large_hierarchies_take_little_memory(monkeypatch):
    """120 leaves × 20,000 features: 3 million pairs, of which few occur."""
    rng = np.random.default_rng(0)
    paths = [f"{k % 4}/{k % 20}/{k}" for k in range(120)]
    n, width = 240, 20_000
    leaf = np.repeat(np.arange(120), 2)
    own, shared = 10 * leaf[:, None] + rng.integers(0, 10, (n, 5)), 5000 + 10 * (leaf[:, None] % 4)
    columns = np.hstack([own, shared + rng.integers(0, 10, (n, 5))])
    rows = sp.csr_array((np.ones(n * 10), columns.ravel(), np.arange(n + 1) * 10), (n, width))
    labels = [paths[k] for k in leaf]
    monkeypatch.setattr(structure, "MANY_WEIGHTS", 1 << 20)
    model = mm.TaxonomyClassifier(hierarchy="/", C=10.0, tol=0.05).fit(rows, labels)
    assert len(model.coef_) < 0.02 * len(model.nodes_) * (width + 1)
    assert model.score(rows, labels) > 0.99
    assert model.certificate_.gap <= 0.05


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({"hierarchy": PARENTS | {"animal": "dog"}}, LEAVES,
         "hierarchy: expected no cycles, found 'mammal' → 'dog' → 'animal' → 'mammal'"),
        ({"hierarchy": PARENTS | {"bird": "flyer"}}, LEAVES, "expected one root, found 2: 'animal', 'flyer'"),
        ({"hierarchy": PARENTS}, ["cat", "mammal", "hen", "owl"],
         "Y[1]: class 'mammal' is not a leaf of the hierarchy, its children are 'dog', 'cat'; pass inner_nodes=True"),
        ({"hierarchy": PARENTS}, ["cat", "dog", "fish", "owl"],
         "Y[2]: class 'fish' is not in the hierarchy, whose leaves are 'dog', 'cat', 'owl', 'hen'"),
        ({"hierarchy": PARENTS, "classes": ["cat", "dog"]}, LEAVES, "Y[2]: class 'hen' is not one of classes="),
        ({"hierarchy": PARENTS, "classes": ["cat", "bird"]}, LEAVES, "classes[1]: class 'bird' is not a leaf"),
        ({"hierarchy": PARENTS, "classes": ["cat", "fish"]}, LEAVES,
         "classes[1]: class 'fish' is not in the hierarchy"),
        ({"classes": ["cat", "dog"]}, LEAVES, "Y[2]: unknown class 'hen'; classes= has 'cat', 'dog'"),
        ({"hierarchy": "/"}, [1, 2, 3, 4], "the labels: expected a path of names with '/' between them, found 1"),
        ({"hierarchy": ":"}, LEAVES, "hierarchy=':': expected labels that are paths with ':' between the names, but no "
         "label contains it, for example 'cat'"),
        ({"hierarchy": 7}, LEAVES, "hierarchy must be a dict of parents by child"),
        ({"loss": "hamming"}, LEAVES, "loss must be 'tree', 'mixed', 'zero-one', a matrix or a dict, found 'hamming'"),
        ({"hierarchy": PARENTS, "loss": np.eye(3)}, LEAVES, "expected a 4 × 4 cost matrix"),
        ({"inner_nodes": "yes"}, LEAVES, "inner_nodes must be True or False, found 'yes'"),
        ({"seen_pairs": "some"}, LEAVES, "seen_pairs must be True or False, found 'some'"),
        ({"hierarchy": {"a": "b"}}, ["a"] * 4, "expected at least two classes, found one class: ['a']"),
    ],
)  # fmt: skip
def test_bad_input(parameters, labels, message):
    with pytest.raises(ValueError) as error:
        mm.TaxonomyClassifier(**parameters).fit(np.eye(4), labels)
    assert message in str(error.value)


def test_bad_parameters_are_found_before_the_data():
    with pytest.raises(ValueError, match="expected one root"):
        mm.TaxonomyClassifier(hierarchy=[("a", "b"), ("c", "d")]).fit("not data", None)


def test_losses_of_unknown_classes():
    model = mm.TaxonomyClassifier(hierarchy=PARENTS).fit(X, Y)
    with pytest.raises(ValueError, match="y_hat, position 0: unknown label 'fish'"):
        model.losses(["cat"], ["fish"])
    with pytest.raises(ValueError, match="y has 1 classes but y_hat has 2"):
        model.losses(["cat"], ["cat", "dog"])
    taxonomy = mm.StructuralSVM(mm.Taxonomy(hierarchy=PARENTS)).fit(X, Y)
    assert taxonomy.score(X[:1], ["fish"]) == -2.0, "a class that does not exist is as wrong as can be"


def test_the_default_trade_off_does_not_depend_on_the_scale():
    model = mm.TaxonomyClassifier(hierarchy=PARENTS, fit_intercept=False, tol=1e-6).fit(X, Y)
    assert pytest.approx(model.C_, rel=1e-5) == len(X) / (X**2).sum()
    larger = mm.TaxonomyClassifier(hierarchy=PARENTS, fit_intercept=False, tol=1e-6).fit(sp.csr_array(10.0 * X), Y)
    np.testing.assert_allclose(10.0 * larger.coef_, model.coef_, atol=1e-2)
    path = mm.regularization_path(model, X, Y, Cs=[0.1, 1.0])
    assert [step.C_ for step in path] == [0.1, 1.0]
    assert mm.TaxonomyClassifier(hierarchy=PARENTS, kernel="rbf").fit(X, Y).C_ == 1.0
    with pytest.raises(ValueError, match='C must be a number > 0 or "auto"'):
        mm.TaxonomyClassifier(hierarchy=PARENTS, C="best").fit(X, Y)
