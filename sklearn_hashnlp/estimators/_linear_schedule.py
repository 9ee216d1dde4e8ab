"""A step size that falls linearly."""

from __future__ import annotations

from typing import Any

from skorch.callbacks import Callback


class LinearSchedule(Callback):  # type: ignore[misc]  # skorch has no types
    """Let the step size fall from step to step, in equal parts, so that it would be 0 after the last."""

    def __init__(self, n_steps: int, n_done: int = 0) -> None:
        self.n_steps = n_steps
        self.n_done = n_done

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Begin the line, or go on along it."""
        self.steps_ = self.n_done

    def on_batch_begin(self, net: Any, training: bool | None = None, **_: Any) -> None:
        """Set the size of the step to come."""
        if not training:
            return
        if self.steps_:
            left = self.n_steps - self.steps_
            for group in net.optimizer_.param_groups:
                group["lr"] *= left / (left + 1)
        self.steps_ += 1
