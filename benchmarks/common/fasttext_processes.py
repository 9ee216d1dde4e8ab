"""Processes that hold a package of fastText each: two packages have modules of the same name."""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from benchmarks.common.fasttext_peers import PEERS, FastText
from benchmarks.common.peer_packages import peer_folder, peer_version

P = ParamSpec("P")
T = TypeVar("T")
_held: dict[str, FastText] = {}  # of a process


class Process:
    """A process with one of ``PEERS``, in which methods of :class:`FastText` are called."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        context = multiprocessing.get_context("spawn")
        arguments = PEERS[name].module, str(folder)
        self._pool = ProcessPoolExecutor(
            1, mp_context=context, initializer=_hold, initargs=arguments
        )

    def call(
        self, method: Callable[Concatenate[FastText, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a method, and wait for what it returns."""
        return self.submit(method, *args, **kwargs).result()

    def submit(
        self, method: Callable[Concatenate[FastText, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Begin to call a method."""
        future: Future[T] = self._pool.submit(_call, method, *args, **kwargs)
        return future

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


def _hold(module: str, folder: str) -> None:
    _held["peer"] = FastText(module, folder)


def _call(method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    return method(_held["peer"], *args, **kwargs)


@contextlib.contextmanager
def peer_folders(
    names: Iterable[str], folder: Path | None, versions: dict[str, str]
) -> Iterator[dict[str, Path]]:
    """Yield a folder with each package, of one folder or temporary, and note the versions."""
    with contextlib.ExitStack() as stack:
        folders = {}
        for name in names:
            peer = PEERS[name]
            own = None if folder is None else folder / peer.distribution
            folders[name] = stack.enter_context(peer_folder(peer, own))
            versions[name] = peer_version(peer, folders[name])
        yield folders


@contextlib.contextmanager
def peer_processes(
    names: Iterable[str], folder: Path | None, versions: dict[str, str]
) -> Iterator[dict[str, Process]]:
    """Yield a process of each package by its name."""
    with peer_folders(names, folder, versions) as folders, contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(Process(name, path)) for name, path in folders.items()}


@contextlib.contextmanager
def two_processes(process: Process, lines: list[str]) -> Iterator[Callable[[], None]]:
    """Yield a function that predicts all lines by two copies of a process's model."""
    middle = len(lines) // 2
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = f"{folder}/model.bin"
        process.call(FastText.save, path)
        workers = []
        for half in (lines[:middle], lines[middle:]):
            workers.append(stack.enter_context(Process(process.name, process.folder)))
            workers[-1].call(FastText.load, path)
            workers[-1].call(FastText.hold, half)

        def predict() -> None:
            for future in [worker.submit(FastText.seconds) for worker in workers]:
                future.result()

        yield predict
