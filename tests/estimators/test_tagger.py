"""SequenceTagger: forms of input, labels, prediction, and what it says about a decision."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm


@pytest.fixture(scope="module")
def data():
    return mm.datasets.make_chains(60, random_state=0)


def test_a_chain_beats_a_classifier_of_tokens(data):
    X, Y = data
    test_X, test_Y = mm.datasets.make_chains(260, random_state=0)
    test_X, test_Y = test_X[60:], test_Y[60:]
    tagger = mm.SequenceTagger().fit(X, Y)
    tokens = mm.MulticlassSVM().fit(np.concatenate(X), np.concatenate(Y))
    single = tokens.score(np.concatenate(test_X), np.concatenate(test_Y))
    assert tagger.score(test_X, test_Y) > single + 0.02


def test_dense_sparse_and_named_tokens_learn_the_same(data):
    X, Y = data
    dense = mm.SequenceTagger(tol=1e-5).fit(X, Y)
    sparse = mm.SequenceTagger(tol=1e-5).fit([sp.csr_array(x) for x in X], Y)
    named = mm.SequenceTagger(tol=1e-5).fit([[{f"x{j}": v for j, v in enumerate(row)} for row in x] for x in X], Y)
    for other in (sparse, named):
        assert other.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-5)
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=0.02)
    assert list(named.feature_names_out) == list(dense.feature_names_out)


def test_data_frames_are_sequences(data):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    frames = [pandas.DataFrame(x, columns=[f"f{j}" for j in range(8)]) for x in X]
    plain, framed = mm.SequenceTagger().fit(X, Y), mm.SequenceTagger().fit(frames, [pandas.Series(y) for y in Y])
    assert np.array_equal(plain.coef_, framed.coef_)
    assert framed.predict(frames) == plain.predict(X)
    assert framed.score(frames, Y) == plain.score(X, Y)


def test_any_labels(data):
    X, Y = data
    reference = mm.SequenceTagger().fit(X, Y).predict(X)
    for names in ("abcd", [10, -2, 3, 7], [(0, 1), (2, 3), "x", 1.5]):
        model = mm.SequenceTagger(classes=list(names)).fit(X, [[names[v] for v in y] for y in Y])
        assert model.predict(X) == [[names[v] for v in y] for y in reference]


def test_a_fold_may_lack_a_label(data):
    X, Y = data
    kept = [i for i, y in enumerate(Y) if 3 not in y]
    model = mm.SequenceTagger(classes=[0, 1, 2, 3]).fit([X[i] for i in kept], [Y[i] for i in kept])
    assert model.transitions_.shape == (4, 4)
    assert 0 < model.score(X, Y) < 1


def test_empty_and_single_token_sequences(data):
    X, Y = data
    X, Y = [*X, np.zeros((0, 8)), X[0][:1]], [*Y, [], Y[0][:1]]
    for parameters in ({}, {"loss": "zero-one"}, {"loss": "hamming-share", "bound": "slack"}):
        model = mm.SequenceTagger(**parameters).fit(X, Y)
        predicted = model.predict(X)
        assert predicted[-2] == []
        assert len(predicted[-1]) == 1
    assert model.predict([]) == []
    named = mm.SequenceTagger().fit([[["a"], ["b"]], [], [["a"]]], [["X", "Y"], [], ["X"]])
    assert named.predict([[], [["b"]], [["never seen"]]])[0] == []


def test_constraints_hold_in_prediction():
    """Words say which entity they belong to, never whether it begins: a free tagger errs on unseen mixtures."""
    rng = np.random.default_rng(0)
    labels = ["O", "B-P", "I-P", "B-L", "I-L"]
    kinds = ["O", "I-P", "I-L"]
    X = [[[f"w{v}"] for v in rng.integers(12, size=rng.integers(1, 8))] for _ in range(60)]
    Y = [mm.repair_bio([kinds[int(word[0][1:]) % 3] for word in x]) for x in X]
    free = mm.SequenceTagger(classes=labels).fit(X, Y)
    bound = mm.SequenceTagger(classes=labels, constraints="bio").fit(X, Y)
    w = rng.normal(size=len(bound.coef_))
    tests = [[[f"w{v}"] for v in rng.integers(12, size=6)] for _ in range(200)]
    assert all(mm.repair_bio(y) == y for y in bound.predict(tests))
    for model in (free, bound):
        model.coef_ = w  # whatever the weights
    assert all(mm.repair_bio(y) == y for y in bound.predict(tests))
    assert any(mm.repair_bio(y) != y for y in free.predict(tests))
    assert all(mm.repair_bio(y) == y for x in tests[:20] for y, _ in bound.topk(x, 5))


def test_transition_features():
    """The label changes exactly where the transition says so: tokens alone know nothing."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(60):
        change = rng.integers(2, size=6)
        X.append((np.zeros((7, 1)), change[:, None].astype(float)))
        Y.append(np.r_[0, np.cumsum(change) % 2])
    with_edges = mm.SequenceTagger(transition_features=True, C=1.0).fit(X, Y)
    without = mm.SequenceTagger(C=1.0).fit([x[0] for x in X], Y)
    assert with_edges.score(X, Y) == 1.0
    assert without.score([x[0] for x in X], Y) < 0.8
    with pytest.raises(ValueError, match=r"X\[0\]: 7 tokens have 6 transitions, found 5 rows"):
        with_edges.predict([(np.zeros((7, 1)), np.zeros((5, 1)))])


