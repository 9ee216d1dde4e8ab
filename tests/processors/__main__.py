"""Tests under the settings of other processors: ``make test-processors``, or
``python -m tests.processors --help``.
"""

import argparse
import os
import subprocess
import sys
import time

from tests.processors._settings import ROOT, Setting, choose, describe, probe

QUICK = [
    "tests/golden",
    "tests/contract/test_quality.py",
    "tests/persistence/test_saved_models.py",
    "tests/test_array_layouts.py",
    "tests/training/test_one_step.py",
]
PARALLEL = [
    "--numprocesses",
    "auto",
    "--maxprocesses",
    "8",
    "--dist",
    "loadgroup",
    "--no-loadscope-reorder",
]

_DESCRIPTION = """\
Run the quick tests twice, with the libraries set to compute as on other processors. Settings that
this processor cannot run, or that change nothing on it, are skipped by name. The exit code is 1 if
a test fails.
"""


def main() -> int:
    """Run the script and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=_DESCRIPTION)
    parser.add_argument("--quick", action="store_true", help="fewer tests, once")
    parser.add_argument("tests", nargs="*", help="the tests to run (default: all quick tests)")
    options = parser.parse_args()
    chosen, skipped = choose(probe)
    if options.quick:
        chosen = chosen[:1]
    print(*(f"skipped: {line}" for line in skipped), sep="\n", flush=True)
    results = [
        _run(settings, options.tests or (QUICK if options.quick else [])) for settings in chosen
    ]
    print(*(line for _, line in results), sep="\n")
    return int(any(failed for failed, _ in results))


def _run(settings: list[Setting], tests: list[str]) -> tuple[bool, str]:
    """Run tests in a process of its own; return whether some failed, and a line about them."""
    print(f"{describe(settings)} ...", flush=True)
    variables = {setting.variable: setting.value for setting in settings}
    command = [sys.executable, "-m", "pytest", "--quiet", *PARALLEL, *tests]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables})
    failed = done.returncode != 0
    verdict = "FAILED" if failed else "passed"
    return failed, f"{verdict} in {time.perf_counter() - began:.0f} s: {describe(settings)}"


if __name__ == "__main__":
    sys.exit(main())
