"""What scikit-learn's declared constraints cannot say of an estimator's parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from skorch.callbacks import Callback


def check_parameters(estimator: Any) -> None:
    """Check sizes of hidden layers against the batch, the two numbers of dropout and of the plateau, and callbacks."""
    name = type(estimator).__name__
    check_hidden_layers(estimator)
    if estimator.hidden_layer_sizes and estimator.batch_size == 1:
        raise ValueError(
            f"The 'batch_size' parameter of {name} must be at least 2 with 'hidden_layer_sizes', whose batch "
            f"normalisation compares the rows of a batch. Got {estimator.batch_size!r} instead."
        )
    pair = estimator.ngram_dropout
    if pair is not None and (len(pair) != 2 or not all(map(_is_integer, pair)) or not 1 <= pair[0] <= pair[1]):
        raise ValueError(
            f"The 'ngram_dropout' parameter of {name} must be None or (fewest, most), two integers with "
            f"1 <= fewest <= most. Got {pair!r} instead."
        )
    check_schedule_and_callbacks(estimator)


def check_hidden_layers(estimator: Any) -> None:
    """Check sizes of hidden layers."""
    sizes = estimator.hidden_layer_sizes
    if not all(_is_integer(size) and size >= 1 for size in sizes):
        raise ValueError(
            f"The 'hidden_layer_sizes' parameter of {type(estimator).__name__} must hold positive integers. Got "
            f"{sizes!r} instead."
        )


def check_schedule_and_callbacks(estimator: Any) -> None:
    """Check the two numbers of the plateau, and callbacks."""
    name = type(estimator).__name__
    pair = estimator.lr_plateau
    if pair is not None and not (
        len(pair) == 2
        and _is_integer(pair[0])
        and pair[0] >= 1
        and isinstance(pair[1], Real)
        and 0 < float(pair[1]) < 1
    ):
        raise ValueError(
            f"The 'lr_plateau' parameter of {name} must be None or (patience, factor), an integer of at least 1 and a "
            f"number between 0 and 1. Got {pair!r} instead."
        )
    check_callbacks(estimator)


def check_callbacks(estimator: Any) -> None:
    """Check callbacks."""
    for place, item in enumerate(estimator.callbacks or []):
        if not _is_callback(item):
            raise ValueError(
                f"The 'callbacks' parameter of {type(estimator).__name__} must hold skorch callbacks, or pairs of a "
                f"name and a callback. Got {item!r} at position {place} instead."
            )


def check_language_parameters(estimator: Any) -> None:
    """Check what a language model's parameters say together."""
    check_schedule_and_callbacks(estimator)
    name = type(estimator).__name__
    if estimator.direct_connections == "hashed" and estimator.output != "hsigmoid":
        raise ValueError(
            f"{name}(direct_connections='hashed') needs output='hsigmoid', where a word has the scores of a path and "
            f"not of all words. Got output={estimator.output!r}; set direct_connections=True or False."
        )
    if estimator.resume and estimator.checkpoint_dir is None:
        raise ValueError(f"{name}(resume=True) needs checkpoint_dir, the folder of the training to go on with.")
    if estimator.resume and estimator.early_stopping and estimator.keep == "last":
        raise ValueError(
            f"{name}(early_stopping=True, resume=True) returns to the best pass, which keep='last' does not keep. Set "
            "keep='best' or 'all'."
        )


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_callback(item: Any) -> bool:
    if isinstance(item, tuple | list):
        if len(item) != 2 or not isinstance(item[0], str):
            return False
        item = item[1]
    return issubclass(item, Callback) if isinstance(item, type) else isinstance(item, Callback)
