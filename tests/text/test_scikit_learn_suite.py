"""Scikit-learn's own tests of text features, all of them, with HashingNgramVectorizer by the name
HashingVectorizer.

Those that do not name the class are slow tests: they could only fail for what it does to other
vectorizers.
"""

import importlib.util
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest
from sklearn.feature_extraction import text

from sklearn_hashnlp.text import HashingNgramVectorizer

# as in scikit-learn, whose tests do not forbid warnings
pytestmark = pytest.mark.filterwarnings("ignore")
_SUITE = "sklearn.feature_extraction.tests.test_text"


def load_suite() -> ModuleType:
    """Import scikit-learn's test module, with our class by the name of theirs."""
    spec = importlib.util.find_spec(_SUITE)
    if spec is None or spec.loader is None:  # some distributions leave out the tests
        pytest.skip(f"{_SUITE} is not installed", allow_module_level=True)
    suite = importlib.util.module_from_spec(spec)
    sys.modules[_SUITE] = suite  # one of the tests pickles a function of the module
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "HashingVectorizer", HashingNgramVectorizer)
        spec.loader.exec_module(suite)
    return suite


def uses_our_class(test: Any) -> bool:
    # with its parameters, which are decorators
    return "HashingVectorizer" in inspect.getsource(test)


def with_listed_values(test: Any) -> Any:
    """List the values of a parametrized test: newer versions of pytest take no iterators, which
    scikit-learn passes.
    """
    test.pytestmark = [
        getattr(pytest.mark, mark.name)(
            mark.args[0], list(mark.args[1]), *mark.args[2:], **mark.kwargs
        ).mark
        if mark.name == "parametrize" and len(mark.args) > 1
        else mark
        for mark in getattr(test, "pytestmark", [])
    ]
    return test


suite_tests = {
    name: with_listed_values(test)
    for name, test in vars(load_suite()).items()
    if name.startswith("test_")
}
ours = {name for name, test in suite_tests.items() if uses_our_class(test)}
globals().update(
    {name: test if name in ours else pytest.mark.slow(test) for name, test in suite_tests.items()}
)


def test_the_suite_has_our_class_and_no_other() -> None:
    assert len(ours) >= 10
    assert len(suite_tests) >= 50
    suite = sys.modules[_SUITE]
    assert suite.HashingVectorizer is HashingNgramVectorizer
    assert text.HashingVectorizer is not HashingNgramVectorizer  # put back
