"""Noun-phrase coreference on GUM (Zeldes 2017): documents with their mentions, features of pairs, and clusters."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import scipy.sparse as sp

from benchmarks.data.mention_pairs import mention_pair_features, mention_pair_names
from benchmarks.data.mentions import Document
from maxmargin.datasets.real import data_folder

_SPLITS = ("split60", "gum_split")


class Coreference(NamedTuple):
    """Documents in the form of `Forest`.

    Attributes
    ----------
    X : features of the pairs of mentions i < j of each document, condensed, in CSR.
    Y : the cluster of each mention.
    documents : the names of the documents.
    mentions : the text of each mention.
    feature_names : the name of each column of X.
    """

    X: list[sp.csr_array]
    Y: list[list[int]]
    documents: list[str]
    mentions: list[list[str]]
    feature_names: list[str]


def load_coref_gum(part: str = "train", split: str = "split60") -> Coreference:
    """Return the mentions of GUM with features of their pairs (`benchmarks.data.mention_pairs`) and their clusters.

    Features are made from words, tags, trees and speakers. Annotations of coreference are never used as features:
    clusters, links, information status, minimal spans and entity types.

    Parameters
    ----------
    part : ``"train"`` or ``"test"``, of ``"gum_split"`` also ``"dev"``; ``"all"`` for all three.
    split : ``"split60"`` (30 + 30 documents, as in Yu and Joachims 2009) or ``"gum_split"`` (that of the corpus).
    """
    folder = data_folder("coref_gum")
    wanted = _documents(folder, part, split)
    tokens, mentions = (_by_document(folder / f"{table}.tsv.gz") for table in ("tokens", "mentions"))
    X = [mention_pair_features(_document(name, tokens[name], mentions[name])) for name in wanted]
    Y = [[int(row["cluster"]) for row in mentions[name]] for name in wanted]
    texts = [[row["text"] for row in mentions[name]] for name in wanted]
    return Coreference(X, Y, wanted, texts, mention_pair_names())


def _documents(folder: Path, part: str, split: str) -> list[str]:
    if split not in _SPLITS:
        raise ValueError(f"split must be one of {', '.join(map(repr, _SPLITS))}, found {split!r}")
    rows = _rows(folder / "docs.tsv")
    parts = sorted({row[split] for row in rows} - {"-"})
    if part not in (*parts, "all"):
        raise ValueError(f"part of {split} must be 'all', {' or '.join(map(repr, parts))}, found {part!r}")
    return [row["doc"] for row in rows if row[split] == part or (part == "all" and row[split] != "-")]


def _rows(path: Path) -> list[dict[str, str]]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _by_document(path: Path) -> dict[str, list[dict[str, str]]]:
    documents: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in _rows(path):
        documents[row["doc"]].append(row)
    return documents


def _document(name: str, tokens: list[dict[str, str]], mentions: list[dict[str, str]]) -> Document:
    """Return the document with the columns that are not annotations of coreference."""
    form, lemma, upos, feats, deprel, speaker = ([row[c] for row in tokens] for c in _TEXT_COLUMNS)
    sent, head = ([int(row[c]) for row in tokens] for c in ("sent", "head"))
    starts, ends, heads = ([int(row[c]) for row in mentions] for c in ("start", "end", "head"))
    return Document(name, sent, form, lemma, upos, feats, head, deprel, speaker, starts, ends, heads)


_TEXT_COLUMNS = ("form", "lemma", "upos", "feats", "deprel", "speaker")
