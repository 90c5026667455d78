"""Structures with a joint kernel: the same optimum as with the joint features whose inner products it returns."""

import itertools
import pickle
import re

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.custom.joint_kernel import KernelCoordinates, hash_key
from maxmargin.solvers import NSlack

OUTPUTS = tuple(itertools.product((0, 1), repeat=2))


class TwoBits(mm.Structure):
    """Two bits that like to agree, by joint features."""

    def joint_feature(self, x, y):
        return np.concatenate([y[0] * x, y[1] * x, [float(y[0] == y[1])]])

    def loss(self, y, y_hat):
        return 1.0 * (y[0] != y_hat[0]) + 0.5 * (y[1] != y_hat[1])

    def argmax(self, w, x):
        return max(OUTPUTS, key=lambda y: w @ self.joint_feature(x, y))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(OUTPUTS, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    def bound_argmax(self, w, x, y, bound):
        score = w @ self.joint_feature(x, y)
        return max(OUTPUTS, key=lambda k: bound.violation(w @ self.joint_feature(x, k) - score, self.loss(y, k)))


class KernelBits(mm.Structure):
    """The same with inner products alone."""

    def __init__(self, curved=False):
        self.curved = curved

    def joint_kernel(self, x, y, x2, y2):
        inner = np.exp(-np.sum((x - x2) ** 2)) if self.curved else x @ x2
        return (y[0] * y2[0] + y[1] * y2[1]) * inner + float((y[0] == y[1]) and (y2[0] == y2[1]))

    def loss(self, y, y_hat):
        return TwoBits.loss(self, y, y_hat)

    def argmax(self, w, x):
        return max(OUTPUTS, key=lambda y: w.score(x, y))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(OUTPUTS, key=lambda k: w.score(x, k) + scale * self.loss(y, k))

    def bound_argmax(self, w, x, y, bound):
        score = w.score(x, y)
        return max(OUTPUTS, key=lambda k: bound.violation(w.score(x, k) - score, self.loss(y, k)))

    def enumerate(self, x):
        return list(OUTPUTS)


def data(seed, n=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    scores = X @ rng.normal(size=(2, 2)) + 0.7 * rng.normal(size=(n, 2))
    return X, [tuple(int(v) for v in row > 0) for row in scores]


def curved_data(seed, n=40):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, [(int(a * b > 0), int(a * a + b * b > 1)) for a, b in X]


@pytest.mark.parametrize("bound", ["margin", "slack"])
@pytest.mark.parametrize("solver", ["auto", NSlack(epsilon=1e-9), "bundle"], ids=["auto", "nslack", "bundle"])
def test_the_optimum_is_that_of_the_features(solver, bound):
    X, Y = data(0)
    parameters = {"C": 2.0, "tol": 1e-6, "solver": solver, "bound": bound}
    plain = mm.StructuralSVM(TwoBits(), **parameters).fit(X, Y)
    model = mm.StructuralSVM(KernelBits(), **parameters).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    new, _ = data(1, 30)
    assert model.predict(new) == plain.predict(new)
    assert model.score(X, Y) == plain.score(X, Y)
    assert len(model.coef_) == len(model.terms_) <= 5  # the dimension of the features


def test_a_kernel_without_features(tmp_path):
    X, Y = curved_data(0)
    plain = mm.StructuralSVM(KernelBits(), C=10.0).fit(X, Y)
    model = mm.StructuralSVM(KernelBits(curved=True), C=10.0).fit(X, Y)
    assert model.certificate_.exact and model.certificate_.gap <= 1e-3 and not model.certificate_.contradicted
    new, truth = curved_data(1, 40)
    assert model.score(new, truth) > plain.score(new, truth) + 0.2
    model.save(tmp_path / "model.mm", support=True)
    for other in (mm.load(tmp_path / "model.mm", classes=KernelBits), pickle.loads(pickle.dumps(model))):
        assert other.predict(new) == model.predict(new)
        assert (other.coef_ == model.coef_).all()
    assert type(model.structure_) is KernelBits


def test_multiclass_by_a_joint_kernel_is_the_kernel_on_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 2))
    Y = [int(v) for v in X[:, 0] * X[:, 1] > 0]

    class Classes(mm.Structure):
        def joint_kernel(self, x, y, x2, y2):
            return float(y == y2) * np.exp(-0.5 * np.sum((x - x2) ** 2))

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return max((0, 1), key=lambda y: w.score(x, y))

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max((0, 1), key=lambda k: w.score(x, k) + scale * self.loss(y, k))

    model = mm.StructuralSVM(Classes(), C=3.0, tol=1e-6).fit(X, Y)
    rows = mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.5), C=3.0, tol=1e-6, fit_intercept=False).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-5)
    assert model.predict(X) == rows.predict(X).tolist()


