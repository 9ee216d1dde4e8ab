"""The conditions under which every estimator runs torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_scope(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Run torch on one intra-op thread with random numbers of its own, and leave no trace.

    Torch splits a sum over its threads, so the number of threads changes the last bits of a result; on one thread the
    same seed gives the same bytes everywhere. The user's number of threads and the states of torch's global generators
    are put back at the end, whatever happens.

    Parameters
    ----------
    seed : int
        Of torch's generators inside the scope.
    device : torch.device or str, default="cpu"
        Whose generator is put back beside the CPU's.

    Yields
    ------
    None

    Examples
    --------
    >>> import torch
    >>> before = torch.random.get_rng_state()
    >>> with torch_scope(seed=3):
    ...     first = torch.rand(2)
    >>> with torch_scope(seed=3):
    ...     bool((torch.rand(2) == first).all())
    True
    >>> bool((torch.random.get_rng_state() == before).all())
    True
    """
    device = torch.device(device)
    n_threads = torch.get_num_threads()
    on_cuda = device.type == "cuda"
    others = [torch.cuda.current_device() if device.index is None else device.index] if on_cuda else []
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=others):
            torch.default_generator.manual_seed(seed)
            if on_cuda:
                torch.cuda.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(n_threads)


def resolve_device(device: str, *, caller: str) -> str:
    """Turn the ``device`` parameter of an estimator into a device that exists.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        What the user asked for; "auto" takes a CUDA device where there is one.
    caller : str
        Class that asks, for the message.

    Returns
    -------
    {"cpu", "cuda"}
        The device.

    Raises
    ------
    RuntimeError
        If "cuda" was asked for and torch has none.

    Examples
    --------
    >>> resolve_device("cpu", caller="HashEmbeddingClassifier")
    'cpu'
    """
    if device == "cpu":
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return "cpu"
    raise RuntimeError(
        f"{caller}(device='cuda') needs a CUDA device, and torch {torch.__version__} finds none. "
        "Set device='auto' to use one only where there is one, or device='cpu'."
    )
