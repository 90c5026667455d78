"""Bad input raises a clear error before any work starts."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import maxmargin as mm
from maxmargin._base import memory as memory
from maxmargin.exceptions import StructureError
from maxmargin.features.rows import rows
from maxmargin.training import run as training

X, Y = mm.datasets.make_chains(6, random_state=0)
ROWS, LABELS = mm.datasets.make_multiclass(20, random_state=0)


class Sign(mm.Structure):
    def joint_feature(self, x, y):
        return y * np.asarray(x, float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w @ x > 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return -y


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
        (X, [*Y[:5], 3], r"Y\[5\]: expected a sequence of labels, found int 3"),
        ([*X[:5], "word"], Y, r"expected an array \(T, d\)"),
        ([*X[:5], np.zeros(3)], Y, r"X\[5\]: expected an array"),
        ("text", Y, r"X: expected a sequence of examples, found str"),
        (X, None, r"Y: expected a sequence of examples, found NoneType"),
        (X, {1, 2, 3, 4, 5, 6}, r"Y: expected a sequence of examples, found set"),
        (dict(enumerate(X)), Y, r"X: expected a sequence of examples, found dict"),
        (np.array(3.0), Y, r"X: expected a sequence of examples, found ndarray"),
        (X, bytearray(6), r"Y: expected a sequence of examples, found bytearray"),
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
        (
            {"loss": "squared"},
            "^loss must be 'hamming', 'hamming-share', 'zero-one', a matrix or a dict, found 'sq",
        ),
        ({"loss": abs}, "a matrix or a dict, found <built-in function abs>"),
        ({"loss": None}, "a matrix or a dict, found None"),
        ({"loss": {0: "much"}}, "the cost of label 0 must be a number, found 'much'"),
        ({"loss": np.ones((2, 2))}, r"expected a 4 × 4 cost matrix .*, found one of shape \(2, 2\)"),
        ({"loss": {"nowhere": 2.0}}, "labels that do not occur"),
        ({"loss": -(np.ones((4, 4)) - np.eye(4))}, "not negative, found -1.0 for 1 if 0 is true"),
        ({"loss": np.ones((4, 4))}, "diagonal"),
        ({"constraints": "biou"}, "constraints must be"),
        ({"constraints": [(0, 99)]}, "not classes"),
        ({"constraints": [(a, b) for a in range(4) for b in range(4)]}, "is forbidden"),
        ({"classes": [0, 1]}, r"Y\[\d\], position \d+: unknown label"),
        ({"transition_features": True}, r"X\[0\]: with transition_features, expected a pair"),
        ({"C": np.inf, "solver": "oneslack"}, "needs a finite C"),
        ({"fit_intercept": "no"}, "fit_intercept must be True or False, found 'no'"),
        ({"start_end": None}, "start_end must be True or False, found None"),
        ({"transition_features": 2}, "transition_features must be True or False, found 2"),
        ({"constraints": [0, 1]}, r"constraints\[0\]: expected a pair"),
    ],
)
def test_tagger_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "estimator",
    [
        mm.MulticlassSVM(fit_intercept="no"),
        mm.ForestClustering(fit_intercept="no"),
        mm.StructuralSVM(mm.Multiclass(fit_intercept="no")),
        mm.StructuralSVM(mm.Chain(fit_intercept="no")),
    ],
)
def test_an_intercept_that_is_neither_there_nor_not(estimator):
    with pytest.raises(ValueError, match="fit_intercept must be True or False, found 'no'"):
        estimator.fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"C": 10**400}, "C must be a number between ±1.8e308, found a larger one"),
        ({"max_iter": 10**5000}, "max_iter must be a number between ±1.8e308, found a larger one"),
        (
            {"checkpoint": mm.Checkpoint("a", every=10**400)},
            "Checkpoint: every must be a number between ±1.8e308",
        ),
        ({"warm_start": "no"}, "warm_start must be True or False, found 'no'"),
        ({"n_jobs": "a"}, "n_jobs must be None, -1 .all cores. or a positive number, found 'a'"),
        ({"n_jobs": 1.5}, "n_jobs must be .* found 1.5"),
        ({"random_state": -1}, "random_state must be an integer ≥ 0, found -1"),
        (
            {"random_state": "a"},
            "random_state must be an integer ≥ 0, a numpy.random.RandomState or None, found 'a'",
        ),
        ({"checkpoint": mm.Checkpoint("a", every=-1.0)}, "Checkpoint: every must be a number ≥ 0, found -1.0"),
        ({"checkpoint": mm.Checkpoint("a", every="often")}, "Checkpoint: every must be a number ≥ 0, found 'often'"),
        ({"checkpoint": 3}, "checkpoint must be the path of a file or a Checkpoint, found 3"),
        ({"checkpoint": mm.Checkpoint(3)}, "checkpoint must be the path of a file or a Checkpoint, found 3"),
        ({"callbacks": "print"}, "callbacks must be functions of a Step, found 'p'"),
        ({"callbacks": 7}, "callbacks must be functions of a Step, found 7"),
        ({"C": np.inf, "solver": "bundle"}, "solver='bundle' needs a finite C"),
        ({"solver": mm.solvers.NSlack(batch=0)}, "NSlack: batch must be an integer ≥ 1, found 0"),
    ],
)
@pytest.mark.parametrize("estimator", [mm.SequenceTagger(), mm.MulticlassSVM(), mm.StructuralSVM(mm.Chain())])
def test_parameters_that_need_no_data_to_be_wrong(estimator, parameters, sentence):
    """No one waits for data to be read first."""
    estimator = clone(estimator).set_params(**parameters)
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(None, None)
    with pytest.raises(ValueError, match=sentence):
        mm.regularization_path(estimator, None, None, [estimator.C])


def test_files_that_cannot_be(tmp_path, monkeypatch):
    for path, kind in ((tmp_path / "none" / "run.ckpt", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind, match="cannot be written"):
            mm.SequenceTagger(checkpoint=path).fit(None, None)
        with pytest.raises(kind, match="cannot be written"):
            mm.regularization_path(mm.SequenceTagger(checkpoint=path), None, None, [1.0])
    with pytest.raises(FileNotFoundError, match="the checkpoint to resume from does not exist"):
        mm.SequenceTagger().fit(None, None, resume=tmp_path / "none")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written"):
        mm.SequenceTagger(checkpoint=tmp_path / "run.ckpt").fit(None, None)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(3), "sample_weight has shape"),
        (np.r_[np.ones(5), -1.0], r"sample_weight\[5\] is -1"),
        (np.r_[np.nan, np.ones(5)], r"sample_weight\[0\] is nan"),
        (np.zeros(6), "every sample_weight is 0"),
        ([10**400] * 6, "sample_weight must be numbers, found"),
    ],
)
def test_sample_weights(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.SequenceTagger().fit(X, Y, sample_weight=weights)


def test_unknown_labels_at_score_time():
    model = mm.SequenceTagger().fit(X, Y)
    with pytest.warns(UserWarning, match=r"none of the true labels is a class.*; the classes are 0, 1, 2, 3"):
        assert model.score(X, [["Z"] * len(y) for y in Y]) == 0.0
    with pytest.raises(ValueError, match=r"X\[0\]: \d+ rows of features but 1 labels"):
        model.score(X, [[0] for _ in Y])


def test_unknown_labels_of_rows():
    model = mm.MulticlassSVM().fit(ROWS, LABELS)
    strange = LABELS.copy()
    strange[7] = 99
    right = model.predict(ROWS) == LABELS
    assert model.score(ROWS, strange) == (right.sum() - right[7]) / len(LABELS)
    with pytest.warns(UserWarning, match="none of the true labels is a class"):
        assert model.score(ROWS, np.full(len(ROWS), 99)) == 0.0
    named = mm.MulticlassSVM(classes=[*np.unique(LABELS), 99]).fit(ROWS, LABELS)
    assert named.score(ROWS, strange) < 1.0


def test_a_fold_that_lacks_a_label():
    rare = [np.where(np.arange(len(y)) == 0, 9, y) if i == 0 else y for i, y in enumerate(Y)]
    for model in (mm.SequenceTagger(), mm.StructuralSVM(mm.Chain()), mm.SequenceTagger(classes=[0, 1, 2, 3, 9])):
        assert np.isfinite(cross_val_score(model, X, rare, cv=3, error_score="raise")).all()


@pytest.mark.parametrize("model", [mm.SequenceTagger(), mm.StructuralSVM(mm.Chain())])
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((X, Y[:-1]), "X has 6 examples but Y has 5"),
        (([], []), "X is empty: there are no examples"),
        ((X, None), "Y: expected a sequence of examples, found NoneType"),
        ((X, Y, [1.0]), r"sample_weight has shape \(1,\), expected one number for each of 6 examples"),
        ((X, Y, np.zeros(6)), "every sample_weight is 0"),
        ((X, Y, ["a"] * 6), "sample_weight must be numbers"),
        ((X, [*Y[:4], 3, Y[5]]), r"Y\[4\]: .*expected a sequence of labels, found int 3"),
    ],
)
def test_scores_of_bad_input(model, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(X, Y).score(*arguments)


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_topk_of_no_number(k):
    for model, x in ((mm.SequenceTagger().fit(X, Y), X[0]), (mm.MulticlassSVM().fit(ROWS, LABELS), ROWS[0])):
        with pytest.raises(ValueError, match=f"k must be an integer ≥ 1, found {k}"):
            model.topk(x, k)


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
    with pytest.raises(TypeError, match=r"structure must be an object, not the class: pass Chain\(\)"):
        mm.StructuralSVM(mm.Chain).fit(X, Y)
    with pytest.raises(TypeError, match=r"is not a valid structure: it has no joint_feature\(\), loss"):
        mm.StructuralSVM(object()).fit(X, Y)


def test_names_of_examples_are_those_of_the_user():
    """Examples of weight 0 are left out and equal rows merged, but errors name positions in the user's data."""
    weights = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    bad_x, bad_y = [*X[:5], X[5][:, :5]], [*Y[:5], 3]
    for model in (mm.SequenceTagger(), mm.StructuralSVM(mm.Chain())):
        with pytest.raises(ValueError, match=r"^X\[5\]: 5 features per token"):
            clone(model).fit(bad_x, Y, sample_weight=weights)
        with pytest.raises(ValueError, match=r"^Y\[5\]: expected a sequence of labels"):
            clone(model).fit(X, bad_y, sample_weight=weights)
        with pytest.raises(ValueError, match=r"^X\[5\]: 5 features per token"):
            mm.regularization_path(model, bad_x, Y, [1.0], sample_weight=weights)
    words = [["a", "b"], ["b"], ["a"], ["a", "b"], ["b"], 7]
    with pytest.raises(ValueError, match=r"^X\[5\]: expected a list of words"):
        mm.ColumnTagger().fit(words, [["A", "B"], ["B"], ["A"], ["A", "B"], ["B"], ["A"]], sample_weight=weights)


