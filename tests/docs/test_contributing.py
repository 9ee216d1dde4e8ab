"""CONTRIBUTING and CONVENTIONS name files that exist; every folder and part of the package is in
CONTRIBUTING.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CONVENTIONS = (ROOT / "CONVENTIONS.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:[\w.]+/)+[\w.*]*|[A-Z_]+\.\w+|LICENSE)`", PAGE + CONVENTIONS)))
NAMES = re.findall(r"`([\w/]+\.py)`: `([\w.]+)`", PAGE)
FOLDERS = {path.parent.name for path in (ROOT / "sklearn_hashnlp").glob("*/__init__.py")}
MODULES = {path.stem for path in (ROOT / "sklearn_hashnlp").glob("_[!_]*.py")}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exists(path):
    assert any(list(folder.glob(path)) for folder in (ROOT, ROOT / "sklearn_hashnlp"))


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_a_name_is_in_its_file(path, name):
    source = (ROOT / "sklearn_hashnlp" / path).read_text(encoding="utf-8")
    for part in name.split("."):
        assert re.search(rf"\b(class|def) {part}\b|^{part}\b.* = ", source, flags=re.MULTILINE)


def parts_of(folder: str) -> set[str]:
    """Return the names of the files and folders in a folder of the package."""
    paths = list((ROOT / "sklearn_hashnlp" / folder).iterdir())
    return {
        path.stem
        for path in paths
        if (path.is_dir() or path.suffix == ".py") and not path.name.startswith("__")
    }


def test_the_tree_has_every_folder():
    tree, arrows, kernels, classifiers, benchmarks = re.findall(
        r"```text\n(.*?)```", PAGE, flags=re.DOTALL
    )
    assert len(FOLDERS) > 10
    assert set(re.findall(r"(\w+)/", tree)) - {"sklearn_hashnlp", "native"} == FOLDERS
    assert set(re.findall(r"\w+", arrows)) - MODULES == FOLDERS
    assert set(re.findall(r"\w+", kernels)) == parts_of("kernels") | {"_native"}
    assert set(re.findall(r"\w+", classifiers)) == parts_of("classifiers")
    assert set(re.findall(r"\w+", benchmarks)) == {
        path.parent.name for path in (ROOT / "benchmarks").glob("*/__init__.py")
    }
