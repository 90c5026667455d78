"""Annotations of positions by a tagger, cross-fitted."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.estimators.biology.annotator import letter_windows

LETTERS = {"H": "AELK", "E": "VIYF", "C": "GNPD"}


def chains(n, seed):
    """Sequences whose letters depend on the structure, in runs."""
    rng = np.random.default_rng(seed)
    texts, kinds = [], []
    for _ in range(n):
        structure = "".join(str(kind) * int(rng.integers(3, 6)) for kind in rng.choice(list("HEC"), 4))
        noisy = [c if rng.random() < 0.8 else str(rng.choice(list("HEC"))) for c in structure]
        texts.append("".join(str(rng.choice(list(LETTERS[c]))) for c in noisy))
        kinds.append(structure)
    return texts, kinds


X, Y = chains(40, 0)


@pytest.fixture(scope="module")
def annotate():
    return mm.position_annotator(X, Y, groups=[i // 2 for i in range(40)], reach=2, n_folds=4)


def test_new_sequences_are_annotated_by_the_tagger_of_all(annotate):
    texts, kinds = chains(20, 1)
    found = [value.rstrip("?") for record in annotate(texts) for value in record["structure"]]
    assert np.mean(np.array(found) == np.array(list("".join(kinds)))) > 0.8
    whole = annotate.taggers[-1].predict_marginals([letter_windows(texts[0], 2)])[0]
    np.testing.assert_array_equal(annotate.probabilities(texts[:1])[0], whole)
    marked = [value.endswith("?") for value in annotate(texts[:1])[0]["structure"]]
    assert marked == (whole.max(axis=1) < 0.6).tolist()


def test_training_sequences_are_annotated_by_taggers_that_have_not_seen_them(annotate):
    assert len(annotate.taggers) == 5
    for i in range(0, 40, 7):
        fold = annotate.fold_of_text[X[i]]
        assert annotate.fold_of_text[X[i ^ 1]] == fold == annotate.fold_of_group[i // 2]
        held = [k for k in range(40) if annotate.fold_of_text[X[k]] == fold]
        kept = [k for k in range(40) if k not in held]
        tagger = mm.SequenceTagger(bound="likelihood", C=0.03, tol=0.01)
        tagger.fit([letter_windows(X[k], 2) for k in kept], [list(Y[k]) for k in kept])
        expected = tagger.predict_marginals([letter_windows(X[i], 2)])[0]
        np.testing.assert_allclose(annotate.probabilities([X[i]])[0], expected)
        relative = annotate.probabilities(["AAAVVVGGG"], groups=[i // 2])[0]
        np.testing.assert_allclose(relative, tagger.predict_marginals([letter_windows("AAAVVVGGG", 2)])[0])


def test_pairs_for_aligners(annotate):
    pairs = annotate.pairs([(X[0], {"sequence": X[1], "a": "x" * len(X[1])})])
    assert pairs[0][0]["sequence"] == X[0] and pairs[0][1]["a"] == "x" * len(X[1])
    assert len(pairs[0][1]["structure"]) == len(X[1])
    tables = mm.position_annotator(X, Y, reach=1, form="probabilities", name="ss").pairs([(X[0], X[0])])
    assert tables[0][0]["ss"].shape == (len(X[0]), 3)
    truth = [(X[0], X[0])]
    model = mm.PairwiseAligner(window=1).fit(annotate.pairs([(X[0], X[0])]), truth)
    assert model.predict(annotate.pairs([(X[0], X[0])])) == truth


def test_windows_of_letters():
    rows = letter_windows("AZC", 1, "AC").toarray().reshape(3, 3, 3)
    assert rows.argmax(axis=2).tolist() == [[2, 0, 2], [0, 2, 1], [2, 1, 2]]
    assert (rows.sum(axis=2) == 1).all()
    assert letter_windows("", 2).shape == (0, 105)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": ["H"] * 40}, r"labels\[0\]: 1 labels but \d+ letters"),
        ({"form": "table"}, "form must be 'classes' or 'probabilities', found 'table'"),
        ({"groups": [1]}, "groups has 1 entries but there are 40 sequences"),
        ({"groups": [1] * 40}, "all sequences are of one group"),
        ({"n_folds": 1}, "n_folds must be an integer ≥ 2"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        mm.position_annotator(X, **({"labels": Y} | arguments))
