"""ColumnTagger: sentences in, labels out; templates are part of the model."""

import random

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import FormatError


def sentences(n, seed=0, columns=2):
    """Names, some of two words, among words in lower case."""
    rng = random.Random(seed)
    X, Y = [], []
    for _ in range(n):
        x, y = [], []
        for _ in range(rng.randint(1, 5)):
            if rng.random() < 0.4:
                x += [(rng.choice(["Ana", "Tom", "Mia"]), "NP"), (rng.choice(["Silva", "Baker"]), "NP")]
                y += ["B-PER", "I-PER"]
            else:
                x.append((rng.choice(["sings", "walks", "and", "in"]), "X"))
                y.append("O")
        X.append([token[:columns] if columns > 1 else token[0] for token in x])
        Y.append(y)
    return X, Y


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{columns}: {name}")
        for columns in (1, 2)
        for name, check in mm.testing.structured_estimator_checks(mm.ColumnTagger(), *sentences(20, columns=columns))
    ],
)
def test_structured_checks(check):
    check()


def test_it_is_a_sequence_tagger_over_its_features():
    X, Y = sentences(30)
    templates = mm.TokenTemplates(window=1, affixes=2)
    tagger = mm.ColumnTagger(templates=templates, constraints="bio").fit(X, Y)
    features = [templates(x) for x in X]
    plain = mm.SequenceTagger(constraints="bio").fit(features, Y)
    np.testing.assert_array_equal(tagger.coef_, plain.coef_)
    assert tagger.n_columns_in_ == 2
    assert tagger.predict(X) == plain.predict(features)
    assert tagger.topk(X[0], 3) == plain.topk(features[0], 3)
    assert str(tagger.explain(X[0])) == str(plain.explain(features[0]))
    assert tagger.score(X, Y) == 1.0
    path = mm.regularization_path(tagger, X, Y, [0.01, 0.1])
    assert [model.n_columns_in_ for model in path] == [2, 2]
    assert path[1].predict(X) == Y


def test_unseen_words_are_tagged_by_what_they_look_like():
    X, Y = sentences(60)
    tagger = mm.ColumnTagger().fit(X, Y)
    assert tagger.predict([[("Eva", "NP"), ("Reed", "NP"), ("runs", "X")]]) == [["B-PER", "I-PER", "O"]]


@pytest.mark.parametrize("templates", [mm.TokenTemplates(), mm.TokenTemplates(1, 2, False, False, (1,), 0)])
def test_save_and_load(tmp_path, templates):
    X, Y = sentences(20)
    tagger = mm.ColumnTagger(templates=templates, label_column=0, constraints="bio").fit(X, Y)
    tagger.save(tmp_path / "m.mm")
    again = mm.load(tmp_path / "m.mm")
    assert type(again) is mm.ColumnTagger
    assert again.templates == templates
    assert (again.label_column, again.n_columns_in_) == (0, 2)
    assert again.predict(X) == tagger.predict(X)
    np.testing.assert_array_equal(again.coef_, tagger.coef_)


def test_any_function_of_a_sentence_makes_features():
    X, Y = sentences(20, columns=1)
    tagger = mm.ColumnTagger(templates=lambda words: [[word[0]] for word in words]).fit(X, Y)
    assert tagger.predict([["Adam", "Smith"]]) == [["B-PER", "I-PER"]]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([[("a", "b")], ["c"]], r"X\[1\], token 0: 1 columns, expected 2"),
        ([["a"], "b c"], r"X\[1\]: expected a list of words"),
        ([["a"], [3]], r"X\[1\], token 0: expected a word or a tuple of columns, found 3"),
        ([["a"], 3], r"X\[1\]: expected a list of words"),
        ([[("a", 1)], [("b", 2)]], r"X\[0\], token 0: expected words or tuples of strings"),
    ],
)
def test_bad_sentences(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.ColumnTagger().fit(X, [["x"], ["y"]])


class Misshapen(list):
    """A list whose length is not the number of its elements."""

    def __len__(self):
        return 3


def test_a_sentence_has_as_many_tokens_as_its_length():
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame({"word": ["Ana", "sings", "."]})] * 2
    Y = [["PER", "O", "O"]] * 2
    tagger = mm.ColumnTagger().fit([["Ana", "sings", "."]] * 2, Y)
    for call in (lambda: mm.ColumnTagger().fit(frames, Y), lambda: tagger.predict(frames)):
        with pytest.raises(ValueError, match=r"X\[0\]: expected .*, found DataFrame; pass one of its columns, or list"):
            call()
    pairs = [list(frame.assign(tag="X").itertuples(index=False, name=None)) for frame in frames]
    assert mm.ColumnTagger().fit(pairs, Y).predict(pairs) == Y
    with pytest.raises(ValueError, match=r"X\[1\]: 3 tokens, but iteration yields 2"):
        tagger.predict([["Ana"], Misshapen(["Ana", "sings"])])


