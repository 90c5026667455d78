"""Wrong argmaxes of user-defined structures: a fit says so, and proves nothing."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import InexactArgmaxWarning
from maxmargin.training.audit import FEWEST_EXAMPLES, PLAIN_SHARE, QUESTIONS, SHARE

LABELS = (0, 1, 2)


class Labels(mm.Structure):
    """Multiclass with a loss that grows with the distance of the labels."""

    def joint_feature(self, x, y):
        psi = np.zeros(9)
        psi[3 * y : 3 * y + 3] = x
        return psi

    def loss(self, y, y_hat):
        return float(abs(y - y_hat))

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(LABELS, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))


class SubtractsLoss(Labels):
    def argmax(self, w, x):
        return Labels.loss_augmented_argmax(self, w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return super().loss_augmented_argmax(w, x, y, -scale)


class ReturnsTruth(SubtractsLoss):
    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return y


class Approximate(SubtractsLoss):
    exact = False


class Minimises(Labels):
    def argmax(self, w, x):
        return min(LABELS, key=lambda k: w @ self.joint_feature(x, k))


class RowsAndColumns(Labels):
    """As `linear_sum_assignment` answers."""

    def argmax(self, w, x):
        return np.arange(3), np.full(3, super().argmax(w, x))


rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = X.argmax(axis=1).tolist()


def fitted(structure, estimator=mm.StructuralSVM, **settings):
    with pytest.warns(InexactArgmaxWarning) as caught:
        model = estimator(structure, **settings).fit(X, Y)
    assert len(caught) == 1
    assert not model.certificate_.exact
    assert model.certificate_.contradicted
    assert model.certificate_.primal_bound == np.inf
    assert "contradicted: an argmax returned a wrong output" in str(model.certificate_)
    text = str(caught[0].message)
    assert "maxmargin.check_structure looks for more faults" in text
    return model, text


@pytest.mark.parametrize("solver", ["auto", "nslack", "oneslack", "bundle", "subgradient"])
@pytest.mark.parametrize("structure", [SubtractsLoss, ReturnsTruth, Approximate])
def test_a_loss_augmented_argmax_that_finds_no_loss(structure, solver):
    model, text = fitted(structure(), solver=solver)
    assert not model.coef_.any()
    assert model.certificate_.primal == 0.0
    found = re.match(
        r"X\[(\d+)\]: loss_augmented_argmax returned (\d), which is beaten by (\d), .*: expected the greatest "
        r"w·Ψ \+ scale·Δ at scale=1 under weights of 0, found 0 against (\d); all weights are 0, so nothing was learnt",
        text,
    )
    example, truth, other, loss = map(int, found.groups())
    assert truth == Y[example] and loss == abs(truth - other) > 0


@pytest.mark.parametrize("bound", ["margin", "slack", "ramp"])
def test_an_argmax_that_minimises(bound):
    model, text = fitted(Minimises(), bound=bound)
    values = [float(v) for v in re.findall(r"found (-?[\d.]+) against (-?[\d.]+)", text)[0]]
    i = int(re.match(r"X\[(\d+)\]: argmax returned", text)[1])
    scores = [model.coef_ @ Labels().joint_feature(X[i], k) for k in LABELS]
    np.testing.assert_allclose(values[0], min(scores), rtol=1e-5)
    assert values[1] > values[0]


def test_an_argmax_that_returns_no_output():
    _, text = fitted(RowsAndColumns())
    assert re.match(r"X\[\d+\]: joint_feature raised .* for the output of argmax, \(array\(\[0, 1, 2\]\), ", text)


def test_the_position_is_that_of_the_users_data():
    weights = np.r_[np.zeros(30), np.ones(10)]
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[3\d\]: loss_augmented_argmax"):
        mm.StructuralSVM(ReturnsTruth()).fit(X, Y, sample_weight=weights)


class Hidden(Labels):
    """A latent sign besides the label."""

    size = 18

    def joint_feature(self, x, output):
        y, h = output
        psi = np.zeros(18)
        psi[9 * h + 3 * y : 9 * h + 3 * y + 3] = x
        return psi

    def loss(self, y, output):
        return float(y != output[0])

    def _best(self, w, x, labels, value=lambda k: 0.0):
        pairs = [(k, h) for k in labels for h in (0, 1)]
        return max(pairs, key=lambda p: w @ self.joint_feature(x, p) + value(p[0]))

    def argmax(self, w, x):
        return self._best(w, x, LABELS)

    def complete(self, w, x, y):
        return self._best(w, x, (y,))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self._best(w, x, LABELS, lambda k: scale * (k != y))


class HiddenTruth(Hidden):
    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self._best(w, x, (y,))


def test_latent_structures():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sound = mm.StructuralSVM(Hidden()).fit(X, Y)
    assert sound.certificate_.exact
    fitted(HiddenTruth(), mm.StructuralSVM)


class ReturnsSecondBest(Labels):
    """Wrong only once weights have grown, and only a little: found by outputs of earlier planes."""

    def argmax(self, w, x):
        return Labels.loss_augmented_argmax(self, w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        ranked = sorted(LABELS, key=lambda k: -(w @ self.joint_feature(x, k) + scale * self.loss(y, k)))
        return ranked[0] if np.abs(w).sum() < 4.0 else ranked[1]


def test_outputs_of_held_planes_are_compared():
    with pytest.warns(InexactArgmaxWarning) as caught:
        model = mm.StructuralSVM(ReturnsSecondBest(), C=0.3, max_iter=50, tol=0.05).fit(X, Y)
    assert model.certificate_.contradicted
    assert "loss_augmented_argmax returned" in str(caught[0].message)


class WrongOnSome(Labels):
    """Sees no loss in the examples whose first feature is listed."""

    def __init__(self, wrong):
        self.wrong = wrong

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return y if scale > 0.0 and x[0] in self.wrong else super().loss_augmented_argmax(w, x, y, scale)


def test_an_argmax_that_is_wrong_on_few_examples():
    """Plain argmaxes at other weights look at many examples, of which suspects are asked first."""
    for seed in range(6):
        rows = np.random.default_rng(seed).normal(size=(400, 3))
        labels = (rows + np.random.default_rng(seed + 100).normal(size=rows.shape)).argmax(axis=1).tolist()
        with pytest.warns(InexactArgmaxWarning, match="loss_augmented_argmax returned"):
            model = mm.StructuralSVM(WrongOnSome(set(rows[:8, 0].tolist()))).fit(rows, labels)
        assert not model.certificate_.proven


class WrongTwice(WrongOnSome):
    """Both argmaxes return the truth for some examples, so nothing that they return contradicts it."""

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return self.wrong.get(x[0]) if x[0] in self.wrong else Labels.loss_augmented_argmax(self, w, x, y, scale)


class Listed(Labels):
    def enumerate(self, x):
        return LABELS


class ListedWrongTwice(WrongTwice):
    def enumerate(self, x):
        return LABELS


def objective(w, rows, labels):
    """The objective for C=1, by the scores of all labels."""
    scores = rows @ w.reshape(3, 3).T
    margins = np.abs(np.subtract.outer(labels, LABELS)) + scores
    return 0.5 * w @ w + (margins.max(axis=1) - scores[np.arange(len(rows)), labels]).sum()


@pytest.mark.parametrize("share", [0.02, 0.1, 0.33])
def test_only_a_comparison_with_all_outputs_proves_the_answers_of_user_code(share):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    labels = (rows + rng.normal(size=rows.shape)).argmax(axis=1)
    wrong = dict(zip(rows[: int(share * 200), 0].tolist(), labels.tolist(), strict=False))
    model = mm.StructuralSVM(WrongTwice(wrong), C=1.0).fit(rows, labels.tolist())
    assert objective(model.coef_, rows, labels) > 1.001 * model.certificate_.primal_bound
    assert not model.certificate_.proven and "proven" not in str(model.certificate_)
    with pytest.warns(InexactArgmaxWarning, match=r"violates its margin by .*an output that enumerate lists, violates"):
        listed = mm.StructuralSVM(ListedWrongTwice(wrong), C=1.0).fit(rows, labels.tolist())
    assert listed.certificate_.beaten


def test_right_argmaxes_are_assumed_or_compared_with_all_outputs():
    assumed = mm.StructuralSVM(Labels()).fit(X, Y)
    assert assumed.certificate_.assumed and assumed.stop_reason_ == "tol"
    assert "(holds if the argmax is correct)" in str(assumed.certificate_)
    compared = mm.StructuralSVM(Listed()).fit(X, Y)
    assert compared.certificate_.proven and not compared.certificate_.assumed
    np.testing.assert_array_equal(compared.coef_, assumed.coef_)


class OwnOptimizer(mm.Optimizer):
    """A derived class, which is user code as well."""


def test_decisions_of_functions_are_assumed():
    costs = np.abs(np.random.default_rng(0).normal(size=(20, 3)))
    cheapest = {"solve": lambda c: {int(np.argmin(c))}, "n_variables": 3}
    for optimizer in (mm.Optimizer(**cheapest), OwnOptimizer(**cheapest)):
        assert mm.CostLearner(optimizer).fit(costs, costs=costs).certificate_.assumed
    assert not mm.CostLearner(mm.Optimizer.knapsack(np.ones(3), 2.0)).fit(costs, costs=costs).certificate_.assumed


class Counted(Labels):
    """Counts its calls, and claims an upper bound if it is asked to."""

    def __init__(self, error=0.0, exact=True):
        self.calls, self.plain, self.error, self.exact = 0, 0, error, exact

    def argmax(self, w, x):
        self.plain += 1
        return Labels.loss_augmented_argmax(self, w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.calls += 1
        best = Labels.loss_augmented_argmax(self, w, x, y, scale)
        value = w @ self.joint_feature(x, best) + scale * self.loss(y, best)
        return best if self.exact else mm.Bounded(best, value + self.error)


@pytest.mark.parametrize("n", [3, 40])
def test_calls_are_few_and_not_counted(n):
    structure = Counted()
    certificate = mm.StructuralSVM(structure).fit(X[:n], Y[:n]).certificate_
    assert certificate.exact
    asked = structure.calls - certificate.oracle_calls + structure.plain
    plain = min(n, PLAIN_SHARE * certificate.oracle_calls)
    most = n + plain + max(QUESTIONS * FEWEST_EXAMPLES, SHARE * certificate.oracle_calls)
    assert n + QUESTIONS <= asked <= most


def test_the_audit_changes_nothing():
    """The same weights and the same sample, with the same seed."""
    texts = {fitted(Minimises(), random_state=3)[1] for _ in range(2)}
    assert len(texts) == 1
    sound = mm.StructuralSVM(Labels()).fit(X, Y)
    np.testing.assert_array_equal(fitted(Minimises())[0].coef_, sound.coef_)


class FalseBound(Counted):
    def argmax(self, w, x):
        return mm.Bounded(super().argmax(w, x), -1.0)


def test_approximate_argmaxes_answer_for_their_upper_bounds():
    assert np.isfinite(mm.StructuralSVM(Counted(0.1, exact=False)).fit(X, Y).certificate_.primal_bound)
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[\d+\]: argmax returned the upper bound -1 of w·Ψ"):
        mm.StructuralSVM(FalseBound(0.1, exact=False)).fit(X, Y)


class Rounded(Labels):
    """Scores in float32."""

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        w = np.asarray(w, np.float32)
        return max(
            LABELS, key=lambda k: np.float32(w @ self.joint_feature(x, k).astype(np.float32)) + scale * abs(y - k)
        )


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_rounding_and_ties_are_no_contradiction(scale):
    twice = np.repeat(X, 2, axis=0)
    labels = [y if i % 2 else (y + 1) % 3 for i, y in enumerate(np.repeat(Y, 2).tolist())]
    model = mm.StructuralSVM(Rounded(), tol=0.01).fit(scale * twice, labels)
    assert not model.certificate_.contradicted


class WrongFor(Labels):
    """Wrong for some of the examples only: the second best output, or the truth."""

    def __init__(self, wrong, kind):
        self.wrong, self.kind = {x.tobytes() for x in wrong}, kind

    def argmax(self, w, x):
        return Labels.loss_augmented_argmax(self, w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        if x.tobytes() not in self.wrong:
            return super().loss_augmented_argmax(w, x, y, scale)
        if self.kind == "truth":
            return y
        return sorted(LABELS, key=lambda k: -(w @ self.joint_feature(x, k) + scale * self.loss(y, k)))[1]


@pytest.mark.parametrize("kind", ["truth", "second best"])
@pytest.mark.parametrize("seed", range(4))
def test_an_argmax_that_is_wrong_for_a_tenth_of_the_examples(kind, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(400, 3))
    labels = (rows + 0.3 * rng.normal(size=rows.shape)).argmax(axis=1).tolist()
    with pytest.warns(InexactArgmaxWarning):
        model = mm.StructuralSVM(WrongFor(rows[rng.choice(400, 40, replace=False)], kind), C=0.1).fit(rows, labels)
    assert not model.certificate_.proven


class Moody(Labels):
    """Answers differently when it is asked again."""

    def __init__(self):
        self.asked = 0

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.asked += 1
        return y if self.asked <= 3 * 40 else super().loss_augmented_argmax(w, x, y, scale)


def test_answers_that_change_prove_nothing():
    with pytest.warns(InexactArgmaxWarning, match="an argmax must return the same output for the same weights"):
        model = mm.StructuralSVM(Moody()).fit(X, Y)
    assert model.certificate_.primal == 0.0 and not model.certificate_.proven


class Far(Labels):
    """Features of the truth are small, those of other outputs large."""

    def joint_feature(self, x, y):
        return x[y]

    def loss(self, y, y_hat):
        return float(y != y_hat)


@pytest.mark.parametrize("seed", range(8))
def test_rounding_errors_of_outputs_found_are_in_the_bound(seed):
    rng = np.random.default_rng(seed)
    tables, C = rng.normal(size=(6, 3, 20)) * 1e7, 10.0 ** rng.uniform(6, 8)
    labels = rng.integers(0, 3, 6).tolist()
    for table, y in zip(tables, labels, strict=True):
        table[y] *= 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.StructuralSVM(Far(), C=C, max_iter=200).fit(list(tables), labels)
    w = [Fraction(v) for v in model.coef_]
    objective = sum(v * v for v in w) / 2
    for table, y in zip(tables, labels, strict=True):
        scores = [sum(Fraction(a) * v for a, v in zip(row, w, strict=True)) for row in table]
        objective += Fraction(C) * max((k != y) + score - scores[y] for k, score in enumerate(scores))
    assert float(objective) <= model.certificate_.primal_bound
