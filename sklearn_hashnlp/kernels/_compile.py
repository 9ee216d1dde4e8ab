"""The decorators behind every compiled kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

Number: TypeAlias = Any
"""A number inside a kernel, whose width and sign follow from what it is computed from."""

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code for later processes.

    Machine code is kept beside the source file or, where that is read-only, in the user's cache folder, or in
    ``NUMBA_CACHE_DIR``. Where none of them can be written, or the disk is full, the kernel works uncached.

    Parameters
    ----------
    function : callable
        Plain Python over arrays and numbers, in the subset that Numba compiles.

    Returns
    -------
    callable
        The compiled function. The original is its ``py_func``.
    """
    return _cached(njit(nogil=True)(function), function)


def vectorized(function: Kernel) -> Kernel:
    """Compile ``function`` as :func:`compiled` does, and let its sums run in any order.

    A sum over a vector then keeps as many partial sums as the processor has lanes, and products are added without
    being rounded first. The order is chosen when the kernel is compiled: on one machine the same numbers give the same
    bits, on another machine the last bits may differ. A division by zero gives what the processor says it is.

    Parameters
    ----------
    function : callable
        As in :func:`compiled`.

    Returns
    -------
    callable
        The compiled function. The original is its ``py_func``.
    """
    return _cached(njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function), function)


def inlined(function: Kernel) -> Kernel:
    """Make ``function`` a part of each kernel that calls it.

    For the few lines of an innermost loop: a call there would count references to its arrays, atomically, each time.

    Parameters
    ----------
    function : callable
        As in :func:`compiled`, small, with a single ``return``.

    Returns
    -------
    callable
        The function, to be called from kernels.
    """
    return cast(Kernel, njit(inline="always")(function))


def _cached(dispatcher: Any, function: Kernel) -> Kernel:
    with suppress(RuntimeError):  # "cannot cache function ...: no locator available"
        dispatcher._cache = _KernelCache(function)  # what njit(cache=True) does, with a cache of ours
    return cast(Kernel, dispatcher)


class _KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Numba's cache of machine code, but for two things.

    Numba takes machine code for fresh as long as the file of the kernel itself is unchanged. A kernel holds code of
    other files too (the hash, the tables of characters), so it is fresh only while all of the folder is. And numba
    lets a transform fail where the cache cannot be written any more; nobody would want that.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = _digest_of_folder()

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        with suppress(OSError):
            yield


@cache
def _digest_of_folder() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
