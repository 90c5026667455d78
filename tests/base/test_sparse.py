"""Sparse matrices whose indices leave their shape are refused before anything follows them."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin._base.input import checked_csr


def broken(fault, rows=4, columns=3):
    """A CSR matrix of ones, one per row, damaged after it was made, as SciPy allows."""
    matrix = sp.csr_matrix((np.ones(rows), np.arange(rows) % columns, np.arange(rows + 1)), shape=(rows, columns))
    if fault == "too large":
        matrix.indices[2] = 10**9
    elif fault == "negative":
        matrix.indices[2] = -(10**9)
    elif fault == "falling":
        matrix.indptr[3] = -(10**6)
    elif fault == "beyond":
        matrix.indptr[3:] = 10**9
    elif fault == "first":
        matrix.indptr[0] = 1
    return matrix


FAULTS = {
    "too large": ("2", r"column index 1000000000, expected 0 to 2 \(3 columns\)"),
    "negative": ("2", "column index -1000000000, expected 0 to 2"),
    "falling": ("2", r"indptr\[3\] = -1000000 below indptr\[2\] = 2"),
    "beyond": ("2", r"indptr\[3\] = 1000000000, but only 4 entries"),
    "first": ("0", r"indptr\[0\] = 1, expected 0"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["multiclass", "structure", "precision", "tagger", "top_k", "forest", "tree"])
def test_every_estimator_refuses_such_a_matrix(kind, fault):
    row, message = FAULTS[fault]
    sound, bad = broken(None), broken(fault)
    if kind in ("multiclass", "structure"):
        model = mm.MulticlassSVM() if kind == "multiclass" else mm.StructuralSVM(mm.Multiclass())
        X, Y, bad_X, bad_Y = sound, [0, 1, 0, 1], bad, [0, 1, 0, 1]
        expected = rf"^X\[{row}\]: a sparse matrix with {message}"
    elif kind == "precision":
        model, arguments = mm.StructuredRanker(measure="precision@1"), {"groups": [0, 0, 1, 1]}
        fitted = mm.StructuredRanker(measure="precision@1").fit(sound, [0, 1, 0, 1], **arguments)
        for call in (lambda: model.fit(bad, [0, 1, 0, 1], **arguments), lambda: fitted.predict(bad)):
            with pytest.raises(ValueError, match=rf"^X\[{row}\]: a sparse matrix with {message}"):
                call()
        return
    else:
        structures = {
            "tagger": None,
            "top_k": mm.Ranking(measure="precision@1"),
            "forest": mm.Forest(),
            "tree": mm.Tree(),
        }
        part = {
            "tagger": rf", token {row}", "top_k": rf", document {row}", "forest": rf", row {row}",
            "tree": rf", arc \({int(row) // 2}, {int(row) % 2}\)",
        }[kind]  # fmt: skip
        if kind == "forest":
            sound, bad = broken(None, 6), broken(fault, 6)
            message = message.replace("only 4", "only 6")
        y = {"tagger": [0, 1, 0, 1], "top_k": [0, 1, 0, 1], "forest": [0, 0, 1, 1], "tree": [0]}[kind]
        model = mm.SequenceTagger() if kind == "tagger" else mm.StructuralSVM(structures[kind])
        X, Y, bad_X, bad_Y = [sound] * 2, [y] * 2, [sound, bad], [y] * 2
        expected = rf"^X\[1\]{part}: a sparse matrix with {message}"
    with pytest.raises(ValueError, match=expected):
        model.fit(bad_X, bad_Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=expected):
        model.predict(bad_X)


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "lil"])
def test_other_formats(form):
    matrix = broken(None).asformat(form)
    if form == "csc":
        matrix.indices[0] = 99
    elif form == "coo":
        matrix.col[2] = 99
    elif form == "bsr":
        matrix.indices[0] = 99
    else:
        matrix.rows[2] = [99]
    with pytest.raises(ValueError, match=r"index 99, expected 0 to"):
        mm.MulticlassSVM().fit(matrix, [0, 1, 0, 1])


def test_sound_matrices_are_returned_as_they_are():
    matrix = broken(None)
    assert checked_csr(matrix, lambda row: f"row {row}") is matrix
    for form in ("csc", "coo", "bsr", "lil", "dok", "dia"):
        found = checked_csr(matrix.asformat(form), lambda row: f"row {row}")
        assert found.format == "csr"
        assert (found.toarray() == matrix.toarray()).all()


def test_entries_behind_the_last_row_do_not_count():
    matrix = sp.csr_array((np.ones(3), [0, 1, 0], [0, 1, 2]), shape=(2, 2))
    matrix.indices = np.array([0, 1, 999], matrix.indptr.dtype)  # older SciPy needs the same type to take rows
    model = mm.StructuralSVM(mm.Multiclass()).fit(matrix, ["a", "b"])
    assert model.predict(matrix) == ["a", "b"]
    assert model.structure_.joint_feature(matrix[[0]], "a").tolist() == [1, 0, 0, 0, 1, 0]


def test_an_own_structure_that_returns_broken_rows():
    class Own(mm.Structure):
        def joint_feature(self, x, y):
            row = sp.csc_array(np.array([[1.0 * y, 1.0 - y]]))
            row.indptr[1:] = 10**9
            return row

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return 0

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return 1 - y

    with pytest.raises(ValueError, match=r"X\[0\]: joint_feature returned csc_array: .*only 1 entries"):
        mm.StructuralSVM(Own()).fit([0, 0], [0, 1])


@pytest.mark.slow
def test_the_process_survives():
    """Without the check, an index far outside ends the process."""
    code = (
        "import numpy as np, scipy.sparse as sp, maxmargin as mm\n"
        "X = sp.csr_array((np.ones(4), np.array([0, 1, 2, 2**30]), np.arange(5)), shape=(4, 3))\n"
        "try: mm.MulticlassSVM().fit(X, [0, 1, 0, 1])\n"
        "except ValueError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.stdout.startswith("X[3]: a sparse matrix with column index 1073741824"), (out.returncode, out.stderr)
