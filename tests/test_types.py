"""What editors and type checkers know of the package; ``user_types.py`` has types and choices."""

import importlib
from pathlib import Path

import pytest

import sklearn_hashnlp

PUBLIC_FOLDERS = [
    *(
        "classifiers",
        "datasets",
        "inspection",
        "language",
        "nn",
        "optim",
        "persistence",
        "plotting",
    ),
    *("sentences", "text", "trees"),
]


@pytest.mark.parametrize("name", PUBLIC_FOLDERS)
def test_a_folder_is_an_attribute_of_the_package(name, monkeypatch):
    # a test before this one may have imported it
    monkeypatch.delattr(sklearn_hashnlp, name, raising=False)
    assert getattr(sklearn_hashnlp, name) is importlib.import_module(f"sklearn_hashnlp.{name}")
    assert name in dir(sklearn_hashnlp)


def test_type_checkers_are_told_that_it_has_types():
    assert (Path(sklearn_hashnlp.__file__).parent / "py.typed").exists()
