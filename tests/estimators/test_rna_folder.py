"""RNAFolder: learning, losses, bounds, files, inspection, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import maxmargin as mm

X, Y = mm.datasets.make_rna(50, random_state=0)
TEST = mm.datasets.make_rna(50, random_state=1)


@pytest.fixture(scope="module")
def folder():
    return mm.RNAFolder(tol=1e-2).fit(X, Y)


def test_learns_to_fold(folder):
    assert folder.certificate_.gap <= 1e-2 and folder.certificate_.exact
    scores = mm.metrics.base_pair_scores(TEST[1], folder.predict(TEST[0]))
    assert scores.sensitivity > 0.85
    assert folder.score(*TEST) == scores.f1 > 0.8
    assert folder.score(TEST[0], y=TEST[1]) == scores.f1
    assert folder.predict(np.array(TEST[0])) == folder.predict(TEST[0])
    assert folder.predict([TEST[0][0].lower().replace("u", "t")]) == folder.predict(TEST[0][:1])
    bio = pytest.importorskip("Bio.SeqRecord"), pytest.importorskip("Bio.Seq")
    assert folder.predict([bio[1].Seq(TEST[0][0])]) == folder.predict(TEST[0][:1])
    assert folder.predict([bio[0].SeqRecord(bio[1].Seq(TEST[0][0]))]) == folder.predict(TEST[0][:1])
    with pytest.raises(ValueError, match="X: expected a sequence of examples, found SeqRecord"):
        folder.predict(bio[0].SeqRecord(bio[1].Seq(TEST[0][0])))
    assert folder.predict(["AAAAAAAA", "NNNNNNNNNN", "GC"]) == ["........", "..........", ".."]


def test_costs_of_false_pairs_lower_their_number(folder):
    balanced = mm.RNAFolder(loss={"missed": 0.1, "false": 0.3}, tol=1e-2).fit(X, Y)
    pairs, fewer = (mm.metrics.base_pair_scores(TEST[1], m.predict(TEST[0])) for m in (folder, balanced))
    assert fewer.n_predicted < pairs.n_predicted and fewer.selectivity > pairs.selectivity


@pytest.mark.parametrize("bound", ["slack", "ramp", "ramp-slack"])
@pytest.mark.filterwarnings("ignore::maxmargin.InexactArgmaxWarning")  # slack re-scaling proves a bound, rarely more
def test_bounds(bound):
    model = mm.RNAFolder(bound=bound, tol=0.3).fit(X[:6], Y[:6])
    assert model.score(*TEST) > 0.5
    assert model.certificate_.dual <= model.certificate_.primal_bound < np.inf
    if bound == "ramp":
        objectives = [row["objective"] for row in model.history_]
        assert (np.diff(objectives) <= 1e-9).all()
        assert all(row["loss"] <= row["bound"] + 1e-9 <= row["convex"] + 2e-9 for row in model.history_)


def test_saved_pickled_and_inspected(folder, tmp_path):
    folder.save(tmp_path / "folder.mm", support=True)
    for again in (mm.load(tmp_path / "folder.mm"), pickle.loads(pickle.dumps(folder))):
        assert again.predict(TEST[0]) == folder.predict(TEST[0])
        assert again.topk(TEST[0][0], 5) == folder.topk(TEST[0][0], 5)
        assert again.support_.outputs == folder.support_.outputs
    frame = folder.weights_frame()
    assert list(frame.columns) == ["block", "feature", "weight"] and len(frame) == len(folder.coef_)
    decision = folder.explain(TEST[0][0])
    assert decision.margin >= 0 and decision.prediction == folder.predict(TEST[0][:1])[0]
    assert sum(amount for _, amount in decision.contributions) + decision.rest == pytest.approx(decision.margin)
    with pytest.raises(TypeError, match="Folding has no decision scores: use topk or explain"):
        folder.decision_scores(TEST[0][:1])


def test_a_prior_and_a_grid(folder):
    few = mm.RNAFolder(C=0.01, prior=folder.coef_, tol=1e-2).fit(X[:3], Y[:3])
    assert few.score(*TEST) > mm.RNAFolder(C=0.01).fit(X[:3], Y[:3]).score(*TEST)
    search = GridSearchCV(mm.RNAFolder(tol=0.1), {"C": [0.01, 1.0], "min_hairpin": [3]}, cv=2)
    assert search.fit(X[:20], Y[:20]).best_score_ > 0.5


def test_structures_without_pairs_and_one_example():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mm.RNAFolder().fit(["AAAAGGG"], ["......."])
    assert not model.coef_.any()
    assert model.predict(["GGGAAACCC"]) == ["........."]
    assert mm.RNAFolder(loss={"missed": 1, "false": 1}).fit(["GGGAAACCC"], ["(((...)))"]).score(
        ["GGGAAACCC"], ["(((...)))"]
    ) == 1.0  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "x", "y", "message"),
    [
        ({"loss": "precision"}, X, Y, "loss must be 'recall' or {'missed': a, 'false': b}, found 'precision'"),
        ({"loss": {"missed": "1", "false": 0}}, X, Y, r"loss\['missed'\] must be a number ≥ 0, found '1'"),
        ({"min_hairpin": 2.5}, X, Y, "min_hairpin must be a whole number ≥ 0, found 2.5"),
        ({"impossible": None}, X, Y, "impossible must be 'error' or 'drop', found None"),
        ({"prior": np.zeros(3)}, X[:2], Y[:2], "prior"),
        ({}, [], [], "X is empty: there are no examples"),
        ({}, X[:2], Y[:1], "X has 2 examples but Y has 1"),
        ({}, ["GGGAAACCC", "GGG AAACCC"], ["(((...)))", "(((....)))"], r"X\[1\], position 3: ' ' is not a base"),
        ({}, ["GGGAAACCC"], ["((....))"], r"Y\[0\]: 8 positions, expected 9"),
        ({}, X[0], Y[0], "expected a sequence of examples, found str"),
    ],
)
def test_bad_input(parameters, x, y, message):
    with pytest.raises(ValueError, match=message):
        mm.RNAFolder(**parameters).fit(x, y)


def test_errors_name_the_example_of_the_user(folder):
    with pytest.raises(ValueError, match=r"Y\[2\], position 0: unbalanced"):
        mm.RNAFolder().fit([*X[:2], "GGGAAACCC"], [*Y[:2], "(((...))."], [1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"X\[1\]: expected at least 2 bases, found 0"):
        folder.predict(["GGGAAACCC", ""])
    with pytest.raises(ValueError, match=r"true\[0\]: 3 positions, but the predicted structure has 9"):
        folder.score(["GGGAAACCC"], ["..."])
