"""Queries whose results have subtopics: AMBIENT, and Reuters-21578 with countries as subtopics."""

from __future__ import annotations

import gzip
from typing import Any, NamedTuple

from maxmargin.datasets.real import data_folder


class Results(NamedTuple):
    """Results of queries.

    Attributes
    ----------
    queries : list of str
        The text of each query.
    X : list of list of str
        The texts of its results.
    Y : list of list of set
        The subtopics of each result; none is empty.
    names : list of list of str
        The name of each result.
    """

    queries: list[str]
    X: list[list[str]]
    Y: list[list[set[str]]]
    names: list[list[str]]


def load_ambient() -> Results:
    """Return the 44 queries of AMBIENT, with those of their 100 results that have a subtopic, in the engine's order."""
    subtopics: dict[str, set[str]] = {}
    for subtopic, result in _table("diversity_ambient", "STRel"):
        subtopics.setdefault(result, set()).add(subtopic)
    rows = [
        (row[0].split(".")[0], row[0], " ".join(row[2:]), subtopics[row[0]])
        for row in _table("diversity_ambient", "results")
        if row[0] in subtopics
    ]
    titles = {row[0]: row[1] for row in _table("diversity_ambient", "topics")}
    return _by_query(rows, titles)


def load_reuters_places() -> Results:
    """Return 45 topics of Reuters-21578 as queries, their articles as results and the countries as subtopics."""
    texts = {row[0]: f"{row[8]} {row[9]}" for row in _table("reuters", "reuters21578", "tsv")}
    rows = [
        (query, name, texts[name], set(places.split("|")))
        for query, name, places in _table("diversity_reuters_places", "queries", "tsv")
    ]
    return _by_query(rows, {row[0]: row[0] for row in rows})


def load_reuters_topics(least: int = 15, most: int = 150) -> tuple[list[list[str]], list[list[set[str]]]]:
    """Return the texts of countries of Reuters-21578, and the topics of each as subtopics.

    Articles that `load_reuters_places` has are left out, and of each country the first `most` of the others are used.
    A country has at least `least` articles and six topics.
    """
    elsewhere = {row[1] for row in _table("diversity_reuters_places", "queries", "tsv")}
    found: dict[str, list[tuple[str, set[str]]]] = {}
    for row in _table("reuters", "reuters21578", "tsv"):
        for country in row[4].split("|"):
            if country and row[3] and row[0] not in elsewhere:
                found.setdefault(country, []).append((f"{row[8]} {row[9]}", set(row[3].split("|"))))
    kept = [articles[:most] for _, articles in sorted(found.items()) if len(articles) >= least]
    kept = [articles for articles in kept if len(set().union(*(topics for _, topics in articles))) >= 6]
    return [[text for text, _ in articles] for articles in kept], [
        [topics for _, topics in articles] for articles in kept
    ]


def _by_query(rows: list[tuple[str, str, str, set[str]]], titles: dict[str, str]) -> Results:
    found: dict[str, Any] = {}
    for query, name, text, subtopics in rows:
        X, Y, names = found.setdefault(query, ([], [], []))
        X.append(text)
        Y.append(subtopics)
        names.append(name)
    X, Y, names = (list(column) for column in zip(*found.values(), strict=True))
    return Results([titles[query] for query in found], X, Y, names)


def _table(folder: str, name: str, ending: str = "txt") -> list[list[str]]:
    """Return the rows of a file with a header."""
    with gzip.open(data_folder(folder) / f"{name}.{ending}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\r\n").split("\t") for line in file][1:]
