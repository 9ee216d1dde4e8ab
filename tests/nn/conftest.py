import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Compute on one thread: on tensors as small as these, two would wait for each other longer than they compute."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)
