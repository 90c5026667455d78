"""RNAFolder: learning, losses, bounds, files, inspection, bad input."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import maxmargin as mm

X, Y = mm.datasets.make_rna(50, random_state=0)
TEST = mm.datasets.make_rna(50, random_state=1)
#: A phenylalanine tRNA.
TRNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"


def plain(**parameters):
    """A folder that starts from 0, with a convex bound."""
    return mm.RNAFolder(**{"prior": None, "bound": "margin", "C": 1.0, "tol": 1e-2, "decode": "map"} | parameters)


@pytest.fixture(scope="module")
def folder():
    return plain().fit(X, Y)


@pytest.fixture(scope="module")
def turner():
    """A folder that has hardly moved from Turner's energies."""
    return mm.RNAFolder(C=1e-9, compare_prior=False).fit(X[:2], Y[:2])


def test_learns_to_fold(folder):
    assert folder.certificate_.gap <= 1e-2 and folder.certificate_.exact
    scores = mm.metrics.base_pair_scores(TEST[1], folder.predict(TEST[0]))
    assert scores.sensitivity > 0.85
    assert folder.score(*TEST) == scores.f1 > 0.8
    assert folder.score(TEST[0], y=TEST[1]) == scores.f1
    assert folder.predict(np.array(TEST[0])) == folder.predict(TEST[0])
    assert folder.predict([TEST[0][0].lower().replace("u", "t")]) == folder.predict(TEST[0][:1])
    bio = pytest.importorskip("Bio.SeqRecord"), pytest.importorskip("Bio.Seq")
    assert folder.predict([bio[1].Seq(TEST[0][0])]) == folder.predict(TEST[0][:1])
    assert folder.predict([bio[0].SeqRecord(bio[1].Seq(TEST[0][0]))]) == folder.predict(TEST[0][:1])
    with pytest.raises(ValueError, match="X: expected a sequence of examples, found SeqRecord"):
        folder.predict(bio[0].SeqRecord(bio[1].Seq(TEST[0][0])))
    assert folder.predict(["AAAAAAAA", "NNNNNNNNNN", "GC"]) == ["........", "..........", ".."]


def test_costs_of_false_pairs_lower_their_number(folder):
    balanced = plain(loss={"missed": 0.1, "false": 0.3}).fit(X, Y)
    pairs, fewer = (mm.metrics.base_pair_scores(TEST[1], m.predict(TEST[0])) for m in (folder, balanced))
    assert fewer.n_predicted < pairs.n_predicted and fewer.selectivity > pairs.selectivity


@pytest.mark.parametrize("bound", ["slack", "ramp", "ramp-slack"])
@pytest.mark.filterwarnings(
    "ignore::maxmargin.exceptions.InexactArgmaxWarning"
)  # slack re-scaling proves a bound, rarely more
def test_bounds(bound):
    model = plain(bound=bound, tol=0.3).fit(X[:6], Y[:6])
    assert model.score(*TEST) > 0.5
    assert model.certificate_.dual <= model.certificate_.primal_bound < np.inf
    if bound == "ramp":
        objectives = [row["objective"] for row in model.history_]
        assert (np.diff(objectives) <= 1e-9).all()
        assert all(row["loss"] <= row["bound"] + 1e-9 <= row["convex"] + 2e-9 for row in model.history_)


def test_saved_pickled_and_inspected(folder, tmp_path):
    folder.save(tmp_path / "folder.mm", support=True)
    for again in (mm.load(tmp_path / "folder.mm"), pickle.loads(pickle.dumps(folder))):
        assert again.predict(TEST[0]) == folder.predict(TEST[0])
        assert again.topk(TEST[0][0], 5) == folder.topk(TEST[0][0], 5)
        assert again.support_.outputs == folder.support_.outputs
    frame = folder.weights_frame()
    assert list(frame.columns) == ["block", "feature", "weight"] and len(frame) == len(folder.coef_)
    decision = folder.explain(TEST[0][0])
    assert decision.margin >= 0 and decision.prediction == folder.predict(TEST[0][:1])[0]
    assert sum(amount for _, amount in decision.contributions) + decision.rest == pytest.approx(decision.margin)
    with pytest.raises(AttributeError, match="has no attribute 'decision_scores'"):
        folder.decision_scores(TEST[0][:1])


