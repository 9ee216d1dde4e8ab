"""Files and folders of the package have a size to read, and constructors are short."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import sklearn_hashnlp
from sklearn_hashnlp import nn
from tests.sizes import functions, sizes

PACKAGE = Path(sklearn_hashnlp.__file__).parent
PUBLIC = {
    name: getattr(module, name) for module in (sklearn_hashnlp, nn) for name in module.__all__
}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
LIMITS = {"TextClassifier": 20, "HsigmoidLanguageModel": 30, "SGNNSentenceEncoder": 30}


@pytest.mark.parametrize("name", CLASSES)
def test_a_constructor_is_short(name: str) -> None:
    limit = LIMITS.get(
        name, 16 if CLASSES[name].__module__.startswith("sklearn_hashnlp.nn.") else 26
    )
    assert len(inspect.signature(CLASSES[name]).parameters) <= limit


def test_the_sizes_of_this_tree() -> None:
    figures = sizes(PACKAGE.parent)
    assert figures["package: lines of the longest file"] <= 600  # it is read in one sitting
    assert figures["package: files of the largest folder"] <= 23
    assert figures["package: lines of the longest function"] <= 80  # it fits on two screens
    assert figures["package: lines of code"] < figures["package: lines"]
    assert figures["package: files"] <= 272
    assert figures["package: lines"] <= 56_500
    assert figures["kernels: lines of C++ and Python"] <= 9_400
    assert figures["benchmarks: lines"] <= 19_950
    assert figures["lines of more than 100 columns"] <= 15  # of a pragma, which ruff does not count
    assert 50 < figures["public names"] <= 81


def test_names_of_tests_are_short() -> None:
    tests = PACKAGE.parent / "tests"
    names = [
        node.name
        for path in tests.rglob("test_*.py")
        for node in functions(path.read_text(encoding="utf-8"))
        if node.name.startswith("test_")
    ]
    assert len(names) > 2000
    assert [name for name in names if len(name) > 70] == []
