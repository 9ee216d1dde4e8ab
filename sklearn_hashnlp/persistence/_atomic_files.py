"""Write files atomically."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sklearn_hashnlp._posix import flush_to_disk, lock_file

UNFINISHED = ".unfinished-"  # prefix of folders with incomplete files
_LOCK = "sklearn-hashnlp.lock"  # a file in such a folder, locked while its process is alive
# seconds without a change after which a folder is abandoned, on systems without locks
_MAX_AGE = 86_400.0


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces ``path`` atomically; system errors name ``path``."""
    with errors_naming(path), replacing_files(path.parent, [path.name]) as folder:
        yield folder / path.name


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Replace the name of an unfinished file by ``path`` in system errors."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a folder for files that finally replace ``names`` in ``folder``, in this order."""
    with unfinished_folder(folder) as unfinished:
        yield unfinished
        for name in names:
            flush_to_disk(unfinished / name)
        for name in names:
            (unfinished / name).replace(folder / name)
        flush_to_disk(folder)


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder within ``folder``, and delete those of killed processes."""
    remove_abandoned(folder)
    path, lock = _make_locked(folder)  # on the same file system, where renaming is atomic
    try:
        yield path
    finally:
        with lock:
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)  # on systems that do not delete open files


def check_writable(folder: Path) -> None:
    """Check that a folder is writable by writing; os.access errs for root and network drives."""
    with unfinished_folder(folder):
        pass


def remove_abandoned(folder: Path) -> None:
    """Delete the unfinished folders of killed processes."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):  # BlockingIOError: it is locked
            _remove_if_abandoned(path)


def _make_locked(folder: Path) -> tuple[Path, IO[bytes]]:
    """Create a folder with a locked file, again if another process deletes it as abandoned."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
        with suppress(FileNotFoundError):
            lock = (path / _LOCK).open("xb")
            with suppress(BlockingIOError):
                lock_file(lock)
                if (path / _LOCK).exists():
                    return path, lock
            lock.close()


def _remove_if_abandoned(path: Path) -> None:
    if not (path / _LOCK).exists():
        path.rmdir()  # an OSError if it is not empty, so not created here
        return
    with (path / _LOCK).open("r+b") as lock:
        if is_locked := lock_file(lock):
            shutil.rmtree(path)
    if (
        not is_locked
        and time.time() - max(entry.stat().st_mtime for entry in (path, *path.rglob("*")))
        > _MAX_AGE
    ):
        shutil.rmtree(path)
