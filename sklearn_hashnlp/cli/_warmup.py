"""``hashnlp warmup``: compile functions before they are needed, and keep their machine code."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from sklearn_hashnlp._clock import compile_seconds
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen, counted

HELP = """\
Compile the functions that training and predicting call, so that no later process has to.

\b
  hashnlp warmup
  RUN hashnlp warmup --portable           in the Dockerfile of an image

Functions are compiled when they are first called, which takes the first training some seconds; their machine code is \
kept for later processes. This command trains and applies small models of each kind, in a few minutes, and so fills \
the cache at a time of your choice. Run it where the package can be written, as the user who installed it: other \
users, containers and read-only systems then find the machine code next to the package, or in the folder of the \
environment variable NUMBA_CACHE_DIR.

Machine code is specific to the features of the processor. With --portable it runs on every processor of the \
architecture, such as x86-64, and so wherever an image is run; some functions are slower. A process prefers machine \
code for its own processor to portable code, and compiles only without both.
"""


@reporting_errors
def warmup(
    screen: Screen,
    portable: Annotated[
        bool, typer.Option("--portable", help="Compile for every processor of this architecture.")
    ] = False,
) -> None:
    """Compile; the parameters are the options of the command."""
    if portable:  # for all processors
        if "sklearn_hashnlp.kernels" in sys.modules:
            raise RuntimeError("warmup --portable needs a new process, in which no function was called before.")
        import numba

        numba.config.CPU_NAME, numba.config.CPU_FEATURES = "generic", ""
    from sklearn_hashnlp.kernels._cache import KernelCache
    from sklearn_hashnlp.kernels._compile import compilations

    folders = KernelCache.where()
    folder = folders.written
    if folder is None:
        raise OSError(f"Compiled functions cannot be kept: {folders.obstacles}.")
    if folders.obstacles:
        screen.note(f"{folders.obstacles}.")
    # What only another folder has, or only for any processor, is compiled here.
    KernelCache.use(folders._replace(read=(folder,), reads_portable=False))
    compilations.announced = True  # requested by the user
    n_before = compilations.n
    _train_and_ask(screen)
    if KernelCache.failure is not None:
        raise KernelCache.failure
    n_compiled, seconds = compilations.n - n_before, compile_seconds()
    sizes = [file.stat().st_size for file in folder.glob("*.nbc")]
    result = {"folder": str(folder), "portable": portable, "n_compiled": n_compiled, "seconds": round(seconds, 3)}
    compiled = f"Compiled {counted(n_compiled, 'function')} in {seconds:.0f} s"
    kept = f"{counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB, in {folder}"
    screen.result(result | {"n_files": len(sizes), "bytes": sum(sizes)}, [compiled, kept])


def _train_and_ask(screen: Screen) -> None:
    """Call all functions, with a note for each kind of model."""
    from sklearn_hashnlp.cli._warmup_models import KINDS

    for number, (kind, train_and_ask) in enumerate(KINDS.items(), start=1):
        screen.note(f"{number}/{len(KINDS)} {kind} ...")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # expected with few texts
            train_and_ask()
