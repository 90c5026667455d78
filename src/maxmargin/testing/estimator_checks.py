"""Checks of scikit-learn's conventions for estimators of structured data, which scikit-learn's checks skip."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer


@dataclass(frozen=True)
class _Data:
    """Examples, and the group of each if the estimator needs groups."""

    X: Any
    Y: Any
    groups: Any = None

    @property
    def more(self) -> dict[str, Any]:
        """Return the arguments of `fit` and `score` besides X and Y."""
        return {} if self.groups is None else {"groups": self.groups}

    def fit(self, estimator: Any) -> Any:
        return estimator.fit(self.X, self.Y, **self.more)


Check = Callable[[Any, _Data], None]

#: Reasons to stop that say nothing about the gap.
_ENDED_EARLY = ("callback", "interrupted", "max_seconds", "max_outer")


def structured_estimator_checks(
    estimator: Any, X: Any, Y: Any, *, groups: Any = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (name, check) pairs; a check raises AssertionError if the estimator breaks a convention of scikit-learn.

    Parameters
    ----------
    estimator : estimator
        The unfitted estimator; its fits should be fast.
    X, Y : sequence
        At least ten examples that the estimator can learn from.
    groups : sequence, default=None
        The group of each example, for estimators whose `fit` and `score` take ``groups``, such as `StructuredRanker`.

    Yields
    ------
    name : str
        Name of the check.
    check : callable
        The check, without parameters.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_chains(20, random_state=0)
    >>> for name, check in mm.testing.structured_estimator_checks(mm.SequenceTagger(), X, Y):
    ...     check()
    """
    weighted = "sample_weight" in signature(estimator.fit).parameters
    for check in _CHECKS:
        if weighted or check is not check_sample_weight:
            yield check.__name__.removeprefix("check_"), _bind(check, estimator, _Data(X, Y, groups))


def _bind(check: Check, estimator: Any, data: _Data) -> Callable[[], None]:
    def bound() -> None:
        try:
            check(clone(estimator), copy.deepcopy(data))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error

    return bound


def _same(first: Any, second: Any) -> bool:
    """Return whether two lists of predictions are equal, of any type."""
    return len(first) == len(second) and all(map(_equal, first, second))


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, float):  # a score, whose terms may be summed in another order in a batch
        return bool(np.isclose(first, second, rtol=1e-12, atol=1e-12))
    return np.array_equal(np.asarray(first, object), np.asarray(second, object))


def check_parameters_are_kept(estimator: Any, data: _Data) -> None:
    """Check that `fit` does not change the parameters."""
    before = copy.deepcopy(estimator.get_params(deep=False))
    data.fit(estimator)
    after = estimator.get_params(deep=False)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert type(value) is type(after[name]), f"fit changed the parameter {name}"
        assert repr(value) == repr(after[name]) or callable(value) or hasattr(value, "__dict__"), (
            f"fit changed the parameter {name} from {value!r} to {after[name]!r}"
        )


def check_clone_and_set_params(estimator: Any, data: _Data) -> None:
    """Check that a clone has the same parameters and can be changed independently."""
    other = 0.123 if estimator.C != 0.123 else 0.321
    copied = clone(estimator).set_params(C=other)
    assert copied.get_params()["C"] == other
    assert estimator.get_params()["C"] != other
    assert not [name for name in vars(estimator) if name.endswith("_")], "unfitted estimators have no fitted attributes"


def check_fit_returns_self(estimator: Any, data: _Data) -> None:
    """Check that `fit` returns the estimator."""
    assert data.fit(estimator) is estimator


def check_inputs_are_not_changed(estimator: Any, data: _Data) -> None:
    """Check that `fit` and `predict` do not change their arguments."""
    kept = copy.deepcopy(data)
    data.fit(estimator)
    estimator.predict(data.X)
    assert pickle.dumps(kept) == pickle.dumps(data), "fit or predict changed their arguments"


def check_unfitted(estimator: Any, data: _Data) -> None:
    """Check that `predict` before `fit` raises NotFittedError."""
    try:
        estimator.predict(data.X)
    except NotFittedError:
        return
    raise AssertionError("predict before fit must raise NotFittedError")


def check_repeats_bit_for_bit(estimator: Any, data: _Data) -> None:
    """Check that two fits, with any number of threads, have the same weights."""
    first, second = data.fit(clone(estimator)), data.fit(clone(estimator))
    assert np.array_equal(first.coef_, second.coef_), "two fits with the same random_state differ"
    threads = data.fit(clone(estimator).set_params(n_jobs=2))
    assert np.array_equal(first.coef_, threads.coef_), "the result depends on n_jobs"


