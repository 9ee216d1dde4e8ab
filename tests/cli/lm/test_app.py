"""``hashnlp lm`` itself: help, and errors for folders and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

COMMANDS = ["train", "score", "predict", "test", "continue", "sample", "nearest"]
USES = [["score"], ["predict"], ["test"], ["continue"], ["sample"], ["nearest", "cat"]]


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_has_examples(hashnlp: Any, command: list[str]) -> None:
    result = hashnlp("lm", *command, "--help")
    assert result.code == 0
    assert result.out.count(" ".join(["hashnlp lm", *command])) >= 3
    if not command:
        assert all(f"hashnlp lm {name}" in result.out for name in COMMANDS)


def test_the_help_of_hashnlp_lists_it(hashnlp: Any) -> None:
    assert "hashnlp lm train" in hashnlp("--help").out


@pytest.mark.parametrize("use", USES)
def test_a_folder_without_a_language_model_is_an_error_of_one_line(
    hashnlp: Any, model: Path, tmp_path: Path, use: Any
) -> None:
    (tmp_path / "p" / "epoch-00002").mkdir(parents=True)
    for folder, message in (
        (tmp_path / "nowhere", "the folder does not exist."),
        (tmp_path, "expected parameters.json and weights.safetensors there."),
        (model, f"{model} is a Pipeline, not a language model; expected a folder of hashnlp lm train."),
        (tmp_path / "p", f"is a checkpoint folder; use one of its epochs, such as {tmp_path / 'p' / 'epoch-00002'}."),
    ):
        result = hashnlp("lm", *use, "--model", folder, stdin="a cat")
        assert (result.code, result.out) == (1, "")
        assert message in result.err
        assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("use", USES[:4])
def test_a_missing_file_is_an_error_of_one_line(hashnlp: Any, lm: Path, tmp_path: Path, use: Any) -> None:
    result = hashnlp("lm", *use, "--model", lm, tmp_path / "nothing.txt")
    assert (result.code, result.err) == (1, f"hashnlp: {tmp_path / 'nothing.txt'} does not exist.\n")
    result = hashnlp("lm", *use, "--model", lm, tmp_path)
    assert (result.code, result.err) == (1, f"hashnlp: {tmp_path} is a folder; expected a text file.\n")


@pytest.mark.parametrize("use", USES[:4])
def test_lines_before_an_invalid_one_are_processed(hashnlp: Any, lm: Path, use: Any) -> None:
    result = hashnlp("lm", *use, "-m", lm, stdin=b"the cat\nb\xe9d\n")
    assert (result.code, len(result.out.splitlines())) == (1, 1)
    assert "stdin, line 2: expected UTF-8" in result.err


def test_hashnlp_predict_refers_to_hashnlp_lm(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("predict", "-m", lm, stdin="a cat")
    message = f"hashnlp: {lm} is a language model, not a text classifier; use hashnlp lm.\n"
    assert (result.code, result.err) == (1, message)
