"""``pytest docs`` runs the code of the pages, each in an empty folder, and not what builds or is built for the site."""

import shutil
from pathlib import Path

import pytest

FASTTEXT_MODEL = Path(__file__).parents[1] / "tests" / "persistence" / "data" / "fasttext" / "softmax.bin"

collect_ignore = ["_build", "api", "conf.py", "gallery", "generated", "images", "site"]


@pytest.fixture(autouse=True)
def _empty_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if request.node.name == "coming_from_fasttext.md":  # where fastText has trained a model
        shutil.copy(FASTTEXT_MODEL, tmp_path / "cooking.bin")
