"""`ConstituencyParser`: trees of any kind in, trees of the same kind out."""

from __future__ import annotations

import gzip
import os
import re
import warnings
from itertools import pairwise

import nltk
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import maxmargin as mm
from maxmargin.exceptions import FormatError, InexactArgmaxWarning, NoTreeWarning
from maxmargin.features.text.treebank import constituents

WORDS = [
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))",
    "(TOP (S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .)))",
    "(TOP (S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NN town)))))))",
    "(TOP (S (NP (PRP she)) (VP (VBZ sleeps) (PP (IN in) (NP (NN town))))))",
]
TAGS = [re.sub(r"\((\S+) [^\s()]+\)", r"\1", tree) for tree in WORDS]
SENTENCES = [[tuple(pair[::-1]) for pair in re.findall(r"\((\S+) ([^\s()]+)\)", tree)] for tree in WORDS]
TAG_SENTENCES = [[tag for _, tag in sentence] for sentence in SENTENCES]
RAW = """( (S (NP-SBJ-1 (DT the)
       (NN dog)) (VP (VBZ barks) (NP (-NONE- *T*-1))) (. .)))
( (S (NP-SBJ (PRP she)) (VP (VBZ sees) (NP=2 (DT the) (NN dog))) (. .)))
( (FRAG (-NONE- *)))
"""


def read(text):
    tree = nltk.Tree.fromstring(text)

    def build(node):
        return node if isinstance(node, str) else (node.label(), *map(build, node))

    return build(tree)


KINDS = {"brackets": str, "tuples": read, "nltk": nltk.Tree.fromstring}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [False, True])
def test_predictions_are_of_the_kind_of_training_trees(kind, words):
    trees = [KINDS[kind](tree) for tree in (WORDS if words else TAGS)]
    X = SENTENCES if words else TAG_SENTENCES
    model = mm.ConstituencyParser(C=10.0, leaves="words" if words else "auto").fit(trees)
    assert model.predict(X) == trees
    assert [type(tree) for tree in model.predict(X)] == [type(tree) for tree in trees]
    assert model.score(trees) == model.score(X, trees) == 1.0
    assert model.predict(trees) == trees, "trees stand for their sentences"
    same = mm.ConstituencyParser(C=10.0, leaves="words" if words else "auto").fit(X, trees)
    np.testing.assert_array_equal(same.coef_, model.coef_)
    assert model.labels_ == ["S", "NP", "VP", "PP"] and "NP → DT NN" in model.rules_
    assert model.certificate_.exact


def test_tags_and_pairs_are_both_sentences():
    of_tags, of_words = mm.ConstituencyParser(C=10.0).fit(TAGS), mm.ConstituencyParser(C=10.0).fit(WORDS)
    assert of_tags.predict(SENTENCES) == of_tags.predict(TAG_SENTENCES) == TAGS
    assert of_words.predict(TAG_SENTENCES) == TAGS, "without words, leaves are tags"
    assert of_words.predict(SENTENCES) == WORDS
    assert of_words.score(TAG_SENTENCES, TAGS) == 1.0


@pytest.mark.parametrize("loss", ["f1", "constituents", "zero-one"])
@pytest.mark.parametrize("bound", ["margin", "slack"])
def test_losses_and_bounds(loss, bound):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactArgmaxWarning)
        model = mm.ConstituencyParser(loss=loss, bound=bound, C=10.0, tol=1e-3).fit(TAGS)
    assert model.predict(TAG_SENTENCES) == TAGS
    certificate = model.certificate_
    assert certificate.dual <= certificate.primal + 1e-9 <= certificate.primal_bound + 2e-9


@pytest.mark.slow
@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set: no treebank here")
def test_the_defaults_converge_and_parse_well():
    folder = os.path.join(os.environ["MAXMARGIN_DATA"], "craft_treebank")
    model = mm.ConstituencyParser().fit(os.path.join(folder, "short10.train.words.gz"))
    assert model.stop_reason_ == "tol" and model.certificate_.exact
    pcfg = mm.ConstituencyParser().fit_pcfg(os.path.join(folder, "short10.train.words.gz"))
    test = os.path.join(folder, "short10.dev.words.gz")
    assert model.score(test) > max(0.865, pcfg.score(test))
    assert len(pcfg.coef_) == len(pcfg.rules_) < len(model.coef_)


