"""A regularisation path: one fit per C, each from where the last one ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.base import clone

from maxmargin._input import told_by_position
from maxmargin.engines import Local
from maxmargin.estimators._callbacks import callback_list
from maxmargin.estimators._fitted import take_over
from maxmargin.estimators._parameters import check_files
from maxmargin.estimators.structural import MaxMarginEstimator

Model = TypeVar("Model", bound=MaxMarginEstimator)


def regularization_path(
    estimator: Model, X: Any, Y: Any, Cs: Iterable[float], sample_weight: Any = None
) -> list[Model]:
    """One fitted copy of the estimator for each C, in the order given; ascending C is fastest.

    The data are encoded once, and each fit starts from the planes and dual values of the one before. Ctrl-C ends the
    path: the models so far come back, the last of them with the ``stop_reason_`` ``"interrupted"``.

    Parameters
    ----------
    estimator, X, Y : what to fit, and to what.
    Cs : the trade-offs.
    sample_weight : what its `fit` takes third: weights of examples, or the groups of `PrecisionAtK`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_chains(40, random_state=0)
    >>> models = mm.regularization_path(mm.SequenceTagger(), X, Y, Cs=[0.01, 0.1, 1.0])
    >>> [model.C for model in models]
    [0.01, 0.1, 1.0]
    """
    models: list[Model] = []
    state = None
    first = clone(estimator)
    first._check_parameters()
    check_files(first.checkpoint)
    X, Y, weights, positions = first._prepare(X, Y, sample_weight)
    with told_by_position(positions):
        structure, examples = first._encode(X, Y)
    examples, weights, positions = first._merged(examples, weights, positions)
    with Local(first.n_jobs) as engine, told_by_position(positions):
        for C in Cs:
            model = clone(first).set_params(C=C)
            model._check_parameters()
            take_over(model, first)
            problem = model._problem(examples, weights, engine)
            problem.positions = positions
            run = model._run(callback_list(model.callbacks))
            begin = None if state is None else run.solver.adapt(problem, state, run.seed)
            state = model._train(problem, run, state=begin)
            model._finish(problem, run, state, structure, positions)
            models.append(model)
            if run.stop_reason == "interrupted":
                break
    return models
