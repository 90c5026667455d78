"""Pictures of alignments: a dot matrix with paths, and coloured strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import AnyArray
from maxmargin.features.biology.aligned import GAP, N_ORDERS, aligned_pair, check_spelling, code_of_strings
from maxmargin.plots._matplotlib import BLUE, GREEN, GREY, ORANGE, pyplot

#: Colours of kinds of amino acids: hydrophobic, positive, negative, polar, aromatic, and glycine, proline, cysteine.
_KINDS = {"AILMV": "#b3cde3", "KR": "#fbb4ae", "DE": "#decbe4", "NQST": "#ccebc5", "FWYH": "#a6d8d4", "GPC": "#fed9a6"}
_NUCLEOTIDES = {"A": "#ccebc5", "C": "#b3cde3", "G": "#fed9a6", "TU": "#fbb4ae"}


class AlignmentDisplay:
    """An alignment as a path through the dot matrix of its sequences, or as coloured strings.

    Parameters
    ----------
    predicted : pair of str, optional
        The predicted alignment.
    true : pair of str, optional
        The true alignment of the same sequences.
    names : pair of str, default=("first", "second")
        Names of the sequences.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.plots.AlignmentDisplay(("ACGT", "A-GT"), true=("ACGT", "AG-T"))
    >>> display = display.plot()
    """

    def __init__(
        self, predicted: Any = None, *, true: Any = None, names: tuple[str, str] = ("first", "second")
    ) -> None:
        given = {name: aligned_pair(y, name) for name, y in (("predicted", predicted), ("true", true)) if y is not None}
        if not given:
            raise ValueError("expected a predicted or a true alignment, found neither")
        if len(names) != 2:
            raise ValueError(f"expected the names of two sequences, found {names!r:.60}")
        self.alignments, self.names = given, tuple(map(str, names))
        first, second = next(iter(given.values()))
        self.sequences = first.replace(GAP, ""), second.replace(GAP, "")
        for name, pair in given.items():
            check_spelling(*pair, self.sequences, name)

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, true: Any = None, *, names: tuple[str, str] = ("first", "second"), ax: Any = None
    ) -> AlignmentDisplay:
        """Plot the alignment that an aligner predicts, over the probabilities of all matches if it has them.

        Parameters
        ----------
        estimator : PairwiseAligner or another aligner
            A fitted aligner.
        x : pair
            One pair of sequences.
        true : pair of str, optional
            The true alignment, to compare with.
        names : pair of str, default=("first", "second")
            Names of the sequences.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        AlignmentDisplay
            The display, with its figure drawn.
        """
        (predicted,), probabilities = estimator.predict([x]), None
        if hasattr(estimator, "predict_marginals"):
            probabilities = estimator.predict_marginals([x])[0]["matches"]
        return cls(predicted, true=true, names=names).plot(probabilities=probabilities, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        predicted: Any,
        probabilities: Any = None,
        *,
        true: Any = None,
        names: tuple[str, str] = ("first", "second"),
        ax: Any = None,
    ) -> AlignmentDisplay:
        """Plot an alignment over given probabilities of matches, also those of other programs.

        Parameters
        ----------
        predicted : pair of str
            The predicted alignment.
        probabilities : array-like of shape (n, m) or None, default=None
            Probability of each match.
        true : pair of str, optional
            The true alignment, to compare with.
        names : pair of str, default=("first", "second")
            Names of the sequences.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        AlignmentDisplay
            The display, with its figure drawn.
        """
        return cls(predicted, true=true, names=names).plot(probabilities=probabilities, ax=ax)

    def partners(self, name: str) -> AnyArray:
        """Return the partner of each position of the first sequence, −1 for none.

        Parameters
        ----------
        name : {"predicted", "true"}
            Which alignment.

        Returns
        -------
        ndarray of int
            The partners.
        """
        return code_of_strings(*self.alignments[name], ordered=False)[N_ORDERS:]

    # ------------------------------------------------------------------ dot matrix

    def plot(self, *, scores: Any = None, probabilities: Any = None, word: int = 3, ax: Any = None) -> AlignmentDisplay:
        """Draw the dot matrix of the sequences with the matches of both alignments.

        Matches of both are blue, those that only the prediction has orange, those that only the truth has grey.

        Parameters
        ----------
        scores : array of shape (n, m) or None, default=None
            Scores of all matches, drawn in grey; None for dots where at least two letters of a word are equal.
        probabilities : array of shape (n, m) or None, default=None
            Probabilities of all matches, drawn as a heat map from 0 to 1 in place of scores or dots.
        word : int, default=3
            Length of words of the dots.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        AlignmentDisplay
            The display, with its figure drawn.
        """
        n, m = map(len, self.sequences)
        if ax is None:
            size = float(np.clip(0.03 * m + 3.0, 4.0, 9.0)), float(np.clip(0.03 * n + 3.0, 4.0, 9.0))
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if scores is not None and probabilities is not None:
            raise ValueError("expected scores or probabilities, found both")
        given = scores if probabilities is None else probabilities
        shade = self._dots(whole_number(word, "word")) if given is None else np.asarray(given, float)
        if shade.shape != (n, m):
            name = "scores" if probabilities is None else "probabilities"
            raise ValueError(f"{name} have shape {shade.shape}, expected {(n, m)}")
        if shade.size and probabilities is not None:
            image = ax.imshow(shade, cmap="Greys", aspect="equal", vmin=0.0, vmax=1.0)
            self.figure_.colorbar(image, ax=ax, label="probability of the match", shrink=0.7)
        elif shade.size:
            ax.imshow(shade, cmap="Greys", aspect="equal", vmin=shade.min(), vmax=1.6 * shade.max() + 1e-12)
        for kind, (colour, marker, label) in _MARKS.items():
            pairs = self._matches()[kind]
            if pairs:
                rows, cols = zip(*pairs, strict=True)
                many = len(self.alignments) == 2
                ax.plot(cols, rows, marker, color=colour, markersize=4, label=label if many else None, linestyle="none")
        ax.set_xlim(-0.5, max(m, 1) - 0.5)
        ax.set_ylim(max(n, 1) - 0.5, -0.5)
        ax.set_xlabel(f"position in {self.names[1]}")
        ax.set_ylabel(f"position in {self.names[0]}")
        if len(self.alignments) == 2 and any(self._matches().values()):
            ax.legend(loc="upper right", framealpha=0.9)
        return self

    def _matches(self) -> dict[str, list[tuple[int, int]]]:
        """Return the matches of each kind; with one alignment alone, all are of the kind "both"."""
        sets = {
            name: {(i, j) for i, j in enumerate(self.partners(name).tolist()) if j >= 0} for name in self.alignments
        }
        predicted = sets.get("predicted", sets.get("true", set()))
        true = sets.get("true", predicted)
        return {"both": sorted(predicted & true), "false": sorted(predicted - true), "missed": sorted(true - predicted)}

    def _dots(self, word: int) -> AnyArray:
        """Return the number of equal letters of the words around each pair of positions, 0 below two."""
        first, second = (np.array(list(text.upper()), "<U1") for text in self.sequences)
        equal = (first[:, None] == second[None, :]).astype(float)
        total = np.zeros_like(equal)
        n, m = equal.shape
        for at in range(-(word // 2), word - word // 2):
            rows, cols = slice(max(0, -at), max(0, n - max(0, at))), slice(max(0, -at), max(0, m - max(0, at)))
            shifted = equal[max(0, at) : n - max(0, -at), max(0, at) : m - max(0, -at)]
            total[rows, cols] += shifted
        return np.where(total >= min(2, word), total, 0.0)

    # ------------------------------------------------------------------ strings

    def plot_strings(self, *, width: int = 60, ax: Any = None) -> AlignmentDisplay:
        """Draw the alignment as lines of coloured letters; matches that are true have a bar between the lines.

        With two alignments, the predicted one is drawn, with a bar under matches that are true, and a dot under
        matches that are not. With one alone, bars are under equal letters.

        Parameters
        ----------
        width : int, default=60
            Number of columns in a line.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        AlignmentDisplay
            The display, with its figure drawn.
        """
        width = whole_number(width, "width")
        first, second = self.alignments.get("predicted", self.alignments.get("true", ("", "")))
        marks, lines = self._marks(first, second), max(1, -(-len(first) // width))
        if ax is None:
            size = 0.16 * min(width, max(len(first), 20)) + 1.6, 0.75 * lines + 0.4
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colours = self._colours()
        rectangle = pyplot().Rectangle
        for k, (a, b, (mark, colour)) in enumerate(zip(first, second, marks, strict=True)):
            line, column = divmod(k, width)
            for letter, down in ((a, 0.0), (b, 2.0)):
                y = 4.2 * line + down
                if letter != GAP:
                    ax.add_patch(rectangle((column - 0.5, y - 0.5), 1, 1, color=colours.get(letter.upper(), "#eeeeee")))
                ax.text(column, y, letter, ha="center", va="center", family="monospace", fontsize=9)
            ax.text(column, 4.2 * line + 1.0, mark, ha="center", va="center", color=colour, fontsize=9)
        for line in range(lines):
            for down, name in zip((0.0, 2.0), self.names, strict=True):
                ax.text(-1.2, 4.2 * line + down, name, ha="right", va="center", fontsize=9)
        ax.set_xlim(-1.0, min(width, max(len(first), 1)) - 0.4)
        ax.set_ylim(4.2 * lines - 1.2, -1.0)
        ax.set_axis_off()
        return self

    def _marks(self, first: str, second: str) -> list[tuple[str, str]]:
        """Return the mark of each column and its colour."""
        both, true = len(self.alignments) == 2, self.partners("true") if "true" in self.alignments else None
        marks, i, j = [], 0, 0
        for a, b in zip(first, second, strict=True):
            mark = ("", GREY)
            if a != GAP != b:
                if both and true is not None:
                    mark = ("|", BLUE) if true[i] == j else ("•", ORANGE)
                elif a.upper() == b.upper():
                    mark = ("|", GREEN)
            marks.append(mark)
            i, j = i + (a != GAP), j + (b != GAP)
        return marks

    def _colours(self) -> dict[str, str]:
        letters = set("".join(self.sequences).upper()) - set("NX")
        kinds = _NUCLEOTIDES if letters <= set("ACGTU") else _KINDS
        return {letter: colour for some, colour in kinds.items() for letter in some}


#: Colour, marker and legend of matches of both, of the prediction alone, and of the truth alone.
_MARKS = {
    "missed": (GREY, "x", "true only"),
    "false": (ORANGE, "s", "predicted only"),
    "both": (BLUE, "o", "true and predicted"),
}