def check_certificate(estimator: Any, data: _Data) -> None:
    """Check that the certificate agrees with history, stopping reason and the certificate of a looser fit."""
    data.fit(estimator)
    certificate, reason = estimator.certificate_, estimator.stop_reason_
    assert certificate.dual <= certificate.primal * (1 + 1e-9), "the lower bound is above the objective"
    if reason not in _ENDED_EARLY:
        reached = certificate.gap <= estimator.tol and (certificate.proven or certificate.proven_gap <= estimator.tol)
        assert (reason == "tol") == reached, f"stop_reason_ is {reason!r}, tol {estimator.tol}, and {certificate}"
    assert certificate.oracle_calls > 0
    last = estimator.history_[-1]
    if certificate.outer_steps:  # not convex: the certificate is about the last convex problem, an upper bound
        assert last["objective"] <= certificate.primal * (1 + 1e-9)
        return
    assert last["primal"] == certificate.primal
    looser = data.fit(clone(estimator).set_params(tol=max(0.2, estimator.tol))).certificate_
    for one, other in ((certificate, looser), (looser, certificate)):
        assert one.dual <= other.primal_bound * (1 + 1e-9), f"two fits contradict each other: {one}; {other}"


def check_sample_weight(estimator: Any, data: _Data) -> None:
    """Check that weight 2 equals a repeated example and weight 0 an omitted one."""
    X, Y = data.X, data.Y
    tight = clone(estimator).set_params(tol=1e-6, max_iter=5000)
    half = len(X) // 2
    weights = np.r_[np.full(half, 2.0), np.zeros(len(X) - half)]
    weighted = clone(tight).fit(X, Y, sample_weight=weights).certificate_
    repeated = clone(tight).fit([*X[:half], *X[:half]], [*Y[:half], *Y[:half]]).certificate_
    same = np.isclose(weighted.primal, repeated.primal, rtol=1e-5)
    if not (weighted.exact and repeated.exact):  # an approximate argmax finds other outputs; what is proven must agree
        same = weighted.dual <= repeated.primal_bound and repeated.dual <= weighted.primal_bound
    assert same, "sample_weight is not the number of repetitions"


def check_predictions_do_not_depend_on_the_batch(estimator: Any, data: _Data) -> None:
    """Check that an input has the same prediction alone and among others."""
    data.fit(estimator)
    together = estimator.predict(data.X)
    alone = [estimator.predict([x])[0] for x in data.X]
    assert _same(together, alone)


def check_pickle(estimator: Any, data: _Data) -> None:
    """Check that a pickled estimator makes the same predictions."""
    data.fit(estimator)
    again = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(again.coef_, estimator.coef_)
    assert _same(again.predict(data.X), estimator.predict(data.X))


def check_model_selection(estimator: Any, data: _Data) -> None:
    """Check that cross-validation and grid search work."""
    if data.groups is None:
        scores = cross_val_score(estimator, data.X, data.Y, cv=2)
        search = GridSearchCV(estimator, {"C": [0.1, 1.0]}, cv=2).fit(data.X, data.Y)
    else:
        with config_context(enable_metadata_routing=True):
            estimator = estimator.set_fit_request(groups=True).set_score_request(groups=True)
            scores = cross_val_score(estimator, data.X, data.Y, cv=GroupKFold(2), params=data.more)
            search = GridSearchCV(estimator, {"C": [0.1, 1.0]}, cv=GroupKFold(2)).fit(data.X, data.Y, **data.more)
    assert np.isfinite(scores).all()
    assert np.isfinite(search.best_score_)


def check_pipeline(estimator: Any, data: _Data) -> None:
    """Check that the estimator works as the last step of a pipeline."""
    pipeline = Pipeline([("same", FunctionTransformer()), ("last", clone(estimator))])
    pipeline.fit(data.X, data.Y, **{f"last__{name}": value for name, value in data.more.items()})
    assert _same(pipeline.predict(data.X), data.fit(estimator).predict(data.X))


def check_repr(estimator: Any, data: _Data) -> None:
    """Check that text and HTML representations contain the name of the estimator."""
    name = type(estimator).__name__
    assert name in repr(estimator)
    assert name in estimator._repr_html_()


def check_bad_input(estimator: Any, data: _Data) -> None:
    """Check that different lengths and empty data raise ValueError."""
    X, Y, groups = data.X, data.Y, data.groups
    nothing = _Data(X[:0], Y[:0], None if groups is None else groups[:0])
    for bad, what in ((_Data(X, Y[:-1], groups), "different lengths"), (nothing, "no examples")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                bad.fit(clone(estimator))
        except ValueError:
            continue
        raise AssertionError(f"{what}: fit must raise ValueError")


_CHECKS: list[Check] = [function for name, function in list(globals().items()) if name.startswith("check_")]
