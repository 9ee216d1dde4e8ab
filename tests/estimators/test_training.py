"""The scope in which estimators run torch leaves nothing changed."""

from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.estimators._training import resolve_device, torch_scope


def test_the_scope_has_one_thread_and_puts_the_users_number_back():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with torch_scope(0):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(ZeroDivisionError), torch_scope(0):
            raise ZeroDivisionError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_the_scope_has_random_numbers_of_its_own():
    torch.manual_seed(7)
    expected = torch.rand(4)
    torch.manual_seed(7)
    first = torch.rand(2)
    with torch_scope(1):
        inside = torch.rand(3)
    assert torch.equal(torch.cat([first, torch.rand(2)]), expected)
    with torch_scope(1):
        assert torch.equal(torch.rand(3), inside)
    with torch_scope(2):
        assert not torch.equal(torch.rand(3), inside)


def test_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("cpu", caller="Model") == "cpu"
    assert resolve_device("auto", caller="Model") == "cpu"
    with pytest.raises(RuntimeError, match=r"Model\(device='cuda'\) needs a CUDA device.*Set device='auto'"):
        resolve_device("cuda", caller="Model")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [resolve_device(device, caller="Model") for device in ("cpu", "cuda", "auto")] == ["cpu", "cuda", "cuda"]
