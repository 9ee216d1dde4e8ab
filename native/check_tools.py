"""Requirements of the kernels: a C++20 compiler and Python's headers, or a line on getting them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_COMPILERS = ("c++", "g++", "clang++")
_COMMANDS = {
    "compiler": {
        "debian": "sudo apt install g++",
        "fedora": "sudo dnf install gcc-c++",
        "macos": "xcode-select --install",
        "windows": "the component 'C++ Clang tools for Windows' of the Visual Studio Installer",
    },
    "headers": {
        "debian": "sudo apt install python3-dev",
        "fedora": "sudo dnf install python3-devel",
        "macos": "brew install python",
        "windows": "the installer of python.org",
    },
}


def check_tools() -> None:
    """Exit with one line if there is no compiler, or if Python has no headers."""
    check_headers()
    given = os.environ.get("CXX")
    if given and shutil.which(given.split()[0]) is None:
        raise SystemExit(
            f"There is no compiler CXX={given}. Unset CXX, or set it to GCC 12, Clang 14 or a "
            "newer one."
        )
    if not has_compiler():
        raise SystemExit(
            f"There is no C++ compiler, which sklearn-hashnlp is built with. {advice('compiler')}"
        )


def check_headers() -> None:
    """Exit with one line if Python has no headers."""
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        raise SystemExit(
            f"{sys.executable} has no headers: {header} is missing. {advice('headers')}"
        )


def has_compiler() -> bool:
    """Return whether a compiler is named by CXX, on the PATH, or in Visual Studio."""
    if os.environ.get("CXX") or any(map(shutil.which, _COMPILERS)):
        return True
    installer = Path(
        os.environ.get("PROGRAMFILES(X86)", ""),
        "Microsoft Visual Studio",
        "Installer",
        "vswhere.exe",
    )
    if sys.platform != "win32" or not installer.exists():
        return False
    component = "Microsoft.VisualStudio.Component.VC.Llvm.Clang"
    query = [
        str(installer),
        "-products",
        "*",
        "-requires",
        component,
        "-property",
        "installationPath",
    ]
    return bool(subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip())


def advice(missing: str) -> str:
    """Return how to install what is missing, on this system."""
    commands = _COMMANDS[missing]
    if sys.platform in ("darwin", "win32"):
        return f"Install it: {commands['macos' if sys.platform == 'darwin' else 'windows']}"
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        system = {}
    names = f"{system.get('ID', '')} {system.get('ID_LIKE', '')}".split()
    for name in ("debian", "fedora"):
        if name in names:
            return f"Install it: {commands[name]}"
    return f"Install it; on Debian: {commands['debian']}; on Fedora: {commands['fedora']}"
