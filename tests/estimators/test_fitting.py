"""What a fit offers along the way: limits, callbacks, checkpoints, warm starts, paths, interruption."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.exceptions import StructureError


@pytest.fixture
def data():
    return mm.datasets.make_chains(40, random_state=3)


def test_certificate_is_recomputed_by_enumeration():
    X, Y = mm.datasets.make_chains(12, n_labels=3, max_length=4, random_state=1)
    model = mm.SequenceTagger(C=0.7, tol=1e-4).fit(X, Y)
    structure, w = model.structure_, model.coef_
    hinges = []
    for x, y in zip(X, Y, strict=True):
        truth = w @ structure.joint_feature(x, y)
        hinges.append(
            max(w @ structure.joint_feature(x, k) + structure.loss(y, k) - truth for k in structure.enumerate(x))
        )
    assert model.certificate_.primal == pytest.approx(0.5 * w @ w + 0.7 * sum(hinges), rel=1e-12)
    support = model.support_
    u = support.planes.T @ support.alphas
    dual = support.alphas @ support.values - 0.5 * u @ u
    assert dual <= model.certificate_.dual * (1 + 1e-12)
    assert np.bincount(support.examples, support.alphas).max() <= 0.7 * (1 + 1e-9)
    assert model.certificate_.gap <= 1e-4


def test_support_names_examples_and_outputs(data):
    X, Y = data
    weights = np.ones(len(X))
    weights[:5] = 0.0
    model = mm.SequenceTagger().fit(X, Y, sample_weight=weights)
    assert len(model.support_) > 0
    assert min(model.support_.examples) >= 5
    for plane in model.support_:
        y = list(Y[plane.example])
        assert len(plane.output) == len(y)
        assert plane.value == sum(a != b for a, b in zip(plane.output, y, strict=True)) > 0
        assert plane.alpha > 0


def test_slices_of_the_support(data):
    support = mm.SequenceTagger().fit(*data).support_
    for part in (slice(None, 3), slice(-2, None), slice(1, 1), slice(None, None, -1)):
        some, planes = support[part], list(support)[part]
        assert isinstance(some, mm.outputs.Support)
        assert list(some) == planes
        np.testing.assert_array_equal(some.planes.toarray(), support.planes.toarray()[part])
    assert support[-1] == list(support)[-1]
    with pytest.raises(IndexError):
        support[len(support)]


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize(("C", "tol"), [(0.3, 1e-1), (3.0, 1e-2), (1000.0, 1e-6)])
def test_dual_values_of_the_support_are_those_of_a_certificate(slack, C, tol):
    """½‖coef_ − Σ α a‖² ≤ P(coef_) − D(α), and D(α) is not worse than that of any multiple of α within its budget."""
    for seed in range(5):
        X, y = mm.datasets.make_multiclass(8 + seed, n_features=3, random_state=seed)
        model = mm.MulticlassSVM(C=C, slack=slack, tol=tol, fit_intercept=False).fit(X, y)
        support, w = model.support_, model.coef_.T.ravel()
        u, masses = support.alphas @ support.planes, np.bincount(support.examples, support.alphas)
        gain, cost = support.alphas @ support.values, u @ u + (masses @ masses / C if slack == "quadratic" else 0.0)
        lack = model.certificate_.primal - (gain - 0.5 * cost)
        assert -1e-9 <= 0.5 * (w - u) @ (w - u) <= lack + 1e-9 * model.certificate_.primal
        assert gain / cost >= 1.0 - 1e-9
        if slack == "quadratic":
            assert gain / cost == pytest.approx(1.0)
        else:
            assert masses.max() <= C * (1 + 1e-9)


def test_features_that_are_all_zero():
    for C in (1.0, 10.0):
        model = mm.MulticlassSVM(C=C, fit_intercept=False).fit(np.zeros((4, 2)), [0, 1, 0, 1])
        assert model.certificate_.primal == model.certificate_.dual == 4.0 * C


def test_limits(data):
    assert mm.SequenceTagger(tol=1e-2).fit(*data).stop_reason_ == "tol"
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = mm.SequenceTagger(tol=1e-9, max_iter=5).fit(*data)
    assert (model.stop_reason_, model.n_iter_) == ("max_iter", 5)
    with pytest.warns(
        ConvergenceWarning,
        match=r"stopped after \S+ seconds before the objective was known; raise max_seconds$",
    ):
        model = mm.SequenceTagger(tol=1e-15, max_seconds=1e-6).fit(*data)
    assert model.stop_reason_ == "max_seconds"
    with pytest.warns(ConvergenceWarning, match=r"solver 'nslack' stopped by its own criterion.*lower the epsilon"):
        model = mm.SequenceTagger(tol=1e-9, solver=mm.solvers.NSlack(epsilon=0.5)).fit(*data)
    assert model.stop_reason_ == "converged"
    assert model.certificate_.gap > 1e-9


def test_a_ramp_that_ends_early_advises_only_what_there_is(data, monkeypatch):
    monkeypatch.setattr(mm.SequenceTagger, "_max_outer", 1)
    with pytest.warns(ConvergenceWarning) as caught:
        model = mm.SequenceTagger(bound="ramp", tol=1e-9, max_iter=2).fit(*data)
    assert model.stop_reason_ == "max_outer"
    assert re.fullmatch(
        r"stopped after 1 outer steps with a relative gap of \S+, above tol=1e-09; raise tol to accept it",
        str(caught[0].message),
    )


@pytest.mark.parametrize(
    "fit",
    [
        lambda data: mm.SequenceTagger(max_iter=1).fit(*data),
        lambda data: mm.MulticlassSVM(max_iter=1).fit(*mm.datasets.make_multiclass(30)),
        lambda data: mm.regularization_path(mm.SequenceTagger(max_iter=1), *data, [1.0]),
    ],
)
def test_a_warning_points_at_the_line_that_fits(data, fit):
    with pytest.warns(ConvergenceWarning) as caught:
        fit(data)
    assert caught[0].filename == __file__


def test_no_warning_where_none_is_due(data):
    """Tests turn warnings into errors: a callback's own stop, and a solver that closes no gap, say nothing."""
    assert mm.SequenceTagger(tol=1e-9, callbacks=lambda step: True).fit(*data).stop_reason_ == "callback"
    assert mm.SequenceTagger(tol=1e-9, solver="perceptron").fit(*data).certificate_.gap > 1e-9


