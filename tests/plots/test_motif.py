"""MotifDisplay: heights of letters, and the sites that are found and known."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm

SHARES = np.array([0.3, 0.2, 0.2, 0.3])


@pytest.fixture
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def finder():
    """GATTC at a known position, to be distinguished from sequences without it."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(40)]
    places = rng.integers(0, 26, 20).tolist()
    planted = [x[:h] + "GATTC" + x[h + 5 :] for x, h in zip(X, places, strict=False)]
    Y = [mm.outputs.MotifSite(1, h) for h in places] + [0] * 20
    model = mm.StructuralSVM(mm.Motif(length=5, background_order=0), max_outer=1).fit(planted + X[20:], Y)
    return model, planted, places


def test_heights_are_probabilities_times_information():
    motif = np.array([[1.0, 0.0, -1.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    display = mm.plots.MotifDisplay(motif, "ACGT", SHARES, bits=None)
    p = SHARES * np.exp(motif[0])
    p /= p.sum()
    np.testing.assert_allclose(display.heights()[0], p * (p * np.log2(p / SHARES)).sum())
    np.testing.assert_allclose(display.heights()[1], 0.0, atol=1e-12)


def test_bits_are_those_asked_for_whatever_the_scale_of_the_weights():
    motif = np.random.default_rng(0).normal(size=(6, 4))
    heights = [mm.plots.MotifDisplay(scale * motif, "ACGT", SHARES).heights() for scale in (1e-3, 1.0, 50.0)]
    for found in heights:
        assert found.sum() / 6 == pytest.approx(1.0)
        np.testing.assert_allclose(found, heights[0], atol=1e-6)
    certain = mm.plots.MotifDisplay(np.eye(4), "ACGT", bits=5.0).heights()
    np.testing.assert_allclose(certain, 2 * np.eye(4), atol=1e-6)


def test_flat_weights_give_an_empty_logo(close):
    display = mm.plots.MotifDisplay(np.zeros((3, 4)), "ACGT").plot()
    np.testing.assert_allclose(display.heights(), 0.0, atol=1e-12)
    display.figure_.canvas.draw()


def test_letters_fill_their_places(close):
    display = mm.plots.MotifDisplay(np.array([[9.0, 0.0], [0.0, 9.0]]), "AC", bits=None).plot()
    heights = display.heights()
    tops = [patch.get_path().get_extents().y1 for patch in display.axes_[0].patches]
    np.testing.assert_allclose(sorted(tops)[-2:], heights.sum(axis=1), rtol=1e-6)
    centres = [np.mean(patch.get_path().get_extents().intervalx) for patch in display.axes_[0].patches]
    np.testing.assert_allclose(sorted(centres), [1, 1, 2, 2], atol=1e-6)


def test_the_motif_and_its_places_are_shown(close, finder):
    model, sequences, places = finder
    known = [[(h, h + 5, "+")] for h in places]
    display = mm.plots.MotifDisplay.from_estimator(model, sequences, known=known)
    best = display.heights().argmax(axis=1)
    assert "".join("ACGT"[a] for a in best) == "GATTC"
    assert len(display.axes_) == 2
    assert [site.position for site in display.sites] == [site.position for site in model.predict(sequences)]
    bars = {c.get_label(): c for c in display.axes_[1].collections}
    found = sum(site.position is not None for site in display.sites)
    assert len(bars["found"].get_segments()) == found > 15
    assert len(bars["known"].get_segments()) == 20
    assert all(segment[1][0] - segment[0][0] == 5 for segment in bars["found"].get_segments())
    display.figure_.canvas.draw()


def test_logo_alone_on_given_axes(close, finder):
    _, ax = plt.subplots()
    display = mm.plots.MotifDisplay.from_estimator(finder[0], axes=ax)
    assert display.axes_[0] is ax
    assert len(display.axes_) == 1


def test_other_alphabets_and_both_strands(close):
    sites = [mm.outputs.MotifSite(1, 2, "+"), mm.outputs.MotifSite(1, 0, "-"), mm.outputs.MotifSite(0)]
    motif = np.random.default_rng(0).normal(size=(30, 20))
    display = mm.plots.MotifDisplay(motif, "ACDEFGHIKLMNPQRSTVWY", sites=sites, lengths=[50, 40, 45]).plot()
    labels = {text.get_text() for text in display.axes_[1].get_legend().get_texts()}
    assert labels == {"found", "found, other strand"}
    display.figure_.canvas.draw()


def test_sequences_without_any_site_need_no_legend(close):
    display = mm.plots.MotifDisplay(np.eye(4), "ACGT", sites=[mm.outputs.MotifSite(0)], lengths=[50]).plot()
    assert display.axes_[1].get_legend() is None


def test_bad_input():
    with pytest.raises(ValueError, match="motif must have a column for each of 'ACGT', found shape"):
        mm.plots.MotifDisplay(np.zeros((3, 3)), "ACGT")
    with pytest.raises(ValueError, match="1 sequences have sites but 2 have lengths"):
        mm.plots.MotifDisplay(np.eye(4), "ACGT", sites=[mm.outputs.MotifSite(0)], lengths=[1, 2])
    with pytest.raises(ValueError, match="1 sequences have sites but 0 have known sites"):
        mm.plots.MotifDisplay(np.eye(4), "ACGT", sites=[mm.outputs.MotifSite(0)], lengths=[1], known=[])
    with pytest.raises(ValueError, match="StructuralSVM has no motif to plot"):
        mm.plots.MotifDisplay.from_estimator(mm.StructuralSVM(mm.Motif()))
    with pytest.raises(ValueError, match="expected 1 axes, found 2"):
        mm.plots.MotifDisplay(np.eye(4), "ACGT").plot(axes=[None, None])


def test_a_logo_of_aligned_sites_is_in_bits():
    counts = np.array([[8, 0, 0, 0], [4, 4, 0, 0], [2, 2, 2, 2], [0, 0, 0, 0]])
    heights = mm.plots.MotifDisplay(np.zeros((4, 4)), "ACGT", counts=counts).heights()
    correction = 3 / (2 * np.log(2) * 8)
    np.testing.assert_allclose(heights.sum(axis=1), [2 - correction, 1 - correction, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(heights[1], [(1 - correction) / 2] * 2 + [0.0, 0.0])
    with pytest.raises(ValueError, match="counts must have the shape"):
        mm.plots.MotifDisplay(np.zeros((4, 4)), "ACGT", counts=counts[:2])


def test_sites_on_both_strands_are_aligned(finder):
    structure = mm.Motif(length=3, both_strands=True).fit(["AACGT", "TTTTT"], [1, 0])
    sites = [
        mm.outputs.MotifSite(1, 1, "+"),
        mm.outputs.MotifSite(1, 0, "-"),
        mm.outputs.MotifSite(0),
        mm.outputs.MotifSite(1, 0, "+"),
    ]
    counts = structure.site_counts(["AACGT", "CGTAA", "AAAAA", "NCN"], sites)
    assert counts.tolist() == [[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 0]]


def test_which_logo_is_drawn(finder):
    model, sequences = finder[0], finder[1]
    of_sites = mm.plots.MotifDisplay.from_estimator(model, sequences)
    assert of_sites.counts.sum(axis=1).max() <= len(sequences)
    assert mm.plots.MotifDisplay.from_estimator(model, sequences, logo="weights").counts is None
    assert mm.plots.MotifDisplay.from_estimator(model).counts is None
    for wrong, message in (("sites", "needs sequences X"), ("both", "logo must be")):
        with pytest.raises(ValueError, match=message):
            mm.plots.MotifDisplay.from_estimator(model, logo=wrong)
