"""Errors: one line on stderr, an exit code, a traceback with --debug; Ctrl-C."""

from __future__ import annotations

import gzip
import os
import signal
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b"label,text\na,b\n", mtime=0),
            "is compressed, but its name does not say so. Rename it to data.csv.gz",
        ),
        (
            "some text\n".encode("utf-16-le"),
            "NUL bytes in the first line. Is the file UTF-16, or binary?",
        ),
        ("label,text\na,b\n".encode("utf-16"), "--encoding utf-16"),
    ],
    ids=["gzip", "UTF-16", "UTF-16 with a mark"],
)
def test_a_wrong_kind_of_file_is_recognized(
    hashnlp: Any, model: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    for command in (["predict"], ["test"]):
        result = hashnlp(*command, tmp_path / "data.csv", "-m", model, "-q")
        assert (result.code, result.out) == (1, "")
        assert message in result.err
        assert "--errors" not in result.err  # which would not help
    result = hashnlp("predict", "-m", model, stdin=content)
    assert (result.code, result.out) == (1, "")
    assert "stdin is compressed" in result.err or message in result.err


INTERRUPTED = """
import os, signal, sys

class InterruptedImport:
    def find_spec(name, *_):
        if name == "sklearn_hashnlp.cli._app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, InterruptedImport)
from sklearn_hashnlp.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_during_the_first_imports_is_one_line() -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (
        130,
        "",
        "\nhashnlp: interrupted.\n",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_that_breaks_an_import_is_an_interrupt(
    hashnlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_folder: Path) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("half a module") from None

    monkeypatch.setattr("sklearn_hashnlp.persistence._load_model.read_folder", load)
    result = hashnlp("predict", "-m", "m", stdin="a")
    assert (result.code, result.err) == (130, "\nhashnlp: interrupted.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "a.csv", "-m"], "Option '-m' requires an argument. See: hashnlp train --help"),
        (["lm", "train", "a.txt", "-m"], "See: hashnlp lm train --help"),
        (["train", "a.csv", "-m", "m", "-j", 0], "hashnlp: --n-jobs: expected 1 or more"),
        (
            ["train", "a.csv", "-m", "m", "--epochs", 2, "--set", "classifier__variant=paper"],
            "use --set classifier__max_epochs=2 instead.",
        ),
        (
            ["train", "a.csv", "-m", "m", "--early-stopping", "--set", "classifier__n_buckets=9"],
            "use --set classifier__early_stopping='valid_acc' instead.",
        ),
    ],
)
def test_a_message_is_in_terms_of_the_shell(
    hashnlp: Any, arguments: list[Any], message: str
) -> None:
    result = hashnlp(*arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err


@pytest.mark.parametrize("command", [["train"], ["train", "--sgnn"], ["lm", "train"]])
def test_a_missing_gpu_is_told_by_its_option(
    hashnlp: Any, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = hashnlp(*command, "a.csv", "-m", "m", "--device", "cuda")
    assert result.code == 2
    assert "hashnlp: --device cuda: torch finds no CUDA device. Use --device auto" in result.err
