"""Loaders of the data of Yu and Joachims 2009, if the data are present."""

import os

import numpy as np
import pytest

from benchmarks.data import load_ohsumed, load_yeast_ars, ohsumed_fold

needs_data = pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set")
PAIRS = str.maketrans("ACGT", "TGCA")
CONSENSUS = [set("AT"), {"T"}, {"T"}, {"T"}, {"A"}, set("CT"), set("AG"), {"T"}, {"T"}, {"T"}, set("AT")]


def best_match(text):
    """Most letters that agree with WTTTAYRTTTW at any offset."""
    offsets = range(len(text) - 10)
    return max(sum(c in allowed for c, allowed in zip(text[h:], CONSENSUS, strict=False)) for h in offsets)


@needs_data
def test_yeast_ars_is_as_its_readme_tells():
    data = load_yeast_ars()
    assert len(data.names) == len(data.sequences) == len(data.consensus) == 704
    assert (data.labels == 1).sum() == (data.labels == -1).sum() == 352
    assert set(data.folds) == set(range(10))
    assert len(data.background) == 5982
    assert sum(map(len, data.background)) == pytest.approx(2.67e6, rel=0.01)
    assert set("".join(data.sequences)) == set("ACGT")
    assert sum(bool(sites) for sites in data.consensus) == 191
    assert all(not sites for sites, label in zip(data.consensus, data.labels, strict=True) if label == -1)
    assert (data.putative.sum(), data.telomeric.sum()) == (53, 19)
    assert (data.labels[data.putative | data.telomeric] == 1).all()


@needs_data
def test_the_background_can_be_had_without_the_negatives():
    data = load_yeast_ars()
    negatives = [x for x, label in zip(data.sequences, data.labels, strict=True) if label == -1]
    background = data.background_without(negatives)
    assert 5982 - 400 < len(background) < 5982 - 300
    assert not any(x in text for x in negatives[:20] for text in background)


@needs_data
def test_annotated_sites_look_like_the_consensus():
    data, matches = load_yeast_ars(), []
    for sequence, sites in zip(data.sequences, data.consensus, strict=True):
        for site in sites:
            text = sequence[site.start : site.stop]
            assert len(text) == site.stop - site.start >= 11
            matches.append(best_match(text if site.strand == "+" else text.translate(PAIRS)[::-1]))
    assert np.mean(matches) > 9


@needs_data
def test_ohsumed_is_as_its_readme_tells():
    X, relevance, groups = load_ohsumed()
    assert X.shape == (16140, 45)
    assert np.bincount(relevance).tolist() == [11303, 2585, 2252]
    assert sorted(set(groups)) == list(range(1, 107))
    assert X.min() == 0.0
    assert X.max() == 1.0
    part, _, queries = load_ohsumed(2, 5)
    assert len(part) == 3076 + 3383
    assert set(queries) == {*range(22, 43), *range(85, 107)}


def test_folds_of_ohsumed():
    assert ohsumed_fold(1) == {"train": (1, 2, 3), "validation": (4,), "test": (5,)}
    assert ohsumed_fold(5) == {"train": (5, 1, 2), "validation": (3,), "test": (4,)}


def test_subsets_that_are_not_there():
    with pytest.raises(ValueError, match="the subsets of OHSUMED are 1 to 5, found 6"):
        load_ohsumed(6)
    with pytest.raises(ValueError, match="the folds of OHSUMED are 1 to 5, found 0"):
        ohsumed_fold(0)


def test_without_the_data_a_sentence_says_where_to_put_them(monkeypatch, tmp_path):
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no folder motif_yeast_ars in MAXMARGIN_DATA"):
        load_yeast_ars()
    monkeypatch.delenv("MAXMARGIN_DATA")
    with pytest.raises(FileNotFoundError, match="set MAXMARGIN_DATA"):
        load_ohsumed()
