"""The docstrings of the standard library: which are loaded, which are excluded, and the error
without source files.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_stdlib_docstrings


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that an empty folder holds the standard library."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: {"stdlib": str(tmp_path)}[name])
    return tmp_path


def write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(source, encoding="utf-8")


def test_the_real_library_gives_twenty_labels_and_no_text_twice() -> None:
    bunch = load_stdlib_docstrings()
    assert len(bunch.data) == len(bunch.target) == len(set(bunch.data)) > 2000
    assert bunch.target_names == sorted(set(bunch.target.tolist()))
    assert len(bunch.target_names) == 20
    assert isinstance(bunch.target, np.ndarray)
    assert bunch.target.dtype.kind == "U"
    assert all(type(text) is str and text.strip() for text in bunch.data)
    assert set(bunch.target_names) <= set(sys.stdlib_module_names)
    assert str(len(bunch.data)) in bunch.DESCR


def test_two_calls_agree_even_if_the_first_result_is_modified() -> None:
    first = load_stdlib_docstrings()
    expected = list(first.data), first.target.copy()
    first.data.clear()
    first.target[:] = "modified"
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    assert texts == expected[0]
    np.testing.assert_array_equal(labels, expected[1])


def test_docstrings_of_modules_classes_functions_and_methods_are_loaded(library: Path) -> None:
    source = '''
"""The module."""
def function():
    """The function.

    Its indentation goes.
    """
    def inner():
        "An inner function."
class Class:
    """The class."""
    async def method(self):
        """The method."""
if True:
    try:
        pass
    except OSError:
        def fallback():
            """Behind a condition."""
x = """No docstring."""
'''
    write(library / "package" / "module.py", source)
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    assert texts == [
        "The module.",
        "The function.\n\nIts indentation goes.",
        "An inner function.",
        "The class.",
        "The method.",
        "Behind a condition.",
    ]
    assert set(labels) == {"package"}


def test_excluded_modules(library: Path) -> None:
    for name in (
        "good/sub",
        "test/a",
        "good/tests/a",
        "idlelib/a",
        "lib2to3/a",
        "turtledemo/a",
        "encodings/a",
        "ensurepip/a",
        "_private/a",
        "good/_private",
        "site-packages/installed/a",
    ):
        write(library / f"{name}.py", f'"""{name}"""')
    (library / "_single.py").write_text('"""private"""')
    (library / "single.py").write_text('"""single"""')
    (library / "broken.py").write_text('"""broken""" (')
    (library / "no_package").mkdir()
    (library / "no_package" / "a.py").write_text('"""not a package"""')
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    assert sorted(texts) == ["good/sub", "single"]
    assert sorted(labels) == ["good", "single"]


def test_duplicates_are_dropped_before_the_largest_labels_are_chosen(library: Path) -> None:
    for number in range(25):
        body = "".join(
            f'def f{i}():\n    """Text {i} of {number}."""\n' for i in range(2 + (number >= 5))
        )
        write(library / f"m{number:02d}" / "a.py", body + 'def g():\n    """Everywhere."""\n')
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    # m00 is first to have the shared text, so it has three texts as m05 to m24 have, and precedes
    # them by name.
    assert sorted(set(labels)) == ["m00", *(f"m{number:02d}" for number in range(5, 24))]
    assert texts.count("Everywhere.") == 1


def test_an_invalid_escape_in_a_source_file_does_not_warn(library: Path) -> None:
    (library / "regex.py").write_text('"""Text."""\nx = "\\d"\n')
    assert load_stdlib_docstrings().data == ["Text."]


def test_an_installation_without_source_files_is_an_error(library: Path) -> None:
    (library / "os.pyc").write_bytes(b"\0")
    with pytest.raises(FileNotFoundError, match=r"installed without them.*load_labelled"):
        load_stdlib_docstrings()
