"""fastText's predictions by two processes, each of which holds the model and half of the lines."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

_held: dict[str, Any] = {}  # of a process


@contextlib.contextmanager
def two_processes(
    fasttext_folder: Path, model: Any, lines: list[str]
) -> Iterator[Callable[[], None]]:
    """Yield a function that predicts all lines; handing them over is not part of it."""
    middle = len(lines) // 2
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = str(Path(folder) / "model.bin")
        model.save_model(path)
        workers = []
        for half in (lines[:middle], lines[middle:]):
            context = multiprocessing.get_context("spawn")
            arguments = (str(fasttext_folder), path, half)
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=_hold, initargs=arguments)
            workers.append(stack.enter_context(pool))

        def predict() -> None:
            for future in [worker.submit(_predict) for worker in workers]:
                future.result()

        yield predict


def _hold(fasttext_folder: str, path: str, lines: list[str]) -> None:
    sys.path.insert(0, fasttext_folder)
    _held.update(model=import_module("fasttext").load_model(path), lines=lines)


def _predict() -> None:
    _held["model"].f.multilinePredict(_held["lines"], 1, 0.0, "strict")
