"""Mention pairs of a small made-up corpus, by hand; and of GUM itself where it is there."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data.coref_gum import load_coref_gum
from benchmarks.data.mention_pairs import mention_pair_features, mention_pair_names
from benchmarks.data.mentions import Document
from maxmargin.metrics import muc
from maxmargin.structures.forest.structure import Forest

#: form, lemma, upos, feats, head, deprel, speaker; a line without words ends a sentence.
TEXT = """\
Mary Mary PROPN Number=Sing 5 nsubj _
Smith Smith PROPN Number=Sing 0 flat _
was be AUX _ 5 cop _
the the DET _ 5 det _
first first ADJ _ 5 amod _
director director NOUN Number=Sing -1 root _
of of ADP _ 9 case _
the the DET _ 9 det _
World World PROPN Number=Sing 9 compound _
Bank Bank PROPN Number=Sing 5 nmod _

She she PRON Gender=Fem|Number=Sing 11 nsubj _
led lead VERB _ -1 root _
the the DET _ 13 det _
WB WB PROPN Number=Sing 11 obj _
with with ADP _ 16 case _
her her PRON Gender=Fem|Number=Sing 16 nmod:poss _
friends friend NOUN Number=Plur 11 obl _

The the DET _ 18 det _
bank bank NOUN Number=Sing 19 nsubj _
thanked thank VERB _ -1 root _
Smith Smith PROPN Number=Sing 19 obj _

I I PRON Number=Sing|Person=1 22 nsubj MarySmith
remember remember VERB _ -1 root MarySmith
them they PRON Number=Plur 22 obj MarySmith

