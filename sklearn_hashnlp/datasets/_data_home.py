"""The folder where data sets are kept."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DATA_VARIABLE = "HASHNLP_DATA"
USUAL_FOLDER = "~/sklearn_hashnlp_data"


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder where data sets are kept, which need not exist."""
    return Path(folder or os.environ.get(DATA_VARIABLE) or USUAL_FOLDER).expanduser()


@contextmanager
def written_in(folder: Path, name: str) -> Iterator[None]:
    """Say what can be done, where a folder turns out to be full, or not to be written; other errors pass."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        if not full and error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        what = "the disk is full" if full else "the folder must not be written"
        raise OSError(
            error.errno,
            f"{name} cannot be saved in {folder}: {what} ({error.strerror}). Name another folder with data_home, or "
            f"with the variable {DATA_VARIABLE}.",
        ) from error