@pytest.mark.parametrize("method", ["joint_feature", "loss", "loss_augmented_argmax"])
def test_names_of_examples_in_the_middle_of_training(method):
    structure, usual = Sign(), getattr(Sign(), method)

    def breaks_at_five(*arguments):
        if any(np.all(np.asarray(argument) == 5.0) for argument in arguments):
            raise RuntimeError("out of luck")
        return usual(*arguments)

    setattr(structure, method, breaks_at_five)
    inputs, outputs = [[1.0], [-1.0], [2.0], [-2.0], [1.5], [5.0]], [1.0, -1.0, 1.0, -1.0, 1.0, 5.0]
    with pytest.raises(StructureError, match=rf"^X\[5\]: {method} raised RuntimeError: out of luck"):
        mm.StructuralSVM(structure).fit(inputs, outputs, sample_weight=[1, 1, 0, 0, 1, 1])


def test_merged_rows_are_named_where_they_first_stand():
    rows = np.array([[1.0], [1.0], [-1.0], [-1.0], [1e308]])
    with (
        np.errstate(all="ignore"),
        pytest.raises(StructureError, match=r"^X\[4\]: expected a finite score"),
    ):
        mm.MulticlassSVM(C=1e90).fit(rows, [0, 0, 1, 1, 1])


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
    monkeypatch.setattr(training, "check_memory", lambda size, *_: planned.append(size))
    mm.SequenceTagger().fit(X, Y)
    monkeypatch.undo()
    monkeypatch.setattr(memory, "available_bytes", lambda: 1.5 * planned[0])
    with pytest.warns(UserWarning, match="GB of memory"):
        mm.SequenceTagger().fit(X, Y)


