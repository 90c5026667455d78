"""MultilabelSVM: label by label, pairs that help, larger numbers of labels, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.structures.multilabel.examples import Forest
from maxmargin.structures.multilabel.pairs import information_tree, mutual_information


def sets(n=80, n_labels=4, seed=0):
    """Labels of which each is the one before it or a feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_labels + 1))
    Y = (X[:, :n_labels] > 0.3).astype(int)
    Y[:, 1] |= Y[:, 0]
    return X, Y


X, Y = sets()


def test_without_pairs_every_label_is_a_machine_of_its_own():
    model = mm.MultilabelSVM(pairs=None, tol=1e-7).fit(X, Y)
    machines = [mm.MultilabelSVM(pairs=None, tol=1e-7).fit(X, Y[:, [k]]) for k in range(4)]
    total = sum(machine.certificate_.primal for machine in machines)
    assert model.certificate_.primal == pytest.approx(total, rel=1e-5)
    far = 2.0 * np.sqrt(2.0 * 1e-7 * total)  # ½‖w − w*‖² is at most the gap, for both
    np.testing.assert_allclose(model.coef_, np.vstack([machine.coef_ for machine in machines]), atol=far)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-9)
    signs = np.where(Y == 1, 1.0, -1.0)
    hinges = np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    objective = 0.5 * (model.coef_**2).sum() + 0.5 * (model.intercept_**2).sum() + hinges
    assert model.certificate_.primal == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["hamming", "f1"])
@pytest.mark.parametrize("pairs", ["all", "tree"])
def test_pairs_learn_what_features_do_not_show(loss, pairs):
    """The last label follows from the first two, but not linearly from the features, whose sizes vary."""
    rng = np.random.default_rng(0)
    rows = np.sign(rng.normal(size=(300, 2))) * np.exp(rng.normal(size=(300, 2)))
    first, second = rows[:, 0] > 0, rows[:, 1] > 0
    labels = np.stack([first, second, first & second], axis=1).astype(int)
    with_pairs, without = (mm.MultilabelSVM(loss=loss, pairs=p, C=10.0).fit(rows, labels) for p in (pairs, None))
    assert with_pairs.score(rows, labels) > without.score(rows, labels) + 0.02
    assert (with_pairs.pair_coef_ > 0).any()


def test_decision_function_agrees_with_predictions():
    for pairs in ("all", "tree", None):
        model = mm.MultilabelSVM(pairs=pairs).fit(X, Y)
        margins, found = model.decision_function(X), model.predict(X)
        np.testing.assert_array_equal(margins > 0, found == 1)
        assert margins.shape == found.shape == Y.shape
        assert np.issubdtype(found.dtype, np.integer)
        scores = model.structure_.encode(X).marginals(model._flat_weights(), np.arange(3))
        best = [model.topk(x, 1)[0][1] for x in X[:3]]
        np.testing.assert_allclose(np.maximum(*scores).max(axis=1), best, atol=1e-9)
        assert model.topk(X[0], 2)[0][0] == found[0].tolist()


def test_saved_pickled_cloned_searched(tmp_path):
    model = mm.MultilabelSVM(loss="f1", pairs="tree").fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    model.save(tmp_path / "model")
    for again in (mm.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.pair_coef_, model.pair_coef_)
    np.testing.assert_array_equal(clone(model).fit(X, Y.astype(bool)).predict(X), model.predict(X))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), mm.MultilabelSVM()),
        {"multilabelsvm__C": [0.1, 1.0], "multilabelsvm__pairs": ["all", None]}, cv=3,
    ).fit(X, Y)  # fmt: skip
    assert search.best_score_ > 0.5
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X))
    assert model.score(X, Y, np.arange(80)) == pytest.approx(
        accuracy_score(Y, model.predict(X), sample_weight=range(80))
    )


def test_names_of_weights():
    model = mm.MultilabelSVM(pairs="tree").fit(X, Y)
    assert model.feature_names_out[0] == "x0 → 0"
    assert model.feature_names_out[-3:].tolist() == [f"{j} & {k}" for j, k in model.pairs_]
    frame = model.weights_frame()
    assert len(frame) == 4 * 6 + 3
    model.fit(sets(20)[0], sets(20)[1])


