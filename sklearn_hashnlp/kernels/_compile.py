"""Decorators that compile kernels, and the message that functions are being compiled."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from numba import config, njit
from numba.core import event
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral

from sklearn_hashnlp._clock import compiling_begins, compiling_ends
from sklearn_hashnlp.kernels._cache import KernelCache

if config.DISABLE_JIT:
    raise ImportError("sklearn_hashnlp needs the compiler of numba. Unset the environment variable NUMBA_DISABLE_JIT.")

Number: TypeAlias = Any
"""A number inside a kernel; numba infers its type."""

Kernel = TypeVar("Kernel", bound=Callable[..., object])

_logger = logging.getLogger(__name__)


_FAST = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call, without the GIL, and keep the machine code for later processes."""
    return _cached(_Dispatcher(function, targetoptions=_options()), function)


def vectorized(function: Kernel) -> Kernel:
    """Compile ``function`` as :func:`compiled` does, and let its sums run in any order."""
    # Partial sums fill the lanes of vector instructions. The order is fixed when the kernel is compiled: the same
    # numbers give the same bits on one machine, and may differ in the last bits on another.
    return _cached(_Dispatcher(function, targetoptions=_options(**_FAST)), function)


def inner(function: Kernel) -> Kernel:
    """Compile ``function`` as a part of the kernels that call it; Python cannot call it."""
    return cast(Kernel, _Dispatcher(function, targetoptions=_options(no_cpython_wrapper=True)))


def inner_vectorized(function: Kernel) -> Kernel:
    """Compile ``function`` as :func:`inner` does, and let its sums run in any order, as :func:`vectorized` does."""
    return cast(Kernel, _Dispatcher(function, targetoptions=_options(no_cpython_wrapper=True, **_FAST)))


def inlined(function: Kernel) -> Kernel:
    """Inline ``function``, a few lines with a single ``return``, into each kernel that calls it."""
    # In an innermost loop, a call would count references to its arrays, atomically, each time.
    return cast(Kernel, njit(inline="always")(function))


def of_arrays(function: Kernel) -> Kernel:
    """Return a plain function of numbers before it was compiled: with arrays, numpy computes what it returns."""
    return cast(Kernel, cast(Any, function).py_func)


def _options(**options: object) -> dict[str, object]:
    return {"nopython": True, "nogil": True, "no_cfunc_wrapper": True} | options


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]  # numba has no types
    """A kernel that is compiled once for integers: numba compiles another time for a constant, such as 0."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how another kernel calls this one."""
        return super().get_call_template(tuple(map(unliteral, args)), kws)


def _cached(dispatcher: Any, function: Kernel) -> Kernel:
    if function.__closure__ is None:  # variables of a closure would be constants of the machine code
        dispatcher._cache = KernelCache(function)  # as njit(cache=True) does, with our cache
    return cast(Kernel, dispatcher)


class Compilations(event.Listener):  # type: ignore[misc]  # numba has no types
    """Stop the clock and the garbage collector while functions are compiled, and print one message."""

    announced = False
    n = 0  # kernels that were compiled
    depth = 0  # of a kernel that is compiled for another one
    collects = False  # whether the garbage collector ran before; a tenth of the time would be its own

    def on_start(self, event: Any) -> None:
        """Handle the start of a compilation."""
        compiling_begins()
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1
        if isinstance(event.data["dispatcher"]._cache, KernelCache):
            self.n += 1
            if not self.announced:
                self.announced = True
                _announce()

    def on_end(self, event: Any) -> None:
        """Handle the end or the failure of a compilation."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()
        compiling_ends()


def _announce() -> None:
    folders = KernelCache.where()
    level = logging.WARNING if folders.written is None else logging.INFO
    duration = "Compiling functions for this machine, about ten seconds for a text classifier"
    message = (
        f"{duration}; kept in {folders.written} for later runs"
        if folders.written is not None
        else f"{duration}, in each run, as {folders.obstacles}. Run hashnlp warmup where they can be kept, or set "
        "NUMBA_CACHE_DIR"
    )
    _logger.log(level, message)
    shown = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if shown and not _logger.isEnabledFor(level):
        sys.stderr.write(f"{message}\n")


compilations = Compilations()
event.register("numba:compile", compilations)
