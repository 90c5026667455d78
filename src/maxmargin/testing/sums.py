"""Sums over outputs, against enumeration by hand: log-partition, marginals, entropy, samples, least risk."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chi2

from maxmargin.core.scores import Scores
from maxmargin.testing.cases import NOT_CHECKED, every_case, pytest

#: Factors of the scores: outputs that are nearly equally probable, and some that are nearly impossible.
FACTORS = (0.1, 1.0, 30.0)
#: Outputs of an example up to which samples are counted, and pairs of outputs compared.
MOST_OUTPUTS = 60


class SumsConformance:
    """What a structure with sums over its outputs must do (capability "sums")."""

    #: Whether the total of a truth is the log-sum over all its completions, for latent structures.
    sums_over_completions = False

    @staticmethod
    def _enumerated(case, i, w):
        """All outputs of an example, their joint features, log Z and probabilities.

        Features are relative to the output that decision scores are relative to, if there is one.
        """
        outputs, base = case.outputs(i), case.no_parts(i)
        psis = np.array([case.psis[i][case.name(output)] for output in outputs])
        if base is not None:
            psis = psis - case.psis[i][case.name(base)]
        scores = psis @ w
        log_z = logsumexp(scores)
        return outputs, psis, log_z, np.exp(scores - log_z)

    @staticmethod
    def _true_psi(case, i):
        """The joint features of the truth, relative as those of `_enumerated`."""
        psi, base = case.psis[i][case.name(case.truth(i))], case.no_parts(i)
        return psi if base is None else psi - case.psis[i][case.name(base)]

    @every_case(needs="sums")
    def test_sums_are_those_over_all_outputs(self, case):
        """Log-partition, expected scores, entropy, and the expectation of Ψ by marginals."""
        for factor in FACTORS:
            w = factor * case.w
            for ids in case.batches():
                coefficients = case.rng.normal(size=len(ids))
                sums = case.examples.sums(case.examples.scores(w, ids), ids, coefficients)
                total, expected = np.zeros(case.examples.dim), np.zeros(case.examples.dim)
                case.examples.add_features(sums.marginals, ids, total)
                for r, i in enumerate(ids.tolist()):
                    _, psis, log_z, p = self._enumerated(case, i, w)
                    size = 1.0 + np.abs(psis @ w).max()
                    assert sums.log_partitions[r] == pytest.approx(log_z, abs=1e-10 * size)
                    assert sums.expected_scores[r] == pytest.approx(p @ (psis @ w), abs=1e-8 * size)
                    positive = p[p > 0]
                    assert sums.entropies[r] == pytest.approx(-positive @ np.log(positive), abs=1e-8 * size)
                    expected += coefficients[r] * (p @ psis)
                np.testing.assert_allclose(total, expected, atol=1e-8 * (1 + np.abs(expected).max(initial=0.0)))

    @every_case(needs="sums")
    def test_expected_losses_are_those_over_all_outputs(self, case):
        """The loss is a sum over parts, or the error says that it is not."""
        examples = case.examples
        for i in range(case.n if not examples.latent else 0):
            ids = np.array([i])
            try:
                values = examples.expected_losses(examples.scores(case.w, ids), ids)
            except ValueError as error:
                assert "sum over" in str(error)
                return
            outputs, _, _, p = self._enumerated(case, i, case.w)
            losses = [case.loss(i, output) for output in outputs]
            assert values[0] == pytest.approx(p @ losses, abs=1e-8 * (1.0 + max(losses)))

    @every_case(needs="sums")
    def test_marginals_are_the_gradient_of_the_log_partition(self, case):
        """By finite differences in a random direction."""
        ids, examples = np.arange(case.n), case.examples
        scores = examples.scores(case.w, ids)
        coefficients = case.rng.random(case.n)
        marginals = examples.sums(scores, ids, coefficients).marginals
        directions = case.directions(scores)

        def value(step):
            moved = [Scores(s.values + step * d, s.starts) for s, d in zip(scores, directions, strict=True)]
            return float(coefficients @ examples.sums(moved, ids).log_partitions)

        slope = sum(float(m @ d) for m, d in zip(marginals, directions, strict=True))
        assert (value(1e-5) - value(-1e-5)) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-5)

    @every_case(needs="sums")
    def test_sums_of_large_scores(self, case):
        """Scores of ten thousand neither overflow nor lose the best output."""
        ids = np.arange(case.n)
        w = case.w * (1e4 / max(np.abs(case.w).max(), 1e-12))
        sums = case.examples.sums(case.examples.scores(w, ids), ids)
        for i in range(case.n):
            log_z = self._enumerated(case, i, w)[2]
            assert sums.log_partitions[i] == pytest.approx(log_z, rel=1e-10, abs=1e-6)
        assert all(np.isfinite(values).all() for values in sums.marginals)

    @every_case(needs="sums")
    def test_sums_of_scores_of_any_size(self, case):
        """Where differences of scores drown in rounding errors, the best outputs remain, and nothing overflows."""
        ids = np.arange(case.n)
        for size in (1e30, 1e200):
            w = case.w * (size / max(np.abs(case.w).max(), 1e-12))
            scores = case.examples.scores(w, ids)
            sums = case.examples.sums(scores, ids)
            assert all(np.isfinite(values).all() for values in sums.marginals)
            assert (sums.entropies >= 0.0).all()
            for i in range(case.n):
                _, psis, log_z, _ = self._enumerated(case, i, w)
                largest = float((np.abs(psis) @ np.abs(w)).max(initial=size))
                assert sums.log_partitions[i] == pytest.approx(log_z, abs=1e-6 * largest)
            codes = case.examples.samples(scores, ids, 2, np.arange(case.n, dtype=np.uint64))
            answers = case.examples.empty_answers()
            for code in codes:
                answers.codes[:] = code
                for i in range(case.n):
                    assert case.name(case.found(answers, i)) in map(case.name, case.outputs(i))

    @every_case(needs="sums")
    def test_truths_and_losses(self, case):
        """Scores of truths, their subtraction, and sums of score + loss."""
        ids, examples = case.rng.permutation(case.n), case.examples
        scores, coefficients = examples.scores(case.w, ids), case.rng.normal(size=case.n)
        totals, true = zip(*(self._truth(case, i) for i in ids.tolist()), strict=True)
        np.testing.assert_allclose(examples.true_totals(scores, ids), totals, atol=1e-9)
        zeros, total = [np.zeros_like(block.values) for block in scores], np.zeros(examples.dim)
        examples.subtract_truths(zeros, scores, ids, coefficients)
        examples.add_features(zeros, ids, total)
        np.testing.assert_allclose(total, -coefficients @ np.array(true), atol=1e-8)
        scales = case.rng.choice([0.5, 2.0], case.n)
        try:
            augmented = examples.augmented(scores, ids, scales)
        except ValueError as error:
            assert "not a sum over" in str(error)
            return
        rises = examples.sums(augmented, ids).log_partitions - examples.true_totals(augmented, ids)
        for r, i in enumerate(ids.tolist()):
            outputs, level = case.outputs(i), self._truth(case, i)[0] - case.w @ self._true_psi(case, i)
            values = [case.rise(i, output) + scales[r] * case.loss(i, output) - level for output in outputs]
            assert rises[r] == pytest.approx(logsumexp(values), abs=1e-8)

    def _truth(self, case, i):
        """Score and joint features of the truth, or log-sum and expectation over its completions."""
        if not self.sums_over_completions:
            psi = self._true_psi(case, i)
            return case.w @ psi, psi
        psis = np.array([case.psis[i][case.name(output)] for output in case.outputs(i) if case.consistent(i, output)])
        scores = psis @ case.w
        log_sum = logsumexp(scores)
        return log_sum, np.exp(scores - log_sum) @ psis

    @every_case(needs="sums")
    def test_samples_follow_the_distribution(self, case):
        """A χ² test for each example with few outputs; the seeds are fixed."""
        ids, n, w = np.arange(case.n), 400, 0.5 * case.w
        seeds = np.arange(1, case.n + 1, dtype=np.uint64) * np.uint64(7919)
        codes = case.examples.samples(case.examples.scores(w, ids), ids, n, seeds)
        assert codes.shape == (n, int(case.examples.code_offsets[-1]))
        checked, answers = 0, case.examples.empty_answers()
        for i in ids.tolist():
            outputs, _, _, p = self._enumerated(case, i, w)
            if len(outputs) > MOST_OUTPUTS:
                continue
            a, b = case.examples.code_offsets[i : i + 2]
            counts: Counter[Any] = Counter()
            for code, count in zip(*np.unique(codes[:, a:b], axis=0, return_counts=True), strict=True):
                answers.codes[a:b] = code
                counts[case.name(case.found(answers, i))] += int(count)
            observed = np.array([counts.pop(case.name(output), 0) for output in outputs])
            assert not counts, f"samples that are no outputs: {counts}"
            assert not observed[p == 0.0].any()
            common = n * p >= 5.0
            seen, expected = list(observed[common]), list(n * p[common])
            if not common.all():
                seen.append(observed[~common].sum())
                expected.append(n * p[~common].sum())
            if len(expected) > 1 and min(expected) > 1.0:
                statistic = sum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True))
                assert chi2.sf(statistic, len(expected) - 1) > 1e-6
            checked += 1
        last = ids[-1:]
        alone = case.examples.samples(case.examples.scores(w, last), last, n, seeds[-1:])
        np.testing.assert_array_equal(alone, codes[:, int(case.examples.code_offsets[-2]) :])
        return None if checked else NOT_CHECKED

    @every_case(needs="sums")
    def test_decisions_of_least_risk(self, case):
        """The argmax of `risk_scores` has the least expected loss of all outputs."""
        ids, examples = np.arange(case.n), case.structure.encode(case.unlabelled())
        scores = examples.scores(case.w, ids)
        sums, answers = examples.sums(scores, ids), examples.empty_answers()
        try:
            examples.decode_scores(examples.risk_scores(sums.marginals, scores, ids), ids, np.zeros(case.n), answers)
        except ValueError as error:
            assert "not a sum over" in str(error)
            return None
        checked = 0
        for i in range(case.n):
            outputs, _, _, p = self._enumerated(case, i, case.w)
            if len(outputs) > MOST_OUTPUTS:
                continue
            shown = [case.shown(i, output) for output in outputs]
            risks = {
                case.name(y_hat): sum(q * self.risk(case, y, y_hat) for q, y in zip(p, shown, strict=True))
                for y_hat in shown
            }
            chosen = case.name(case.shown(i, case.found(answers, i)))
            assert risks[chosen] == pytest.approx(min(risks.values()), abs=1e-8)
            checked += 1
        return None if checked else NOT_CHECKED

    def risk(self, case, y, y_hat):
        """The loss whose expectation `risk_scores` minimises with gamma = 1; by default that of the structure."""
        return case.structure.loss(y, y_hat)
