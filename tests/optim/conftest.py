"""Both implementations of a row-wise step: the compiled kernels, and plain torch as on other devices."""

import pytest
import torch

from sklearn_hashnlp.optim import _rowwise_optimizer


@pytest.fixture
def use_kernels(monkeypatch):
    """Return a function that chooses the implementation."""
    return lambda compiled: monkeypatch.setattr(_rowwise_optimizer, "_is_compiled", lambda table: compiled)


@pytest.fixture(params=[True, False], ids=["kernels", "torch"])
def _each_backend(request, use_kernels):
    use_kernels(request.param)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Compute on one thread: on tensors as small as these, two would wait for each other longer than they compute."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)
