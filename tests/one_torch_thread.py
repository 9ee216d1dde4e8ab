"""A fixture of tests with small tensors: two threads would wait for each other longer than they
compute.
"""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)
