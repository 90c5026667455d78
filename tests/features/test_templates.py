"""TokenTemplates: which features, the same by a slow way, no state that shows, and fast enough."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.features.text import templates as module
from maxmargin.features.text.templates import short_shape, word_shape


@pytest.mark.parametrize(
    ("word", "shape", "short"),
    [
        ("Oslo", "Xxxx", "Xx"),
        ("McX-12,5", "XxX-dd,d", "XxX-d,d"),
        ("", "", ""),
        ("ÑandúßΣ", "XxxxxxX", "XxX"),
        ("٣", "d", "d"),
    ],
)
def test_shapes(word, shape, short):
    assert word_shape(word) == shape
    assert short_shape(shape) == short


def slowly(sentence, window, affixes, shape, pairs):
    """The same features, one after the other, for tokens (word, column)."""

    def at(t):
        return sentence[t] if 0 <= t < len(sentence) else None

    rows = []
    for t, (word, column) in enumerate(sentence):
        low = word.lower()
        row = {f"word={word}", f"lower={low}", f"column1={column}"}
        for k in range(1, affixes + 1):
            if len(low) >= k:
                row |= {f"prefix={low[:k]}", f"suffix={low[len(low) - k :]}"}
        if shape:
            row |= {f"shape={word_shape(word)}", f"short={short_shape(word_shape(word))}"}
        for shift in range(-window, window + 1):
            if shift == 0:
                continue
            if at(t + shift) is None:
                row.add(f"{shift:+d}:outside")
                continue
            other, tag = at(t + shift)
            row |= {f"{shift:+d}:lower={other.lower()}", f"{shift:+d}:column1={tag}"}
            if shape:
                row.add(f"{shift:+d}:short={short_shape(word_shape(other))}")
        if pairs and window:
            shapes = ["" if at(s) is None else short_shape(word_shape(at(s)[0])) for s in (t - 1, t, t + 1)]
            tags = ["" if at(s) is None else at(s)[1] for s in (t - 1, t, t + 1)]
            for name, (a, b, c), used in (("short", shapes, shape), ("column1", tags, True)):
                if used:
                    row |= {f"-1+0:{name}={a} {b}", f"+0+1:{name}={b} {c}"}
            if shape:
                row.add("-1+0+1:short={} {} {}".format(*shapes))
        if pairs and window > 1:
            words = ["" if at(s) is None else at(s)[0].lower() for s in (t - 2, t - 1, t + 1, t + 2)]
            row |= {f"-2-1:lower={words[0]} {words[1]}", f"+1+2:lower={words[2]} {words[3]}"}
        rows.append(row)
    return rows


TOKEN = st.tuples(st.sampled_from(["Ana", "a", "de", "IBM", "12", "x-Y", "perro", ""]), st.sampled_from("NVD"))


@given(
    st.lists(st.lists(TOKEN, max_size=6), min_size=1, max_size=3),
    st.integers(0, 3), st.integers(0, 5), st.booleans(), st.booleans(),
)  # fmt: skip
def test_features_are_those_of_a_slow_way(sentences, window, affixes, shape, pairs):
    templates = mm.TokenTemplates(window=window, affixes=affixes, shape=shape, pairs=pairs)
    for sentence in sentences:
        rows = templates(sentence)
        assert [set(row) for row in rows] == slowly(sentence, window, affixes, shape, pairs)


def test_columns_and_words():
    tokens = [("1", "Oslo", "NP", "x")]
    chosen = mm.TokenTemplates(window=0, affixes=0, shape=False, columns=[3], word=1)
    assert chosen(tokens) == [("word=Oslo", "lower=oslo", "column3=x")]
    assert chosen.columns == (3,)
    none = mm.TokenTemplates(window=0, affixes=0, shape=False, columns=(), word=1)
    assert none(tokens) == [("word=Oslo", "lower=oslo")]
    words = mm.TokenTemplates()
    assert words(["Oslo"]) == words([("Oslo",)]) == words([["Oslo"]])
    assert words([]) == []


def test_bad_parameters_and_sentences():
    for parameters in ({"window": -1}, {"affixes": 1.5}, {"word": True}, {"columns": ("a",)}, {"columns": (-1,)}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            mm.TokenTemplates(**parameters)
    with pytest.raises(TypeError, match="found the string 'Ana sings'"):
        mm.TokenTemplates()("Ana sings")
    with pytest.raises(TypeError, match="tuples of strings"):
        mm.TokenTemplates()([("Ana", 3)])
    with pytest.raises(ValueError, match=r"use column 2, but the token \('Ana', 'NP'\) has 2 columns"):
        mm.TokenTemplates(columns=(2,))([("Ana", "NP")])


def test_the_cache_does_not_show(monkeypatch):
    templates = mm.TokenTemplates(window=1)
    sentence = [("Ana", "NP"), ("sings", "V")]
    rows = templates(sentence)
    fresh = mm.TokenTemplates(window=1)
    assert templates == fresh
    assert hash(templates) == hash(fresh)
    assert repr(templates) == repr(fresh)
    for again in (pickle.loads(pickle.dumps(templates)), copy.deepcopy(templates), copy.copy(templates)):
        assert again == templates
        assert again._cache.size == 0
        assert again(sentence) == rows
    monkeypatch.setattr(module, "_CACHE_SIZE", 3)
    assert [templates(sentence) for _ in range(3)] == [rows] * 3
    assert templates._cache.size < 10


def test_threads_share_a_cache():
    rng = np.random.default_rng(0)
    sentences = [
        [("".join(rng.choice(list("aB1-"), 4)), f"c{rng.integers(40)}") for _ in range(20)] for _ in range(300)
    ]
    alone = mm.TokenTemplates()
    shared = mm.TokenTemplates()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared, sentences)) == [alone(sentence) for sentence in sentences]


def test_words_seen_before_cost_little():
    """About 5 µs a token here; 264,715 tokens of CoNLL-2002 take 2 s. The bound leaves room for slow machines."""
    rng = np.random.default_rng(0)
    words = [("w" + "".join(rng.choice(list("abcdeF"), 6)), "N") for _ in range(1000)]
    sentences = [[words[i] for i in rng.integers(1000, size=25)] for _ in range(800)]
    templates = mm.TokenTemplates()
    began = time.process_time()
    for sentence in sentences:
        templates(sentence)
    assert time.process_time() - began < 20_000 * 50e-6


def test_pairs_of_values_with_blanks_are_not_confused():
    templates = mm.TokenTemplates(window=1, affixes=0, shape=False)
    first = templates([("x", "a b"), ("x", "c")])[1]
    second = templates([("x", "a"), ("x", "b c")])[1]
    assert {name for name in first if name.startswith("-1+0:")} == {r"-1+0:column1=a\ b c"}
    assert {name for name in second if name.startswith("-1+0:")} == {r"-1+0:column1=a b\ c"}
