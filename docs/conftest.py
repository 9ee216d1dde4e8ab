"""``pytest docs`` runs the code of the pages, each in an empty folder, but not the site's build."""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore = ["_build", "api", "conf.py", "gallery", "generated", "images", "site"]
if find_spec("sklearn.callback") is None:  # scikit-learn has callbacks since version 1.9
    collect_ignore.append("callbacks.md")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
