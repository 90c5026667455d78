"""Files of TREC's evaluations: runs (``QUERY Q0 DOCUMENT RANK SCORE TAG``) and judgements (qrels)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin._base.input import indexable
from maxmargin.formats.fasta import numbered_lines
from maxmargin.formats.streams import FormatError, Source, write_text
from maxmargin.metrics.queries import checked_groups, rows_by_query


def write_trec_run(target: Source, groups: Any, documents: Any, scores: Any, *, tag: str = "maxmargin") -> None:
    """Write a ranking of the documents of each query, as trec_eval and similar programs read it.

    A document has a line ``QUERY Q0 DOCUMENT RANK SCORE TAG``; the documents of a query are in the order of their
    scores, ties in the order of rows. Scores have all their digits. trec_eval orders documents by the scores and not by
    the ranks, and documents of equal scores by their names.

    Parameters
    ----------
    target : str or path-like
        The file; ``"-"`` for standard output.
    groups : sequence of length n
        Query of each row.
    documents : sequence of length n
        Name of each row.
    scores : array-like of shape (n,)
        Score of each row, as `predict` of a ranker returns it.
    tag : str, default="maxmargin"
        Name of the run.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.txt"
    ...     mm.formats.write_trec_run(path, ["q1", "q1"], ["A", "B"], [0.25, 1.5])
    ...     print(path.read_text(), end="")
    q1 Q0 B 1 1.5 maxmargin
    q1 Q0 A 2 0.25 maxmargin
    """
    with write_text(target) as file:
        file.writelines(run_lines(groups, documents, scores, tag))


def run_lines(groups: Any, documents: Any, scores: Any, tag: str = "maxmargin") -> Iterator[str]:
    """Yield the lines of a run, as `write_trec_run` writes them."""
    groups, documents, scores = checked_groups(groups), indexable(documents, "documents"), np.asarray(scores, float)
    if scores.shape != (len(groups),) or len(documents) != len(groups):
        raise ValueError(f"{len(groups)} groups, {len(documents)} documents and scores of shape {scores.shape} differ")
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise ValueError(f"scores[{wrong[0]}]: expected a finite number, found {scores[wrong[0]]}")
    tag = _word(tag, "tag")
    names, members = rows_by_query(groups)
    for name, rows in zip(names, members, strict=True):
        query = _word(name, f"groups[{rows[0]}]")
        for rank, row in enumerate(rows[np.argsort(-scores[rows], kind="stable")].tolist(), 1):
            document = _word(documents[row], f"documents[{row}]")
            yield (f"{query} Q0 {document} {rank} {float(scores[row])!r} {tag}\n")


def read_trec_qrels(source: Source) -> dict[str, dict[str, int]]:
    r"""Read relevance judgements: lines ``QUERY ITERATION DOCUMENT RELEVANCE``.

    Parameters
    ----------
    source : str or path-like
        The file, gzip or not; ``"-"`` for standard input.

    Returns
    -------
    dict of dict
        The relevance of documents by query and document, in the order of the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "qrels.txt"
    ...     _ = path.write_text("301 0 FR940202-2-00150 1\n301 0 FT921-1 0\n")
    ...     mm.formats.read_trec_qrels(path)
    {'301': {'FR940202-2-00150': 1, 'FT921-1': 0}}
    """
    judgements: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(source):
        fields = line.split()
        if len(fields) != 4 or not fields[3].lstrip("+-").isdecimal():
            raise FormatError(source, number, f"expected QUERY ITERATION DOCUMENT RELEVANCE, found {line!r:.60}")
        query, _, document, relevance = fields
        judged = judgements.setdefault(query, {})
        if judged.get(document, int(relevance)) != int(relevance):
            what = f"document {document!r:.60} of query {query!r:.60}"
            raise FormatError(source, number, f"{what} has two judgements, {judged[document]} and {relevance}")
        judged[document] = int(relevance)
    if not judgements:
        raise FormatError(source, None, "no judgements: expected lines of QUERY ITERATION DOCUMENT RELEVANCE")
    return judgements


def _word(value: Any, where: str) -> str:
    """Return a name as one word; raise ValueError if it has spaces, which separate columns."""
    text = str(value)
    if not text or any(letter.isspace() for letter in text):
        raise ValueError(f"{where}: expected a name without spaces, found {value!r:.60}")
    return text
