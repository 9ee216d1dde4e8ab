"""Constraints of common training parameters, and checks that constraints cannot express."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Final, Literal, TypeAlias

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, literal_options
from sklearn_hashnlp.trees._counts import is_integer

AdaptiveOptimizer: TypeAlias = Literal["adagrad", "adam"]
Device: TypeAlias = Literal["cpu", "cuda", "auto"]

TRAINING: Final[dict[str, list[Any]]] = {
    "optimizer": [literal_options(AdaptiveOptimizer)],
    "learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
    "warm_start": ["boolean"],
    "device": [literal_options(Device)],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 3, closed="both")],
}
"""Constraints of parameters that classifiers and the language model share."""


def check_hidden_layers(estimator: Any) -> None:
    """Check sizes of hidden layers."""
    sizes = estimator.hidden_layer_sizes
    if not all(is_integer(size) and 1 <= size <= MAX_INTEGER for size in sizes):
        raise ValueError(
            f"The 'hidden_layer_sizes' parameter of {type(estimator).__name__} must hold integers from 1 to "
            f"{MAX_INTEGER}. Got {sizes!r} instead."
        )


def resolve_device(device: str, *, caller: str) -> str:
    """Return an available device for the ``device`` parameter of an estimator."""
    if device == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return "cpu"
    raise RuntimeError(
        f"{caller}(device='cuda') needs a CUDA device, and torch {torch.__version__} finds none. "
        "Set device='auto' to use one only where there is one, or device='cpu'."
    )


def check_callbacks(estimator: Any) -> None:
    """Check callbacks."""
    for index, item in enumerate(estimator.callbacks or []):
        if not _is_callback(item):
            raise ValueError(
                f"The 'callbacks' parameter of {type(estimator).__name__} must hold skorch callbacks, or pairs of a "
                f"name and a callback. Got {item!r} at position {index} instead."
            )


def _is_callback(item: Any) -> bool:
    from skorch.callbacks import Callback  # which imports torch

    if isinstance(item, tuple | list):
        if len(item) != 2 or not isinstance(item[0], str):
            return False
        item = item[1]
    return issubclass(item, Callback) if isinstance(item, type) else isinstance(item, Callback)
