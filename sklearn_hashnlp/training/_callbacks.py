"""skorch callbacks: time limits, logging, the progress bar of an epoch."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, TextIO, TypeVar

import numpy as np
from skorch.callbacks import Callback, EpochTimer, PrintLog, ProgressBar

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp.training._fit_task import StopTraining, is_report, tasks_of

_MAX_PRINTED_LOSS = 20.0  # perplexity of 10**8; larger ones are printed in scientific notation
_LOGGED_WINDOWS = 2**13  # two digits of the loss in a tenth of a second

_Kind = TypeVar("_Kind")
_PRINTERS = (PrintLog, ProgressBar)


def callbacks_of_kind(callbacks: Iterable[Any], kind: type[_Kind]) -> list[_Kind]:
    """Return the callbacks of a class among a user's, which may be pairs of name and callback."""
    return [each for each in map(_unnamed, callbacks) if isinstance(each, kind)]


def without_kind(callbacks: Iterable[Any], kind: type) -> tuple[Any, ...]:
    """Return a user's callbacks without those of a class."""
    return tuple(each for each in callbacks if not isinstance(_unnamed(each), kind))


def _unnamed(callback: Any) -> Any:
    return callback[1] if isinstance(callback, tuple | list) else callback


def only_show(callbacks: Iterable[Any], *, printers: bool = True) -> bool:
    """Return whether callbacks only show progress: reporting functions, and skorch's printers."""
    return all(is_report(each) or (printers and _prints(_unnamed(each))) for each in callbacks)


def _prints(callback: Any) -> bool:
    return issubclass(callback if isinstance(callback, type) else type(callback), _PRINTERS)


def check_callbacks(callbacks: Iterable[Any]) -> None:
    """Check the numbers of the time limits and logs among a user's callbacks."""
    for limit in callbacks_of_kind(callbacks, TimeLimit):
        limit._check()
    for log in callbacks_of_kind(callbacks, StepLog):
        log.check()


class EpochClock(EpochTimer):  # type: ignore[misc]  # skorch has no types
    """Record the seconds of an epoch."""

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Start the clock."""
        self.epoch_start_time_ = perf_counter()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Record the seconds."""
        net.history.record("dur", perf_counter() - self.epoch_start_time_)


