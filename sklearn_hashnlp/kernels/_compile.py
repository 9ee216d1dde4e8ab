"""The decorators behind every compiled kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

Number: TypeAlias = Any
"""A number inside a kernel; numba infers its type."""

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code for later processes."""
    return _cached(njit(nogil=True)(function), function)


def vectorized(function: Kernel) -> Kernel:
    """Compile ``function`` as :func:`compiled` does, and let its sums run in any order."""
    # Partial sums fill the lanes of vector instructions. The order is fixed when the kernel is compiled: the same
    # numbers give the same bits on one machine, and may differ in the last bits on another.
    return _cached(njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function), function)


def inlined(function: Kernel) -> Kernel:
    """Inline ``function``, a few lines with a single ``return``, into each kernel that calls it."""
    # In an innermost loop, a call would count references to its arrays, atomically, each time.
    return cast(Kernel, njit(inline="always")(function))


def _cached(dispatcher: Any, function: Kernel) -> Kernel:
    with suppress(RuntimeError):  # "cannot cache function ...: no locator available"
        dispatcher._cache = _KernelCache(function)  # what njit(cache=True) does, with a cache of ours
    return cast(Kernel, dispatcher)


class _KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Numba's cache of machine code, with three changes."""

    # Numba recompiles a kernel when its own file changes. A kernel holds code of other files too, such as the hash, so
    # here it is recompiled when any file of kernels/ changes. A cache that cannot be written, as on a full disk, is
    # no error. And processes may compile one kernel at the same time: see _CacheFile.

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, _digest_of_folder())

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with suppress(OSError):
            yield


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The machine code of a kernel: a file for each signature, and an index of them; one that is damaged is absent."""

    # Numba numbers the files. Two processes that compile a kernel for different signatures at the same time choose the
    # same number, and one of them may then run machine code of the other's signature. So files have names of their own.

    def save(self, key: Any, data: Any) -> None:
        """Save machine code, and then its name in the index."""
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8])
        name = self._data_name(number)
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> dict[Any, str]:
        try:
            index: dict[Any, str] = super()._load_index()
        except Exception:  # an emptied or damaged pickle raises anything
            return {}
        return index

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except Exception as error:
            raise OSError(f"{name} cannot be read") from error  # then the kernel is compiled


@cache
def _digest_of_folder() -> str:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
