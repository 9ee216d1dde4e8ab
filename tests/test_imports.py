"""Folders import one way, torch stays where it belongs, and public names are there."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_hashnlp

PACKAGE = Path(sklearn_hashnlp.__file__).parent

# What each folder may import from; the right-hand edge imports anything.
ALLOWED = {
    "kernels": set(),
    "text": {"kernels"},
    "trees": set(),
    "nn": {"kernels", "trees"},
    "estimators": {"kernels", "text", "trees", "nn", "persistence", "datasets"},
    "persistence": set(),
    "datasets": set(),
}
EDGE = {"inspection", "plotting", "experiments", "cli"}
MAY_IMPORT_EDGE = {"experiments", "cli"}


def folders_imported_by(path: Path) -> set[str]:
    """Give the package's folders that a file imports from, wherever in the file it does."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["sklearn_hashnlp", *folder][: len(folder) + 2 - node.level] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [".".join([*module, alias.name]) for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "sklearn_hashnlp" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir():
                found.add(parts[1])
    return found - {folder[0] if folder else ""}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_folders_import_one_way(path):
    folder = path.relative_to(PACKAGE).parts[0]
    found = folders_imported_by(path)
    if folder not in MAY_IMPORT_EDGE:
        assert not found & EDGE
    if folder not in EDGE:
        assert found <= ALLOWED[folder]


def test_the_import_rule_sees_what_it_should():
    assert folders_imported_by(PACKAGE / "text" / "_char_ngram_featurizer.py") == {"kernels"}
    assert "text" in folders_imported_by(PACKAGE / "estimators" / "_text_classifier.py")


def test_nn_knows_no_scikit_learn():
    for path in (PACKAGE / "nn").glob("*.py"):
        assert "sklearn." not in path.read_text(encoding="utf-8").replace("sklearn_hashnlp.", ""), path.name


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_text_works_where_torch_is_absent():
    code = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "skorch"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent)
import sklearn_hashnlp
from sklearn_hashnlp.text import CharNgramFeaturizer, HashingNgramVectorizer
print(HashingNgramVectorizer(n_features=8).transform(["a text"]).shape)
print(sklearn_hashnlp.CharNgramFeaturizer(n_features=8).transform(["a text"]).shape)
"""
    assert run(code).splitlines() == ["(1, 8)", "(1, 8)"]


def test_the_package_itself_loads_next_to_nothing():
    code = "import sys, sklearn_hashnlp; print([m for m in ('torch', 'numba', 'sklearn', 'typer') if m in sys.modules])"
    assert run(code).strip() == "[]"


@pytest.mark.parametrize("name", sklearn_hashnlp.__all__)
def test_public_names_are_there(name):
    assert getattr(sklearn_hashnlp, name) is not None
    assert name in dir(sklearn_hashnlp)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'HashEmbedingClassifier'"):
        _ = sklearn_hashnlp.HashEmbedingClassifier