def test_a_prior_and_a_grid(folder):
    few = plain(C=0.01, prior=folder.coef_).fit(X[:3], Y[:3])
    assert few.score(*TEST) > plain(C=0.01).fit(X[:3], Y[:3]).score(*TEST)
    search = GridSearchCV(plain(tol=0.1), {"C": [0.01, 1.0], "min_hairpin": [3]}, cv=2)
    assert search.fit(X[:20], Y[:20]).best_score_ > 0.5


def test_structures_without_pairs_and_one_example():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = plain().fit(["AAAAGGG"], ["......."])
    assert not model.coef_.any()
    assert model.predict(["GGGAAACCC"]) == ["........."]
    assert plain(loss={"missed": 1, "false": 1}).fit(["GGGAAACCC"], ["(((...)))"]).score(
        ["GGGAAACCC"], ["(((...)))"]
    ) == 1.0  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "x", "y", "message"),
    [
        ({"loss": "precision"}, X, Y, "loss must be 'recall' or {'missed': a, 'false': b}, found 'precision'"),
        ({"loss": {"missed": "1", "false": 0}}, X, Y, r"loss\['missed'\] must be a number ≥ 0, found '1'"),
        ({"min_hairpin": 2.5}, X, Y, "min_hairpin must be an integer ≥ 0, found 2.5"),
        ({"impossible": None}, X, Y, "impossible must be 'error' or 'drop', found None"),
        ({"prior": np.zeros(3)}, X[:2], Y[:2], "prior"),
        ({}, [], [], "X is empty: there are no examples"),
        ({}, X[:2], Y[:1], "X has 2 examples but Y has 1"),
        ({}, ["GGGAAACCC", "GGG AAACCC"], ["(((...)))", "(((....)))"], r"X\[1\], position 3: ' ' is not a base"),
        ({}, ["GGGAAACCC"], ["((....))"], r"Y\[0\]: 8 positions, expected 9"),
        ({}, X[0], Y[0], r"X: expected a list of sequences, found one sequence; pass \[sequence\]"),
        ({"prior": "vienna"}, X, Y, "prior must be 'turner', a vector of weights or None, found 'vienna'"),
    ],
)
def test_bad_input(parameters, x, y, message):
    with pytest.raises(ValueError, match=message):
        mm.RNAFolder(**parameters).fit(x, y)