def test_span_features_tell_what_rules_cannot():
    """The two readings use the same rules; only the word after the verb decides."""
    low, high = "(S (V {}) (X (A a) (X (B b) (C c))))", "(S (V {}) (X (X (A a) (B b)) (C c)))"
    trees = [low.format("l"), high.format("h")]
    rules = ["(S (V v) (X (A a) (B b)))", "(S (V v) (X (X (A a) (B b)) (C c)))", "(S (V v) (X (A a) (X (B b) (C c))))",
             "(S (V v) (X (B b) (C c)))"]  # fmt: skip
    sentences = [[("l", "V"), ("a", "A"), ("b", "B"), ("c", "C")], [("h", "V"), ("a", "A"), ("b", "B"), ("c", "C")]]
    plain = mm.ConstituencyParser(C=100.0, span_features=False).fit(trees * 3 + rules[:1])
    assert plain.score(sentences, trees) < 1.0
    features = mm.ConstituencyParser(C=100.0).fit(trees * 3 + rules[:1])
    assert features.predict(sentences) == trees
    names = set(features.feature_names_out)
    assert {"word before=l → X", "length 2 → X", "first tag=A, last tag=C → X", "tags at split=A B → X"} <= names
    assert len(names) == len(features.coef_)
    assert features.explain(sentences[0]).prediction == trees[0]


def test_parent_annotation_and_horizontal_order():
    annotated = mm.ConstituencyParser(parent_annotation=True).fit(TAGS)
    assert "NP^S → DT NN" in annotated.rules_ and "NP^VP → DT NN" in annotated.rules_
    assert annotated.labels_ == ["S", "NP", "VP", "PP"] and annotated.predict(TAG_SENTENCES) == TAGS
    flat = ["(S A B C)", "(S A B B B C)"]
    seen, markov = (mm.ConstituencyParser(horizontal=h, glue=False, leaves="tags").fit(flat) for h in (None, 1))
    assert markov.predict([list("ABBBBC")]) == ["(S A B B B B C)"]
    assert "S[… B] → B C" in markov.rules_
    with pytest.warns(NoTreeWarning, match=r"1 of 1 sentences have no tree in the grammar \(X\[0\]\)"):
        assert seen.predict([list("ABBBBC")]) == [None]


def test_sentences_outside_the_grammar():
    model = mm.ConstituencyParser().fit(TAGS)
    with pytest.warns(UserWarning, match=r"any of the tags of 1 of 4 sentences \(X\[1\]; for example 'FOO'\)"):
        pieces = model.predict([["DT", "NN", "DT", "NN"], ["FOO"], ["FOO", "DT", "NN"], ["VBZ", "."]])
    assert pieces == ["(TOP (NP DT NN) (NP DT NN))", "(TOP FOO)", "(TOP FOO (NP DT NN))", "(TOP (VP VBZ) .)"]
    assert model.topk(["VBZ", "FOO"], 3) == [("(TOP (VP VBZ) FOO)", 0.0)]
    with pytest.warns(NoTreeWarning, match=r"1 of 1 sentences are empty \(X\[0\]\).*leave them out"):
        assert model.predict([[]]) == [None]
    strict = mm.ConstituencyParser(glue=False).fit(TAGS)
    with pytest.warns(NoTreeWarning):
        assert strict.score([["DT", "FOO"]], ["(TOP (NP DT FOO))"]) == 0.0
    assert strict.topk(["DT", "FOO"], 3) == []


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (SENTENCES[0], "X: expected a list of sentences, found one sentence; pass [sentence]"),
        (TAG_SENTENCES[0], "X: expected a list of sentences, found one sentence; pass [sentence]"),
        (["the", "mice"], "X: expected a list of sentences, found one sentence; pass [sentence]"),
        (read(WORDS[0]), "X: expected a list of trees, found one tree; pass [tree]"),
        (nltk.Tree.fromstring(WORDS[0]), "X: expected a list of trees, found one tree; pass [tree]"),
        (
            [SENTENCES[0], ["the", "mice"]],
            "X[1]: words without tags ('the', 'mice'), which the training data had: give",
        ),
        ([SENTENCES[0], [pair[::-1] for pair in SENTENCES[0]]], "X[1]: expected pairs (word, tag), found pairs (tag, "),
    ],
)
def test_sentences_that_would_be_read_as_something_else(X, message):
    model = mm.ConstituencyParser().fit(WORDS)
    for use in (model.predict, model.decision_scores):
        with pytest.raises(ValueError, match=re.escape(message)):
            use(X)
    assert model.predict([("DT", "NN"), ("PRP", "VBZ")]) == ["(TOP (NP DT NN))", "(TOP (S (NP PRP) (VP VBZ)))"]


