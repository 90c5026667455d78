"""TopK against plain enumeration of all choices of documents."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.codes import TRUTH, Answers
from maxmargin.structures.top_k.structure import TopDocuments, TopK

CASES = settings(derandomize=True, deadline=None, max_examples=250)
BOUNDS = [Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic")]


class Instance:
    """Random queries, relevance and weights, with joint features and losses computed here by hand."""

    def __init__(self, seed, k, width, form, whole):
        rng = np.random.default_rng(seed)
        self.k, self.n = k, int(rng.integers(1, 6))
        sizes = rng.integers(1, 8, self.n)
        draw = (lambda size: rng.integers(-2, 3, size).astype(float)) if whole else (lambda size: rng.normal(size=size))
        self.dense = [draw((size, width)) * (rng.random((size, width)) < 0.7) for size in sizes]
        self.Y = [rng.integers(-1, 3, size) for size in sizes]
        for y in self.Y:
            y[rng.integers(len(y))] = 1
        self.X = {"dense": self.dense, "csr": [sp.csr_array(x) for x in self.dense]}[form]
        self.structure = TopK(k=k)
        self.examples = self.structure.fit_encode(self.X, self.Y)
        self.truths = [self.first_relevant(y) for y in self.Y]
        self.w, self.rng = draw(width), rng

    def first_relevant(self, y):
        order = [j for j, v in enumerate(y) if v > 0] + [j for j, v in enumerate(y) if v <= 0]
        return tuple(sorted(order[: self.k]))

    def choices(self, i):
        n = len(self.Y[i])
        return list(combinations(range(n), min(self.k, n)))

    def psi(self, i, documents):
        return np.mean([self.dense[i][j] for j in documents], axis=0)

    def loss(self, i, documents):
        k, y = len(documents), self.Y[i]
        return min(1.0, sum(y > 0) / k) - sum(y[j] > 0 for j in documents) / k

    def rise(self, i, documents):
        return float(self.w @ (self.psi(i, documents) - self.psi(i, self.truths[i])))

    def answers(self):
        return Answers.empty(self.n, int(self.examples.code_offsets[-1]))

    def found(self, answers, i):
        a, b = self.examples.code_offsets[i : i + 2]
        return self.examples.output(i, 0, answers.codes[a:b])

    def check(self, answers, ids, worth):
        """Each answer attains the greatest worth(rise, loss, r) of all choices, and is told truly."""
        for r, i in enumerate(ids):
            documents = self.found(answers, i)
            assert documents in self.choices(i)
            assert answers.rises[i] == pytest.approx(self.rise(i, documents), abs=1e-9)
            assert answers.losses[i] == pytest.approx(self.loss(i, documents), abs=1e-12)
            assert (answers.keys[i] == TRUTH) == (documents == self.truths[i])
            best = max(worth(self.rise(i, h), self.loss(i, h), r) for h in self.choices(i))
            assert worth(self.rise(i, documents), self.loss(i, documents), r) == pytest.approx(best, abs=1e-9)
        self.check_planes(answers, ids)

    def check_planes(self, answers, ids):
        rows = self.examples.planes(ids, answers)
        expected = np.array([self.psi(i, self.truths[i]) - self.psi(i, self.found(answers, i)) for i in ids])
        np.testing.assert_allclose(rows.matrix(self.examples.dim).toarray(), expected, atol=1e-12)
        assert (np.diff(rows.indptr) <= self.examples.plane_entries[ids]).all()
        same = [r for r, i in enumerate(ids) if self.found(answers, i) == self.truths[i]]
        assert not np.diff(rows.indptr)[same].any(), "documents in both cancel"


instances = st.builds(
    Instance,
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 5),
    width=st.integers(1, 4),
    form=st.sampled_from(["dense", "csr"]),
    whole=st.booleans(),
)


@CASES
@given(instances)
def test_decode_is_the_best_of_all_choices(case):
    answers = case.answers()
    for ids in (np.arange(case.n), case.rng.permutation(case.n), case.rng.permutation(case.n)[: case.n // 2 + 1]):
        scales = case.rng.choice([0.0, 0.5, 1.0, 3.0, 10.0], len(ids))
        case.examples.decode(case.w, ids, scales, answers)
        case.check(answers, ids, lambda rise, loss, r: rise + scales[r] * loss)  # noqa: B023
        for r, i in enumerate(ids):
            values = case.dense[i] @ case.w - scales[r] * (case.Y[i] > 0)
            if len(set(np.round(values, 9))) == len(values) or (case.w == np.round(case.w)).all():
                top = np.argsort(-values, kind="stable")[: case.k]
                assert case.found(answers, i) == tuple(sorted(top.tolist())), "of equals the first wins"


@CASES
@given(instances)
def test_every_bound_is_exact(case):
    answers, ids = case.answers(), case.rng.permutation(case.n)
    for bound in BOUNDS:
        assert case.examples.exact_for(bound)
        case.examples.decode_bound(case.w, ids, bound, answers)
        case.check(answers, ids, lambda rise, loss, _: float(bound.violation(rise, max(loss, 0.0))))  # noqa: B023


@CASES
@given(instances)
def test_complete_is_the_best_choice_without_loss(case):
    answers, ids = case.answers(), case.rng.permutation(case.n)
    assert case.examples.latent
    case.examples.complete(case.w, ids, answers)
    case.check(answers, ids, lambda rise, loss, _: rise if loss < 1e-12 else -np.inf)
    assert not answers.losses[ids].any()
    for i in ids:
        assert case.structure.complete(case.w, case.X[i], case.Y[i]) == case.found(answers, i)


@CASES
@given(instances)
def test_the_first_completion_is_the_truth(case):
    answers = case.answers()
    case.examples.initial_completion(np.random.default_rng(0), answers)
    assert case.examples.outputs(answers) == case.truths
    assert not answers.keys.any()
    assert not answers.losses.any()
    case.check_planes(answers, np.arange(case.n))


@CASES
@given(instances)
def test_single_examples_agree_with_the_batch(case):
    s, w = case.structure, case.w
    answers = case.answers()
    case.examples.decode(w, np.arange(case.n), np.full(case.n, 0.7), answers)
    for i, (x, y) in enumerate(zip(case.X, case.Y, strict=True)):
        choices = list(s.enumerate(x))
        assert choices == case.choices(i)
        np.testing.assert_allclose(s.joint_feature(x, y), case.psi(i, case.truths[i]), atol=1e-12)
        assert s.loss(y, y) == 0.0
        for h in choices:
            np.testing.assert_allclose(s.joint_feature(x, h), case.psi(i, h), atol=1e-12)
            assert s.loss(y, h) == pytest.approx(case.loss(i, h), abs=1e-12)
        scores = {h: float(w @ case.psi(i, h)) for h in choices}
        assert scores[s.argmax(w, x)] == pytest.approx(max(scores.values()), abs=1e-9)
        assert s.loss_augmented_argmax(w, x, y, 0.7) == case.found(answers, i)
    assert s.unpack_outputs(s.pack_outputs(case.truths)) == case.truths


def test_prediction_without_relevance_takes_the_first_of_equals():
    structure = TopK(k=2).fit([np.eye(3)], [[1, 0, 0]])
    examples = structure.encode([np.eye(3), np.ones((1, 3))])
    answers = Answers.empty(2, 3)
    examples.decode(np.array([0.0, 0.0, 1.0]), np.arange(2), np.zeros(2), answers)
    assert examples.outputs(answers) == [(0, 2), (0,)]
    assert answers.keys.all(), "nothing is known to be the truth"


def test_many_documents_and_large_k():
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000), rng.normal(size=5)
    found = TopK(k=500).fit([x], [y]).loss_augmented_argmax(w, x, y, 2.0)
    assert found == tuple(sorted(np.argsort(-(x @ w - 2.0 * y), kind="stable")[:500].tolist()))


def test_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 3)) for _ in range(4)]
    Y = [(x[:, 0] > 0).astype(int) | (np.arange(6) == 0) for x in X]
    model = mm.LatentStructuralSVM(mm.TopK(k=2)).fit(X, Y)
    model.save(tmp_path / "model")
    again = mm.load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    assert list(again.structure_.feature_names()) == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("k", "X", "Y", "message"),
    [
        (1, [np.eye(2), np.eye(2)], [[1, 0], [0, -1]], "Y[1]: the query has no relevant document"),
        (1, [np.eye(2)], [[1, 0, 0]], "X[0]: 2 documents but 3 relevance labels"),
        (1, [np.eye(2)], [[1, 0], [1, 0]], "X has 1 queries but Y has 2"),
        (1, [np.eye(2), np.eye(3)], [[1, 0], [1, 0, 0]], "X[1]: 3 features per token, expected 2"),
        (1, [np.eye(2)], [["yes", "no"]], "Y[0]: relevance labels must be numbers"),
        (1, [np.eye(2)], [1], "Y[0]: expected one relevance label for each document, found int 1"),
        (1, [np.eye(2)], [[1, np.nan]], "Y[0]: relevance labels must be finite"),
        (1, [np.array([[1.0], [np.inf]])], [[1, 0]], "features must be finite"),
        (0, [np.eye(2)], [[1, 0]], "k must be a whole number ≥ 1, found 0"),
        (1.5, [np.eye(2)], [[1, 0]], "k must be a whole number ≥ 1, found 1.5"),
    ],
)
def test_bad_input(k, X, Y, message):
    with pytest.raises(ValueError) as error:
        TopK(k=k).fit(X, Y)
    assert message in str(error.value)


@pytest.mark.parametrize("documents", [(0,), (0, 0), (0, 5), (-1, 0), (0, 1, 2)])
def test_documents_that_are_no_output(documents):
    structure = TopK(k=2).fit([np.eye(3)], [[1, 0, 0]])
    with pytest.raises(ValueError, match="expected 2 different documents between 0 and 2"):
        structure.joint_feature(np.eye(3), TopDocuments(documents))
    with pytest.raises(ValueError, match="expected 2 different documents between 0 and 2"):
        structure.loss([1, 0, 0], TopDocuments(documents))


def test_losses_are_those_of_documents():
    structure = TopK(k=2).fit([np.eye(3)], [[1, 0, 0]])
    assert structure.loss([1, 0, 0], TopDocuments((1, 2))) == 0.5
    with pytest.raises(ValueError, match="expected TopDocuments"):
        structure.loss([1, 0, 0], [0, 1, 0])


def test_check_structure_finds_no_fault():
    rng = np.random.default_rng(0)
    report = mm.check_structure(TopK(k=2), [rng.normal(size=(5, 3)) for _ in range(3)], [[1, 0, 0, 1, 0]] * 3)
    assert report.ok, str(report)
