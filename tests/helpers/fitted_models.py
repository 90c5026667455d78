"""A small fitted model of every estimator and structure, with inputs to predict."""

from __future__ import annotations

from functools import cache

import numpy as np

import maxmargin as mm

RNG = np.random.default_rng(0)
ROWS, CLASSES = mm.datasets.make_multiclass(15, n_features=3, n_classes=3, random_state=0)
WORDS = [["Ana", "met", "Tom"], ["Tom", "sings"], ["Ana", "sings"]]
TAGS = [["PER", "O", "PER"], ["PER", "O"], ["PER", "O"]]
DOCUMENTS = np.array([[1.0, 0.2], [0.8, 0.9], [0.1, 0.4], [0.9, 0.5], [0.2, 0.3], [0.4, 0.8]])
QUERIES = list("aaabbb")
SENTENCES = [
    [("she", "PRON"), ("reads", "VERB"), ("books", "NOUN")],
    [("he", "PRON"), ("writes", "VERB")],
]
TREES = ["(S (NP (DT the) (NN dog)) (VP (VBZ runs)))", "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN cat))))"]
COSTS = 5.0 + ROWS @ np.random.default_rng(1).normal(size=(3, 4))
WITHOUT = ["".join(RNG.choice(list("ACGT"), 8)) for _ in range(6)]
PAIRS = np.zeros((4, 4, 1))
PAIRS[0, 2] = PAIRS[2, 1] = PAIRS[2, 3] = 1.0
LINKS = [np.abs(np.subtract.outer(p, p))[:, :, None] for p in ([0.0, 1.0, 5.0, 5.5], [3.0, 9.0, 3.5])]
CLUSTERS = [["a", "a", "b", "b"], ["a", "b", "a"]]
MASK = np.zeros((4, 5), int)
MASK[1:3, 1:4] = 1
TEXTS = ["river bank water", "river water fish", "bank money loan", "money loan credit"]
TOPICS = [{"river"}, {"river"}, {"money"}, {"money"}]
NODES = np.array([[1.0], [0.2], [-0.1], [-1.0]])
EDGES = [(0, 1), (1, 2), (2, 3)]


def cheapest(costs):
    return {int(np.argmin(costs))}


def single(decision):
    return decision.sum() == 1


def missed(decision):
    return 1.0 - 2.0 * decision


def bumps(rows, others):
    return np.exp(-((rows[:, None, :] - others[None]) ** 2).sum(axis=2))


def f_half(tp, fp, fn, tn):
    return tp / max(tp + 0.5 * (fp + fn), 1e-9)


def lengths(element):
    return [float(len(element))]


def brightness(image):
    return image[:, :, None]


def shapes(sentence):
    return [[f"word={word}", f"last={word[-1]}"] for word in sentence]


def items(x):
    return mm.ProgramInput(np.asarray(x, float), A=[[2.0, 3.0, 4.0]], high=5.0)


