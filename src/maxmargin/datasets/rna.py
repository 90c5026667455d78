"""Generated sequences of RNA with their secondary structures."""

from __future__ import annotations

import numpy as np

from maxmargin._base.checks import whole_number

_PAIRS, _SHARES = ("GC", "CG", "AU", "UA", "GU", "UG"), (0.3, 0.3, 0.15, 0.15, 0.05, 0.05)
#: Unpaired bases are mostly A, as in hairpins of real RNA.
_BASES, _UNPAIRED = ("A", "C", "G", "U"), (0.7, 0.1, 0.1, 0.1)


def make_rna(n: int = 50, *, n_helices: int = 3, random_state: int = 0) -> tuple[list[str], list[str]]:
    r"""Generate sequences of RNA with a structure of helices, bulges, interior loops and multi-loops.

    Paired bases are complementary and mostly G and C, unpaired bases mostly A; nothing else ensures that the structure
    given is the best one.

    Parameters
    ----------
    n : int, default=50
        Number of sequences.
    n_helices : int, default=3
        Maximum number of helices in a sequence; each has 3 to 6 pairs.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : list of str
        Sequences.
    Y : list of str
        Their structures in dot-bracket notation.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_rna(2, n_helices=1, random_state=0)
    >>> print(X[0], Y[0], sep="\n")
    AAAGCGGGUACAUCCCGAAAA
    ....((((.....))))....
    """
    n_helices = whole_number(n_helices, "n_helices")
    rng = np.random.default_rng(random_state)
    pairs = [_helices(rng, int(rng.integers(1, n_helices + 1))) for _ in range(n)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _helices(rng: np.random.Generator, count: int) -> tuple[str, str]:
    """Return bases with this number of helices and unpaired ends."""
    x, y = _loop(rng, 1, 4)
    while count > 0:
        inside = int(rng.integers(count))
        helix, after = _helix(rng, inside), _loop(rng, 1, 4)
        x, y = x + helix[0] + after[0], y + helix[1] + after[1]
        count -= inside + 1
    return x, y


def _helix(rng: np.random.Generator, inside: int) -> tuple[str, str]:
    """Return a helix around a hairpin, or around this number of helices."""
    x, y = _loop(rng, 3, 6) if inside == 0 else _helices(rng, inside)
    for k in range(int(rng.integers(3, 7))):
        if k and rng.random() < 0.1:
            left, right = (_loop(rng, 0, 2) for _ in range(2))
            x, y = left[0] + x + right[0], left[1] + y + right[1]
        first, last = rng.choice(_PAIRS, p=_SHARES)
        x, y = f"{first}{x}{last}", f"({y})"
    return x, y


def _loop(rng: np.random.Generator, low: int, high: int) -> tuple[str, str]:
    n = int(rng.integers(low, high + 1))
    return "".join(rng.choice(_BASES, n, p=_UNPAIRED)), "." * n
