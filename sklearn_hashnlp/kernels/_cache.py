"""The cache of machine code: its folders, and the checks of files before they are run."""

# numba has a cache too. It passes over a folder that cannot be written, even if it is full, takes one in which others
# can write, and its files belong to one processor. Here a kernel, a signature and a processor have a file. It is found
# by its name, whatever its time and wherever it was copied to, and its first bytes are a digest of the rest and of all
# that was compiled. Files that are written at the same time cannot be mixed up, and a damaged file is absent.

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from sklearn_hashnlp._posix import others_can_write

PORTABLE = ("generic", "")
"""Name and features, for LLVM, of a processor whose machine code runs on all others of its architecture."""

_KERNELS = Path(__file__).parent
_N_DIGEST = hashlib.sha256().digest_size
_Processor = tuple[str, str, str]  # operating system and architecture, name, features


class Folders(NamedTuple):
    """The folders from which machine code is read, in this order, and the folder to which it is written."""

    read: tuple[Path, ...]
    written: Path | None
    obstacles: str  # why earlier candidates are not written
    reads_portable: bool = True  # whether to read code that was compiled for any processor

    @classmethod
    def find(cls) -> Folders:
        """Return ``NUMBA_CACHE_DIR`` alone if it is set; otherwise the package's folder, and then the user's."""
        candidates = _candidates()
        safe = [folder for folder in candidates if not _is_unsafe(folder)]
        written = next(filter(_is_writable, safe), None)
        obstacles = [
            f"{folder} cannot be written" if folder in safe else f"{folder} is not used, as other users can write it"
            for folder in takewhile(lambda folder: folder != written, candidates)
        ]
        reasons = "; ".join(obstacles) if candidates else "there is no source code to tell when they are stale"
        return cls(tuple(safe), written, reasons)


class KernelCache(_Cache):  # type: ignore[misc]  # numba has no types
    """The machine code of a kernel on disk; numba reads it when a kernel is called with a new signature."""

    _folders: ClassVar[Folders | None] = None  # of all kernels
    failure: ClassVar[OSError | None] = None  # of the last file that could not be written

    def __init__(self, function: Callable[..., object]) -> None:
        module = function.__module__.removeprefix("sklearn_hashnlp.kernels.")
        self._name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._code = function.__code__.co_code

    @classmethod
    def where(cls) -> Folders:
        """Return the folders; they are found when the first kernel is called."""
        if KernelCache._folders is None:
            KernelCache._folders = Folders.find()
        return KernelCache._folders

    @classmethod
    def use(cls, folders: Folders) -> None:
        """Read and write other folders from now on."""
        KernelCache._folders = folders

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature; None if no file is valid on this machine."""
        target_context.refresh()
        folders = self.where()
        own = target_context.codegen().magic_tuple()
        portable = (own[0], *PORTABLE)
        for processor in (own, portable) if folders.reads_portable else (own,):
            name = self._file_name(sig, processor)
            for folder in folders.read:
                content = _read(folder / name)
                stamp, data = content[:_N_DIGEST], content[_N_DIGEST:]
                if stamp == self._stamp(name, data):
                    return CompileResult._rebuild(target_context, *pickle.loads(data))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function; a full disk is not an error."""
        folder = self.where().written
        if folder is None or data.lifted or data.library.has_dynamic_globals:  # addresses of this process
            return
        name = self._file_name(sig, data.codegen.magic_tuple())
        content = dumps(data._reduce())
        try:
            _write(folder / name, self._stamp(name, content) + content)
        except OSError as error:
            KernelCache.failure = error

    def _file_name(self, sig: Any, processor: _Processor) -> str:
        key = repr((sig, processor, numba.__version__)).encode()
        return f"{self._name}.{sys.implementation.cache_tag}.{hashlib.sha256(key).hexdigest()[:32]}.nbc"

    def _stamp(self, name: str, data: bytes) -> bytes:
        return hashlib.sha256(b"\0".join([_digest_of_sources(), self._code, name.encode(), data])).digest()

    @property
    def cache_path(self) -> str | None:
        """The folder to which code is written."""
        folder = self.where().written
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing: stale files are not read."""


def _candidates() -> list[Path]:
    sources = _digest_of_sources()
    if not sources:  # as in a frozen program: it is unknown whether machine code is stale
        return []
    shared = f"sklearn_hashnlp-{sources.hex()[:16]}"  # other versions of the package have other folders
    if numba.config.CACHE_DIR:
        return [Path(numba.config.CACHE_DIR).absolute() / shared]
    of_user = Path(AppDirs("sklearn-hashnlp", appauthor=False).user_cache_dir)
    candidates = [_KERNELS / "__pycache__" / "machine_code"]
    return [*candidates, of_user / shared] if of_user.is_absolute() else candidates  # a user may have no home


def _is_unsafe(folder: Path) -> bool:
    try:
        return others_can_write(folder)
    except OSError:  # does not exist
        return False


def _is_writable(folder: Path) -> bool:
    while not os.path.lexists(folder):
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


def _read(path: Path) -> bytes:
    """Return the content of a file; empty if it does not exist or other users can write it."""
    try:
        with path.open("rb") as file:
            return b"" if others_can_write(file.fileno()) else file.read()
    except OSError:
        return b""


def _write(path: Path, content: bytes) -> None:
    """Write a file that all can read and only its owner can write, at any time and whatever the umask."""
    if not path.parent.is_dir():
        path.parent.mkdir(0o755, parents=True, exist_ok=True)
        path.parent.chmod(0o755)
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb", opener=_open_for_others_to_read) as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _open_for_others_to_read(path: str, flags: int) -> int:
    return os.open(path, flags, 0o644)


@cache
def _digest_of_sources() -> bytes:
    """Return a digest of all kernels, since kernels contain code of other files; empty without sources."""
    digest, paths = hashlib.sha256(), sorted(_KERNELS.rglob("*.py"))
    for path in paths:
        digest.update(path.relative_to(_KERNELS).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.digest() if paths else b""
