"""Ctrl-C during training: noted by a handler of SIGINT, and raised when the training has ended in good order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupt:
    """The SIGINT of one call of ``fit``, which may never come."""

    def __init__(self) -> None:
        self.deferred = False  # whether there is something learned to keep: set when the first epoch begins
        self.pending = False  # it came, and is raised when fit ends
        self.raised = False  # it came before the first epoch, or again: the user does not want to wait
        self._previous: Any = None  # the handler that was there

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Install the handler, where Python has one in this thread: other threads never receive a signal."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
        if not callable(self._previous):  # SIGINT is ignored, kills the process, or is handled outside of Python
            yield
            return
        try:
            signal.signal(signal.SIGINT, self._handle)
            yield
        finally:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Call the handler that was there; if it raises ``KeyboardInterrupt``, as Python's own, defer that."""
        try:
            self._previous(number, frame)
        except KeyboardInterrupt:
            if self.pending or not self.deferred:
                self.raised = True
                raise
            self.pending = True


class _Here(threading.local):
    """The call of ``fit`` that this thread is in."""

    interrupt: Interrupt | None = None


_here = _Here()


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Raise the ``KeyboardInterrupt`` of a SIGINT at the end if a net is being trained; of a second one at once."""
    outer, interrupt = _here.interrupt, Interrupt()
    _here.interrupt = interrupt
    try:
        with interrupt.handled():
            yield
    except Exception as error:
        if interrupt.pending:  # else a search would count a failed fit, and go on
            raise KeyboardInterrupt from error
        raise
    finally:
        _here.interrupt = outer
    if interrupt.pending:
        raise KeyboardInterrupt


def current_interrupt() -> Interrupt:
    """Return the interrupt of the ``fit`` that this thread is in; outside of one, an interrupt that never comes."""
    return _here.interrupt or Interrupt()
