"""The entry point of ``hashnlp``, which handles Ctrl-C from the first import on."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Run the command line: the entry point of the ``hashnlp`` script and of ``python -m sklearn_hashnlp``.

    Examples
    --------
    >>> import sys
    >>> from sklearn_hashnlp.cli import main
    >>> sys.argv = ["hashnlp", "--version"]
    >>> main()
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # not ignored, as in a background job
        signal.signal(signal.SIGINT, _exit_interrupted)
    try:
        from sklearn_hashnlp.cli._app import app_for
        from sklearn_hashnlp.cli._screen import prepare_streams

        prepare_streams()

        app_for(sys.argv[1:])(prog_name="hashnlp")
    finally:
        signal.signal(signal.SIGINT, handler)


def _exit_interrupted(_number: int, _frame: FrameType | None) -> None:
    """Exit at once: an interrupted import may print a traceback or raise another error."""
    os.write(2, b"\nhashnlp: interrupted.\n")
    os._exit(_INTERRUPTED)
