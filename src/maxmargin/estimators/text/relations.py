"""Relations of words to their heads: a chain over the words of a sentence, given its tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.checks import stored_array, stored_names
from maxmargin._base.errors import Place, error_at
from maxmargin._base.types import FloatArray
from maxmargin.core.structure import Structure
from maxmargin.estimators.structural import StructuralSVM
from maxmargin.features.text.sentences import Sentence, read_sentence
from maxmargin.features.text.templates import TokenTemplates
from maxmargin.structures.chain.structure import Chain

#: Distances between a word and its head up to which each has a class of its own.
_NEAR = 4
_ROOT = "<root>"
#: Trade-off of the chain, the default of taggers.
_C = 0.3

Row = tuple[str, ...]


def relations_of(x: Any, i: int) -> list[str]:
    """Return the relations that the rows of the i-th sentence have; raise ExampleError if one is missing."""
    relations = read_sentence(x, Place("X", i), ("deprel",)).columns.get("deprel")
    if relations is None:
        raise error_at(
            Place("X", i), "no relations: give rows with a deprel each, or Y with (head, relation) for each word"
        )
    return checked_relations(relations, "X", i)


def checked_relations(relations: Sequence[Any], name: str, i: int) -> list[str]:
    """Return relations; raise ExampleError for the first that is not a string."""
    for m, relation in enumerate(relations, 1):
        if not isinstance(relation, str) or not relation:
            raise error_at(Place(name, i, f", word {m}"), f"expected a relation, a string, found {relation!r:.60}")
    return [str(relation) for relation in relations]


def learn_relations(
    X: Sequence[Any], heads: Sequence[Any], relations: Sequence[list[str]], tags: Sequence[str], weights: FloatArray,
    seen_pairs: bool, **limits: Any,
) -> tuple[Structure, FloatArray]:  # fmt: skip
    """Return a fitted chain of relations and its weights."""
    templates = TokenTemplates(window=1, affixes=3)
    model = StructuralSVM(Chain(templates=templates, seen_pairs=seen_pairs), C=_C, tol=1e-2, **limits)
    model.fit(_columns(X, heads, tags), list(relations), weights)
    return model.structure_, model.coef_


def predict_relations(
    structure: Any, w: FloatArray, X: Sequence[Any], heads: Sequence[Any], tags: Sequence[str], n_jobs: int | None
) -> list[list[str]]:
    """Return the relation of each word to its head."""
    model = StructuralSVM(structure, n_jobs=n_jobs)
    model.structure_, model.coef_ = structure, w
    return [[str(relation) for relation in row] for row in model.predict(_columns(X, heads, tags))]


def check_relations(structure: Any, weights: Any, tags: Sequence[str]) -> None:
    """Raise ValueError unless a model file has a chain of relations with its weights."""
    if type(structure) is not Chain or structure.size is None or structure.templates is None:
        raise ValueError(f"relation_structure_ must be a fitted Chain of columns, found {structure!r:.60}")
    stored_array(weights, "relation_coef_", np.float64, (structure.size,))
    n_columns, expected = getattr(structure.tokens_, "n_columns", None), len(_column_names(tags))
    if n_columns != expected:
        raise ValueError(f"the chain of relations has {n_columns} columns, expected {expected}")
    stored_names(structure.labels_.values, "relations")


def _column_names(tags: Sequence[str]) -> list[str]:
    """Return what the columns of `_rows` mean."""
    coarse = tags[0] if tags else "lower"
    return [
        "form", *tags, "arc", "head form", *(f"{tag}, head {tag}, side" for tag in tags), f"{coarse}, head form",
        f"form, head {coarse}", "form, head form", f"{coarse}, head {coarse}, {coarse} of its head",
        f"{coarse}, children",
    ]  # fmt: skip


def readable_feature(name: str, tags: Sequence[str]) -> str:
    """Return the name of a feature of the chain with what its columns mean."""
    columns = _column_names(tags)
    return re.sub(r"column(\d+)=", lambda match: f"{columns[int(match[1])]}=", name, count=1)


def _columns(X: Sequence[Any], heads: Sequence[Any], tags: Sequence[str]) -> list[list[Row]]:
    """Return what the chain sees of each word: the word, its head, and how they lie to each other."""
    sentences = [read_sentence(x, Place("X", i), tags) for i, x in enumerate(X)]
    return [_rows(sentence, np.asarray(y).tolist(), tags) for sentence, y in zip(sentences, heads, strict=True)]


def _rows(sentence: Sentence, heads: list[int], tags: Sequence[str]) -> list[Row]:
    forms = [_ROOT, *sentence.columns["form"]]
    lower = [form.lower() for form in forms]
    tagged = [[_ROOT, *("_" if tag is None else str(tag) for tag in sentence.columns.get(name, ()))] for name in tags]
    coarse = tagged[0] if tagged else lower
    children = [0] * len(forms)
    for head in heads:
        children[head] += 1
    rows = []
    for m, h in enumerate(heads, 1):
        place = f"{'left' if m < h else 'right'} {min(abs(h - m), _NEAR + 1)}" if h else _ROOT
        side = place.split(" ")[0]
        rows.append((
            forms[m],
            *(tag[m] for tag in tagged),
            place,
            lower[h],
            *(f"{tag[m]} {tag[h]} {side}" for tag in tagged),
            f"{coarse[m]} {lower[h]}",
            f"{lower[m]} {coarse[h]}",
            f"{lower[m]} {lower[h]}",
            f"{coarse[m]} {coarse[h]} {coarse[heads[h - 1]] if h else _ROOT}",
            f"{coarse[m]} {min(children[m], 3)}",
        ))  # fmt: skip
    return rows
