"""Run a command with a C++ compiler; if there is none, ``make`` installs one into its environment.

``python native/find_compiler.py COMMAND ...``: the Python is that of the environment. The package
does not require this compiler, zig's, which is slow: it builds the C++ library first. Without a
command the headers of Python are looked for.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

from check_tools import advice, check_headers, has_compiler

_CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
_TOOLS = {"c++": "c++ {target}", "ar": "ar", "ranlib": "ranlib"}
"""Programs for CMake, which takes zig-ar and zig-ranlib along with zig-c++, and what they call."""


def main(command: list[str]) -> int:
    """Run a command, and return its exit code."""
    check_headers()
    if not command:
        return 0
    environment = dict(os.environ)
    if not has_compiler():
        environment["CXX"] = str(_install())
    return subprocess.run(command, env=environment, check=False).returncode


def _install() -> Path:
    """Return the compiler in this environment, which is installed at first."""
    folder = Path(sys.executable).parent
    compiler = folder / "zig-c++"
    if compiler.exists():
        return compiler
    if sys.platform != "linux":
        raise SystemExit(f"There is no C++ compiler. {advice('compiler')}")
    print(
        f"There is no C++ compiler: one is installed into {sys.prefix} (0.1 GB to download), and "
        "compiles the kernels in some five minutes. One of the system is faster. "
        f"{advice('compiler')}",
        flush=True,
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", str(_CONSTRAINTS), "ziglang"], check=True)
    import ziglang

    zig = Path(str(ziglang.__file__)).with_name("zig")
    # With a target it compiles for any processor, and not for this one alone; 2.28 is the version
    # of the C library.
    library = "gnu.2.28" if platform.libc_ver()[0] == "glibc" else "musl"
    # Debian's Python.h includes pyconfig.h by a path from /usr/include, where zig does not look
    # with a target.
    headers = Path(sysconfig.get_path("include")).parent
    target = f"-target {platform.machine()}-linux-{library} -idirafter {headers}"
    for name, call in _TOOLS.items():
        program = folder / f"zig-{name}"
        program.write_text(
            f'#!/bin/sh\nexec "{zig}" {call.format(target=target)} "$@"\n', encoding="utf-8"
        )
        program.chmod(0o755)
    return compiler


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
