"""Substitution matrices of aligners: as the parameter `prior`, and of learnt weights, also as integers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from maxmargin._base.checks import check_flag, declared, parameter, positive_number
from maxmargin._base.errors import callers_level
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.estimators.parameters import positive_or_auto
from maxmargin.estimators.starts import centre, check_prior
from maxmargin.formats.biopython import matrix_values, named_matrix
from maxmargin.structures.alignment.structure import AMINO_ACIDS

#: Scores of BLAST for BLOSUM62: 11 for the first position of a gap and 1 for the others; and the factor of all scores.
DEFAULTS = {"matrix": "BLOSUM62", "open": -11.0, "extend": -1.0, "scale": 0.1}
#: BLOSUM62 (Henikoff and Henikoff 1992): scores of the twenty amino acids in the order of their letters, in half-bits.
BLOSUM62 = """
4
0 9
-2 -3 6
-1 -4 2 5
-2 -2 -3 -3 6
0 -3 -1 -2 -3 6
-2 -3 -1 0 -1 -2 8
-1 -1 -3 -3 0 -4 -3 4
-1 -3 -1 1 -3 -2 -1 -3 5
-1 -1 -4 -3 0 -4 -3 2 -2 4
-1 -1 -3 -2 0 -3 -2 1 -1 2 5
-2 -3 1 0 -3 0 1 -3 0 -3 -2 6
-1 -3 -1 -1 -4 -2 -2 -3 -1 -3 -2 -2 7
-1 -3 0 2 -3 -2 0 -3 1 -2 0 0 -1 5
-1 -3 -2 0 -3 -2 0 -3 2 -2 -1 0 -2 1 5
1 -1 0 0 -2 0 -1 -2 0 -2 -1 1 -1 0 -1 4
0 -1 -1 -1 -2 -2 -2 -1 -1 -1 -1 0 -1 -1 -1 1 5
0 -1 -3 -2 -1 -3 -3 3 -2 1 1 -3 -2 -2 -3 -2 0 4
-3 -2 -4 -3 1 -2 -2 -3 -3 -2 -1 -4 -4 -2 -3 -3 -2 -3 11
-2 -2 -3 -2 3 -3 2 -1 -2 -1 -1 -2 -3 -1 -2 -2 -2 -1 2 7
"""
#: Frequencies of amino acids (Robinson and Robinson 1991), as BLAST has them.
FREQUENCIES = dict(
    zip("ACDEFGHIKLMNPQRSTVWY", (0.07805, 0.01925, 0.05364, 0.06295, 0.03856, 0.07377, 0.02199, 0.05142, 0.05744,
                                 0.09019, 0.02243, 0.04487, 0.05203, 0.04264, 0.05129, 0.07120, 0.05841, 0.06441,
                                 0.01330, 0.03216), strict=True)
)  # fmt: skip
#: The name of the prior that is learnt from the training pairs.
LOG_ODDS = "log-odds"


@declared
class AlignmentParameters:
    """Parameters of alignments that several estimators have."""

    gap_features: bool = parameter(
        "Whether weights of gaps depend on the position opposite the gap.", check_flag, default=False
    )
    window: int = parameter(
        'Greatest distance of neighbouring positions, for ``features="window"`` and ``"profile"``.', default=3
    )
    alphabet: str = parameter('The letters; ``"ACGT"`` for DNA.', default=AMINO_ACIDS)
    symmetric: Any = parameter(
        "Whether a pair of letters has the same weight in both orders, so swapping the sequences does "
        'not change the score of an alignment. ``"auto"``: if both sequences are of one kind; see '
        "`Alignment`.",
        default="auto",
        kind='bool or "auto"',
    )


class IntegerScores(NamedTuple):
    """Learnt scores as integers, for programs that take no others.

    Attributes
    ----------
    matrix : ndarray of int of shape (A, A)
        Scores of pairs of letters.
    letters : str
        The A letters; the last one is the unknown letter (X or N) if there is one.
    gap_open, gap_extend : int
        Scores of the first and of the other positions opposite a gap, at most 0 for most programs.
    scale : float
        The factor of the weights before they were rounded.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.alignments()
    >>> aligner = mm.PairwiseAligner(alphabet="ACGT", features="simple", prior=None, C=1.0).fit(X, Y)
    >>> scores = aligner.integer_scores()
    >>> scores.matrix.shape, scores.letters, scores.matrix.dtype.kind
    ((5, 5), 'ACGTN', 'i')
    """

    matrix: IntArray
    letters: str
    gap_open: int
    gap_extend: int
    scale: float


def letter_scores(structure: Any, weights: FloatArray) -> FloatArray:
    """Return the weights of pairs of letters; warn if matches have other weights besides."""
    positions = structure.positions_
    if len(positions.templates) > 1 or positions.products:
        warnings.warn(
            f"the matrix is a part of the model: matches also have weights of annotations or neighbouring positions "
            f"(features={structure.features!r}), so the matrix alone gives other alignments",
            UserWarning,
            stacklevel=callers_level(),
        )
    scores: FloatArray = structure.substitution_weights(weights)
    return scores


def scale_of(scores: FloatArray, letters: str, scale: Any) -> float:
    """Return the factor of scores: a number, or that of half-bits, 2 λ / ln 2."""
    if scale != "half-bits":
        return positive_number(scale, "scale")
    nats = nats_of(scores, letters)
    if nats is None:
        raise ValueError(
            "scale='half-bits' needs scores that are negative on average and positive for some pair, as those of local "
            "alignments are; pass a number, by which weights are multiplied before they are rounded"
        )
    return 2.0 * nats / float(np.log(2.0))


def nats_of(scores: FloatArray, letters: str) -> float | None:
    """Return λ, with which scores are log odds; None if they cannot be log odds.

    λ > 0 solves Σ p_a p_b exp(λ s_ab) = 1 for the frequencies p of letters (Karlin and Altschul 1990).
    """
    both, s = _by_chance(letters), scores[: len(letters), : len(letters)]
    if not (both * s).sum() < 0.0 < s.max(initial=0.0):
        return None
    unit = 1.0 / float(np.abs(s).max())

    def excess(x: float) -> float:
        return float(np.log((both * np.exp(x * (unit * s - top))).sum()) + x * top)

    top, high = unit * float(s.max()), 1.0
    while excess(high) <= 0.0:
        high *= 2.0
    low = high / 2.0
    while excess(low) >= 0.0:
        low /= 2.0
    return unit * float(brentq(excess, low, high))


def _by_chance(letters: str) -> FloatArray:
    """Return the frequencies of pairs of unrelated letters; those of letters that are not amino acids are equal."""
    shares = np.array([FREQUENCIES.get(letter.upper(), np.nan) for letter in letters])
    shares = np.full(len(letters), 1.0 / len(letters)) if np.isnan(shares).any() else shares / shares.sum()
    return np.outer(shares, shares)


def matched_frequencies(letters: str) -> FloatArray | None:
    """Return the frequencies of matched pairs of letters by BLOSUM62; None unless the letters are the amino acids."""
    if sorted(letters.upper()) != list(AMINO_ACIDS):
        return None
    scores = np.zeros((len(AMINO_ACIDS), len(AMINO_ACIDS)))
    scores[np.tril_indices(len(AMINO_ACIDS))] = np.array(BLOSUM62.split(), float)
    scores = scores + scores.T - np.diag(np.diag(scores))
    nats = nats_of(scores, AMINO_ACIDS)
    assert nats is not None
    at = [AMINO_ACIDS.index(letter) for letter in letters.upper()]
    frequencies: FloatArray = (_by_chance(AMINO_ACIDS) * np.exp(nats * scores))[np.ix_(at, at)]
    return frequencies


def matrix_prior(prior: Any, scale: Any = DEFAULTS["scale"]) -> dict[str, Any] | None:
    """Return the settings of a prior that is a substitution matrix; None if it is a vector or None."""
    if isinstance(prior, Mapping):
        unknown = [name for name in prior if name not in DEFAULTS]
        if unknown:
            raise ValueError(f"prior must be a dict with the keys {', '.join(DEFAULTS)}, found {unknown[0]!r}")
        tuned = {"open": None, "extend": None} if is_log_odds(prior.get("matrix")) else {}
        return DEFAULTS | {"scale": scale} | tuned | dict(prior)
    if isinstance(prior, str) or getattr(prior, "alphabet", None) is not None:
        return matrix_prior({"matrix": prior}, scale)
    return None


def is_log_odds(matrix: Any) -> bool:
    """Return whether the matrix of a prior is the log odds of the training pairs."""
    return isinstance(matrix, str) and matrix == LOG_ODDS


def check_substitution_weights(prior: Any, name: str) -> None:
    """Raise ValueError if the prior is not valid, without log odds."""
    check_substitution_prior(prior, name, log_odds=False)


def check_substitution_prior(prior: Any, name: str, log_odds: bool = True) -> None:
    """Raise ValueError if the prior is not valid; `log_odds` says whether log odds are available."""
    settings = matrix_prior(prior)
    if settings is None:
        check_prior(prior, name)
        return
    learnt = log_odds and is_log_odds(settings["matrix"])
    if not learnt:
        named_matrix(settings["matrix"])
    check_scale = positive_or_auto if log_odds else positive_number
    check_scale(settings["scale"], "prior['scale']")
    for name in ("open", "extend"):
        if learnt and settings[name] is None:
            continue
        if not isinstance(settings[name], int | float) or not np.isfinite(settings[name]):
            raise ValueError(f"prior[{name!r}] must be a finite number, found {settings[name]!r}")


def substitution_centre(prior: Any, structure: Any, size: int) -> FloatArray | None:
    """Return w₀ of a prior that is not log odds."""
    settings = matrix_prior(prior)
    if settings is None:
        return centre(prior, size)
    return float(settings["scale"]) * prior_scores(settings, structure, size)


def prior_scores(settings: dict[str, Any], structure: Any, size: int, log_odds: Any = None) -> FloatArray:
    """Return the scores of a substitution matrix and of gaps before they are scaled, 0 for all other weights.

    `log_odds` is a fitted `LogOddsAligner` if the prior consists of log odds.
    """
    weights = np.zeros(size)
    opening, extending = settings["open"], settings["extend"]
    if log_odds is None:
        scores = matrix_values(settings["matrix"], structure.alphabet)
        scores = 0.5 * (scores + scores.T) if structure.positions_.symmetric else scores
        weights[structure.substitutions()] = scores
    else:
        _copy_matches(log_odds.structure_, log_odds.coef_, structure, weights)
        opening = log_odds.gap_open_ if opening is None else opening
        extending = log_odds.gap_extend_ if extending is None else extending
    if structure.gaps == "affine":
        weights[-2] = opening
    weights[-1] = extending
    return weights


def _copy_matches(source: Any, given: FloatArray, target: Any, weights: FloatArray) -> None:
    """Copy the weights of matches by the templates that two structures of the same data have in common."""
    of_source, of_target = (structure.positions_.template_weights() for structure in (source, target))
    for template, numbers in of_source.items():
        weights[of_target[template]] = given[numbers]