def test_bad_parameters_and_widths():
    X, Y = sentences(20)
    with pytest.raises(ValueError, match="templates must be a TokenTemplates"):
        mm.ColumnTagger(templates="window").fit(X, Y)
    for parameters, message in (
        ({"label_column": 1.5}, "label_column must be a number or a name, found 1.5"),
        ({"columns": "form"}, "columns must be a list of numbers or names, the word first, found 'form'"),
        ({"columns": []}, "columns must be a list of numbers or names"),
        ({"width": 1}, "width must be an integer ≥ 2"),
    ):
        with pytest.raises(ValueError, match=message):
            mm.ColumnTagger(**parameters).fit(X, Y)
    tagger = mm.ColumnTagger().fit(X, Y)
    with pytest.raises(ValueError, match=r"X: expected a list of sentences, found one sentence; pass \[sentence\]"):
        tagger.predict(X[0])
    for call in (lambda: tagger.predict([["a"]]), lambda: tagger.topk(["a"], 2), lambda: tagger.explain(["a"])):
        with pytest.raises(ValueError, match=r"X\[0\], token 0: 1 columns, expected 2"):
            call()
    assert tagger.predict([[]]) == [[]]


def test_read(tmp_path):
    path = tmp_path / "f.conll"
    path.write_text("B-PER Ana NP\nO sings V\n")
    assert mm.ColumnTagger(label_column=0).read(path) == ([[("Ana",), ("sings",)]], [["B-PER", "O"]])
    tagger = mm.ColumnTagger(label_column=0, columns=[1, 2], width=3)
    X, Y = tagger.read(path)
    assert (X, Y) == ([[("Ana", "NP"), ("sings", "V")]], [["B-PER", "O"]])
    tagger.fit(X, Y)
    path.write_text("Ana NP\n")
    with pytest.raises(FormatError, match="expected 3 columns, one of them labels, found 2"):
        tagger.read(path)
    path.write_text("\nAna\n")
    with pytest.raises(FormatError, match=r"f.conll:2: expected 3 columns, as in the training data, or one less"):
        tagger.read(path)
    path.write_text("")
    with pytest.raises(FormatError, match="found no tokens"):
        tagger.read(path)
    path.write_text("Ana\n")
    with pytest.raises(FormatError, match="at least one more column"):
        mm.ColumnTagger().read(path)


def test_min_count_leaves_out_rare_features(tmp_path):
    X, Y = sentences(30)
    X, Y = [*X, [("Rare", "NP")]], [*Y, ["B-PER"]]
    tagger = mm.ColumnTagger(min_count=2).fit(X, Y)
    plain = mm.SequenceTagger(min_count=2).fit([tagger.templates(x) for x in X], Y)
    np.testing.assert_array_equal(tagger.coef_, plain.coef_)
    assert list(tagger.feature_names_out) == list(plain.feature_names_out)
    assert "word=Rare → O" not in set(tagger.feature_names_out)
    assert len(tagger.coef_) < len(mm.ColumnTagger().fit(X, Y).coef_)
    tagger.save(tmp_path / "m.mm")
    assert list(mm.load(tmp_path / "m.mm").feature_names_out) == list(tagger.feature_names_out)
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="min_count must be an integer"):
            mm.ColumnTagger(min_count=wrong).fit(X, Y)
    with pytest.raises(ValueError, match="min_count=2 leaves out rare named features, but these are numbers"):
        mm.SequenceTagger(min_count=2).fit([np.eye(2)] * 2, [["a", "b"]] * 2)


def test_models_saved_with_strings_still_tag(tmp_path):
    """Files of earlier versions have the names of all features instead of their parts."""
    X, Y = sentences(20)
    tagger = mm.ColumnTagger().fit(X, Y)
    strings = mm.ColumnTagger().fit(X, Y)
    strings.structure_ = mm.SequenceTagger().fit([tagger.templates(x) for x in X], Y).structure_
    strings.save(tmp_path / "m.mm")
    again = mm.load(tmp_path / "m.mm")
    assert again.structure_.templates is None
    assert again.predict(X) == tagger.predict(X)
    assert again.topk(X[0], 2) == tagger.topk(X[0], 2)
