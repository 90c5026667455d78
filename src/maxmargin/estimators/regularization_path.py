"""Regularisation path: one fit per C, each starting from the previous one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.base import clone

from maxmargin.engines.engine import engine_of
from maxmargin.estimators.base import MaxMarginEstimator, refitting, take_over
from maxmargin.estimators.parameters import check_files, check_trade_off

Model = TypeVar("Model", bound=MaxMarginEstimator)


def regularization_path(
    estimator: Model,
    X: Any,
    y: Any = None,
    Cs: Iterable[float] | None = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
) -> list[Model]:
    """Fit a copy of the estimator for each C, in the order given; ascending C is fastest.

    The data are encoded once, and each fit starts from the planes and dual values of the previous fit. Ctrl-C ends the
    path: the models so far are returned, the last of them with the ``stop_reason_`` ``"interrupted"``. Callbacks,
    also those of scikit-learn, are called for each fit in turn.

    Parameters
    ----------
    estimator : estimator
        The estimator to copy.
    X, y : sequence
        Inputs, and the true output of each.
    Cs : iterable of float
        The trade-offs.
    sample_weight : array-like of shape (n,), default=None
        Weights of the examples, as in `fit`.
    groups : sequence, default=None
        Query of each row, for `StructuredRanker`.

    Returns
    -------
    list of estimators
        The fitted copies.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_chains(40, random_state=0)
    >>> models = mm.regularization_path(mm.SequenceTagger(), X, Y, Cs=[0.01, 0.1, 1.0])
    >>> [model.C for model in models]
    [0.01, 0.1, 1.0]
    """
    if Cs is None:
        raise TypeError("regularization_path requires Cs, the trade-offs to fit")
    models: list[Model] = []
    state = None
    first = clone(estimator)
    first._check_parameters()
    check_files(first.checkpoint)
    unfitted = [clone(first).set_params(C=C) for C in Cs]
    for model in unfitted:
        check_trade_off(model)
    data = first._training_data(X, y, sample_weight, groups=groups)
    with engine_of(first.engine, first.n_jobs) as engine:
        for model in unfitted:
            with refitting(model):
                take_over(model, first)
                state = model._learn(data, engine, before=state)
                model._second_stage(data)()
            models.append(model)
            if model.stop_reason_ == "interrupted":
                break
    return models
