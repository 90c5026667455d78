"""Checks of scikit-learn's conventions for estimators of ragged inputs, where scikit-learn's own become empty."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

Check = Callable[[Any, Any, Any], None]


def structured_estimator_checks(estimator: Any, X: Any, Y: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (name, check): each check raises AssertionError when the estimator breaks a convention.

    Parameters
    ----------
    estimator : unfitted; fits must take a moment only.
    X, Y : at least ten examples it can learn from.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.make_chains(20, random_state=0)
    >>> for name, check in mm.structured_estimator_checks(mm.SequenceTagger(), X, Y):
    ...     check()
    """
    for check in _CHECKS:
        yield check.__name__.removeprefix("check_"), _bind(check, estimator, X, Y)


def _bind(check: Check, estimator: Any, X: Any, Y: Any) -> Callable[[], None]:
    def bound() -> None:
        try:
            check(clone(estimator), copy.deepcopy(X), copy.deepcopy(Y))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error

    return bound


def _same(first: Any, second: Any) -> bool:
    """Whether two lists of predictions agree, whatever they are made of."""
    if len(first) != len(second):
        return False
    return all(np.array_equal(np.asarray(a, object), np.asarray(b, object)) for a, b in zip(first, second, strict=True))


def check_parameters_are_kept(estimator: Any, X: Any, Y: Any) -> None:
    before = copy.deepcopy(estimator.get_params(deep=False))
    estimator.fit(X, Y)
    after = estimator.get_params(deep=False)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert type(value) is type(after[name]), f"fit changed the parameter {name}"
        assert repr(value) == repr(after[name]) or callable(value) or hasattr(value, "__dict__"), (
            f"fit changed the parameter {name} from {value!r} to {after[name]!r}"
        )


def check_clone_and_set_params(estimator: Any, X: Any, Y: Any) -> None:
    other = 0.123 if estimator.C != 0.123 else 0.321
    copied = clone(estimator).set_params(C=other)
    assert copied.get_params()["C"] == other
    assert estimator.get_params()["C"] != other
    assert not [name for name in vars(estimator) if name.endswith("_")], "unfitted estimators have no fitted attributes"


def check_fit_returns_self(estimator: Any, X: Any, Y: Any) -> None:
    assert estimator.fit(X, Y) is estimator


def check_inputs_are_not_changed(estimator: Any, X: Any, Y: Any) -> None:
    kept = copy.deepcopy((X, Y))
    estimator.fit(X, Y)
    estimator.predict(X)
    assert pickle.dumps(kept) == pickle.dumps((X, Y)), "fit or predict changed their arguments"


def check_unfitted(estimator: Any, X: Any, Y: Any) -> None:
    try:
        estimator.predict(X)
    except NotFittedError:
        return
    raise AssertionError("predict before fit must raise NotFittedError")


def check_repeats_bit_for_bit(estimator: Any, X: Any, Y: Any) -> None:
    first, second = clone(estimator).fit(X, Y), clone(estimator).fit(X, Y)
    assert np.array_equal(first.coef_, second.coef_), "two fits with the same random_state differ"
    threads = clone(estimator).set_params(n_jobs=2).fit(X, Y)
    assert np.array_equal(first.coef_, threads.coef_), "the result depends on n_jobs"


def check_certificate(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    certificate = estimator.certificate_
    assert certificate.dual <= certificate.primal * (1 + 1e-9)
    assert certificate.gap <= estimator.tol or estimator.stop_reason_ != "tol"
    assert certificate.oracle_calls > 0
    last = estimator.history_[-1]
    if "objective" in last:  # not convex: the certificate is about the last convex problem, which lies above
        assert last["objective"] <= certificate.primal * (1 + 1e-9)
    else:
        assert last["primal"] == certificate.primal


def check_sample_weight(estimator: Any, X: Any, Y: Any) -> None:
    """Weight 2 is the same as standing there twice; weight 0 the same as not standing there."""
    tight = clone(estimator).set_params(tol=1e-6, max_iter=5000)
    half = len(X) // 2
    weights = np.r_[np.full(half, 2.0), np.zeros(len(X) - half)]
    weighted = clone(tight).fit(X, Y, sample_weight=weights).certificate_
    repeated = clone(tight).fit([*X[:half], *X[:half]], [*Y[:half], *Y[:half]]).certificate_
    assert np.isclose(weighted.primal, repeated.primal, rtol=1e-5), "sample_weight is not the number of repetitions"


def check_predictions_do_not_depend_on_the_batch(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    together = estimator.predict(X)
    alone = [estimator.predict([x])[0] for x in X]
    assert _same(together, alone)


def check_pickle(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    again = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(again.coef_, estimator.coef_)
    assert _same(again.predict(X), estimator.predict(X))


def check_model_selection(estimator: Any, X: Any, Y: Any) -> None:
    scores = cross_val_score(estimator, X, Y, cv=2)
    assert np.isfinite(scores).all()
    search = GridSearchCV(estimator, {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert np.isfinite(search.best_score_)


def check_pipeline(estimator: Any, X: Any, Y: Any) -> None:
    pipeline = make_pipeline(FunctionTransformer(), estimator).fit(X, Y)
    assert _same(pipeline.predict(X), clone(estimator).fit(X, Y).predict(X))


def check_repr(estimator: Any, X: Any, Y: Any) -> None:
    name = type(estimator).__name__
    assert name in repr(estimator)
    assert name in estimator._repr_html_()


def check_bad_input(estimator: Any, X: Any, Y: Any) -> None:
    for bad_X, bad_Y, what in ((X, Y[:-1], "lengths that differ"), (X[:0], Y[:0], "no examples")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(estimator).fit(bad_X, bad_Y)
        except ValueError:
            continue
        raise AssertionError(f"{what}: fit must raise ValueError")


_CHECKS: list[Check] = [function for name, function in list(globals().items()) if name.startswith("check_")]
