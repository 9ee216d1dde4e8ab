"""Fixtures: a small data set on the disk, the command of the experiments, and a recipe of
milliseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.commands.main import main
from benchmarks.commands.registry import RECIPES
from tests.benchmarks.labeled_rows import FILMS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a folder with the data set trec: sixty training rows and twelve test rows."""
    (tmp_path / "trec").mkdir()
    for file, times in (("train.csv", 15), ("test.csv", 3)):
        rows = [
            f'{label},"{text} {i}"'
            for i in range(times)
            for label, texts in FILMS.items()
            for text in texts
        ]
        (tmp_path / "trec" / file).write_text(
            "label,text\n" + "\n".join(rows) + "\n", encoding="utf-8"
        )
    return tmp_path


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process: ``bench("run", "reversal", "--quick")``."""

    def run(*arguments: Any) -> Result:
        capsys.readouterr()
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A recipe of milliseconds, registered for the time of a test, from a module that other
    processes find as well.
    """
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import counting_recipe

    monkeypatch.setitem(RECIPES, "counting", counting_recipe.COUNTING)
    return counting_recipe.COUNTING
