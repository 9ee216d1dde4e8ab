"""Both implementations of a row-wise step: the compiled kernels, and plain torch as on other
devices.
"""

import pytest

from sklearn_hashnlp.optim import _rowwise_optimizer
from tests.one_torch_thread import _one_thread  # noqa: F401 (a fixture)


@pytest.fixture
def use_kernels(monkeypatch):
    """Return a function that chooses the implementation."""
    return lambda compiled: monkeypatch.setattr(
        _rowwise_optimizer, "_is_compiled", lambda table: compiled
    )


@pytest.fixture(params=[True, False], ids=["kernels", "torch"])
def _each_backend(request, use_kernels):
    use_kernels(request.param)
