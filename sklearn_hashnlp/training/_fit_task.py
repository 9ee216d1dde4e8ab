"""A call of ``fit``: an error undoes it, SIGINT ends it properly, callbacks of scikit-learn see it.

To these (SLEP 23) ``fit`` is a task, and each of its epochs a subtask. scikit-learn's decorator of
``fit`` calls their ``teardown``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from types import FrameType
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class StopTraining(Exception):  # noqa: N818 - as StopIteration
    """Raised by a callback to end the training after the current epoch."""


def is_report(callback: Any) -> bool:
    """Return whether a callback is a function that reports progress, without importing skorch."""
    return (
        callable(callback)
        and not isinstance(callback, type)
        and not hasattr(callback, "on_train_begin")
    )


class Interrupt:
    """The SIGINT during one call of ``fit``, if any."""

    def __init__(self) -> None:
        self.deferred = False  # whether to defer it: set at the start of the first epoch
        self.pending = False  # it was deferred, and is raised at the end of fit
        self.raised = False  # it was raised at once, before the first epoch or for the second time
        self._previous: Any = None  # the previous handler

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Install the handler; only the main thread receives signals."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
        # SIGINT is ignored, kills the process, or is not handled by Python
        if not callable(self._previous):
            yield
            return
        try:
            signal.signal(signal.SIGINT, self._handle)
            yield
        finally:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Call the previous handler; if it raises ``KeyboardInterrupt``, defer that."""
        try:
            self._previous(number, frame)
        except KeyboardInterrupt:
            if self.pending or not self.deferred:
                self.raised = True
                raise
            self.pending = True


class _Here(threading.local):
    """The current call of ``fit`` in this thread."""

    interrupt: Interrupt | None = None


_here = _Here()


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Defer a SIGINT's ``KeyboardInterrupt`` while a net is trained; raise a second at once."""
    outer, interrupt = _here.interrupt, Interrupt()
    _here.interrupt = interrupt
    try:
        with interrupt.handled():
            yield
    except Exception as error:
        if interrupt.pending:  # else a search would count a failed fit and continue
            raise KeyboardInterrupt from error
        raise
    finally:
        _here.interrupt = outer
    if interrupt.pending:
        raise KeyboardInterrupt


def current_interrupt() -> Interrupt:
    """Return the interrupt of this thread's ``fit``; outside of ``fit`` one that never occurs."""
    return _here.interrupt or Interrupt()


def atomic_fit(fit: Method) -> Method:
    """Decorate a fit method: an error restores the estimator, SIGINT leaves it fitted."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        with deferred_interrupt(), self._restored_on_error():
            return fit(self, *args, **kwargs)

    return cast(Method, fit_or_restore)


class FitTask:
    """A call of ``fit`` of an estimator with callbacks."""

    def __init__(self, estimator: Any, arguments: dict[str, Any]) -> None:
        X, weights = arguments["X"], arguments.get("sample_weight")
        self._of_all = {
            "estimator": estimator,
            # fit has read it, or it is read again
            "X": None if isinstance(X, Iterator) or callable(X) else X,
            "y": arguments.get("y"),
            "metadata": None if weights is None else {"sample_weight": weights},
        }
        self.trained = estimator  # whose net is trained: the estimator, or a part of it
        # the fitted estimator, given its trained part
        self.whole: Callable[[Any], Any] = lambda fitted: fitted
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
        self._context.call_on_fit_task_end(
            **self._of_all, reconstruction_attributes=lambda: vars(fitted)
        )


_running: ContextVar[tuple[FitTask, ...]] = ContextVar("_running", default=())


def reported_to_callbacks(fit: Method) -> Method:
    """Decorate ``fit``, which uses :func:`epoch_reports`, to call ``set_callbacks`` callbacks."""
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


def tasks_of(trained: Any) -> list[FitTask]:
    """Return the calls of ``fit`` that report the training of an estimator."""
    return [task for task in _running.get() if task.trained is trained]


def let_report(part: Any, estimator: Any, whole: Callable[[Any], Any]) -> None:
    """Let a part report an estimator's epochs; ``whole`` turns a fitted part into the estimator."""
    for task in tasks_of(estimator):
        task.trained, task.whole = part, whole


def begin_without_epochs(estimator: Any) -> None:
    """Report the beginning of a ``fit`` without a net."""
    for task in tasks_of(estimator):
        task.begin(0)
