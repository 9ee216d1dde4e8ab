"""``hashnlp`` itself: help, version, exit codes, lazy imports."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sklearn_hashnlp import __version__
from sklearn_hashnlp.cli import app, main
from sklearn_hashnlp.cli._app import app_for
from sklearn_hashnlp.persistence import save_model

from .conftest import small_pipeline

COMMANDS = [
    "demo",
    "train",
    "tune",
    "predict",
    "test",
    "explain",
    "compare",
    "info",
    "export",
    "convert",
]


def test_version_and_help(hashnlp: Any) -> None:
    assert hashnlp("-V").out == hashnlp("--version").out == f"hashnlp {__version__}\n"
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train", "Missing argument 'DATA'. See: hashnlp train --help\n"),
        ("test --nonsense", "No such option: --nonsense"),
        ("predict -m m --threshold 1.5", "--threshold: expected"),
        (
            "train a.csv -m m --epochs 0",
            "--epochs: expected 1 or more, got '0'. See: hashnlp train --help\n",
        ),
        (
            "train a.csv -m m --precision half",
            "--precision: expected float32, float16 or int8, got 'half'. See: ",
        ),
        (
            "lm nearest -m m",
            "expected either WORD or --analogy A B C. See: hashnlp lm nearest --help\n",
        ),
        ("trian", "No such command 'trian'. Did you mean 'train'? See: hashnlp --help\n"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(
    hashnlp: Any, arguments: str, message: str
) -> None:
    result = hashnlp(*arguments.split())
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("hashnlp: ")
    assert result.err.endswith("--help\n")
    assert message in result.err


def test_only_the_command_that_is_run_is_imported() -> None:
    program = (
        "import sys; from sklearn_hashnlp.cli._app import app_for\n"
        "print([command.name for command in app_for(['predict', '--help']).registered_commands])\n"
        "print(sorted({'sklearn_hashnlp.cli._train', 'sklearn_hashnlp.cli.lm'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "['predict']\n[]\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["nonsense"], ["-V", "predict"]])
def test_all_commands_are_known_where_none_is_named(arguments: list[str]) -> None:
    assert app_for(arguments) is app
    assert len(app.registered_commands) == 10
    assert len(app.registered_groups) == 2


def test_completions_are_of_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HASHNLP_COMPLETE", "complete_bash")
    assert app_for(["predict"]) is app


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """Run the entry point; return the exit code."""
    monkeypatch.setattr(sys, "argv", ["hashnlp", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    return int(exit_info.value.code or 0)


def test_python_m_completes_commands_without_torch() -> None:
    env = os.environ | {
        "_HASHNLP_COMPLETE": "complete_bash",
        "COMP_WORDS": "hashnlp lm tr",
        "COMP_CWORD": "2",
    }
    command = [sys.executable, "-X", "importtime", "-m", "sklearn_hashnlp"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "train\n")
    assert not {"torch", "numpy", "sklearn"} & {
        line.split("|")[-1].strip() for line in result.stderr.splitlines()
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_each_shell_is_shown(
    shell: str, hashnlp: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--show-completion" in hashnlp("--help").out
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    assert run_main(monkeypatch, "--show-completion") == 0
    assert f"_HASHNLP_COMPLETE=complete_{shell}" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_options_their_values_and_file_names_once_installed(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "hashnlp"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sklearn_hashnlp "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    env = os.environ | {"HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    (tmp_path / "mails of today.csv").touch()
    script = """
        hashnlp --install-completion > /dev/null || exit 1
        . ~/.bashrc || exit 1
        for line in 'hashnlp tune m.csv --max-' 'hashnlp tune m.csv --metric b' \\
                    'hashnlp predict --model '; do
            read -ra COMP_WORDS <<< "$line"
            if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _hashnlp_completion hashnlp
            echo "[${COMPREPLY[*]}]"
        done
        complete -p hashnlp
    """
    result = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    # No words for a folder: with "-o default" bash completes file names then.
    expected = [
        "[--max-size --max-trials]",
        "[balanced-accuracy]",
        "[]",
        "complete -o default -F _hashnlp_completion hashnlp",
    ]
    assert result.stdout.splitlines() == expected, result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_a_closed_stdout_is_an_error_of_one_line() -> None:
    command = ["sh", "-c", f"exec {sys.executable} -m sklearn_hashnlp train --help >&-"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "hashnlp: stdout is closed.\n")


def test_a_closed_stdin_is_an_error_of_one_line(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run_main(monkeypatch, "predict", "-m", model) == 1
    assert capsys.readouterr() == ("", "hashnlp: stdin is closed.\n")


def test_a_label_is_escaped_where_only_ascii_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(small_pipeline().fit(["un deux", "one two"], ["français", "anglais"]), tmp_path)
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"un deux\n")))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert run_main(monkeypatch, "predict", "-m", tmp_path) == 0
    assert printed.getvalue() == b"fran\\xe7ais\n"


def test_help_into_a_closed_pipe_exits_as_documented(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class ClosedPipe(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(tmp_path / "any", os.O_CREAT | os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    assert run_main(monkeypatch, "--help") == 141
