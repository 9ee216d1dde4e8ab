"""Check that a training continues with the parameters, device and data that it started with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def check_unchanged(
    estimator: Any,
    wanted: Mapping[str, Any],
    trained: Mapping[str, Any],
    *,
    device: str | None = None,  # of the trained net
    parameters: Mapping[str, str] = MappingProxyType({}),  # that values with another name come from
) -> None:
    """Check that each wanted value is the one that a model was trained with."""
    if device is not None and estimator.device != "auto":
        wanted, trained = {**wanted, "device": estimator.device}, {**trained, "device": device}
    for name, value in wanted.items():
        if trained[name] != value:
            parameter = parameters.get(name, name)
            then = f"{'' if name == parameter else f'{name} '}{trained[name]!r:.200}"
            now = f"{parameter}={getattr(estimator, parameter)!r:.200}"
            raise cannot_continue(estimator, f"with {now}", f"with {then}", "Set it back")


def cannot_continue(estimator: Any, now: str, then: str, remedy: str) -> ValueError:
    """Return the error for a training that cannot continue as it started."""
    name = type(estimator).__name__
    return ValueError(
        f"{name} cannot continue training {now}: it was trained {then}. {remedy}, or "
        f"{train_anew(estimator)}."
    )


def train_anew(estimator: Any) -> str:
    """Return how to train a new model, for messages."""
    parameters = estimator.get_params()
    if parameters.get("resume"):
        return f"give another folder than checkpoint_dir={parameters['checkpoint_dir']!r}"
    warm = [name for name in ("warm_start", "classifier__warm_start") if parameters.get(name)]
    return "train a new net by fit" + (f" with {warm[0]}=False" if warm else "")
