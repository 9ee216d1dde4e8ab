"""The version stands in one place, and pages agree with the package."""

from __future__ import annotations

import importlib
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import sklearn_hashnlp
from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION
from sklearn_hashnlp.persistence._folder_files import FORMAT_VERSION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
release = importlib.import_module("tests.release.__main__")


def requirements(*extras: str) -> dict[str, str]:
    """Return package -> lowest version, of the package itself and of extras."""
    lines = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        lines += PROJECT["project"]["optional-dependencies"][extra]
    return dict(line.split(">=") for line in lines)


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_version_stands_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", sklearn_hashnlp.__version__)
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "sklearn_hashnlp/__init__.py"
    assignment = re.compile(r"""^\s*(__)?version(__)?["']?\s*[=:]\s*["']?\d""", re.MULTILINE)
    files = [path for pattern in ("*.toml", "*.cff", "sklearn_hashnlp/**/*.py") for path in ROOT.glob(pattern)]
    places = [
        path.relative_to(ROOT).as_posix() for path in files if assignment.search(path.read_text(encoding="utf-8"))
    ]
    assert places == ["sklearn_hashnlp/__init__.py"]


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == sklearn_hashnlp.__version__


def test_the_page_on_releases_has_the_stored_versions() -> None:
    page = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    assert f"| hash specification | `HASH_SPECIFICATION` in `_hash_specification.py` | {HASH_SPECIFICATION} |" in page
    assert f"| model folders | `FORMAT_VERSION` in `persistence/_folder_files.py` | {FORMAT_VERSION} |" in page


def test_the_lowest_versions_that_are_tested_are_those_that_are_allowed() -> None:
    lowest, newest = pins("constraints-lowest.txt"), pins("constraints.txt")
    for name, version in requirements("plot", "tensorboard", "wikipedia", "test").items():
        pinned = lowest[name].split(".")
        assert pinned[: len(version.split("."))] == version.split("."), name
        assert name in newest


def test_a_distribution_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "package.whl"
    path.write_bytes(bytes(release.MAX_BYTES - 1))
    release.check_sizes([path])
    path.write_bytes(bytes(release.MAX_BYTES))
    with pytest.raises(SystemExit, match="should have less than 1,000,000"):
        release.check_sizes([path])


def test_a_wheel_without_a_file_of_the_package_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sklearn_hashnlp/__init__.py", "")
        archive.writestr("sklearn_hashnlp/stray.txt", "")
    with pytest.raises(SystemExit, match=r"py\.typed.*and has \['sklearn_hashnlp/stray.txt'\] besides"):
        release.check_contents(path)
