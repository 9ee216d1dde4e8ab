"""A disk that is full and folders that are read-only, for this process alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def full_disk(n_bytes: int = 2048) -> Iterator[None]:
    """Limit the size of files: writing fails as on a full disk, also in compiled libraries."""
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal that comes with it
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Forbid to write in a folder that :func:`public_folder` has made; root, who may write
    anywhere, is nobody then.
    """
    folders = [path for path in (folder, *folder.rglob("*")) if path.is_dir()]
    for path in folders:
        path.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path in folders:
            path.chmod(0o755)


@contextmanager
def public_folder() -> Iterator[Path]:
    """Make a folder whose path any user can read, unlike those of ``tmp_path``."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