def test_errors_name_the_example_of_the_user(folder):
    with pytest.raises(ValueError, match=r"Y\[2\], position 0: unbalanced"):
        mm.RNAFolder().fit([*X[:2], "GGGAAACCC"], [*Y[:2], "(((...))."], [1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"X\[1\]: expected at least 2 bases, found 0"):
        folder.predict(["GGGAAACCC", ""])
    with pytest.raises(ValueError, match=r"true\[0\]: 3 positions, but the predicted structure has 9"):
        folder.score(["GGGAAACCC"], ["..."])


# ---------------------------------------------------------------------- prior, groups, comparison


def test_turner_energies(turner):
    """Energies of a tRNA by ViennaRNA 2.7.2 (RNAeval): clover leaf, anticodon arm, nothing."""
    structures = [
        "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....",
        "." * 26 + "(((((.......)))))" + "." * 33,
        "." * 76,
    ]
    assert turner.energies([TRNA] * 3, structures) == pytest.approx([-22.4, -5.3, 0.0], abs=1.0)
    stacks = turner.structure_.split_weights(turner.coef_)["stacking"]
    assert turner.temperature_ == turner.prior_scale == 0.1 and np.ptp(stacks) > 0.1


@pytest.mark.parametrize("parameters", [{"canonical": False}, {"min_hairpin": 1}, {"max_loop": 40}, {"max_loop": 5}])
def test_turner_energies_of_other_terms(parameters, turner):
    """Lengths beyond the table score as the nearest, and pairs without energies as the worst ones."""
    other = mm.RNAFolder(C=1e-9, compare_prior=False, decode="map", **parameters).fit(X[:2], Y[:2])
    hairpin = ["GGGGAAAACCCC"], ["((((....))))"]
    assert other.energies(*hairpin) == pytest.approx(turner.energies(*hairpin))
    assert other.predict(hairpin[0]) == hairpin[1]


def test_groups_limit_families():
    families = ["a"] * 30 + ["b"] * 20
    few = mm.RNAFolder(max_per_group=2).fit(X, Y, groups=families)
    same = mm.RNAFolder().fit(X[:2] + X[30:32], Y[:2] + Y[30:32])
    assert np.array_equal(few.coef_, same.coef_) and few.comparison_ is None
    weighted = mm.RNAFolder(max_per_group=1).fit(X, Y, [0.0] + [2.0] * 49, groups=families)
    again = mm.RNAFolder().fit([X[1], X[30]], [Y[1], Y[30]], [2.0, 2.0])
    assert np.array_equal(weighted.coef_, again.coef_)
    with pytest.raises(ValueError, match="X has 50 examples but groups has 2"):
        mm.RNAFolder().fit(X, Y, groups=["a", "b"])


def test_a_fit_below_its_prior_warns():
    """Structures without pairs teach that nothing pairs, except in the other half of the groups."""
    good = mm.RNAFolder(C=0.01).fit(X, Y)
    assert set(good.comparison_) == {"learnt", "prior"} and good.comparison_["learnt"] >= good.comparison_["prior"]
    wrong = [y if i % 5 else "." * len(y) for i, y in enumerate(Y)]
    costly = mm.RNAFolder(C=10.0, loss={"missed": 0.0, "false": 1.0}, bound="margin", max_iter=30, tol=0.5)
    with pytest.warns(
        UserWarning, match=r"on held-out groups, F1 of base pairs is 0\.\d+ with learnt weights but 0\.\d+"
    ):
        costly.fit(X, wrong)
    assert costly.comparison_["learnt"] < costly.comparison_["prior"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert costly.set_params(compare_prior=False).fit(X, wrong).comparison_ is None


def test_defaults_learn_from_a_prior(turner):
    """More data do not end at w = 0, and score at least as well as the prior."""
    model = mm.RNAFolder().fit(X, Y)
    assert model.score(*TEST) >= turner.score(*TEST) > 0.7
    starts = mm.RNAFolder(start=["convex", "prior"], compare_prior=False).fit(X, Y)
    assert starts.certificate_.start in ("convex", "prior")
    assert starts.history_[-1]["objective"] <= model.history_[-1]["objective"] + 1e-9
    assert np.abs(model.coef_ - turner.coef_).max() > 0.0 and model.certificate_.outer_steps > 0


# ---------------------------------------------------------------------- what folding programs do


def test_constraints(turner):
    free = turner.predict([TRNA])[0]
    assert turner.predict([TRNA], [None]) == [free] == turner.predict([(TRNA, "." * 76)])
    unpaired = turner.predict([TRNA, TRNA], ["x" * 20 + "." * 56, None])
    assert set(unpaired[0][:20]) == {"."} and unpaired[1] == free
    for decode in ("map", "risk"):
        model = copy.copy(turner).set_params(decode=decode)
        forced = model.predict([TRNA], ["." * 9 + "((((........))))" + "." * 51])[0]
        assert forced[9:25] == "((((........))))"
        paired = model.predict([TRNA], ["|" + "." * 75])[0]
        assert paired[0] == "("
        assert model.predict([TRNA], ["." * 40 + ">" + "." * 35])[0][40] == ")"
        first = mm.metrics.base_pair_scores([free], [paired])
        assert first.n_true
        pair = (0, 71)
        assert model.predict([TRNA], [{"forbidden": [pair], "unpaired": [30]}])[0][30] == "."
        table = model.predict_marginals([(TRNA, {"forced": [pair], "forbidden": [(1, 70)]})])[0]
        assert table[pair] == pytest.approx(1.0) and table[1, 70] == 0.0
    assert all(y[0] == "(" for y in turner.sample([(TRNA, "|" + "." * 75)], 5)[0])


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("...", r"X\[0\], constraint: a constraint of 3 positions for 10 bases"),
        ("....?.....", r"X\[0\], constraint, position 4: expected one of \. x"),
        ("((((..))))", "no structure meets the constraint"),
        ("|||||.....", "no structure meets the constraint"),
        ("(.........", "unbalanced brackets"),
        ({"force": [(0, 9)]}, "expected a constraint, a string or a dict of forced, forbidden, paired, unpaired"),
        ({"forced": [(0, 10)]}, "forced: expected a pair of positions from 0 to 9"),
        ({"unpaired": [2.5]}, "unpaired: expected a position from 0 to 9, found 2.5"),
    ],
)
def test_bad_constraints(turner, constraint, message):
    with pytest.raises(ValueError, match=message):
        turner.predict(["GGGAAAACCC"], [constraint])


