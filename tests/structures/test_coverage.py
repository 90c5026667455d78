"""Coverage against enumeration of all choices, and against a mixed-integer program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.structures.coverage import _jit
from maxmargin.structures.coverage.structure import Coverage
from maxmargin.structures.ranking.outputs import SelectedDocuments
from maxmargin.testing.conformance import SCALES, StructureConformance, every_case
from tests.helpers.instances.coverage import Candidates


class TestOneCandidate(StructureConformance):
    """Choosing one candidate greedily is exact, so that everything holds that holds for exact argmaxes."""

    n_cases, n_checked = -(-StructureConformance.n_cases // 3), 1

    def instance(self, seed):
        return Candidates(seed, k=1)


class TestAllCandidates(StructureConformance):
    """So is choosing all of them."""

    n_cases, n_checked = -(-StructureConformance.n_cases // 5), 1

    def instance(self, seed):
        return Candidates(seed, k=9)


class TestSomeCandidates(StructureConformance):
    """Choices are greedy: what is said of them is true, and the bounds hold."""

    n_cases, n_checked = -(-StructureConformance.n_cases // 3), 1

    def instance(self, seed):
        return Candidates(seed)

    @staticmethod
    def check_answers(case, answers, ids, scales):
        for r, i in enumerate(ids.tolist()):
            found = case.found(answers, i)
            rise, loss = case.rise(i, found), case.loss(i, found)
            assert answers.rises[i] == pytest.approx(rise, abs=1e-9)
            assert answers.losses[i] == pytest.approx(loss, abs=1e-12)
            best = case.best(i, lambda m, b, s=scales[r]: m + s * b)
            assert rise + scales[r] * loss <= best + 1e-9
            assert best <= answers.upper[i] + 1e-9 * (1 + abs(best))

    @every_case
    def test_decode_is_the_best_of_all_outputs(self, case):
        for ids in case.batches():
            scales = case.rng.choice(SCALES, len(ids))
            answers = case.decoded(ids, scales)
            self.check_answers(case, answers, ids, scales)
            case.check_planes(answers, ids)

    @every_case
    def test_bounds_are_exact_or_bounded_from_above(self, case):
        problem = Problem(case.examples, Bound("margin", "linear"), Objective(1.0, np.ones(case.n), "linear"))
        assert problem.bounded and not problem.exact
        problem.decode(case.w, problem.everyone)
        for i in range(case.n):
            best = max(0.0, case.best(i, lambda m, b: m + b))
            assert problem.hinges[i] <= best + 1e-9 <= problem.upper_hinges[i] + 2e-9 * (1 + best)

    @every_case
    def test_the_four_methods_agree_with_the_batch(self, case):
        answers = case.decoded(np.arange(case.n), np.full(case.n, 0.7))
        for i, (x, y) in enumerate(zip(case.inputs(), case.Y, strict=True)):
            assert {case.name(o) for o in case.structure.enumerate(x)} == {case.name(o) for o in case.outputs(i)}
            self._check_joint_features(case, i, x, y)
            found = case.structure.loss_augmented_argmax(case.w, x, y, 0.7)
            assert case.name(found) == case.name(case.found(answers, i))

    @every_case
    def test_prediction_without_truths(self, case):
        """Each candidate adds most to those before, of equals the first."""
        examples = case.structure.encode(case.unlabelled())
        answers = case.decoded(np.arange(case.n), np.ones(case.n), examples)
        assert not answers.losses.any()
        for i, output in enumerate(examples.outputs(answers)):
            for step in range(len(output)):
                left = [j for j in range(len(case.Y[i])) if j not in output[:step]]
                worth = [round(float(case.w @ case.psi(i, [*output[:step], j])), 9) for j in left]
                assert worth[left.index(output[step])] == max(worth)
                if case.whole and len(case.thresholds) == 1:
                    assert output[step] == left[int(np.argmax(worth))]

    @every_case
    def test_changes_are_the_gradient_of_the_hinges(self, case):
        """A greedy choice is not a convex function of the scores; planes are tested elsewhere."""
        ids = np.arange(case.n)
        answers = case.decoded(ids, np.ones(case.n))
        for i, row in zip(ids, case.examples.planes(ids, answers).matrix(case.examples.dim).toarray(), strict=True):
            assert float(row @ case.w) == pytest.approx(-answers.rises[i], abs=1e-9)


def random_cover(rng, n, size, share):
    """Rows of items as (ptr, items, counts)."""
    table = rng.random((n, size)) < share
    table[:, 0] = True
    ptr = np.concatenate([[0], np.cumsum(table.sum(1))]).astype(np.int64)
    return table, ptr, np.nonzero(table)[1].astype(np.int32), table.sum(0).astype(np.int64)


def best_cover(table, worths, m):
    """Return the greatest worth of what m rows cover, by a mixed-integer program."""
    n, size = table.shape
    gained, lost = np.flatnonzero(worths > 0), np.flatnonzero(worths < 0)
    above = np.hstack([table[:, gained].T.astype(float), -np.eye(size)[gained]])
    rows = [(j, v) for v in lost for j in np.flatnonzero(table[:, v])]
    below = np.zeros((len(rows), n + size))
    for r, (j, v) in enumerate(rows):
        below[r, n + v], below[r, j] = 1.0, -1.0
    chosen = np.concatenate([np.ones(n), np.zeros(size)])
    found = milp(
        -np.concatenate([np.zeros(n), worths]),
        constraints=[
            LinearConstraint(np.vstack([above, below]), 0.0, np.inf),
            LinearConstraint(chosen, m, m),
        ],
        integrality=np.concatenate([np.ones(n), np.zeros(size)]),
        bounds=Bounds(0.0, 1.0),
    )
    return -found.fun


@pytest.mark.parametrize("signs", ["positive", "mixed"])
def test_bounds_contain_the_optimum_of_a_mixed_integer_program(signs):
    rng, slack, usual, gains = np.random.default_rng(0), [], [], []
    for _ in range(12):
        table, ptr, items, counts = random_cover(rng, 25, 40, 0.15)
        worths = rng.normal(size=40) if signs == "mixed" else rng.random(40)
        found = np.zeros(5, np.int32)
        value = _jit.choose(0, 25, 5, ptr, items, worths, found)
        covered = table[found].any(axis=0)
        assert value == pytest.approx(worths[covered].sum())
        best = best_cover(table, worths, 5)
        better, tight = _jit.improve(0, 25, 5, ptr, items, worths, counts, 200, found.copy(), value)
        _, loose = _jit.improve(0, 25, 5, ptr, items, worths, counts, 0, found.copy(), value)
        assert value <= better <= best + 1e-7
        assert best <= tight + 1e-7 <= loose + 2e-7
        if signs == "positive":
            assert value >= (1 - 1 / np.e) * best
            assert tight <= value / (1 - 1 / np.e) + 1e-9
        slack.append(tight - best)
        usual.append(loose - best)
        gains.append((better - value, best - value))
    assert np.mean(slack) < {"positive": 0.4, "mixed": 0.8}[signs] * np.mean(usual)
    found_of, possible = np.sum(gains, axis=0)
    assert found_of > 0.2 * possible


def test_a_shared_charge_is_paid_once():
    """Ten candidates of one subtopic and a word each: with a dear subtopic the bound is exact all the same."""
    ptr, items = np.arange(11) * 2, np.ravel([[j, 10] for j in range(10)]).astype(np.int32)
    worths = np.array([*np.linspace(1.0, 0.1, 10), -2.0])
    counts, found = np.array([1] * 10 + [10]), np.zeros(4, np.int32)
    value = _jit.choose(0, 10, 4, ptr, items, worths, found)
    better, bound = _jit.improve(0, 10, 4, ptr, items, worths, counts, 0, found, value)
    assert value == better == pytest.approx(bound) == pytest.approx(1.0 + 0.9 + 0.8 + 0.7 - 2.0)


def test_lazy_evaluation_is_plain_greedy():
    rng = np.random.default_rng(1)
    for _ in range(20):
        table, ptr, items, _ = random_cover(rng, 30, 20, 0.2)
        worths = rng.integers(-2, 4, 20).astype(float)
        found = np.zeros(6, np.int32)
        _jit.choose(0, 30, 6, ptr, items, worths, found)
        chosen = []
        for _ in range(6):
            left = [j for j in range(30) if j not in chosen]
            worth = [worths[table[[*chosen, j]].any(axis=0)].sum() for j in left]
            chosen.append(left[int(np.argmax(worth))])
        assert found.tolist() == chosen


def test_all_forms_of_candidates_are_the_same():
    table = np.array([[2, 0, 1], [0, 1, 0], [1, 1, 0]])
    lists = [["a", "a", "c"], ["b"], ["a", "b"]]
    texts = ["aa, aa! cc", "BB", "aa bb"]
    Y, w = [[{1}, {2}, {1, 2}]], np.arange(14.0)
    forms = [table, sp.csr_array(table), sp.coo_matrix(table), sp.lil_array(table.astype(float)), lists, texts]
    wide = sp.lil_array((3, 10**6))
    wide[:, [5, 70, 900000]] = table
    found = set()
    for x in [*forms, wide]:
        s = Coverage(k=2, levels=[1, 2]).fit([x], Y)
        np.testing.assert_array_equal(s.joint_feature(x, SelectedDocuments([0, 2])), s.joint_feature(x, Y[0]))
        found.add((s.argmax(w, x), tuple(s.joint_feature(x, SelectedDocuments([0, 1])))))
    assert len(found) == 1


def test_data_frames_and_sets():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 0], [0, 1], [1, 1]], columns=["a", "b"])
    s = Coverage(k=1).fit([frame], [[{1}, {2}, {1, 2}]])
    assert s.argmax(np.ones(7), frame) == s.argmax(np.ones(7), [{"a"}, {"b"}, {"a", "b"}]) == (2,)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([], [], "X[0]: expected at least one candidate, found none"),
        (["a b"], [{1}, {2}], "X[0]: 1 candidates but 2 sets of subtopics"),
        (["a b", "c"], [set(), []], "Y[0]: no candidate has a subtopic"),
        (["a b"], ["river"], "Y[0], candidate 0: expected a set of subtopics"),
        (["a b"], [3], "Y[0], candidate 0: expected a set of subtopics"),
        (["a b"], "river", "Y[0]: expected a list with a set of subtopics"),
        (["a b"], [[[1]]], "Y[0], candidate 0: expected strings, numbers or other hashable values, found list"),
        ("a b", [{1}], "X[0]: expected a list of texts"),
        ([3], [{1}], "X[0], candidate 0: expected a text or a list of elements, found int 3"),
        ([None], [{1}], "X[0], candidate 0: expected a text or a list of elements, found NoneType"),
        ([[["w"]]], [{1}], "X[0], candidate 0: expected strings, numbers or other hashable values"),
        (np.array([[1.0, np.nan]]), [{1}], "X[0], candidate 0: expected how often the candidate contains each"),
        (np.array([[1.0], [-2.0]]), [{1}, {2}], "X[0], candidate 1: expected how often"),
        (None, [{1}], "X[0]: expected a list of texts"),
    ],
)
def test_bad_input(x, y, message):
    with pytest.raises(ValueError) as error:
        Coverage(k=1).fit([x], [y])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be an integer ≥ 1, found 0"),
        ({"k": 2.5}, "k must be an integer ≥ 1, found 2.5"),
        ({"thresholds": []}, "thresholds must be ascending numbers"),
        ({"thresholds": [0.5, 0.1]}, "thresholds must be ascending numbers"),
        ({"thresholds": [0.5, 1.5]}, "thresholds must be between 0 and 1"),
        ({"thresholds": ["a"]}, "thresholds must be ascending numbers"),
        ({"thresholds": 0.5}, "thresholds must be ascending numbers"),
        ({"levels": [0, 1]}, "levels must be above 0"),
        ({"cost": "sum"}, "cost must be 'popularity' or 'uniform', found 'sum'"),
        ({"bound_steps": -1}, "bound_steps must be an integer ≥ 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Coverage(**parameters).fit([["a b"]], [[{1}]])


def test_choices_that_are_not_outputs():
    s = Coverage(k=2).fit([["a", "b", "c"]], [[{1}, {2}, {3}]])
    for chosen in [(0,), (0, 0), (0, 3), (0, 1, 2), (-1, 0)]:
        with pytest.raises(ValueError, match="expected 2 distinct candidates between 0 and 2"):
            s.loss([{1}, {2}, {3}], SelectedDocuments(chosen))
    with pytest.raises(ValueError, match="expected SelectedDocuments"):
        s.loss([{1}, {2}, {3}], [{1}, {2}, set()])


def test_certificates_are_true_although_argmaxes_are_greedy():
    """No weights have an objective below `dual`, and the objective of the weights found is below `primal_bound`."""
    case = Candidates(3, k=2)
    model = mm.StructuralSVM(case.structure, C=1.0).fit(case.X, case.Y)
    certificate = model.certificate_

    def objective(w):
        case.w = w
        return 0.5 * w @ w + sum(max(0.0, case.best(i, lambda m, b: m + b)) for i in range(case.n))

    assert certificate.dual - 1e-9 <= objective(model.coef_) <= certificate.primal_bound + 1e-9
    for _ in range(50):
        assert objective(case.rng.normal(size=len(model.coef_))) >= certificate.dual - 1e-9
