"""The callbacks of scikit-learn (SLEP 23): ``fit`` is a task, and each of its epochs a subtask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn_hashnlp._sklearn import with_callbacks

if TYPE_CHECKING:  # skorch, and torch with it, is imported where a net is trained
    from sklearn_hashnlp.training._callbacks import EpochReports

Method = TypeVar("Method", bound=Callable[..., Any])


class FitTask:
    """A call of ``fit`` of an estimator with callbacks."""

    def __init__(self, estimator: Any, arguments: dict[str, Any]) -> None:
        X, weights = arguments["X"], arguments.get("sample_weight")
        self._of_all = {
            "estimator": estimator,
            "X": None if isinstance(X, Iterator) else X,  # fit has read an iterator when it is scored
            "y": arguments.get("y"),
            "metadata": None if weights is None else {"sample_weight": weights},
        }
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

    def end_epoch(self, fitted: Callable[[], Any] | None) -> bool:
        """Report the end of an epoch; return whether a callback asks to stop.

        ``fitted`` returns an estimator that predicts as if ``fit`` had ended here.
        """
        attributes = None if fitted is None else lambda: vars(fitted())
        stop: bool = self._epoch.call_on_fit_task_end(**self._of_all, reconstruction_attributes=attributes)
        return stop

    def end(self) -> None:
        """Report the end."""
        if not self._has_begun:  # there were no epochs
            self.begin(0)
        fitted = self._of_all["estimator"]
        self._context.call_on_fit_task_end(**self._of_all, reconstruction_attributes=lambda: vars(fitted))


def reported_to_callbacks(fit: Method) -> Method:
    """Decorate ``fit``, which trains with :func:`epoch_reports`: it calls the callbacks of ``set_callbacks``."""
    parameters = signature(fit)

    def fit_as_task(estimator: Any, arguments: dict[str, Any]) -> None:
        estimator._fit_task = FitTask(estimator, arguments)
        try:
            fit(**arguments)
            estimator._fit_task.end()
        finally:
            del estimator._fit_task

    @wraps(fit)
    def fit_and_report(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, *args, **kwargs)
        with_callbacks(fit_as_task)(self, parameters.bind(self, *args, **kwargs).arguments)
        return self

    return cast(Method, fit_and_report)


@contextmanager
def reported_by(part: Any, estimator: Any, whole: Callable[[Any], Any]) -> Iterator[None]:
    """Let a part of an estimator report its epochs; ``whole`` returns the fitted estimator, given the fitted part."""
    task = vars(estimator).get("_fit_task")
    if task is not None:
        part._fit_task, part._fitted_whole = task, whole
    try:
        yield
    finally:
        for name in ("_fit_task", "_fitted_whole"):
            vars(part).pop(name, None)


def epoch_reports(estimator: Any, fitted: Callable[[], Any] | None = None) -> list[EpochReports]:
    """Return the skorch callback that reports epochs, if there are callbacks to report to."""
    task, whole = (vars(estimator).get(name) for name in ("_fit_task", "_fitted_whole"))
    if task is None:
        return []
    from sklearn_hashnlp.training._callbacks import EpochReports

    return [EpochReports(task, fitted if whole is None or fitted is None else lambda: whole(fitted()))]