def test_a_fit_cut_short_still_has_weights_and_a_certificate(data):
    with pytest.warns(ConvergenceWarning):
        model = mm.SequenceTagger(max_iter=1).fit(*data)
    assert model.coef_.any()
    assert np.isfinite(model.certificate_.primal)
    assert model.score(*data) > 0.5


def test_history_and_callbacks(data):
    steps = []

    def watch(step):
        steps.append(step)
        return step.iteration == 4

    model = mm.SequenceTagger(tol=1e-9, callbacks=[watch]).fit(*data)
    assert model.stop_reason_ == "callback"
    assert [step.iteration for step in steps] == [1, 2, 3, 4]
    known = [step.certificate for step in steps if np.isfinite(step.certificate.primal)]
    assert [row["gap"] for row in model.history_ if row["gap"] == row["gap"]] == [found.gap for found in known]
    assert len(model.history_) == len(steps) > len(known) > 0
    duals = [row["dual"] for row in model.history_]
    assert duals == sorted(duals)
    assert model.history_[-1]["oracle_calls"] == model.certificate_.oracle_calls


class Watch:
    """A callback of scikit-learn's kind, which scores the model so far and ends a fit after a few steps."""

    def __init__(self, score, steps=3):
        self.score, self.steps, self.seen = score, steps, []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context, **_):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator, **_):
        assert 0.0 <= self.score(fitted_estimator, X, y) <= 1.0
        self.seen.append(context.task_name)
        return self.seen[-self.steps :] == ["step"] * self.steps


WATCHED = ["setup", "step", "step", "step", "fit", "teardown"]
QUERIES = np.repeat(np.arange(10), 6)