class TimeLimit(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop the training after some seconds, but not before the first step.

    A callback for ``callbacks`` of the estimators. The current epoch becomes the last: with early
    stopping, the weights of the best epoch are restored. A linear schedule is cut short, and
    weights are only averaged in the last quarter of the planned steps. Of several limits the
    shortest applies. ``partial_fit`` ignores it, and it is not saved with models.

    Parameters
    ----------
    seconds : float
        Maximum time for training in seconds.

    Examples
    --------
    >>> from sklearn_hashnlp import HashEmbeddingClassifier
    >>> from sklearn_hashnlp.training import TimeLimit
    >>> model = HashEmbeddingClassifier(
    ...     max_epochs=1000, callbacks=[TimeLimit(60)]
    ... )
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"TimeLimit({self.seconds!r})"

    def _check(self) -> None:
        if not isinstance(self.seconds, int | float | np.number) or not self.seconds > 0:
            raise ValueError(
                f"TimeLimit needs a number of more than 0 seconds, got {self.seconds!r}."
            )

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Set the deadline."""
        self._check()
        end = time.perf_counter() + self.seconds
        net.deadline = end if net.deadline is None else min(end, net.deadline)


class StepLog(Callback):  # type: ignore[misc]  # skorch has no types
    """Log the training and validation loss every ``every`` steps of an epoch.

    A callback for ``callbacks`` of :class:`~sklearn_hashnlp.language.HsigmoidLanguageModel` and
    :class:`~sklearn_hashnlp.sentences.SGNNSentenceEncoder`, which also logs the score of its
    ``scoring``. The entries are printed if ``verbose=2`` is set.

    Parameters
    ----------
    every : int
        Number of steps between entries; counted anew in every epoch.

    Attributes
    ----------
    log_ : list of dict
        The entries: ``epoch``, ``step``, ``train_loss``, the mean since the last entry, and for a
        language model with validation sentences ``valid_loss``, the loss on 8192 evenly spaced
        words. The model has the same list.

    Examples
    --------
    >>> from sklearn_hashnlp.language import HsigmoidLanguageModel
    >>> from sklearn_hashnlp.training import StepLog
    >>> model = HsigmoidLanguageModel(
    ...     callbacks=[StepLog(10)], batch_size=8, max_epochs=2
    ... )
    >>> [entry["step"] for entry in model.fit(["a b c d e"] * 20).log_]
    [10, 10]
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self.log_: list[dict[str, float]] = []

    def __repr__(self) -> str:
        return f"StepLog({self.every!r})"

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Check the number of steps."""
        self.check()

    def check(self) -> None:
        """Check the number of steps."""
        if not is_integer(self.every) or self.every < 1:
            raise ValueError(
                f"StepLog needs an integer of at least 1 step between entries, got {self.every!r}."
            )

    def on_epoch_begin(self, _net: Any, dataset_valid: Any = None, **_: Any) -> None:
        """Reset the sums."""
        # skorch treats names without a trailing underscore as parameters
        self._n_steps_ = self._n_words_ = 0
        self._sum_ = 0.0
        self._valid_ = (
            None if dataset_valid is None else dataset_valid.X.evenly_spaced(_LOGGED_WINDOWS)
        )

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Count a step."""
        if not training:
            return
        self._n_steps_ += 1
        self._sum_ += net.history[-1]["batches"][-1]["train_loss"] * len(batch[0])
        self._n_words_ += len(batch[0])
        if self._n_steps_ % self.every:
            return
        entry = {
            "epoch": len(net.history),
            "step": self._n_steps_,
            "train_loss": self._sum_ / self._n_words_,
        }
        if self._valid_ is not None:
            entry["valid_loss"] = -float(net.score_windows(self._valid_).mean())
        self._sum_, self._n_words_ = 0.0, 0
        self.log_.append(entry)
        if net.verbose > 1:
            print(_step_line(entry), flush=True)

    def on_epoch_end(self, _net: Any, **_: Any) -> None:
        """Release the validation sentences."""
        self._valid_ = None


class EpochLog(PrintLog):  # type: ignore[misc]  # skorch has no types
    """Print a line with the metrics of every epoch; on a terminal the best ones are colored."""

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Print the line if there is a standard output; services have none."""
        if net.verbose and sys.stdout is not None:
            super().on_epoch_end(net, **kwargs)

    def format_row(self, row: dict[str, Any], key: str, color: str) -> Any:
        """Format one metric."""
        if isinstance(row[key], float) and row[key] > math.exp(_MAX_PRINTED_LOSS):
            return f"~{row[key]:.0e}"  # a string: a number would be printed with all digits
        return super().format_row(
            row if _shows_colors(sys.stdout) else row | {f"{key}_best": False}, key, color
        )


class EpochBar(ProgressBar):  # type: ignore[misc]  # skorch has no types
    """Draw a progress bar for the batches of an epoch on stderr."""

    @classmethod
    def is_shown(cls) -> bool:
        """Return whether stderr is a terminal or a notebook."""
        return cls().in_ipynb() or _is_terminal(sys.stderr)

    def _use_notebook(self) -> bool:
        """Draw text in notebooks as well, since a widget needs ipywidgets."""
        return False

    def on_train_end(self, _net: Any, **_: Any) -> None:
        """Remove the bar of an interrupted epoch."""
        if hasattr(self, "pbar_"):
            self.pbar_.close()


class ProgressReports(Callback):  # type: ignore[misc]  # skorch has no types
    """Call a function before each batch and after each epoch."""

    def __init__(self, report: Callable[[float, int, list[dict[str, Any]]], object]) -> None:
        self.report = report

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Set the number of epochs, with those before an interruption."""
        self._n_epochs_ = len(net.history) + net.max_epochs

    def on_epoch_begin(self, _net: Any, dataset_train: Any = None, **_: Any) -> None:
        """Start to count."""
        self._n_rows_, self._n_seen_ = len(dataset_train), 0

    def on_batch_begin(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Report before a batch: to read its loss at its end would synchronize with a GPU."""
        if training:
            self._report(net)
            self._n_seen_ += len(batch[1])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Report the epoch."""
        self._report(net)

    def _report(self, net: Any) -> None:
        n_finished = len(net.history) - 1
        self.report(n_finished + self._n_seen_ / self._n_rows_, self._n_epochs_, net.history)


def as_callbacks(given: Iterable[Any]) -> list[Any]:
    """Return a user's callbacks as callbacks of skorch."""
    return [ProgressReports(each) if is_report(each) else each for each in given]


class EpochReports(Callback):  # type: ignore[misc]  # skorch has no types
    """Report the epochs to the callbacks of scikit-learn."""

    def __init__(self, task: Any, fitted: Any) -> None:
        self.task = task  # a FitTask, called with what returns the fitted estimator
        self.fitted = fitted

    def release(self) -> None:
        """Drop the training data, since the net keeps its callbacks."""
        self.task = self.fitted = None

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Report the number of epochs."""
        self.task.begin(net.max_epochs)

    def on_epoch_begin(self, _net: Any, **_: Any) -> None:
        """Report the beginning of an epoch."""
        self.task.begin_epoch()

    def on_epoch_end(self, _net: Any, **_: Any) -> None:
        """Report the end of an epoch; stop the training if a callback asks for it."""
        if self.task.end_epoch(self.fitted):
            raise StopTraining


def epoch_reports(estimator: Any, fitted: Callable[[], Any]) -> list[EpochReports]:
    """Return callbacks that report the epochs to scikit-learn's callbacks, if there are any."""
    return [EpochReports(task, fitted) for task in tasks_of(estimator)]


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None: a process without streams


def _shows_colors(stream: TextIO | None) -> bool:
    """Return whether to print colors, by NO_COLOR and FORCE_COLOR (which notebooks set)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        _is_terminal(stream) and os.environ.get("TERM") != "dumb"
    )


def _step_line(entry: dict[str, float]) -> str:
    parts = [f"epoch {entry['epoch']}, step {entry['step']}: train loss {entry['train_loss']:.4f}"]
    parts.append(f"perplexity {format_perplexity(entry['train_loss'])}")
    if "valid_loss" in entry:
        parts.append(f"valid loss {entry['valid_loss']:.4f}")
        parts.append(f"perplexity {format_perplexity(entry['valid_loss'])}")
    return ", ".join(parts)


def perplexity(loss: float) -> float:
    """Compute the perplexity of a loss, limited to the range of float64."""
    return math.exp(min(loss, 700.0))


def format_perplexity(loss: float, n_digits: int = 2) -> str:
    """Format the perplexity of a loss."""
    return (
        f"{perplexity(loss):.{n_digits}f}"
        if loss < _MAX_PRINTED_LOSS
        else f"{perplexity(loss):.1e}"
    )
