"""Few epochs where the default is many: a fixture that the ``conftest.py`` of a folder imports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sklearn_hashnlp.classifiers.hash_embedding import _auto_parameters

_ALL = {name: getattr(_auto_parameters, name) for name in ("_MOST_EPOCHS", "_MOST_STEPS")}


@pytest.fixture(autouse=True, scope="module")
def few_epochs() -> Iterator[None]:
    """Train few rows for 5 epochs or 20 steps, not for 100 or 500, where ``max_epochs`` is not
    given.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_auto_parameters, "_MOST_EPOCHS", 5)
        patch.setattr(_auto_parameters, "_MOST_STEPS", 20)
        yield


@pytest.fixture
def all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train for as many epochs as a user does, in tests of what is learned until the end."""
    for name, value in _ALL.items():
        monkeypatch.setattr(_auto_parameters, name, value)
