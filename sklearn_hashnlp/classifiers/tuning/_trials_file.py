"""The file of a search: a line of JSON per trial, so that a search that was interrupted continues."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sklearn_hashnlp._posix import lock_file
from sklearn_hashnlp.classifiers.tuning._result import Trial
from sklearn_hashnlp.classifiers.tuning._search_space import identity

_FORMAT = "sklearn-hashnlp trials"
_FORMAT_VERSION = 1


class TrialsFile:
    """A file that trials are appended to; locked while it is open. The first line says what the search is."""

    def __init__(self, path: str | os.PathLike[str], search: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self.trials = self._read({"format": _FORMAT, "format_version": _FORMAT_VERSION, **search})
        except BaseException:
            self._file.close()
            raise

    def find(self, params: Mapping[str, Any]) -> Trial | None:
        """Return the trial of some parameters, if there is one."""
        return self.trials.get(identity(params))

    def add(self, trial: Trial) -> None:
        """Append a trial, and flush it to the disk."""
        self._write(asdict(trial))

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            self._file.write(f"{json.dumps(value, default=repr)}\n".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(error.errno, f"a trial cannot be written ({error.strerror})", str(self.path)) from error

    def _lock(self) -> None:
        try:
            lock_file(self._file)
        except BlockingIOError:
            raise BlockingIOError(
                f"Another search is writing to {self.path}; wait until it has finished, or choose another file."
            ) from None

    def _read(self, search: dict[str, Any]) -> dict[str, Trial]:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]  # the last line may be incomplete
        if not whole:
            if content[:1] not in (b"", b"{"):
                raise self._wrong("its first line is not JSON")
            self._file.truncate(0)
            self._write(search)
            return {}
        try:
            first, *others = [json.loads(line) for line in whole.splitlines()]
            trials = [Trial(**one) for one in others]
        except (TypeError, ValueError) as error:
            raise self._wrong(f"a line is not a trial ({error})") from error
        if not isinstance(first, dict) or first.get("format") != _FORMAT:
            raise self._wrong("its first line is another")
        different = [name for name in search if first.get(name) != search[name]]
        if different:
            name = different[0]
            raise ValueError(
                f"{self.path} holds the trials of another search, with {name}={first.get(name)!r} instead of "
                f"{search[name]!r}. Delete it, or choose another file."
            )
        self._file.truncate(len(whole))
        return {identity(trial.params): trial for trial in trials}

    def _wrong(self, reason: str) -> ValueError:
        return ValueError(f"{self.path} is not a file of trials: {reason}. Choose another file.")

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def digest(*columns: Iterable[Any]) -> str:
    """Return a digest of texts and labels, by which a search recognizes its data."""
    hashed = sha256()
    for column in columns:
        for value in column:
            part = repr(sorted(value) if isinstance(value, set | frozenset) else value).encode("utf-8", "surrogatepass")
            hashed.update(len(part).to_bytes(8, "little") + part)
        hashed.update(b"\0" * 8)
    return hashed.hexdigest()