def test_k_best_trees():
    x = ["PRP", "VBZ", "DT", "NN", "IN", "NN"]
    model = mm.ConstituencyParser(C=1.0).fit([*TAGS, "(TOP (S (NP PRP) (VP VBZ (NP DT NN) (PP IN (NP NN)))))"])
    ranked = model.topk(x, 10)
    trees = [tree for tree, _ in ranked]
    assert len(set(trees)) == len(trees) >= 2 and trees[0] == model.predict([x])[0]
    assert all(a >= b for (_, a), (_, b) in pairwise(ranked))
    w, grammar = model.coef_, model.structure_
    assert [w @ grammar.joint_feature(x, tree) for tree in trees] == pytest.approx([score for _, score in ranked])


def test_decision_scores_are_those_of_the_best_tree_with_a_constituent():
    x = ["PRP", "VBZ", "DT", "NN", "IN", "NN"]
    model = mm.ConstituencyParser().fit_pcfg([*TAGS, "(TOP (S (NP PRP) (VP VBZ (NP DT NN) (PP IN (NP NN)))))"])
    table, empty, outside = model.decision_scores([x, [], ["NN", "NN", "DT"]])
    ranked = model.topk(x, 100)
    assert len(ranked) == 2 and table.shape == (6, 7, 4) and empty.shape == (0, 1, 4)
    expected = np.full(table.shape, -np.inf)
    for tree, score in ranked:
        for label, i, j in constituents(read(tree)):
            expected[i, j, model.labels_.index(label)] = max(expected[i, j, model.labels_.index(label)], score)
    np.testing.assert_allclose(table, expected)
    assert len(np.unique(table[table > -np.inf].round(9))) == 2, "some constituents are those of one tree alone"
    assert np.isneginf(outside).all(), "the grammar does not derive the sentence"


def test_maximum_likelihood():
    model = mm.ConstituencyParser(horizontal=None).fit_pcfg(TAGS, sample_weight=[2, 1, 1, 1])
    weights = dict(zip(model.rules_, np.exp(model.coef_), strict=True))
    assert weights["TOP → S"] == pytest.approx(1.0)
    assert weights["NP → DT NN"] == pytest.approx((2 * 1 + 1 + 2) / 10)
    for left in ("NP", "VP", "S"):
        assert sum(p for rule, p in weights.items() if rule.startswith(f"{left} →")) == pytest.approx(1.0)
    grammar = nltk.PCFG.fromstring("\n".join(
        f"{rule.split(' → ')[0]} -> "
        f"{' '.join(s if s in {'S', 'NP', 'VP', 'PP'} else repr(s) for s in rule.split(' → ')[1].split())} [{p:.17f}]"
        for rule, p in weights.items()
    ))  # fmt: skip
    for x in TAG_SENTENCES:
        (tree,) = nltk.ViterbiParser(grammar).parse(x)
        ((found, score),) = model.topk(x, 1)
        assert np.exp(score) == pytest.approx(tree.prob())
        assert model.predict([x]) == [found]
    assert not hasattr(model, "certificate_")


