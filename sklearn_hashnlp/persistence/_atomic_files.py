"""Files that are written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sklearn_hashnlp._posix import flush_to_disk


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a file to write, which takes the place of ``path`` at the end.

    Whoever reads or is interrupted finds the old file or the new one. An error of the system names ``path``.
    """
    try:
        # Within the folder, and so within its file system, where renaming is atomic.
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as folder:
            unfinished = Path(folder, path.name)
            yield unfinished
            flush_to_disk(unfinished)
            unfinished.replace(path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
