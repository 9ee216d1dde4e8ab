"""Errors: one line on stderr, an exit code, a traceback with --debug; Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from sklearn_hashnlp.cli._errors import reporting_errors


def run(error: BaseException | None, *arguments: str, env: dict[str, str] | None = None) -> Any:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @reporting_errors
    def command(number: Annotated[int, typer.Option()], name: str = "x") -> None:
        if error is not None:
            raise error
        print(number + 1, name)

    return CliRunner().invoke(app, ["--number", "1", *arguments], env=env)


def test_parameters_reach_the_command() -> None:
    result = run(None, "--name", "y")
    assert (result.exit_code, result.stdout) == (0, "2 y\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("line one\n  line two"), "hashnlp: line one line two\n"),
        (FileNotFoundError("x does not exist."), "hashnlp: x does not exist.\n"),
        (PermissionError(13, "Permission denied", "a.csv"), "hashnlp: a.csv: Permission denied\n"),
        (MemoryError(), "hashnlp: out of memory.\n"),
        (KeyError("k"), "hashnlp: unexpected KeyError: 'k' (--debug prints the traceback)\n"),
    ],
)
def test_an_error_is_one_line_and_exit_code_1(error: Exception, message: str) -> None:
    result = run(error)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


def test_debug_raises_the_error_itself() -> None:
    error = ValueError("wrong")
    assert run(error, "--debug").exception is error
    assert run(error, env={"HASHNLP_DEBUG": "1"}).exception is error


def test_wrong_usage_is_exit_code_2() -> None:
    result = run(typer.BadParameter("not both"))
    assert result.exit_code == 2
    assert "not both" in result.stderr


def test_an_interrupt_is_exit_code_130() -> None:
    result = run(KeyboardInterrupt())
    assert (result.exit_code, result.stderr) == (130, "\nhashnlp: interrupted.\n")


def test_wrong_files_are_named_before_torch_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("label,text\na,b\na,c\n", encoding="utf-8")
    one_label = "one.csv: expected at least two different labels, got only 'a'."
    no_model = "No model in 'm': the folder does not exist."
    expected = {
        "train nothing.csv --model m": "nothing.csv does not exist.",
        "train one.csv --model m --quiet": one_label,
        "tune one.csv --model m --quiet": one_label,
        "test one.csv --model m": no_model,
        "explain one.csv --model m": no_model,
        "export m.py --model m": no_model,
    }
    program = (
        "import sys\n"
        "from sklearn_hashnlp.cli import app\n"
        "for line in sys.argv[1:]:\n"
        "    try: app(line.split())\n"
        "    except SystemExit as error: print(error.code, 'torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, *expected]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert result.stderr.splitlines() == [f"hashnlp: {message}" for message in expected.values()]
    assert result.stdout.splitlines() == ["1 False"] * len(expected)
