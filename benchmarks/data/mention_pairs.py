"""Features of pairs of noun phrases for coreference, after Ng and Cardie (2002), made without coreference annotation.

Every feature is 0 or 1. A template assigns at most one of its values to each pair (i, j) with i before j; the names of
the features are ``template: value``. The templates:

======================  ================================================================================================
kinds                   kind of i and of j: I, we, you, he, she, it, they, this, other pronoun, name, definite,
                        demonstrative, possessive, indefinite, bare, time, number, clause
match                   similarity of the words of two noun phrases (none, a word in common, the head of one in the
                        other, same head, same head and no new word in j, same text), with their groups (name,
                        definite, other)
name match              of two names: disjoint, overlapping, one within the other, equal; last names equal or not
acronym                 one consists of the initials of the other
modifiers               same head, and both have words that the other does not have
agreement               number and gender: agree, differ, or unknown, with the group of j
gender                  gender of i, with the kind of pronoun j
sentences               sentences between, in bins, with the groups of both
mentions                mentions between, in bins, with the group of j
rank                    how many noun phrases between i and a pronoun j agree with it in number and gender
same pronoun            two of the same pronoun (he, him, his): sentences between, whether i is the last one before j
nearest                 same head, or same text: whether i is the last before j
relation                nesting, apposition, predicate of a copula, conjunction, arguments of one verb, next to each
                        other, with the group of j
roles                   grammatical roles of i and of a pronoun j
salience                role of i and sentences between, for a pronoun j
preposition             before i, with the kind of pronoun j
frequency               how often the head of i occurs in the document, for a pronoun j
speaker                 two of I, we, you: by the same speaker, another, or unknown
speaker's name          the speaker of "I", or somebody other than the speaker of "you", has the name i or j
======================  ================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.data.mentions import GENDERS, GROUPS, KINDS, PREPOSITIONS, ROLES, Document, Mentions
from maxmargin._base.types import AnyArray, IntArray

_SENTENCES = ("0", "1", "2", "3–4", "5–8", "9–16", "17+")
_SENTENCE_ENDS = (0, 1, 2, 4, 8, 16)
_BETWEEN = ("0", "1", "2", "3–4", "5–8", "9–16", "17–32", "33–64", "65+")
_BETWEEN_ENDS = (0, 1, 2, 4, 8, 16, 32, 64)
_RANKS = ("0", "1", "2", "3–4", "5+", "disagrees")
_RANK_ENDS = (0, 1, 2, 4)
_FREQUENCIES = ("1", "2", "3–4", "5–8", "9+")
_FREQUENCY_ENDS = (1, 2, 4, 8)
_MATCHES = ("none", "word", "head in words", "head", "head, nothing new", "text")
_NAME_MATCHES = ("disjoint", "overlap", "within", "equal")
_AGREEMENTS = ("unknown", "agree", "differ")
_RELATIONS = (
    "none", "contains", "same head token", "apposition", "copula", "conjunction", "arguments of one verb", "adjacent",
)  # fmt: skip
_SPEAKERS = ("unknown", "same", "other")
#: Kinds of pronouns: I, we, you; and he, she, it, they, this, other.
_SPEECH, _THIRD = KINDS[:3], KINDS[3:9]
_SPEECH_GROUP, _PRONOUN_GROUP = GROUPS.index("speech"), GROUPS.index("pronoun")
_ABSENT = -1


@dataclass(frozen=True)
class Template:
    """A value, as a position in the product of `parts`, for each pair, or −1 for none."""

    name: str
    parts: tuple[tuple[str, ...], ...]
    values: IntArray

    @property
    def names(self) -> list[str]:
        return [f"{self.name}: {', '.join(value)}" for value in product(*self.parts)]


def mention_pair_features(document: Document) -> sp.csr_array:
    """Return the features of all pairs i < j: n(n − 1)/2 rows in the order of `numpy.triu_indices(n, 1)`."""
    templates = list(_templates(PairView(Mentions(document))))
    begins = np.cumsum([0, *(len(template.names) for template in templates)])
    columns = np.stack([template.values for template in templates], axis=1)
    there = columns >= 0
    indices = (columns + begins[:-1])[there].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(columns), int(begins[-1])))


def mention_pair_names() -> list[str]:
    """Return the name of each feature of `mention_pair_features`."""
    nothing = Document("", *([] for _ in range(11)))
    return [name for template in _templates(PairView(Mentions(nothing))) for name in template.names]


class PairView:
    """Attributes of the first (`i`) and second (`j`) mention of each pair, and functions of all pairs of a document."""

    def __init__(self, mentions: Mentions) -> None:
        self.mentions = m = mentions
        self.first, self.second = np.triu_indices(len(m), 1)
        self.sentences = _binned(self.j("sentence") - self.i("sentence"), _SENTENCE_ENDS)
        self.between = _binned(self.second - self.first - 1, _BETWEEN_ENDS)
        self.noun = np.isin(m.group, (_SPEECH_GROUP, _PRONOUN_GROUP), invert=True)
        self.nouns = self.noun[self.first] & self.noun[self.second]
        self.third = self.j("group") == _PRONOUN_GROUP  # j is a pronoun of the third person
        self.same_head = self.nouns & (self.i("head_word") == self.j("head_word"))
        self.same_text = self.nouns & (self.i("text") == self.j("text"))

    def i(self, name: str) -> AnyArray:
        return getattr(self.mentions, name)[self.first]

    def j(self, name: str) -> AnyArray:
        return getattr(self.mentions, name)[self.second]

    def common(self, name: str) -> tuple[IntArray, IntArray, IntArray]:
        """Return the number of words (or names) in common, of i, and of j."""
        incidence = getattr(self.mentions, name)
        shared = np.asarray((incidence @ incidence.T).todense())
        sizes = shared.diagonal()
        return shared[self.first, self.second], sizes[self.first], sizes[self.second]

    def table(self, pairs: AnyArray) -> AnyArray:
        """Return booleans of the pairs as an n × n table, False elsewhere."""
        out = np.zeros((len(self.mentions), len(self.mentions)), bool)
        out[self.first, self.second] = pairs
        return out

    def in_between(self, pairs: AnyArray) -> IntArray:
        """Return, for each pair (i, j), the number of i' between them for which (i', j) is True."""
        upwards = np.cumsum(self.table(pairs), axis=0)
        return (upwards[-1:] - upwards)[self.first, self.second] if len(upwards) else np.zeros(0, np.int64)


def _templates(v: PairView) -> Iterator[Template]:
    """Yield all templates in the order of their columns."""
    yield Template("kinds", (KINDS, KINDS), _joined(v.i("kind"), v.j("kind"), len(KINDS)))
    yield from _word_templates(v)
    yield from _agreement_templates(v)
    yield from _distance_templates(v)
    yield Template("relation", (_RELATIONS, GROUPS), _joined(_relation(v), v.j("group"), len(GROUPS)))
    yield from _pronoun_templates(v)
    yield from _speaker_templates(v)


def _word_templates(v: PairView) -> Iterator[Template]:
    shared, in_i, in_j = v.common("words")
    level = np.select(
        [v.same_text, v.same_head & (shared == in_j), v.same_head, _head_in_words(v), shared > 0], [5, 4, 3, 2, 1], 0
    )
    groups = GROUPS[2:]
    pair = _joined(_joined(level, v.i("group") - 2, len(groups)), v.j("group") - 2, len(groups))
    yield Template("match", (_MATCHES, groups, groups), np.where(v.nouns, pair, _ABSENT))
    new = v.same_head & (shared < in_i) & (shared < in_j)
    yield Template("modifiers", (("differ",),), np.where(new, 0, _ABSENT))
    shared, in_i, in_j = v.common("names")
    within, last = shared == np.minimum(in_i, in_j), v.i("last_name") == v.j("last_name")
    level = np.select([within & (in_i == in_j), within, shared > 0], [3, 2, 1], 0)
    both = (v.i("group") == 2) & (v.j("group") == 2)
    values = np.where(both, _joined(level, last, 2), _ABSENT)
    yield Template("name match", (_NAME_MATCHES, ("other last", "same last")), values)
    acronym = _said_and_equal(v.i("initials"), v.j("capitals")) | _said_and_equal(v.i("capitals"), v.j("initials"))
    yield Template("acronym", (("yes",),), np.where(acronym, 0, _ABSENT))
    for name, same in (("head", v.same_head), ("text", v.same_text)):
        values = np.where(same, (v.in_between(same) == 0).astype(int), _ABSENT)
        yield Template(f"nearest of same {name}", (("no", "yes"),), values)


def _agreement_templates(v: PairView) -> Iterator[Template]:
    number, gender = _number_agreement(v), _gender_agreement(v)
    values = _joined(_joined(number, gender, 3), v.j("group"), len(GROUPS))
    yield Template("agreement", (_AGREEMENTS, _AGREEMENTS, GROUPS), values)
    compatible = v.third & (number != 2) & (gender != 2) & (v.i("group") != _SPEECH_GROUP)
    rank = np.where(compatible, _binned(v.in_between(compatible), _RANK_ENDS), len(_RANKS) - 1)
    yield _of_pronoun(v, "rank", _RANKS, rank)
    yield _of_pronoun(v, "gender", GENDERS, v.i("gender"))


def _distance_templates(v: PairView) -> Iterator[Template]:
    sentences = _joined(_joined(v.sentences, v.i("group"), len(GROUPS)), v.j("group"), len(GROUPS))
    yield Template("sentences", (_SENTENCES, GROUPS, GROUPS), sentences)
    yield Template("mentions", (_BETWEEN, GROUPS), _joined(v.between, v.j("group"), len(GROUPS)))


def _pronoun_templates(v: PairView) -> Iterator[Template]:
    same = v.third & (v.i("kind") == v.j("kind"))
    nearest = (v.in_between(same) == 0).astype(int)
    values = np.where(same, _joined(v.sentences, nearest, 2), _ABSENT)
    yield Template("same pronoun", (_SENTENCES, ("not nearest", "nearest")), values)
    roles = _joined(v.i("role"), v.j("role"), len(ROLES))
    yield Template("roles", (ROLES, ROLES), np.where(v.third, roles, _ABSENT))
    salience = _joined(v.i("role"), np.minimum(v.sentences, 3), 4)
    yield Template("salience", (ROLES, (*_SENTENCES[:3], "3+")), np.where(v.third, salience, _ABSENT))
    yield _of_pronoun(v, "preposition", PREPOSITIONS, v.i("preposition"))
    counts = np.bincount(v.mentions.head_word) if len(v.mentions) else np.zeros(0, np.int64)
    frequency = _binned(counts[v.i("head_word")], _FREQUENCY_ENDS)
    values = np.where(v.third & v.noun[v.first], frequency, _ABSENT)
    yield Template("frequency", (_FREQUENCIES,), values)


def _speaker_templates(v: PairView) -> Iterator[Template]:
    known = (v.i("speaker") != "_") & (v.j("speaker") != "_")
    same = np.where(known, np.where(v.i("speaker") == v.j("speaker"), 1, 2), 0)
    both = (v.i("group") == _SPEECH_GROUP) & (v.j("group") == _SPEECH_GROUP)
    values = _joined(_joined(same, v.i("kind"), len(_SPEECH)), v.j("kind"), len(_SPEECH))
    yield Template("speaker", (_SPEAKERS, _SPEECH, _SPEECH), np.where(both, values, _ABSENT))
    named = _is_speaker(v.mentions)
    spoken = [_SPEECH.index("I"), _SPEECH.index("you")]
    values = np.full(len(v.first), _ABSENT)
    for one, other in ((v.first, v.second), (v.second, v.first)):
        is_named = named[one, v.mentions.speaker_number[other]]
        someone = named[one].any(axis=1) if named.size else np.zeros(len(one), bool)
        for k, kind in enumerate(spoken):
            fits = is_named if k == 0 else someone & ~is_named
            values = np.where((v.mentions.kind[other] == kind) & fits, k, values)
    yield Template("speaker's name", (("I", "you"),), values)


def _of_pronoun(v: PairView, name: str, of_i: tuple[str, ...], values: AnyArray) -> Template:
    """A value of i together with the kind of a pronoun j."""
    kind = v.j("kind") - KINDS.index(_THIRD[0])
    return Template(name, (of_i, _THIRD), np.where(v.third, _joined(values, kind, len(_THIRD)), _ABSENT))


def _number_agreement(v: PairView) -> IntArray:
    one, other = v.i("number"), v.j("number")
    return np.where((one == 0) | (other == 0), 0, np.where(one == other, 1, 2))


def _gender_agreement(v: PairView) -> IntArray:
    one, other = v.i("gender"), v.j("gender")
    person, thing = GENDERS.index("person"), GENDERS.index("thing")
    persons = (one != thing) & (other != thing) & ((one == person) | (other == person))
    return np.where((one == 0) | (other == 0), 0, np.where((one == other) | persons, 1, 2))


def _head_in_words(v: PairView) -> AnyArray:
    """Return whether the head of one is a word of the other: the company, a company spokesman."""
    inside = np.asarray((v.mentions.heads @ v.mentions.words.T).todense()) > 0
    return v.nouns & (inside[v.first, v.second] | inside[v.second, v.first])


def _relation(v: PairView) -> IntArray:
    contains = (v.i("start") <= v.j("start")) & (v.j("end") <= v.i("end"))
    below, above = v.j("governor") == v.i("head"), v.i("governor") == v.j("head")
    siblings = (v.i("governor") == v.j("governor")) & (v.i("governor") >= 0)
    argument = ROLES.index("oblique")
    conjunct = (v.j("relation") == "conj") & (below | (siblings & (v.i("relation") == "conj")))
    copula = above & (v.i("role") <= 1) & v.j("copular")
    return np.select(
        [
            v.i("head") == v.j("head"),
            below & (v.j("relation") == "appos"),
            copula,
            conjunct,
            contains,
            siblings & (v.i("role") <= argument) & (v.j("role") <= argument),
            (v.j("start") > v.i("end")) & (v.j("start") <= v.i("end") + 2) & (v.i("sentence") == v.j("sentence")),
        ],
        [2, 3, 4, 5, 1, 6, 7],
        0,
    )


def _is_speaker(m: Mentions) -> AnyArray:
    """Return a table mentions × speakers: whether the mention, or its last word, is the name of the speaker."""
    speakers = [name.lower() for name in m.speakers]
    names = zip(m.name_text, m.last_name, strict=True)
    table = [
        [name == speaker or (len(last) > 2 and speaker.endswith(last)) for speaker in speakers] for name, last in names
    ]
    return np.array(table, bool).reshape(len(m), len(speakers))


def _said_and_equal(one: AnyArray, other: AnyArray) -> AnyArray:
    return ((one == other) & (one != "")).astype(bool)


def _joined(one: Any, other: Any, size: int) -> IntArray:
    """Return the position in the product of two tuples of values, the second of this size."""
    return one * size + other


def _binned(counts: IntArray, ends: tuple[int, ...]) -> IntArray:
    """Return the bin of each count; bins end with these numbers, and the last bin is open."""
    return np.searchsorted(np.array(ends), counts, "left")
