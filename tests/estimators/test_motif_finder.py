"""MotifFinder: a planted motif is found, conventions of classifiers hold, bad input raises a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import maxmargin as mm

COMPLEMENT = str.maketrans("ACGT", "TGCA")
MOTIF = "TTGACGTAA"


def planted(n=60, size=60, both_strands=False, change=0.1, seed=0):
    """Random strings; in every second one a copy of the motif, with some characters changed. Labels and positions."""
    rng = np.random.default_rng(seed)
    X, y, positions = [], [], []
    for i in range(n):
        x = "".join(rng.choice(list("ACGT"), size))
        h = int(rng.integers(0, size - len(MOTIF) + 1))
        copy = "".join(c if rng.random() > change else rng.choice(list("ACGT")) for c in MOTIF)
        if both_strands and rng.random() < 0.5:
            copy = copy.translate(COMPLEMENT)[::-1]
        if i % 2 == 0:
            x = x[:h] + copy + x[h + len(MOTIF) :]
        X.append(x)
        y.append("with" if i % 2 == 0 else "none")
        positions.append(h)
    return X, np.array(y), np.array(positions)


@pytest.fixture(scope="module")
def found():
    X, y, positions = planted()
    return mm.MotifFinder(length=9, background_order=1).fit(X, y), X, y, positions


def test_a_planted_motif_is_found(found):
    finder, _, y, positions = found
    assert finder.consensus_ == MOTIF
    assert finder.motif_.shape == (9, 4)
    np.testing.assert_allclose(finder.motif_, finder.structure_.motif(finder.coef_))
    with_motif = y == "with"
    assert (finder.positions_ == positions)[with_motif].mean() > 0.9
    new_X, new_y, new_positions = planted(seed=1)
    assert finder.score(new_X, new_y) > 0.9
    sites = finder.sites(new_X)
    assert [site.label for site in sites] == finder.predict(new_X).tolist()
    right = [site.position == h for site, h in zip(sites, new_positions, strict=True)]
    assert np.mean(np.array(right)[new_y == "with"]) > 0.85
    assert {site.strand for site in sites} == {"+"}


def test_a_motif_on_both_strands_is_found():
    X, y, positions = planted(100, both_strands=True)
    finder = mm.MotifFinder(length=9, background_order=1, both_strands=True).fit(X, y)
    assert finder.consensus_ in (MOTIF, MOTIF.translate(COMPLEMENT)[::-1])
    assert {site.strand for site in finder.sites(X)} == {"+", "-"}
    assert (finder.positions_ == positions)[y == "with"].mean() > 0.85
    one_strand = mm.MotifFinder(length=9, background_order=1).fit(X, y)
    test = planted(100, both_strands=True, seed=1)[:2]
    assert finder.score(*test) > max(0.85, one_strand.score(*test))


def test_the_best_of_several_starts_is_kept():
    X, y, _ = planted(40, change=0.3)
    objectives = [
        mm.MotifFinder(length=9, n_restarts=n, background_order=1).fit(X, y).history_[-1]["objective"]
        for n in (1, 3, 6)
    ]
    assert objectives == sorted(objectives, reverse=True)
    seeds = [mm.MotifFinder(length=9, start="random", n_restarts=1, random_state=s).fit(X, y).coef_ for s in (0, 1)]
    assert not np.allclose(*seeds)
    rows = mm.MotifFinder(length=9, background_order=1).fit(X, y).history_
    assert (np.diff([row["objective"] for row in rows]) <= 1e-9).all()


def test_more_starts_than_words():
    X, y = ["AAAB", "BAAB", "BBBB", "ABBA"] * 5, [1, 1, 0, 0] * 5
    finder = mm.MotifFinder(length=2, background_order=0, alphabet="AB", n_restarts=8, C=1.0).fit(X, y)
    assert finder.motif_.shape == (2, 2)


def test_a_ramp_begins_at_words_too():
    X, y, _ = planted(100)
    assert mm.MotifFinder(length=9, background_order=1, bound="ramp", C=1.0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("name", [name for name, _ in mm.testing.structured_estimator_checks(mm.MotifFinder(), [], [])])
def test_conventions(name):
    X, y, _ = planted(24, size=20, change=0.0)  # so clear that all runs end at the same point
    finder = mm.MotifFinder(length=9, background_order=0, n_restarts=2)
    dict(mm.testing.structured_estimator_checks(finder, X, y.tolist()))[name]()


def test_classifier_conventions(found):
    finder, X, y, _ = found
    assert finder.classes_.tolist() == ["none", "with"]
    scores = finder.decision_function(X)
    assert ((scores > 0) == (finder.predict(X) == "with")).all()
    np.testing.assert_allclose(scores, [top(finder, x) for x in X], atol=1e-9)
    right = finder.predict(X) == y
    weights = np.arange(len(X)) + 1.0
    assert finder.score(X, y) == right.mean()
    assert finder.score(X, y, sample_weight=weights) == pytest.approx(weights[right].sum() / weights.sum())
    swapped = clone(finder).set_params(classes=["with", "none"], n_restarts=1).fit(X, y)
    assert swapped.classes_.tolist() == ["with", "none"]
    assert swapped.consensus_ != MOTIF


def top(finder, x):
    """Score of the best site less that of no motif, by the structure's own one-by-one methods."""
    w, structure = finder.coef_, finder.structure_
    site = structure.complete(w, x, "with")
    return float(w @ structure.joint_feature(x, site) - w @ structure.joint_feature(x, "none"))