def test_scores_are_sums_over_terms():
    X, Y = data(2)
    seen = []

    class Watched(KernelBits):
        def argmax(self, w, x):
            total = sum(
                c * self.joint_kernel(a, b, x, (1, 1)) for c, (a, b) in zip(w.coefficients, w.terms, strict=False)
            )
            seen.append((w.score(x, (1, 1)), total))
            return super().argmax(w, x)

    model = mm.StructuralSVM(Watched()).fit(X, Y)
    model.predict(X)
    assert len(seen) >= 15
    assert np.allclose(*np.transpose(seen))


def test_paths_and_explanations():
    X, Y = data(0)
    models = mm.regularization_path(mm.StructuralSVM(KernelBits(), tol=1e-5), X, Y, Cs=[0.1, 1.0])
    for model in models:
        alone = mm.StructuralSVM(TwoBits(), C=model.C, tol=1e-5).fit(X, Y)
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-4)
    decision = models[-1].explain(X[0])
    assert decision.margin == pytest.approx(sum(a for _, a in decision.contributions) + decision.rest)
    assert len(models[-1].feature_names_out) == len(models[-1].coef_)
    assert len(models[-1].weights_frame()) == len(models[-1].coef_)


def test_results_do_not_depend_on_threads():
    X, Y = curved_data(0, 20)
    one, two = (mm.StructuralSVM(KernelBits(True), n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert (one.coef_ == two.coef_).all()


def test_outputs_of_any_type_are_scored():
    """Lists and arrays are kept by their contents, other objects are asked for again."""
    assert hash_key([1, [2, 3]]) == hash_key([1, [2, 3]]) != hash_key((1, [2, 3]))
    assert hash_key(np.arange(3)) == hash_key(np.arange(3)) != hash_key(np.arange(3.0))
    assert hash_key({"a": [1]}) == hash_key({"a": [1]}) != hash_key({"a": [2]})
    with pytest.raises(TypeError):
        hash_key(object())
    X, Y = data(0, 8)

    class Dicts(KernelBits):
        def joint_kernel(self, x, y, x2, y2):
            return super().joint_kernel(x, y["bits"], x2, y2["bits"])

        def loss(self, y, y_hat):
            return super().loss(y["bits"], y_hat["bits"])

        def argmax(self, w, x):
            return max(({"bits": y} for y in OUTPUTS), key=lambda y: w.score(x, y))

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max(({"bits": k} for k in OUTPUTS), key=lambda k: w.score(x, k) + scale * self.loss(y, k))

    model = mm.StructuralSVM(Dicts(), tol=1e-6).fit(X, [{"bits": y} for y in Y])
    assert model.certificate_.primal == pytest.approx(
        mm.StructuralSVM(KernelBits(), tol=1e-6).fit(X, Y).certificate_.primal, rel=1e-5
    )


# ---------------------------------------------------------------------- checks


def test_check_structure():
    X, Y = data(0, 4)
    report = mm.check_structure(KernelBits(True), X, Y, n_trials=6)
    assert report.ok, report

    class Forgets(KernelBits):
        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return self.argmax(w, x)

    assert "loss_augmented_argmax" in mm.check_structure(Forgets(), X, Y, n_trials=4).problems[0]

    class Minimises(KernelBits):
        def argmax(self, w, x):
            return min(OUTPUTS, key=lambda y: w.score(x, y))

    assert "argmax" in mm.check_structure(Minimises(), X, Y, n_trials=4).problems[0]

    class Short(KernelBits):
        def argmax(self, w):
            return OUTPUTS[0]

    assert "expected argmax(w, x)" in mm.check_structure(Short(), X, Y, n_trials=2).problems[0]


class Skewed(KernelBits):
    def joint_kernel(self, x, y, x2, y2):
        return float(x[0] - x2[1])


class Negative(KernelBits):
    def joint_kernel(self, x, y, x2, y2):
        return -float(x @ x2)


class Late(KernelBits):
    """Positive semi-definite for true pairs alone."""

    def joint_kernel(self, x, y, x2, y2):
        inner = float(x @ x2)
        return inner if y[0] == (x[0] > 0) and y2[0] == (x2[0] > 0) else 10.0 * inner + 7.0


INVALID = [
    (Skewed(), r"not symmetric: it is .* for X\[\d+\] with X\[\d+\]"),
    (Negative(), "not positive semi-definite"),
    (Late(), r"X\[\d+\]: .*not positive semi-definite"),
    (type("Text", (KernelBits,), {"joint_kernel": lambda *_: "text"})(), "joint_kernel returned 'text'"),
    (type("Nan", (KernelBits,), {"joint_kernel": lambda *_: np.nan})(), "joint_kernel returned nan"),
    (type("Both", (TwoBits,), {"joint_kernel": KernelBits.joint_kernel})(), "both joint_feature and joint_kernel"),
    (type("Sized", (KernelBits,), {"size": 3})(), "remove size"),
]
ROWS = np.random.default_rng(0).normal(size=(12, 2))
SIGNS = [tuple(signs) for signs in (ROWS > 0).astype(int).tolist()]


@pytest.mark.parametrize(("structure", "message"), INVALID, ids=lambda value: type(value).__name__)
def test_a_fit_refuses_invalid_kernels(structure, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mm.StructuralSVM(structure).fit(ROWS, SIGNS)


@pytest.mark.parametrize(("structure", "message"), INVALID, ids=lambda value: type(value).__name__)
def test_the_check_finds_invalid_kernels(structure, message):
    report = mm.check_structure(structure, ROWS[:6], SIGNS[:6], n_trials=3)
    assert len(report.problems) == 1
    assert re.search(message, report.problems[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": [1.0]}, "prior refers to"),
        ({"warm_start": True}, "warm_start refers to"),
        ({"nonnegative": True}, "nonnegative refers to"),
        ({"checkpoint": "fit.npz"}, "joint_kernel has no checkpoints"),
    ],
)
def test_parameters_without_meaning(parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        mm.StructuralSVM(KernelBits(), **parameters).fit(*data(0))


def test_the_memory_limit(monkeypatch):
    monkeypatch.setattr("maxmargin.features.mercer.gram.GRAM_BYTES", 8.0 * 20**2)
    with pytest.raises(
        MemoryError, match="the Gram matrix of 30 examples exceeds the memory limit, which is that of 20"
    ):
        mm.StructuralSVM(KernelBits(True)).fit(*curved_data(0, 30))
    with pytest.raises(MemoryError, match="more than 20 independent pairs"):
        mm.StructuralSVM(KernelBits(True)).fit(*curved_data(0, 18))


def test_coordinates_are_orthonormal():
    X, _ = data(0, 6)
    inputs = list(X)
    structure = KernelBits(True)
    coordinates = KernelCoordinates(structure, inputs, 100)
    pairs = [(x, y) for x in inputs for y in OUTPUTS]
    found = np.zeros((len(pairs), 100))
    for row, (x, y) in zip(found, pairs, strict=True):
        at, values = coordinates.joint_feature(x, y)
        row[at] = values
    gram = np.array([[structure.joint_kernel(*a, *b) for b in pairs] for a in pairs])
    assert np.allclose(found @ found.T, gram, atol=1e-8)
    again = pickle.loads(pickle.dumps(coordinates))
    known, projected = (c.joint_feature(X[0], (1, 0))[1] for c in (coordinates, again))
    assert np.allclose(np.pad(known, (0, len(projected) - len(known))), projected)


def test_a_structure_without_the_base_class():
    """Four methods suffice, with joint_kernel for joint_feature."""
    methods = ("joint_kernel", "loss", "argmax", "loss_augmented_argmax")
    plain = type("Plain", (), {"curved": False, **{name: vars(KernelBits)[name] for name in methods}})
    X, Y = data(0)
    assert mm.StructuralSVM(plain()).fit(X, Y).predict(X) == mm.StructuralSVM(KernelBits()).fit(X, Y).predict(X)
    del plain.argmax
    with pytest.raises(TypeError, match=r"Plain is not a valid structure: it has no argmax\(\)"):
        mm.StructuralSVM(plain()).fit(X, Y)
    with pytest.raises(TypeError, match="joint_kernel in place of joint_feature"):
        KernelBits().joint_feature(X[0], Y[0])
