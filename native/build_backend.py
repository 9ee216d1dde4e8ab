"""The build backend: scikit-build-core, after a check that a compiler and Python's headers are there."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as backend

_ROOT = Path(__file__).resolve().parent.parent
_COMPILERS = ("c++", "g++", "clang++", "clang-cl")
_COMMANDS = {
    "compiler": {
        "debian": "sudo apt install g++",
        "fedora": "sudo dnf install gcc-c++",
        "macos": "xcode-select --install",
        "windows": "winget install Microsoft.VisualStudio.2022.BuildTools with the component 'C++ Clang tools'",
    },
    "headers": {
        "debian": "sudo apt install python3-dev",
        "fedora": "sudo dnf install python3-devel",
        "macos": "brew install python",
        "windows": "install Python from python.org",
    },
}

get_requires_for_build_sdist = backend.get_requires_for_build_sdist
get_requires_for_build_wheel = backend.get_requires_for_build_wheel
get_requires_for_build_editable = backend.get_requires_for_build_editable
prepare_metadata_for_build_wheel = backend.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = backend.prepare_metadata_for_build_editable
build_sdist = backend.build_sdist


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Compile the kernels and build a wheel."""
    check_tools()
    return str(backend.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Compile the kernels into the source tree, and build a wheel that only has its path."""
    check_tools()
    build_in_place()
    settings = {**(config_settings or {}), "wheel.cmake": "false", "editable.mode": "inplace"}
    name = str(backend.build_editable(wheel_directory, settings, metadata_directory))
    _use_path(Path(wheel_directory) / name)
    return name


def build_in_place(folder: Path | None = None, *options: str) -> None:
    """Compile the kernels into the source tree, by CMake; only what changed since the last time."""
    folder = folder or _ROOT / "build" / f"{sys.implementation.cache_tag}"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    settings = [f"-DPython_EXECUTABLE={sys.executable}", "-DIN_PLACE=ON", *options]
    subprocess.run(["cmake", "-S", str(_ROOT / "native"), "-B", str(folder), *generator, *settings], check=True)
    subprocess.run(["cmake", "--build", str(folder)], check=True)


def check_tools() -> None:
    """Exit with one line if there is no compiler or if Python has no headers."""
    given = os.environ.get("CXX")
    if shutil.which(given.split()[0]) is None if given else not any(map(shutil.which, _COMPILERS)):
        missing = f"The compiler CXX={given} was not found" if given else "No C++ compiler was found"
        raise SystemExit(f"{missing}; sklearn-hashnlp needs GCC 11, Clang 14 or newer. {_advice('compiler')}")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        raise SystemExit(f"{sys.executable} has no headers, {header} is missing. {_advice('headers')}")


def _advice(missing: str) -> str:
    commands = _COMMANDS[missing]
    if sys.platform in ("darwin", "win32"):
        return f"Install it: {commands['macos' if sys.platform == 'darwin' else 'windows']}"
    try:
        systems = platform.freedesktop_os_release()
    except OSError:
        systems = {}
    names = f"{systems.get('ID', '')} {systems.get('ID_LIKE', '')}".split()
    known = [commands[name] for name in ("debian", "fedora") if name in names]
    if "ubuntu" in names and not known:
        known = [commands["debian"]]
    return f"Install it: {known[0]}" if known else f"Debian: {commands['debian']}; Fedora: {commands['fedora']}"


def _use_path(wheel: Path) -> None:
    """Rewrite an editable wheel: a plain .pth file, as an import hook would come before PYTHONPATH."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" in name}
    files["sklearn_hashnlp.pth"] = f"{_ROOT}\n".encode()
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    lines = [f"{name},{_digest(content)},{len(content)}" for name, content in files.items() if name != record]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


if __name__ == "__main__":
    check_tools()
    build_in_place()
