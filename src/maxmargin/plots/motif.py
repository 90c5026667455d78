"""Sequence logo of a motif, and its positions in sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.plots._matplotlib import BLUE, GREEN, GREY, ORANGE, pyplot

_YELLOW, _PINK, _SKY = "#E69F00", "#CC79A7", "#56B4E9"
_NUCLEOTIDES = {"A": GREEN, "C": BLUE, "G": _YELLOW, "T": ORANGE, "U": ORANGE}
_COLOURS = (GREEN, BLUE, _YELLOW, ORANGE, _PINK, _SKY, GREY)
_LARGEST_FACTOR = 1e6


class MotifDisplay:
    """The logo of a motif (left) and, if sequences are given, its positions in them (right).

    With `counts`, the logo is that of the aligned sites (Schneider and Stephens 1990): p_j(a) is the share of character
    a at position j of the motif, the stack at j has the height R_j = Σ_a p_j(a) log₂(p_j(a) / q(a)) − (A − 1) / (2 n_j
    ln 2), at least 0, divided in proportion to p_j. The second term corrects for the number n_j of sites.

    Without `counts`, the weights M of `Motif.motif` are read as log odds over the frequencies q of the characters:
    position j of the motif draws character a with probability p_j(a) ∝ q(a) exp(β M[j, a]). The height of the stack at
    j is its information Σ_a p_j(a) log₂(p_j(a) / q(a)), divided in proportion to p_j. Weights have no unit (they grow
    with C), so β is chosen to give `bits`.

    Use `from_estimator`.

    Parameters
    ----------
    motif : ndarray of shape (l, A)
        Log odds.
    alphabet : str
        The A characters.
    shares : ndarray of shape (A,) or None, default=None
        Frequencies q of the characters, with sum 1; None for equal frequencies.
    sites : sequence of MotifSite, default=()
        The site found in each sequence.
    lengths : sequence of int, default=()
        Lengths of these sequences.
    known : sequence of lists of (start, stop, …) or None, default=None
        Sites of each sequence that are known from elsewhere, drawn for comparison.
    bits : float or None, default=1.0
        Mean information of a position; None for β = 1. Not used with `counts`.
    counts : ndarray of shape (l, A) or None, default=None
        How often each character occurs at each position of the aligned sites; None for a logo of the weights.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> counts = np.array([[9, 0, 1, 0], [0, 10, 0, 0], [2, 3, 2, 3]])
    >>> display = mm.plots.MotifDisplay(np.log((counts + 1) / 3.5), "ACGT", counts=counts).plot()
    >>> len(display.axes_)
    1
    """

    def __init__(
        self,
        motif: FloatArray,
        alphabet: str,
        shares: FloatArray | None = None,
        *,
        sites: Sequence[Any] = (),
        lengths: Sequence[int] = (),
        known: Sequence[Sequence[Any]] | None = None,
        bits: float | None = 1.0,
        counts: AnyArray | None = None,
    ) -> None:
        self.counts = None if counts is None else np.asarray(counts, float)
        self.motif, self.alphabet = np.asarray(motif, float), alphabet
        if self.motif.ndim != 2 or self.motif.shape[1] != len(alphabet):
            raise ValueError(f"motif must have a column for each of {alphabet!r}, found shape {self.motif.shape}")
        self.shares = np.full(len(alphabet), 1 / len(alphabet)) if shares is None else np.asarray(shares, float)
        if self.counts is not None and self.counts.shape != self.motif.shape:
            raise ValueError(f"counts must have the shape {self.motif.shape} of motif, found {self.counts.shape}")
        for name, given in (("lengths", lengths), ("known sites", known)):
            if given is not None and len(given) != len(sites):
                raise ValueError(f"{len(sites)} sequences have sites but {len(given)} have {name}")
        self.sites, self.lengths, self.known, self.bits = list(sites), np.asarray(lengths, int), known, bits

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Sequence[str] = (),
        *,
        known: Sequence[Sequence[Any]] | None = None,
        logo: str | None = None,
        bits: float | None = 1.0,
        axes: Any = None,
    ) -> MotifDisplay:
        """Plot a fitted motif finder, and the motif in sequences.

        Parameters
        ----------
        estimator : estimator
            The fitted estimator.
        X : sequence of str, default=()
            Sequences to draw.
        known : sequence of lists of (start, stop, …) or None, default=None
            Sites of each sequence that are known from elsewhere.
        logo : {"sites", "weights"} or None, default=None
            What the logo shows: the aligned sites that are found in X, in bits, or the weights. None for the sites if
            some are found, otherwise the weights.
        bits : float or None, default=1.0
            Mean information of a position in a logo of weights; None for β = 1.
        axes : matplotlib Axes, sequence of them or None, default=None
            Axes to draw on, two if there are sequences; None for a new figure.

        Returns
        -------
        MotifDisplay
            The display, with its figure drawn.
        """
        structure: Any = getattr(estimator, "structure_", None)
        if not hasattr(structure, "motif"):
            raise ValueError(
                f"{type(estimator).__name__} has no motif to plot: it is not fitted, or not a motif finder"
            )
        weights = np.asarray(estimator.coef_, float).ravel()
        if logo not in (None, "sites", "weights"):
            raise ValueError(f"logo must be 'sites', 'weights' or None, found {logo!r}")
        sites = [structure.argmax(weights, x) for x in X]
        shares, lengths = structure.symbol_shares(), [len(x) for x in X]
        has_sites = any(site.position is not None for site in sites)
        if logo == "sites" and not has_sites:
            raise ValueError("logo='sites' needs sequences X in which the motif is found, and found none")
        counts = structure.site_counts(X, sites) if has_sites and logo != "weights" else None
        display = cls(
            structure.motif(weights), structure.alphabet, shares, sites=sites, lengths=lengths, known=known, bits=bits,
            counts=counts,
        )  # fmt: skip
        return display.plot(axes=axes)

    # ------------------------------------------------------------------ numbers

    def probabilities(self, factor: float) -> FloatArray:
        """Return p_j(a) ∝ q(a) exp(factor · M[j, a]).

        Parameters
        ----------
        factor : float
            The factor β.

        Returns
        -------
        ndarray of shape (l, A)
            Probability of each character at each position.
        """
        exponents = factor * (self.motif - self.motif.max(axis=1, keepdims=True))
        p: FloatArray = self.shares * np.exp(exponents)
        return p / p.sum(axis=1, keepdims=True)

    def information(self, p: FloatArray) -> FloatArray:
        """Return the information of each position: Σ_a p_j(a) log₂(p_j(a) / q(a)).

        Parameters
        ----------
        p : ndarray of shape (l, A)
            Probabilities.

        Returns
        -------
        ndarray of shape (l,)
            Bits.
        """
        ratio = np.divide(p, self.shares, out=np.ones_like(p), where=(p > 0) & (self.shares > 0))
        return (p * np.log2(ratio)).sum(axis=1)

    def heights(self) -> FloatArray:
        """Return the height of each character, in bits.

        Returns
        -------
        ndarray of shape (l, A)
            Heights.
        """
        if self.counts is not None:
            n = self.counts.sum(axis=1, keepdims=True)
            p = np.divide(self.counts, n, out=np.zeros_like(self.counts), where=n > 0)
            correction = (len(self.alphabet) - 1) / (2.0 * np.log(2.0) * np.maximum(n[:, 0], 1.0))
            return p * np.maximum(self.information(p) - correction, 0.0)[:, None]
        p = self.probabilities(1.0 if self.bits is None else self._factor(self.bits))
        return p * self.information(p)[:, None]

    def _factor(self, bits: float) -> float:
        """Return β for this mean information, which increases with β; the largest β if there is none."""
        low, high = 0.0, 1.0
        while self.information(self.probabilities(high)).mean() < bits and high < _LARGEST_FACTOR:
            low, high = high, 2.0 * high
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self.information(self.probabilities(middle)).mean() >= bits
            low, high = (low, middle) if enough else (middle, high)
        return high

    # ------------------------------------------------------------------ drawing

    def plot(self, *, axes: Any = None) -> MotifDisplay:
        """Draw the figure.

        Parameters
        ----------
        axes : matplotlib Axes, sequence of them or None, default=None
            Axes to draw on, two if there are sequences; None for a new figure.

        Returns
        -------
        MotifDisplay
            The display, with its figure drawn.
        """
        panels = 2 if self.sites else 1
        if axes is None:
            logo = float(np.clip(0.42 * len(self.motif) + 1.0, 3.0, 12.0))
            widths = [logo, 5.0][:panels]
            _, axes = pyplot().subplots(
                1, panels, figsize=(sum(widths), 3.4), width_ratios=widths, squeeze=False, layout="constrained"
            )
        self.axes_: AnyArray = np.atleast_1d(axes).ravel()
        if len(self.axes_) != panels:
            raise ValueError(f"expected {panels} axes, found {len(self.axes_)}")
        self.figure_ = self.axes_[0].figure
        self._logo(self.axes_[0])
        if self.sites:
            self._places(self.axes_[1])
        for ax in self.axes_:
            ax.spines[["top", "right"]].set_visible(False)
        return self

    def _logo(self, ax: Any) -> None:
        heights = self.heights()
        for j, row in enumerate(heights):
            bottom = 0.0
            for a in np.argsort(row, kind="stable"):
                _draw_letter(ax, self.alphabet[a], j + 1, bottom, row[a], self._colour(int(a)))
                bottom += row[a]
        ax.set_xlim(0.4, len(heights) + 0.6)
        ax.set_ylim(0.0, 1.05 * max(float(heights.sum(axis=1).max()), 1e-12))
        every = 1 if len(heights) <= 25 else 5
        ax.set_xticks(range(1, len(heights) + 1, every))
        ax.set_xlabel("position in the motif")
        ax.set_ylabel("bits")

    def _colour(self, a: int) -> str:
        if set(self.alphabet.upper()) <= set(_NUCLEOTIDES):
            return _NUCLEOTIDES[self.alphabet[a].upper()]
        return _COLOURS[a % len(_COLOURS)]

    def _places(self, ax: Any) -> None:
        """Draw sequences from long to short, with their sites."""
        rows = np.argsort(np.argsort(-self.lengths, kind="stable"), kind="stable")
        thick = float(np.clip(150 / len(rows), 0.8, 6.0))
        ax.hlines(rows, 0, self.lengths, color="#dddddd", linewidth=thick)
        if self.known is not None:
            spans = [(row, site[0], site[1]) for row, sites in zip(rows, self.known, strict=True) for site in sites]
            self._bars(ax, spans, "black", 1.7 * thick, "known")
        for strand, colour in (("+", BLUE), ("-", ORANGE)):
            spans = [
                (row, site.position, site.position + len(self.motif))
                for row, site in zip(rows, self.sites, strict=True)
                if site.position is not None and site.strand == strand
            ]
            self._bars(ax, spans, colour, thick, "found" if strand == "+" else "found, other strand")
        ax.set_xlim(0, 1.02 * self.lengths.max())
        ax.set_ylim(len(rows), -1)
        ax.set_xlabel("position in the sequence")
        ax.set_ylabel("sequence")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)

    @staticmethod
    def _bars(ax: Any, spans: list[tuple[int, int, int]], colour: str, thick: float, label: str) -> None:
        if spans:
            rows, starts, stops = zip(*spans, strict=True)
            ax.hlines(rows, starts, stops, color=colour, linewidth=thick, label=label)


def _draw_letter(ax: Any, letter: str, centre: float, bottom: float, height: float, colour: str) -> None:
    """Draw a letter stretched to fill its box."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    outline = TextPath((0, 0), letter, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = outline.get_extents()
    if height <= 0.0 or box.width == 0.0 or box.height == 0.0:
        return
    width = 0.9 if box.width > 0.4 * box.height else 0.35  # narrow letters stay narrow
    stretch = Affine2D().translate(-(box.x0 + box.x1) / 2, -box.y0).scale(width / box.width, height / box.height)
    path = stretch.translate(centre, bottom).transform_path(outline)
    ax.add_patch(PathPatch(path, facecolor=colour, linewidth=0))
