"""DiverseSelector: learns which words are worth covering, in every form of input; bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from maxmargin.exceptions import InexactArgmaxWarning

# The bounds of greedy argmaxes are loose on small data.
pytestmark = pytest.mark.filterwarnings("ignore:the objective found is:maxmargin.exceptions.InexactArgmaxWarning")


def results(n=20, seed=0):
    """Texts of five subtopics of different size: words of the subtopic, words of all, and rare words, which are noise.

    Long texts have many rare words, so that covering most words is a bad strategy.
    """
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        topics = rng.choice(5, 14, p=[0.4, 0.25, 0.15, 0.1, 0.1])
        texts = []
        for topic in topics:
            own = [f"topic{topic}word{v}" for v in rng.choice(4, 2, replace=False)]
            rare = [f"rare{rng.integers(10**6)}" for _ in range(int(rng.integers(0, 4 if topic else 9)))]
            texts.append(" ".join([*own, *rng.choice(["the", "of", "page"], 2), *rare]))
        X.append(texts)
        Y.append([{int(topic)} for topic in topics])
    return X, Y


X, Y = results()


@pytest.fixture(scope="module")
def model():
    return mm.DiverseSelector(k=3).fit(X, Y)


def test_better_than_covering_most_words(model):
    test = results(seed=1)
    plain = mm.DiverseSelector(k=3, thresholds=[0.0]).fit(X, Y)
    plain.coef_[:] = 1.0
    assert model.score(*test) > plain.score(*test) + 0.1
    chosen = model.predict(test[0])
    assert model.score(*test) == pytest.approx(mm.metrics.subtopic_coverage(test[1], chosen).mean())
    assert all(len(set(selection)) == 3 for selection in chosen)
    assert model.coef_[0] < model.coef_.max()  # rare words are worth least
    assert model.certificate_.primal_bound >= model.certificate_.primal
    assert not model.certificate_.exact


def test_the_choice_is_in_order(model):
    """Fewer candidates are the beginning of more."""
    fewer = mm.DiverseSelector(k=1).fit(X, Y)
    fewer.coef_ = model.coef_
    assert [selection[:1] for selection in model.predict(X)] == fewer.predict(X)


def test_texts_and_matrices_are_the_same():
    """The same weights choose the same; a fit by greedy argmaxes may end elsewhere if elements are in another order."""
    model = mm.DiverseSelector(k=3, bound="margin", C=1.0).fit(X, Y)
    some = np.random.default_rng(0).random(len(model.coef_))  # so there are no ties
    model.coef_ = some
    counts = [CountVectorizer().fit_transform(texts) for texts in X]
    words = [[text.split() for text in texts] for texts in X]
    for form in (counts, [sp.csc_array(x) for x in counts], [x.toarray() for x in counts], words):
        again = clone(model).fit(form, Y)
        assert again.score(form, Y) > 0.7
        again.coef_ = some
        assert again.predict(form) == model.predict(X)


def test_series_of_texts(model):
    pd = pytest.importorskip("pandas")
    assert model.predict([pd.Series(x, index=range(5, 5 + len(x))) for x in X[:3]]) == model.predict(X[:3])


def test_words_that_were_never_seen(model):
    renamed = [[text.replace("topic", "sujet").replace("the", "le") for text in texts] for texts in X]
    assert model.predict(renamed) == model.predict(X)


def test_few_candidates(model):
    assert [sorted(chosen) for chosen in model.predict([["one text"], ["a b", "the page"], [""]])] == [[0], [0, 1], [0]]
    assert model.predict([]) == []


def test_documents_without_words_or_subtopics():
    texts = [["", "river water", "money", "river"]] * 3
    topics = [[set(), {"r"}, {"m"}, {"r"}]] * 3
    found = mm.DiverseSelector(k=2).fit(texts, topics)
    assert found.score(texts, topics) == 1.0


def test_subtopics_weigh_by_popularity_or_all_the_same():
    y, chosen = [[{"a"}, {"a"}, {"a"}, {"b"}]], [[0]]
    assert mm.metrics.subtopic_coverage(y, chosen).tolist() == [0.75]
    assert mm.metrics.subtopic_coverage(y, chosen, weights="uniform").tolist() == [0.5]
    uniform = mm.DiverseSelector(k=3, loss="uniform").fit(X, Y)
    covered = mm.metrics.subtopic_coverage(Y, uniform.predict(X), weights="uniform")
    assert uniform.score(X, Y) == pytest.approx(covered.mean())


def test_save_load_clone_and_pickle(model, tmp_path):
    model.save(tmp_path / "model.mm", support=True)
    for again in (mm.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))):
        assert again.predict(X) == model.predict(X)
        assert repr(again.get_params()) == repr(model.get_params())
        assert again.feature_names_out.tolist() == model.feature_names_out.tolist()
    np.testing.assert_array_equal(clone(model).fit(X, Y).coef_, model.coef_)


def test_grid_search_and_nonnegative_weights():
    search = GridSearchCV(mm.DiverseSelector(k=3), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.5
    convex = mm.DiverseSelector(k=3, bound="margin", C=1.0, prior=None)
    free, bounded = clone(convex).set_params(nonnegative=False).fit(X, Y), convex.fit(X, Y)
    assert free.coef_.min() < -0.01 and bounded.coef_.min() == 0.0


def test_ramp_levels_and_weights_of_examples():
    for parameters in ({"bound": "ramp"}, {"levels": [1, 2]}, {"bound": "margin", "slack": "quadratic"}):
        found = mm.DiverseSelector(k=3, tol=1e-2, **parameters).fit(X, Y)
        assert found.score(X, Y) > 0.6
    convex = mm.DiverseSelector(k=3, bound="margin", C=1.0)
    twice = clone(convex).fit([*X, *X[:5]], [*Y, *Y[:5]])
    weighted = clone(convex).fit(X, Y, sample_weight=[2.0] * 5 + [1.0] * 15)
    assert twice.certificate_.dual <= weighted.certificate_.primal_bound
    assert weighted.certificate_.dual <= twice.certificate_.primal_bound
    assert twice.certificate_.primal == pytest.approx(weighted.certificate_.primal, rel=0.1)


def is_title(element):
    """Whether an element is a word of a title."""
    return element[0] == "title"


def test_few_inputs_or_no_lesson_leave_the_prior():
    """Subtopics that words do not tell of: the model covers most words, as with no training at all."""
    rng = np.random.default_rng(4)
    topics = [[{int(t)} for t in rng.integers(0, 6, 14)] for _ in X]
    with pytest.warns(UserWarning, match="worse on held-out inputs .* so the model is the prior: more inputs, levels"):
        model = mm.DiverseSelector(k=3).fit(X, topics)
    prior = np.eye(len(model.coef_))[0]
    np.testing.assert_allclose(model.coef_, prior, atol=1e-4)
    plain = mm.DiverseSelector(k=3, C=1e-9).fit(X, topics)
    np.testing.assert_allclose(plain.coef_, prior, atol=1e-6)
    assert model.held_out_losses_["prior"] < model.held_out_losses_["learnt"]


def test_a_model_compared_on_held_out_inputs_needs_no_warning_of_loose_bounds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.DiverseSelector(k=3).fit(X, Y)
    with pytest.warns(InexactArgmaxWarning, match="compare the score on other data"):
        mm.DiverseSelector(k=3, C=10.0).fit(X, Y)


def test_trade_off_in_units_of_the_prior(model):
    losses = model.held_out_losses_
    assert list(losses) == ["prior", "learnt"] and losses["learnt"] < losses["prior"] - 0.1
    assert model.C_ == 1.0
    scaled = mm.DiverseSelector(k=3, prior_scale=0.5).fit(X, Y)
    assert scaled.C_ == 0.25
    few = mm.DiverseSelector(k=3, bound="margin").fit(X[:5], Y[:5])
    assert (few.C_, few.held_out_losses_) == (1.0, {})
    given = mm.DiverseSelector(k=3, prior=model.coef_, C=1e-9).fit(X, Y)
    np.testing.assert_allclose(given.coef_, model.coef_, atol=1e-6)


def test_features_of_elements(tmp_path):
    """Titles name the subtopic, bodies are noise that occurs as often: only a feature of elements tells them apart."""
    rng = np.random.default_rng(0)
    topics = [rng.integers(0, 4, 10).tolist() for _ in range(30)]
    X = [[[("title", t), *(("body", v) for v in rng.permutation(12)[:4].tolist())] for t in own] for own in topics]
    Y = [[{t} for t in own] for own in topics]
    plain = mm.DiverseSelector(k=3, C=1.0).fit(X[:20], Y[:20])
    richer = mm.DiverseSelector(k=3, features=is_title).fit(X[:20], Y[:20])
    assert richer.feature_names_out[-1] == "feature 0" and richer.coef_[-1] > 0.1
    assert richer.score(X[20:], Y[20:]) > plain.score(X[20:], Y[20:]) + 0.03
    again = pickle.loads(pickle.dumps(richer))
    assert again.predict(X) == richer.predict(X)
    richer.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm", functions={"features": is_title}).predict(X) == richer.predict(X)


def test_results_do_not_depend_on_threads(model):
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X, Y).coef_, model.coef_)


@pytest.mark.parametrize(
    ("X", "Y", "parameters", "message"),
    [
        (X, Y, {"k": 20}, "k=20: no input has more than 20 candidates .the largest has 14.*use a smaller k"),
        (X, Y, {"k": 0}, "k must be an integer ≥ 1, found 0"),
        (X, Y, {"prior": "words"}, "prior must be 'unweighted', a vector of weights or None, found 'words'"),
        (X, Y, {"prior": [1.0]}, "prior has 1 weights, but these data have 7"),
        (X, Y, {"C": "free"}, 'C must be a number > 0 or "auto", found .free'),
        (X, Y, {"loss": "squared"}, "loss must be 'popularity' or 'uniform', found 'squared'"),
        (X, Y, {"thresholds": [0.5, 0.2]}, "thresholds must be ascending numbers"),
        (X, Y[:-1], {}, "X has 20 examples but Y has 19"),
        (X, [Y[0][:-1], *Y[1:]], {}, r"X\[0\]: 14 candidates but 13 sets of subtopics"),
        (X, [*Y[:-1], [set()] * 14], {}, r"Y\[19\]: no candidate has a subtopic"),
        (X, [*Y[:-1], ["river"] * 14], {}, r"Y\[19\], candidate 0: expected a set of subtopics"),
        ([*X[:-1], "a text"], Y, {}, r"X\[19\]: expected a list of texts"),
        ([], [], {}, "X is empty"),
        ([np.eye(14) * 0.3] * 20, Y, {}, r"X\[0\], candidate 0: contains an element 0.3 times, .* pass counts"),
        (X, Y, {"features": "idf"}, "features must be None, a function of an element .* found str 'idf'"),
        (X, Y, {"features": np.eye(2)}, r"X\[0\]: an array of features belongs to the columns of a matrix"),
        ([np.eye(14)] * 20, Y, {"features": np.eye(9)}, r"X\[0\]: features of 9 elements, but .* element 13"),
        (X, Y, {"features": lambda word: "x"}, r"X\[0\]: features of '\w+': expected finite numbers, found 'x'"),
        (X, Y, {"features": lambda word: [1.0] * len(word)}, r"X\[0\]: features of '\w+': expected \d+ numbers, found"),
        (X, Y, {"features": lambda word: word / 2}, r"X\[0\]: features of '\w+' raised TypeError"),
    ],
)
def test_bad_input(X, Y, parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.DiverseSelector(**parameters).fit(X, Y)


def test_one_input_is_not_a_list_of_inputs(model):
    words, rows = ([[text.split() for text in texts] for texts in X], [np.eye(14)] * 20)
    one = r"X: expected a list of inputs, found one input; pass \[input\]"
    for form, x, message in (
        (X, X[0], one),
        (X, [X[:1]], r"X\[0\]: expected candidates that are texts, as in the training data, found lists of elements"),
        (words, words[0], r"X\[0\]: expected candidates that are lists of elements, as in .* found texts"),
        (rows, rows[0], one),
        (rows, sp.csr_array(rows[0]), one),
    ):
        found = mm.DiverseSelector(k=3, tol=0.1).fit(form, Y)
        with pytest.raises(ValueError, match=message):
            found.predict(x)
        with pytest.raises(ValueError, match=message if x is X[0] or form is rows else "X"):
            found.score(x, Y[0])
    with pytest.raises(ValueError, match=one):
        mm.DiverseSelector().fit(X[0], Y[0])


def test_score_needs_subtopics(model):
    with pytest.raises(ValueError, match="no input has a subtopic"):
        model.score([["a", "b"]], [[set(), set()]])
    assert 0 <= model.score([["a", "b"], ["c", "d"]], [[set(), set()], [{1}, set()]]) <= 1
    with pytest.raises(ValueError, match=r"Y\[0\]: 1 candidates, but candidate 3 was chosen"):
        mm.metrics.subtopic_coverage([[{1}]], [[3]])
    with pytest.raises(ValueError, match="Y has 1 inputs but there are 2 selections"):
        mm.metrics.subtopic_coverage([[{1}]], [[0], [0]])


def test_chosen_candidates_are_whole_numbers():
    for chosen, message in (([0.5], "integers, found 0.5"), (["a"], "found 'a'"), ([9], "candidate 9 was chosen")):
        with pytest.raises(ValueError, match=rf"Y\[0\]: .*{message}"):
            mm.metrics.subtopic_coverage([[{"a"}, {"b"}]], [chosen])
