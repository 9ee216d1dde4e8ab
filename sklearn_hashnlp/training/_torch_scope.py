"""Context managers to run torch with one thread, default modes and dtype, seed and device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, local
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _Shared:
    """A torch setting shared by all Python threads: how many changed it, and the user's value."""

    def __init__(self, of_the_user: Any) -> None:
        self.lock = Lock()
        self.n_inside = 0
        self.of_the_user = of_the_user


_threads, _dtype = _Shared(1), _Shared(torch.float32)


class _Here(local):
    """Whether this Python thread is in :func:`one_torch_thread`."""

    inside = False


_here = _Here()


_generators = Lock()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch on one intra-op thread, and restore the user's number of threads."""
    nested = _here.inside
    with _threads.lock:
        n_threads = torch.get_num_threads()
        if not nested:
            if _threads.n_inside == 0:
                _threads.of_the_user = n_threads
            elif n_threads == 1:
                n_threads = _threads.of_the_user
            _threads.n_inside += 1
        torch.set_num_threads(1)
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = nested
        with _threads.lock:
            _threads.n_inside -= not nested
            torch.set_num_threads(n_threads)


@contextmanager
def float32_by_default() -> Iterator[None]:
    """Set torch's default dtype, shared by all threads, to float32, and restore the user's."""
    with _dtype.lock:
        if _dtype.n_inside == 0:
            _dtype.of_the_user = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
        _dtype.n_inside += 1
    try:
        yield
    finally:
        with _dtype.lock:
            _dtype.n_inside -= 1
            if _dtype.n_inside == 0:
                torch.set_default_dtype(_dtype.of_the_user)


@contextmanager
def plain_torch(device: str = "cpu") -> Iterator[None]:
    """Run torch in its default state: one thread, with gradients, in float32."""
    with ExitStack() as modes:
        modes.enter_context(one_torch_thread())
        modes.enter_context(float32_by_default())
        if torch.get_default_device().type != "cpu":
            # Entered only if needed: it slows down every call of torch.
            modes.enter_context(torch.device("cpu"))
        modes.enter_context(torch.inference_mode(False))  # also ends no_grad
        for kind in {"cpu", device}:
            modes.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def torch_seed(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Seed torch's global generators, and restore them afterwards."""
    device = torch.device(device)
    on_cuda = device.type == "cuda"
    others = (
        [torch.cuda.current_device() if device.index is None else device.index] if on_cuda else []
    )
    with _generators, torch.random.fork_rng(devices=others):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            torch.cuda.manual_seed(seed)
        yield


@contextmanager
def shapes_only() -> Iterator[None]:
    """Create tensors without memory in torch, even if their device is given as the CPU."""
    with torch.device("meta"), _OnMeta():
        yield


class _OnMeta(TorchFunctionMode):
    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__module__", None) == "torch.nn.init" or function.__name__ in {
            "normal_",
            "uniform_",
        }:
            # importing their meta kernels takes seconds
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return function(
            *args, **kwargs | ({"device": "meta"} if kwargs.get("device") is not None else {})
        )
