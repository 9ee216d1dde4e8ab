"""Files that are written whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sklearn_hashnlp._posix import flush_to_disk, lock_file

UNFINISHED = ".unfinished-"  # begins the names of folders of what is not complete
_LOCK = "sklearn-hashnlp.lock"  # a file in such a folder, locked as long as its process lives
_MAX_AGE = 86_400.0  # seconds without a change after which a process is taken for dead, where there are no locks


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a file to write, which takes the place of ``path`` at the end.

    Whoever reads or is interrupted finds the old file or the new one. An error of the system names ``path``.
    """
    with errors_naming(path), replacing_files(path.parent, [path.name]) as folder:
        yield folder / path.name


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Name a path in errors of the system, in place of an unfinished file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a folder to write files of these names in, which at the end take their places in ``folder``, in this order.

    Nothing is replaced before all are complete and on the disk.
    """
    with unfinished_folder(folder) as unfinished:
        yield unfinished
        for name in names:
            flush_to_disk(unfinished / name)
        for name in names:
            (unfinished / name).replace(folder / name)
        flush_to_disk(folder)


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder within ``folder``, deleted at the end, and before that delete those of killed processes."""
    remove_abandoned(folder)
    path, lock = _make_locked(folder)  # within it, and so within its file system, where renaming is atomic
    try:
        yield path
    finally:
        with lock:
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)  # where open files cannot be deleted


def check_writable(folder: Path) -> None:
    """Check that files can be written in a folder: by writing, since os.access is wrong for root and network drives."""
    with unfinished_folder(folder):
        pass


def remove_abandoned(folder: Path) -> None:
    """Delete the unfinished folders of processes that were killed, but none of a process that is alive."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):  # BlockingIOError: it is locked
            _remove_if_abandoned(path)


def _make_locked(folder: Path) -> tuple[Path, IO[bytes]]:
    """Make a folder and lock the file in it; again, if another process meanwhile takes it for abandoned."""
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
        path.rmdir()  # an OSError if it is not empty, and so none of ours
        return
    with (path / _LOCK).open("r+b") as lock:
        if is_locked := lock_file(lock):
            shutil.rmtree(path)
    if not is_locked and time.time() - max(entry.stat().st_mtime for entry in (path, *path.rglob("*"))) > _MAX_AGE:
        shutil.rmtree(path)
