"""Structures of one's own in an estimator: forms of input, parameters, and what they need not have."""

import itertools
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from maxmargin.exceptions import StructureError
from maxmargin.solvers.working_sets.sets import WorkingSets


class Sign(mm.Structure):
    """The sign of a linear function, times a gain that makes it sure of itself."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def joint_feature(self, x, y):
        return self.gain * y * np.asarray(x, float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w @ np.asarray(x, float) > 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((-1, 1), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))


class Searched(Sign, BaseEstimator):
    """The same, with parameters that can be set."""


X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1, -1).tolist()


def test_rows_of_a_data_frame_in_fit_and_predict():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = mm.StructuralSVM(Sign()).fit(frame, Y)
    assert model.predict(frame) == model.predict(X) == mm.StructuralSVM(Sign()).fit(X, Y).predict(X)
    assert model.score(frame, Y) == model.score(X, Y)


class OfSparseRows(Sign):
    """The same for rows of a sparse matrix."""

    def joint_feature(self, x, y):
        return y * x.toarray().ravel()

    def argmax(self, w, x):
        return super().argmax(w, x.toarray().ravel())


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.coo_array, sp.dia_array, sp.bsr_matrix, sp.csc_array, sp.csr_array])
def test_rows_of_a_sparse_matrix_of_any_form(form):
    try:
        form(X).tocsr()[0]
    except NotImplementedError:
        pytest.skip("sparse arrays of scipy before 1.13 have no rows to take")
    weights = np.r_[0.0, np.ones(len(X) - 1)]
    dense = mm.StructuralSVM(Sign()).fit(X, Y, sample_weight=weights)
    own = mm.StructuralSVM(OfSparseRows()).fit(form(X), Y, sample_weight=weights)
    np.testing.assert_array_equal(own.coef_, dense.coef_)
    assert own.predict(form(X)) == dense.predict(X)
    labels = mm.StructuralSVM(mm.Multiclass())
    expected = labels.fit(X, Y, sample_weight=weights).predict(X)
    assert labels.fit(form(X), Y, sample_weight=weights).predict(form(X)) == expected


def test_parameters_of_a_structure_are_searched_over():
    search = GridSearchCV(mm.StructuralSVM(Searched()), {"structure__gain": [0.0, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"structure__gain": 1.0}
    assert search.best_estimator_.structure_.gain == 1.0


def test_parameters_set_after_a_fit_are_for_the_next():
    model = mm.StructuralSVM(Searched(gain=2.0)).fit(X, Y)
    model.set_params(structure__gain=7.0)
    assert (model.structure.gain, model.structure_.gain) == (7.0, 2.0)
    assert model.fit(X, Y).structure_.gain == 7.0


def test_a_structure_whose_parameters_cannot_be_set():
    with pytest.raises(ValueError, match=r"structure__gain: Sign has no set_params; derive it from .*BaseEstimator"):
        mm.StructuralSVM(Sign()).set_params(structure__gain=2.0)
    assert mm.StructuralSVM(Sign()).set_params(structure=Searched(), structure__gain=2.0).structure.gain == 2.0


def test_losses_that_fail_at_score_time_are_named():
    model = mm.StructuralSVM(Sign()).fit(X, Y)
    model.structure_.loss = lambda y, y_hat: 1.0 / (y - 1)
    with pytest.raises(StructureError, match=r"Y\[\d+\]: loss raised ZeroDivisionError"):
        model.score(X, Y)


def test_argmaxes_that_fail_at_prediction_are_named():
    model = mm.StructuralSVM(Sign()).fit(X, Y)
    with pytest.raises(StructureError, match=r"^X\[1\]: argmax raised ValueError: matmul") as failed:
        model.predict([X[0], X[0][:2], X[1]])
    assert isinstance(failed.value.__cause__, ValueError)


class Refilling(mm.Structure):
    """Whether each entry of x is 1 or −1, written into the same work array again and again."""

    size = 3

    def __init__(self):
        self.work = np.zeros(3)

    def joint_feature(self, x, y):
        return x * y

    def loss(self, y, y_hat):
        return float(np.sum(y != y_hat))

    def argmax(self, w, x):
        self.work[:] = np.where(w * x > 0, 1, -1)
        return self.work

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.work[:] = np.where(2 * w * x - scale * y > 0, 1, -1)
        return self.work

    def enumerate(self, x):
        for self.work[:] in itertools.product((-1, 1), repeat=3):
            yield self.work


def test_outputs_that_are_one_array_filled_anew():
    signs = np.where(X > 0, 1, -1)
    model = mm.StructuralSVM(Refilling(), C=10.0).fit(X, signs)
    found = model.predict(X)
    np.testing.assert_array_equal(found, np.where(X * model.coef_ > 0, 1, -1))
    assert model.score(X, signs) == -np.mean(np.sum(np.array(found) != signs, axis=1))
    for plane, row in zip(model.support_, model.support_.planes.toarray(), strict=True):
        np.testing.assert_allclose(row, X[plane.example] * (signs[plane.example] - plane.output))
    decision = model.explain(X[0])
    assert decision.prediction.tolist() == found[0].tolist() != decision.runner_up.tolist()


def test_a_size_that_is_no_number():
    structure = Refilling()
    structure.size = "5"
    with pytest.raises(ValueError, match="the attribute `size` must be an integer ≥ 1, found '5'"):
        mm.StructuralSVM(structure).fit(X, np.where(X > 0, 1, -1))


class OnlyFourMethods:
    """No base class, no attributes."""

    joint_feature, loss = Searched.joint_feature, Searched.loss
    argmax, loss_augmented_argmax = Searched.argmax, Searched.loss_augmented_argmax
    gain = 1.0


def test_a_structure_without_base_class():
    model = mm.StructuralSVM(OnlyFourMethods()).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, mm.StructuralSVM(Sign()).fit(X, Y).coef_)


class Dearer(Sign):
    def loss(self, y, y_hat):
        return 2.0 * float(y != y_hat)


def test_a_checkpoint_knows_the_loss(tmp_path):
    """Joint features of the truths are the same, so it is the argmaxes that give the change away."""
    path = tmp_path / "fit.npz"
    with pytest.warns(UserWarning):
        mm.StructuralSVM(Sign(), checkpoint=path, max_iter=3, tol=1e-12).fit(X, Y)
    mm.StructuralSVM(Sign(), max_iter=40, tol=1e-2).fit(X, Y, resume=path)
    with pytest.raises(ValueError, match="belongs to another run: its data"):
        mm.StructuralSVM(Dearer(), max_iter=40, tol=1e-2).fit(X, Y, resume=path)


class NeverWrong(Sign):
    """Its loss-augmented argmax says that the truth is best, which it is not."""

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return y if np.abs(w).sum() > 0.5 else super().loss_augmented_argmax(w, x, y, scale)


def test_a_lower_bound_above_the_objective_is_told():
    noisy = [-y if i % 4 == 0 else y for i, y in enumerate(Y)]
    observed = []
    with pytest.warns(UserWarning, match="is above the objective"):
        model = mm.StructuralSVM(NeverWrong(), C=10.0, callbacks=observed.append).fit(X, noisy)
    for certificate in (model.certificate_, observed[-1].certificate):
        assert not certificate.exact
        assert certificate.primal_bound == np.inf
        assert "(contradicted: the lower bound is above the objective)" in str(certificate)


class Observed(Sign):
    """Notes which threads ask for argmaxes, each of which takes a while."""

    def __init__(self):
        super().__init__()
        self.asked, self.predicted = set(), set()

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.asked.add(threading.get_ident())
        time.sleep(0.002)
        return super().loss_augmented_argmax(w, x, y, scale)

    def argmax(self, w, x):
        self.predicted.add(threading.get_ident())
        time.sleep(0.002)
        return super().argmax(w, x)


def test_threads_share_few_examples():
    """Each argmax in Python is a separate task, so that eight examples use two threads, the one that waits too."""
    observed, here = Observed(), threading.get_ident()
    together = mm.StructuralSVM(observed, n_jobs=2, max_iter=3, tol=0.5).fit(X[:8], Y[:8])
    assert here in observed.asked and len(observed.asked) == 2
    alone = mm.StructuralSVM(Sign(), n_jobs=1, max_iter=3, tol=0.5).fit(X[:8], Y[:8])
    np.testing.assert_array_equal(together.coef_, alone.coef_)
    assert together.predict(X[:8]) == alone.predict(X[:8])
    assert here in observed.predicted and len(observed.predicted) == 2
    with pytest.raises(StructureError, match=r"^X\[3\]: argmax raised"):
        together.predict([*X[:3], X[3][:2], X[4], X[5][:2]])


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_without_threads_argmaxes_stay_where_they_are(n_jobs):
    observed = Observed()
    mm.StructuralSVM(observed, n_jobs=n_jobs, tol=0.5).fit(X[:8], Y[:8]).predict(X[:8])
    assert observed.asked == observed.predicted == {threading.get_ident()}


class Weighing(mm.Structure):
    """Labels 0 to 2; features of the truth are integers, those of other labels may be any."""

    size = 9

    def __init__(self, factor):
        self.factor = factor

    def joint_feature(self, x, y):
        return 3 * y + np.arange(3), np.asarray(x[0]) * (1.0 if y == x[1] else self.factor)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        def value(k):
            indices, values = self.joint_feature(x, k)
            return w[indices] @ values + scale * self.loss(y, k)

        return max(range(3), key=value)


@pytest.mark.parametrize(("factor", "kind"), [(2.0, np.float32), (0.1, np.float64)])
@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_planes_are_held_exactly_and_small_where_they_can_be(factor, kind, solver, monkeypatch):
    kinds, insert = [], WorkingSets.insert

    def watched(self, *arguments):
        if self.entry.dtype == np.float32:  # what is not written yet may be anything, a signalling NaN too
            self.entry.view(np.uint32)[self.end :] = 0x7FA00000
        operations = insert(self, *arguments)
        kinds.append(self.entry.dtype.type)
        return operations

    monkeypatch.setattr(WorkingSets, "insert", watched)
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=20).tolist()
    inputs = [(rng.integers(-3, 4, size=3), label) for label in labels]
    structure = Weighing(factor)
    support = mm.StructuralSVM(structure, C=0.01, solver=solver).fit(inputs, labels).support_
    assert kinds[-1] is kind
    expected = np.zeros((len(support), structure.size))
    for row, plane in zip(expected, support, strict=True):
        for label, sign in ((labels[plane.example], 1.0), (plane.output, -1.0)):
            indices, values = structure.joint_feature(inputs[plane.example], label)
            row[indices] += sign * values
    assert len(support) > 10
    np.testing.assert_array_equal(support.planes.toarray(), expected)
