"""``hashnlp lm`` as a whole: help, and folders that hold no language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

COMMANDS = ["train", "score", "predict", "sample", "nearest"]
USES = [["score"], ["predict"], ["sample"], ["nearest", "cat"]]


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_teaches_by_examples(hashnlp: Any, command: list[str]) -> None:
    result = hashnlp("lm", *command, "--help")
    assert result.code == 0
    assert result.out.count(" ".join(["hashnlp lm", *command])) >= 3
    if not command:
        assert all(f"hashnlp lm {name}" in result.out for name in COMMANDS)


def test_the_top_knows_it(hashnlp: Any) -> None:
    assert "hashnlp lm train" in hashnlp("--help").out


@pytest.mark.parametrize("use", USES)
def test_a_folder_without_a_language_model_is_one_line(hashnlp: Any, model: Path, tmp_path: Path, use: Any) -> None:
    (tmp_path / "p" / "pass-00002").mkdir(parents=True)
    for folder, message in (
        (tmp_path / "nowhere", "the folder does not exist."),
        (tmp_path, "expected parameters.json and weights.safetensors there."),
        (model, f"{model} holds a Pipeline and no language model; give a folder that hashnlp lm train made."),
        (tmp_path / "p", f"holds the passes of a training; give one of them, such as {tmp_path / 'p' / 'pass-00002'}."),
    ):
        result = hashnlp("lm", *use, "--model", folder, stdin="a cat")
        assert (result.code, result.out) == (1, "")
        assert message in result.err
        assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("use", USES[:2])
def test_a_file_that_is_not_there_is_one_line(hashnlp: Any, lm: Path, tmp_path: Path, use: Any) -> None:
    result = hashnlp("lm", *use, "--model", lm, tmp_path / "nothing.txt")
    assert (result.code, result.err) == (1, f"hashnlp: {tmp_path / 'nothing.txt'} does not exist.\n")
    result = hashnlp("lm", *use, "--model", lm, tmp_path)
    assert (result.code, result.err) == (1, f"hashnlp: {tmp_path} is a folder; expected a text file.\n")


@pytest.mark.parametrize("use", USES[:2])
def test_lines_before_a_wrong_one_are_answered(hashnlp: Any, lm: Path, use: Any) -> None:
    result = hashnlp("lm", *use, "-m", lm, stdin=b"the cat\nb\xe9d\n")
    assert (result.code, len(result.out.splitlines())) == (1, 1)
    assert "stdin, line 2: expected UTF-8" in result.err


def test_a_classifiers_command_says_where_language_models_go(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("predict", "-m", lm, stdin="a cat")
    message = f"hashnlp: {lm} holds a language model, which does not classify texts; for it there is hashnlp lm.\n"
    assert (result.code, result.err) == (1, message)
