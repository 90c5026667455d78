"""Motif against plain enumeration of all labels and sites."""

from __future__ import annotations

import re

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base import memory as memory
from maxmargin.core.planes import Answers
from maxmargin.features.biology.alphabet import Alphabet
from maxmargin.features.rows.labels import Labels
from maxmargin.structures.motif.structure import Motif, MotifSite
from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.rows_and_sequences import Strings


class TestMotif(StructureConformance):
    def instance(self, seed):
        return Strings(seed)

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)


def test_of_equals_no_motif_and_then_the_first_site_wins():
    structure = Motif(length=2, background_order=0, both_strands=True).fit(["ACGT", "TTTT"], ["no", "yes"])
    assert structure.argmax(np.zeros(structure.size), "ACGT") == MotifSite("no")
    w = np.zeros(structure.size)
    w[:8] = 1.0
    assert structure.argmax(w, "ACGT") == MotifSite("yes", 0, "+")


def test_a_motif_on_the_other_strand_is_found():
    structure = Motif(length=5, background_order=1, both_strands=True).fit(["AAAAA", "CCCCC"], [0, 1])
    w = structure.joint_feature("GATTC", MotifSite(1, 0, "+"))
    assert structure.argmax(w, "CCCCGATTCCCC") == MotifSite(1, 4, "+")
    assert structure.argmax(w, "CCCCGAATCCCC") == MotifSite(1, 4, "-")


def test_lower_case_is_upper_case_where_the_alphabet_has_none():
    structure = Motif(length=2, background_order=1).fit(["acgt", "ACGT"], [0, 1])
    np.testing.assert_array_equal(structure.joint_feature("acGT", 1), structure.joint_feature("ACGT", 1))
    mixed, _ = Alphabet("aAb").encode(["aAbB"[:3]])
    assert mixed.tolist() == [0, 1, 2]


def test_given_sites_are_where_training_begins():
    structure, X = Motif(length=3, background_order=0), ["ACGTACGT"] * 400
    Y = [MotifSite("yes", 4), "yes", "no", MotifSite("no")] * 100
    examples = structure.fit_encode(X, Y)
    answers = Answers.empty(400, 400)
    examples.initial_completion(np.random.default_rng(3), answers)
    sites = examples.outputs(answers)
    assert set(sites[::4]) == {MotifSite("yes", 4, "+")}
    assert not answers.keys[::4].any(), "the given site is the truth"
    assert {site.position for site in sites[1::4]} == set(range(6))
    assert set(sites[2::4] + sites[3::4]) == {MotifSite("no")}


def test_motif_takes_the_background_away():
    X, Y = ["AACAAC", "CCCCCC"], [1, 0]
    structure = Motif(length=2, background_order=1, alphabet="AC").fit(X, Y)
    w = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0])  # motif, then A→A, A→C, C→A, C→C
    a = (2 * 10 + 1 * 30) / 3  # AA twice and CA once
    c = (2 * 20 + 5 * 40) / 7
    np.testing.assert_allclose(structure.motif(w), [[1 - a, 2 - c], [3 - a, 4 - c]])
    np.testing.assert_allclose(structure.symbol_shares(), [4 / 12, 8 / 12])
    assert list(structure.feature_names()) == [
        "motif 1: A", "motif 1: C", "motif 2: A", "motif 2: C", "background: A→A", "background: A→C",
        "background: C→A", "background: C→C",
    ]  # fmt: skip


def test_saved_and_loaded():
    structure = Motif(length=2, background_order=1, both_strands=True).fit(["ACGT", "TTTT"], ["no", "yes"])
    again = Motif.from_state(structure.get_state())
    w = np.random.default_rng(0).normal(size=structure.size)
    np.testing.assert_array_equal(again.motif(w), structure.motif(w))
    assert again.argmax(w, "GATTACA") == structure.argmax(w, "GATTACA")
    assert again.labels_.values == ["no", "yes"]
    state = structure.get_state()
    state["learnt"] = {**state["learnt"], "background_counts": np.zeros(3, np.int64)}
    with pytest.raises(ValueError, match="expected 16 counts of the background"):
        Motif.from_state(state)


@pytest.mark.parametrize(
    ("positions", "reverse"),
    [([-2], [False]), ([1.5], [False]), ([1], [0]), ([1, 2], [False]), ([1], [True])],
)
def test_damaged_outputs_are_refused(positions, reverse):
    structure = Motif(length=2).fit(["ACGT", "TTTT"], [0, 1])
    with pytest.raises(ValueError, match="sites must"):
        structure.unpack_outputs({"positions": np.array(positions), "reverse": np.array(reverse)})


def test_model_file(tmp_path):
    X, Y = ["AAGATTC", "AAAAAAA", "GATTCCC", "CCCCCCC"], ["yes", "no", "yes", "no"]
    model = mm.StructuralSVM(mm.Motif(length=5, background_order=0)).fit(X, Y)
    model.save(tmp_path / "model")
    assert mm.load(tmp_path / "model").predict(X) == model.predict(X)


