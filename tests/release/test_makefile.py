"""The installation by ``make``, with a Python that only writes down what it is asked to do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
echo "$*" >> {log}
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *"show torch") exit {torch_is_missing} ;;
    *--index-url*) exit {index_fails} ;;
    *--editable*) {sleep} 0.3; exit {package_fails} ;;
esac
"""
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def install(
    folder: Path,
    *variables: str,
    torch_is_missing: int = 1,
    index_fails: int = 0,
    package_fails: int = 0,
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Return the output of ``make``, and the calls of pip after that for the build tools."""
    values: dict[str, Any] = {"torch_is_missing": torch_is_missing, "index_fails": index_fails}
    values |= {
        "package_fails": package_fails,
        "log": folder / "log",
        "sleep": shutil.which("sleep"),
    }
    write_program(folder / "python", PYTHON.format(**values))
    write_program(folder / "sleep", f"#!/bin/sh\nexec {values['sleep']} 0.02\n")  # of a second
    target = folder / "venv" / "installed"
    command = [
        "make",
        "-C",
        str(ROOT),
        *variables,
        f"VENV={target.parent}",
        f"PYTHON={folder / 'python'}",
        str(target),
    ]
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    calls = (folder / "log").read_text(encoding="utf-8").splitlines()
    tools, *packages = [call for call in calls if " install " in call]
    assert tools.endswith(" cmake nanobind ninja scikit-build-core")
    return done, packages


def test_the_cpu_build_of_torch_comes_first_where_there_is_no_gpu(tmp_path: Path) -> None:
    done, calls = install(tmp_path, "has_cuda=false")
    assert done.returncode == 0, done.stderr
    torch, package = calls
    assert "--index-url https://download.pytorch.org/whl/cpu" in torch
    assert torch.endswith(" torch")
    assert "--no-deps" in torch  # all other packages come from the configured index
    assert "--index-url" not in package
    # the build tools are there, and stay
    assert package.endswith("--no-build-isolation --editable .[plot]")


@pytest.mark.parametrize("variables", [["has_cuda=true"], []], ids=["device", "nvidia-smi"])
def test_the_default_build_of_torch_is_for_gpus(tmp_path: Path, variables: list[str]) -> None:
    write_program(tmp_path / "nvidia-smi", "#!/bin/sh\n")
    assert len(install(tmp_path, *variables)[1]) == 1


def test_an_installed_torch_is_kept(tmp_path: Path) -> None:
    assert len(install(tmp_path, "has_cuda=false", torch_is_missing=0)[1]) == 1


def test_without_the_index_of_torch_the_configured_one_has_it(tmp_path: Path) -> None:
    done, calls = install(tmp_path, "has_cuda=false", index_fails=1)
    assert (done.returncode, len(calls)) == (0, 2)
    assert "It cannot be downloaded: the default build follows.\n" in done.stdout


def test_a_log_has_a_line_at_the_start_and_one_at_the_end(tmp_path: Path) -> None:
    lines = [
        line
        for line in install(tmp_path)[0].stdout.splitlines()
        if line.startswith("Installing the package")
    ]
    assert lines[1] == "Installing the package ..."
    assert [line.partition(",")[0] for line in lines[2:]] == ["Installing the package: done"]


def test_the_readme_tells_the_size_before_the_first_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index(" GB") < readme.index("make demo")


def test_a_failed_installation_fails(tmp_path: Path) -> None:
    done, _ = install(tmp_path, package_fails=3)
    assert done.returncode != 0
    assert "done" not in done.stdout.partition("Installing the package ...")[2]
    assert not (tmp_path / "venv" / "installed").exists()
