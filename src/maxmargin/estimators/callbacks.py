"""scikit-learn's callback API (``set_callbacks``), if the installed scikit-learn has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from maxmargin._base.types import FloatArray
from maxmargin.training.run import Callback, Step

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9: only the estimators' parameter `callbacks` is available

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement of scikit-learn's mixin."""

    def _with_callbacks(method: Method) -> Method:
        return method


def with_callbacks(method: Method) -> Method:
    """Return the method with the same type; scikit-learn's callbacks are ended when it ends or fails."""
    managed: Method = _with_callbacks(method)
    return managed


def callback_list(callbacks: Any) -> list[Callback]:
    """Return None, one function or several as a list."""
    if callbacks is None:
        return []
    listed = [callbacks] if callable(callbacks) or not isinstance(callbacks, Iterable) else list(callbacks)
    for callback in listed:
        if not callable(callback):
            raise ValueError(f"callbacks must be functions of a Step, found {callback!r}")
    return listed


class FitCallbacks:
    """The callbacks of the estimator and of scikit-learn, called after every step.

    In scikit-learn's terms a step is a task named "step" below the task "fit"; the fitted estimator passed to callbacks
    has the best weights so far.
    """

    def __init__(self, estimator: Any, X: Any, Y: Any, structure: Any) -> None:
        self.estimator, self.data, self.structure = estimator, {"X": X, "y": Y}, structure
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=estimator.max_iter)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __iter__(self) -> Iterator[Callback]:
        yield from callback_list(self.estimator.callbacks)
        if getattr(self.estimator, "_skl_callbacks", None):
            yield self._tell

    def _tell(self, step: Step) -> bool:
        inner = self.context.subcontext(task_name="step")  # type: ignore[union-attr]
        inner.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self._end(inner, step.weights)

    def _end(self, context: Any, weights: FloatArray) -> bool:
        fitted = partial(self.estimator._fitted_attributes, weights, self.structure)
        return bool(
            context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes=fitted)
        )

    def finish(self, weights: FloatArray) -> None:
        """End the callbacks of a fit that has found these weights."""
        if self.context is not None:
            self._end(self.context, weights)
