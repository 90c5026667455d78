"""Hidden Markov models as taggers: weights counted by hand."""

import numpy as np
import pytest

import maxmargin as mm

X = [[["the"], ["dog"]], [["dog"], ["the"], ["dog"]], [["a"]]]
Y = [["D", "N"], ["N", "D", "N"], ["D"]]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("start_end", [False, True])
def test_weights_are_logarithms_of_frequencies(start_end, fit_intercept):
    s = 0.5
    model = mm.SequenceTagger(start_end=start_end, fit_intercept=fit_intercept).fit_hmm(X, Y, smoothing=s)
    w = dict(zip(model.feature_names_out.tolist(), model.coef_.tolist(), strict=True))
    assert w["dog → N"] == pytest.approx(np.log((3 + s) / (3 + 3 * s)))
    assert w["dog → D"] == pytest.approx(np.log(s / (3 + 3 * s)))
    assert w["the → D"] == pytest.approx(np.log((2 + s) / (3 + 3 * s)))
    ends = 1 if start_end else 0
    np.testing.assert_allclose(
        np.exp(model.transitions_),
        [[s / (2 + ends + (2 + ends) * s), (2 + s) / (2 + ends + (2 + ends) * s)],
         [(1 + s) / (1 + 2 * ends + (2 + ends) * s), s / (1 + 2 * ends + (2 + ends) * s)]],
    )  # fmt: skip
    if start_end:
        np.testing.assert_allclose(np.exp(model.start_), [(2 + s) / (3 + 2 * s), (1 + s) / (3 + 2 * s)])
        np.testing.assert_allclose(np.exp(model.end_) + np.exp(model.transitions_).sum(axis=1), 1.0)
    if fit_intercept:
        assert w["intercept → D"] == w["intercept → N"] == 0.0


def test_joint_probabilities_sum_to_one():
    """Σ over all sentences of words and labels of a length, times the probability that they end there."""
    from itertools import product

    model = mm.SequenceTagger(fit_intercept=False).fit_hmm(X, Y)
    structure, total = model.structure_, 0.0
    for n in (1, 2, 3):
        for words in product(("the", "dog", "a"), repeat=n):
            for labels in product("DN", repeat=n):
                total += np.exp(model.coef_ @ structure.joint_feature([[v] for v in words], list(labels)))
    p, stays = np.exp(model.start_), np.exp(model.transitions_)
    left = (p @ stays @ stays @ stays).sum()
    assert total + left == pytest.approx(1.0)


def test_weights_of_sentences_are_counts():
    once = mm.SequenceTagger().fit_hmm(X, Y, [2, 1, 0])
    twice = mm.SequenceTagger().fit_hmm([X[0], X[0], X[1]], [Y[0], Y[0], Y[1]])
    np.testing.assert_allclose(once.coef_, twice.coef_)
    assert once.predict([X[0]]) == [["D", "N"]]
    logs = once.log_likelihood([X[0]] * 4, [list(y) for y in ("DD", "DN", "ND", "NN")])
    assert np.exp(logs).sum() == pytest.approx(1.0)


def test_what_is_not_possible(tmp_path):
    with pytest.raises(ValueError, match="seen_pairs=True"):
        mm.SequenceTagger(seen_pairs=True).fit_hmm(X, Y)
    with pytest.raises(ValueError, match="counts features, but some are negative"):
        mm.SequenceTagger().fit_hmm([np.array([[-1.0], [2.0]])], [["a", "b"]])
    with pytest.raises(ValueError, match="smoothing"):
        mm.SequenceTagger().fit_hmm(X, Y, smoothing=0.0)
    model = mm.SequenceTagger().fit_hmm(X, Y)
    model.save(tmp_path / "hmm.mm")
    np.testing.assert_array_equal(mm.load(tmp_path / "hmm.mm").coef_, model.coef_)
