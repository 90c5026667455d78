"""Probabilities of fitted estimators: marginals, samples, likelihoods, decisions of least risk, temperatures."""

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm
from maxmargin.datasets import toy

X, Y = mm.datasets.make_chains(60, random_state=0)
TRAIN, TEST = (X[:40], Y[:40]), (X[40:], Y[40:])
ROWS = np.random.default_rng(0).normal(size=(80, 4))
LABELS = np.argmax(ROWS[:, :3] + 0.5, axis=1)


@pytest.fixture(scope="module")
def tagger():
    return mm.SequenceTagger(bound="likelihood").fit(*TRAIN)


def test_marginals_of_tokens(tagger):
    for x, table in zip(TEST[0], tagger.predict_marginals(TEST[0]), strict=True):
        assert table.shape == (len(x), len(tagger.classes_))
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)


def test_log_likelihoods_are_those_of_all_labellings(tagger):
    x, y = TEST[0][0][:3], TEST[1][0][:3]
    ranked = tagger.topk(x, 10_000)
    scores = np.array([score for _, score in ranked])
    assert len(ranked) == len(tagger.classes_) ** 3
    true = next(score for labels, score in ranked if labels == list(y))
    expected = true - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
    assert tagger.log_likelihood([x], [y]) == pytest.approx(expected, abs=1e-10)


def test_expected_losses_are_means_over_labellings(tagger):
    x, truth = TEST[0][0][:3], TEST[1][0][:3]
    labellings = [labels for labels, _ in tagger.topk(x, 10_000)]
    p = np.exp(tagger.log_likelihood([x] * len(labellings), labellings))
    wrong = [sum(a != b for a, b in zip(labels, truth, strict=True)) for labels in labellings]
    assert tagger.expected_loss([x], [truth])[0] == pytest.approx(p @ wrong)


def test_samples(tagger):
    drawn = tagger.sample(TEST[0][:3], 300, random_state=1)
    assert [len(outputs) for outputs in drawn] == [300] * 3
    assert drawn == tagger.sample(TEST[0][:3], 300, random_state=1)
    codes = {label: k for k, label in enumerate(tagger.classes_.tolist())}
    for outputs, table in zip(drawn, tagger.predict_marginals(TEST[0][:3]), strict=True):
        counts = np.zeros_like(table)
        for labels in outputs:
            counts[np.arange(len(labels)), [codes[label] for label in labels]] += 1
        assert np.abs(counts / 300 - table).max() < 0.15


def test_risk_takes_the_most_probable_label_of_each_token(tagger):
    risky = mm.SequenceTagger(bound="likelihood", decode="risk").fit(*TRAIN)
    for labels, table in zip(risky.predict(TEST[0]), risky.predict_marginals(TEST[0]), strict=True):
        assert labels == risky.classes_[table.argmax(axis=1)].tolist()


def test_a_temperature_divides_scores():
    cold, warm = (mm.SequenceTagger(temperature=T).fit(*TRAIN) for T in (0.1, 10.0))
    assert cold.predict(TEST[0]) == warm.predict(TEST[0])
    assert cold.predict_marginals(TEST[0])[0].max() > warm.predict_marginals(TEST[0])[0].max()


def test_the_best_temperature_has_the_greatest_held_out_likelihood(tmp_path):
    model = mm.SequenceTagger(temperature="auto").fit(*TRAIN)
    assert model.temperature_ != 1.0
    best = model.log_likelihood(*TEST).sum()
    for T in (0.2 * model.temperature_, 5.0 * model.temperature_):
        other = mm.SequenceTagger(temperature=T).fit(*TRAIN)
        assert other.log_likelihood(*TEST).sum() < best
    model.save(tmp_path / "model.mm")
    loaded = mm.load(tmp_path / "model.mm")
    assert loaded.temperature_ == model.temperature_
    np.testing.assert_array_equal(loaded.predict_marginals(TEST[0])[0], model.predict_marginals(TEST[0])[0])


def test_rows():
    costs = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    model = mm.MulticlassSVM(bound="likelihood", loss=costs, decode="risk").fit(ROWS, LABELS)
    p = model.predict_proba(ROWS)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(ROWS), (p @ costs).argmin(axis=1))
    logs = model.log_likelihood(ROWS, LABELS)
    np.testing.assert_allclose(logs, np.log(p[np.arange(80), LABELS]), atol=1e-12)
    assert {type(v) for v in model.sample(ROWS[:2], 3)[0]} == {int}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"temperature": 0}, "temperature must be a number > 0"),
        ({"temperature": -1.0}, "temperature must be a number > 0"),
        ({"temperature": np.inf}, "temperature must be a finite number > 0"),
        ({"temperature": "hot"}, 'temperature must be a finite number > 0 or "auto"'),
        ({"decode": "viterbi"}, "decode must be 'map' or 'risk'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.SequenceTagger(**parameters).fit(*TRAIN)


def test_what_has_no_probabilities():
    class Sign(mm.Structure):
        size = 2

        def joint_feature(self, x, y):
            return y * np.asarray(x)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return 1 if w @ x > 0 else -1

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max((1, -1), key=lambda y_hat: y_hat * (w @ x) + scale * (y != y_hat))

    model = mm.StructuralSVM(Sign()).fit([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    with pytest.raises(TypeError, match="Sign has no probabilities"):
        model.predict_marginals([[1.0, 0.0]])
    for parameters in ({"decode": "risk"}, {"temperature": "auto"}):
        with pytest.raises(TypeError, match="Sign has no probabilities"):
            mm.StructuralSVM(Sign(), **parameters).fit([[1.0, 0.0], [0.0, 1.0]], [1, -1])


def stop(step):
    """Fail if training begins."""
    pytest.fail("training began")


@pytest.mark.parametrize(
    ("estimator", "data", "error", "message"),
    [
        (mm.SequenceTagger(loss="zero-one", decode="risk"), TRAIN, ValueError, "not a sum over tokens; use a Hamming"),
        (
            mm.MultilabelSVM(loss="f1", decode="risk"),
            (np.eye(3), np.eye(3, dtype=int)),
            ValueError,
            "use the loss",
        ),
        (mm.StructuralSVM(mm.Cut(), decode="risk"), toy.graphs(), TypeError, "Cut has no probabilities: .*#P-hard"),
        (mm.StructuralSVM(mm.Cut(), temperature="auto"), toy.graphs(), TypeError, "Cut has no probabilities"),
    ],
)
def test_decisions_that_are_not_possible_are_refused_before_training(estimator, data, error, message):
    with pytest.raises(error, match=message):
        clone(estimator).set_params(callbacks=[stop]).fit(*data)
