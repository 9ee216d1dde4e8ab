"""The entry point of ``hashnlp``, which handles Ctrl-C from the first import on."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Run the command line: the entry point of ``hashnlp`` and ``python -m sklearn_hashnlp``.

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

        _prepare_streams()
        app_for(sys.argv[1:])(prog_name="hashnlp")
    finally:
        signal.signal(signal.SIGINT, handler)


def _exit_interrupted(_number: int, _frame: FrameType | None) -> None:
    """Exit at once: an interrupted import may print a traceback or raise another error."""
    os.write(2, b"\nhashnlp: interrupted.\n")
    os._exit(_INTERRUPTED)


def _prepare_streams() -> None:
    """Exit without a stdout, and escape characters that its encoding does not have."""
    if sys.stderr is None:
        # open until the end
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.exit("hashnlp: stdout is closed.")
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