def rows_of_queries():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, (X @ [1.0, 1.0, 0.0] > 0).astype(int)


def words():
    return [["Ana", "met", "Tom"], ["Tom", "sings"]], [["PER", "O", "PER"], ["PER", "O"]]


WATCHABLE = {
    "tagger": (mm.SequenceTagger(tol=1e-9), mm.datasets.make_chains(40, random_state=3), {}),
    "columns": (mm.ColumnTagger(tol=1e-12, solver="subgradient"), words(), {}),
    "multiclass": (mm.MulticlassSVM(tol=1e-9), mm.datasets.make_multiclass(60), {}),
    "ranker": (
        mm.StructuredRanker(measure="precision@2", tol=1e-12, solver="subgradient"),
        rows_of_queries(),
        {"groups": QUERIES},
    ),
}


@pytest.mark.parametrize(("model", "data", "groups"), WATCHABLE.values(), ids=WATCHABLE)
def test_scikit_learns_callbacks(model, data, groups):
    """Callbacks receive the data in the form of `score`, in a fit and in every fit of a path."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callback API")
    watch = Watch(lambda fitted, X, y: fitted.score(X, y, **groups))
    fitted = clone(model).set_callbacks(watch).fit(*data, **groups)
    assert watch.seen == WATCHED
    assert fitted.stop_reason_ == "callback"
    watch.seen.clear()
    path = mm.regularization_path(clone(model).set_callbacks(watch), *data, [0.1, 1.0], **groups)
    assert watch.seen == 2 * WATCHED
    assert [fitted.stop_reason_ for fitted in path] == ["callback"] * 2


def test_scikit_learns_callbacks_are_told_of_a_fit_that_fails(data):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callback API")

    def fails(fitted, X, y):
        raise RuntimeError("out of luck")

    watch = Watch(fails)
    for fit in (
        lambda model: model.fit(*data),
        lambda model: mm.regularization_path(model, *data, [1.0]),
    ):
        with pytest.raises(RuntimeError, match="out of luck"):
            fit(mm.SequenceTagger().set_callbacks(watch))
    assert watch.seen == ["setup", "teardown"] * 2


def test_callbacks_cannot_change_the_weights(data):
    def change(step):
        step.weights.fill(0.0)

    with pytest.raises(ValueError, match="read-only"):
        mm.SequenceTagger(callbacks=[change]).fit(*data)


def test_interruption_keeps_the_best_weights(data):
    best = []

    def interrupt(step):
        best.append((step.certificate.primal, step.weights.copy()))
        if step.iteration == 5:
            raise KeyboardInterrupt

    model = mm.SequenceTagger(tol=1e-12, callbacks=[interrupt]).fit(*data)
    assert model.stop_reason_ == "interrupted"
    assert np.array_equal(model.coef_, best[-1][1])
    assert model.certificate_.primal == best[-1][0]
    assert len(model.predict(data[0])) == len(data[0])


@pytest.mark.parametrize("searched", [False, True], ids=["exact", "searched"])
@pytest.mark.parametrize("solver", ["auto", "nslack", "oneslack", "bundle", "subgradient", "perceptron"])
def test_checkpoint_resumes_bit_for_bit(data, tmp_path, solver, searched):
    path = tmp_path / "run.ckpt"
    settings = {"solver": solver, "tol": 1e-10, "checkpoint": mm.Checkpoint(path, every=0.0), "C": 3.0}
    if searched:
        settings |= {"bound": "slack", "loss": {0: 5.0, 1: 0.2}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = mm.SequenceTagger(**settings, max_iter=9).fit(*data)
        mm.SequenceTagger(**settings, max_iter=4).fit(*data)
        resumed = mm.SequenceTagger(**settings, max_iter=9).fit(*data, resume=path)
    assert np.array_equal(whole.coef_, resumed.coef_)
    assert whole.certificate_.dual == resumed.certificate_.dual
    assert whole.certificate_.oracle_calls == resumed.certificate_.oracle_calls
    assert [row["primal"] for row in resumed.history_] == [row["primal"] for row in whole.history_[4:]]


def test_checkpoint_of_another_run(data, tmp_path):
    path = tmp_path / "run.ckpt"
    X, Y = data
    mm.SequenceTagger(checkpoint=path).fit(X, Y)
    with pytest.raises(ValueError, match="another run: its C"):
        mm.SequenceTagger(C=0.5).fit(X, Y, resume=path)
    with pytest.raises(ValueError, match="another run: its data"):
        mm.SequenceTagger().fit([x + 1 for x in X], Y, resume=path)
    with pytest.raises(FileNotFoundError):
        mm.SequenceTagger().fit(X, Y, resume=tmp_path / "none")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged"):
        mm.SequenceTagger().fit(X, Y, resume=path)


def test_checkpoint_knows_all_that_matters(tmp_path):
    """A resumed run whose data differ anywhere would prove nothing."""
    path = tmp_path / "run.ckpt"
    X, Y = mm.datasets.make_chains(12, random_state=0)
    pairs = [(x, np.ones((len(x) - 1, 2))) for x in X]
    weights = np.linspace(1.0, 2.0, len(X))
    settings = {"transition_features": True, "checkpoint": path}
    mm.SequenceTagger(**settings).fit(pairs, Y, sample_weight=weights)
    others = [(x, 2 * edges) for x, edges in pairs]
    with pytest.raises(ValueError, match="its data"):
        mm.SequenceTagger(**settings).fit(others, Y, sample_weight=weights, resume=path)
    with pytest.raises(ValueError, match="its sample_weight"):
        mm.SequenceTagger(**settings).fit(pairs, Y, sample_weight=weights[::-1], resume=path)
    for loss in ({0: 2.0}, "zero-one", "hamming-share"):
        with pytest.raises(ValueError, match="its data"):
            mm.SequenceTagger(**settings, loss=loss).fit(pairs, Y, sample_weight=weights, resume=path)
    never = [(a, b) for a in range(4) for b in range(4) if not any((y[:-1] == a)[y[1:] == b].any() for y in Y)]
    with pytest.raises(ValueError, match="its data"):
        mm.SequenceTagger(**settings, constraints=never[:1]).fit(pairs, Y, sample_weight=weights, resume=path)
    assert mm.SequenceTagger(**settings).fit(pairs, Y, sample_weight=weights, resume=path).stop_reason_ == "tol"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
def test_rounding_does_not_gather_in_the_lower_bound(scale):
    """Large features and C make steps of very different sizes: the bound must still be one."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(6, 1)) * 8) * scale
        y = (X[:, 0] > 0).astype(int)
        if len(set(y)) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = mm.MulticlassSVM(C=1e4, solver=mm.solvers.ProximalWorkingSets(), max_seconds=1.0).fit(X, y)
            other = mm.MulticlassSVM(C=1e4, solver="bundle", tol=1e-9, max_seconds=1.0).fit(X, y)
        support = model.support_
        u = support.planes.T @ support.alphas
        gain, square = support.alphas @ support.values, u @ u
        t = min(1.0, gain / square) if square else 1.0
        assert model.certificate_.dual <= other.certificate_.primal * (1 + 1e-9)
        assert t * gain - 0.5 * t * t * square <= other.certificate_.primal * (1 + 1e-9)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("solver", ["auto", "nslack", "bundle"])
