"""``hashnlp`` itself: help, version, exit codes, lazy imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from sklearn_hashnlp import __version__
from sklearn_hashnlp.cli import app
from sklearn_hashnlp.cli._app import app_for

COMMANDS = ["demo", "train", "tune", "predict", "test", "explain", "info", "export", "convert", "warmup"]


def test_version_and_help(hashnlp: Any) -> None:
    assert hashnlp("--version").out == f"hashnlp {__version__}\n"
    result = hashnlp("--help")
    assert result.code == 0
    assert all(command in result.out for command in COMMANDS)
    assert "Exit codes" in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_examples(hashnlp: Any, command: str) -> None:
    result = hashnlp(command, "--help")
    assert result.code == 0
    assert result.out.count(f"hashnlp {command}") >= (1 if command == "convert" else 2)
    assert "--debug" in result.out


def test_examples_fit_into_a_terminal_of_80_columns() -> None:
    def examples(command: Any) -> Iterator[str]:
        for block in command.help.split("\b\n")[1:]:
            yield from block.split("\n\n")[0].splitlines()
        for subcommand in getattr(command, "commands", {}).values():
            yield from examples(subcommand)

    lines = list(examples(typer.main.get_command(app)))
    assert len(lines) > 40
    assert [line for line in lines if len(line) > 78] == []


@pytest.mark.parametrize("arguments", [["nonsense"], ["train"], ["predict", "--top", "0"], ["test", "--nonsense"]])
def test_wrong_usage_is_exit_code_2(hashnlp: Any, arguments: list[str]) -> None:
    result = hashnlp(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
    assert result.err.endswith("--help\n")


def test_help_imports_no_heavy_modules() -> None:
    program = (
        "import sys; from sklearn_hashnlp.cli import app\n"
        "print(sorted({'torch', 'sklearn', 'numpy', 'scipy', 'numba', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_only_the_command_that_is_run_is_imported() -> None:
    program = (
        "import sys; from sklearn_hashnlp.cli._app import app_for\n"
        "print([command.name for command in app_for(['predict', '--help']).registered_commands])\n"
        "print(sorted({'sklearn_hashnlp.cli._train', 'sklearn_hashnlp.cli.lm'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "['predict']\n[]\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["nonsense"], ["-V", "predict"]])
def test_all_commands_are_known_where_none_is_named(arguments: list[str]) -> None:
    assert app_for(arguments) is app
    assert len(app.registered_commands) == 10
    assert len(app.registered_groups) == 2


def test_completions_are_of_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HASHNLP_COMPLETE", "complete_bash")
    assert app_for(["predict"]) is app
