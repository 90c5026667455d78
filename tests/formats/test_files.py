"""`Files` in the place of X gives the model of all files read at once, and `predict_files` writes whole files."""

import gzip
import os

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base.mapped import empty_in
from maxmargin._base.ragged import Numbered
from maxmargin.formats import read_conll, read_svmlight

SENTENCES = [
    [("Ana", "NP", "B-PER"), ("sings", "V", "O")],
    [("Oslo", "NP", "B-LOC")],
    [("Ana", "NP", "B-PER"), ("met", "V", "O"), ("Tom", "NP", "B-PER"), ("in", "P", "O"), ("Bergen", "NP", "B-LOC")],
    [("Tom", "NP", "B-PER"), ("Waits", "NP", "I-PER"), ("sings", "V", "O")],
] * 5


def text(sentences):
    return "\n".join("".join(" ".join(token) + "\n" for token in sentence) for sentence in sentences)


@pytest.fixture
def folder(tmp_path):
    """Two files of columns, of which one is packed, and another with all sentences."""
    (tmp_path / "a.conll").write_text(text(SENTENCES[:7]))
    with gzip.open(tmp_path / "b.conll.gz", "wt") as file:
        file.write(text(SENTENCES[7:]))
    (tmp_path / "whole.txt").write_text(text(SENTENCES))
    return tmp_path


def bits(model):
    return model.coef_.tobytes(), model.certificate_.primal, model.certificate_.dual, model.certificate_.primal_bound


@pytest.mark.parametrize("memory", [False, True], ids=["in memory", "mapped"])
@pytest.mark.parametrize("parameters", [{}, {"min_count": 2}, {"seen_pairs": True}, {"constraints": "bio"}], ids=str)
def test_columns_of_files_give_the_model_of_one_file(folder, parameters, memory):
    there = folder / "mapped"
    there.mkdir()
    files = mm.Files(folder / "*.conll*", format="conll", memory=there if memory else None)
    model, whole = mm.ColumnTagger(**parameters), mm.ColumnTagger(**parameters)
    model.fit(files)
    whole.fit(*read_conll(folder / "whole.txt"))
    assert bits(model) == bits(whole)
    assert list(model.feature_names_out) == list(whole.feature_names_out)
    assert list(model.classes_) == list(whole.classes_)
    assert not any(there.iterdir())


def test_sentences_of_weight_0_leave_no_names(folder):
    X, Y = read_conll(folder / "whole.txt")
    weights = [0.0] * 2 + [1.0] * (len(X) - 2)
    files = mm.Files([folder / "a.conll", folder / "b.conll.gz"], format="conll")
    assert bits(mm.ColumnTagger().fit(files, sample_weight=weights)) == bits(mm.ColumnTagger().fit(X[2:], Y[2:]))


def test_other_taggers_take_files_too(folder):
    files = mm.Files(folder / "*.conll*", format="conll", columns=(0,), label_column=2)
    X, Y = read_conll(folder / "whole.txt")
    whole = mm.SequenceTagger().fit([[(word,) for word, _ in x] for x in X], Y)
    assert bits(mm.SequenceTagger().fit(files)) == bits(whole)


def test_the_arrays_of_mapped_sentences_are_in_files(folder, tmp_path):
    files = mm.Files(folder / "*.conll*", format="conll", memory=tmp_path)
    model = mm.ColumnTagger()
    _, examples = model._encode(*files.read())
    assert type(examples.rows.indices) is np.ndarray
    base = examples.rows.indices
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


def test_taken_sequences_number_their_own_values():
    whole = Numbered(["a", "b", "c"], np.array([0, 1, 2, 1, 2, 0], np.int32), np.array([0, 2, 3, 6]))
    some = whole.take(np.array([2]))
    assert list(some) == [["b", "c", "a"]] and some.values == ["b", "c", "a"]
    assert list(whole[1:]) == [["c"], ["b", "c", "a"]] and whole[-1] == ["b", "c", "a"]
    assert whole[1:].values == ["c", "b", "a"]
    with pytest.raises(IndexError):
        whole[3]


