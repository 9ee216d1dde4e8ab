"""The instruction sets of this processor, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sklearn_hashnlp.kernels import _native


@pytest.fixture(params=_native.levels())
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let kernels use one instruction set, and then again the one of before."""
    before = _native.level()
    _native.set_level(request.param)
    yield request.param
    _native.set_level(before)
