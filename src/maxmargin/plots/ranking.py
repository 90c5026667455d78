"""Curves of rankings over the number of documents shown: NDCG@k, and coverage of subtopics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import FloatArray
from maxmargin.metrics.coverage import coverage_by_rank
from maxmargin.metrics.ranking import ndcg_at_k
from maxmargin.plots._matplotlib import BLUE, GREEN, GREY, ORANGE, pyplot

_MARKERS = "osD^vP*X"
#: Colours of Okabe and Ito, in an order in which neighbours differ most.
_COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", GREY)


class RankingDisplay:
    """How good the first documents of several rankers are, over the number of documents shown.

    Use `from_estimators` or `from_predictions` for NDCG@k of rankers (Do et al. 2008, figure 1), `from_selectors` or
    `from_selections` for the coverage of subtopics by rank.

    Parameters
    ----------
    at : array-like of int
        Numbers of documents shown.
    curves : mapping of str to array-like
        The values of each ranker at these numbers.
    measure : str, default="NDCG"
        Name of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> y, scores, queries = [1, 0, 0, 1], [0.9, 0.2, 0.8, 0.3], ["a", "a", "b", "b"]
    >>> display = mm.plots.RankingDisplay.from_predictions(y, {"ours": scores}, queries, ks=[1, 2])
    >>> display.ax_.get_ylabel()
    'NDCG@k'
    """

    def __init__(self, at: Any, curves: Mapping[str, Any], *, measure: str = "NDCG") -> None:
        self.at, self.measure = np.asarray(at, int), measure
        self.curves: dict[str, FloatArray] = {str(name): np.asarray(values, float) for name, values in curves.items()}
        if not self.curves:
            raise ValueError("expected at least one curve, found none")
        for name, values in self.curves.items():
            if values.shape != self.at.shape or self.at.ndim != 1 or len(self.at) == 0:
                raise ValueError(f"{name}: expected one value for each of {self.at.shape} places, found {values.shape}")

    @classmethod
    def from_estimators(
        cls,
        estimators: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        ks: Iterable[int] = range(1, 11),
        gain: str = "exponential",
        discount: str = "log2",
        ax: Any = None,
    ) -> RankingDisplay:
        """Plot NDCG@k of the scores that estimators predict.

        Parameters
        ----------
        estimators : mapping of str to estimator, sequence of estimators, or estimator
            Fitted estimators whose `predict` returns a score for each row; a sequence is named by measure or class.
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        y : array-like of shape (n,)
            Relevance of each row.
        groups : sequence of length n
            Query of each row.
        ks : iterable of int, default=range(1, 11)
            Numbers of documents.
        gain, discount : str
            As in `maxmargin.metrics.ndcg_at_k`.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        RankingDisplay
            The display, with its figure drawn.
        """
        scores = {name: estimator.predict(X) for name, estimator in _named(estimators, "measure").items()}
        return cls.from_predictions(y, scores, groups, ks=ks, gain=gain, discount=discount, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        groups: Any = None,
        *,
        ks: Iterable[int] = range(1, 11),
        gain: str = "exponential",
        discount: str = "log2",
        ax: Any = None,
    ) -> RankingDisplay:
        """Plot NDCG@k of scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Relevance of each document.
        scores : mapping of str to array-like of shape (n,), or array-like of shape (n,)
            The scores of each ranker, by its name; an array is a single ranker.
        groups : sequence of length n
            Query of each document.
        ks : iterable of int, default=range(1, 11)
            Numbers of documents.
        gain, discount : str
            As in `maxmargin.metrics.ndcg_at_k`.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        RankingDisplay
            The display, with its figure drawn.
        """
        at = [whole_number(k, "k") for k in ks]
        named = scores if isinstance(scores, Mapping) else {"ranker": scores}
        curves = {
            name: [ndcg_at_k(y, values, groups, k, gain=gain, discount=discount) for k in at]
            for name, values in named.items()
        }
        return cls(at, curves).plot(ax=ax)

    @classmethod
    def from_selectors(
        cls, estimators: Any, X: Any, Y: Any, *, weights: str = "popularity", ax: Any = None
    ) -> RankingDisplay:
        """Plot the coverage of subtopics by rank of fitted selectors, such as `DiverseSelector`.

        Parameters
        ----------
        estimators : mapping of str to estimator, sequence of estimators, or estimator
            Fitted estimators whose `predict` returns chosen candidates, best first.
        X : sequence
            Candidates of each input.
        Y : sequence
            For each input a list with the set of subtopics of each candidate.
        weights : {"popularity", "uniform"}, default="popularity"
            Weights of subtopics.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        RankingDisplay
            The display, with its figure drawn.
        """
        chosen = {name: estimator.predict(X) for name, estimator in _named(estimators, "k").items()}
        return cls.from_selections(Y, chosen, weights=weights, ax=ax)

    @classmethod
    def from_selections(
        cls, Y: Sequence[Any], selections: Any, *, weights: str = "popularity", ax: Any = None
    ) -> RankingDisplay:
        """Plot the mean coverage of subtopics by the first 1, 2, … chosen candidates.

        An input with fewer candidates keeps the coverage of its last one; inputs without subtopics are left out.

        Parameters
        ----------
        Y : sequence
            For each input a list with the set of subtopics of each candidate.
        selections : mapping of str to sequence, or sequence
            For each selector, by its name, the chosen candidates of each input, best first.
        weights : {"popularity", "uniform"}, default="popularity"
            Weights of subtopics.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        RankingDisplay
            The display, with its figure drawn.
        """
        named = selections if isinstance(selections, Mapping) else {"selector": selections}
        depth = max((len(chosen) for some in named.values() for chosen in some), default=0)
        if depth == 0:
            raise ValueError("expected at least one chosen candidate, found none")
        curves = {
            name: _mean_curve(coverage_by_rank(Y, chosen, weights=weights), depth) for name, chosen in named.items()
        }
        return cls(np.arange(1, depth + 1), curves, measure="coverage of subtopics").plot(ax=ax)

    def plot(self, *, ax: Any = None) -> RankingDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None for a new figure.

        Returns
        -------
        RankingDisplay
            The display itself.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6.0, 4.0), layout="constrained")
        for r, (name, values) in enumerate(self.curves.items()):
            marker, colour = _MARKERS[r % len(_MARKERS)], _COLOURS[r % len(_COLOURS)]
            ax.plot(self.at, values, marker=marker, color=colour, markersize=4, linewidth=1.5, label=name)
        ax.set_xlabel("documents shown, k")
        ax.set_ylabel(f"{self.measure}@k" if self.measure == "NDCG" else self.measure)
        ax.set_xticks(self.at if len(self.at) <= 12 else self.at[:: len(self.at) // 10])
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        if len(self.curves) > 1:
            ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _named(estimators: Any, parameter: str) -> dict[str, Any]:
    """Return estimators by name; equal names are numbered."""
    if isinstance(estimators, Mapping):
        return {str(name): estimator for name, estimator in estimators.items()}
    by_name: dict[str, Any] = {}
    for estimator in estimators if isinstance(estimators, list | tuple) else [estimators]:
        value = getattr(estimator, parameter, None)
        name = type(estimator).__name__ if value is None else f"{type(estimator).__name__}, {parameter}={value}"
        by_name[name if name not in by_name else f"{name} ({len(by_name) + 1})"] = estimator
    return by_name


def _mean_curve(shares: Sequence[FloatArray], depth: int) -> FloatArray:
    """Return the mean over inputs, each continued at its last value."""
    rows = [np.concatenate([row, np.full(depth - len(row), row[-1])]) for row in shares if len(row)]
    rows = [row for row in rows if not np.isnan(row).any()]
    if not rows:
        raise ValueError("no input has a subtopic, so there is nothing to cover")
    mean: FloatArray = np.mean(rows, axis=0)
    return mean
