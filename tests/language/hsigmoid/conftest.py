"""A model that several files of tests ask."""

from __future__ import annotations

import pytest

from tests.language.hsigmoid.small_models import fitted


@pytest.fixture(scope="session")
def model():
    return fitted()
