"""One test class for all structures: everything a structure promises, against enumeration by hand.

A structure's own test file has an `Instance`, random data with joint features and losses computed in plain Python, and
a subclass of `StructureConformance` that makes instances. The number of instances is `MAXMARGIN_CASES`, few by default;
`python -m benchmarks conformance` runs many.
"""

from __future__ import annotations

import functools
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from instance import Instance

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.codes import TRUTH
from maxmargin.core.objective import Objective
from maxmargin.core.problem import Problem
from maxmargin.core.scores import Scores
from maxmargin.solvers.base import Limits
from maxmargin.solvers.nslack import NSlack
from maxmargin.solvers.proximal import ProximalWorkingSets

BOUNDS = [Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic")]
SCALES = (0.0, 0.5, 1.0, 3.0, 10.0)


def every_case(test):
    """Run a test of one instance on many; a failure names the seed."""

    @functools.wraps(test)
    def run(self):
        for seed in range(self.n_cases):
            case = self.instance(seed)
            try:
                test(self, case)
            except BaseException as error:
                error.add_note(f"instance {seed} of {type(self).__name__}")
                raise

    del run.__wrapped__  # or pytest would ask for a fixture named case
    return run


def exact_primal(case, w, bound, C):
    """½‖w‖² + C Σ ξ, or ½ C Σ ξ² with quadratic slack, over all outputs of a case."""
    weights = [Fraction(v) for v in w]
    total = sum(v * v for v in weights) / 2
    for i in range(case.n):
        true, hinge = case.psis[i][case.name(case.truth(i))], Fraction(0)
        for output in case.outputs(i):
            plane = true - case.psis[i][case.name(output)]
            loss = max(case.loss(i, output), 0.0)
            margin = Fraction(float(np.sqrt(loss) if bound.slack == "quadratic" else loss))
            score = sum(Fraction(a) * v for a, v in zip(plane, weights, strict=True) if a)
            hinge = max(hinge, margin - score if bound.rescaling == "margin" else margin * (1 - score))
        total += Fraction(C) * (hinge if bound.slack == "linear" else hinge * hinge / 2)
    return float(total)


class StructureConformance:
    """What every structure must do. A subclass writes `instance` and may list `bad_input`."""

    n_cases = int(os.environ.get("MAXMARGIN_CASES", "12"))
    #: Instances on which `check_structure` is run.
    n_checked = 2
    #: (structure, X, Y, what the message says) of input that must be refused.
    bad_input: tuple = ()

    def instance(self, seed: int) -> Instance:
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
        """Where no exact argmax is offered, the search proves an upper bound of what it may have missed."""
        ids = case.rng.permutation(case.n)
        for bound in BOUNDS:
            if case.examples.exact_for(bound):
                answers = case.examples.empty_answers()
                case.examples.decode_bound(case.w, ids, bound, answers)
                case.check(answers, ids, lambda rise, loss, _: float(bound.violation(rise, max(loss, 0.0))))  # noqa: B023
            problem = Problem(case.examples, bound, Objective(1.0, np.ones(case.n), bound.slack))
            problem.decode(case.w, ids)
            for i in ids.tolist():
                best = max(0.0, case.best(i, lambda m, b: float(bound.violation(m, max(b, 0.0)))))  # noqa: B023
                assert problem.hinges[i] <= best + 1e-9 * (1 + best)
                assert problem.upper_hinges[i] >= best - 1e-9 * (1 + best)
                if not problem.searches:
                    assert problem.hinges[i] == pytest.approx(best, rel=1e-9, abs=1e-9)

    @every_case
    def test_certificates_are_true(self, case):
        """The objective is recomputed over all outputs, in rational numbers."""
        if case.examples.dim * sum(map(len, case.psis)) > 20_000:
            return
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
        if case.whole:  # sums are exact, so that ties are ties, and broken the same way
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
            found = s.loss_augmented_argmax(w, x, y, 0.7)
            if case.whole:
                assert case.name(found) == case.name(case.shown(i, case.found(answers, i)))

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
    def test_topk_is_the_sorted_enumeration(self, case):
        if not hasattr(case.structure, "topk"):
            return
        k = int(case.rng.integers(1, 8))
        for i, x in enumerate(case.inputs()):
            scores = {name: float(case.w @ psi) for name, psi in case.psis[i].items()}
            ranked = case.structure.topk(case.w, x, k)
            names = [case.name(output) for output, _ in ranked]
            assert len(set(names)) == len(names) == min(k, len(scores))
            np.testing.assert_allclose([v for _, v in ranked], sorted(scores.values())[::-1][:k], atol=1e-9)
            np.testing.assert_allclose([scores[name] for name in names], [v for _, v in ranked], atol=1e-9)

    @every_case
    def test_max_marginals_are_the_best_of_all_outputs_that_have_a_part(self, case):
        examples = case.structure.encode(case.unlabelled())
        for ids in case.batches():
            if case.cells(0, case.outputs(0)[0]) is None:
                return
            for i, found in zip(ids.tolist(), examples.max_marginals(case.w, ids), strict=True):
                base = case.no_parts(i)
                base = 0.0 if base is None else float(case.w @ case.psis[i][case.name(base)])
                expected = np.full(found.shape, -np.inf)
                for output in case.outputs(i):
                    score = float(case.w @ case.psis[i][case.name(output)]) - base
                    for cell in case.cells(i, output):
                        expected[cell] = max(expected[cell], score)
                np.testing.assert_allclose(found, expected, atol=1e-9)

    # ------------------------------------------------------------------ latent variables

    @every_case
    def test_completions_are_the_best_that_are_consistent(self, case):
        if not case.examples.latent:
            return
        answers, ids = case.examples.empty_answers(), case.rng.permutation(case.n)
        case.examples.complete(case.w, ids, answers)
        case.check(answers, ids, lambda rise, loss, _: rise, case.consistent)
        assert not answers.losses[ids].any()
        for i, (x, y) in enumerate(zip(case.inputs(), case.Y, strict=True)):
            completed = case.structure.complete(case.w, x, y)
            assert case.name(completed) == case.name(case.shown(i, case.found(answers, i)))

    @every_case
    def test_first_completions_are_consistent(self, case):
        if not case.examples.latent:
            return
        answers = case.examples.empty_answers()
        case.examples.initial_completion(np.random.default_rng(0), answers)
        assert not answers.losses.any()
        for i in range(case.n):
            found = case.found(answers, i)
            assert case.consistent(i, found)
            assert (answers.keys[i] == TRUTH) == (case.name(found) == case.name(case.truth(i)))
        case.check_planes(answers, np.arange(case.n))

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
        seen = [{} for _ in range(case.n)]
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
            report = mm.check_structure(case.fresh(), list(case.inputs()), case.Y, n_trials=5)
            assert report.ok, f"instance {seed}: {report}"

    def test_bad_input_is_refused(self):
        for structure, X, Y, message in self.bad_input:
            with pytest.raises(ValueError) as error:
                structure.fit(X, Y)
            assert message in str(error.value), f"expected {message!r} in {error.value}"