def test_other_containers_and_model_selection(found):
    pandas = pytest.importorskip("pandas")
    finder, X, y, _ = found
    again = clone(finder).fit(pandas.Series(X), pandas.Series(y))
    np.testing.assert_array_equal(again.coef_, finder.coef_)
    assert (clone(finder).fit(np.array(X), y.tolist()).predict(np.array(X)) == finder.predict(X)).all()
    assert cross_val_score(finder, X, y, cv=3).mean() > 0.8
    lower = FunctionTransformer(lambda X: [x.lower() for x in X])
    search = GridSearchCV(make_pipeline(lower, finder), {"motiffinder__length": [7, 9]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.7


def test_records_of_biopython(found):
    record, seq = pytest.importorskip("Bio.SeqRecord").SeqRecord, pytest.importorskip("Bio.Seq").Seq
    finder, X, y, _ = found
    records = [record(seq(x)) if i % 2 else seq(x) for i, x in enumerate(X)]
    assert finder.sites(records) == finder.sites(X)
    assert clone(finder).fit(records, y).consensus_ == finder.consensus_


def test_background_at_a_small_weight():
    """Negative sequences of weight 0 are no sequences; errors name places as the user counts."""
    X, y, _ = planted(40)
    extra = ["A" * 60] * 10
    weights = np.r_[np.ones(40), np.zeros(10)]
    with_extra = mm.MotifFinder(length=9).fit(X + extra, [*y, *["none"] * 10], sample_weight=weights)
    np.testing.assert_array_equal(with_extra.coef_, mm.MotifFinder(length=9).fit(X, y).coef_)
    assert with_extra.positions_.shape == (50,)
    assert (with_extra.positions_[40:] == -1).all()


def test_sequences_of_weight_0_are_not_read():
    X, y, _ = planted(40)
    finder, alone = mm.MotifFinder(length=9), mm.MotifFinder(length=9).fit(X, y)
    finder.fit(["XX", *X, "A"], ["none", *y, "with"], sample_weight=[0, *[1] * 40, 0])
    np.testing.assert_array_equal(finder.coef_, alone.coef_)
    np.testing.assert_array_equal(finder.positions_, [-1, *alone.positions_, -1])
    np.testing.assert_array_equal(alone.positions_, [site.position for site in alone.sites(X)])


def test_a_fit_that_fails_leaves_the_old_model():
    X, y, _ = planted(40)
    finder = mm.MotifFinder(length=9).fit(X, y)
    before = {name: value for name, value in vars(finder).items() if name.endswith("_")}
    with pytest.raises(ValueError, match=r"X\[40\], position 0: character 'X' is not in the alphabet"):
        finder.fit([*X, "X" * 20], [*y, "none"])
    assert all(vars(finder)[name] is value for name, value in before.items())


def test_models_of_a_path_have_positions():
    X, y, _ = planted(40)
    models = mm.regularization_path(
        mm.MotifFinder(length=9), ["XX", *X], ["none", *y], [0.001, 0.1], sample_weight=[0, *[1] * 40]
    )
    for model in models:
        np.testing.assert_array_equal(model.positions_, [-1, *(site.position for site in model.sites(X))])
    assert (models[0].positions_ != models[1].positions_).any()


def test_save_and_load(found, tmp_path):
    finder, X, _, _ = found
    finder.save(tmp_path / "finder.mm", support=True)
    again = mm.load(tmp_path / "finder.mm")
    np.testing.assert_array_equal(again.coef_, finder.coef_)
    np.testing.assert_array_equal(again.motif_, finder.motif_)
    assert (again.predict(X) == finder.predict(X)).all()
    assert again.sites(X) == finder.sites(X)
    assert (again.consensus_, again.classes_.tolist()) == (finder.consensus_, finder.classes_.tolist())
    np.testing.assert_array_equal(again.positions_, finder.positions_)


def test_display(found):
    matplotlib = pytest.importorskip("matplotlib.pyplot")
    finder, X, _, _ = found
    display = mm.plots.MotifDisplay.from_estimator(finder, X[:10])
    np.testing.assert_array_equal(display.motif, finder.motif_)
    matplotlib.close("all")


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        (["ACGTACGT", "ACG"], [0, 1], {}, r"X\[1\]: a sequence of 3 characters cannot hold a motif of length 5"),
        (["ACGTACGT", "ACGXACGT"], [0, 1], {}, r"X\[1\], position 3: character 'X' is not in the alphabet 'ACGT'"),
        (["ACGTACGT", "ACGTACGT"], [1, 1], {}, "y has one class only, 1: expected sequences with and"),
        (["ACGTACGT"] * 3, ["a", "b", "c"], {}, "expected two classes, found 3"),
        (["ACGTACGT"] * 2, ["a", "b"], {"classes": ["x", "y"]}, "unknown label 'a'"),
        (["ACGTACGT", 7], [0, 1], {}, r"X\[1\]: expected a string, found int"),
        ("ACGT", [0, 1, 0, 1], {}, "X: expected a sequence of examples, found str"),
        (["ACGTACGT"] * 3, [0, 1], {}, "X has 3 examples but Y has 2"),
        (["ACGTACGT"] * 2, [0.5, 1.5], {}, "Unknown label type: continuous"),
        (["ACGTACGT"] * 2, [0, 1], {"length": 0}, "length must be an integer ≥ 1, found 0"),
        (["ACGTACGT"] * 2, [0, 1], {"start": "best"}, "start must be one of .*'words', 'random', .* found 'best'"),
        (["ACGTACGT"] * 2, [0, 1], {"n_restarts": 0}, "n_restarts must be an integer ≥ 1, found 0"),
        (["ABAB"] * 2, [0, 1], {"alphabet": "AB", "both_strands": True}, "both_strands needs an alphabet of A, C, G"),
    ],
)
def test_bad_input(X, y, parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.MotifFinder(**{"length": 5, **parameters}).fit(X, y)


def test_bad_input_after_the_fit(found):
    finder, X, _, _ = found
    with pytest.raises(ValueError, match=r"X\[0\]: a sequence of 4 characters cannot hold a motif of length 9"):
        finder.predict(["ACGT"])
    with pytest.warns(UserWarning, match="none of the true labels is a class"):
        assert finder.score(X[:1], ["other"]) == 0.0


def test_unknown_bases_neither_help_nor_harm(found):
    finder, X, _, _ = found
    rng = np.random.default_rng(0)
    holed = ["".join("Nn"[i % 2] if rng.random() < 0.03 else c for c in x) for i, x in enumerate(X)]
    assert any("N" in x for x in holed)
    assert any("n" in x for x in holed)
    y = finder.predict(X)
    again = clone(finder).set_params(n_restarts=1).fit(holed, y)
    assert again.score(holed, y) > 0.8
    assert finder.decision_function(["N" * 30])[0] == 0.0


def test_proteins_have_a_wildcard():
    X, y = ["ACDXF", "WWWYY", "ACDEF", "YYYWW"], [1, 0, 1, 0]
    amino = "ACDEFGHIKLMNPQRSTVWY"
    finder = mm.MotifFinder(length=3, background_order=0, alphabet=amino).fit(X, y)
    assert finder.predict(X).tolist() == y
    with pytest.raises(ValueError, match=r"X\[0\], position 1: character 'B' is not in .* \(or X, for any"):
        finder.predict(["ABC"])


def test_the_positive_label(found):
    finder, X, _, _ = found
    y = np.where(finder.predict(X) == finder.classes_[1], "with", "without")
    by_name = clone(finder).set_params(n_restarts=1, classes=None, positive_label="with").fit(X, y)
    assert by_name.classes_.tolist() == ["without", "with"]
    by_order = clone(finder).set_params(n_restarts=1, classes=["without", "with"]).fit(X, y)
    np.testing.assert_array_equal(by_name.coef_, by_order.coef_)
    for parameters, message in (
        ({"positive_label": "wth", "classes": None}, "positive_label must be one of the labels .*, found 'wth'"),
        (
            {"positive_label": "without", "classes": ["without", "with"]},
            "positive_label='without' contradicts classes=",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            clone(finder).set_params(**parameters).fit(X, y)


def test_counts_of_sites_for_other_programs(tmp_path):
    rng = np.random.default_rng(0)
    without = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(30)]
    holding = [x[:h] + "TTGACC" + x[h + 6 :] for x, h in zip(without, rng.integers(0, 15, 30), strict=True)]
    finder = mm.MotifFinder(length=6, background_order=0).fit(without + holding, [0] * 30 + [1] * 30)
    counts = finder.site_counts(holding)
    found = finder.predict(holding) == 1
    assert counts.shape == (6, 4)
    assert counts.sum(axis=1).tolist() == [found.sum()] * 6
    windows = [x[site.position : site.position + 6] for x, site in zip(holding, finder.sites(holding), strict=True)]
    expected = [
        [sum(w[j] == a for w, keep in zip(windows, found, strict=True) if keep) for a in "ACGT"] for j in range(6)
    ]
    assert counts.tolist() == expected
    assert "".join("ACGT"[k] for k in counts.argmax(axis=1)) == "TTGACC"
    mm.formats.write_jaspar(tmp_path / "m", {"motif": counts})
    assert (tmp_path / "m").read_text().startswith(">motif\nA [ ")