@pytest.mark.parametrize(
    ("parameters", "X", "Y", "message"),
    [
        ({}, ["ACGT" * 4, "ACGTAC"], [0, 1], "X[1]: a sequence of 6 characters cannot hold a motif of length 11"),
        (
            {"length": 1},
            ["ACGT", "ACRT"],
            [0, 1],
            "X[1], position 2: character 'R' is not in the alphabet 'ACGT' (or N",
        ),
        ({"length": 1}, ["ACGT", "Aé😀T"], [0, 1], "X[1], position 1: character 'é' is not in the alphabet"),
        ({"length": 1}, ["ACGT", b"ACGT"], [0, 1], "X[1]: expected a string, found bytes"),
        ({"length": 1}, [["A", "C"], ["G"]], [0, 1], "X[0]: expected a string, found list"),
        ({"length": 1}, "ACGT", [0, 1], "X must be a sequence of strings, found str"),
        ({"length": 1}, 3, [0, 1], "X must be a sequence of strings, found int"),
        ({"length": 1}, ["ACGT", "TTTT"], [1, 1], "a motif is present or absent: expected two classes, found 1: [1]"),
        ({"length": 1}, ["A", "C", "G"], [1, 2, 3], "expected two classes, found 3: [1, 2, 3]"),
        ({"length": 1}, ["A", "C", "G"], [1, 2], "X has 3 sequences but y has 2 labels"),
        ({"length": 0}, ["A", "C"], [0, 1], "length must be an integer ≥ 1, found 0"),
        ({"length": 1.5}, ["A", "C"], [0, 1], "length must be an integer ≥ 1, found 1.5"),
        ({"background_order": -1}, ["A", "C"], [0, 1], "background_order must be an integer ≥ 0, found"),
        ({"background_order": 15}, ["A", "C"], [0, 1], "background_order over 4 characters must be at most 14"),
        ({"background_order": 10**12}, ["A", "C"], [0, 1], "2147483647 weights, found 1000000000000"),
        ({"background_order": 10**5000}, ["A", "C"], [0, 1], "2147483647 weights, found a far larger number"),
        ({"background_order": 30, "alphabet": "AC"}, ["A", "C"], [0, 1], "over 2 characters must be at most 29 so"),
        ({"length": 10**10}, ["A", "C"], [0, 1], "length over 4 characters must be at most 536870847 so that there"),
        ({"alphabet": "AA"}, ["A", "C"], [0, 1], "alphabet must be a string of 2 to 254 different characters"),
        ({"alphabet": ["A", "C"]}, ["A", "C"], [0, 1], "alphabet must be a string of 2 to 254 different characters"),
        ({"alphabet": "ABCD", "both_strands": True}, ["A"], [0, 1], "both_strands needs an alphabet of A, C, G and T"),
        ({"length": 1, "classes": [0, 1]}, ["A", "C"], [0, 2], "y, position 1: unknown label 2"),
        ({"length": 2}, ["ACG", "AC"], [MotifSite(1, 2), 0], "Y[0]: a motif of length 2 at position 2 does not fit"),
        ({"length": 2}, ["ACG", "AC"], [1, MotifSite(0, 0)], "Y[1]: 0 is the negative label"),
        ({"length": 2}, ["ACG", "AC"], [MotifSite(1, 0, "-"), 0], "Y[0]: expected strand +, found '-'"),
    ],
)
def test_bad_input(parameters, X, Y, message):
    with pytest.raises(ValueError) as error:
        Motif(**parameters).fit(X, Y)
    assert message in str(error.value)


@pytest.mark.parametrize("size", [2, 3, 4, 20, 254])
def test_the_highest_order_is_the_last_whose_weights_can_be_numbered(size):
    characters = "".join(map(chr, range(1000, 1000 + size)))
    with pytest.raises(ValueError, match="background_order over") as error:
        Motif(length=1, background_order=10**6, alphabet=characters)._set_sizes(Labels([0, 1]))
    most = int(re.search(r"at most (\d+)", str(error.value))[1])
    assert size ** (most + 1) < 2**31 <= size ** (most + 2)


def test_more_weights_than_memory_are_refused_before_there_are_any(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"training 65540 weights needs about 0.00315 GB .*; lower background_order"):
        Motif(length=1, background_order=7).fit(["ACGT", "GGGG"], [0, 1])


def test_a_model_file_with_too_high_an_order_is_refused_at_once():
    state = Motif(length=1, background_order=0).fit(["A", "C"], [0, 1]).get_state()
    state["parameters"] = {**state["parameters"], "background_order": 10**12}
    with pytest.raises(ValueError, match="background_order over 4 characters must be at most 14"):
        Motif.from_state(state)


def test_rna_pairs_with_u_and_a_motif_as_long_as_the_sequence_fits():
    structure = Motif(length=4, alphabet="ACGU", both_strands=True).fit(["ACGU", "UUUU"], [0, 1])
    site = structure.joint_feature("AAGU", MotifSite(1, 0, "-"))
    other = structure.joint_feature("ACUU", MotifSite(1, 0, "+"))
    np.testing.assert_array_equal(site[:16], other[:16])
    assert len(structure.enumerate("ACGU")) == 3


def test_the_site_of_least_risk_is_the_likeliest():
    """The loss does not compare sites, and the first of many sites that are equally good would say nothing."""
    structure = Motif(length=3, background_order=0).fit(["AAAAAA", "CCCCCC"], [0, 1])
    examples, ids = structure.encode(["AAACGTAA"]), np.arange(1)
    w = 2.0 * (structure.joint_feature("CGT", MotifSite(1, 0, "+")))
    scores = examples.scores(w, ids)
    marginals = examples.sums(scores, ids).marginals
    assert marginals[0].argmax() == 3 and 0.5 < marginals[0].sum() < 1.0
    for gamma, expected in ((1.0, MotifSite(1, 3, "+")), (1e-6, MotifSite(0))):
        answers = examples.empty_answers()
        examples.decode_scores(examples.risk_scores(marginals, scores, ids, gamma), ids, np.zeros(1), answers)
        assert examples.outputs(answers) == [expected]
