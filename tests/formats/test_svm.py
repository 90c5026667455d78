"""svmlight rows and SVM-hmm's sequences: the same numbers as scikit-learn reads, and lines named."""

import gzip
import io
import os

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.svm import LinearSVC

from maxmargin.exceptions import FormatError
from maxmargin.formats import read_letor, read_svmhmm, read_svmlight


@pytest.fixture
def file(tmp_path):
    def make(text):
        path = tmp_path / "data.svm"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("zero_based", [False, True])
def test_rows_are_those_of_scikit_learn(file, packed, zero_based):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    X[0] = 1.0
    y = rng.integers(3, size=20)
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=zero_based)
    data = buffer.getvalue()
    rows, labels = read_svmlight(file(gzip.compress(data) if packed else data), zero_based=zero_based)
    np.testing.assert_array_equal(
        rows.toarray(), load_svmlight_file(io.BytesIO(data), zero_based=zero_based)[0].toarray()
    )
    np.testing.assert_array_equal(labels, y)
    assert labels.dtype.kind == "i"


def test_width_labels_comments_and_empty_lines(file):
    path = file("\xef\xbb\xbf".encode("latin1") + b"# head\n1.5 1:2 3:4 # x\n\n-1\n")
    rows, labels = read_svmlight(path)
    np.testing.assert_array_equal(rows.toarray(), [[2, 0, 4], [0, 0, 0]])
    assert labels.tolist() == [1.5, -1.0]
    assert read_svmlight(path, n_features=5)[0].shape == (2, 5)
    np.testing.assert_array_equal(read_svmlight(path, n_features=2)[0].toarray(), [[2, 0], [0, 0]])


@pytest.mark.parametrize("n_features", [None, 1, 5])
def test_linear_models_of_scikit_learn_take_the_rows(file, n_features):
    path = file("1 qid:1 1:2 3:1\n0 qid:1 1:-2\n")
    rows, labels, _ = read_letor(path, n_features=n_features)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert LinearSVC().fit(rows, labels).predict(rows).tolist() == [1, 0]


ROWS = [
    ("1 1:2\ncat 1:2\n", ":2: expected a number as label, found 'cat'"),
    ("1 1:2\n\n2 3\n", ":3: expected FEATURE:VALUE, both finite numbers, found '3'"),
    ("1 1:2:3\n", ":1: expected FEATURE:VALUE, both finite numbers, found '1:2:3'"),
    ("1 1:\n", ":1: expected FEATURE:VALUE, .* found '1:'"),
    ("1 a:1\n", ":1: expected FEATURE:VALUE, .* found 'a:1'"),
    ("1 1:nan\n", ":1: expected FEATURE:VALUE, both finite numbers, found '1:nan'"),
    ("inf 1:1\n", ":1: expected a number as label, found 'inf'"),
    ("1 0:1\n", ":1: expected features numbered from 1, found '0:1'; for features numbered from 0 use zero_based"),
    ("1 2:1 1:1\n", ":1: expected features in ascending order, found '1:1' after 2"),
    ("1 2:1 2:1\n", ":1: expected features in ascending order"),
    ("1 99999999999:1\n", r":1: expected a feature below 2\^31"),
    (b"1 1:2\n1 \xe9:1\n", ":2: expected UTF-8"),
    ("1_0 1:2\n", ":1: expected a number as label, found '1_0'"),
    ("1 1:2 # a_b\n1 1:2_0\n", ":2: expected FEATURE:VALUE, both finite numbers, found '1:2_0'"),
    ("1 1_0:2\n", ":1: expected FEATURE:VALUE, both finite numbers, found '1_0:2'"),
    ("", ": no rows: .* found an empty file"),
    ("# nothing\n", ": no rows"),
]


@pytest.mark.parametrize(("text", "sentence"), ROWS)
def test_bad_rows_are_named(file, text, sentence):
    with pytest.raises(FormatError, match=f"data.svm{sentence}"):
        read_svmlight(file(text))


def test_sequences(file):
    X, Y = read_svmhmm(file("1 qid:1 1:1 3:0.5 # a\n2 qid:1 2:1\n\n1 qid:7\n"))
    assert Y == [[1, 2], [1]]
    np.testing.assert_array_equal(X[0].toarray(), [[1, 0, 0.5], [0, 1, 0]])
    np.testing.assert_array_equal(X[1].toarray(), [[0, 0, 0]])


def test_tags_are_strings_unless_all_are_numbers(file):
    path = file("1 qid:1 1:1\nNN qid:1 2:1\nVÉ qid:2 1:1\n")
    X, Y = read_svmhmm(path, n_features=4)
    assert Y == [["1", "NN"], ["VÉ"]]
    assert [x.shape for x in X] == [(2, 4), (1, 4)]


@pytest.mark.parametrize("tag", ["1_0", "٣"])
def test_tags_that_only_python_takes_for_numbers_are_strings(file, tag):
    assert read_svmhmm(file(f"1 qid:1 1:1\n{tag} qid:1 2:1\n"))[1] == [["1", tag]]


def test_labels_that_no_integer_holds_stay_as_they_are(file):
    assert read_svmlight(file("1e30 1:1\n-9223372036854775808 1:1\n"))[1].tolist() == [1e30, -(2.0**63)]
    assert read_svmlight(file("5e15 1:1\n-1 1:1\n"))[1].tolist() == [5 * 10**15, -1]


SEQUENCES = [
    ("1 1:1\n", ":1: expected TAG qid:NUMBER FEATURE:VALUE ..., found '1:1' after the tag"),
    ("1 qid:1 1:1\n1\n", ":2: expected TAG qid:NUMBER .* found the end of the line"),
    ("1 qid: 1:1\n", ":1: expected TAG qid:NUMBER"),
    ("1 qid:1 1:1\n1 qid:2 1:1\n\n1 qid:1 1:1\n", r":4: .* to be adjacent, found qid:1 again \(first on line 1\)"),
    ("1 qid:1 1:1\n# c\n1 qid:1 x\n", ":3: expected FEATURE:VALUE, both finite numbers, found 'x'"),
    ("1 qid:1 0:1\n", ":1: expected features numbered from 1"),
    ("1 qid:1 1:inf\n", ":1: expected FEATURE:VALUE, both finite"),
    ("1 qid:1 1:1\n\n1 qid:1 1:1_0\n", ":3: expected FEATURE:VALUE, both finite numbers, found '1:1_0'"),
    ("\n", ": no tokens"),
]


@pytest.mark.parametrize(("text", "sentence"), SEQUENCES)
def test_bad_sequences_are_named(file, text, sentence):
    with pytest.raises(FormatError, match=f"data.svm{sentence}"):
        read_svmhmm(file(text))


@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set: no SVM-hmm example here")
def test_the_example_of_svm_hmm():
    folder = os.path.join(os.environ["MAXMARGIN_DATA"], "svm_hmm_example")
    X, Y = read_svmhmm(os.path.join(folder, "declaration_of_independence.dat.gz"))
    assert (len(X), sum(map(len, Y)), X[0].shape[1], sum(x.nnz for x in X)) == (36, 1486, 4529, 16420)
    assert {tag for y in Y for tag in y} == set(range(1, 35))
