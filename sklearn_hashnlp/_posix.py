"""Every call that only some systems have, and what replaces it on the others."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:  # numpy is imported where it is used: some readers of this file are light
    import numpy as np
    from numpy.typing import NDArray

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# What some network drives answer that cannot flush the names in a folder.
_CANNOT_FLUSH = {errno.EBADF, errno.EINVAL, errno.ENOTSUP}
# Up to so many bytes huge pages make random rows faster; of a larger table each row written would
# commit 2 MB.
_MAX_HUGE_PAGES = 2**26

_MEMINFO = Path("/proc/meminfo")
_CGROUPS = Path("/sys/fs/cgroup")
# Files of the limit and the use of a container's memory, by the two versions of control groups.
_CONTAINER_LIMITS = [
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
]


def flush_to_disk(path: Path) -> None:
    """Flush the content of a file, or the names in a folder, to the disk."""
    # Windows flushes no folders, and files only if they are open for writing
    is_posix = hasattr(os, "O_DIRECTORY")
    if path.is_dir() and not is_posix:
        return
    descriptor = os.open(path, os.O_RDONLY if is_posix else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not path.is_dir() or error.errno not in _CANNOT_FLUSH:
            raise
    finally:
        os.close(descriptor)


def lock_file(file: IO[Any]) -> bool:
    """Lock an open file until it is closed, or raise BlockingIOError; False without locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def usable_cores() -> int:
    """Return the number of cores that this thread may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes of memory that are available without swapping; None if unknown."""
    free = []
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        free.append(
            int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
        )
    for limit, used in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # ValueError: the limit is "max"
            free.append(
                max(0, int((_CGROUPS / limit).read_text()) - int((_CGROUPS / used).read_text()))
            )
    return min(free, default=None)


def call_after_fork(function: Callable[[], None]) -> None:
    """Register a function to call in each forked process, where processes can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def lazy_bytes(n_bytes: int) -> mmap.mmap | NDArray[np.uint8]:
    """Return a writable buffer of zeros; where possible, memory is committed on first write."""
    try:
        if not hasattr(mmap, "MAP_ANONYMOUS"):
            import numpy as np

            return np.zeros(n_bytes, dtype=np.uint8)
        # Private, so that the writes of a forked process do not reach its parent.
        pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (MemoryError, OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"A table of {n_bytes} bytes does not fit into memory.") from error
    with suppress(AttributeError, OSError):  # some systems have no huge pages
        pages.madvise(mmap.MADV_HUGEPAGE if n_bytes <= _MAX_HUGE_PAGES else mmap.MADV_NOHUGEPAGE)
    return pages