def test_rows_of_files_have_one_width(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n2 2:1\n")
    (tmp_path / "b.svm").write_text("2 5:1\n1 1:1\n")
    (tmp_path / "whole").write_text("1 1:1 3:2\n2 2:1\n2 5:1\n1 1:1\n")
    model = mm.MulticlassSVM().fit(mm.Files(tmp_path / "*.svm", format="svmlight"))
    whole = mm.MulticlassSVM().fit(*read_svmlight(tmp_path / "whole"))
    assert bits(model) == bits(whole)
    written = model.predict_files(tmp_path / "*.svm", to=tmp_path / "out")
    assert [path.read_text() for path in written] == ["1\n2\n", "2\n1\n"]


def test_trees_and_aligned_pairs_of_files(tmp_path):
    trees = ["(S (NP (N ana)) (VP (V sings)))", "(S (NP (N tom)) (VP (V met) (NP (N ana))))"]
    for k, tree in enumerate(trees * 2):
        (tmp_path / f"{k}.mrg").write_text(tree + "\n")
    model = mm.ConstituencyParser().fit(mm.Files(str(tmp_path / "*.mrg"), format="trees"))
    assert bits(model) == bits(mm.ConstituencyParser().fit(trees * 2))
    (tmp_path / "a.fasta").write_text(">1\nAC-GT\n>2\nACCGT\n")
    (tmp_path / "b.fasta").write_text(">1\nTTAG\n>2\nT-AG\n")
    X, Y = mm.Files(tmp_path / "*.fasta", format="fasta").read()
    assert X == [("ACGT", "ACCGT"), ("TTAG", "TAG")] and Y == [("AC-GT", "ACCGT"), ("TTAG", "T-AG")]


def conllu(words):
    return "".join(f"{m}\t{w}\t_\t{t}\t_\t_\t{h}\t_\t_\t_\n" for m, (w, t, h) in enumerate(words, 1)) + "\n"


def test_dependency_trees_of_files(tmp_path):
    pytest.importorskip("conllu")
    one, two = (
        [("Ana", "PROPN", 2), ("sings", "VERB", 0)],
        [("Tom", "PROPN", 2), ("met", "VERB", 0), ("Ana", "PROPN", 2)],
    )
    (tmp_path / "a.conllu").write_text(conllu(one) + conllu(two))
    (tmp_path / "b.conllu").write_text(conllu(two))
    (tmp_path / "whole").write_text(conllu(one) + conllu(two) * 2)
    model = mm.DependencyParser().fit(mm.Files(tmp_path / "*.conllu", format="conllu"))
    assert bits(model) == bits(mm.DependencyParser().fit(tmp_path / "whole"))
    written = model.predict_files(tmp_path / "*.conllu", to=tmp_path / "out")
    assert [path.name for path in written] == ["a.conllu", "b.conllu"]
    assert "1\tAna\t_\tPROPN\t_\t_\t2\t" in written[0].read_text()


def test_predictions_of_files_have_their_columns(folder, monkeypatch):
    monkeypatch.setattr("maxmargin.estimators.text.column_tagger.BATCH", 3)
    model = mm.ColumnTagger(columns=(0, 1), label_column=2).fit(mm.Files(folder / "*.conll*", format="conll"))
    written = model.predict_files([folder / "a.conll", folder / "b.conll.gz"], to=folder / "out")
    assert [path.name for path in written] == ["a.conll", "b.conll"]
    X, Y = read_conll(written[1])
    assert model.predict([[token[:2] for token in x] for x in X]) == Y
    assert len(X) == len(SENTENCES) - 7 and X[0][0] == SENTENCES[7][0]


def test_a_file_that_fails_leaves_nothing_half_written(folder):
    model = mm.ColumnTagger(columns=(0, 1), label_column=2).fit(mm.Files(folder / "*.conll*", format="conll"))
    (folder / "c.conll").write_text(text(SENTENCES[:2]) + "\nAna NP\n")
    with pytest.raises(mm.exceptions.FormatError, match=r"c\.conll:6: expected 3 columns as on line 1, found 2"):
        model.predict_files([folder / "a.conll", folder / "c.conll"], to=folder / "out")
    assert [path.name for path in (folder / "out").iterdir()] == ["a.conll"]


def test_predictions_never_replace_their_source_or_each_other(folder):
    model = mm.ColumnTagger().fit(mm.Files(folder / "*.conll*", format="conll"))
    with pytest.raises(ValueError, match="would be replaced by its predictions: use another folder"):
        model.predict_files(folder / "a.conll", to=folder)
    (folder / "more").mkdir()
    (folder / "more" / "a.conll").write_text(text(SENTENCES[:1]))
    with pytest.raises(ValueError, match="would both be written to"):
        model.predict_files([folder / "a.conll", folder / "more" / "a.conll"], to=folder / "out")
    assert not (folder / "out").exists()


def test_errors_name_file_and_line(folder):
    (folder / "b.conll").write_text("Ana NP I-PER\nsings V O\n\nTom NP O\n")
    files = mm.Files([folder / "a.conll", folder / "b.conll"], format="conll")
    with pytest.raises(ValueError, match=r"b\.conll:1: Y\[7\], a sequence may not begin with I-PER"):
        mm.ColumnTagger(constraints="bio").fit(files)
    (folder / "b.conll").write_text("Ana B-PER\n")
    with pytest.raises(mm.exceptions.FormatError, match=r"b\.conll:1: expected 3 columns as in .*a\.conll, found 2"):
        mm.ColumnTagger().fit(files)
    (folder / "b.conll").write_text("\n")
    with pytest.raises(mm.exceptions.FormatError, match=r"b\.conll: expected a line of columns for each token"):
        mm.ColumnTagger().fit(files)


def test_invalid_files(folder):
    with pytest.raises(FileNotFoundError, match=r"\*\.conllx: expected a file, or a pattern of files, found none"):
        mm.Files(folder / "*.conllx", format="conll")
    with pytest.raises(ValueError, match="format must be one of 'conll', 'conllu', 'trees', 'svmlight', 'fasta'"):
        mm.Files(folder / "*", format="csv")
    with pytest.raises(TypeError, match="take no 'clean'; the options are: columns, label_column"):
        mm.Files(folder / "*.conll", format="conll", clean=True)
    with pytest.raises(ValueError, match="memory must be a folder that can be written to"):
        mm.Files(folder / "*.conll", format="conll", memory=folder / "nowhere")
    with pytest.raises(ValueError, match="memory= is for files of columns"):
        mm.Files(folder / "*.conll", format="trees", memory=folder)
    files = mm.Files(folder / "*.conll", format="conll", memory=folder)
    with pytest.raises(ValueError, match=r"Files\(memory=\) is for ColumnTagger"):
        mm.SequenceTagger().fit(files)
    with pytest.raises(ValueError, match="y must be None if X is Files"):
        mm.ColumnTagger().fit(files, [["O"]])
    assert repr(files) == f"Files of format 'conll': 1 files from {os.fspath(folder / 'a.conll')!r}"


def test_a_disk_that_is_too_small(tmp_path):
    with pytest.raises(OSError, match="GB are needed"):
        empty_in(tmp_path)(1 << 60, np.uint32)


@pytest.mark.parametrize("options", [{}, {"label_column": "upos"}, {"columns": "form"}, {"columns": ["form"]}])
def test_only_the_words_of_conllu_are_used_unless_others_are_named(tmp_path, options):
    """All gold columns were features, which a new text does not have."""
    rows = "1\tAna\tana\tPROPN\tNNP\t_\t2\tnsubj\t_\t_\n2\tsings\tsing\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(rows)
    X, Y = mm.Files(tmp_path / "a.conllu", format="conll", **options).read()
    assert [list(map(tuple, x)) for x in X] == [[("Ana",), ("sings",)]] and [list(y) for y in Y] == [["PROPN", "VERB"]]
    X, _ = mm.Files(tmp_path / "a.conllu", format="conll", columns=["form", "xpos"]).read()
    assert [list(map(tuple, x)) for x in X] == [[("Ana", "NNP"), ("sings", "VBZ")]]


def test_nothing_for_each_token_stays_in_memory(folder, tmp_path):
    """Numbers of tokens and labels, codes and answers are in files, as the features are."""
    X, Y = mm.Files(folder / "*.conll*", format="conll", memory=tmp_path).read()
    _, examples = mm.ColumnTagger()._encode(X, Y)
    arrays = [X.numbers, Y.numbers, examples.truths, examples.empty_answers().codes, examples.rows.indptr]
    for array in arrays:
        while isinstance(array.base, np.ndarray):
            array = array.base
        assert isinstance(array, np.memmap)
    assert not examples.empty_answers().codes.any()


@pytest.mark.parametrize("parameters", [{}, {"seen_pairs": True}, {"loss": "zero-one"}, {"bound": "slack"}], ids=str)
def test_sweeps_in_parts_have_the_same_bits(folder, parameters, monkeypatch):
    """Scores, bounds on rounding errors and tables are computed a part of the tokens at a time."""
    files = mm.Files(folder / "*.conll*", format="conll")
    whole = bits(mm.ColumnTagger(**parameters).fit(files))
    for module in ("features.text.template_encoder", "structures.chain.examples", "structures.chain.seen_pairs",
                   "_base.ragged"):  # fmt: skip
        monkeypatch.setattr(f"maxmargin.{module}.PART", 7)
    assert bits(mm.ColumnTagger(**parameters).fit(files)) == whole