You you PRON Person=2 25 nsubj Reporter
left leave VERB _ -1 root Reporter
"""
#: first, last and head token, cluster.
MENTIONS = [
    (0, 1, 0, 1), (3, 9, 5, 1), (7, 9, 9, 2), (10, 10, 10, 1), (12, 13, 13, 2), (15, 16, 16, 3), (15, 15, 15, 1),
    (17, 18, 18, 2), (20, 20, 20, 1), (21, 21, 21, 1), (23, 23, 23, 3), (24, 24, 24, 1),
]  # fmt: skip
MARY, DIRECTOR, WORLD_BANK, SHE, WB, FRIENDS, HER, BANK, SMITH, ME, THEM, YOU = range(12)


def tokens():
    sentence, rows = 0, []
    for line in TEXT.splitlines():
        if not line:
            sentence += 1
            continue
        rows.append([str(sentence), *line.split(" ")])
    return rows


def document():
    sent, form, lemma, upos, feats, head, deprel, speaker = map(list, zip(*tokens(), strict=True))
    starts, ends, heads, _ = map(list, zip(*MENTIONS, strict=True))
    return Document(
        "a", [int(s) for s in sent], form, lemma, upos, feats, [int(h) for h in head], deprel, speaker, starts, ends,
        heads,
    )  # fmt: skip


NAMES = mention_pair_names()
FEATURES = mention_pair_features(document())


def features(i, j):
    first, second = np.triu_indices(len(MENTIONS), 1)
    row = FEATURES[[int(np.flatnonzero((first == i) & (second == j))[0])]]
    assert (row.data == 1).all()
    return {NAMES[k] for k in row.indices}


def test_rows_and_names():
    n = len(MENTIONS)
    assert FEATURES.shape == (n * (n - 1) // 2, len(NAMES))
    assert len(set(NAMES)) == len(NAMES)
    assert FEATURES.has_canonical_format
    assert np.diff(FEATURES.indptr).min() >= 5


@pytest.mark.parametrize(
    ("i", "j", "expected"),
    [
        (MARY, DIRECTOR, ["kinds: name, definite", "relation: copula, definite", "agreement: agree, agree, definite"]),
        (MARY, SHE, ["gender: female, she", "rank: 2, she", "sentences: 1, name, pronoun", "roles: subject, subject"]),
        (WORLD_BANK, SHE, ["gender: unknown, she", "rank: 0, she", "preposition: of, she"]),
        (MARY, SMITH, ["name match: within, same last", "match: head, nothing new, name, name", "mentions: 5–8, name"]),
        (MARY, SMITH, ["nearest of same head: yes"]),
        (WORLD_BANK, WB, ["acronym: yes", "name match: disjoint, other last"]),
        (WORLD_BANK, BANK, ["match: head, nothing new, name, definite", "nearest of same head: yes"]),
        (SHE, HER, ["same pronoun: 0, nearest", "salience: subject, 0", "kinds: she, she"]),
        (FRIENDS, HER, ["relation: contains, pronoun", "agreement: differ, agree, pronoun", "rank: disagrees, she"]),
        (FRIENDS, THEM, ["agreement: agree, unknown, pronoun", "rank: 0, they", "preposition: with, they"]),
        (SHE, WB, ["relation: arguments of one verb, name"]),
        (SMITH, ME, ["speaker's name: I", "kinds: name, I", "sentences: 1, name, speech"]),
        (SMITH, YOU, ["speaker's name: you"]),
        (ME, YOU, ["speaker: other, I, you"]),
        (DIRECTOR, WORLD_BANK, ["relation: contains, name", "match: none, definite, name"]),
    ],
)
def test_what_is_said_of_a_pair(i, j, expected):
    found = features(i, j)
    assert set(expected) <= found, sorted(found)


@pytest.mark.parametrize(
    ("i", "j", "template"),
    [(MARY, SHE, "match"), (SHE, BANK, "rank"), (MARY, BANK, "nearest"), (BANK, ME, "speaker"), (SHE, YOU, "speaker")],
)
def test_what_is_not_said_of_a_pair(i, j, template):
    assert not [name for name in features(i, j) if name.startswith(template)]


def test_few_mentions():
    few = [Document(**{**vars(document()), "starts": [0] * n, "ends": [1] * n, "heads": [0] * n}) for n in (0, 1)]
    assert [mention_pair_features(d).shape for d in few] == [(0, len(NAMES))] * 2


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """The document twice, with nonsense in the columns that give answers away."""
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    folder = tmp_path / "coref_gum"
    folder.mkdir()

    def write(nonsense):
        head = "doc\ttok\tsent\tform\tlemma\tupos\txpos\tfeats\thead\tdeprel\tspeaker"
        lines = [
            "\t".join([doc, str(k), *row[:4], "X", row[4], *row[5:]]) for doc in "ab" for k, row in enumerate(tokens())
        ]
        _gzip(folder / "tokens.tsv.gz", [head, *lines])
        head = "doc\tmention\tcluster\tsent\tstart\tend\thead\tetype\tinfstat\tminspan\tlink\ttext"
        lines = [
            "\t".join(map(str, [doc, k, c, 0, a, b, h, *nonsense, f'"{k}']))
            for doc in "ab"
            for k, (a, b, h, c) in enumerate(MENTIONS)
        ]
        _gzip(folder / "mentions.tsv.gz", [head, *lines])
        docs = ["doc\tgum_split\tsplit60", "a\ttrain\ttest", "b\tdev\ttrain", "c\ttrain\t-"]
        (folder / "docs.tsv").write_text("\n".join(docs) + "\n")

    write(["person", "new", "1", "coref"])
    return write


def _gzip(path, lines):
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def test_documents_are_read_without_their_answers(corpus):
    first = load_coref_gum("train")
    corpus(["place", "giv", "7", "ana"])
    again = load_coref_gum("train", "split60")
    assert first.documents == again.documents == ["b"]
    assert (first.X[0] != again.X[0]).nnz == 0
    assert (first.X[0] != FEATURES).nnz == 0
    assert first.Y[0] == [c for *_, c in MENTIONS]
    assert first.mentions[0][:2] == ['"0', '"1']  # quotes are characters like others
    assert first.feature_names == NAMES
    assert load_coref_gum("all").documents == ["a", "b"]
    assert load_coref_gum("dev", "gum_split").documents == ["b"]


def test_unknown_parts(corpus):
    with pytest.raises(ValueError, match="part of split60 must be 'all', 'test' or 'train', found 'dev'"):
        load_coref_gum("dev")
    with pytest.raises(ValueError, match="split must be one of 'split60', 'gum_split', found 'half'"):
        load_coref_gum("train", "half")


def test_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="data set 'coref_gum': no folder coref_gum in MAXMARGIN_DATA"):
        load_coref_gum()


@pytest.mark.skipif(
    not (Path(os.environ.get("MAXMARGIN_DATA", "")) / "coref_gum").is_dir(), reason="no coref_gum in MAXMARGIN_DATA"
)
def test_gum_itself():
    data = load_coref_gum("train")
    assert (len(data.X), sum(map(len, data.Y)), sum(len(set(y)) for y in data.Y)) == (30, 8017, 4286)
    structure = Forest(fit_intercept=False).fit(data.X, data.Y)
    same_text = np.array([float(name.startswith("match: text")) for name in data.feature_names])
    scores = muc(data.Y, [structure.argmax(same_text, x) for x in data.X])
    assert scores.precision > 0.8
    assert scores.recall > 0.3
