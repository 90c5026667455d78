"""Losses on held-out folds of the training data: which prior scale and C to fit with, and whether to learn at all."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from maxmargin._base.errors import callers_level
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.engines import Local
from maxmargin.estimators.parameters import is_auto

if TYPE_CHECKING:
    from maxmargin.estimators.training_data import TrainingData

#: The factor of C with which the weights are those of the prior.
NEGLIGIBLE = 1e-6
#: Parameters of fits whose only purpose is a comparison.
QUIET = {"callbacks": None, "checkpoint": None, "verbose": 0, "warm_start": False}


def related_folds(members: Sequence[Iterable[Hashable]], n_folds: int) -> list[IntArray]:
    """Return examples in folds of about equal size, between which no member of an example is shared.

    Examples that have a member in common, such as a sequence or a family, are in the same fold. If there are fewer
    sets of related examples than folds, there are fewer folds.
    """
    numbers: dict[Hashable, int] = {}
    of_member = [(i, numbers.setdefault(m, len(numbers))) for i, each in enumerate(members) for m in each]
    rows, columns = np.array(of_member, np.int64).reshape(-1, 2).T
    n, size = len(members), len(members) + len(numbers)
    graph = csr_array((np.ones(len(rows)), (rows, n + columns)), shape=(size, size))
    component = connected_components(graph, directed=False)[1][:n]
    folds: list[list[int]] = [[] for _ in range(n_folds)]
    sizes = np.bincount(component)
    for c in np.argsort(-sizes, kind="stable").tolist():
        if sizes[c]:
            min(folds, key=len).extend(np.flatnonzero(component == c).tolist())
    return [np.sort(np.array(fold, np.int64)) for fold in folds if fold]


class HeldOut(NamedTuple):
    """Losses on held-out folds.

    Attributes
    ----------
    losses : ndarray of shape (n_candidates,)
        The mean loss of each candidate.
    prior : float
        That of the prior.
    errors : ndarray of shape (n_candidates,)
        The standard error of the mean difference of each candidate and the prior.
    """

    losses: FloatArray
    prior: float
    errors: FloatArray


def output_losses(examples: Examples, w: FloatArray, engine: Local) -> FloatArray:
    """Return the loss of the output of best score of each example."""
    answers = examples.empty_answers()
    if examples.elsewhere:
        examples.decode(w, np.arange(examples.n_examples), np.zeros(examples.n_examples), answers)
        return answers.losses
    engine.map(
        lambda ids, _: examples.decode(w, ids, np.zeros(len(ids)), answers),
        np.arange(examples.n_examples),
        examples.smallest_chunk,
    )
    return answers.losses


def mean_loss(examples: Examples, w: FloatArray, weights: FloatArray, engine: Local) -> float:
    """Return the weighted mean loss of the outputs of best score."""
    return float(np.average(output_losses(examples, w, engine), weights=weights))


def some_of(data: TrainingData, ids: IntArray) -> TrainingData:
    """Return some of the encoded examples; X and Y stay whole."""
    return replace(data, examples=data.examples.take(ids), weights=data.weights[ids], positions=data.positions[ids])


def held_out_losses(
    estimator: Any, data: TrainingData, folds: list[IntArray], candidates: Sequence[Mapping[str, float]]
) -> HeldOut:
    """Return the mean loss on held-out folds of each candidate, and of the prior.

    A candidate has a ``"scale"`` of the prior, and ``"C"``. The prior is that of the other folds.
    """
    tables, shares = list[FloatArray](), list[FloatArray]()
    everything = np.concatenate(folds)
    with Local(estimator.n_jobs) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fold in folds:
            part = some_of(data, np.sort(np.setdiff1d(everything, fold)))
            rest, weights = data.examples.take(fold), data.weights[fold]
            centre = estimator._unscaled_centre(part)
            losses = [output_losses(rest, centre, engine)]
            for candidate in candidates:
                parameters = QUIET | {"prior": candidate["scale"] * centre, "C": candidate["C"]}
                model = clone(estimator).set_params(**parameters, **estimator._shorter())
                model._learn(part, engine)
                losses.append(output_losses(rest, model.coef_, engine))
            tables.append(np.array(losses))
            shares.append(weights)
    each, share = np.concatenate(tables, axis=1), np.concatenate(shares) / sum(map(np.sum, shares))
    means = each @ share
    gains = each[1:] - each[0] - (means[1:] - means[0])[:, None]
    n = max(each.shape[1], 2)
    return HeldOut(means[1:], float(means[0]), np.sqrt((gains * share) ** 2 @ np.ones(each.shape[1]) * n / (n - 1)))


def keep_to_prior(estimator: Any, what: str, loss: float, prior: float, remedy: str) -> None:
    """Warn that learning is worse than the prior on held-out folds, and keep to the prior if C is free.

    Parameters
    ----------
    estimator : estimator
        With `C_` set; ``C="auto"`` makes it so small that the weights are those of the prior.
    what : str
        The examples, as in "pairs".
    loss, prior : float
        The mean losses on held-out folds.
    remedy : str
        What may help.
    """
    observed = f"weights learnt from other {what} are worse on held-out {what} (mean loss {loss:.3f}) than their prior"
    if is_auto(estimator.C):
        estimator.C_ *= NEGLIGIBLE
        message = f"{observed} ({prior:.3f}), so the model is the prior: {remedy}"
    else:
        message = f"{observed} ({prior:.3f}): choose another C, or C='auto'; {remedy}"
    warnings.warn(message, UserWarning, stacklevel=callers_level())
