"""One fitted model that many threads and forked processes use at once, and models that are trained
at the same time.
"""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from tests.concurrency.models import Answer, answer, answers, trainings
from tests.trainings import assert_same_bits

SECONDS = 120  # a deadlock would last for ever


def at_once(calls: list[Answer]) -> list[bytes]:
    """Make all calls at the same time, a thread each."""
    barrier = Barrier(len(calls))

    def make(call: Answer) -> bytes:
        barrier.wait(SECONDS)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(SECONDS) for future in [pool.submit(make, call) for call in calls]]


def test_eight_threads_use_one_model() -> None:
    for name, ask in answers().items():
        assert at_once([ask] * 8) == [ask()] * 8, name


def test_threads_use_models_of_all_kinds_while_others_train() -> None:
    calls = [*answers().values(), *trainings().values()]
    assert at_once(calls) == [call() for call in calls]


def _compute_on_all_threads() -> None:
    """Start the threads of OpenMP, which a forked process does not have."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(4)
    matrix = torch.rand(600, 600)
    assert torch.isfinite(matrix @ matrix).all()
    torch.set_num_threads(n_threads)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_use_the_model_of_their_parent() -> None:
    expected = {name: ask() for name, ask in answers().items()}  # in threads of the kernels, too
    _compute_on_all_threads()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for name in expected:
            found = pool.map_async(answer, [name] * 4).get(SECONDS)
            assert found == [expected[name]] * 4, name
    # the parent goes on
    assert_same_bits({name: ask() for name, ask in answers().items()}, expected)