def test_searched_argmaxes_never_claim_less_than_is_proven(slack, solver):
    X, Y = mm.datasets.make_chains(30, random_state=7)
    model = mm.SequenceTagger(C=1.0, loss={0: np.pi, 1: 0.2}, bound="slack", slack=slack, solver=solver, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = model.fit(X, Y).certificate_
    assert certificate.dual <= certificate.primal <= certificate.primal_bound
    assert certificate.exact == (certificate.primal_bound <= (1 + 1e-6) * certificate.primal)


def test_failed_write_leaves_the_checkpoint_whole(data, tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    mm.SequenceTagger(checkpoint=path).fit(*data)
    before = path.read_bytes()

    def fails(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("maxmargin.training.run.write_archive", fails)
    with pytest.raises(OSError, match="disk full"):
        mm.SequenceTagger(checkpoint=path, C=0.5).fit(*data)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_structure_that_raises_leaves_the_checkpoint(tmp_path):
    path = tmp_path / "run.ckpt"

    class Breaks(mm.Structure):
        calls = 0

        def joint_feature(self, x, y):
            return y * np.asarray(x, float)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return 1 if w @ x > 0 else -1

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            Breaks.calls += 1
            if Breaks.calls > 100:
                raise RuntimeError("out of luck")
            return max((-1, 1), key=lambda k: k * (w @ x) + scale * (k != y))

    X = np.random.default_rng(0).normal(size=(20, 3))
    Y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3, 1, -1).tolist()
    with pytest.raises(StructureError, match=r"X\[\d+\]: loss_augmented_argmax raised RuntimeError: out of luck"):
        mm.StructuralSVM(Breaks(), tol=1e-12, checkpoint=mm.Checkpoint(path, every=0.0)).fit(X, Y)
    Breaks.calls = -10_000
    resumed = mm.StructuralSVM(Breaks(), tol=1e-12).fit(X, Y, resume=path)
    assert resumed.certificate_.gap <= 1e-12


def test_warm_start_takes_fewer_steps(data):
    cold = mm.SequenceTagger(tol=1e-4).fit(*data)
    model = mm.SequenceTagger(tol=1e-4, warm_start=True).fit(*data)
    first = model.n_iter_
    model.fit(*data)
    assert model.n_iter_ < first
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-4)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(*mm.datasets.make_chains(10, n_features=3))


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("solver", ["auto", "bundle"])
def test_path_agrees_with_single_fits(data, slack, solver):
    Cs = [0.01, 0.1, 1.0, 0.05]
    estimator = mm.SequenceTagger(tol=1e-4, slack=slack, solver=solver)
    for C, model in zip(Cs, mm.regularization_path(estimator, *data, Cs), strict=True):
        alone = mm.SequenceTagger(tol=1e-4, slack=slack, C=C).fit(*data)
        assert model.C == C
        assert model.stop_reason_ == "tol"
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-4)
        assert model.certificate_.dual <= alone.certificate_.primal


