"""`DependencyParser`: sentences and files in, heads and CoNLL-U out."""

from __future__ import annotations

import gzip
import re
import sys
import weakref

import conllu
import numpy as np
import pandas as pd
import pytest

import maxmargin as mm
from maxmargin.estimators.text.relations import learn_relations
from maxmargin.exceptions import ExampleError
from maxmargin.structures.tree.dependency import DependencyTree

TEXT = """# sent_id = 1
# text = She doesn't read
1	She	she	PRON	PRP	_	4	nsubj	_	_
2-3	doesn't	_	_	_	_	_	_	_	_
2	does	do	AUX	VBZ	Number=Sing	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	4:advmod	_
4	read	read	VERB	VB	_	0	root	_	_

# sent_id = 2
1	He	he	PRON	PRP	_	2	nsubj	_	_
2	writes	write	VERB	VBZ	_	0	root	_	_
2.1	writes	write	VERB	VBZ	_	_	_	0:root	_
3	books	book	NOUN	NNS	_	2	obj	_	_

"""
WORDS = [["She", "does", "n't", "read"], ["He", "writes", "books"]]
HEADS = [[4, 4, 4, 0], [2, 0, 2]]
TAGS = [["PRON", "AUX", "PART", "VERB"], ["PRON", "VERB", "NOUN"]]
TAGGED = [list(zip(*pair, strict=True)) for pair in zip(WORDS, TAGS, strict=True)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.conllu"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_and_its_token_lists_are_the_same(file, tmp_path):
    packed = tmp_path / "some.conllu.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    models = [mm.DependencyParser(C=1.0, tol=1e-6).fit(x) for x in (str(file), packed, conllu.parse(TEXT))]
    rows = [[{"form": t["form"], "upos": t["upos"], "xpos": t["xpos"]} for t in s if isinstance(t["id"], int)]
            for s in conllu.parse(TEXT)]  # fmt: skip
    models.append(mm.DependencyParser(C=1.0, tol=1e-6).fit(rows, HEADS))
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.tags_ == ["upos", "xpos"]
        for X in (file, conllu.parse(TEXT), rows):
            assert model.predict(X) == HEADS
        assert model.score(file) == model.score(rows, HEADS) == 1.0
    assert models[0].certificate_.exact


@pytest.mark.parametrize("X", [WORDS, TAGGED])
def test_pairs_of_words_and_heads(X):
    pairs = list(zip(X, HEADS, strict=True))
    model, same = mm.DependencyParser(C=1.0).fit(pairs), mm.DependencyParser(C=1.0).fit(X, HEADS)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.predict(pairs) == model.predict(X) == HEADS
    assert model.score(pairs) == 1.0
    assert model.score(X, [[4, 4, 4, 0], [0, 1, 2]]) == pytest.approx(5 / 7)
    assert model.score(X, [[4, 4, 4, 0], [0, 1, 2]], sample_weight=[0, 1]) == pytest.approx(1 / 3)
    assert model.tags_ == ([] if X is WORDS else ["upos"])
    assert model.predict([[]]) == [[]]
    first, second = model.topk(X[1], 2)
    assert first[0] == HEADS[1] and first[1] > second[1]
    assert model.topk(pairs[1], 1) == [first]


def test_explanations_name_words_tags_and_places():
    model = mm.DependencyParser(C=1.0).fit(TAGGED, HEADS)
    decision = model.explain(TAGGED[1], n_features=4)
    assert decision.prediction == HEADS[1] and decision.margin > 0
    assert len(decision.contributions) == 4
    names = set(model.feature_names_out)
    assert {name for name, _ in decision.contributions} <= names and len(names) == len(model.coef_)
    assert {"any arc", "head form=writes, child form=books", "head upos=VERB, child upos=NOUN, right 1"} <= names
    assert "upos: <root> … PRON … VERB, right" in names
    whole = mm.DependencyParser(C=1.0).fit(TAGGED, HEADS).explain(TAGGED[1], n_features=10**6)
    assert sum(amount for _, amount in whole.contributions) == pytest.approx(whole.margin)


def test_files_of_windows_editors(tmp_path, file):
    path = tmp_path / "windows.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.rstrip("\n").replace("\n", "\r\n").encode())
    model = mm.DependencyParser(C=1.0).fit(path)
    assert model.predict(path) == mm.DependencyParser(C=1.0).fit(file).predict(file)


def test_relations_of_another_kind_warn():
    model = mm.DependencyParser(C=1.0, labelled=True).fit(TAGGED, LABELLED)
    other = [[(head, f"{relation}@other") for head, relation in y] for y in LABELLED]
    with pytest.warns(UserWarning, match="none of the true labels is a class of the model.*the classes are 'a"):
        assert model.labelled_score(TAGGED, other) == 0.0


def test_heads_may_be_a_generator():
    X, Y = [["a", "b"], ["c", "a", "b"]], [[2, 0], [2, 3, 0]]
    model = mm.DependencyParser(C=10.0).fit((x for x in X), (y for y in Y))
    assert model.score((x for x in X), (y for y in Y)) == 1.0


def test_conllu_out(file):
    model = mm.DependencyParser(C=1.0).fit(file)
    lines = "".join(s.serialize() for s in model.predict_conllu(file)).splitlines()
    expected = [re.sub("nsubj|aux|advmod|obj", "dep", line.replace("4:advmod", "_")) for line in TEXT.splitlines()]
    assert lines == expected
    (plain,) = model.predict_conllu([[("He", "PRON", "PRP"), ("writes", "VERB", "VBZ")]])
    assert plain.serialize().splitlines()[0] == "1\tHe\t_\tPRON\tPRP\t_\t2\tdep\t_\t_"
    assert conllu.parse(plain.serialize())[0][1]["deprel"] == "root"


def test_saved_and_loaded(file, tmp_path):
    model = mm.DependencyParser(C=1.0, projective=True, solver="nslack").fit(file)
    model.save(tmp_path / "parser.mm", support=True)
    loaded = mm.load(tmp_path / "parser.mm")
    assert loaded.predict(file) == model.predict(file)
    assert loaded.get_params() == model.get_params() and loaded.tags_ == model.tags_
    np.testing.assert_array_equal(loaded.feature_names_out, model.feature_names_out)
    assert [plane.output for plane in loaded.support_] == [plane.output for plane in model.support_]


def test_many_sentences_are_parsed_in_batches(monkeypatch):
    model = mm.DependencyParser(C=1.0).fit(WORDS, HEADS)
    monkeypatch.setattr(mm.DependencyParser, "_together", 2)
    X = [WORDS[i % 2] for i in range(5)]
    assert model.predict(X) == [HEADS[i % 2] for i in range(5)]
    with pytest.raises(ValueError, match=r"X\[4\]: expected a list of words"):
        model.predict([*X[:4], "He writes"])


def test_rare_features_are_left_out():
    X, Y = WORDS + WORDS[:1], HEADS + HEADS[:1]
    every, frequent = (mm.DependencyParser(C=1.0, min_count=k).fit(X, Y) for k in (1, 2))
    assert set(frequent.feature_names_out) < set(every.feature_names_out)
    assert not any("books" in name for name in frequent.feature_names_out)
    assert frequent.predict(X[:1]) == Y[:1]


CROSSED = [["a", "b", "c", "d"]], [[3, 4, 0, 3]]


def test_lifting(tmp_path):
    with pytest.raises(ValueError, match=r"Y\[0\]: not projective, as projective=True requires"):
        mm.DependencyParser(projective=True).fit(*CROSSED)
    model = mm.DependencyParser(C=10.0, projective=True, lift=True).fit(*CROSSED)
    assert model.predict(CROSSED[0]) == [[3, 3, 0, 3]]
    assert model.score(*CROSSED) == 0.75, "the score compares with the tree as it is"
    assert mm.DependencyParser(C=10.0).fit(*CROSSED).predict(CROSSED[0]) == CROSSED[1]


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([(["a", "b"], [2, 1])], None, "X[0]: not a tree, the heads form a cycle: [2, 1]"),
        ([(["a", "b"], [0, 3])], None, "X[0], node 2: expected a head from 0 to 2, found 3"),
        (WORDS, [HEADS[0], [0, 0, 2]], "Y[1]: 2 children of the root, but single_root=True allows one"),
        (WORDS, [HEADS[0], [0, 1]], "Y[1]: 2 heads, expected 3 as X has 3 words"),
        (WORDS, None, "X[0]: no heads: give a pair (words, heads)"),
        ([*WORDS, []], [*HEADS, []], "X[2]: a sentence without words"),
        ([([], [])], None, "X[0]: a sentence without words"),
        (["He writes"], [[2, 0]], "X[0]: expected a list of words"),
        ([["a", ("b", "c")]], [[0, 1]], "X[0]: expected a list of words"),
        ([[("a", "X"), ("b",)]], [[0, 1]], "X[0], word 2: expected a tuple (form, upos)"),
        ([[{"form": "a"}, {"upos": "X"}]], [[0, 1]], "X[0], word 2: expected a form, a string, found None"),
        ([[{"id": 1, "form": "a"}, {"id": 3, "form": "b"}]], [[0, 1]], "X[0], word 2: expected the id 2"),
        ([[{"form": "a", "head": 0}, {"form": "b", "head": None}]], None, "X[0], word 2: no head, but other words"),
        ([pd.DataFrame({"form": ["a", "b"]})], [[0, 1]], "X[0]: expected a list of words, "),
        ([pd.DataFrame({"form": ["a", "b"]})], [[0, 1]], "found DataFrame; pass its to_dict('records')"),
        (TEXT, None, "X: expected a path or sentences, found text"),
        ([], None, "X is empty"),
    ],
)  # fmt: skip
def test_bad_sentences(X, Y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mm.DependencyParser().fit(X, Y)


def test_a_parser_of_tags_needs_them():
    with pytest.raises(ValueError, match="tags: no training sentence has the column 'pos'"):
        mm.DependencyParser(tags=["upos", "pos"]).fit(TAGGED, HEADS)
    model = mm.DependencyParser(C=1.0).fit(TAGGED, HEADS)
    message = "X[1]: words without upos ('He', 'writes', 'books'), which the training data had: give tuples (form"
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict([TAGGED[0], WORDS[1]])
    with pytest.raises(ValueError, match="takes one input x"):
        model.topk(TAGGED, 2)


def test_one_sentence_is_not_a_list_of_sentences():
    tagged, plain = mm.DependencyParser(C=1.0).fit(TAGGED, HEADS), mm.DependencyParser(C=1.0).fit(WORDS, HEADS)
    rows = [{"form": form, "upos": upos} for form, upos in TAGGED[0]]
    for model in (tagged, plain):
        for X in (TAGGED[0], [list(row) for row in TAGGED[0]], WORDS[0], rows, (WORDS[0], HEADS[0])):
            with pytest.raises(ValueError, match=r"X: expected a list of sentences, found one sentence; pass \[sent"):
                model.predict(X)
    assert plain.predict([tuple(words) for words in WORDS]) == HEADS
    fine = [(word, f"{tag}:fine") for word, tag in TAGGED[0]]  # not universal tags, which would be recognised alone
    for X in (WORDS[0], TAGGED[0], fine):
        for use in (mm.DependencyParser().fit, tagged.score):
            with pytest.raises(ValueError, match="X: expected a list of sentences, found one sentence"):
                use(X, HEADS[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tags": "upos"}, "tags must be a list"),
        ({"tags": ["form"]}, "tags must be distinct columns besides form"),
        ({"min_count": 0}, "min_count must be an integer ≥ 1"),
        ({"lift": True}, "lift=True needs projective=True"),
        ({"projective": 1}, "projective must be True or False"),
        ({"C": -1.0}, "C must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mm.DependencyParser(**parameters).fit(None)


def test_bad_files(tmp_path, monkeypatch):
    path = tmp_path / "bad.conllu"
    path.write_text("1 She\n")
    with pytest.raises(ValueError, match=r"bad\.conllu: not CoNLL-U"):
        mm.DependencyParser().fit(path)
    path.write_text("")
    with pytest.raises(ValueError, match=r"bad\.conllu: expected sentences in CoNLL-U, found none"):
        mm.DependencyParser().fit(path)
    with pytest.raises(FileNotFoundError):
        mm.DependencyParser().fit(tmp_path / "missing.conllu")
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[nlp\]'"):
        mm.DependencyParser().fit(path)
    assert mm.DependencyParser(C=1.0).fit(WORDS, HEADS).predict(WORDS) == HEADS


def test_a_damaged_model_is_refused():
    from maxmargin.features.text.arc_templates import ArcTemplates

    state = mm.DependencyParser(C=1.0).fit(WORDS, HEADS).structure_.arcs_.get_state()
    for keys in (state["keys"][[0, 0]], -state["keys"], np.full(1, 1 << 62), state["keys"].astype(float)):
        with pytest.raises(ValueError, match="features of arcs must be"):
            ArcTemplates().set_state({**state, "keys": keys})


RELATIONS = [["nsubj", "aux", "advmod", "root"], ["nsubj", "root", "obj"]]
LABELLED = [list(zip(*pair, strict=True)) for pair in zip(HEADS, RELATIONS, strict=True)]


class TestRelations:
    def test_of_a_file_and_of_pairs_are_the_same(self, file, tmp_path):
        model = mm.DependencyParser(C=1.0, labelled=True).fit(file)
        rows = [[(t["form"], t["upos"], t["xpos"]) for t in s if isinstance(t["id"], int)] for s in conllu.parse(TEXT)]
        same = mm.DependencyParser(C=1.0, labelled=True).fit(rows, LABELLED)
        np.testing.assert_array_equal(model.relation_coef_, same.relation_coef_)
        for X in (file, rows):
            assert model.predict(X) == HEADS
            assert model.predict_labelled(X) == same.predict_labelled(X) == LABELLED
        assert [[t["deprel"] for t in s if isinstance(t["id"], int)] for s in model.predict_conllu(file)] == RELATIONS
        model.save(tmp_path / "parser.mm")
        assert mm.load(tmp_path / "parser.mm").predict_labelled(rows) == LABELLED

    def test_scores_count_heads_and_relations(self):
        model = mm.DependencyParser(C=1.0, labelled=True).fit(TAGGED, LABELLED)
        assert model.score(TAGGED, LABELLED) == model.labelled_score(TAGGED, LABELLED) == 1.0
        other = [LABELLED[0], [(2, "obj"), (0, "root"), (1, "obj")]]
        assert model.score(TAGGED, other) == pytest.approx(6 / 7)
        assert model.labelled_score(TAGGED, other) == pytest.approx(5 / 7)
        assert model.labelled_score(TAGGED, other, sample_weight=[0, 1]) == pytest.approx(1 / 3)
        assert model.predict_labelled([[], TAGGED[1]]) == [[], LABELLED[1]]

    def test_weights_of_pairs_that_occur(self):
        small = mm.DependencyParser(C=1.0, labelled=True).fit(TAGGED, LABELLED)
        whole = mm.DependencyParser(C=1.0, labelled=True, seen_pairs=False).fit(TAGGED, LABELLED)
        assert len(small.relation_coef_) < 0.5 * len(whole.relation_coef_)
        assert small.predict_labelled(TAGGED) == whole.predict_labelled(TAGGED) == LABELLED
        with pytest.raises(ValueError, match="seen_pairs must be True or False, found 'some'"):
            mm.DependencyParser(seen_pairs="some").fit(TAGGED, HEADS)

    def test_a_second_fit_forgets_relations(self):
        model = mm.DependencyParser(C=1.0, labelled=True).fit(TAGGED, LABELLED)
        model.set_params(labelled=False).fit(TAGGED, HEADS)
        with pytest.raises(ValueError, match="learnt no relations: fit it with labelled=True"):
            model.predict_labelled(TAGGED)

    @pytest.mark.parametrize(
        ("X", "Y", "message"),
        [
            (TAGGED, HEADS, r"Y\[0\], word 1: expected \(head, relation\), found 4"),
            (TAGGED, [LABELLED[0], 3], r"Y\[1\]: expected \(head, relation\) for each word, found 3"),
            (TAGGED, [LABELLED[0], [(2, "nsubj"), (0, None), (2, "obj")]], r"Y\[1\], word 2: expected a relation"),
            (list(zip(WORDS, HEADS, strict=True)), None, r"X\[0\]: no relations: give rows with a deprel"),
        ],
    )
    def test_missing_relations(self, X, Y, message):
        with pytest.raises(ExampleError, match=message):
            mm.DependencyParser(labelled=True).fit(X, Y)


def test_tags_in_the_place_of_words_and_unknown_tags():
    sentences = [[("she", "PRON"), ("reads", "VERB"), ("books", "NOUN")], [("he", "PRON"), ("writes", "VERB")]]
    parser = mm.DependencyParser(C=1.0).fit(sentences, [[2, 0, 2], [2, 0]])
    swapped = [[(tag, word) for word, tag in sentence] for sentence in sentences]
    with pytest.raises(ValueError, match=r"X\[1\]: expected pairs \(word, tag\), found pairs \(tag, word\)"):
        parser.predict([sentences[0], swapped[1]])
    with pytest.warns(UserWarning, match=r"any of the tags of 1 of 2 sentences \(X\[1\]; .* 'PRP'"):
        heads = parser.predict([sentences[0], [("he", "PRP"), ("reads", "VBZ")]])
    assert heads[0] == [2, 0, 2]
    assert parser.predict([[("it", "PRON"), ("rains", "VBZ")]]) == [[2, 0]]


@pytest.mark.parametrize("space", [0.0, 0.1, 1.5])
def test_features_of_arcs_do_not_depend_on_the_space_planned_for_them(monkeypatch, space):
    """Sentences whose arcs have more features than the first ones suggest, encoded one at a time."""
    long = [[(f"w{i}", "NOUN" if i % 2 else "VERB") for i in range(n)] for n in (2, 3, 9, 12, 4, 15)]
    heads = [[0, *range(1, len(x))] for x in long]
    whole = mm.DependencyParser()._encode(long, heads)[1].blocks[0]
    monkeypatch.setattr("maxmargin.features.text.arc_templates.SPACE", space)
    monkeypatch.setattr("maxmargin.features.text.arc_templates._ARCS_TOGETHER", 1)
    parts = mm.DependencyParser()._encode(long, heads)[1].blocks[0]
    assert np.array_equal(whole.indptr, parts.indptr) and np.array_equal(whole.indices, parts.indices)
    assert len(parts.indices) == parts.indptr[-1] > 1000


def test_features_of_arcs_are_released_before_relations_are_learnt(monkeypatch):
    """Both stages at once took 3 GB for the sentences of UD English."""
    found, encoded = [], DependencyTree.fit_encode

    def fit_encode(self, X, Y):
        examples = encoded(self, X, Y)
        found.append(weakref.ref(examples))
        return examples

    def learn(*arguments, **limits):
        found.append(found[0]() is None)
        return learn_relations(*arguments, **limits)

    monkeypatch.setattr(DependencyTree, "fit_encode", fit_encode)
    monkeypatch.setattr("maxmargin.estimators.text.dependency_parser.learn_relations", learn)
    mm.DependencyParser(C=1.0, labelled=True).fit(TAGGED, LABELLED)
    assert found[1]
