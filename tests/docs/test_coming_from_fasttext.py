"""The commands on the page about fastText print what stands there."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sklearn_hashnlp.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from_fasttext.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


def test_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    # writes the files
    for line in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0].splitlines():
        names["code"] = (
            names.get("code", "") + line[4:] + "\n"
            if line.startswith((">>> ", "... "))
            else names["code"]
        )
    exec(names["code"], names)
    shutil.copytree(names["folder"], tmp_path, dirs_exist_ok=True)
    Path("questions.txt").write_text(
        "which pan for pancakes?\nhow to bake bread?\n", encoding="utf-8"
    )
    commands = [
        part
        for block in CONSOLE
        for part in re.split(r"^\$ hashnlp ", block, flags=re.MULTILINE)[1:]
    ]
    assert len(commands) > 3
    for command in commands:
        arguments, _, expected = command.partition("\n")
        result = CliRunner().invoke(app, shlex.split(arguments))
        assert result.exit_code == 0, result.stderr
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(expected, result.stdout, options), (
            arguments,
            result.stdout,
        )
