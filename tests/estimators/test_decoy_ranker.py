"""DecoyRanker: homologues before decoys, with given and with latent alignments."""

import numpy as np
import pytest

import maxmargin as mm


def families(n=12, seed=0, turned="GA"):
    """Native sequences, homologues in which A and G are exchanged and some letters lost, and shuffled decoys."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        native = "".join(rng.choice(list("ACGT"), 16))
        exchanged = native.translate(str.maketrans("AG", turned))
        shown = "".join("-" if rng.random() < 0.1 else c for c in exchanged)
        decoys = ["".join(rng.permutation(list(native))) for _ in range(4)]
        X.append((native, shown.replace("-", ""), decoys))
        Y.append((native, shown))
    return X, Y


X, Y = families()
TEST, _ = families(40, seed=1)
ALIKE, _ = families(turned="AG")


def test_learns_which_letters_go_together():
    ranker = mm.DecoyRanker(alphabet="ACGT", C=10.0).fit(X, Y)
    assert ranker.score(TEST) > 0.9
    weights = dict(zip(ranker.feature_names_out, ranker.coef_, strict=True))
    assert weights["residue=A ~ residue=G"] > 0 >= weights["residue=A ~ residue=A"]
    assert weights["gap"] <= 0
    assert ranker.certificate_.gap <= 0.01


def test_latent_alignments():
    ranker = mm.DecoyRanker(alphabet="ACGT", C=10.0).fit(ALIKE)
    assert ranker.score(families(40, seed=1, turned="AG")[0]) > 0.9
    with pytest.warns(UserWarning, match="all weights are 0: the first alignments"):
        lost = mm.DecoyRanker(alphabet="ACGT", C=10.0, warm_start=True).fit(X)
    assert lost.score(TEST) == 0.0  # equal scores are not enough
    assert lost.fit(X[:3], Y[:3]).fit(X).score(TEST) > 0.8


def test_the_published_margins():
    """½‖w‖² + ½ C Σ ξ², each ξ the greatest 1 − margin to any alignment of a decoy."""
    ranker = mm.DecoyRanker(alphabet="ACGT", C=2.0, tol=1e-5, solver="auto").fit(X, Y)
    slacks = []
    for (native, homologue, decoys), y in zip(X, Y, strict=True):
        true = ranker.coef_ @ ranker.structure_.joint_feature((native, homologue, decoys), y)
        scores = ranker.decision_function([(native, decoys)])[0]
        slacks.append(max(0.0, 1.0 - true + scores.max()))
    objective = 0.5 * ranker.coef_ @ ranker.coef_ + 0.5 * 2.0 * np.square(slacks).sum()
    assert objective == pytest.approx(ranker.certificate_.primal, rel=1e-6)
    assert ranker.certificate_.exact


def test_candidates_in_pairs_and_triples():
    ranker = mm.DecoyRanker(alphabet="ACGT").fit(X, Y)
    native, homologue, decoys = X[0]
    one, other = ranker.decision_function([X[0], (native, [*decoys, homologue])])
    np.testing.assert_allclose(np.roll(other, 1), one)
    assert ranker.rank([X[0]])[0][0] == ranker.predict([X[0]])[0]
    assert len(ranker.decision_function([(native, [homologue])])[0]) == 1
    assert len(ranker.decision_function([("AC", "AC", ["AC"])])[0]) == 2
    chosen = ranker.chosen([X[0]])[0]
    assert chosen.candidate == ranker.predict([X[0]])[0]
    assert chosen.alignment[0].replace("-", "") == native
    with pytest.raises(ValueError, match=r"X\[1\]: expected a list of at least one candidate"):
        ranker.predict([X[0], (native, [])])


def test_saved_and_scored(tmp_path):
    ranker = mm.DecoyRanker(alphabet="ACGT", max_outer=2).fit(ALIKE)
    ranker.save(tmp_path / "r.mm", support=True)
    again = mm.load(tmp_path / "r.mm")
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert ranker.substitution_matrix()["A", "G"] == pytest.approx(ranker.coef_[ranker.feature_names_out.tolist().index(
        "residue=A ~ residue=G")])  # fmt: skip
    assert ranker.score(X[:2], sample_weight=[1, 0]) in (0.0, 1.0)
    with pytest.raises(ValueError, match="X is empty"):
        ranker.score([])


@pytest.mark.parametrize(
    "parameters", [{"bound": "ramp", "slack": "linear"}, {"slack": "linear", "solver": "auto"}, {"gaps": "affine"}]
)
def test_other_settings(parameters):
    assert mm.DecoyRanker(alphabet="ACGT", **parameters).fit(X, Y).score(TEST) > 0.85


@pytest.mark.parametrize("x", ["ACGT", ("ACGT", "ACG"), ("ACGT",), ("A", "C", "G", "T")])
def test_bad_candidates(x):
    ranker = mm.DecoyRanker(alphabet="ACGT").fit(X, Y)
    with pytest.raises(ValueError, match=r"^X\[1\]: expected \(native, candidates\) or \(native, homologue, decoys\)"):
        ranker.rank([("ACGT", ["ACG", "TTT"]), x])


def test_latent_alignments_lower_the_objective():
    """Each outer step solves for better alignments, so that the objective falls."""
    primals = [
        mm.DecoyRanker(alphabet="ACGT", C=10.0, tol=1e-4, solver="auto", max_outer=k).fit(ALIKE).certificate_
        for k in (1, 2, 100)
    ]
    assert primals[0].primal >= primals[1].primal * (1 - 1e-3) >= primals[2].primal * (1 - 2e-3)
    assert primals[0].outer_steps == 1
    with pytest.raises(ValueError, match="bound='ramp' needs the alignments of the homologues as y"):
        mm.DecoyRanker(alphabet="ACGT", bound="ramp", slack="linear").fit(X)
    with pytest.raises(ValueError, match="max_outer must be an integer"):
        mm.DecoyRanker(max_outer=0).fit(X)
