"""seen_pairs: no weight for a feature and a label that never occur together; everything else as without."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm

NAMES = "ABC"


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = [[list(rng.choice([f"f{j}" for j in range(40)], 2, replace=False)) for _ in range(3)] for _ in range(n)]
    Y = [[NAMES[(int(token[0][1:]) * 5 + int(token[1][1:])) % 3] for token in x] for x in X]
    return X, Y


class Enumerated(mm.Structure):
    """The same model by enumeration: Ψ of all pairs, of which those never seen are left out."""

    def __init__(self, X, Y):
        seen = {(name, k) for x, y in zip(X, Y, strict=True) for token, k in zip(x, y, strict=True) for name in token}
        self.index = {pair: q for q, pair in enumerate(sorted(seen | {("1", k) for k in NAMES}))}
        self.size = len(self.index) + 9 + 6

    def joint_feature(self, x, y):
        psi = np.zeros(self.size)
        for token, k in zip(x, y, strict=True):
            for name in [*token, "1"]:
                if (name, k) in self.index:
                    psi[self.index[name, k]] += 1
        codes, base = [NAMES.index(k) for k in y], len(self.index)
        for a, b in itertools.pairwise(codes):
            psi[base + 3 * a + b] += 1
        psi[base + 9 + codes[0]] += 1
        psi[base + 12 + codes[-1]] += 1
        return psi

    def loss(self, y, y_hat):
        return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, NAMES[:1] * len(x), 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        outputs = map(list, itertools.product(NAMES, repeat=len(x)))
        return max(outputs, key=lambda y_hat: w @ self.joint_feature(x, y_hat) + scale * self.loss(y, y_hat))


def test_the_optimum_is_that_of_enumeration():
    X, Y = data()
    own = mm.StructuralSVM(Enumerated(X, Y), C=1.0, tol=1e-4).fit(X, Y)
    tagger = mm.SequenceTagger(C=1.0, tol=1e-4, seen_pairs=True).fit(X, Y)
    assert len(tagger.coef_) == own.structure_.size < len(mm.SequenceTagger().fit(X, Y).coef_)
    assert tagger.certificate_.exact
    assert tagger.certificate_.gap <= 1e-4
    assert tagger.certificate_.primal == pytest.approx(own.certificate_.primal, rel=2e-4)


def test_weights_names_and_tables():
    X, Y = data(8)
    tagger = mm.SequenceTagger(C=1.0, seen_pairs=True).fit(X, Y)
    weights = dict(zip(tagger.feature_names_out, tagger.coef_, strict=True))
    seen = {f"{name} → {k}" for x, y in zip(X, Y, strict=True) for token, k in zip(x, y, strict=True) for name in token}
    features = {f"f{j} → {k}" for j in range(40) for k in NAMES}
    assert seen < features
    assert {name for name in weights if name in features} == seen
    tables = tagger.structure_.split_weights(tagger.coef_)
    names = tagger.structure_.tokens_.column_names()
    for f, k in itertools.product(range(len(names)), range(3)):
        assert tables["tokens"][f, k] == weights.get(f"{names[f]} → {NAMES[k]}", 0.0)
    np.testing.assert_array_equal(tables["transitions"], tagger.transitions_)
    decision = tagger.explain(X[0])
    assert decision.margin == pytest.approx(sum(amount for _, amount in decision.contributions) + decision.rest)


def test_save_and_load(tmp_path):
    X, Y = data()
    for tagger in (mm.SequenceTagger(seen_pairs=True), mm.ColumnTagger(seen_pairs=True, min_count=2)):
        inputs = X if type(tagger) is mm.SequenceTagger else [[token[0] for token in x] for x in X]
        tagger.fit(inputs, Y).save(tmp_path / "m.mm")
        again = mm.load(tmp_path / "m.mm")
        assert again.predict(inputs) == tagger.predict(inputs)
        assert list(again.feature_names_out) == list(tagger.feature_names_out)
    structure = again.structure_
    state = structure.get_state()
    for counts, labels in (([-1], [0]), ([1], [3]), ([2], [1, 0]), ([1], [0, 1]), ([1, 1], [0, 0])):
        seen = {"counts": np.array(counts), "labels": np.array(labels)}
        with pytest.raises(ValueError, match="labels seen with each feature"):
            type(structure).from_state({**state, "learnt": {**state["learnt"], "seen": seen}})


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_numbers_count_as_seen_unless_they_are_zero(form):
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    X = [x if form == "dense" else sp.csr_array(x)] * 2
    tagger = mm.SequenceTagger(seen_pairs=True, fit_intercept=False, start_end=False).fit(X, [["a", "b"]] * 2)
    assert list(tagger.feature_names_out[:2]) == ["x0 → a", "x1 → b"]
    assert len(tagger.coef_) == 2 + 4
    assert tagger.predict(X) == [["a", "b"]] * 2


def test_a_bad_value():
    with pytest.raises(ValueError, match="seen_pairs"):
        mm.SequenceTagger(seen_pairs="yes").fit(*data())
