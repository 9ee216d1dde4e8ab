"""The two decorators behind every compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit

Number: TypeAlias = Any
"""A number inside a kernel, whose width and sign follow from what it is computed from."""

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
