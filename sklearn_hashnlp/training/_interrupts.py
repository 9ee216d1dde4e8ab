"""Ctrl-C during training: SIGINT is deferred until training has stopped properly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class StopTraining(Exception):  # noqa: N818 - as StopIteration
    """Raised by a callback to end the training after the current epoch."""


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
        if not callable(self._previous):  # SIGINT is ignored, kills the process, or is not handled by Python
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
    """Raise the ``KeyboardInterrupt`` of a SIGINT at the end if a net is being trained; a second one at once."""
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
    """Return the interrupt of the current ``fit`` in this thread; outside of ``fit`` one that never occurs."""
    return _here.interrupt or Interrupt()
