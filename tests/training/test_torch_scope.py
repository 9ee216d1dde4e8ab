"""The scope in which estimators run torch leaves nothing changed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
import torch

from sklearn_hashnlp._device import resolve_device
from sklearn_hashnlp.training._torch_scope import one_torch_thread, plain_torch


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("own", [None, 2], ids=["new to torch", "with a number of its own"])
@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_python_threads_that_overlap_each_get_their_number_back(first_leaves_first, own):
    turn = Barrier(2, timeout=20)
    first_is_in = Event()

    def visit(is_first):
        seen = []
        if own is not None:
            torch.get_num_threads()
            torch.set_num_threads(own)
        turn.wait()
        if not is_first:
            first_is_in.wait(timeout=20)
        with one_torch_thread():
            first_is_in.set()
            turn.wait()  # both are inside
            if is_first is not first_leaves_first:
                turn.wait()  # the other has left
            with one_torch_thread():
                seen.append(torch.get_num_threads())
            seen.append(torch.get_num_threads())
        seen.append(torch.get_num_threads())
        if is_first is first_leaves_first:
            turn.wait()
        return [*seen, torch.get_num_threads()]

    with ThreadPoolExecutor(2) as pool:
        visits = [pool.submit(visit, is_first) for is_first in (True, False)]
        assert [visit.result() for visit in visits] == [[1, 1, own or 3, own or 3]] * 2
    assert torch.get_num_threads() == 3
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == (own or 3)


def test_default_dtype_and_device_are_restored_after_the_last_thread():
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        with ThreadPoolExecutor(1) as pool, plain_torch():
            other = plain_torch()
            pool.submit(other.__enter__).result()
            with plain_torch():
                assert (torch.ones(1).dtype, torch.ones(1).device.type) == (torch.float32, "cpu")
            pool.submit(other.__exit__, None, None, None).result()
            assert (torch.ones(1).dtype, torch.ones(1).device.type) == (torch.float32, "cpu")
        assert (torch.ones(1).dtype, torch.ones(1).device.type) == (torch.float64, "meta")
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


def test_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("cpu", caller="Model") == "cpu"
    assert resolve_device("auto", caller="Model") == "cpu"
    with pytest.raises(
        RuntimeError, match=r"Model\(device='cuda'\) needs a device .*Set device='auto'.*\.$"
    ):
        resolve_device("cuda", caller="Model")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [resolve_device(device, caller="Model") for device in ("cpu", "cuda", "auto")] == [
        "cpu",
        "cuda",
        "cuda",
    ]