def test_files_function_tags_and_traces(tmp_path):
    path, packed = tmp_path / "some.mrg", tmp_path / "some.mrg.gz"
    path.write_text(RAW)
    packed.write_bytes(gzip.compress(RAW.encode()))
    raw = mm.formats.read_trees(path)
    assert raw[0][1][1][0] == "NP-SBJ-1" and raw[2] == ("", ("FRAG", ("-NONE-", "*")))
    trees = mm.formats.read_trees(packed, clean=True)
    assert trees == [
        ("", ("S", ("NP", ("DT", "the"), ("NN", "dog")), ("VP", ("VBZ", "barks")), (".", "."))),
        ("", ("S", ("NP", ("PRP", "she")), ("VP", ("VBZ", "sees"), ("NP", ("DT", "the"), ("NN", "dog"))), (".", "."))),
    ]
    mm.formats.write_trees(tmp_path / "clean.mrg", trees)
    assert (tmp_path / "clean.mrg").read_text().splitlines()[0] == (
        "( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))"
    )
    assert mm.formats.read_trees(tmp_path / "clean.mrg") == trees
    with pytest.raises(ValueError, match=r"X\[2\]: an empty tree: it has only traces"):
        mm.ConstituencyParser().fit(path)
    model = mm.ConstituencyParser(C=10.0).fit(tmp_path / "clean.mrg")
    assert model.predict(tmp_path / "clean.mrg") == trees and model.score(str(tmp_path / "clean.mrg")) == 1.0
    functions = mm.ConstituencyParser(C=10.0).fit(raw[:2])
    np.testing.assert_array_equal(functions.coef_, model.coef_)
    kept = mm.ConstituencyParser(clean=False).fit(raw[:2])
    assert {"NP-SBJ-1", "NP=2"} <= set(kept.labels_)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP A) (VP B))\n(S (NP A)\n (VP B)\n", "bad.mrg:2: unbalanced brackets: 1 ( without )"),
        ("(S A)\n(S B))\n", "bad.mrg:2: unbalanced brackets: found ) without a ( before it"),
        ("(S A)\n\n(S (NP))\n", "bad.mrg:3: an empty tree: (NP) has no children"),
        ("(S A)\n()\n", "bad.mrg:2: an empty tree: () has no children"),
        ("(S A)\nword (S B)\n", "bad.mrg:2: expected a tree in brackets, found 'word'"),
        ("\n", "bad.mrg: expected trees in brackets, found none"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "bad.mrg"
    path.write_text(text)
    with pytest.raises(FormatError, match=re.escape(message)):
        mm.ConstituencyParser().fit(path)


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (["(S (NP A) (VP B)"], None, "X[0]: unbalanced brackets"),
        (["(S A B)", "()"], None, "X[1]: an empty tree"),
        ("(S A B)", None, "X: expected a list of trees, found one tree; pass [tree]"),
        ([["A", "B"]], read("(S A (B C))"), "Y: expected a list of trees, found one tree; pass [tree]"),
        ([["A", "B"]], ["(S A C)"], "Y[0]: the tree has the tags 'A C', but X[0] has 'A B'"),
        ([[("x", "A"), ("y", "B")]], ["(S (A x) (B z))"], "Y[0]: the tree has the word 'z' where X[0] has 'y'"),
        ([[1, 2]], ["(S A B)"], "X[0], token 1: expected a tag or a pair (word, tag), found 1"),
        ([nltk.Tree("S", [])], None, "X[0]: an empty tree: S has no children"),
        ([nltk.Tree("S", [3])], None, "X[0]: expected leaves that are strings"),
        ([], None, "X is empty"),
    ],
)
def test_bad_trees(X, Y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mm.ConstituencyParser().fit(X, Y)


def test_rules_outside_the_grammar():
    model = mm.ConstituencyParser().fit(TAGS)
    grammar = model.structure_
    for tree, message in (
        ("(TOP (S (NP DT FOO) (VP VBZ)))", "Y[0]: a rule with the unseen tag FOO: no training tree has it"),
        ("(TOP (S (ADJP DT NN) (VP VBZ)))", "a rule with the unseen symbol ADJP"),
        ("(TOP (S (NP NN NN) (VP VBZ)))", "the rule NP → NN NN is not in the grammar"),
        ("(TOP (S (NP (PP NN)) (VP VBZ)))", "the chain NP → PP → NN is not in the grammar"),
        ("(NP DT NN)", "Y[0]: a tree with the root NP, expected one of TOP"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            grammar.joint_feature(nltk.Tree.fromstring(tree).leaves(), tree)
    assert 0.0 <= model.score(["(TOP (S (ADJP DT NN) (VP VBZ)))"]) < 1.0, "any tree can be compared with"


def test_saved_and_loaded(tmp_path):
    for model in (
        mm.ConstituencyParser(C=10.0, span_features=True, solver="nslack").fit(WORDS),
        mm.ConstituencyParser(parent_annotation=True, horizontal=1).fit_pcfg([nltk.Tree.fromstring(t) for t in TAGS]),
    ):
        model.save(tmp_path / "parser.mm", support=True)
        loaded = mm.load(tmp_path / "parser.mm")
        assert loaded.predict(SENTENCES) == model.predict(SENTENCES)
        assert loaded.get_params() == model.get_params() and loaded.rules_ == model.rules_
        np.testing.assert_array_equal(loaded.feature_names_out, model.feature_names_out)
        if hasattr(model, "certificate_"):
            assert [plane.output for plane in loaded.support_] == [plane.output for plane in model.support_]


def test_brackets_in_words(tmp_path):
    tree = ("S", ("NP", ("-LRB-", "("), ("NN", "dog"), ("-RRB-", ")")), ("VP", ("VBZ", "barks")))
    model = mm.ConstituencyParser(C=10.0, solver="nslack").fit([tree, ("S", ("NP", ("NN", "x")), ("VP", ("VBZ", "y")))])
    assert model.predict([tree]) == [tree]
    model.save(tmp_path / "parser.mm", support=True)
    assert mm.load(tmp_path / "parser.mm").predict([tree]) == [tree]
    mm.formats.write_trees(tmp_path / "some.mrg", [tree])
    assert (tmp_path / "some.mrg").read_text().startswith("(S (NP (-LRB- -LRB-) (NN dog) (-RRB- -RRB-))")
    with pytest.raises(ValueError, match=r"trees\[1\]: a leaf in brackets cannot contain spaces, found 'New York'"):
        mm.formats.write_trees(tmp_path / "bad.mrg", [tree, ("S", ("NN", "New York"))])
    assert not (tmp_path / "bad.mrg").exists()


def test_a_mixed_sentence_is_not_a_tree():
    model = mm.ConstituencyParser().fit(WORDS)
    with pytest.raises(ValueError, match=r"X\[1\]: expected a list of tags or of pairs \(word, tag\), found both"):
        model.predict([SENTENCES[0], ["DT", ("dog", "NN")]])
    assert "ConstituencyParser" in mm.ConstituencyParser().fit_pcfg(TAGS)._repr_html_()


def test_frames_are_no_trees():
    pd = pytest.importorskip("pandas")
    for X in ([pd.DataFrame({"tag": ["A", "B"]})], [pd.Series(["S", "A"])]):
        with pytest.raises(ValueError, match=r"X\[0\]: expected a tree: .*, found (DataFrame|Series)"):
            mm.ConstituencyParser().fit(X)


def test_model_selection_with_trees_alone():
    scores = cross_val_score(mm.ConstituencyParser(leaves="tags"), TAGS * 3, cv=3)
    assert scores.shape == (3,) and (scores > 0.5).all()
    model = clone(mm.ConstituencyParser(C=0.5, span_features=("first", "last")))
    assert model.get_params()["span_features"] == ("first", "last")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hamming"}, "the loss of a grammar must be 'f1', 'constituents' or 'zero-one'"),
        ({"horizontal": 1.5}, "horizontal must be an integer ≥ 0"),
        ({"span_features": "first"}, "span_features must be True, False or a list"),
        ({"clean": 1}, "clean must be True or False"),
        ({"min_count": 0}, "min_count must be an integer ≥ 1"),
        ({"C": -1.0}, "C must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mm.ConstituencyParser(**parameters).fit(None)


def test_tags_of_words_stay_as_they_are():
    trees = ["(S (NP-SBJ (NR-SHORT x)) (VP (VV y)))", "(S (NP (NN|NNS z)) (VP (VV y)))"]
    X = [[("x", "NR-SHORT"), ("y", "VV")], [("z", "NN|NNS"), ("y", "VV")]]
    model = mm.ConstituencyParser().fit_pcfg(X, trees)
    assert model.predict(X) == model.predict(trees) == [tree.replace("NP-SBJ", "NP") for tree in trees]
    of_tags = mm.ConstituencyParser(leaves="tags").fit_pcfg(["(S (NP-SBJ NR-SHORT) (VP VV))"])
    assert of_tags.rules_ == ["S → NP VP", "NP → NR-SHORT", "VP → VV"]


def test_glued_roots_without_a_label_can_be_read_again():
    """The root of the Penn Treebank has no label; above a tag, brackets would make the tag the label."""
    model = mm.ConstituencyParser(leaves="tags").fit_pcfg(["( (S A B))", "( (S B A))"])
    assert model.predict([["A", "C"]]) == ["(TOP A C)"]
    assert model.score([["A", "C"]], ["( (S A C))"]) == 0.0


def test_trees_deeper_than_the_stack():
    tree = "p"
    for _ in range(600):
        tree = ("A", "q", tree)
    model = mm.ConstituencyParser(leaves="tags").fit_pcfg([tree])
    found = model.predict([["q", "p"], ["q"] * 20 + ["p"]])
    assert found[0] == ("A", "q", "p") and str(found[1]).count("A") == 20


def test_empty_tags():
    model = mm.ConstituencyParser().fit_pcfg(TAGS)
    for x in (["DT", ""], [("a", "DT"), ("", "NN")], [("a", "DT"), ("b", "")]):
        with pytest.raises(ValueError, match=r"X\[0\], token 2: expected text, found an empty one"):
            model.predict([x])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (("N P", "a", "b"), "a label in brackets cannot contain spaces or brackets, found 'N P'"),
        (("S", ("N(", "a"), "b"), "a label in brackets cannot contain spaces or brackets, found 'N('"),
        (("", "a", "b"), "a node without a label cannot begin with a leaf in brackets"),
        (("S", ("", "a", ("NP", "b")), "c"), "a node without a label cannot begin with a leaf in brackets"),
    ],
)
def test_trees_that_brackets_cannot_hold(tmp_path, tree, message):
    with pytest.raises(ValueError, match=re.escape(f"trees[0]: {message}")):
        mm.formats.write_trees(tmp_path / "bad.mrg", [tree])


def test_annotations_forbid_no_tree_and_are_smoothed():
    trees = ["(S (NP DT NN) (VP VBZ))", "(S (NP PRP) (VP VBZ (NP NN)))", "(S (NP PRP) (VP VBZ (NP NN)))"]
    model = mm.ConstituencyParser(parent_annotation=True, glue=False).fit_pcfg(trees)
    seen = ["DT", "NN", "VBZ", "PRP"]
    assert model.predict([seen]) == ["(S (NP DT NN) (VP VBZ (NP PRP)))"], "no noun phrase of a verb has PRP"
    weight = dict(zip(model.rules_, model.coef_, strict=True))
    assert weight["NP^VP → PRP"] == pytest.approx(np.log((0 + 5 * 2 / 5) / (2 + 5)))
    assert weight["NP^VP → NN"] == pytest.approx(np.log((2 + 5 * 2 / 5) / (2 + 5)))
    assert weight["VP^S → VBZ"] == pytest.approx(np.log(1 / 3)), "the only parent: the relative frequency"


# ---------------------------------------------------------------------- the maximum-likelihood grammar as a prior


def treebank(n, seed):
    """Sentences of a small ambiguous grammar: prepositional phrases attach to nouns or, after "IN2", to verbs."""
    rng = np.random.default_rng(seed)

    def noun(depth):
        bare = "(NP DT NN)" if rng.random() < 0.7 else "(NP PRP)"
        return f"(NP {bare} (PP IN {noun(depth + 1)}))" if rng.random() < 0.4 / depth else bare

    def verb():
        attached = f" (PP IN {noun(2)})" if rng.random() < 0.4 else ""
        return f"(VP VBZ {noun(1)}{attached})"

    return [f"(S {noun(1)} {verb()})" for _ in range(n)]


RULES = {"span_features": False, "horizontal": 1, "leaves": "tags"}


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_prior_is_the_maximum_likelihood_grammar(scale):
    trees = treebank(40, 0)
    weights = np.random.default_rng(1).random(40) + 0.1
    pcfg = mm.ConstituencyParser(**RULES).fit_pcfg(trees, sample_weight=weights)
    near = mm.ConstituencyParser(**RULES, prior="pcfg", prior_scale=scale, C=1e-9, tol=0.5)
    near.fit(trees, sample_weight=weights)
    np.testing.assert_allclose(near.coef_, scale * pcfg.coef_, atol=1e-6)
    vector = mm.ConstituencyParser(**RULES, prior=pcfg.coef_, prior_scale=scale, C=1e-9, tol=0.5)
    np.testing.assert_allclose(vector.fit(trees, sample_weight=weights).coef_, near.coef_, atol=1e-6)


def test_features_of_constituents_have_a_prior_of_zero():
    model = mm.ConstituencyParser(prior="pcfg", C=1e-9, tol=0.5).fit(treebank(20, 0))
    n_rules = len(model.rules_)
    assert (model.coef_[:n_rules] < -1e-3).any()
    assert np.abs(model.coef_[n_rules:]).max() < 1e-6


def test_training_starts_from_the_prior_and_improves_on_it():
    trees, held = treebank(60, 0), treebank(200, 1)
    pcfg = mm.ConstituencyParser(**RULES).fit_pcfg(trees)
    model = mm.ConstituencyParser(**RULES, prior="pcfg", C=1.0, tol=1e-3).fit(trees)
    assert np.abs(model.coef_ - pcfg.coef_).max() > 1e-2, "some margins are violated by the prior"
    X = [re.findall(r"[A-Z]+(?=[ )])", re.sub(r"\((S|NP|VP|PP)", "", tree)) for tree in trees]
    at_prior = mm.StructuralSVM(mm.Grammar(cost="constituents", horizontal=1, leaves="tags"), prior=pcfg.coef_)
    hinges = sum(
        loss_augmented_gain(at_prior.structure.fit(X, trees), pcfg.coef_, x, tree)
        for x, tree in zip(X, trees, strict=True)
    )
    assert model.certificate_.primal < hinges, "C · Σ hinges is the objective at the prior"
    assert model.score(held) >= pcfg.score(held) - 0.005


def loss_augmented_gain(grammar, w, x, tree):
    """Return max_ŷ Δ(y, ŷ) + w·Ψ(x, ŷ) − w·Ψ(x, y)."""
    other = grammar.loss_augmented_argmax(w, x, tree, 1.0)
    rise = w @ (grammar.joint_feature(x, other) - grammar.joint_feature(x, tree))
    return grammar.loss(tree, other) + float(rise)


@pytest.mark.parametrize("bound", ["ramp", "slack", "likelihood", "softmax-margin"])
def test_all_bounds_take_the_prior(bound):
    trees = treebank(30, 0)
    prior = mm.ConstituencyParser(**RULES).fit_pcfg(trees).coef_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactArgmaxWarning)
        near, far = (
            mm.ConstituencyParser(**RULES, prior="pcfg", prior_scale=0.2, bound=bound, C=C, tol=0.01).fit(trees).coef_
            for C in (1e-9, 3.0)
        )
    np.testing.assert_allclose(near, 0.2 * prior, atol=1e-6)
    assert np.abs(far - 0.2 * prior).max() > 0.01


def test_halves_of_the_data_for_a_temperature_may_lack_rules():
    trees = [*treebank(12, 0), "(S (NP NN NN) (VP VBD))"]
    model = mm.ConstituencyParser(**RULES, prior="pcfg", temperature="auto", tol=0.1).fit(trees)
    assert np.isfinite(model.coef_).all() and model.temperature_ > 0.0


def test_models_with_a_prior_are_saved(tmp_path):
    model = mm.ConstituencyParser(**RULES, prior="pcfg", C=0.3).fit(treebank(20, 0))
    model.save(tmp_path / "parser.mm")
    again = mm.load(tmp_path / "parser.mm")
    assert again.prior == "pcfg" and again.predict(treebank(5, 2)) == model.predict(treebank(5, 2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prior": "hmm"}, "prior must be None, 'pcfg' or a vector of weights, found 'hmm'"),
        ({"prior": [0.0, 1.0]}, "prior has 2 weights, but these data have"),
        ({"prior": "pcfg", "prior_scale": 0.0}, "prior_scale"),
    ],
)
def test_priors_that_are_wrong(given, message):
    with pytest.raises(ValueError, match=message):
        mm.ConstituencyParser(**given).fit(TAGS)


def test_least_risk_outside_of_the_grammar():
    outside = ["VBZ", "VBZ", "DT"]
    model = mm.ConstituencyParser(C=10.0, decode="risk").fit(TAGS)
    assert model.predict([outside, TAG_SENTENCES[0]]) == ["(TOP (VP VBZ) (VP VBZ) DT)", TAGS[0]]
    assert model.predict([outside]) == model.set_params(decode="map").predict([outside])
    without = mm.ConstituencyParser(C=10.0, decode="risk", glue=False).fit(TAGS)
    with pytest.warns(NoTreeWarning, match="1 of 2 sentences have no tree"):
        assert without.predict([outside, TAG_SENTENCES[0]]) == [None, TAGS[0]]
