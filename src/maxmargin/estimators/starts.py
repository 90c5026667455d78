"""First weights of a fit: the parameter `start` of estimators.

A convex fit ends at the same optimum from any weights, so a start only saves steps. The objective of a ramp, or with
latent variables, has local optima, and its first weights decide which of them is found: the ramp of a loss that is
small compared with margins stays at w = 0 if it starts there.

A start has a name, or is given: weights, or a fitted estimator. An estimator lists its names in `named_starts`, each
with a method that returns weights; a structure lists those that every estimator of the structure has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._base.types import FloatArray
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.training.run import Run, seed_of

#: The choice of the library, and the point from which a bound starts by itself.
AUTO, CONVEX = "auto", "convex"
#: Name of the weights of the last fit, and of weights that were given.
LAST_FIT, GIVEN = "last fit", "weights"
#: Epochs of the perceptron as a start.
EPOCHS = 5

#: Called as start(estimator, data, problem, restart): returns weights, or None for those of ``"convex"``.
NamedStart = Callable[[Any, Any, Problem, int], FloatArray | None]


@dataclass(frozen=True)
class Start:
    """First weights of a fit.

    Attributes
    ----------
    name : str, default="convex"
        What they are.
    weights : ndarray of shape (dim,) or None, default=None
        The weights w of the structure. None for the first point of the solver, and for bounds that are not convex for
        the optimum of their convex form, or for the first completions of the structure.
    """

    name: str = CONVEX
    weights: FloatArray | None = None

    def relative(self, problem: Problem) -> FloatArray | None:
        """Return the weights w − w₀ of solvers, within their lower bounds."""
        return None if self.weights is None else problem.objective.raised(problem.relative(self.weights))


def check_start(start: Any, name: str) -> None:
    """Raise ValueError unless it is a name, a fitted estimator, weights, or several of these."""
    several = _listed(start)
    if len(several) == 0:
        raise ValueError(f"{name} must be a name, weights, a fitted estimator or several of these, found {start!r}")
    for one in several:
        if isinstance(one, str):
            continue
        if one is None:
            raise ValueError(f"{name} must be a name, weights or a fitted estimator, found None; use 'auto'")
        if not isinstance(one, BaseEstimator):
            check_prior(one, name)
        elif not hasattr(one, "coef_"):
            raise ValueError(f"{name}: this {type(one).__name__} has no weights coef_: fit it first")


def check_start_names(estimator: Any, structure: Any) -> None:
    """Raise ValueError for a name that neither the estimator nor the structure has."""
    known = (AUTO, *estimator.named_starts, *getattr(structure, "named_starts", ()))
    for one in _listed(estimator.start):
        if isinstance(one, str) and one not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"start must be one of {names}, weights or a fitted estimator, found {one!r}")


def refers_to_weights(start: Any) -> bool:
    """Return whether a start is given as weights, by itself or as those of an estimator."""
    return any(not isinstance(one, str) for one in _listed(start))


def starts_of(estimator: Any, data: Any, problem: Problem, last: FloatArray | None = None) -> Iterator[Start]:
    """Yield the starts that an estimator asks for, each made when it is needed.

    A start of the same weights as an earlier one is left out, except where completions of the structure may differ.

    Parameters
    ----------
    estimator : estimator
        With the parameter `start`, and the number of runs for each name.
    data : TrainingData
        The examples, and their structure.
    problem : Problem
        The problem to solve.
    last : ndarray of shape (dim,) or None, default=None
        Weights of the last fit, which replace the first start.
    """
    check_start_names(estimator, data.structure)
    random = problem.examples.latent
    seen: list[FloatArray | None] = []
    for number, (name, make) in enumerate(_asked(estimator, data, problem)):
        first = number == 0 and last is not None
        start = Start(LAST_FIT, last) if first else Start(name, make())
        if not any(_same(start.weights, other) for other in seen) or (start.weights is None and random):
            seen.append(start.weights)
            yield start


def _asked(estimator: Any, data: Any, problem: Problem) -> Iterator[tuple[str, Callable[[], FloatArray | None]]]:
    """Yield the name of each start, and a function that makes its weights."""
    functions = functions_of(estimator, data.structure)
    for one in _listed(estimator.start):
        if isinstance(one, str):
            name = estimator._auto_start if one == AUTO else one
            for restart in range(estimator._n_runs):
                shown = name if restart == 0 else f"{name} {restart + 1}"
                yield shown, partial(functions[name], estimator, data, problem, restart)
        else:
            yield _shown(one), partial(given_weights, estimator, one, problem.dim)


def functions_of(estimator: Any, structure: Any) -> dict[str, NamedStart]:
    """Return the named starts of an estimator and of its structure."""
    own: Mapping[str, Any] = getattr(structure, "named_starts", {})
    return {**{name: _of_structure(function) for name, function in own.items()}, **estimator.named_starts}


def _of_structure(function: Callable[[Any, Any, FloatArray], FloatArray]) -> NamedStart:
    return lambda estimator, data, problem, restart: function(
        data.structure, problem.examples, problem.objective.weights
    )


def given_weights(estimator: Any, start: Any, dim: int) -> FloatArray:
    """Return the weights that are given, by themselves or as those of a fitted estimator."""
    of_other = isinstance(start, BaseEstimator)
    weights = estimator._weights_of(start) if of_other else np.array(start, float)
    if len(weights) != dim:
        whose = f"the weights of this {type(start).__name__} have" if of_other else "the weights have"
        raise ValueError(f"start: {whose} {len(weights)} entries, but these data need {dim}")
    return weights


def with_given(start: Any, function: Callable[[Any], Any]) -> Any:
    """Return the parameter `start` with the result of a function in place of weights and estimators."""
    made = [one if isinstance(one, str) else function(one) for one in _listed(start)]
    return made if _is_several(start) else made[0]


def storable_start(estimator: Any) -> Any:
    """Return the parameter `start` for a model file: weights in place of estimators."""
    return with_given(
        estimator.start, lambda one: estimator._weights_of(one) if isinstance(one, BaseEstimator) else one
    )


def best_start(problem: Problem, starts: Iterable[Start]) -> Start:
    """Return the start of the lowest objective; the first one if there is no other, or for hard margins."""
    several = list(starts)
    if len(several) == 1 or problem.objective.hard:
        return several[0]
    values = []
    for start in several:
        w = start.relative(problem)
        w = problem.objective.raised(np.zeros(problem.dim)) if w is None else w
        problem.decode(w, problem.everyone)
        values.append(problem.primal(w)[0])
    return several[int(np.argmin(values))]


def no_weights(estimator: Any, data: Any, problem: Problem, restart: int) -> None:
    """Return None: the bound starts by itself."""
    return


def perceptron_weights(estimator: Any, data: Any, problem: Problem, restart: int) -> FloatArray:
    """Return the weights of a few epochs of the averaged perceptron (Collins 2002)."""
    examples = problem.examples
    objective = Objective(1.0, problem.objective.weights, lower=problem.objective.lower)
    plain = Problem(examples, Bound("margin", "linear"), objective, problem.engine, None, problem.positions)
    run = Run(AveragedPerceptron(), Limits(max_iter=EPOCHS), seed_of(estimator.random_state) + restart)
    return run.go(plain).best_w


def _listed(start: Any) -> list[Any]:
    return list(start) if _is_several(start) else [start]


def _is_several(start: Any) -> bool:
    """Return whether there are several starts; a list of numbers is one, weights."""
    return isinstance(start, list | tuple) and not (start and all(isinstance(one, Real) for one in start))


def _shown(start: Any) -> str:
    return type(start).__name__ if isinstance(start, BaseEstimator) else GIVEN


def _same(weights: FloatArray | None, other: FloatArray | None) -> bool:
    if weights is None or other is None:
        return weights is other
    return np.array_equal(weights, other)


def check_prior(prior: Any, name: str) -> None:
    """Raise ValueError unless the prior is None or a vector of finite numbers."""
    if prior is None:
        return
    try:
        vector = np.asarray(prior, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be None or a vector of weights, found {prior!r:.60}") from None
    if vector.ndim != 1:
        raise ValueError(f"{name} must be None or a vector of weights, found an array of shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] must be a finite number, found {vector[bad[0]]}")


def centre(prior: Any, size: int) -> FloatArray | None:
    """Return the prior as an array; raise ValueError unless it has one number per weight."""
    if prior is None:
        return None
    vector = np.array(prior, float)
    if len(vector) != size:
        raise ValueError(f"prior has {len(vector)} weights, but these data have {size}; pass coef_ of a model of them")
    return vector