def test_groups_of_a_path_are_named(data):
    X, y = rows_of_queries()
    models = mm.regularization_path(mm.StructuredRanker(measure="precision@2"), X, y, [1.0], groups=QUERIES)
    np.testing.assert_array_equal(
        models[0].coef_, mm.StructuredRanker(measure="precision@2").fit(X, y, groups=QUERIES).coef_
    )
    with pytest.raises(TypeError, match="SequenceTagger takes no groups"):
        mm.regularization_path(mm.SequenceTagger(), *data, [1.0], groups=QUERIES)
    with pytest.raises(TypeError, match="StructuredRanker does not accept sample_weight, only groups"):
        mm.regularization_path(mm.StructuredRanker(), X, y, [1.0], np.ones(60), groups=QUERIES)
    with pytest.raises(TypeError, match="StructuredRanker does not accept sample_weight, only groups"):
        mm.regularization_path(mm.StructuredRanker(), X, y, [1.0], sample_weight=QUERIES)  # not read as groups


def test_ctrl_c_ends_a_path(data):
    fits = []

    def interrupt(step):
        fits.extend([step] * (step.iteration == 1))
        if len(fits) == 2 and step.iteration == 3:
            raise KeyboardInterrupt

    models = mm.regularization_path(mm.SequenceTagger(tol=1e-2, callbacks=interrupt), *data, [0.1, 10.0, 100.0])
    assert [model.stop_reason_ for model in models] == ["tol", "interrupted"]
    assert len(models[-1].predict(data[0])) == len(data[0])


def test_multiclass_path():
    X, y = mm.datasets.make_multiclass(60, random_state=2)
    models = mm.regularization_path(mm.MulticlassSVM(), X, y, [0.1, 1.0])
    assert [model.predict(X).shape for model in models] == [(60,), (60,)]
    assert models[0].n_features_in_ == X.shape[1]
