"""scikit-learn's conventions: its own checks where rows are rows, ours where inputs are ragged."""

from typing import Self, get_type_hints

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.registry import public_estimators


class Rows(mm.Structure):
    """Multiclass in plain Python, with sparse joint features."""

    def __init__(self, n_features=8, n_labels=4):
        self.n_features, self.n_labels = n_features, n_labels
        self.size = n_features * n_labels

    def joint_feature(self, x, y):
        return np.arange(self.n_features) + y * self.n_features, np.asarray(x, float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def _scores(self, w, x):
        return w.reshape(self.n_labels, -1) @ x

    def argmax(self, w, x):
        return int(self._scores(w, x).argmax())

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        scores = self._scores(w, x) + scale
        scores[y] -= scale
        return int(scores.argmax())


def chains():
    return mm.datasets.make_chains(20, random_state=0)


def tokens():
    X, Y = mm.datasets.make_chains(20, random_state=1)
    named = [[{"first": str(row[0] > 0), "second": float(row[1]), "bias": True} for row in x] for x in X]
    return named, [["BIO"[v % 3] for v in y] for y in Y]


def rows():
    X, y = mm.datasets.make_multiclass(30, n_features=8, random_state=0)
    return list(X), y.tolist()


def words():
    known = {"Ana": "PER", "Tom": "PER", "Rio": "LOC", "sings": "O", "in": "O"}
    rng = np.random.default_rng(0)
    X = [rng.choice(list(known), rng.integers(1, 5)).tolist() for _ in range(20)]
    return X, [[known[word] for word in x] for x in X]


def phrases():
    """Words whose head is the next noun, and the last noun at the root."""
    rng = np.random.default_rng(0)
    X = [[*rng.choice(["the", "old", "dog"], rng.integers(1, 4)).tolist(), "dog"] for _ in range(20)]
    return X, [[(x.index("dog", m) + 1) if m < len(x) else 0 for m in range(1, len(x) + 1)] for x in X]


def places():
    """Distances on a line, which clusters divide at gaps."""
    rng = np.random.default_rng(0)
    Y = [rng.integers(0, 3, 5).tolist() for _ in range(12)]
    spots = [5.0 * np.array(y) + rng.random(5) for y in Y]
    return [np.abs(np.subtract.outer(p, p))[:, :, None] for p in spots], Y


def strings():
    """Every other string holds TTGA."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(24)]
    return [x[:3] + "TTGA" + x[7:] if i % 2 else x for i, x in enumerate(X)], [i % 2 for i in range(24)]


def images():
    """Noisy squares, images of two sizes."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for i in range(12):
        mask = np.zeros((6, 8 + i % 2), int)
        mask[1:5, 2:6] = 1
        X.append(mask + rng.normal(size=mask.shape))
        Y.append(mask)
    return X, Y


def queries():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(40, 3)), np.repeat(np.arange(8), 5)
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0.5).astype(int)
    y[::5] = 1  # every query has a relevant document
    return X, y, groups


def search_results():
    """Texts of three subtopics, each with words of its own."""
    rng = np.random.default_rng(0)
    Y = [[{int(t)} for t in rng.integers(0, 3, 8)] for _ in range(12)]
    words = [["river", "water", "fish"], ["money", "loan", "credit"], ["tree", "leaf", "root"]]
    texts = [[" ".join(rng.choice([*words[min(t)], "the", "page"], 4)) for t in y] for y in Y]
    return texts, Y


def costs():
    """Costs of assignments, not quite linear in the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, np.exp(0.5 * X @ rng.normal(size=(3, 9)))


def assignments():
    X, Y = costs()
    return X, np.array([mm.Optimizer.assignment(3).solve(y) for y in Y])


def label_sets():
    """Three labels, the last of which is there if the others are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    first, second = X[:, 0] > 0, X[:, 1] > 0.3
    return X, np.stack([first, second, first & second], axis=1).astype(int)


def molecules():
    return mm.datasets.make_rna(12, n_helices=1)


