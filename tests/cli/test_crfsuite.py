"""Taggers from CRFsuite's files: recognised, trained on their labels, never on their last attribute."""

import random

import pytest

import maxmargin as mm

WORDS = {"Ana": "B-PER", "Tom": "B-PER", "Oslo": "B-LOC", "sings": "O", "in": "O"}


def attributes(n, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        words = [rng.choice(list(WORDS)) for _ in range(rng.randint(1, 4))]
        for t, word in enumerate(words):
            before = f"\tw[-1]={words[t - 1]}" if t else ""
            lines.append(f"{WORDS[word]}\tw={word}\tlength:{len(word) / 4}{before}")
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "train.txt").write_text(attributes(40, 0))
    (tmp_path / "test.txt").write_text(attributes(10, 1))
    return tmp_path


def test_fit_predict_evaluate(run, data):
    fitted = run("fit", "tagger", "train.txt", "-o", "m.mm", "-C", "0.1,1", "--dev", "test.txt")
    assert fitted.code == 0, fitted.err
    assert "constraints: bio" in fitted.err
    model = mm.load(data / "m.mm")
    assert model.classes_.tolist() == ["B-LOC", "B-PER", "O"]
    assert "w=Oslo → B-LOC" in model.feature_names_out
    tagged = run("predict", "m.mm", "test.txt")
    expected = [line.partition("\t")[0] for line in (data / "test.txt").read_text().split("\n")]
    assert tagged.out.split("\n")[:-1] == expected[:-1]
    assert "100.00 % right" in run("evaluate", "m.mm", "test.txt").out
    unlabelled = "".join(line[line.find("\t") :] + "\n" if line else "\n" for line in attributes(10, 1).split("\n"))
    assert run("predict", "m.mm", "-", input=unlabelled).out == tagged.out
    evaluated = run("evaluate", "m.mm", "-", input=unlabelled)
    assert evaluated.err.startswith("maxmargin: standard input:1: expected a label")


def test_labels_in_the_first_column_of_columns(run, tmp_path):
    lines = "B-NP\tthe\tDT\nI-NP\tdog\tNN\nO\tsleeps\tVB\n\n" * 5
    (tmp_path / "plain.txt").write_text(lines)
    result = run("fit", "tagger", "plain.txt", "-o", "m.mm")
    assert result.code == 1
    assert "the first column looks like labels, and the last one does not: give --label-column 0" in result.err
    for option, expected in (
        (["--label-column", "0"], ["B-NP", "I-NP", "O"]),
        (["--format", "crfsuite"], ["B-NP", "I-NP", "O"]),
        (["--format", "conll"], ["DT", "NN", "VB"]),
    ):
        assert run("fit", "tagger", "plain.txt", "-o", "m.mm", "-q", *option).code == 0
        assert mm.load(tmp_path / "m.mm").classes_.tolist() == expected


def test_files_of_another_format_for_such_a_model(run, data):
    assert run("fit", "tagger", "train.txt", "-o", "m.mm", "-q").code == 0
    (data / "columns").write_text("Ana NP B-PER\n")
    result = run("predict", "m.mm", "columns")
    assert (result.code, result.out) == (1, "")
    assert "columns: expected attributes after the labels, separated by tabs, found none" in result.err


def test_words_alone_for_a_model_of_words(run, tmp_path):
    (tmp_path / "train").write_text("NP Ana B-PER\nV sings O\n\nNP Oslo B-LOC\nV sings O\n\n" * 5)
    (tmp_path / "words").write_text("Oslo\nsings\n\nAna\n")
    assert run("fit", "tagger", "train", "-o", "m.mm", "-q", "--columns", "1").code == 0
    assert run("predict", "m.mm", "words").out == "Oslo B-LOC\nsings O\n\nAna B-PER\n"
    assert run("predict", "m.mm", "-", input="NP Oslo\nV sings\n").out == "NP Oslo B-LOC\nV sings O\n"
    assert run("fit", "tagger", "train", "-o", "m.mm", "-q", "--columns", "1,0").code == 0
    result = run("predict", "m.mm", "words")
    assert result.code == 1
    assert "words:1: expected 3 columns, as in the training data, or one less without labels, or" in result.err


@pytest.mark.parametrize(("scheme", "last", "single"), [("bilou", "L", "U"), ("bioes", "E", "S")])
def test_schemes_that_mark_the_last_token(run, tmp_path, scheme, last, single):
    (tmp_path / "train").write_text(f"New B-LOC\nYork {last}-LOC\nis O\n\nOslo {single}-LOC\nis O\n\n" * 4)
    for option in ([], ["--constraints", scheme]):
        result = run("fit", "tagger", "train", "-o", "m.mm", *option)
        assert f"constraints: {scheme}" in result.err
        assert mm.load(tmp_path / "m.mm").constraints == scheme


def test_iob2_is_bio(run, tmp_path):
    (tmp_path / "train").write_text("New I-LOC\nYork I-LOC\nis O\n\nOslo B-LOC\nis O\n\n" * 4)
    result = run("fit", "tagger", "train", "-o", "m.mm", "--constraints", "iob2")
    assert "constraints: bio; 4 I- that continued no entity changed to B-" in result.err