@pytest.mark.parametrize("edges", [np.zeros((0, 2)), np.zeros(0), []])
def test_transition_features_without_transitions(edges):
    X, Y = [([[1.0]], edges), ([[-1.0]], edges)], [["a"], ["b"]]
    model = mm.SequenceTagger(transition_features=True, C=1.0).fit(X, Y)
    assert model.predict(X) == Y
    if np.ndim(edges) == 2:
        assert len(model.predict([(np.zeros((3, 1)), np.ones((2, 2)))])[0]) == 3


def test_costs_per_label_move_errors(data):
    X, Y = data
    plain = mm.SequenceTagger().fit(X, Y)
    dear = mm.SequenceTagger(loss={1: 20.0}).fit(X, Y)

    def missed(model):
        return sum(
            t == 1 and p != 1 for y, q in zip(Y, model.predict(X), strict=True) for t, p in zip(y, q, strict=True)
        )

    assert missed(dear) < missed(plain)


def test_explain_adds_up(data):
    X, Y = data
    model = mm.SequenceTagger().fit(X, Y)
    decision = model.explain(X[0], n_features=10_000)
    best, second = model.topk(X[0], 2)
    assert decision.prediction == model.predict(X[:1])[0] == best[0]
    assert decision.runner_up == second[0]
    assert decision.margin == pytest.approx(best[1] - second[1])
    assert sum(amount for _, amount in decision.contributions) == pytest.approx(decision.margin)
    assert str(decision.prediction) in str(decision)


def test_weights_have_names(data):
    model = mm.SequenceTagger().fit(*data)
    assert len(model.feature_names_out) == len(model.coef_)
    frame = model.weights_frame()
    top = frame.iloc[0]
    assert abs(top["weight"]) == np.abs(model.coef_).max()
    by_name = dict(zip(model.feature_names_out, model.coef_, strict=True))
    assert by_name["0 → 2"] == model.transitions_[0, 2]
    assert by_name["start → 3"] == model.start_[3]
    assert by_name["1 → end"] == model.end_[1]


@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set")
def test_real_letters():
    X, Y = mm.datasets.load_ocr_letters({1})
    test = mm.datasets.load_ocr_letters({0})
    model = mm.SequenceTagger(C=0.1).fit(X, Y)
    assert model.certificate_.gap <= model.tol
    assert model.score(*test) > 0.75