def test_the_structure_knows_the_loss_by_both_names():
    structure = mm.Multilabel(loss="f1", pairs="tree")
    assert structure.get_params() == {"cost": "f1", "pairs": "tree", "fit_intercept": True}
    assert clone(structure).cost == "f1"
    model = mm.StructuralSVM(structure).fit(X, Y)
    estimator = mm.MultilabelSVM(loss="f1", pairs="tree").fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    mean = f1_score(Y, model.predict(X), average="samples", zero_division=1.0)
    assert model.score(X, Y) == pytest.approx(mean - 1.0)


# ---------------------------------------------------------------------- decoders


@pytest.mark.parametrize("cost", ["hamming", "f1"])
def test_trees_and_enumeration_agree(cost):
    """Ten labels: scores of pairs that are not in the tree are 0 in the enumeration."""
    rng = np.random.default_rng(0)
    n, n_labels = 40, 10
    rows, labels = rng.normal(size=(n, 3)), (rng.random((n, n_labels)) < rng.random((n, 1))).astype(int)
    tree, every = (mm.Multilabel(cost=cost, pairs=p).fit(rows, labels) for p in ("tree", "all"))
    w = rng.normal(size=tree.size)
    wide = np.concatenate([w[: 4 * n_labels], np.zeros(45)])
    edges = every.edges_.tolist()
    for weight, edge in zip(w[4 * n_labels :], tree.edges_.tolist(), strict=True):
        wide[4 * n_labels + edges.index(edge)] = weight
    ids, few, many = np.arange(n), tree.encode(rows, labels), every.encode(rows, labels)
    answers, others = few.empty_answers(), many.empty_answers()
    for scale in (0.0, 0.3, 1.0, 5.0):
        few.decode(w, ids, np.full(n, scale), answers)
        many.decode(wide, ids, np.full(n, scale), others)
        np.testing.assert_array_equal(answers.codes, others.codes)
        np.testing.assert_allclose(answers.losses, others.losses, atol=1e-12)
    for bound in (Bound("slack"), Bound("margin", "quadratic"), Bound("slack", "quadratic")):
        few.decode_bound(w, ids, bound, answers)
        many.decode_bound(wide, ids, bound, others)
        np.testing.assert_array_equal(answers.codes, others.codes)


def test_many_labels_in_a_tree():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 5))
    labels = (rows @ rng.normal(size=(5, 40)) > 1.0).astype(int)
    for loss in ("hamming", "f1"):
        model = mm.MultilabelSVM(loss=loss, pairs="tree", C=1.0, tol=0.1).fit(rows, labels)
        assert f1_score(labels, model.predict(rows), average="samples", zero_division=1.0) > 0.8
        assert len(model.pairs_) == 39


def test_the_tree_of_greatest_information():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 500)
    noisy = [np.where(rng.random(500) < share, 1 - first, first) for share in (0.1, 0.3)]
    labels = np.stack([noisy[1], first, rng.integers(0, 2, 500), noisy[0]], axis=1)
    edges = information_tree(labels)
    assert (1, 3) in edges
    assert (0, 1) in edges
    assert len(edges) == 3
    counts = np.histogram2d(labels[:, 1], labels[:, 3], bins=2)[0] / 500
    rest = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    assert mutual_information(labels)[1, 3] == pytest.approx((counts * np.log(counts / rest)).sum())
    constant = np.stack([np.ones(5, int), np.zeros(5, int), [0, 1, 0, 1, 0]], axis=1)
    assert np.isfinite(mutual_information(constant)).all()
    assert information_tree(constant) == [(0, 1), (0, 2)]
    with pytest.raises(ValueError, match="must form a forest"):
        Forest.of(3, np.array([[0, 1], [1, 2], [0, 2]]))


