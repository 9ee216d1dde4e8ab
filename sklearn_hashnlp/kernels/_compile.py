"""The one decorator behind every compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code for later processes.

    Numba keeps machine code beside the source file or, where that is read-only, in the user's cache folder. Where
    neither can be written it refuses to decorate at all; the kernel then works uncached.

    Parameters
    ----------
    function : callable
        Plain Python over arrays and numbers, in the subset that Numba compiles.

    Returns
    -------
    callable
        The compiled function. The original is its ``py_func``.
    """
    try:
        return cast(Kernel, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return cast(Kernel, njit(nogil=True)(function))
