"""The version stands in one place, and pages agree with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import sklearn_hashnlp

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


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
    (provider,) = PROJECT["tool"]["dynamic-metadata"]
    assert (provider["field"], provider["input"]) == ("version", "sklearn_hashnlp/__init__.py")
    assignment = re.compile(r"""^\s*(__)?version(__)?["']?\s*[=:]\s*["']?\d""", re.MULTILINE)
    files = [
        path
        for pattern in ("*.toml", "*.cff", "sklearn_hashnlp/**/*.py")
        for path in ROOT.glob(pattern)
    ]
    places = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if assignment.search(path.read_text(encoding="utf-8"))
    ]
    assert places == ["sklearn_hashnlp/__init__.py"]


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == sklearn_hashnlp.__version__


def test_the_lowest_versions_that_are_tested_are_those_that_are_allowed() -> None:
    lowest, newest = pins("constraints-lowest.txt"), pins("constraints.txt")
    build = dict(line.split(">=") for line in PROJECT["build-system"]["requires"])
    for name, version in (requirements("plot", "tensorboard", "wikipedia", "test") | build).items():
        pinned = lowest[name].split(".")
        assert pinned[: len(version.split("."))] == version.split("."), name
        assert name in newest
