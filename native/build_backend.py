"""The build backend: scikit-build-core, after a check that the kernels can be compiled.

``python native/build_backend.py`` compiles them into the source tree, as an editable installation
has them; with a folder and options of CMake, into that folder.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from check_tools import check_tools
from scikit_build_core import build as backend
from scikit_build_core.program_search import get_cmake_programs, get_ninja_programs

_ROOT = Path(__file__).resolve().parent.parent

get_requires_for_build_sdist = backend.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = backend.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = backend.prepare_metadata_for_build_editable
build_sdist = backend.build_sdist


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the build tools after the check, before pip downloads the package's requirements."""
    check_tools()
    return list(backend.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the build tools, after the check."""
    check_tools()
    return list(backend.get_requires_for_build_editable(config_settings))


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile the kernels and build a wheel."""
    check_tools()
    return str(backend.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,  # noqa: ARG001 - a hook has these arguments
) -> str:
    """Compile the kernels into the source tree, and build a wheel that only has its path."""
    build_in_place()
    with tempfile.TemporaryDirectory() as folder:
        info = backend.prepare_metadata_for_build_editable(folder, config_settings)
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return write_wheel(Path(wheel_directory), info, files)


def build_in_place() -> None:
    """Compile the kernels into the source tree."""
    # A folder for each kind of Python: EXT_SUFFIX is .cpython-311-x86_64-linux-gnu.so or
    # .cp314t-win_amd64.pyd.
    build(_ROOT / "build" / sysconfig.get_config_var("EXT_SUFFIX").split(".")[1], "-DIN_PLACE=ON")


def build(folder: Path, *options: str) -> None:
    """Compile the kernels in a folder by CMake; only what changed since the last time."""
    check_tools()
    cmake = str(
        next((program.path for program in get_cmake_programs() if program.version), "cmake")
    )
    ninja = next((program.path for program in get_ninja_programs() if program.version), None)
    if ninja is not None and sys.platform != "win32":
        options += ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}")
    elif sys.platform == "win32":
        options += ("-T", "ClangCL")
    if _is_stale(folder):
        shutil.rmtree(folder)
    command = [cmake, "-S", str(_ROOT / "native"), "-B", str(folder), "--log-level=WARNING"]
    _run(*command, f"-DPython_EXECUTABLE={sys.executable}", *options)
    _run(cmake, "--build", str(folder), "--config", "Release", "--parallel")


def _is_stale(folder: Path) -> bool:
    """Return whether a folder is of other sources or a missing compiler, which CMake refuses."""
    cache = folder / "CMakeCache.txt"
    if not cache.exists():
        return folder.exists()
    lines = (line.partition("=") for line in cache.read_text(encoding="utf-8").splitlines())
    values = {name.partition(":")[0]: value for name, _, value in lines}
    compiler = values.get("CMAKE_CXX_COMPILER", "")
    is_gone = bool(compiler) and shutil.which(compiler) is None
    return is_gone or values.get("CMAKE_HOME_DIRECTORY") != (_ROOT / "native").as_posix()


def _run(*command: str) -> None:
    if code := subprocess.run(command, check=False).returncode:
        raise SystemExit(
            f"The kernels were not compiled: {Path(command[0]).name} ended with {code}, see above."
        )


def write_wheel(folder: Path, info: str, files: dict[str, bytes]) -> str:
    """Write an editable wheel with a .pth file, as an import hook would precede PYTHONPATH."""
    files["sklearn_hashnlp.pth"] = f"{_ROOT}\n".encode()
    lines = [f"{name},{_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    (tag,) = re.findall(r"^Tag: (\S+)$", files[f"{info}/WHEEL"].decode(), re.MULTILINE)
    name = f"{info.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip(
        "="
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        build(Path(sys.argv[1]).absolute(), *sys.argv[2:])
    else:
        build_in_place()
