"""Alignments as pairs of strings with gaps, and as codes: the partner of each position of the first sequence.

The code of an alignment of n and m positions is n + 2 numbers: the order of the gaps before the first match and of
those after the last match (0: positions of the first sequence come first), then the partner of each position of the
first sequence, −1 if it has none. Between two matches, positions of the first sequence always come first: the order of
columns with a gap has no meaning there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import CodeArray, IntArray
from maxmargin.features.biology.alphabet import letters_of
from maxmargin.features.biology.annotated import SIDES

GAP = "-"
#: Gaps of other formats: Pfam has dots in columns of insertions.
_OTHER_GAPS = str.maketrans(".", GAP)
#: The mark of reliable columns, and all marks of a third string: others, gaps, and those of structural aligners.
RELIABLE, MARKS = "*", "*.-: "
#: Symbols of a code before the partners: the orders at the start and at the end.
N_ORDERS = 2
#: The order in which positions of the second sequence come first.
SECOND_FIRST = 1


def aligned_pair(y: Any, where: Where) -> tuple[str, str]:
    """Return an alignment as two strings of equal length; raise an error if it is not one.

    Gaps are ``-``; dots are read as gaps. Columns with gaps in both sequences, which two rows of a multiple alignment
    have, are left out. A third string may mark reliable columns with ``*``; letters of other columns become lower-case.
    """
    if hasattr(y, "coordinates") and hasattr(y, "sequences"):
        return _from_biopython(y, where)
    rows = [letters_of(row) for row in y] if _is_pair(y) else []
    if len(rows) not in (2, 3) or not all(isinstance(row, str) for row in rows):
        raise error_at(where, f"expected a pair of aligned strings, found {type(y).__name__} {y!r:.60}")
    if len(rows) == 3:
        rows = _marked(rows, where)
    first, second = (row.translate(_OTHER_GAPS) for row in rows)
    if len(first) != len(second):
        raise error_at(where, f"aligned strings of lengths {len(first)} and {len(second)}; expected equal lengths")
    if GAP in first and GAP in second:
        columns = [(a, b) for a, b in zip(first, second, strict=True) if not a == b == GAP]
        first, second = ("".join(column[side] for column in columns) for side in range(2))
    return first, second


def without_gaps(row: str) -> str:
    """Return the letters of an aligned string."""
    return row.translate(_OTHER_GAPS).replace(GAP, "")


def _is_pair(y: Any) -> bool:
    return not isinstance(y, str) and (is_list(y) or hasattr(y, "__len__")) and len(y) in (2, 3)


def _marked(rows: list[str], where: Where) -> list[str]:
    """Return two aligned strings with lower-case letters in the columns that a third string does not mark."""
    *pair, marks = rows
    other = set(marks) - set(MARKS)
    if other or any(len(row) != len(marks) for row in pair):
        fault = f"found {min(other)!r} in it" if other else f"found lengths {', '.join(str(len(row)) for row in rows)}"
        raise error_at(
            where, f"expected a pair of aligned strings, or a third that marks reliable columns with '*', {fault}"
        )
    return ["".join(a.upper() if mark == RELIABLE else a.lower() for a, mark in zip(row, marks, strict=True))
            for row in pair]  # fmt: skip


def core_of_code(code: CodeArray, first: str, second: str) -> CodeArray:
    """Return the code of an alignment without the matches in unreliable columns, which have a lower-case letter."""
    core, p = code.copy(), 0
    for a, b in zip(first, second, strict=True):
        if a != GAP != b and (a.islower() or b.islower()):
            core[N_ORDERS + p] = -1
        p += a != GAP
    return core


def _from_biopython(alignment: Any, where: Where) -> tuple[str, str]:
    """Return the aligned strings of an Alignment of Biopython, with unaligned ends, which it leaves out."""
    if len(alignment.sequences) != 2:
        raise error_at(where, f"expected an alignment of two sequences, found {len(alignment.sequences)}")
    texts = [str(getattr(s, "seq", s)) for s in alignment.sequences]
    (a0, a1), (b0, b1) = (coordinates[[0, -1]].tolist() for coordinates in alignment.coordinates)
    if a1 < a0 or b1 < b0:
        raise error_at(where, "an alignment with the reverse strand; expected both sequences in forward direction")
    core = [str(alignment[k]) for k in range(2)]
    first, second = texts
    before = first[:a0] + GAP * b0, GAP * a0 + second[:b0]
    after = first[a1:] + GAP * (len(second) - b1), GAP * (len(first) - a1) + second[b1:]
    return before[0] + core[0] + after[0], before[1] + core[1] + after[1]


def empty_code(n: int) -> CodeArray:
    """Return the code of an alignment without matches."""
    code = np.full(N_ORDERS + n, -1, np.int32)
    code[:N_ORDERS] = 0
    return code


def code_of_strings(first: str, second: str, ordered: bool) -> CodeArray:
    """Return the code of an alignment; the orders of gaps at the ends are 0 unless `ordered` (semi-global)."""
    a, b = (np.frombuffer(row.encode("utf-32-le"), np.uint32) != ord(GAP) for row in (first, second))
    both = np.flatnonzero(a & b)
    rows, cols = np.cumsum(a) - 1, np.cumsum(b) - 1
    code = empty_code(int(a.sum()))
    code[N_ORDERS + rows[both]] = cols[both]
    if ordered and len(both):
        start, end = int(both[0]), int(both[-1])
        code[0] = bool(a[:start].any() and b[:start].any() and not a[0])
        code[1] = bool(a[end + 1 :].any() and b[end + 1 :].any() and not b[-1])
    return code


def strings_of_code(code: CodeArray, first: str, second: str) -> tuple[str, str]:
    """Return the aligned strings of a code."""
    n, m, partners = len(first), len(second), code[N_ORDERS:]
    rows = np.flatnonzero(partners >= 0)
    cols, n_matches = partners[rows].astype(np.int64), len(rows)
    # the column of a position is its number plus that of the unmatched positions of the other sequence before it
    before = np.searchsorted(rows, np.arange(n))
    above = np.arange(n) + np.concatenate([[0], cols + 1])[before] - before
    above[rows] = rows + cols - np.arange(n_matches)
    before = np.searchsorted(cols, np.arange(m))
    below = np.arange(m) + np.concatenate([rows, [n]])[before] - before
    if n_matches and code[0] == SECOND_FIRST:
        above[: rows[0]] += cols[0]
        below[: cols[0]] -= rows[0]
    if n_matches and code[1] == SECOND_FIRST:
        above[rows[-1] + 1 :] += m - 1 - cols[-1]
        below[cols[-1] + 1 :] -= n - 1 - rows[-1]
    return tuple(_spread(text, at, n + m - n_matches) for text, at in ((first, above), (second, below)))  # type: ignore[return-value]


def _spread(text: str, columns: IntArray, length: int) -> str:
    """Return a string of gaps with these letters in these columns."""
    points = np.full(length, ord(GAP), np.uint32)
    points[columns] = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def check_spelling(first: str, second: str, x: tuple[str, str], where: Where) -> None:
    """Raise an error unless the columns of an alignment spell its sequences."""
    for row, text, side in zip((first, second), x, SIDES, strict=True):
        spelt = row.replace(GAP, "")
        if spelt == text or spelt.upper() == text.upper():
            continue
        if len(spelt) != len(text):
            raise error_at(where, f"the alignment has {len(spelt)} letters of the {side}, which has {len(text)}")
        at = next(k for k, (a, b) in enumerate(zip(spelt, text, strict=True)) if a.upper() != b.upper())
        raise error_at(
            where, f"the alignment has {spelt[at]!r} as letter {at} of the {side}, which has {text[at]!r} there"
        )


def placed_region(first: str, second: str, x: tuple[str, str], where: Where) -> tuple[str, str]:
    """Return an alignment of parts of the sequences (local mode) with the rest of them, unaligned, at both ends."""
    spelt, starts = [row.replace(GAP, "") for row in (first, second)], []
    if all(len(part) == len(text) for part, text in zip(spelt, x, strict=True)):
        return first, second
    if not any(spelt):  # nothing is aligned
        return x[0] + GAP * len(x[1]), GAP * len(x[0]) + x[1]
    for part, text, side in zip(spelt, x, SIDES, strict=True):
        at = text.upper().find(part.upper())
        if at < 0:
            raise error_at(where, f"the aligned part {part!r:.40} does not occur in the {side}")
        if text.upper().find(part.upper(), at + 1) >= 0:
            raise error_at(
                where, f"the aligned part {part!r:.40} occurs more than once in the {side}; pass the whole sequences, "
                f"with unaligned ends opposite gaps",
            )  # fmt: skip
        starts.append(at)
    (a, b), (n, m) = starts, (len(spelt[0]), len(spelt[1]))
    before = x[0][:a] + GAP * b, GAP * a + x[1][:b]
    after = x[0][a + n :] + GAP * (len(x[1]) - b - m), GAP * (len(x[0]) - a - n) + x[1][b + m :]
    return before[0] + first + after[0], before[1] + second + after[1]
