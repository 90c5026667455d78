"""One test class for all compiled structures: everything a structure promises, against enumeration by hand.

The test file of a structure has an `Instance`, random data with joint features and losses computed in plain Python, and
a subclass of `StructureConformance` that makes instances. The number of instances is ``MAXMARGIN_CASES``, few by
default.

A test of a capability is marked ``@every_case(needs=…)``. It is required of structures that declare the capability in
`capabilities`; others must raise an error that says so when it is used as in `USES`. To add a capability, write its
words in `CAPABILITIES` (`core/examples.py`), how it is used in `USES` (`testing/cases.py`), and tests below or in a
mixin as `SumsConformance`.
"""

from __future__ import annotations

import os
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin.bounds import Bound
from maxmargin.core.examples import CAPABILITIES, Examples
from maxmargin.core.objective import Objective
from maxmargin.core.planes import TRUTH
from maxmargin.core.polytopes import Polytope
from maxmargin.core.scores import Scores
from maxmargin.custom.check import check_structure
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.testing.cases import NOT_CHECKED, every_case, pytest
from maxmargin.testing.instance import Instance
from maxmargin.testing.sums import SumsConformance

BOUNDS = [Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic")]
SCALES = (0.0, 0.5, 1.0, 3.0, 10.0)


def as_integers(values):
    """Return integers n and d with n / d = values, exactly; sums of integers are many times as fast as of fractions."""
    ratios = [float(value).as_integer_ratio() for value in values]
    d = max((ratio[1] for ratio in ratios), default=1)  # powers of 2
    return [n * (d // own) for n, own in ratios], d


def exact_primal(case, w, bound, C):
    """½‖w‖² + C Σ ξ, or ½ C Σ ξ² with quadratic slack, over all outputs of a case."""
    weights, w_unit = as_integers(w)
    total = Fraction(sum(v * v for v in weights), 2 * w_unit * w_unit)
    for i in range(case.n):
        true, hinge = case.psis[i][case.name(case.truth(i))], Fraction(0)
        for output in case.outputs(i):
            plane, unit = as_integers(true - case.psis[i][case.name(output)])
            loss = max(case.loss(i, output), 0.0)
            margin = Fraction(float(np.sqrt(loss) if bound.slack == "quadratic" else loss))
            score = Fraction(sum(a * v for a, v in zip(plane, weights, strict=True) if a), unit * w_unit)
            hinge = max(hinge, margin - score if bound.rescaling == "margin" else margin * (1 - score))
        total += Fraction(C) * (hinge if bound.slack == "linear" else hinge * hinge / 2)
    return float(total)


def linear_maximum(examples: Examples, i: int, w: Any, polytope: Polytope) -> float:
    """Return the hinge of an example by a linear program over a polytope."""
    scores, costs, truth = examples.part_gains(w, i)
    A = sp.csr_array(polytope.A)
    if A.shape[1] == 0:
        return 0.0
    low, high, lower, upper = (limits.copy() for limits in polytope.limits())
    gains = np.concatenate([scores + costs, np.zeros(A.shape[1] - len(scores))])
    forbidden = np.isneginf(gains)
    gains[forbidden] = upper[forbidden] = 0.0
    equal = low == high
    rest = sp.vstack([A[(high < np.inf) & ~equal], -A[(low > -np.inf) & ~equal]])
    limits = np.concatenate([high[(high < np.inf) & ~equal], -low[(low > -np.inf) & ~equal]])
    solution = linprog(
        -gains, A_ub=rest, b_ub=limits, A_eq=A[equal], b_eq=low[equal], bounds=np.stack([lower, upper], axis=1)
    )
    assert solution.status == 0, solution.message
    return float(-solution.fun - gains[: len(truth)] @ truth)


class StructureConformance(SumsConformance):
    """Tests of what every compiled structure must do, to be inherited by a test class.

    A subclass writes ``instance(seed)``, which returns an `Instance`, and may set the attributes below. Methods of
    the subclass marked with `every_case` are run on the same instances.

    Attributes
    ----------
    bad_input : tuple
        Tuples (structure, X, Y, message): `fit` must raise a ValueError that contains the message.
    n_cases : int
        Number of instances, by default ``MAXMARGIN_CASES`` of the environment, or 12.
    n_checked : int, default=2
        Number of instances on which `check_structure` is run; 0 if it cannot judge the structure.

    Examples
    --------
    The page "Adding to the library" has an `Instance` in full.

    >>> from maxmargin.testing import StructureConformance
    >>> class TestMine(StructureConformance):
    ...     def instance(self, seed):
    ...         return MyInstance(seed)
    """

    n_cases = int(os.environ.get("MAXMARGIN_CASES", "12"))
    n_checked = 2
    bad_input: tuple[tuple[Any, Any, Any, str], ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Leave out the tests for which a class lists nothing, so they are not collected."""
        super().__init_subclass__(**options)
        for name, listed in (
            ("test_check_structure_finds_no_fault", cls.n_checked),
            ("test_bad_input_is_refused", cls.bad_input),
        ):
            if name not in vars(cls):
                setattr(cls, name, getattr(StructureConformance, name) if listed else None)

    def instance(self, seed: int) -> Instance:
        """Return the instance of a seed, the same each time."""
        raise NotImplementedError

    # ------------------------------------------------------------------ argmaxes

    @every_case
    def test_decode_is_the_best_of_all_outputs(self, case):
        for ids in case.batches():
            scales = case.rng.choice(SCALES, len(ids))
            answers = case.decoded(ids, scales)
            case.check(answers, ids, lambda rise, loss, r: rise + scales[r] * loss)  # noqa: B023

    @every_case
    def test_bounds_are_exact_or_bounded_from_above(self, case):
        """Where no exact argmax is offered, the search proves an upper bound on what it may have missed.

        So it does when it has been closed by a ranking of outputs.
        """
        ids = case.rng.permutation(case.n)
        for bound in BOUNDS:
            if case.examples.exact_for(bound):
                answers = case.examples.empty_answers()
                case.examples.decode_bound(case.w, ids, bound, answers)
                case.check(answers, ids, lambda rise, loss, _: float(bound.violation(rise, max(loss, 0.0))))  # noqa: B023
            problem = Problem(case.examples, bound, Objective(1.0, np.ones(case.n), bound.slack))
            best = [max(0.0, case.best(i, lambda m, b: float(bound.violation(m, max(b, 0.0))))) for i in ids.tolist()]  # noqa: B023
            again = True
            while again:
                problem.decode(case.w, ids)
                assert (problem.hinges[ids] <= best + 1e-9 * (1 + np.array(best))).all()
                assert (problem.upper_hinges[ids] >= best - 1e-9 * (1 + np.array(best))).all()
                if not problem.searches:
                    assert problem.hinges[ids] == pytest.approx(best, rel=1e-9, abs=1e-9)
                again = problem.close_searches()

    @every_case
    def test_certificates_are_true(self, case):
        """The objective is recomputed over all outputs, in rational numbers."""
        if case.examples.dim * sum(map(len, case.psis)) > 20_000:
            return NOT_CHECKED
        bound, C = case.choose(*BOUNDS), case.choose(0.01, 1.0, 100.0)
        primals, duals = [], []
        for solver in (ProximalWorkingSets(), NSlack()):
            objective = Objective(C, np.ones(case.n), bound.slack, case.examples.lower)
            problem = Problem(case.examples, bound, objective)
            state = solver.init(problem, seed=1)
            solver.run(problem, state, Limits(1e-4, 60))
            certificate, primal = state.certificate(problem), exact_primal(case, state.best_w, bound, C)
            assert certificate.primal_bound >= primal * (1 - 1e-12) - 1e-12
            if certificate.exact:
                assert certificate.primal == pytest.approx(primal, rel=2e-6, abs=1e-12)
            primals.append(primal)
            duals.append(certificate.dual)
        assert max(duals) <= min(primals) * (1 + 1e-9) + 1e-12
        return None

    @every_case
    def test_a_batch_answers_as_its_examples_do_one_by_one(self, case):
        scales = case.rng.choice(SCALES, case.n)
        together, again = (case.decoded(np.arange(case.n), scales) for _ in range(2))
        for name in ("codes", "losses", "rises", "keys"):
            np.testing.assert_array_equal(getattr(together, name), getattr(again, name))
        alone = case.examples.empty_answers()
        for i in case.rng.permutation(case.n).tolist():
            case.examples.decode(case.w, np.array([i]), scales[i : i + 1], alone)
        worth, other = (a.rises + scales * a.losses for a in (together, alone))
        np.testing.assert_allclose(other, worth, atol=1e-9)
        if case.whole:  # sums are exact, so ties are ties, and broken the same way
            np.testing.assert_array_equal(alone.codes, together.codes)
            np.testing.assert_array_equal(alone.keys, together.keys)

    @every_case
    def test_the_four_methods_agree_with_the_batch(self, case):
        s, w, scales = case.structure, case.w, np.full(case.n, 0.7)
        answers = case.decoded(np.arange(case.n), scales)
        for i, (x, y) in enumerate(zip(case.inputs(), case.Y, strict=True)):
            outputs = case.outputs(i)
            expected = {case.name(case.shown(i, output)) for output in outputs}
            assert {case.name(output) for output in s.enumerate(x)} == expected
            self._check_joint_features(case, i, x, y)
            best = case.best(i, lambda m, b: m)
            assert self._rise_of(case, i, s.argmax(w, x), best) == pytest.approx(best, abs=1e-9)
            violator = s.loss_augmented_argmax(w, x, y, 0.7)
            if case.whole:
                assert case.name(violator) == case.name(case.shown(i, case.found(answers, i)))

    def _check_joint_features(self, case, i, x, y):
        s = case.structure
        np.testing.assert_allclose(s.joint_feature(x, y), case.psis[i][case.name(case.truth(i))], atol=1e-9)
        assert s.loss(y, y) == 0.0
        for output in case.outputs(i)[:12]:
            if case.shown(i, output) is output:
                np.testing.assert_allclose(s.joint_feature(x, output), case.psis[i][case.name(output)], atol=1e-9)
                assert s.loss(y, output) == pytest.approx(case.loss(i, output), abs=1e-12)

    @staticmethod
    def _rise_of(case, i, output, best):
        """The best rise of all that users see as this output."""
        same = [y for y in case.outputs(i) if case.name(case.shown(i, y)) == case.name(output)]
        return max(case.rise(i, y) for y in same)

    @every_case
    def test_prediction_without_truths(self, case):
        examples = case.structure.encode(case.unlabelled())
        answers = case.decoded(np.arange(case.n), np.ones(case.n), examples)
        assert not answers.losses.any()
        for i, output in enumerate(examples.outputs(answers)):
            best = case.best(i, lambda m, b: m)
            assert self._rise_of(case, i, output, best) == pytest.approx(best, abs=1e-9)

    @every_case
    def test_capabilities_are_known(self, case):
        assert case.structure.capabilities <= CAPABILITIES.keys()
        assert case.examples.latent == ("latent" in case.structure.capabilities)
        if case.examples.summable:  # which may depend on the data
            assert "sums" in case.structure.capabilities

    # ------------------------------------------------------------------ k best outputs and max-marginals

    @every_case(needs="topk")
    def test_topk_is_the_sorted_enumeration(self, case):
        k = int(case.rng.integers(1, 8))
        for i, x in enumerate(case.inputs()):
            scores = {name: float(case.w @ psi) for name, psi in case.psis[i].items()}
            ranked = case.structure.topk(case.w, x, k)
            names = [case.name(output) for output, _ in ranked]
            assert len(set(names)) == len(names) == min(k, len(scores))
            np.testing.assert_allclose([v for _, v in ranked], sorted(scores.values())[::-1][:k], atol=1e-9)
            np.testing.assert_allclose([scores[name] for name in names], [v for _, v in ranked], atol=1e-9)

    @every_case(needs="topk")
    def test_topk_is_sorted_at_every_scale(self, case):
        """Whatever forces parts into outputs must neither outweigh small scores nor be outweighed by large ones."""
        for i, x in enumerate(case.inputs()):
            for scale in (1e-150, 1e150):
                w = scale * case.w
                scores = {name: float(case.w @ psi) for name, psi in case.psis[i].items()}
                ranked = case.structure.topk(w, x, 6)
                expected = np.array(sorted(scores.values())[::-1][:6])
                np.testing.assert_allclose([v / scale for _, v in ranked], expected, atol=1e-9)
                np.testing.assert_allclose([scores[case.name(output)] for output, _ in ranked], expected, atol=1e-9)

    @every_case(needs="max_marginals")
    def test_max_marginals_are_the_best_of_all_outputs_that_have_a_part(self, case):
        examples = case.structure.encode(case.unlabelled())
        for ids in case.batches():
            for i, marginals in zip(ids.tolist(), examples.max_marginals(case.w, ids), strict=True):
                self._check_max_marginals(marginals, case.max_marginals(i, marginals), 1.0)
        for scale in (1e-150, 1e150):
            for i, marginals in enumerate(examples.max_marginals(scale * case.w, np.arange(case.n))):
                self._check_max_marginals(marginals, case.max_marginals(i, marginals), scale)

    @staticmethod
    def _check_max_marginals(marginals, expected, scale):
        """Compare an array, or arrays by name; entries that are expected as NaN are not known to either."""
        if not isinstance(marginals, dict):
            marginals, expected = {"parts": marginals}, {"parts": expected}
        assert marginals.keys() == expected.keys()
        for name, values in marginals.items():
            np.testing.assert_allclose(values / scale, expected[name], atol=1e-9, err_msg=name)

    # ------------------------------------------------------------------ latent variables

    @every_case(needs="latent")
    def test_completions_are_the_best_that_are_consistent(self, case):
        answers, ids = case.examples.empty_answers(), case.rng.permutation(case.n)
        case.examples.complete(case.w, ids, answers)
        case.check(answers, ids, lambda rise, loss, _: rise, case.consistent)
        assert not answers.losses[ids].any()
        for i, (x, y) in enumerate(zip(case.inputs(), case.Y, strict=True)):
            completed = case.structure.complete(case.w, x, y)
            assert case.name(completed) == case.name(case.shown(i, case.found(answers, i)))

    @every_case(needs="latent")
    def test_first_completions_are_consistent(self, case):
        answers = case.examples.empty_answers()
        case.examples.initial_completion(np.random.default_rng(0), answers)
        assert not answers.losses.any()
        for i in range(case.n):
            completion = case.found(answers, i)
            assert case.consistent(i, completion)
            assert (answers.keys[i] == TRUTH) == (case.name(completion) == case.name(case.truth(i)))
        case.check_planes(answers, np.arange(case.n))

    # ------------------------------------------------------------------ polytopes

    @every_case(needs="polytope")
    def test_linear_programs_have_the_maxima_of_argmaxes(self, case):
        """Or, where a polytope has other vertices than outputs, maxima that are at least as great."""
        n_checked = 0
        for i in range(case.n):
            try:
                polytope = case.examples.polytope(i)
            except ValueError:  # too large, or the loss is not a sum over parts
                continue
            n_checked += 1
            for w in (np.zeros(case.examples.dim), case.w, 3.0 * case.weights()):
                maximum, truth = linear_maximum(case.examples, i, w, polytope), case.psis[i][case.name(case.truth(i))]
                outputs = [(case.psis[i][case.name(y)] - truth, case.loss(i, y)) for y in case.outputs(i)]
                best = max(float(w @ rise) + loss for rise, loss in outputs)
                assert maximum >= best - 1e-7
                if case.examples.integral:
                    assert maximum == pytest.approx(best, abs=1e-7)
        return None if n_checked else NOT_CHECKED

    @every_case(needs="polytope")
    def test_features_of_parts_give_their_scores(self, case):
        for i in range(case.n):
            features, (scores, _, counts) = case.examples.part_features(i), case.examples.part_gains(case.w, i)
            usable = np.isfinite(scores)
            assert features.shape == (len(scores), case.examples.dim)
            np.testing.assert_allclose((features @ case.w)[usable], scores[usable], atol=1e-9)
            truth = case.psis[i][case.name(case.truth(i))]
            np.testing.assert_allclose(features.T @ counts, truth, atol=1e-9)

    # ------------------------------------------------------------------ scores of parts

    @every_case
    def test_scores_decode_as_weights_do(self, case):
        for ids in case.batches():
            scales = case.rng.choice(SCALES, len(ids))
            answers, other = case.decoded(ids, scales), case.examples.empty_answers()
            case.examples.decode_scores(case.examples.scores(case.w, ids), ids, scales, other)
            worth = answers.rises[ids] + scales * answers.losses[ids]
            np.testing.assert_allclose(other.rises[ids] + scales * other.losses[ids], worth, atol=1e-9)
            if case.whole:
                for name in ("codes", "losses", "rises", "keys"):
                    np.testing.assert_array_equal(getattr(other, name), getattr(answers, name))

    @every_case
    def test_changes_are_the_gradient_of_the_hinges(self, case):
        ids, examples = np.arange(case.n), case.examples
        scales, factors = case.rng.choice(SCALES[1:], case.n), case.rng.random(case.n)
        scores = examples.scores(case.w, ids)
        answers, other = examples.empty_answers(), examples.empty_answers()
        examples.decode_scores(scores, ids, scales, answers)
        gradients = [s.gradient(c, factors) for s, c in zip(scores, examples.changes(ids, answers), strict=True)]

        def hinges(step):
            moved = [Scores(s.values + step * d, s.starts) for s, d in zip(scores, directions, strict=True)]
            examples.decode_scores(moved, ids, scales, other)
            return float(factors @ (other.rises + scales * other.losses)), other.keys.copy()

        directions = case.directions(scores)
        slope = sum(float(g @ d) for g, d in zip(gradients, directions, strict=True))
        here = float(factors @ (answers.rises + scales * answers.losses))
        step = 1e-6
        (above, keys), (below, other_keys) = hinges(step), hinges(-step)
        if (keys == answers.keys).all() and (other_keys == answers.keys).all():
            assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-6)
        for far in (0.3, 2.0):  # convex: no tangent lies above
            assert hinges(far)[0] >= here + far * slope - 1e-7 * (1 + abs(here) + abs(slope))

    @every_case
    def test_sums_of_planes(self, case):
        """Also those of answers that are older than the last decode."""
        ids = case.rng.permutation(case.n)
        old = case.decoded(ids, np.ones(case.n))
        expected = case.examples.planes(ids, old).matrix(case.examples.dim).toarray()
        case.examples.decode(case.weights(), ids, np.zeros(case.n), case.examples.empty_answers())
        again = case.examples.planes(ids, old).matrix(case.examples.dim).toarray()
        np.testing.assert_array_equal(again, expected)
        coefficients, total = case.rng.normal(size=case.n), np.ones(case.examples.dim)
        case.examples.aggregate(ids, old, coefficients, total)
        np.testing.assert_allclose(total, 1.0 + coefficients @ expected, atol=1e-9)

    # ------------------------------------------------------------------ saving and splitting

    @every_case
    def test_parts_of_the_examples_answer_as_the_whole(self, case):
        ids = case.rng.permutation(case.n)[: case.n // 2 + 1]
        scales = case.rng.choice(SCALES, case.n)
        whole = case.decoded(np.arange(case.n), scales)
        for examples in (case.examples.take(ids), pickle.loads(pickle.dumps(case.examples.take(ids)))):
            answers = case.decoded(np.arange(len(ids)), scales[ids], examples)
            worth = (whole.rises + scales * whole.losses)[ids]
            np.testing.assert_allclose(answers.rises + scales[ids] * answers.losses, worth, atol=1e-9)
            planes = examples.planes(np.arange(len(ids)), answers)
            np.testing.assert_allclose(planes.dot(case.w), -answers.rises, atol=1e-9)
            if case.whole:
                np.testing.assert_array_equal(answers.keys, whole.keys[ids])
                expected = case.examples.planes(ids, whole).matrix(case.examples.dim).toarray()
                np.testing.assert_array_equal(planes.matrix(examples.dim).toarray(), expected)

    @every_case
    def test_saved_and_loaded(self, case):
        s = case.structure
        answers = case.decoded(np.arange(case.n), np.zeros(case.n))
        for again in (type(s).from_state(s.get_state()), pickle.loads(pickle.dumps(s))):
            assert again.size == s.size == case.examples.dim == len(s.feature_names())
            np.testing.assert_array_equal(again.feature_names(), s.feature_names())
            other = case.decoded(np.arange(case.n), np.zeros(case.n), again.encode(case.X, case.Y))
            np.testing.assert_allclose(other.rises, answers.rises, atol=1e-9)
        assert case.fresh().fit_encode(case.X, case.Y).digest() == case.examples.digest()
        outputs = case.examples.outputs(answers)
        assert repr(s.unpack_outputs(s.pack_outputs(outputs))) == repr(outputs)
        if hasattr(s, "split_weights"):
            assert sum(table.size for table in s.split_weights(case.w).values()) >= s.size

    @every_case
    def test_keys_tell_outputs_apart(self, case):
        seen: list[dict[str, set[int]]] = [{} for _ in range(case.n)]
        for _ in range(6):
            case.w = case.weights()
            answers = case.decoded(np.arange(case.n), case.rng.choice(SCALES, case.n))
            for i in range(case.n):
                seen[i].setdefault(case.name(case.found(answers, i)), set()).add(int(answers.keys[i]))
        for keys in seen:
            assert all(len(same) == 1 for same in keys.values())
            assert len(set.union(*keys.values())) == len(keys)

    # ------------------------------------------------------------------ checks

    def test_check_structure_finds_no_fault(self):
        for seed in range(self.n_checked):
            case = self.instance(seed)
            report = check_structure(case.fresh(), list(case.inputs()), case.Y, n_trials=5)
            assert report.ok, f"instance {seed}: {report}"

    def test_bad_input_is_refused(self):
        for structure, X, Y, message in self.bad_input:
            with pytest.raises(ValueError) as error:
                structure.fit(X, Y)
            assert message in str(error.value), f"expected {message!r} in {error.value}"