class Signs(mm.Structure):
    """The sign of a number, by a function of the user."""

    size = 1

    def __init__(self, shift=0.0, transform=None):
        self.shift, self.transform = shift, transform

    def _value(self, x):
        return (x if self.transform is None else self.transform(x)) - self.shift

    def joint_feature(self, x, y):
        return np.array([self._value(x) * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w[0] * self._value(x) > 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((1, -1), key=lambda v: v * w[0] * self._value(x) + scale * (v != y))


class OwnTagger(mm.SequenceTagger):
    """An estimator of the user."""


def _structural(structure, X, Y):
    return mm.StructuralSVM(structure, C=10.0).fit(X, Y), X


def _latent(structure, X, Y):
    return mm.StructuralSVM(structure, max_outer=2, random_state=0).fit(X, Y), X


def _fitted(model, X, *more, **options):
    return model.fit(X, *more, **options), X


def _labelled():
    pairs = [[(2, "nsubj"), (0, "root"), (2, "obj")], [(2, "nsubj"), (0, "root")]]
    return mm.DependencyParser(C=1.0, labelled=True).fit(SENTENCES, pairs), SENTENCES


#: Name → function that fits a model and returns it with inputs to predict.
MODELS = {
    "multiclass": lambda: _fitted(mm.MulticlassSVM(), ROWS, CLASSES),
    "multiclass, rbf": lambda: _fitted(mm.MulticlassSVM(kernel="rbf"), ROWS, CLASSES),
    "multiclass, poly": lambda: _fitted(mm.MulticlassSVM(kernel=mm.Kernel("poly", degree=2)), ROWS, CLASSES),
    "tagger": lambda: _fitted(mm.SequenceTagger(), *mm.datasets.make_chains(6, random_state=0)),
    "tagger, names": lambda: _fitted(mm.SequenceTagger(), [[{"w": w, "n": 1.5} for w in x] for x in WORDS], TAGS),
    "tagger, bio": lambda: _fitted(
        mm.SequenceTagger(constraints="bio"), [[[w] for w in x] for x in WORDS],
        [["B-PER" if t == "PER" else t for t in y] for y in TAGS],
    ),
    "tagger, seen pairs": lambda: _fitted(mm.SequenceTagger(seen_pairs=True), [[[w] for w in x] for x in WORDS], TAGS),
    "columns": lambda: _fitted(mm.ColumnTagger(), WORDS, TAGS),
    "constituency": lambda: (mm.ConstituencyParser().fit(["(S (NP DT NN) (VP VBZ))"] * 2), [["DT", "NN", "VBZ"]]),
    "constituency, spans": lambda: (
        mm.ConstituencyParser(loss="constituents", span_features=True).fit(TREES),
        [[("the", "DT"), ("dog", "NN"), ("runs", "VBZ")]],
    ),
    "dependency": lambda: _fitted(mm.DependencyParser(C=1.0), SENTENCES, [[2, 0, 2], [2, 0]]),
    "dependency, labelled": _labelled,
    "costs": lambda: _fitted(mm.CostLearner(mm.Optimizer.assignment(2)), ROWS, costs=COSTS),
    "costs, path": lambda: _fitted(
        mm.CostLearner(mm.Optimizer.shortest_path([(0, 1), (1, 3), (0, 2), (2, 3)], 0, 3)), ROWS, costs=COSTS
    ),
    "costs, milp": lambda: _fitted(mm.CostLearner(mm.Optimizer.milp(np.ones((1, 4)), low=2)), ROWS, costs=COSTS),
    "costs, knapsack": lambda: _fitted(mm.CostLearner(mm.Optimizer.knapsack(np.ones(4), 2.0)), ROWS, costs=COSTS),
    "labeler": lambda: _fitted(mm.GraphLabeler(pairs="diagonal"), [MASK + 0.1 * np.eye(4, 5)], [MASK]),
    "segmenter": lambda: _fitted(mm.CutSegmenter(features="channels"), [MASK + 0.1 * np.eye(4, 5)], [MASK]),
    "decoys": lambda: (
        mm.DecoyRanker(alphabet="ACGT").fit([("ACGTAC", "ACGTA", ["TTTTT", "GGGA"]), ("TTGA", "TTG", ["CCC"])]),
        [("ACGTA", ["CCCC", "ACGT"])],
    ),
    "selector": lambda: _fitted(mm.DiverseSelector(k=2, C=0.1), [TEXTS] * 2, [TOPICS] * 2),
    "clustering": lambda: _fitted(mm.ForestClustering(C=10.0), LINKS, CLUSTERS),
    "measure": lambda: _fitted(mm.MeasureSVC(threshold="tuned"), ROWS, CLASSES == 0),
    "measure, three": lambda: _fitted(mm.MeasureSVC(C=10.0), 3.0 * np.eye(3)[CLASSES], CLASSES),
    "measure, area": lambda: _fitted(mm.MeasureSVC(measure="roc_auc"), ROWS, CLASSES == 0),
    "measure, precision": lambda: _fitted(mm.MeasureSVC(measure="average_precision"), ROWS, CLASSES == 0),
    "motif": lambda: _fitted(
        mm.MotifFinder(length=4, background_order=0), WITHOUT + [x[:2] + "TTGA" + x[6:] for x in WITHOUT],
        ["no"] * 6 + ["yes"] * 6,
    ),
    "multilabel": lambda: _fitted(mm.MultilabelSVM(loss="f1", pairs="tree"), np.eye(4), np.eye(4, 2, dtype=int)),
    "aligner": lambda: _fitted(
        mm.PairwiseAligner(alphabet="ACGT"), [("ACGGT", "ACGT"), ("TTGCA", "TGCA")],
        [("ACGGT", "AC-GT"), ("TTGCA", "-TGCA")],
    ),
    "precision at k": lambda: _fitted(
        mm.StructuredRanker(measure="precision@1"), DOCUMENTS, [1, 0, 0, 1, 0, 0], groups=QUERIES
    ),
    "folder": lambda: _fitted(mm.RNAFolder(), ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]),
    "ranker": lambda: _fitted(mm.StructuredRanker(measure="ndcg@2"), DOCUMENTS, [2, 1, 0, 2, 0, 0], groups=QUERIES),
    "taxonomy": lambda: _fitted(
        mm.TaxonomyClassifier(hierarchy={"dog": "animal", "cat": "animal", "animal": "life", "oak": "life"}),
        np.eye(3), ["dog", "cat", "oak"],
    ),
    "matching": lambda: _structural(mm.BipartiteMatching(), [PAIRS], [[2, 1, 3, 0]]),
    "pairs": lambda: _structural(mm.Matching(), [PAIRS], [[2, 3, 0, 1]]),
    "tree": lambda: _structural(mm.Tree(), [PAIRS], [[2, 0, 2]]),
    "graph": lambda: _structural(
        mm.Graph(pairs="symmetric", forbidden=[("out", "out")]), [(NODES, EDGES)], [["in", "in", "out", "in"]]
    ),
    "cut": lambda: _structural(mm.Cut(), [(NODES, EDGES)], [["in", "in", "out", "out"]]),
    "path": lambda: _structural(mm.Path(), [([(0, 1), (1, 3), (0, 2), (2, 3)], np.eye(4))], [[0, 1]]),
    "knapsack": lambda: _structural(mm.Knapsack(), [(np.eye(3), [3, 2, 2], 4)], [[0, 1, 1]]),
    "program": lambda: _structural(mm.Program(), [items(np.eye(3))], [[1, 1, 0]]),
    "latent top k": lambda: _latent(
        mm.Ranking(measure="precision@1"), [DOCUMENTS, DOCUMENTS[::-1]], [[1, 0, 0, 1, 0, 0]] * 2
    ),
    "latent forest": lambda: _latent(mm.Forest(), LINKS, CLUSTERS),
}  # fmt: skip

#: Models with functions or classes of the user: name → (function that fits, what `load` needs).
GIVEN = {
    "solve": (
        lambda: _fitted(mm.CostLearner(mm.Optimizer(cheapest, 4, feasible=single)), ROWS, costs=COSTS),
        {"functions": {"solve": cheapest, "feasible": single}},
    ),
    "loss": (
        lambda: _fitted(mm.CostLearner(mm.Optimizer.assignment(2), loss=missed), ROWS,
                        decisions=[[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]] * 5),
        {"functions": {"loss": missed}},
    ),
    "kernel": (
        lambda: _fitted(mm.MulticlassSVM(kernel=bumps), ROWS, CLASSES), {"functions": {"kernel": bumps}},
    ),
    "kernel of a chain": (
        lambda: _fitted(mm.SequenceTagger(kernel=bumps), *mm.datasets.make_chains(6, random_state=0)),
        {"functions": {"kernel": bumps}},
    ),
    "measure of the user": (
        lambda: _fitted(mm.MeasureSVC(measure=f_half), ROWS, CLASSES == 0), {"functions": {"measure": f_half}},
    ),
    "features of elements": (
        lambda: _fitted(mm.DiverseSelector(k=2, C=0.1, features=lengths), [TEXTS] * 2, [TOPICS] * 2),
        {"functions": {"features": lengths}},
    ),
    "features of pixels": (
        lambda: _fitted(mm.CutSegmenter(features=brightness), [MASK + 0.1 * np.eye(4, 5)], [MASK]),
        {"functions": {"features": brightness}},
    ),
    "templates": (
        lambda: _fitted(mm.ColumnTagger(templates=shapes), WORDS, TAGS), {"functions": {"templates": shapes}},
    ),
    "build": (
        lambda: _structural(mm.Program(items), [np.eye(3)], [[1, 1, 0]]), {"functions": {"build": items}},
    ),
    "structure": (
        lambda: _structural(Signs(0.5, np.cbrt), [0.0, 1.0, 2.0, -1.0], [-1, 1, 1, -1]),
        {"functions": {"transform": np.cbrt}, "classes": Signs},
    ),
    "estimator": (
        lambda: _fitted(OwnTagger(), *mm.datasets.make_chains(6, random_state=0)), {"classes": [OwnTagger]},
    ),
}  # fmt: skip


@cache
def model_of(name):
    """Return a fitted model and inputs to predict."""
    return MODELS[name]() if name in MODELS else GIVEN[name][0]()