def test_sentences_that_do_not_fit_into_memory_are_refused_with_a_plan(monkeypatch):
    words, labels = [["Ana", "sings"] * 500] * 2, [["N", "V"] * 500] * 2
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"encoding 2000 tokens with up to 25 features needs about .* 0.0001 GB are"):
        mm.ColumnTagger().fit(words, labels)
    monkeypatch.setattr(memory, "available_bytes", lambda: 4.3e5)
    with pytest.raises(MemoryError, match=r"training \d+ weights needs about .* min_count or seen_pairs"):
        mm.ColumnTagger().fit(words, labels)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_do_not_fit_into_memory_are_refused_before_they_are_copied(monkeypatch, sparse):
    form = sp.csr_array if sparse else np.asarray
    monkeypatch.setattr(sp, "vstack", None)
    monkeypatch.setattr(rows.Rows, "__init__", None)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e3)
    with pytest.raises(MemoryError, match=r"encoding \d+ tokens with 8 features needs about .* GB of memory"):
        mm.SequenceTagger().fit([form(x) for x in X], Y)
    with pytest.raises(MemoryError, match=r"encoding 20 rows with \d+ features needs about .* GB of memory"):
        mm.MulticlassSVM().fit(form(ROWS), LABELS)


def test_tables_over_pairs_of_labels_are_planned(monkeypatch):
    """6,000 labels have 36 million pairs."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 5e8)
    wording = "a table of costs between 6000 labels needs about 0.576 GB of memory, 0.5 GB are free; use fewer labels"
    with pytest.raises(MemoryError, match=wording):
        mm.SequenceTagger(classes=range(6000)).fit([np.eye(3)], [[0, 1, 2]])
    with pytest.raises(MemoryError, match=wording):
        mm.StructuralSVM(mm.Multiclass(classes=range(6000))).fit(np.eye(3), [0, 1, 2])


def test_tables_over_the_number_of_errors_are_planned(monkeypatch):
    """T × T × K numbers for one sequence of 4000 tokens are 512 MB: more than the rest of such a fit by far."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 4e8)
    long = [np.ones((4000, 1))], [np.arange(4000) % 4]
    with pytest.raises(
        MemoryError,
        match=r"argmaxes by levels of the loss in sequences of up to 4000 tokens with 4 labels, in 1 threads, needs "
        r"about 0.512 GB .*; use shorter inputs",
    ):
        mm.SequenceTagger(bound="slack", n_jobs=1).fit(*long)
    with pytest.raises(MemoryError, match=r"in 2 threads, needs about 1\.02 GB"):
        mm.regularization_path(mm.SequenceTagger(slack="quadratic", n_jobs=2), *long, [1.0])
    for parameters in ({}, {"loss": "zero-one"}, {"bound": "slack", "loss": {0: np.pi}}):
        model = mm.SequenceTagger(**parameters, n_jobs=1, callbacks=lambda step: True).fit(*long)
        assert model.stop_reason_ in ("callback", "tol")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"loss": lambda y, k: "much"}, "loss returned 'much', expected a number"),
        ({"loss": lambda y, k: -1.0}, "a loss ≥ 0"),
        ({"loss": lambda y, k: float("nan")}, "a loss ≥ 0"),
        ({"joint_feature": lambda x, y: np.full(3, np.nan)}, r"X\[0\]: joint_feature has the value nan"),
        ({"joint_feature": lambda x, y: np.zeros((2, 2))}, r"X\[0\]: joint_feature returned ndarray"),
        ({"joint_feature": lambda x, y: ([0], [1.0])}, "set the attribute `size`"),
        ({"joint_feature": lambda x, y: np.zeros(3 if y == 1 else 2)}, r"X\[\d+\]: joint_feature has \d entries"),
        ({"loss_augmented_argmax": lambda w, x, y, s: w.fill(0)}, "raised ValueError: .*read-only"),
        (
            {"loss_augmented_argmax": lambda w, x, y, s: None},
            r"X\[\d+\]: loss_augmented_argmax returned None, expected",
        ),
        (
            {"loss_augmented_argmax": lambda w, x, y, s: 1e300},
            r"X\[\d+\]: joint_feature has the value .*, expected num",
        ),
        ({"joint_feature": lambda x, y: np.full(3, 1e308)}, r"X\[0\]: joint_feature has the value 1e\+308, expected"),
    ],
)
def test_wrong_answers_of_a_structure(wrong, sentence):
    structure = Sign()
    for name, method in wrong.items():
        setattr(structure, name, method)
    with pytest.raises(StructureError, match=sentence):
        mm.StructuralSVM(structure).fit(ROWS[:, :3], np.where(LABELS > 1, 1, -1))


@pytest.mark.parametrize(("C", "weight"), [(1e160, 1.0), (1e-310, 1.0), (1e60, 1e60), (1e-60, 1e-60)])
@pytest.mark.parametrize("solver", ["auto", "subgradient", "perceptron"])
def test_budgets_beyond_numbers(C, weight, solver):
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(ValueError, match=r"times a sample weight must be from 1e-100 to 1e\+100, found .*; scale the"):
        mm.MulticlassSVM(C=C, solver=solver).fit(X, y, sample_weight=[1.0, weight, 1.0])


def test_numbers_beyond_floats_name_the_row():
    for X in ([[1.0], [10**400]], np.array([[1.0], [10**400]], object)):
        with pytest.raises(ValueError, match=r"^X\[1\]: features must be numbers between ±1\.8e308"):
            mm.MulticlassSVM().fit(X, [0, 1])
    model = mm.MulticlassSVM().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match=r"^X\[0\]: features must be numbers"):
        model.predict([[10**400]])
