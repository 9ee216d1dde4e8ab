"""Tests under the settings of other processors: ``make test-processors``, or ``python -m tests.processors --help``."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.processors._settings import Setting, choose, probe, together

ROOT = Path(__file__).parents[2]
QUICK = [
    "tests/golden",
    "tests/contract/test_quality.py",
    "tests/persistence/test_saved_models.py",
    "tests/test_array_layouts.py",
    "tests/training/test_one_step.py",
]
ALL = [*QUICK, "tests/contract", "tests/kernels"]
PARALLEL = ["--numprocesses", "auto", "--maxprocesses", "8", "--dist", "loadgroup", "--no-loadscope-reorder"]

_DESCRIPTION = """\
Run the golden, contract, layout and kernel tests and those of one training step, with the libraries set to compute as
on other processors. Settings that this processor cannot run, or that change nothing on it, are skipped by name and
counted. The exit code is 1 if a test fails.
"""


def main() -> int:
    """Run the script and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=_DESCRIPTION)
    parser.add_argument("--quick", action="store_true", help="fewer tests, once, with the settings of all libraries")
    parser.add_argument("tests", nargs="*", help="the tests to run (default: those above)")
    options = parser.parse_args()
    chosen, skipped = choose(probe)
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}", flush=True)
    tests = options.tests or (QUICK if options.quick else ALL)
    results = [_run(setting, tests) for setting in (together(chosen) if options.quick else chosen)]
    print(*(line for _, line in results), f"{len(chosen)} settings tested, {len(skipped)} skipped", sep="\n")
    return int(any(failed for failed, _ in results))


def _run(setting: Setting, tests: list[str]) -> tuple[bool, str]:
    """Run tests in a process of its own; return whether some failed, and a line about them."""
    print(f"{setting.name} ...", flush=True)
    variables = dict(setting.variables)
    if setting.library == "numba":  # so that the kernels compiled for this processor stay
        variables["NUMBA_CACHE_DIR"] = str(Path(sys.prefix, f"numba-{variables['NUMBA_CPU_NAME']}"))
    command = [sys.executable, "-m", "pytest", "--quiet", *PARALLEL, *tests]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables})
    failed = done.returncode != 0
    verdict = "FAILED" if failed else "passed"
    return failed, f"{verdict} in {time.perf_counter() - began:.0f} s: {setting.name}"


if __name__ == "__main__":
    sys.exit(main())