def test_one_label_one_row_and_empty_sets():
    model = mm.MultilabelSVM().fit([[1.0], [-1.0]], [[1], [0]])
    assert model.predict([[2.0], [-2.0]]).tolist() == [[1], [0]]
    nothing = mm.MultilabelSVM(loss="f1", pairs="tree").fit(np.eye(2), np.zeros((2, 3), int))
    assert not nothing.predict(np.eye(2)).any()
    alone = mm.MultilabelSVM(loss="f1", C=10.0).fit([[1.0, 2.0]], [[1, 0, 1]])
    assert alone.predict([[1.0, 2.0]]).tolist() == [[1, 0, 1]]


def test_frames_whose_columns_differ_in_type():
    pd = pytest.importorskip("pandas")
    X, Y = np.eye(3), pd.DataFrame({"a": [True, False, True], "b": [0, 1, 1], "c": pd.array([1, 0, 0], dtype="Int64")})
    plain = mm.MultilabelSVM(C=10.0).fit(X, Y.to_numpy(int))
    for labels in (Y, Y.astype("boolean"), Y.to_numpy(object)):
        np.testing.assert_array_equal(mm.MultilabelSVM(C=10.0).fit(X, labels).coef_, plain.coef_)
    with pytest.raises(ValueError, match=r"Y\[1\]: expected 0 or 1 for each label"):
        mm.MultilabelSVM().fit(X, Y.astype("boolean").where(Y.index.to_series() != 1))


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({}, [[0, 1], [0, 2]], "Y[1]: expected 0 or 1 for each label, found"),
        ({}, [[0, 1], [0.5, 1]], "Y[1]: expected 0 or 1 for each label, found"),
        ({}, [[0, 1], ["a", "b"]], "Y[1]: expected 0 or 1 for each label, found"),
        ({}, [[0, 1], [np.nan, 1]], "Y[1]: expected 0 or 1 for each label, found"),
        ({}, [{"a"}, {"a", "b"}], "found {'a'}; scikit-learn's MultiLabelBinarizer makes such a matrix of sets"),
        ({}, [[0, 1], [1]], "Y[1]: 1 labels, but Y[0] has 2"),
        ({}, [0, 1], "Y[0]: expected 0 or 1 for each label, found 0"),
        ({}, np.array([0, 1]), "Y: expected a matrix of 0 and 1 with a row for each example"),
        ({}, "labels", "Y: expected a matrix of 0 and 1"),
        ({}, np.zeros((2, 0)), "Y: expected at least one example and one label, found none"),
        ({}, np.zeros((3, 2)), "X has 2 rows but y has 3"),
        ({}, np.zeros((2, 16)), "pairs='all' enumerates all sets of up to 15 labels, found 16 labels; use"),
        ({"loss": "zero-one"}, np.eye(2), "loss must be 'hamming' or 'f1', found 'zero-one'"),
        ({"pairs": "some"}, np.eye(2), "pairs must be 'all', 'tree' or None, found 'some'"),
        ({"pairs": [(0, 1)]}, np.eye(2), "pairs must be 'all', 'tree' or None"),
        ({"fit_intercept": 1}, np.eye(2), "fit_intercept must be True or False"),
    ],
)  # fmt: skip
def test_bad_input(parameters, labels, message):
    with pytest.raises(ValueError) as error:
        mm.MultilabelSVM(**parameters).fit(np.eye(2), labels)
    assert message in str(error.value)


def test_bad_input_to_score_and_encode():
    model = mm.MultilabelSVM().fit(X, Y)
    with pytest.raises(ValueError, match=r"y has shape \(80, 3\), expected \(80, 4\)"):
        model.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(np.eye(2))
    structure = mm.Multilabel().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, expected 5"):
        structure.encode(np.eye(2))
    with pytest.raises(ValueError, match="Y has 3 labels, expected 4"):
        structure.encode(X, Y[:, :3])
    with pytest.raises(ValueError, match="y_hat: 2 labels, expected 4"):
        structure.loss(Y[0], [0, 1])
    with pytest.raises(ValueError, match="X has 80 rows but Y has 2"):
        structure.encode(X, Y[:2])
