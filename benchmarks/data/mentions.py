"""Noun phrases of a document, and attributes of each of them: kind, number, gender, role, words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import IntArray


@dataclass(frozen=True)
class Document:
    """Tokens in columns, with a dependency tree; mentions in order of their first token, the longer first.

    Attributes
    ----------
    sent, form, lemma, upos, feats, head, deprel, speaker : of each token; head −1 is the root, speaker ``_`` is none.
    starts, ends, heads : first, last and head token of each mention.
    """

    name: str
    sent: list[int]
    form: list[str]
    lemma: list[str]
    upos: list[str]
    feats: list[str]
    head: list[int]
    deprel: list[str]
    speaker: list[str]
    starts: list[int]
    ends: list[int]
    heads: list[int]


KINDS = (
    "I", "we", "you", "he", "she", "it", "they", "this", "pronoun", "name", "definite", "demonstrative", "possessive",
    "indefinite", "bare", "time", "number", "clause",
)  # fmt: skip
#: Groups of kinds, for conjunctions: I, we and you; other pronouns; names; definite noun phrases; the rest.
GROUPS = ("speech", "pronoun", "name", "definite", "other")
_GROUP_OF = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 4, 4, 4, 4, 4]
NUMBERS = ("unknown", "singular", "plural")
#: A person is male or female, but it is unknown which.
GENDERS = ("unknown", "male", "female", "person", "thing")
ROLES = ("subject", "passive subject", "object", "oblique", "modifier", "possessor", "conjunct", "root", "other")
PREPOSITIONS = ("none", "of", "in", "at", "to", "from", "by", "with", "for", "other")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRONOUNS = {
    word: kind
    for kind, words in {
        "I": "i me my mine myself",
        "we": "we us our ours ourselves",
        "you": "you your yours yourself yourselves",
        "he": "he him his himself",
        "she": "she her hers herself",
        "it": "it its itself",
        "they": "they them their theirs themselves",
        "this": "this that these those",
    }.items()
    for word in words.split()
}
_PRONOUN_GENDER = {"I": "person", "we": "person", "you": "person", "he": "male", "she": "female", "it": "thing"}
_DETERMINERS = _words("the a an this that these those")
_INDEFINITE = _words("a an some any another each every no many several few both all one")
_TIMES = _words(
    """year month week day hour minute second decade century time morning afternoon evening night today yesterday
    tomorrow tonight season weekend january february march april may june july august september october november
    december monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter"""
)
_MALE = _words(
    """mr mr. sir lord king prince man boy father son brother husband uncle grandfather nephew gentleman duke emperor
    actor chairman businessman guy monk waiter baron count james john robert michael william david richard joseph
    thomas charles christopher daniel matthew anthony mark paul steven andrew kenneth george joshua kevin brian edward
    ronald timothy jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin
    samuel frank gregory raymond alexander patrick jack dennis jerry peter henry adam nathan zachary walter harold
    arthur albert carl roger philip simon martin louis hugh noam mario barack donald bill jim tom chris nick"""
)
_FEMALE = _words(
    """mrs mrs. ms ms. miss lady queen princess woman girl mother daughter sister wife aunt grandmother niece duchess
    empress actress chairwoman businesswoman nun waitress baroness countess mary patricia jennifer linda elizabeth
    barbara susan jessica sarah karen nancy lisa margaret betty sandra ashley dorothy kimberly emily donna michelle
    carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy shirley angela helen anna brenda
    pamela nicole ruth katherine samantha christine emma catherine virginia rachel carolyn janet maria heather diane
    julie joyce victoria kelly christina joan evelyn tina jane alice anne marie hillary"""
)
_PERSONS = _words(
    """person people president minister author writer scientist doctor professor teacher student leader director member
    player artist friend child kid baby parent citizen spokesman spokesperson politician governor mayor senator judge
    officer soldier worker employee manager founder engineer physicist mathematician musician singer composer poet
    journalist reporter editor critic expert researcher candidate voter lawyer victim patient someone somebody anyone
    anybody everyone everybody nobody who dr dr. user reader player coach fan owner driver resident historian"""
)
#: Dependents that belong to the name or noun itself.
_CORE = frozenset({"amod", "compound", "flat", "nummod", "goeswith"})
_CONTENT = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "X", "SYM"})
_ROLE_OF = {
    "nsubj": 0, "csubj": 0, "nsubj:outer": 0, "nsubj:pass": 1, "obj": 2, "iobj": 2, "obl": 3, "obl:unmarked": 3,
    "obl:agent": 3, "nmod": 4, "nmod:unmarked": 4, "appos": 4, "compound": 4, "nmod:poss": 5, "conj": 6, "root": 7,
}  # fmt: skip


class Mentions:
    """Arrays over the mentions of a document.

    Attributes
    ----------
    kind, group, number, gender, role, preposition : positions in KINDS, GROUPS, …
    sentence, start, end, head, governor : of the span; governor is the token that the head depends on, −1 for none.
    relation : the dependency of the head, as a string; copular : whether the head is a predicate with a copula.
    speaker : of the head, as a string.
    text, head_word : numbers; equal ones are equal strings. The text is without articles and possessive endings, the
        head word is the lemma of the head, or of the last part of a name.
    words, names, heads : incidence of content words around the head, of those that are proper names, and of the head
        word (mentions × all words).
    name_text, last_name : the concatenated words of a name, as speakers are written, and the last of them.
    speakers, speaker_number : all speakers of the document, and the number of the speaker of each mention.
    initials, capitals : the initials of a name of two words or more, the letters of a word in capitals; or empty.
    """

    def __init__(self, document: Document) -> None:
        d = self.document = document
        heads = self.head = np.array(d.heads, np.int64)
        self.start, self.end = np.array(d.starts, np.int64), np.array(d.ends, np.int64)
        self.sentence, self.governor = np.array(d.sent, np.int64)[heads], np.array(d.head, np.int64)[heads]
        self.relation, self.speaker = (np.array(column, object)[heads] for column in (d.deprel, d.speaker))
        self.speakers = sorted(set(self.speaker))
        self.speaker_number = np.array([self.speakers.index(name) for name in self.speaker], np.int64)
        self.copular = np.isin(heads, [g for g, r in zip(d.head, d.deprel, strict=True) if r == "cop"])
        self.role = np.array([_ROLE_OF.get(r, len(ROLES) - 1) for r in self.relation], np.int64)
        self.preposition = np.array([self._preposition(h) for h in d.heads], np.int64)
        core = [self._core(k) for k in range(len(heads))]
        kinds = [self._kind(k) for k in range(len(heads))]
        self.kind = np.array([KINDS.index(kind) for kind in kinds], np.int64)
        self.group = np.array(_GROUP_OF, np.int64)[self.kind]
        self.number = np.array([_number(d.feats[h]) for h in d.heads], np.int64)
        self.gender = np.array([self._gender(kind, c) for kind, c in zip(kinds, core, strict=True)], np.int64)
        self.text = _numbered(self._text(k) for k in range(len(heads)))
        head_words = [self._head_word(h, c) for h, c in zip(d.heads, core, strict=True)]
        self.head_word = _numbered(head_words)
        self._set_words(core, head_words)

    def __len__(self) -> int:
        return len(self.head)

    def _set_words(self, core: list[list[int]], head_words: list[str]) -> None:
        d = self.document
        content = [[t for t in tokens if d.upos[t] in _CONTENT] for tokens in core]
        names = [[t for t in tokens if d.upos[t] == "PROPN"] for tokens in core]
        lemmas = [[[d.lemma[t].lower() for t in tokens] for tokens in part] for part in (content, names)]
        self.words, self.names, self.heads = _incidences(*lemmas, [[word] for word in head_words])
        self.name_text = np.array(["".join(d.form[t].lower() for t in part) for part in names], object)
        self.last_name = np.array([d.form[part[-1]].lower() if part else "" for part in names], object)
        capitals = [[d.form[t][0] for t in part if d.form[t][0].isupper()] for part in content]
        self.initials = np.array(["".join(c) if len(c) > 1 else "" for c in capitals], object)
        letters = [d.form[c[0]].replace(".", "") if len(c) == 1 else "" for c in content]
        self.capitals = np.array([t if len(t) > 1 and t.isupper() else "" for t in letters], object)

    def _core(self, k: int) -> list[int]:
        """Return the head and its dependents within the span: parts of names, compounds, adjectives, numbers."""
        d, head = self.document, self.document.heads[k]
        near = {head}
        for _ in range(2):
            near |= {
                t
                for t in range(d.starts[k], d.ends[k] + 1)
                if d.head[t] in near and d.deprel[t].partition(":")[0] in _CORE
            }
        return sorted(near)

    def _kind(self, k: int) -> str:
        d, head, first = self.document, self.document.heads[k], self.document.starts[k]
        upos, lemma = d.upos[head], d.lemma[head].lower()
        if upos == "PRON" or (upos == "DET" and first == d.ends[k]):
            return _PRONOUNS.get(lemma, "pronoun")
        if lemma in _TIMES:
            return "time"
        if upos in ("NUM", "SYM"):
            return "number"
        if upos == "PROPN":
            return "name"
        if upos in ("VERB", "ADV", "AUX", "PART", "PUNCT"):
            return "clause"
        determiner = d.lemma[first].lower()
        if determiner == "the":
            return "definite"
        if determiner in _DETERMINERS and determiner not in _INDEFINITE:
            return "demonstrative"
        if any(d.head[t] == head and d.deprel[t] == "nmod:poss" for t in range(first, head)):
            return "possessive"
        return "indefinite" if determiner in _INDEFINITE else "bare"

    def _gender(self, kind: str, core: list[int]) -> int:
        d = self.document
        if kind in _PRONOUN_GENDER:
            return GENDERS.index(_PRONOUN_GENDER[kind])
        if kind in ("time", "number", "clause"):
            return GENDERS.index("thing")
        lemmas = {d.lemma[t].lower() for t in core}
        for gender, words in (("male", _MALE), ("female", _FEMALE), ("person", _PERSONS)):
            if lemmas & words:
                return GENDERS.index(gender)
        return 0

    def _preposition(self, head: int) -> int:
        d = self.document
        for t in range(head - 1, max(head - 8, -1), -1):
            if d.head[t] == head and d.deprel[t] == "case":
                lemma = d.lemma[t].lower()
                return PREPOSITIONS.index(lemma if lemma in PREPOSITIONS[1:-1] else "other")
        return 0

    def _text(self, k: int) -> str:
        d = self.document
        words = [form.lower() for form in d.form[d.starts[k] : d.ends[k] + 1]]
        while len(words) > 1 and words[0] in _DETERMINERS:
            words.pop(0)
        while len(words) > 1 and words[-1] in ("'s", "’s", "'", "’"):
            words.pop()
        return " ".join(words)

    def _head_word(self, head: int, core: list[int]) -> str:
        d = self.document
        parts = [t for t in core if d.upos[t] == "PROPN"] if d.upos[head] == "PROPN" else [head]
        return d.lemma[parts[-1]].lower()


def _number(feats: str) -> int:
    if "Number=Sing" in feats:
        return 1
    return 2 if "Number=Plur" in feats or "Number=Ptan" in feats else 0


def _numbered(strings: Iterable[str]) -> IntArray:
    known: dict[str, int] = {}
    return np.array([known.setdefault(s, len(known)) for s in strings], np.int64)


def _incidences(*parts: list[list[str]]) -> list[sp.csr_array]:
    """Return a table mentions × words for each part: 1 if the mention has the word. All have the same columns."""
    words = sorted({word for part in parts for own in part for word in own})
    column = {word: k for k, word in enumerate(words)}
    tables = []
    for part in parts:
        columns = [sorted({column[word] for word in own}) for own in part]
        indptr = np.cumsum([0, *map(len, columns)])
        indices = np.array([k for own in columns for k in own], np.int64)
        tables.append(sp.csr_array((np.ones(len(indices), np.int32), indices, indptr), shape=(len(part), len(words))))
    return tables
