"""Scikit-learn's own tests of HashingVectorizer, run on HashingNgramVectorizer."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest
from sklearn.feature_extraction import text

from sklearn_hashnlp.text import HashingNgramVectorizer

pytestmark = pytest.mark.filterwarnings("ignore")  # as in scikit-learn, whose tests do not forbid warnings
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
    return "HashingVectorizer" in inspect.getsource(test)  # with its parameters, which are decorators


suite_tests = {
    name: test for name, test in vars(load_suite()).items() if name.startswith("test_") and uses_our_class(test)
}
globals().update(suite_tests)


def test_the_suite_is_not_empty() -> None:
    assert len(suite_tests) >= 10
