"""CoNLL columns: sentences, labels, what is left aside, and what is wrong named by file and line."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.exceptions import FormatError
from maxmargin.formats import ColumnReader, read_conll, write_conll
from maxmargin.formats.conll import labelled


@pytest.fixture
def file(tmp_path):
    def make(text):
        path = tmp_path / "data.conll"
        path.write_bytes(text.encode())
        return path

    return make


def test_sentences_and_labels(file):
    path = file("\n\nAna NP B-PER\nsings  V\tO \n \nOslo NP B-LOC\n\n\n")
    X, Y = read_conll(path)
    assert X == [[("Ana", "NP"), ("sings", "V")], [("Oslo", "NP")]]
    assert Y == [["B-PER", "O"], ["B-LOC"]]


@pytest.mark.parametrize("column", [0, 1, 2, -1, -2, -3])
def test_any_column_is_the_label(file, column):
    X, Y = read_conll(file("a b c\n"), label_column=column)
    columns = ["a", "b", "c"]
    assert [[columns.pop(column)]] == Y
    assert [[tuple(columns)]] == X


def test_without_labels(file):
    assert read_conll(file("one\ntwo\n\nthree\n"), label_column=None) == ([[("one",), ("two",)], [("three",)]], None)


def test_tabs_keep_blanks_and_empty_columns(file):
    X, Y = read_conll(file("New York\t\tB-LOC\n\t\t\nis\tV\tO\n"))
    assert X == [[("New York", "")], [("is", "V")]]
    assert Y == [["B-LOC"], ["O"]]


def test_a_no_break_space_is_part_of_a_word(file):
    X, _ = read_conll(file("1\xa0000 Z O\nOslo NP B-LOC\n"))
    assert X == [[("1\xa0000", "Z"), ("Oslo", "NP")]]


def test_comments_and_documents(file):
    text = "# id 1\n-DOCSTART- O\n\n# text = # a\n#tag N\n# O\n\n-DOCSTART- -X- O O\nb O\n"
    X, _ = read_conll(file(text))
    assert X == [[("#tag",), ("#",)], [("b",)]]
    X, _ = read_conll(file("# O\n-DOCSTART- O\n"), comments=False, documents=False)
    assert X == [[("#",), ("-DOCSTART-",)]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a b O\nc O\n", r"data.conll:2: expected 3 columns as on line 1, found 2; each line is a token"),
        ("# c\n\na\tO\nb c\n", r"data.conll:4: expected 2 columns as on line 3, found 1; its columns .* by blanks"),
        ("a\tO\nb\n", r"data.conll:2: expected 2 columns as on line 1, found 1; each line is a token"),
        ("", r"data.conll: no tokens: expected a line of columns .* found an empty file"),
        ("\n# only this\n", r"data.conll: no tokens"),
        ("a\nb\n", r"data.conll: expected a label and at least one more column, found one column"),
        ("a\tO\nb\t\n", r"data.conll:2: expected a label in column 1, found none"),
    ],
)
def test_what_is_wrong_is_named(file, text, sentence):
    with pytest.raises(FormatError, match=sentence):
        read_conll(file(text))


@pytest.mark.parametrize("column", [3, -4])
def test_no_such_column(file, column):
    with pytest.raises(FormatError, match=f"no label column {column}: lines have 3 columns, numbered 0 to 2"):
        read_conll(file("a b O\n"), label_column=column)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_conll(tmp_path / "none")


WORD = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(
    lambda word: not word.startswith(("#", "-DOCSTART-"))
)
SENTENCES = st.lists(st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=4), min_size=1, max_size=4)


@given(SENTENCES, st.sampled_from([" ", "\t"]))
def test_what_is_written_is_read(sentences, separator):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f")
        X = [[token[:2] for token in sentence] for sentence in sentences]
        Y = [[token[2] for token in sentence] for sentence in sentences]
        write_conll(path, X, Y, separator=separator)
        assert read_conll(path) == (X, Y)


UNREADABLE = [
    ([["#", "tag"]], " ", "sentence 0, token 0: expected a token whose line is neither a comment"),
    ([["a"], ["b", "-DOCSTART-"]], " ", "sentence 1, token 1: expected a token whose line is .* nor a document line"),
    ([["-DOCSTART-"]], "\t", "sentence 0, token 0: .* nor a document line"),
    ([["a"], ["New York"]], " ", r"sentence 1, token 0: expected .* no blanks and no tabs, found \['New York', 'O'\]"),
    ([["a", "a\tb"]], " ", "sentence 0, token 1: expected columns that are not empty and hold no blanks and no tabs"),
    ([["a", "b\tc"]], "\t", "sentence 0, token 1: expected columns that are not empty and hold no tabs"),
    ([["a", ""]], " ", "sentence 0, token 1: expected columns that are not empty"),
    ([[""]], "\t", "sentence 0, token 0: expected columns that are not empty"),
    ([["a\r"]], " ", "sentence 0, token 0: expected columns without line ends"),
    ([["a\nb"]], "\t", "sentence 0, token 0: expected columns without line ends"),
    ([["\ufeffa"]], " ", "sentence 0, token 0: expected a file that does not begin with a byte order mark"),
    ([["a"], [("a", "b")]], " ", "sentence 1, token 0: expected 2 columns as in the first token"),
    ([["a"], []], " ", "sentence 1: expected a list of at least one token"),
    (["ab"], " ", "sentence 0: expected a list of at least one token, found 'ab'"),
    ([["a"]], ",", "separator: expected a blank or a tab, found ','"),
]


@pytest.mark.parametrize(("X", "separator", "sentence"), UNREADABLE)
def test_what_would_be_read_otherwise_is_not_written(tmp_path, X, separator, sentence):
    path = tmp_path / "f"
    path.write_text("old")
    with pytest.raises(ValueError, match=sentence):
        write_conll(path, X, [["O"] * len(x) for x in X], separator=separator)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_label_with_a_line_end_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="sentence 0, token 1: expected columns without line ends"):
        write_conll(tmp_path / "f", [["a", "b"]], [["O", "O\r"]])
    assert not os.listdir(tmp_path)


@given(
    st.lists(st.lists(st.text("a# \t\r\n-\xa0\ufeff", max_size=3), min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from([" ", "\t"]),
)
def test_what_is_written_is_read_or_refused(sentences, separator):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f")
        Y = [["O"] * len(sentence) for sentence in sentences]
        try:
            write_conll(path, sentences, Y, separator=separator)
        except ValueError:
            return
        assert read_conll(path) == ([[(word,) for word in sentence] for sentence in sentences], Y)


def test_tabs_keep_what_blanks_cannot(tmp_path):
    X = [[("#", "New York"), ("", "b")], [("a", "")]]
    write_conll(tmp_path / "f", X, [["O", "O"], ["O"]], separator="\t")
    assert read_conll(tmp_path / "f") == (X, [["O", "O"], ["O"]])


def test_write_words_and_several_columns(tmp_path, capsysbinary):
    write_conll("-", [["a", "b"]], [[1, 2]], [["x", "y"]])
    assert capsysbinary.readouterr().out == b"a 1 x\nb 2 y\n\n"
    with pytest.raises(ValueError, match="sentence 0: 2 tokens but 1 values"):
        write_conll(tmp_path / "f", [["a", "b"]], [["x"]])
    assert not (tmp_path / "f").exists()


def test_a_column_is_appended_to_the_text_as_it_stands(file):
    text = "# id 1\n-DOCSTART- O\n\na  1\nb 2 \n\n\n# some more\nc 3\n"
    reader = ColumnReader(file(text))
    out = "".join(labelled(reader, s, [["X", "Y"]] * len(s.tokens), None) for s in reader)
    assert out == "# id 1\n-DOCSTART- O O O\n\na  1 X Y\nb 2 X Y\n\n\n# some more\nc 3 X Y\n"
    inserted = "".join(labelled(reader, s, [["X"]] * len(s.tokens), 1) for s in reader)
    assert inserted == "# id 1\n-DOCSTART- O O\n\na X 1\nb X 2\n\n\n# some more\nc X 3\n"


@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set: no CoNLL-2002 here")
def test_conll2002_has_the_counts_of_the_shared_task():
    for part, sentences, tokens in (("train", 8323, 264715), ("testa", 1915, 52923), ("testb", 1517, 51533)):
        X, Y = mm.datasets.load_conll2002(part)
        assert (len(X), sum(map(len, X))) == (sentences, tokens)
        assert len({label for y in Y for label in y}) == 9


# ---------------------------------------------------------------------- tokens that look like comments, and CoNLL-U


@pytest.mark.parametrize(
    "text",
    ["# # B-NP\n1 CD I-NP\n\n# # O\n", "a b O\n\n# # B-NP\n1 CD I-NP\n", "# a title of this file\n# # B-NP\na b O\n"],
)
def test_a_line_with_all_columns_is_a_token(file, text):
    X, Y = read_conll(file(text))
    assert ("#", "#") in [token for x in X for token in x]
    assert sum(map(len, Y)) == sum(len(line.split()) == 3 for line in text.split("\n"))


def test_comments_of_as_many_words(file):
    text = "# id = 7\na b c O\n\n# scores 1.5 -2\nd e f O\n\n# scores = 2\n# g h O\n"
    X, Y = read_conll(file(text))
    assert X == [[("a", "b", "c")], [("d", "e", "f")], [("#", "g", "h")]]
    assert Y == [["O"], ["O"], ["O"]]


def test_many_comments_before_the_first_token(file):
    lines = "".join(f"# line {i} of a long preface\n" for i in range(60_000))
    X, _ = read_conll(file(f"{lines}# N O\na V O\n"))
    assert X == [[("#", "N"), ("a", "V")]]


CONLLU = "\n".join(
    "\t".join(row)
    for row in [
        ["1-2", "zum", *["_"] * 8],
        ["1", "zu", "zu", "ADP", *["_"] * 6],
        ["2", "dem", "der", "DET", *["_"] * 6],
        ["2.1", "leer", *["_"] * 8],
        ["3", "Meer", "Meer", "NOUN", *["_"] * 6],
    ]
)


def test_rows_of_conllu_that_are_no_words(file):
    path = file(f"# text = zum Meer\n{CONLLU}\n\n# text = -\n{CONLLU}\n")
    X, Y = read_conll(path, label_column=3)
    assert [[token[1] for token in x] for x in X] == [["zu", "dem", "Meer"]] * 2
    assert Y == [["ADP", "DET", "NOUN"]] * 2
    reader = ColumnReader(path)
    sentence = next(iter(reader))
    assert [sentence.line_of(t) for t in range(3)] == [3, 4, 6]
    expected = [row.split("\t") for row in CONLLU.split("\n")]
    for t in (1, 2, 4):
        expected[t][3] = "A"
    first, *lines = labelled(reader, sentence, [["A"]] * 3, 3).splitlines()
    assert first == "# text = zum Meer" and [line.split("\t") for line in lines] == expected
    for t in (1, 2, 4):
        expected[t][9] = "Upos2=B|Upos3=C"
    lines = labelled(reader, sentence, [["A", "B", "C"]] * 3, 3).splitlines()[1:]
    assert [line.split("\t") for line in lines] == expected


def test_other_files_keep_such_rows(file, tmp_path):
    assert read_conll(file("1-2 O\n3.5 O\n1 O\n"))[0] == [[("1-2",), ("3.5",), ("1",)]]
    wide = "\n".join("\t".join([first, *"abcdefgh", "O"]) for first in ("x", "1-2"))
    assert len(read_conll(file(wide))[0][0]) == 2
    named = tmp_path / "short.conllu"
    named.write_text("1-2\tzum\tO\n1\tzu\tO\n")
    assert read_conll(named)[0] == [[("1", "zu")]]


def test_a_missing_label_of_conllu_is_on_its_line(file):
    rows = CONLLU.replace("Meer\tNOUN", "Meer\t")
    with pytest.raises(FormatError, match=r"data.conll:5: expected a label in column 3, found none"):
        read_conll(file(rows), label_column=3)
