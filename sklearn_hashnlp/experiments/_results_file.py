"""Results in a file of JSON lines, which a kill at any moment leaves in order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, BinaryIO, Self, TypeGuard

from sklearn_hashnlp.experiments._recipe import Result

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows has none; there the user alone sees to it that one program writes at a time
    fcntl = None


def read_results(path: str | os.PathLike[str]) -> list[Result]:
    """Read the results that a file holds."""
    path = Path(path)
    with path.open("rb") as file:
        return _read(path, file)[0]


def run_identity(recipe: str, settings: Mapping[str, Any], seed: int) -> str:
    """Name a run: what is the same for all its results, and for no result of another."""
    return json.dumps([recipe, settings, seed], sort_keys=True)


def identity_of(result: Result) -> str:
    """Name the run that a result belongs to."""
    return run_identity(result["recipe"], result["settings"], result["seed"])


def first_steps(results: Sequence[Result], identity: str) -> list[Result]:
    """Return the first results of a run, up to the first that is not there."""
    steps = {result.get("step"): result for result in results if identity_of(result) == identity}
    found: list[Result] = []
    while len(found) in steps:
        found.append(steps[len(found)])
    return found


class ResultsFile:
    """A file of results that is added to; only one program at a time has it open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"{self.path} must be a file, to add results to and to go on with; it is none.")
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            self.results, whole = _read(self.path, self._file)
            self._file.truncate(whole)
            self._file.seek(max(whole - 1, 0))
            if self._file.read() not in (b"", b"\n"):
                self._file.write(b"\n")
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        """Keep other programs out; the system lets go of the lock however this program ends."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(
                f"{self.path} is being added to by another run; wait for its end, or give another file."
            ) from None
        except OSError:  # some network drives know no locks
            pass

    def add(self, result: Result) -> None:
        """Write a result, so that it is there even if the machine stops."""
        try:
            self._file.write(f"{json.dumps(result)}\n".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(
                error.errno,
                f"a result cannot be added ({error.strerror}). Once it can, the same command goes on after the last "
                "one that is there.",
                str(self.path),
            ) from error

    def close(self) -> None:
        """Let another program add to the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What could not be written cannot be on closing either; the first error says so.
        with nullcontext() if error is None else suppress(OSError):
            self.close()


def _read(path: Path, file: BinaryIO) -> tuple[list[Result], int]:
    """Read results, and tell how many bytes are whole lines."""
    found, whole = [], 0
    for number, line in enumerate(file, 1):
        try:
            value = json.loads(line) if line.strip() else None
        except ValueError:  # no JSON, or no UTF-8
            # Results begin so; anything else that is no JSON is somebody's text, and nothing to cut off.
            if line[:2] in (b"{", b'{"') and not line.endswith(b"\n"):
                break
            raise ValueError(
                f"{path}, line {number} is no JSON. The file must hold JSON lines, as they are written by "
                "`hashnlp experiments run --output FILE`."
            ) from None
        whole += len(line)
        if _is_result(value):
            found.append(value)
    return found, whole


def _is_result(value: object) -> TypeGuard[Result]:
    kinds = {"recipe": str, "seed": int, "settings": dict}
    return isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())
