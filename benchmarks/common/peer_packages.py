"""Peers that are installed for a benchmark only, each into a separate folder."""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Peer(NamedTuple):
    """A package: the module to import, its distribution, and what must be installed next to it."""

    module: str
    distribution: str
    needs: tuple[str, ...] = ()
    needs_all: tuple[str, ...] = ()


@contextlib.contextmanager
def peer_folder(peer: Peer, folder: Path | None) -> Iterator[Path]:
    """Return a folder with the peer, installing it if necessary; None makes a temporary one."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix=f"{peer.module}-") as made:
            _install(peer, Path(made))
            yield Path(made)
        return
    if not (folder / peer.module).is_dir():
        _install(peer, folder)
    yield folder


def _install(peer: Peer, folder: Path) -> None:
    print(f"Installing {peer.distribution} into {folder} ...", flush=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        str(folder),
    ]
    if peer.needs_all:
        subprocess.run([*pip, *peer.needs_all], check=True)
    subprocess.run([*pip, "--no-deps", peer.distribution, *peer.needs], check=True)


def import_peer(peer: Peer, folder: Path) -> Any:
    """Import the peer from its folder rather than the environment, which provides numpy."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(peer.module)


def peer_version(peer: Peer, folder: Path) -> str:
    prefix = f"{peer.distribution.replace('-', '_')}-"
    return (
        next(folder.glob(f"{prefix}*.dist-info"))
        .name.removeprefix(prefix)
        .removesuffix(".dist-info")
    )
