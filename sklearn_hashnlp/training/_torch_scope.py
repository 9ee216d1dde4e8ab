"""The scope in which every estimator runs torch: one thread, no modes, torch's own defaults, seeded, on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, local
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _Everyone:
    """The count of Python threads inside :func:`one_torch_thread`, and the user's number of torch threads."""

    lock = Lock()
    n_inside = 0
    of_the_user = 1


class _Here(local):
    """The state of this Python thread."""

    inside = False


_here = _Here()


_generators = Lock()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch on one intra-op thread, and put the user's number back at the end, whatever happens."""
    nested = _here.inside
    with _Everyone.lock:
        found = torch.get_num_threads()
        if not nested:
            if _Everyone.n_inside == 0:
                _Everyone.of_the_user = found
            elif found == 1:
                found = _Everyone.of_the_user
            _Everyone.n_inside += 1
        torch.set_num_threads(1)
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = nested
        with _Everyone.lock:
            _Everyone.n_inside -= not nested
            torch.set_num_threads(found)


class _DefaultDtype:
    """The count of blocks inside :func:`float32_by_default`, and the user's default dtype."""

    lock = Lock()
    n_inside = 0
    of_the_user = torch.float32


@contextmanager
def float32_by_default() -> Iterator[None]:
    """Set torch's default dtype, one for all Python threads, to float32, and put the user's back at the end."""
    with _DefaultDtype.lock:
        if _DefaultDtype.n_inside == 0:
            _DefaultDtype.of_the_user = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
        _DefaultDtype.n_inside += 1
    try:
        yield
    finally:
        with _DefaultDtype.lock:
            _DefaultDtype.n_inside -= 1
            if _DefaultDtype.n_inside == 0:
                torch.set_default_dtype(_DefaultDtype.of_the_user)


@contextmanager
def plain_torch(device: str = "cpu") -> Iterator[None]:
    """Run torch as if the user had set no mode and no default: on one thread, with gradients, in float32."""
    with ExitStack() as modes:
        modes.enter_context(one_torch_thread())
        modes.enter_context(float32_by_default())
        if torch.get_default_device().type != "cpu":
            modes.enter_context(torch.device("cpu"))  # only then: it costs time at every call of torch
        modes.enter_context(torch.inference_mode(False))  # this ends no_grad, too
        for kind in {"cpu", device}:
            modes.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def torch_seed(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Let torch draw random numbers from a seed, and put its global generators back at the end, whatever happens."""
    device = torch.device(device)
    on_cuda = device.type == "cuda"
    others = [torch.cuda.current_device() if device.index is None else device.index] if on_cuda else []
    with _generators, torch.random.fork_rng(devices=others):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            torch.cuda.manual_seed(seed)
        yield


@contextmanager
def shapes_only() -> Iterator[None]:
    """Let torch make tensors of shapes without memory, also those that are made on the CPU by name."""
    with torch.device("meta"), _OnMeta():
        yield


class _OnMeta(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__module__", None) == "torch.nn.init" or function.__name__ in {"normal_", "uniform_"}:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]  # on meta, torch takes seconds to import them
        return function(*args, **kwargs | ({"device": "meta"} if kwargs.get("device") is not None else {}))
