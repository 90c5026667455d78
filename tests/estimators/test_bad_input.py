"""Bad input gets a sentence before any work starts."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin import memory, training

X, Y = mm.datasets.make_chains(6, random_state=0)
ROWS, LABELS = mm.datasets.make_multiclass(20, random_state=0)


def spoiled(value):
    bad = [x.copy() for x in X]
    bad[2][1, 3] = value
    return bad


@pytest.mark.parametrize(
    ("inputs", "outputs", "sentence"),
    [
        (spoiled(np.nan), Y, r"X\[2\], token 1: features must be finite, found nan"),
        (spoiled(np.inf), Y, r"X\[2\], token 1: features must be finite, found inf"),
        ([*X[:3], X[3][:, :5], *X[4:]], Y, r"X\[3\]: 5 features per token, expected 8"),
        ([*X[:3], X[3][:-1], *X[4:]], Y, r"X\[3\]: \d+ rows of features but \d+ labels"),
        (X, Y[:-1], r"X has 6 examples but Y has 5"),
        ([], [], r"X is empty"),
        (X, [np.zeros_like(y) for y in Y], r"found one class"),
        (X, [*Y[:5], 3], r"expected a sequence of labels, found int 3"),
        ([*X[:5], "word"], Y, r"expected an array \(T, d\)"),
        ([*X[:5], np.zeros(3)], Y, r"X\[5\]: expected an array"),
        ("text", Y, r"X: expected a sequence of examples, found str"),
        (X, None, r"Y: expected a sequence of examples, found NoneType"),
    ],
)
def test_tagger_inputs(inputs, outputs, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger().fit(inputs, outputs)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"C": 0}, "C must be a number > 0, found 0"),
        ({"C": -1.0}, "C must be a number > 0, found -1.0"),
        ({"C": "much"}, "C must be a number > 0, found 'much'"),
        ({"C": float("nan")}, "C must be a number > 0"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_seconds": -1}, "max_seconds must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"bound": "tight"}, "bound must be"),
        ({"slack": "cubic"}, "slack must be"),
        ({"solver": "magic"}, "solver"),
        ({"loss": "squared"}, "cost must be"),
        ({"loss": np.ones((2, 2))}, "cost matrix"),
        ({"loss": {"nowhere": 2.0}}, "labels that do not occur"),
        ({"loss": -(np.ones((4, 4)) - np.eye(4))}, "not negative"),
        ({"loss": np.ones((4, 4))}, "diagonal"),
        ({"constraints": "biou"}, "constraints must be"),
        ({"constraints": [(0, 99)]}, "no classes"),
        ({"constraints": [(a, b) for a in range(4) for b in range(4)]}, "is forbidden"),
        ({"classes": [0, 1]}, r"Y\[\d\], position \d+: unknown label"),
        ({"transition_features": True}, r"X\[0\]: with transition_features, expected a pair"),
        ({"C": np.inf, "solver": "oneslack"}, "needs a finite C"),
    ],
)
def test_tagger_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(3), "sample_weight has shape"),
        (np.r_[np.ones(5), -1.0], r"sample_weight\[5\] is -1"),
        (np.r_[np.nan, np.ones(5)], r"sample_weight\[0\] is nan"),
        (np.zeros(6), "every sample_weight is 0"),
    ],
)
def test_sample_weights(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger().fit(X, Y, sample_weight=weights)


def test_unknown_labels_at_score_time():
    model = mm.SequenceTagger().fit(X, Y)
    with pytest.raises(ValueError, match=r"Y\[0\], position 0: unknown label 'Z'; the classes are 0, 1, 2, 3"):
        model.score(X, [["Z"] * len(y) for y in Y])
    with pytest.raises(ValueError, match=r"X\[0\]: \d+ rows of features but 1 labels"):
        model.score(X, [[0] for _ in Y])


def test_truth_that_breaks_its_own_constraints():
    tokens = [[["a"], ["b"]], [["a"], ["b"]]]
    with pytest.raises(ValueError, match=r"Y\[1\], position 1: the transition O → I-X is forbidden"):
        mm.SequenceTagger(constraints="bio").fit(tokens, [["B-X", "I-X"], ["O", "I-X"]])
    repaired = [mm.repair_bio(y) for y in [["B-X", "I-X"], ["O", "I-X"]]]
    assert mm.SequenceTagger(constraints="bio").fit(tokens, repaired).stop_reason_ == "tol"


def test_prediction_of_other_widths():
    model = mm.SequenceTagger().fit(X, Y)
    with pytest.raises(ValueError, match=r"X\[0\]: 3 features per token, expected 8"):
        model.predict([np.zeros((2, 3))])


def test_structure_must_be_one():
    with pytest.raises(TypeError, match=r"give an object, not the class: Chain\(\)"):
        mm.StructuralSVM(mm.Chain).fit(X, Y)
    with pytest.raises(TypeError, match="is no structure: it lacks joint_feature"):
        mm.StructuralSVM(object()).fit(X, Y)


def test_too_many_weights_are_refused_before_work(monkeypatch):
    class Large(mm.Structure):
        size = 10**12

        def joint_feature(self, x, y):
            raise AssertionError("work had begun")

        loss = argmax = loss_augmented_argmax = joint_feature

    with pytest.raises(MemoryError, match=r"1000000000000 weights needs about .* GB of memory"):
        mm.StructuralSVM(Large()).fit(X, Y)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e3)
    with pytest.raises(MemoryError, match="GB are free"):
        mm.SequenceTagger().fit(X, Y)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    planned = []
    monkeypatch.setattr(training, "check_memory", lambda size, what: planned.append(size))
    mm.SequenceTagger().fit(X, Y)
    monkeypatch.undo()
    monkeypatch.setattr(memory, "available_bytes", lambda: 1.5 * planned[0])
    with pytest.warns(UserWarning, match="GB of memory"):
        mm.SequenceTagger().fit(X, Y)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"loss": lambda y, k: "much"}, "loss returned 'much', expected a number"),
        ({"loss": lambda y, k: -1.0}, "a loss ≥ 0"),
        ({"loss": lambda y, k: float("nan")}, "a loss ≥ 0"),
        ({"joint_feature": lambda x, y: np.full(3, np.nan)}, r"X\[0\]: joint_feature has the value nan"),
        ({"joint_feature": lambda x, y: np.zeros((2, 2))}, r"X\[0\]: joint_feature returned ndarray"),
        ({"joint_feature": lambda x, y: ([0], [1.0])}, "set its attribute `size`"),
        ({"joint_feature": lambda x, y: np.zeros(3 if y == 1 else 2)}, r"X\[\d+\]: joint_feature has \d entries"),
        ({"loss_augmented_argmax": lambda w, x, y, s: w.fill(0)}, "raised ValueError: .*read-only"),
    ],
)
def test_wrong_answers_of_a_structure(wrong, sentence):
    class Sign(mm.Structure):
        def joint_feature(self, x, y):
            return y * np.asarray(x, float)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return 1 if w @ x > 0 else -1

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return -y

    structure = Sign()
    for name, method in wrong.items():
        setattr(structure, name, method)
    with pytest.raises(mm.StructureError, match=sentence):
        mm.StructuralSVM(structure).fit(ROWS[:, :3], np.where(LABELS > 1, 1, -1))
