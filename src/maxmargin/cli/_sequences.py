"""Sequences of bases and amino acids: structures of RNA, alignments, motifs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from maxmargin.cli._examples import Examples, Request, TaskScores
from maxmargin.features.biology.aligned import without_gaps
from maxmargin.formats.dot_bracket import FoldedSequence, record_text
from maxmargin.formats.fasta import FastaRecord, read_aligned_fasta, read_fasta, sequence_lines
from maxmargin.formats.stockholm import read_stockholm
from maxmargin.formats.streams import FormatError, first_bytes
from maxmargin.formats.structures import FASTA, STOCKHOLM, read_structures, suffix_of
from maxmargin.metrics import base_pair_scores

#: A line of a structure in dot-bracket notation, with an energy or without.
_STRUCTURE = re.compile(r"[.()\[\]{}<>]+(\s.*)?")


# ---------------------------------------------------------------------- structures of RNA


def read_folded(model: Any, source: str, request: Request) -> Examples:
    """Return sequences with their structures; the families of a Stockholm file are groups."""
    stockholm = _is_stockholm(source)
    records = (read_stockholm if stockholm else read_structures)(source)
    families = [record.description for record in records] if stockholm else None
    size = f"{len(records)} sequences, {sum(len(record.sequence) for record in records)} bases"
    Y = [record.structure for record in records]
    names = [record.name for record in records]
    return Examples(source, [record.sequence for record in records], Y, size, families, names=names, records=records)


def sequence_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the sequences of a file at once: FASTA, or any format of structures, which are not used."""
    reader: Callable[[str], list[Any]] = read_stockholm if _is_stockholm(source) else read_structures
    if suffix_of(source) in FASTA or not (suffix_of(source) in _NAMED or _has_structures(source)):
        reader = read_fasta
    records = reader(source)
    names = [record.name for record in records]
    yield Examples(source, [record.sequence for record in records], names=names, records=records)


def write_folded(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the sequences with their predicted structures in dot-bracket notation."""
    with examples.located():
        structures = model.predict(examples.X)
    for record, structure in zip(examples.records, structures, strict=True):
        yield record_text(FoldedSequence(record.name, record.sequence, structure, record.description))


def score_folded(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return F1, sensitivity and selectivity of base pairs."""
    scores = base_pair_scores(examples.Y, model.predict(examples.X))
    return TaskScores({
        "f1": float(scores.f1), "sensitivity": float(scores.sensitivity), "selectivity": float(scores.selectivity),
        "n_sequences": len(examples.Y),
    })  # fmt: skip


#: Suffixes of files with structures.
_NAMED = (".ct", ".bpseq", *STOCKHOLM)


def _is_stockholm(source: str) -> bool:
    return suffix_of(source) in STOCKHOLM or first_bytes(source).lstrip().startswith(b"# STOCKHOLM")


def _has_structures(source: str) -> bool:
    """Return whether the first lines of a file contain a structure, or the head of a Stockholm file."""
    lines = first_bytes(source).decode("utf-8", "replace").splitlines()
    return _is_stockholm(source) or any(_STRUCTURE.fullmatch(line.strip()) for line in lines)


# ---------------------------------------------------------------------- alignments


def read_aligned(model: Any, source: str, request: Request) -> Examples:
    """Return pairs of sequences with their alignments: records 1 and 2, 3 and 4, and so on."""
    X, Y = read_aligned_fasta(source)
    return Examples(source, X, Y, f"{len(X)} pairs of sequences")


def pair_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the pairs of a file at once; gaps are removed."""
    records = read_fasta(source)
    if len(records) % 2:
        raise FormatError(source, None, f"expected pairs of records, found {len(records)} records")
    pairs = list(zip(records[::2], records[1::2], strict=True))
    yield Examples(source, [(without_gaps(a.sequence), without_gaps(b.sequence)) for a, b in pairs], records=pairs)


def write_aligned(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the records with gaps."""
    for pair, aligned in zip(examples.records, model.predict(examples.X), strict=True):
        yield "".join(
            sequence_lines(record._replace(sequence=row)) for record, row in zip(pair, aligned[:2], strict=True)
        )


def score_aligned(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the recall of aligned positions, or the Q-score of a model with ``loss="q4"``."""
    name = "q_score" if model.loss == "q4" else "recall"
    return TaskScores({name: float(model.score(examples.X, examples.Y)), "n_pairs": len(examples.Y)})


# ---------------------------------------------------------------------- motifs

_LABEL = re.compile(r"(?:^|\s)label=(\S+)")
_SITE = re.compile(r"(?:^|\s)(label|site|strand)=\S+")


def read_labelled(model: Any, source: str, request: Request) -> Examples:
    """Return sequences with labels: ``label=1`` in titles; or positives, with a further file of negatives."""
    records = read_fasta(source)
    if "negatives" in request.files and request.training:
        others = read_fasta(request.files["negatives"])
        Y = ["1"] * len(records) + ["0"] * len(others)
        records = records + others
        source = f"{source} and {request.files['negatives']}"
    else:
        Y = [_label(source, i, record) for i, record in enumerate(records, 1)]
    names = [record.name for record in records]
    X = [record.sequence for record in records]
    return Examples(source, X, Y, f"{len(records)} sequences", names=names, records=records)


def labelled_inputs(model: Any, source: str, request: Request) -> Iterator[Examples]:
    """Yield the sequences of a file at once; labels are not used."""
    records = read_fasta(source)
    yield Examples(source, [record.sequence for record in records], records=records)


def write_sites(model: Any, examples: Examples, request: Request) -> Iterator[str]:
    """Yield the records with the label in the title and, of positive ones, the site (from 1) and its strand."""
    positive = model.classes_.tolist()[1]
    for record, site in zip(examples.records, model.sites(examples.X), strict=True):
        words = [_SITE.sub("", record.description).strip(), f"label={site.label}"]
        if site.label == positive:
            words += [f"site={site.position + 1}-{site.position + model.length}", f"strand={site.strand}"]
        yield sequence_lines(record._replace(description=" ".join(filter(None, words))))


def score_sites(model: Any, examples: Examples, request: Request) -> TaskScores:
    """Return the share of right labels."""
    right = [a == str(b) for a, b in zip(examples.Y, model.predict(examples.X).tolist(), strict=True)]
    return TaskScores({"accuracy": sum(right) / len(right), "n_sequences": len(right)})


def _label(source: str, number: int, record: FastaRecord) -> str:
    match = _LABEL.search(f"{record.name} {record.description}")
    if match is None:
        raise FormatError(
            source, None,
            f"record {number} ({record.name!r:.40}): expected label=0 or label=1 in the title (or, to train, a further "
            f"file of sequences without the motif: --negatives FILE)",
        )  # fmt: skip
    return match[1]
