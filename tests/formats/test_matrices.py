"""Substitution matrices and motifs for other programs, read again by Biopython."""

import numpy as np
import pytest

import maxmargin as mm

COUNTS = np.array([[8, 0, 1, 1], [0, 10, 0, 0], [2, 3, 4, 1]])


def test_substitution_matrices(tmp_path):
    read = pytest.importorskip("Bio.Align.substitution_matrices").read
    path = tmp_path / "scores"
    for scores in ([[4, -1], [-1, 10]], [[0.5, -1.25], [-1.25, 3.0]]):
        mm.formats.write_substitution_matrix(path, scores, "AC", comments=["learnt"])
        assert path.read_text().startswith("# learnt\n ")
        found = read(str(path))
        assert found.alphabet == "AC"
        np.testing.assert_array_equal(np.asarray(found), scores)
    assert "0.5" in path.read_text()
    with pytest.raises(ValueError, match=r"scores: expected 3 × 3 finite numbers, found shape \(2, 2\)"):
        mm.formats.write_substitution_matrix(path, scores, "ACG")


def test_motifs_of_meme(tmp_path):
    motifs = pytest.importorskip("Bio.motifs")
    mm.formats.write_meme(
        tmp_path / "m.meme", {"first": COUNTS, "second": COUNTS[1:]}, background=[0.3, 0.2, 0.2, 0.3], both_strands=True
    )
    with open(tmp_path / "m.meme") as file:
        found = motifs.parse(file, "minimal")
    assert [motif.name for motif in found] == ["first", "second"]
    assert found.background == {"A": 0.3, "C": 0.2, "G": 0.2, "T": 0.3}
    assert "strands: + -" in (tmp_path / "m.meme").read_text()
    expected = (COUNTS + np.array([0.3, 0.2, 0.2, 0.3])) / 11
    rows = (tmp_path / "m.meme").read_text().split("E= 0\n")[1].split("\n\n")[0]
    np.testing.assert_allclose(np.array([row.split() for row in rows.split("\n")], float), expected, atol=1e-6)
    assert found[0].num_occurrences == 10 and found[0].length == 3


def test_motifs_of_jaspar(tmp_path):
    motifs = pytest.importorskip("Bio.motifs")
    mm.formats.write_jaspar(tmp_path / "m.jaspar", {"first": COUNTS})
    with open(tmp_path / "m.jaspar") as file:
        (found,) = motifs.parse(file, "jaspar")
    np.testing.assert_array_equal([found.counts[letter] for letter in "ACGT"], COUNTS.T)
    assert found.consensus == "ACG"


@pytest.mark.parametrize(
    ("motifs", "options", "message"),
    [
        ({"m": COUNTS}, {"alphabet": "01"}, "alphabet: (MEME|JASPAR) has the alphabets ACGT, ACGU.*found '01'"),
        ({"m": COUNTS[:, :3]}, {}, r"motifs\['m'\]: expected counts of 4 letters.*shape \(3, 3\)"),
        ({"m": 0 * COUNTS}, {}, "at least one at each position"),
        (COUNTS, {}, "motifs: expected a dict of names and counts, found ndarray"),
    ],
)
def test_motifs_that_cannot_be_written(motifs, options, message, tmp_path):
    for write in (mm.formats.write_meme, mm.formats.write_jaspar):
        with pytest.raises(ValueError, match=message):
            write(tmp_path / "m", motifs, **options)
    with pytest.raises(ValueError, match="background: expected 4 frequencies with sum 1"):
        mm.formats.write_meme(tmp_path / "m", {"m": COUNTS}, background=[1, 1, 1, 1])
