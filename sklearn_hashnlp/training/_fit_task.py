"""The callbacks of scikit-learn (SLEP 23): ``fit`` is a task, and each of its epochs a subtask.

scikit-learn's decorator of ``fit`` calls their ``teardown``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:  # skorch, and torch with it, is imported where a net is trained
    from sklearn_hashnlp.training._callbacks import EpochReports

Method = TypeVar("Method", bound=Callable[..., Any])


class FitTask:
    """A call of ``fit`` of an estimator with callbacks."""

    def __init__(self, estimator: Any, arguments: dict[str, Any]) -> None:
        X, weights = arguments["X"], arguments.get("sample_weight")
        self._of_all = {
            "estimator": estimator,
            "X": None if isinstance(X, Iterator) or callable(X) else X,  # fit has read it, or it is read again
            "y": arguments.get("y"),
            "metadata": None if weights is None else {"sample_weight": weights},
        }
        self.trained = estimator  # whose net is trained: the estimator, or a part of it
        self.whole: Callable[[Any], Any] = lambda fitted: fitted  # the fitted estimator, given its trained part
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._epoch: Any = None
        self._has_begun = False

    def begin(self, n_epochs: int) -> None:
        """Report the beginning; the number of epochs is known."""
        self._context.max_subtasks, self._has_begun = n_epochs, True
        self._context.call_on_fit_task_begin(**self._of_all)

    def begin_epoch(self) -> None:
        """Report the beginning of an epoch."""
        self._epoch = self._context.subcontext(task_name="epoch")
        self._epoch.call_on_fit_task_begin(**self._of_all)

    def end_epoch(self, fitted: Callable[[], Any]) -> bool:
        """Report the end of an epoch; return whether a callback asks to stop.

        ``fitted`` returns an estimator with the current weights, which it shares with the training.
        """
        stop: bool = self._epoch.call_on_fit_task_end(
            **self._of_all, reconstruction_attributes=lambda: vars(self.whole(fitted()))
        )
        return stop

    def end(self) -> None:
        """Report the end."""
        if not self._has_begun:  # there was nothing to train
            self.begin(0)
        fitted = self._of_all["estimator"]
        self._context.call_on_fit_task_end(**self._of_all, reconstruction_attributes=lambda: vars(fitted))


_running: ContextVar[tuple[FitTask, ...]] = ContextVar("_running", default=())


def reported_to_callbacks(fit: Method) -> Method:
    """Decorate ``fit``, which trains with :func:`epoch_reports`: it calls the callbacks of ``set_callbacks``."""
    parameters = signature(fit)

    @wraps(fit)
    def fit_and_report(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, *args, **kwargs)
        try:
            arguments = parameters.bind(self, *args, **kwargs).arguments
        except TypeError:
            return fit(self, *args, **kwargs)  # which raises it
        task = FitTask(self, arguments)
        token = _running.set((*_running.get(), task))
        try:
            result = fit(self, *args, **kwargs)
            task.end()
        finally:
            _running.reset(token)
        return result

    return cast(Method, fit_and_report)


def _tasks_of(trained: Any) -> list[FitTask]:
    return [task for task in _running.get() if task.trained is trained]


def let_report(part: Any, estimator: Any, whole: Callable[[Any], Any]) -> None:
    """Let a part of an estimator report its epochs; ``whole`` returns the fitted estimator, given the fitted part."""
    for task in _tasks_of(estimator):
        task.trained, task.whole = part, whole


def begin_without_epochs(estimator: Any) -> None:
    """Report the beginning of a ``fit`` without a net."""
    for task in _tasks_of(estimator):
        task.begin(0)


def epoch_reports(estimator: Any, fitted: Callable[[], Any]) -> list[EpochReports]:
    """Return skorch callbacks that report the epochs, if there are callbacks to report to."""
    tasks = _tasks_of(estimator)
    if not tasks:
        return []
    from sklearn_hashnlp.training._callbacks import EpochReports

    return [EpochReports(task, fitted) for task in tasks]
