"""Standard streams that are closed, or whose encoding lacks characters."""

from __future__ import annotations

import io
import os
import sys


class ClosedStreamError(OSError):
    """A closed stdin was read, or a closed stdout was written."""


def prepare_streams() -> None:
    """Replace closed streams, and escape characters that the encoding of stdout does not have."""
    # In this order, the null device gets the file descriptor of the closed stream, and no other file does.
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDWR)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed("stdin")), encoding="utf-8")
    if sys.stdout is None:
        os.open(os.devnull, os.O_RDWR)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed("stdout")), encoding="utf-8")
    if sys.stderr is None:
        os.open(os.devnull, os.O_RDWR)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the end
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


class _Closed(io.RawIOBase):
    """A standard stream that was closed at the start: its first use is an error."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._raised = False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _buffer: object) -> int:
        raise ClosedStreamError(f"{self._name} is closed.")

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self._raised:  # the interpreter flushes stdout again at exit
            return len(data)
        self._raised = True
        raise ClosedStreamError(f"{self._name} is closed.")
