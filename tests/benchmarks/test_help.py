"""The help of a benchmark is the docstring of its module: each command stands on its own lines."""

from __future__ import annotations

import ast
import re

import pytest

from tests.benchmarks.labeled_rows import FOLDER

COMMAND = re.compile(r" {4}python -m benchmarks run bench_\w+( [^()]+)?")


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("bench_*.py")), ids=lambda path: path.stem)
def test_lines_with_a_command_hold_it_alone(path):
    help_text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False)
    commands = [line for line in help_text.splitlines() if "python -m" in line]
    assert commands
    for line in commands:
        assert line.count("python -m") == 1, line
        assert COMMAND.fullmatch(line), line
    # Words before the first option belong to the command: the program, `run` and the benchmark.
    assert not re.search(r"python\s*\n\s*-m|python -m\s*\n|benchmarks\s*\n\s*run ", help_text)
