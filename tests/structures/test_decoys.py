"""Homologues among decoys against all alignments of all candidates."""

import numpy as np
import pytest
from alignment_instances import DecoySets
from conformance import StructureConformance

import maxmargin as mm
from maxmargin.bounds import Bound


class TestDecoys(StructureConformance):
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
            true = mm.ChosenAlignment(0, Y[i])
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
