"""The settings that pages change by ``--set`` are accepted: by the command they are for, or by one
that has them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.commands.main import _parser
from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.runner.run import plan_runs
from benchmarks.runner.settings import change_settings
from sklearn_hashnlp import KneserNeyLanguageModel
from sklearn_hashnlp.cli import _train, app
from sklearn_hashnlp.cli._parameters import set_parameters
from sklearn_hashnlp.cli.lm import _train_language_model as lm_train
from sklearn_hashnlp.cli.sentences import _train_encoder as sentences_train
from tests.docs.page_blocks import DOCS

PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
_CODE = re.compile(r"^```.*?\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
_PLACEHOLDER = re.compile(r"[A-Z]+=.*|.*=\.\.\.")


def lines(text: str) -> Iterator[str]:
    """Yield the lines of code in a Markdown text that change settings."""
    for block, inline in _CODE.findall(text):
        yield from (
            line for line in (block or inline).replace("\\\n", " ").splitlines() if "--set " in line
        )


def settings(words: list[str]) -> list[str]:
    return [value for word, value in pairwise(words) if word == "--set"]


def is_accepted(setting: str) -> bool:
    """Return whether an estimator of the command line or an experiment has the setting, and takes
    the value.
    """
    models = [model for module in (_train, lm_train, sentences_train) for model in module._models()]
    for estimator, bundles in [
        *((model, bundles) for _, model, bundles in models),
        (KneserNeyLanguageModel(), {}),
    ]:
        try:
            set_parameters(estimator, [setting], bundles)
        except typer.BadParameter:
            continue
        return True
    for recipe in RECIPES.values():
        try:
            change_settings(recipe.settings, [setting])
        except ValueError:
            continue
        return True
    return False


def check(line: str, folder: Path) -> None:
    """Check the settings of a command, which reads an empty file, and those without a command."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    changes = [setting for setting in settings(words) if not _PLACEHOLDER.fullmatch(setting)]
    if words[:4] == ["python", "-m", "benchmarks", "run"]:
        options = _parser().parse_args(words[3:])
        assert plan_runs(
            map(get_recipe, options.names), datasets=options.data, changes=options.changes
        )
    elif words[0] == "hashnlp":
        for file in (word for word in words if word.endswith((".csv", ".txt"))):
            (folder / file).touch()
        # checks parameters before it reads the empty file
        result = CliRunner().invoke(app, words[1:])
        assert re.search("a file without rows|has no sentences", result.stderr), (
            f"{line}: {result.stderr}"
        )
    else:
        assert [setting for setting in changes if not is_accepted(setting)] == [], line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_settings_of_a_page_are_accepted(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for line in lines(page.read_text(encoding="utf-8")):
        check(line, tmp_path)


def test_settings_are_found() -> None:
    changed = {page.stem: sum(1 for _ in lines(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert changed["command_line"] > 15
    assert changed["experiments"] > 25