def test_constraints_are_for_predictions(turner):
    with pytest.raises(ValueError, match=r"X\[0\]: constraints are for predictions"):
        mm.RNAFolder().fit([("GGGAAAACCC", "..........")], ["(((....)))"])
    with pytest.raises(ValueError, match="X has 2 sequences but there are 1 constraints"):
        turner.predict(X[:2], [None])


def test_suboptimal_structures(turner):
    found = turner.suboptimal(TRNA, 2.0)
    structures, energies = zip(*found, strict=True)
    assert len(set(structures)) == len(found) > 3
    assert energies == tuple(sorted(energies)) and energies[-1] <= energies[0] + 2.0
    assert turner.energies([TRNA] * len(found), structures) == pytest.approx(np.array(energies))
    beyond = turner.topk(TRNA, len(found) + 1)[-1][1]
    assert -beyond / turner.prior_scale > energies[0] + 2.0
    assert turner.suboptimal(TRNA, 2.0, max_structures=2) == found[:2]
    unpaired = turner.suboptimal((TRNA, "x" + "." * 75), 1.0)
    assert all(y[0] == "." for y, _ in unpaired)
    assert turner.energies([TRNA], [unpaired[0][0]]) == pytest.approx(unpaired[0][1])


def test_files(turner, tmp_path):
    records = [(f"rna{i}", x, y) for i, (x, y) in enumerate(zip(X[:8], Y[:8], strict=True))]
    mm.formats.write_fasta(tmp_path / "x.fa", [record[:2] for record in records])
    assert turner.predict(tmp_path / "x.fa") == turner.predict(str(tmp_path / "x.fa")) == turner.predict(X[:8])
    models = [mm.RNAFolder().fit(X[:8], Y[:8])]
    writers = {"x.dbn": mm.formats.write_dot_bracket, "x.ct": mm.formats.write_ct, "x.bpseq": mm.formats.write_bpseq}
    for name, write in writers.items():
        write(tmp_path / name, records)
        assert turner.predict(tmp_path / name) == turner.predict(X[:8])
        models.append(mm.RNAFolder().fit(tmp_path / name))
        assert turner.score(tmp_path / name) == turner.score(X[:8], Y[:8])
        assert np.array_equal(turner.energies(tmp_path / name), turner.energies(X[:8], Y[:8]))
    assert all(np.array_equal(model.coef_, models[0].coef_) for model in models)
    with pytest.raises(ValueError, match="X is a file, which contains the structures: expected no y"):
        mm.RNAFolder().fit(tmp_path / "x.ct", Y[:8])
    with pytest.raises(FileNotFoundError):
        turner.predict(tmp_path / "nothing.fa")


def test_families_of_a_stockholm_file_are_groups(tmp_path):
    family = "# STOCKHOLM 1.0\n#=GF AC {}\n{}\n#=GC SS_cons <<<....>>>\n//\n"
    rows = [["GGGAAAACCC", "GGCAAAAGCC", "GCGAAAACGC"], ["CCCAAAAGGG"]]
    text = "".join(
        family.format(name, "\n".join(f"s{i} {row}" for i, row in enumerate(some)))
        for name, some in zip(("RF1", "RF2"), rows, strict=True)
    )
    (tmp_path / "x.sto").write_text(text)
    one = mm.RNAFolder(max_per_group=1).fit(tmp_path / "x.sto")
    same = mm.RNAFolder().fit(["GGGAAAACCC", "CCCAAAAGGG"], ["(((....)))"] * 2)
    assert np.array_equal(one.coef_, same.coef_)