def bracketed():
    """Sentences of tags and their trees, two of each kind."""
    trees = [
        "(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP DT NN)))", "(S (NP NN) (VP VBZ (NP NN)))",
        "(S (NP NP) (VP VBZ (NP DT NN)) RB)", "(S (NP DT NN) (VP VBZ (NP (NP DT NN) (PP IN (NP DT NN)))))",
        "(S (NP PRP) (VP VBZ (NP NN) (PP IN (NP DT NN))))",
    ]  # fmt: skip
    X = [[word.strip("()") for word in tree.split() if not word.startswith("(")] for tree in trees]
    return X * 2, trees * 2


def edited():
    """Strings with some letters lost, and their alignments."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(12):
        whole = "".join(rng.choice(list("ACGT"), 8))
        kept = rng.random(8) < 0.8
        shown = "".join(c if k else "-" for c, k in zip(whole, kept, strict=True))
        X.append((whole, shown.replace("-", "")))
        Y.append((whole, shown))
    return X, Y


def decoys():
    """The same strings with two random decoys each."""
    rng = np.random.default_rng(1)
    X, Y = edited()
    return [(*x, ["".join(rng.choice(list("ACGT"), 7)) for _ in range(2)]) for x in X], Y


#: Estimators of rows and labels, which pass scikit-learn's own checks.
PLAIN = [mm.MeasureSVC, mm.MulticlassSVM, mm.TaxonomyClassifier]
#: For every other estimator, by its class: a name, the estimator and data (X, Y) or (X, Y, groups) to check it on.
CASES = {
    mm.ColumnTagger: [("words", mm.ColumnTagger(), words)],
    mm.ConstituencyParser: [("trees of tags", mm.ConstituencyParser(), bracketed)],
    mm.CostLearner: [
        ("costs", mm.CostLearner(mm.Optimizer.assignment(3), C=0.1), costs),
        ("decisions", mm.CostLearner(mm.Optimizer.assignment(3), loss="hamming"), assignments),
    ],
    mm.CutSegmenter: [("images", mm.CutSegmenter(features="channels"), images)],
    mm.DecoyRanker: [("decoys", mm.DecoyRanker(alphabet="ACGT", solver="auto"), decoys)],
    mm.DependencyParser: [("parser", mm.DependencyParser(), phrases)],
    mm.DiverseSelector: [("results", mm.DiverseSelector(k=2), search_results)],
    mm.ForestClustering: [("clusters", mm.ForestClustering(), places)],
    mm.LatentStructuralSVM: [("forest", mm.LatentStructuralSVM(mm.Forest()), places)],
    mm.MotifFinder: [("motif", mm.MotifFinder(length=4, background_order=0, n_restarts=2), strings)],
    mm.MultilabelSVM: [
        ("label sets", mm.MultilabelSVM(pairs="all"), label_sets),
        ("label sets, F1", mm.MultilabelSVM(pairs="tree", loss="f1", C=5.0), label_sets),
    ],
    mm.PairwiseAligner: [("alignments", mm.PairwiseAligner(alphabet="ACGT"), edited)],
    mm.PrecisionAtK: [("queries", mm.PrecisionAtK(k=2), queries)],
    mm.RNAFolder: [("folder", mm.RNAFolder(C=0.1), molecules)],
    mm.SequenceTagger: [
        ("tagger", mm.SequenceTagger(), chains),
        ("tagger of named tokens", mm.SequenceTagger(), tokens),
    ],
    mm.StructuralSVM: [
        ("chain", mm.StructuralSVM(mm.Chain()), chains),
        ("slack", mm.StructuralSVM(mm.Chain(), bound="slack", slack="quadratic"), chains),
        ("multiclass", mm.StructuralSVM(mm.Multiclass()), rows),
        ("own", mm.StructuralSVM(Rows()), rows),
    ],
    mm.StructuredRanker: [
        ("ndcg", mm.StructuredRanker(measure="ndcg@3"), queries),
        ("pairs", mm.StructuredRanker(measure="pairwise", drop_empty=True), queries),
    ],
}


def checks(estimator, X, Y, groups=None):
    return mm.structured_estimator_checks(estimator, X, Y, groups=groups)


CHECKS = [
    pytest.param(check, id=f"{case}: {name}")
    for cases in CASES.values()
    for case, estimator, data in cases
    for name, check in checks(estimator, *data())
]


@pytest.mark.filterwarnings("ignore:all rows have the same score:UserWarning")  # some checks have random labels
@parametrize_with_checks([kind() for kind in PLAIN])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS)
def test_structured_checks(check):
    check()


@pytest.mark.parametrize("kind", public_estimators())
def test_every_estimator_is_checked(kind):
    assert kind in PLAIN or kind in CASES, (
        f"{kind.__name__} is not checked: add it to CASES in {__name__}, with data that it can learn from, or to PLAIN "
        f"if it passes scikit-learn's own checks"
    )
    assert all(type(estimator) is kind for _, estimator, _ in CASES.get(kind, ()))


def test_sample_weight_is_checked_where_there_is_one():
    assert "sample_weight" in dict(checks(mm.SequenceTagger(), *chains()))
    assert "sample_weight" not in dict(checks(mm.PrecisionAtK(), *queries()))


class ForgetsNothing(mm.SequenceTagger):
    """Breaks a convention: fit changes a parameter."""

    def fit(self, X, Y, sample_weight=None):
        self.C = 7
        return super().fit(X, Y, sample_weight)


class Moody(mm.SequenceTagger):
    """Breaks another: two fits differ."""

    seeds = iter(range(1000))

    def fit(self, X, Y, sample_weight=None):
        super().fit(X, Y, sample_weight)
        self.coef_ = self.coef_ + next(self.seeds)
        return self


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(ForgetsNothing(), "parameters_are_kept"), (Moody(), "repeats_bit_for_bit")],
)
def test_checks_can_fail(estimator, name):
    with pytest.raises(AssertionError):
        dict(checks(estimator, *chains()))[name]()


def test_structured_checks_end_in_assertion_errors():
    class RaisesSomethingElse(mm.SequenceTagger):
        def predict(self, X):
            return [self.coef_ for _ in X]  # AttributeError where it is not fitted

    X, Y = mm.datasets.make_chains(12, random_state=0)
    with pytest.raises(AssertionError, match="AttributeError"):
        dict(checks(RaisesSomethingElse(), X, Y))["unfitted"]()


def test_structured_checks_suit_any_trade_off():
    X, Y = mm.datasets.make_chains(12, random_state=0)
    dict(mm.structured_estimator_checks(mm.SequenceTagger(C=0.123), X, Y))["clone_and_set_params"]()


@pytest.mark.parametrize("kind", [mm.StructuralSVM, mm.LatentStructuralSVM, mm.SequenceTagger, mm.PrecisionAtK])
@pytest.mark.parametrize("method", ["fit", "resume", "set_params"])
def test_type_checkers_know_what_comes_back(kind, method):
    function = getattr(kind, method)
    if function.__module__.startswith("maxmargin"):  # scikit-learn declares its own to type checkers only
        assert get_type_hints(function)["return"] is Self


def test_what_is_caught_and_annotated_is_public():
    X, y = mm.datasets.make_multiclass(30, random_state=0)
    model = mm.MulticlassSVM().fit(X, y)
    assert isinstance(model.explain(X[0]), mm.Decision)
    assert isinstance(model.support_, mm.Support)
    assert isinstance(mm.check_structure(model.structure_, X[:2], y[:2]), mm.Report)
    with pytest.raises(mm.NotSeparableError):
        mm.MulticlassSVM(C=np.inf).fit(np.zeros((2, 1)), ["a", "b"])
    assert issubclass(mm.InexactArgmaxWarning, UserWarning)
    assert get_type_hints(mm.load)["return"] is MaxMarginEstimator


@pytest.mark.parametrize("max_iter", [1.5, 0, -1, True, np.inf, "2"])
def test_steps_are_counted(max_iter):
    with pytest.raises(ValueError, match=rf"max_iter must be a whole number ≥ 1, found {max_iter!r}"):
        mm.SequenceTagger(max_iter=max_iter).fit(None, None)
