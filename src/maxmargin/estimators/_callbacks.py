"""scikit-learn's callback API (``set_callbacks``), where the installed scikit-learn has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.training import Callback, Step

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9: the estimators' own `callbacks` parameter remains

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:  # type: ignore[no-redef]
        return method


def fit_callbacks(estimator: Any, X: Any, Y: Any) -> list[Callback]:
    """The estimator's own callbacks, and one that tells scikit-learn's of every step.

    In scikit-learn's terms a step is a task named "step" below the task "fit"; the fitted estimator they are given
    is the estimator with the best weights so far.
    """
    own = list(estimator.callbacks or ())
    if not hasattr(estimator, "_init_callback_context"):
        return own
    context = estimator._init_callback_context(max_subtasks=estimator.max_iter)
    if not getattr(estimator, "_skl_callbacks", None):
        return own
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=Y)

    def tell(step: Step) -> bool:
        inner = context.subcontext(task_name="step")
        fitted = estimator._fitted_attributes(step.weights)
        inner.call_on_fit_task_begin(estimator=estimator, X=X, y=Y)
        return bool(
            inner.call_on_fit_task_end(estimator=estimator, X=X, y=Y, reconstruction_attributes=fitted)
        )

    return [*own, tell]
