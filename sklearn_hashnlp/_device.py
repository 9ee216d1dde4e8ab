"""Values of the parameter ``device``."""

from __future__ import annotations

from typing import Literal, TypeAlias

Device: TypeAlias = Literal["cpu", "cuda", "auto"]


def resolve_device(device: str, *, caller: str) -> str:
    """Return an available device of torch for the ``device`` parameter of an estimator."""
    if device == "cpu":
        return "cpu"
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not _is_available(device):
        raise RuntimeError(
            f"{caller}(device={device!r}) needs a device that torch {torch.__version__} does not "
            "find. Set device='auto' to use a CUDA device only if there is one, or device='cpu'."
        )
    return device


def _is_available(device: str) -> bool:
    import torch

    if device == "cuda":
        return torch.cuda.is_available()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # AssertionError if torch was built without CUDA
        return False
    return True
