"""Entities by conlleval's rules: cases made by hand, and the rules of the Perl script written out slowly."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from maxmargin.metrics import entity_f1, entity_f1_score, entity_spans, is_entity_scheme, token_accuracy


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("", []),
        ("O O", []),
        ("B-P I-P O B-L", [(0, 2, "P"), (3, 4, "L")]),
        ("B-P B-P", [(0, 1, "P"), (1, 2, "P")]),
        ("I-P I-P O", [(0, 2, "P")]),
        ("O I-P B-P", [(1, 2, "P"), (2, 3, "P")]),
        ("B-P I-L I-L", [(0, 1, "P"), (1, 3, "L")]),
        ("I-P I-L", [(0, 1, "P"), (1, 2, "L")]),
        ("B-P I-P E-P S-L O", [(0, 3, "P"), (3, 4, "L")]),
        ("B-P E-P I-P", [(0, 2, "P"), (2, 3, "P")]),
        ("E-P E-P", [(0, 1, "P"), (1, 2, "P")]),
        ("B-P L-P U-L", [(0, 2, "P"), (2, 3, "L")]),
        ("S-P I-P", [(0, 1, "P"), (1, 2, "P")]),
        ("B I O I", [(0, 2, ""), (3, 4, "")]),
        ("B-geo-loc I-geo-loc", [(0, 2, "geo-loc")]),
    ],
)
def test_spans(labels, spans):
    assert entity_spans(labels.split()) == spans


def ends_chunk(before, tag, before_type, kind):
    """endOfChunk of conlleval, with S as its ports have it."""
    if before in ("E", "S"):
        return True
    return before in ("B", "I") and (tag in ("B", "S", "O") or before_type != kind)


def starts_chunk(before, tag, before_type, kind):
    """startOfChunk of conlleval, with S as its ports have it."""
    if tag in ("B", "S"):
        return True
    return tag in ("I", "E") and (before in ("E", "S", "O") or before_type != kind)


def conlleval(Y, Y_hat):
    """Counts as the script makes them: one pass; a chunk is right when both begin, end and agree at once."""
    right = found = true = 0
    for y, y_hat in zip(Y, Y_hat, strict=True):
        inside, last, guess = False, ("O", ""), ("O", "")
        for a, b in [*zip(y, y_hat, strict=True), ("O", "O")]:
            tag, kind = a.partition("-")[::2]
            tag_hat, kind_hat = b.partition("-")[::2]
            end, end_hat = ends_chunk(last[0], tag, last[1], kind), ends_chunk(guess[0], tag_hat, guess[1], kind_hat)
            if inside:
                if end and end_hat and last[1] == guess[1]:
                    inside, right = False, right + 1
                elif end != end_hat or kind != kind_hat:
                    inside = False
            start = starts_chunk(last[0], tag, last[1], kind)
            start_hat = starts_chunk(guess[0], tag_hat, guess[1], kind_hat)
            if start and start_hat and kind == kind_hat:
                inside = True
            true, found = true + start, found + start_hat
            last, guess = (tag, kind), (tag_hat, kind_hat)
    return right, found, true


LABELS = ["O", "O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("P", "L"))]


@given(st.lists(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 2), max_size=8), max_size=4))
def test_counts_are_those_of_conlleval(pairs):
    Y, Y_hat = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    scores = entity_f1(Y, Y_hat)
    assert (scores.n_right, scores.n_predicted, scores.n_true) == conlleval(Y, Y_hat)
    for name in ("n_right", "n_predicted", "n_true"):
        assert sum(getattr(part, name) for part in scores.types.values()) == getattr(scores, name)


def test_scores_by_hand():
    Y = [["B-P", "I-P", "O", "B-L"], ["B-L", "O"]]
    Y_hat = [["B-P", "O", "O", "B-L"], ["B-P", "O"]]
    scores = entity_f1(Y, Y_hat)
    assert (scores.precision, scores.recall, scores.f1) == (1 / 3, 1 / 3, 1 / 3)
    assert scores.types["P"].f1 == 0.0
    assert (scores.types["L"].precision, scores.types["L"].recall) == (1.0, 0.5)
    assert scores.types["L"].f1 == pytest.approx(2 / 3)
    line = "L precision 100.00 % recall 50.00 % F1 66.67 (1 right, 1 predicted, 2 true)"
    assert " ".join(str(scores).splitlines()[1].split()) == line
    assert entity_f1_score(Y, Y) == 1.0
    assert entity_f1_score([["O"]], [["O"]]) == 0.0


def test_bad_labels_and_lengths():
    with pytest.raises(ValueError, match=r"sequence 1 of true labels, position 0: expected O, B-TYPE.*found 'NN'"):
        entity_f1([["O"], ["NN"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sequence 0: 2 true labels but 1 predicted"):
        entity_f1([["O", "O"]], [["O"]])
    with pytest.raises(ValueError, match="1 sequences of true labels but 2"):
        token_accuracy([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="no tokens"):
        token_accuracy([[]], [[]])


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        (["O", "B-P", "I-P"], True),
        (["O", "B", "I"], True),
        (["S-P", "E-P", "B-P", "I-P", "O"], True),
        (["O"], False),
        (["O", "NN"], False),
        (["B-P", "X-P"], False),
        (["B-"], False),
        ([1, 2], False),
    ],
)
def test_schemes(labels, answer):
    assert is_entity_scheme(labels) is answer


def test_token_accuracy():
    assert token_accuracy([np.array([1, 2]), [3]], [[1, 0], np.array([3])]) == pytest.approx(2 / 3)


def test_a_scorer_for_model_selection():
    rng = random.Random(0)
    X = [[rng.choice(["Ana", "Tom", "sings", "walks"]) for _ in range(5)] for _ in range(20)]
    Y = [["B-P" if word in ("Ana", "Tom") else "O" for word in x] for x in X]
    search = GridSearchCV(mm.ColumnTagger(), {"C": [0.01, 1.0]}, scoring=make_scorer(entity_f1_score), cv=2)
    assert search.fit(X, Y).best_score_ == 1.0


@pytest.mark.parametrize("metric", [token_accuracy, entity_f1, entity_f1_score])
def test_flat_labels_are_not_compared_by_characters(metric):
    good = [["B-PER", "O"]]
    sentence = r"Y_true: expected a list of sequences of labels, found the string 'B-PER' at Y_true\[0\]"
    with pytest.raises(ValueError, match=sentence):
        metric(["B-PER", "O"], ["B-PEX", "O"])
    with pytest.raises(ValueError, match=r"found the string 'BO' at Y_pred\[0\]"):
        metric(good, ["BO"])
    with pytest.raises(ValueError, match=r"found 1 at Y_true\[0\]"):
        metric([1, 2], good)
    with pytest.raises(ValueError, match="expected a sequence of labels, found the string 'BIO'"):
        entity_spans("BIO")
