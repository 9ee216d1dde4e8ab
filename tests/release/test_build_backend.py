"""The build backend: what it says where a tool is missing, and the editable wheel; nothing is
compiled.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NATIVE = Path(__file__).parents[2] / "native"
DEBIAN = {"ID": "ubuntu", "ID_LIKE": "debian"}
FEDORA = {"ID": "rocky", "ID_LIKE": "rhel centos fedora"}


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, NATIVE / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Return the checks, on a machine with nothing on the PATH and a Python with headers."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    return load("check_tools")


def on(monkeypatch: pytest.MonkeyPatch, system: str | dict[str, str]) -> None:
    """Set the operating system."""
    if isinstance(system, str):
        monkeypatch.setattr(sys, "platform", system)
    else:
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(platform, "freedesktop_os_release", lambda: system)


SYSTEMS: list[Any] = [DEBIAN, FEDORA, {"ID": "arch"}, "darwin", "win32"]


@pytest.mark.parametrize(
    ("system", "advice"),
    [
        *zip(
            SYSTEMS,
            [
                "Install it: sudo apt install g++",
                "Install it: sudo dnf install gcc-c++",
                "Install it; on Debian: sudo apt install g++; on Fedora: sudo dnf install gcc-c++",
                "Install it: xcode-select --install",
                "Install it: the component 'C++ Clang tools for Windows' of the Visual Studio "
                "Installer",
            ],
            strict=True,
        )
    ],
    ids=str,
)
def test_a_missing_compiler_is_named_with_the_command(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch, system: Any, advice: str
) -> None:
    on(monkeypatch, system)
    with pytest.raises(SystemExit) as raised:
        tools.check_tools()
    assert (
        raised.value.code
        == f"There is no C++ compiler, which sklearn-hashnlp is built with. {advice}"
    )


@pytest.mark.parametrize(
    ("system", "advice"),
    [
        *zip(
            SYSTEMS,
            [
                "Install it: sudo apt install python3-dev",
                "Install it: sudo dnf install python3-devel",
                "Install it; on Debian: sudo apt install python3-dev; on Fedora: sudo dnf "
                "install python3-devel",
                "Install it: brew install python",
                "Install it: the installer of python.org",
            ],
            strict=True,
        )
    ],
    ids=str,
)
def test_missing_headers_are_named_with_the_command(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: Any, advice: str
) -> None:
    on(monkeypatch, system)
    (tmp_path / "Python.h").unlink()
    with pytest.raises(SystemExit) as raised:
        tools.check_tools()
    header = tmp_path / "Python.h"
    assert raised.value.code == f"{sys.executable} has no headers: {header} is missing. {advice}"


def test_a_compiler_of_cxx_that_does_not_exist(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -m64")
    with pytest.raises(
        SystemExit, match=r"^There is no compiler CXX=no-such-compiler -m64\. Unset CXX, or set it"
    ):
        tools.check_tools()
    monkeypatch.setenv("CXX", sys.executable)
    tools.check_tools()


@pytest.mark.skipif(os.name == "nt", reason="programs of Windows have an extension")
def test_a_compiler_on_the_path_is_enough(tools: ModuleType, tmp_path: Path) -> None:
    assert not tools.has_compiler()
    (tmp_path / "clang++").touch(mode=0o755)
    tools.check_tools()


def test_make_prefers_the_compiler_of_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(NATIVE)
    finder = load("find_compiler")
    command = [
        sys.executable,
        "-c",
        f"import os; open({str(tmp_path / 'found')!r}, 'w').write(os.getenv('CXX', '-'))",
    ]
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(finder, "has_compiler", lambda: True)
    assert finder.main(command) == 0
    assert (tmp_path / "found").read_text() == "-"
    monkeypatch.setattr(finder, "has_compiler", lambda: False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "zig-c++").touch()
    assert finder.main(command) == 0
    assert (tmp_path / "found").read_text() == str(tmp_path / "zig-c++")
    monkeypatch.setattr(sys, "platform", "darwin")
    (tmp_path / "zig-c++").unlink()
    with pytest.raises(
        SystemExit, match=r"^There is no C\+\+ compiler\. Install it: xcode-select --install$"
    ):
        finder.main(command)


def test_an_editable_wheel_has_a_plain_path(tmp_path: Path) -> None:
    pytest.importorskip("scikit_build_core")
    script = (
        f"import sys; sys.path.insert(0, {str(NATIVE)!r}); import build_backend as b; "
        "from pathlib import Path; "
    )
    files = {"x-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n"}
    script += f"print(b.write_wheel(Path({str(tmp_path)!r}), 'x-1.dist-info', {files!r}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "x-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(tmp_path / done.stdout.strip()) as archive:
        written = {name: archive.read(name) for name in archive.namelist()}
    assert written["sklearn_hashnlp.pth"].decode() == f"{NATIVE.parent}\n"
    record = written.pop("x-1.dist-info/RECORD").decode().splitlines()
    assert record.pop() == "x-1.dist-info/RECORD,,"
    for line, (name, content) in zip(record, written.items(), strict=True):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert line == f"{name},sha256={digest},{len(content)}"
