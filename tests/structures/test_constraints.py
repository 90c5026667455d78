"""BIO and BIOES builders against a validity checker that reads spans; what is allowed, possible and repaired."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.features.rows.labels import Labels
from maxmargin.structures.chain.constraints import (
    Constraints,
    bilou_constraints,
    bio_constraints,
    bioes_constraints,
    count_sequences,
    feasible_lengths,
    repair_bio,
    resolve_constraints,
)
from maxmargin.structures.chain.structure import Chain

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BILOU = ["O", "B-X", "I-X", "L-X", "U-X", "B-Y", "L-Y"]
BIOES = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "E-Y"]


def spells_bio(sequence):
    """Whether the labels can be written by laying down spans one after the other: B then any number of I."""
    t = 0
    while t < len(sequence):
        label = sequence[t]
        t += 1
        if label == "O":
            continue
        if not label.startswith("B-"):
            return False
        while t < len(sequence) and sequence[t] == "I-" + label[2:]:
            t += 1
    return True


def spells_bioes(sequence):
    """Spans are S, or B I … I E of one kind."""
    t = 0
    while t < len(sequence):
        label = sequence[t]
        t += 1
        if label == "O" or label.startswith("S-"):
            continue
        if not label.startswith("B-"):
            return False
        while t < len(sequence) and sequence[t] == "I-" + label[2:]:
            t += 1
        if t == len(sequence) or sequence[t] != "E-" + label[2:]:
            return False
        t += 1
    return True


def spells_bilou(sequence):
    renamed = {"L": "E", "U": "S", "E": "?", "S": "?"}
    return spells_bioes([renamed.get(label[0], label[0]) + label[1:] for label in sequence])


def allows(constraints, labels, sequence):
    allowed, start, end = constraints.tables(labels)
    codes = [labels.codes[label] for label in sequence]
    return not codes or bool(
        start[codes[0]] and end[codes[-1]] and all(allowed[a, b] for a, b in itertools.pairwise(codes))
    )


@pytest.mark.parametrize(
    ("build", "spells", "names"),
    [
        (bio_constraints, spells_bio, BIO),
        (bio_constraints, spells_bio, ["B-X", "I-X"]),
        (bio_constraints, spells_bio, ["O", "I-X"]),
        (bioes_constraints, spells_bioes, BIOES),
        (bioes_constraints, spells_bioes, ["O", "B-X", "E-X", "I-Y", "S-Y"]),
        (bioes_constraints, spells_bioes, ["O", "S-X"]),
        (bilou_constraints, spells_bilou, BILOU),
    ],
)
def test_builders_allow_exactly_what_spells_spans(build, spells, names):
    labels = Labels(names, given=True)
    constraints = build(names)
    for length in range(5):
        for sequence in itertools.product(names, repeat=length):
            assert allows(constraints, labels, sequence) == spells(sequence), sequence


@pytest.mark.parametrize(("scheme", "spells", "names"), [("bio", spells_bio, BIO), ("bioes", spells_bioes, BIOES)])
def test_a_constrained_chain_enumerates_exactly_these(scheme, spells, names):
    chain = Chain(constraints=scheme, classes=names).fit([np.ones((1, 1))], [["O"]])
    for length in range(4):
        found = {tuple(y) for y in chain.enumerate(np.ones((length, 1)))}
        assert found == {y for y in itertools.product(names, repeat=length) if spells(y)}


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_no_weights_break_a_constraint(scheme):
    names, spells = (BIO, spells_bio) if scheme == "bio" else (BIOES, spells_bioes)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(t, 2)) for t in (1, 4, 3)]
    Y = [["O"] * len(x) for x in X]
    for cost in ("hamming", "zero-one"):
        chain = Chain(constraints=scheme, classes=names, cost=cost).fit(X, Y)
        for _ in range(30):
            w = rng.normal(size=chain.size) * 1e3
            for x, y in zip(X, Y, strict=True):
                assert spells(chain.argmax(w, x))
                assert spells(chain.loss_augmented_argmax(w, x, y, 1e6))
                assert all(spells(y_hat) for y_hat, _ in chain.topk(w, x, 10))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(BIO), max_size=6))
def test_repair_bio_changes_only_what_it_must(sequence):
    repaired = repair_bio(sequence)
    assert spells_bio(repaired)
    assert len(repaired) == len(sequence)
    for old, new in zip(sequence, repaired, strict=True):
        assert new == old or (old[0] == "I" and new == "B" + old[1:])
    if spells_bio(sequence):
        assert repaired == sequence
    assert repair_bio(repaired) == repaired


def test_repair_bio_of_several_sentences():
    assert repair_bio([["I-X", "I-X"], [], ("O", "I-Y")]) == [["B-X", "I-X"], [], ["O", "B-Y"]]
    assert repair_bio(np.array([["I-X", "I-X"]])) == [["B-X", "I-X"]]
    assert repair_bio([]) == []
    with pytest.raises(ValueError, match=r"labels\[1\]: expected a list of labels as labels\[0\] is, found 'O'"):
        repair_bio([["I-X"], "O"])
    with pytest.raises(ValueError, match=r"labels\[1\]: expected a label as labels\[0\] is, found \['O'\]"):
        repair_bio(["I-X", ["O"]])


@pytest.mark.parametrize("names", [BIO, BIOES, BILOU, ["O", "S-X"]])
@pytest.mark.parametrize("build", [bio_constraints, bioes_constraints, bilou_constraints, lambda _: Constraints()])
def test_sequences_are_counted(build, names):
    labels = Labels(names, given=True)
    tables = build(names).tables(labels)
    for length in range(1, 5):
        exact = sum(allows(build(names), labels, y) for y in itertools.product(names, repeat=length))
        for most in (1, 7, 10**7, 10**30):
            assert count_sequences(*tables, length, most) == min(exact, most)
    free = Constraints().tables(labels)
    assert count_sequences(*free, 5000, 10**7) == 10**7


def test_repair_bio_of_labels_without_kinds():
    assert repair_bio(["I", "I", "O", "B", "I"]) == ["B", "I", "O", "B", "I"]
    assert repair_bio(["B-X", "I", "I"]) == ["B-X", "B", "I"]


def test_kinds_with_dashes_and_labels_without_kinds():
    names = ["O", "B-a-b", "I-a-b", "I-a"]
    labels = Labels(names, given=True)
    constraints = bio_constraints(names)
    assert allows(constraints, labels, ["B-a-b", "I-a-b"])
    assert not allows(constraints, labels, ["B-a-b", "I-a"])
    plain = bioes_constraints(["O", "B", "I", "E", "S"])
    labels = Labels(["O", "B", "I", "E", "S"], given=True)
    assert allows(plain, labels, ["S", "B", "I", "E", "O"])
    assert not allows(plain, labels, ["B", "O"])
    assert not allows(plain, labels, ["O", "E"])


@pytest.mark.parametrize(
    ("y", "constraints", "message"),
    [
        (["O", "I-X"], "bio", "Y[1], position 1: the transition O → I-X is forbidden by the constraints"),
        (["I-X", "O"], "bio", "Y[1], a sequence may not begin with I-X by the constraints"),
        (["O", "B-X"], "bioes", "Y[1], a sequence may not end with B-X by the constraints"),
        (["B-X", "B-X"], [("B-X", "B-X")], "Y[1], position 1: the transition B-X → B-X is forbidden"),
    ],
)
def test_a_truth_that_breaks_a_constraint_is_named(y, constraints, message):
    X = [np.ones((1, 1)), np.ones((2, 1))]
    with pytest.raises(ValueError) as error:
        Chain(constraints=constraints, classes=["O", "B-X", "I-X"]).fit(X, [["O"], y])
    assert message in str(error.value)
    assert "maxmargin.repair_bio" in str(error.value)


def test_lengths_for_which_no_sequence_is_allowed():
    # a must be followed by b, b by nothing: only lengths 0, 1 and 2 are possible.
    constraints = Constraints((("a", "a"), ("b", "a"), ("b", "b")))
    chain = Chain(constraints=constraints).fit([np.ones((2, 1))], [["a", "b"]])
    with pytest.raises(ValueError, match=r"X\[1\]: the constraints allow no label sequence of length 3"):
        chain.encode([np.ones((2, 1)), np.ones((3, 1))])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 3))
def test_feasible_lengths_are_those_with_a_sequence(seed, size):
    rng = np.random.default_rng(seed)
    allowed, start, end = rng.random((size, size)) < 0.4, rng.random(size) < 0.6, rng.random(size) < 0.6
    expected = [
        any(
            not y or (start[y[0]] and end[y[-1]] and all(allowed[a, b] for a, b in itertools.pairwise(y)))
            for y in itertools.product(range(size), repeat=length)
        )
        for length in range(6)
    ]
    assert feasible_lengths(allowed, start, end, 5).tolist() == expected


def test_what_constraints_may_be_given_as():
    labels = Labels(["O", "B-X", "I-X"], given=True)
    assert resolve_constraints(None, labels) == Constraints()
    assert resolve_constraints([["O", "I-X"]], labels) == Constraints((("O", "I-X"),))
    assert resolve_constraints("bio", labels) == bio_constraints(labels.values)
    assert resolve_constraints("iob2", labels) == bio_constraints(labels.values)
    closed = Labels(BILOU, given=True)
    assert resolve_constraints("bilou", closed) == bilou_constraints(BILOU)
    given_one = Constraints(start=("O",))
    assert resolve_constraints(given_one, labels) is given_one
    with pytest.raises(
        ValueError, match="constraints must be 'bio', 'iob2', 'bioes', 'bilou', Constraints or pairs, found 'iob'"
    ):
        resolve_constraints("iob", labels)
    with pytest.raises(ValueError, match=r"constraints refer to labels that are not classes: \['Z'\]"):
        Constraints((("O", "Z"),)).tables(labels)


@pytest.mark.parametrize(
    ("constraints", "sentence"),
    [
        ([0, 1], r"constraints\[0\]: expected a pair \(label, next label\), found 0"),
        ([("a", "b"), ("a",)], r"constraints\[1\]: expected a pair \(label, next label\), found \('a',\)"),
        (["ab"], r"constraints\[0\]: expected a pair \(label, next label\), found 'ab'"),
        (7, "constraints must be 'bio', 'iob2', 'bioes', 'bilou', Constraints or pairs, found 7"),
    ],
)
def test_what_constraints_may_not_be_given_as(constraints, sentence):
    with pytest.raises(ValueError, match=sentence):
        resolve_constraints(constraints, Labels(["a", "b"]))
