"""Test kernels that check addresses and undefined behavior: ``make sanitize``, or
``python -m tests.sanitize``.

A build of its own, in ``build/sanitize``; its sums are those of the others, in one instruction set.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.native import MODULE

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "sanitize"
REPORT = FOLDER / "report"
# of GCC and of Clang
LIBRARIES = ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so")
COMMANDS = [
    [
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "tests/kernels",
        "tests/classifiers/test_native_scores.py",
    ],
    ["tests.fuzz.kernels", "--inputs", "300"],
]


def main() -> int:
    """Build, run the tests and the fuzzer, print reports and return the exit code."""
    backend = [sys.executable, "native/build_backend.py"]
    subprocess.run([*backend, str(FOLDER), "-DSANITIZE=ON"], cwd=ROOT, check=True)
    for old in FOLDER.glob("report.*"):
        old.unlink()
    (module,) = FOLDER.glob("_native.*")
    # pytest would capture a report
    options = f"detect_leaks=0:halt_on_error=1:print_stacktrace=1:log_path={REPORT}"
    environment = os.environ | {
        MODULE: str(module),
        "LD_PRELOAD": " ".join(find_libraries()),
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": options,
        "PYTHONMALLOC": "malloc",
    }
    codes = [
        subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, env=environment, check=False
        ).returncode
        for command in COMMANDS
    ]
    for report in FOLDER.glob("report.*"):
        print(report.read_text(encoding="utf-8", errors="replace"))
    return int(any(codes))


def find_libraries() -> list[str]:
    """Return the libraries to load before Python, which does not know them: the checks, and C++ for
    its exceptions.
    """
    cache = (FOLDER / "CMakeCache.txt").read_text(encoding="utf-8")
    (compiler,) = re.findall(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache, re.MULTILINE)

    def path_of(name: str) -> str:
        query = [compiler, f"-print-file-name={name}"]
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()

    found = [path for path in map(path_of, LIBRARIES) if Path(path).is_absolute()]
    if not found:
        raise SystemExit(
            f"{compiler} has no library for checks of addresses: take GCC or Clang, by CXX=g++ "
            "make sanitize"
        )
    return [found[0], path_of("libstdc++.so.6")]


if __name__ == "__main__":
    sys.exit(main())
