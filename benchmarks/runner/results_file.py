"""Files of results as JSON lines, which stay valid if the process is killed at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeGuard

from benchmarks.runner.recipe import Result
from sklearn_hashnlp._posix import lock_file


def read_results(path: str | os.PathLike[str]) -> list[Result]:
    """Read the results in a file."""
    path = Path(path)
    with path.open("rb") as file:
        return _read(path, file)[0]


def run_identity(recipe: str, settings: Mapping[str, Any], seed: int) -> str:
    """Return a string that all results of one run share, and no result of another run."""
    return json.dumps([recipe, settings, seed], sort_keys=True)


def identity_of(result: Result) -> str:
    """Return the identity of the run that a result belongs to."""
    return run_identity(result["recipe"], result["settings"], result["seed"])


def completed_steps(results: Sequence[Result], identity: str) -> list[Result]:
    """Return the first results of a run, up to the first missing step."""
    steps = {result.get("step"): result for result in results if identity_of(result) == identity}
    completed: list[Result] = []
    while len(completed) in steps:
        completed.append(steps[len(completed)])
    return completed


class ResultsFile:
    """A file that results are appended to; locked while it is open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise ValueError(
                f"{self.path} must be a file, so that results can be appended to it; it is none."
            )
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            self.results, n_bytes = _read(self.path, self._file)
            self._file.truncate(n_bytes)
            self._file.seek(max(n_bytes - 1, 0))
            if self._file.read() not in (b"", b"\n"):
                self._file.write(b"\n")
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        """Lock the file; the operating system releases the lock however this process ends."""
        try:
            lock_file(self._file)
        except BlockingIOError:
            raise BlockingIOError(
                f"Another run is writing to {self.path}; wait until it has finished, or choose "
                "another file."
            ) from None

    def add(self, result: Result) -> None:
        """Append a result and flush it to the disk."""
        try:
            self._file.write(f"{json.dumps(result)}\n".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(
                error.errno,
                f"a result cannot be written ({error.strerror}). Once it can, run the same "
                "command again: it resumes after the last result in the file.",
                str(self.path),
            ) from error

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Closing flushes again; where that fails after a failed write, the first error must be the
        # one that is raised.
        with nullcontext() if error is None else suppress(OSError):
            self.close()


def _read(path: Path, file: BinaryIO) -> tuple[list[Result], int]:
    """Return the results, and the number of bytes before an incomplete last line."""
    results, n_bytes = [], 0
    for number, line in enumerate(file, 1):
        try:
            value = json.loads(line) if line.strip() else None
        except ValueError:  # not JSON, or not UTF-8
            # An incomplete result starts like this and is cut off; any other text may belong to
            # another program.
            if line[:2] in (b"{", b'{"') and not line.endswith(b"\n"):
                break
            raise ValueError(
                f"{path}, line {number} is not JSON. The file must hold JSON lines, as "
                "`python -m benchmarks run --output FILE` writes them."
            ) from None
        n_bytes += len(line)
        if _is_result(value):
            results.append(value)
    return results, n_bytes


def _is_result(value: object) -> TypeGuard[Result]:
    kinds = {"recipe": str, "seed": int, "settings": dict}
    return isinstance(value, dict) and all(
        isinstance(value.get(name), kind) for name, kind in kinds.items()
    )
