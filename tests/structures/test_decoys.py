"""Homologues among decoys against all alignments of all candidates."""

import numpy as np
import pytest
from scipy.special import logsumexp

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.scores import Scores
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.alignment import DecoySets


class TestDecoys(StructureConformance):
    sums_over_completions = True
    n_checked = 2
    bad_input = (
        (mm.Decoys(), [("AC", "AC")], [None], "X[0]: expected (native, homologue, decoys)"),
        (mm.Decoys(), [("AC", "AC", [])], [None], "X[0]: expected a list of at least one decoy"),
        (mm.Decoys(), [("AC", "AC", "AC")], [None], "X[0]: expected a list of at least one decoy"),
        (mm.Decoys(), [("AC", "AC", ["A", "?"])], [None], "X[0], decoy 1, position 0: character '?'"),
        (mm.Decoys(), [("AC", "AC", [3])], [None], "X[0], decoy 0: expected a string"),
        (mm.Decoys(), [("AC", "AC", ["A"])], [("AC", "AD")], "Y[0]: the alignment has 'D' as letter 1"),
        (mm.Decoys(), [("AC", "A", ["A"])] * 2, [("AC", "A-"), None], "Y[1]: expected alignments of all homologues"),
        (mm.Decoys(mode="x"), [("AC", "A", ["A"])], [None], "mode must be"),
    )

    def instance(self, seed):
        return DecoySets(seed)


def test_given_alignments_are_compared_with_decoys_only():
    """Other alignments of the homologue, however good, are not among the outputs of a fit."""
    for seed in range(12):
        case = DecoySets(seed)
        Y = [case.choose(*case.alignments(first)) for first in case.firsts]
        examples = case.structure.encode(case.X, Y)
        ids, scales = np.arange(3), case.rng.choice([0.0, 0.5, 2.0], 3)
        answers = examples.empty_answers()
        examples.decode(case.w, ids, scales, answers)
        rises, losses, worths = answers.rises.copy(), answers.losses.copy(), []
        for i in range(3):
            true = mm.outputs.ChosenAlignment(0, Y[i])
            base = float(case.w @ case.psi(i, true))
            allowed = [true, *(output for output in case.outputs(i) if output.candidate)]
            worths.append([float(case.w @ case.psi(i, output)) - base for output in allowed])
            found = examples.output(i, 0, answers.codes[examples.code_offsets[i] : examples.code_offsets[i + 1]])
            assert found in allowed
            assert losses[i] == (found != true)
            assert rises[i] == pytest.approx(float(case.w @ case.psi(i, found)) - base, abs=1e-9)
            best = max(worth + scales[i] * (k > 0) for k, worth in enumerate(worths[i]))
            assert rises[i] + scales[i] * losses[i] == pytest.approx(best, abs=1e-9)
        for bound in (Bound("margin", "quadratic"), Bound("slack", "linear")):
            examples.decode_bound(case.w, ids, bound, answers)
            for i in range(3):
                best = max(0.0, *(float(bound.violation(worth, 1.0)) for worth in worths[i][1:]))
                assert max(float(bound.violation(answers.rises[i], answers.losses[i])), 0.0) == pytest.approx(best)


@pytest.mark.parametrize("given", [False, True])
def test_likelihood_of_homologues(given):
    """log Z − log-sum over the true alignments, with and without loss, and its gradient by the scores."""
    for seed in range(6):
        case = DecoySets(seed)
        Y = [case.choose(*case.alignments(first)) for first in case.firsts] if given else case.Y
        examples, ids = case.structure.encode(case.X, Y), case.rng.permutation(3)
        scores, scales, factors = examples.scores(case.w, ids), case.rng.random(3), case.rng.normal(size=3)
        scales[0] *= seed % 2
        try:
            augmented = examples.augmented(scores, ids, scales)
        except ValueError as error:
            assert "the loss of empty sequences is not a sum over parts" in str(error)
            continue
        for some, weight in ((scores, 0.0), (augmented, 1.0)):
            sums = examples.sums(some, ids, factors)
            values = sums.log_partitions - examples.true_totals(some, ids)
            for r, i in enumerate(ids.tolist()):
                outputs = [
                    output for output in case.outputs(i) if not given or output.candidate or output.alignment == Y[i]
                ]
                worths = np.array([case.w @ case.psi(i, y) + weight * scales[r] * case.loss(i, y) for y in outputs])
                true = [worth for worth, y in zip(worths, outputs, strict=True) if y.candidate == 0]
                assert values[r] == pytest.approx(logsumexp(worths) - logsumexp(true), abs=1e-8)
            gradients = sums.marginals
            examples.subtract_truths(gradients, some, ids, factors)
            directions = [case.rng.normal(size=len(s.values)) for s in some]
            ends = []
            for step in (1e-5, -1e-5):
                moved = [Scores(s.values + step * d, s.starts) for s, d in zip(some, directions, strict=True)]
                gains = examples.sums(moved, ids).log_partitions - examples.true_totals(moved, ids)
                ends.append(float(factors @ gains))
            slope = sum(float(g @ d) for g, d in zip(gradients, directions, strict=True))
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_probabilities_of_candidates():
    """Also those of empty sequences, which have no parts, and of given alignments."""
    structure = mm.Decoys(alphabet="AB", mode="global").fit([("AB", "AB", ["A", ""])], [None])
    w = np.random.default_rng(0).normal(size=structure.size)
    latent = [("AB", "AB", ["BA", "", "A"]), ("", "", ["A", ""])]
    for x, y in (*((x, None) for x in latent), (("AB", "AB", ["BA"]), ("AB", "AB"))):
        for examples in (structure.encode([x], [y]), structure.encode([x])):
            ids = np.arange(1)
            scores = examples.scores(w, ids)
            found = examples.arranged_marginals(examples.sums(scores, ids).marginals, 0)
            totals = np.full(2 if y else len(x[2]) + 1, -np.inf)
            for output in structure.enumerate(x):
                if not (y and examples.known) or output.candidate or output.alignment == y:
                    psi = structure.joint_feature(x, output)
                    totals[output.candidate] = np.logaddexp(totals[output.candidate], w @ psi)
            np.testing.assert_allclose(found, np.exp(totals - logsumexp(totals)), atol=1e-12)
            codes = examples.samples(scores, ids, 2000, np.array([3], np.uint64))
            np.testing.assert_allclose(np.bincount(codes[:, 0], minlength=len(found)) / 2000, found, atol=0.05)
            if y and examples.known:
                assert {examples.output(0, 0, code).alignment for code in codes if code[0] == 0} <= {y}


def test_scores_decode_without_truths():
    examples = mm.Decoys(alphabet="AB").fit([("AAB", "AB", ["A"])], [None]).encode([("AAAAAB", "AB", ["A"])])
    w = np.arange(1.0, examples.dim + 1)
    answers, other = examples.empty_answers(), examples.empty_answers()
    examples.decode(w, np.arange(1), np.zeros(1), answers)
    examples.decode_scores(examples.scores(w, np.arange(1)), np.arange(1), np.zeros(1), other)
    assert other.rises[0] == pytest.approx(answers.rises[0])
    np.testing.assert_array_equal(other.codes, answers.codes)
