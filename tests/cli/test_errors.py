"""Errors: one line on stderr, an exit code, a traceback with --debug; Ctrl-C."""

from __future__ import annotations

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
