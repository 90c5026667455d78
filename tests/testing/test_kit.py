"""The conformance kit as an author outside of this repository uses it, and the faults that it finds."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base.errors import Place, error_at
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.core.polytopes import Polytope
from maxmargin.features.text.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.structure import PartStructure
from maxmargin.testing import Instance, StructureConformance, every_case
from maxmargin.testing.cases import CAPABILITIES, USES
from maxmargin.testing.conformance import as_integers


class Choice(PartStructure):
    """One of the rows of x; y is its index."""

    learns: ClassVar = {"rows_": SequenceEncoder}

    def _encoded(self, X, Y, learn):
        matrix, offsets = self.rows_.fit(X) if learn else self.rows_.encode(X)
        truths = None if Y is None else [self.code_of(y, Place("Y", i)) for i, y in enumerate(Y)]
        return self.made(self, [Block(matrix, offsets)], np.arange(len(X) + 1), truths, [1.0])

    def made(self, *arguments):
        return ChoiceExamples(*arguments)

    def code_of(self, y, where):
        if not isinstance(y, int) or y < 0:
            raise error_at(where, f"expected an index from 0 on, found {y!r:.60}")
        return np.array([y], np.int32)

    def output_of(self, code):
        return int(code[0])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def enumerate(self, x):
        return iter(range(len(x)))


class ChoiceExamples(PartExamples):
    def argmax(self, scores, ids, codes):
        values, starts = scores[0]
        for r, i in enumerate(ids):
            best = values[starts[r] : starts[r + 1]]
            codes[i] = best.argmax() if best.max() > -np.inf else NO_OUTPUT

    def parts(self, ids, codes):
        return [counted_once(np.arange(len(ids) + 1), codes[ids])]


class RandomChoices(Instance):
    def __init__(self, seed, structure):
        super().__init__(seed)
        self.structure = structure
        self.X = [self.draw(n, 2) for n in self.rng.integers(1, 5, 4)]
        self.Y = [int(self.rng.integers(len(x))) for x in self.X]
        self.encode()

    def outputs(self, i):
        return range(len(self.X[i]))

    def psi(self, i, output):
        return self.X[i][output]

    def loss(self, i, output):
        return float(output != self.Y[i])

    def truth(self, i):
        return self.Y[i]

    def cells(self, i, output):
        return [output]


class TestChoice(StructureConformance):
    bad_input = ((Choice(), [np.ones((2, 1))], [-1], "Y[0]: expected an index from 0 on, found -1"),)

    def instance(self, seed):
        return RandomChoices(seed, Choice())

    @every_case
    def test_the_first_of_equals_is_chosen(self, case):
        assert all(case.structure.argmax(0.0 * case.w, x) == 0 for x in case.X)


class ChoiceWithPolytope(Choice):
    capabilities = Choice.capabilities | {"polytope"}

    def made(self, *arguments):
        return SimplexExamples(*arguments)


class SimplexExamples(ChoiceExamples):
    most = 1.0

    def polytope(self, example):
        return Polytope(np.ones((1, int(self.n_parts[0][example]))), self.most, self.most)


class TestChoiceWithPolytope(StructureConformance):
    n_checked = 0

    def instance(self, seed):
        return RandomChoices(seed, ChoiceWithPolytope())


# ---------------------------------------------------------------------- faults


class SecondRow(ChoiceExamples):
    """Chooses the second row if there is one."""

    def argmax(self, scores, ids, codes):
        super().argmax(scores, ids, codes)
        codes[ids] = np.minimum(1, np.diff(scores[0].starts) - 1)


class LargeSimplex(SimplexExamples):
    """Its polytope is too large."""

    most = 2.0


def wrong(made, **declared):
    """A structure with other examples or other capabilities."""
    return type("Wrong", (Choice,), {"made": lambda self, *arguments: made(*arguments), **declared})()


def conformance(structure):
    class OfOne(StructureConformance):
        n_cases = 6

        def instance(self, seed):
            return RandomChoices(seed, structure)

    return OfOne()


POLYTOPES, MAX_MARGINALS = (
    "linear_programs_have_the_maxima_of_argmaxes",
    "max_marginals_are_the_best_of_all_outputs_that_have_a_part",
)


@pytest.mark.parametrize(
    ("structure", "test", "message"),
    [
        (wrong(SecondRow), "decode_is_the_best_of_all_outputs", "Not equal"),
        (wrong(LargeSimplex, capabilities=ChoiceWithPolytope.capabilities), POLYTOPES, "assert"),
        (wrong(SimplexExamples), POLYTOPES, "Wrong can do 'polytope': declare it in capabilities"),
        (wrong(ChoiceExamples, capabilities=frozenset({"topk"})), MAX_MARGINALS, "can do 'max_marginals': declare it"),
        (wrong(ChoiceExamples, capabilities=frozenset({"latent"})), "capabilities_are_known", "latent"),
        (wrong(ChoiceExamples, capabilities=frozenset({"top-k"})), "capabilities_are_known", "top-k"),
    ],
    ids=["argmax", "polytope", "polytope not declared", "max_marginals not declared", "not latent", "misspelt"],
)
def test_faults_are_found(structure, test, message):
    with pytest.raises(AssertionError, match=message) as error:
        getattr(conformance(structure), f"test_{test}")()
    assert any("of OfOne" in note for note in error.value.__notes__)


def test_a_capability_that_is_declared_but_absent_is_found():
    structure = wrong(ChoiceExamples, capabilities=ChoiceWithPolytope.capabilities)
    with pytest.raises(TypeError, match="has no polytope"):
        conformance(structure).test_linear_programs_have_the_maxima_of_argmaxes()


def test_a_test_that_checks_no_instance_fails():
    class OfNothing(StructureConformance):
        n_cases = 0

    with pytest.raises(AssertionError, match="no instance could be checked"):
        OfNothing().test_keys_tell_outputs_apart()


def test_every_capability_has_a_use_to_refuse():
    assert USES.keys() == CAPABILITIES.keys()


@pytest.mark.parametrize(
    ("structure", "call", "message"),
    [
        (mm.Coverage(), "topk", r"Coverage has no k best outputs \(its capabilities: none\)"),
        (mm.Ranking(measure="ap"), "complete", r"Ranking has no latent variables \(its capabilities: max_marginals\)"),
        (
            mm.Chain(),
            "complete",
            r"Chain has no latent variables \(its capabilities: max_marginals, polytope, sums",
        ),
    ],
    ids=["topk", "depends on a parameter", "latent"],
)
def test_what_is_not_declared_is_refused(structure, call, message):
    with pytest.raises(TypeError, match=message):
        getattr(structure, call)(np.zeros(1), [], 1)


# ---------------------------------------------------------------------- imports


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_pytest_is_imported_by_the_kit_only():
    program = (
        "import sys, maxmargin as mm; mm.testing.structured_estimator_checks; assert 'pytest' not in sys.modules; "
        "mm.testing.StructureConformance; assert 'pytest' in sys.modules"
    )
    outcome = run(program)
    assert outcome.returncode == 0, outcome.stderr


def test_without_pytest_the_extra_is_named():
    outcome = run("import sys; sys.modules['pytest'] = None; from maxmargin.testing import StructureConformance")
    assert outcome.returncode == 1
    assert "ImportError: the conformance kit needs pytest: pip install pytest" in outcome.stderr
    assert "pip install 'maxmargin[testing]'" in outcome.stderr


def test_outputs_are_enumerated_once_for_all_tests_of_a_class():
    computed = []

    class Counted(RandomChoices):
        def psi(self, i, output):
            computed.append((i, output))
            return super().psi(i, output)

    class Conformance(StructureConformance):
        n_cases = 2

        def instance(self, seed):
            return Counted(seed, Choice())

    def run():
        Conformance().test_decode_is_the_best_of_all_outputs()
        Conformance().test_certificates_are_true()

    run()
    assert len(computed) == sum(len(x) for seed in range(2) for x in RandomChoices(seed, Choice()).X)
    TestChoice().test_decode_is_the_best_of_all_outputs()  # those of another class are not kept
    n_computed = len(computed)
    run()
    assert len(computed) == 2 * n_computed


@pytest.mark.parametrize("values", [[], [0.0], [0.1, -3.0, 1e300], [5e-324, 1.0], [0.5, -0.75]])
def test_floats_as_integers_are_exact(values):
    numbers, unit = as_integers(values)
    assert [Fraction(n, unit) for n in numbers] == [Fraction(v) for v in values]
