"""A regularisation path: one fit per C, each from where the last one ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.base import clone

from maxmargin.engines import Local
from maxmargin.estimators.structural import MaxMarginEstimator
from maxmargin.objective import Objective
from maxmargin.problem import Problem

Model = TypeVar("Model", bound=MaxMarginEstimator)


def regularization_path(
    estimator: Model, X: Any, Y: Any, Cs: Iterable[float], sample_weight: Any = None
) -> list[Model]:
    """One fitted copy of the estimator for each C, in the order given; ascending C is fastest.

    The data are encoded once, and each fit starts from the planes and dual values of the one before.

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
    X, Y, weights, positions = first._prepare(X, Y, sample_weight)
    structure, examples = first._encode(X, Y)
    examples, weights, positions = first._merged(examples, weights, positions)
    with Local(first.n_jobs) as engine:
        for C in Cs:
            model = clone(first).set_params(C=C)
            model._check_parameters()
            model._inherit(first)
            problem = Problem(examples, model._bound(), Objective(float(C), weights, model.slack), engine)
            run = model._run(model.callbacks or ())
            begin = None if state is None else run.solver.adapt(problem, state, run.seed)
            state = run.go(problem, state=begin)
            model._finish(problem, run, state, structure, positions)
            models.append(model)
    return models
