"""Users of the shell: completion, usage errors, closed streams, Ctrl-C, wrong files, narrow output."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.cli import main
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.training import EarlyStopping
from tests.cli.conftest import small_pipeline


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """Run the entry point; return the exit code."""
    monkeypatch.setattr(sys, "argv", ["hashnlp", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    return int(exit_info.value.code or 0)


def test_python_m_completes_commands_without_torch() -> None:
    env = os.environ | {"_HASHNLP_COMPLETE": "complete_bash", "COMP_WORDS": "hashnlp lm tr", "COMP_CWORD": "2"}
    command = [sys.executable, "-X", "importtime", "-m", "sklearn_hashnlp"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "train\n")
    assert not {"torch", "numpy", "sklearn"} & {line.split("|")[-1].strip() for line in result.stderr.splitlines()}


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
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sklearn_hashnlp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = os.environ | {"HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    (tmp_path / "mails of today.csv").touch()
    script = """
        hashnlp --install-completion > /dev/null || exit 1
        . ~/.bashrc || exit 1
        for line in 'hashnlp tune m.csv --max-' 'hashnlp tune m.csv --metric b' 'hashnlp predict --model '; do
            read -ra COMP_WORDS <<< "$line"
            if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _hashnlp_completion hashnlp
            echo "[${COMPREPLY[*]}]"
        done
        complete -p hashnlp
    """
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    # No words for a folder: with "-o default" bash completes file names then.
    expected = [
        "[--max-size --max-trials]",
        "[balanced-accuracy]",
        "[]",
        "complete -o default -F _hashnlp_completion hashnlp",
    ]
    assert result.stdout.splitlines() == expected, result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train a.csv -m m --epochs 0", "hashnlp: --epochs: expected 1 or more, got '0'. See: hashnlp train --help\n"),
        (
            "train a.csv -m m --precision half",
            "hashnlp: --precision: expected float32, float16 or int8, got 'half'. See: hashnlp train --help\n",
        ),
        ("lm nearest -m m", "hashnlp: expected either WORD or --analogy A B C. See: hashnlp lm nearest --help\n"),
        ("trian", "hashnlp: No such command 'trian'. Did you mean 'train'? See: hashnlp --help\n"),
    ],
)
def test_a_usage_error_is_one_line(hashnlp: Any, arguments: str, message: str) -> None:
    result = hashnlp(*arguments.split())
    assert (result.code, result.out, result.err) == (2, "", message)


def test_capital_v_prints_the_version(hashnlp: Any) -> None:
    assert hashnlp("-V").out == hashnlp("--version").out


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


def test_a_label_is_printed_where_only_ascii_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(small_pipeline().fit(["un deux", "one two"], ["français", "anglais"]), tmp_path)
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"un deux\n")))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert run_main(monkeypatch, "predict", "-m", tmp_path) == 0
    assert printed.getvalue() == b"fran\\xe7ais\n"


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
    result = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "\nhashnlp: interrupted.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_that_breaks_an_import_is_an_interrupt(hashnlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_folder: Path) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("half a module") from None

    monkeypatch.setattr("sklearn_hashnlp.persistence._folder_files.read_folder", load)
    result = hashnlp("predict", "-m", "m", stdin="a")
    assert (result.code, result.err) == (130, "\nhashnlp: interrupted.\n")


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


def test_a_table_in_a_pipe_has_whole_labels(hashnlp: Any, tmp_path: Path) -> None:
    labels = [f"a long name of the label {number}" for number in range(9)]
    save_model(small_pipeline().fit(labels, labels), tmp_path / "m")
    (tmp_path / "data.csv").write_text("label,text\n" + "".join(f"{label},{label}\n" for label in labels))
    out = hashnlp("test", tmp_path / "data.csv", "-m", tmp_path / "m").out
    assert "\u2026" not in out
    assert all(out.count(label) >= 3 for label in labels)


def test_one_epoch_is_no_plural(hashnlp: Any, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a b c\n")
    arguments = ["--order", 2, "--epochs", 1, "--set", "embedding_dim=2", "--set", "hidden_size=2"]
    out = hashnlp("lm", "train", tmp_path / "text.txt", "-m", tmp_path / "m", *arguments).out
    assert "Trained 1 epoch with" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b"label,text\na,b\n", mtime=0),
            "is compressed, but its name does not say so. Rename it to data.csv.gz",
        ),
        ("some text\n".encode("utf-16-le"), "NUL bytes in the first line. Is the file UTF-16, or binary?"),
    ],
    ids=["gzip", "UTF-16"],
)
def test_a_wrong_kind_of_file_is_recognized(
    hashnlp: Any, model: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    for command in (["predict"], ["test"]):
        result = hashnlp(*command, tmp_path / "data.csv", "-m", model, "-q")
        assert (result.code, result.out) == (1, "")
        assert message in result.err
    result = hashnlp("predict", "-m", model, stdin=content)
    assert (result.code, result.out) == (1, "")
    assert "stdin is compressed" in result.err or "NUL bytes in the first line" in result.err


def test_a_file_is_no_model_folder(hashnlp: Any, tmp_path: Path) -> None:
    (tmp_path / "m").write_text("")
    result = hashnlp("predict", "-m", tmp_path / "m", stdin="a")
    message = f"hashnlp: No model in {str(tmp_path / 'm')!r}: it is a file, not a folder.\n"
    assert (result.code, result.err) == (1, message)


def test_the_table_of_epochs_has_colors_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(**environment: str) -> str:
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            small_pipeline(classifier__verbose=1, classifier__max_epochs=1).fit(["a", "b"], [0, 1])
        return capsys.readouterr().out

    assert "\x1b" not in printed()  # a pipe
    assert "\x1b" in printed(FORCE_COLOR="1")  # a notebook
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b" in printed()
    assert "\x1b" not in printed(NO_COLOR="1")
    assert "\x1b" not in printed(TERM="dumb")


def test_the_bar_of_an_epoch_counts_all_batches_and_stays_out_of_pipes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = small_pipeline(classifier__verbose=2, classifier__batch_size=2, classifier__max_epochs=1)
    pipeline.set_params(classifier__early_stopping=EarlyStopping(validation_fraction=0.5))
    X, y = ["a", "b"] * 20, [0, 1] * 20
    pipeline.fit(X, y)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    pipeline.fit(X, y)
    drawn = capsys.readouterr().err
    assert " 0/11 " in drawn  # ten batches of training and one of validation
    assert drawn.endswith("\r")  # it is removed


LINE = "the cat sat on the mat"


def test_lm_predict_prints_the_next_word_after_each_line(hashnlp: Any, lm: Path) -> None:
    lines = ["the cat sat", "the cat sat on", "the"]
    expected = load_model(lm).predict(lines).tolist()
    assert hashnlp("lm", "predict", "-m", lm, stdin="\n".join(lines)).out.splitlines() == expected


def test_lm_test_counts_the_right_last_words(hashnlp: Any, lm: Path) -> None:
    predicted = load_model(lm).predict([LINE.rsplit(" ", 1)[0]])[0]
    n_hits = int(predicted == "mat")
    out = hashnlp("lm", "test", "-m", lm, stdin=LINE).out
    assert out == f"{predicted}\tmat\nHit rate {n_hits:.4f} ({n_hits} of 1 word)\n"


def test_lm_continue_writes_on(hashnlp: Any, lm: Path) -> None:
    out = hashnlp("lm", "continue", "-m", lm, "--seed", 0, stdin="the cat").out
    assert out.startswith("the cat ")


def test_lm_nearest_takes_top_as_the_other_commands(hashnlp: Any, lm: Path) -> None:
    assert len(hashnlp("lm", "nearest", "cat", "-m", lm, "--top", 2).out.splitlines()) == 2


def test_lm_score_lowercases_as_the_training_text_was(hashnlp: Any, lm: Path) -> None:
    score = f"{load_model(lm).score_samples([LINE])[0]:.4f}"
    result = hashnlp("lm", "score", "-m", lm, stdin=LINE.capitalize())
    assert result.out == f"{score}\tThe cat sat on the mat\n"
    assert result.err == "The training text was lowercase, and so words are lowercased.\n"


def test_lm_score_warns_about_words_that_are_unknown_for_their_capitals(hashnlp: Any, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("I saw the cat\nAnna saw the dog\n")
    small = ["--order", 2, "--epochs", 1, "--set", "embedding_dim=2", "--set", "hidden_size=2"]
    assert hashnlp("lm", "train", tmp_path / "text.txt", "-m", tmp_path / "m", *small).code == 0
    result = hashnlp("lm", "score", "-m", tmp_path / "m", stdin="The cat\nThe dog\nI saw\nZebra\n")
    assert result.err == "'The' is unknown to the model, but 'the' is not: check the capitals.\n"
    assert hashnlp("lm", "train", tmp_path / "text.txt", "-m", tmp_path / "m", "--lowercase", *small).code == 0
    assert "anna" in load_model(tmp_path / "m").vocabulary_
