"""Learning rate schedules."""

from __future__ import annotations

import math
from typing import Any

from skorch.callbacks import Callback


class LinearSchedule(Callback):  # type: ignore[misc]  # skorch has no types
    """Decrease the learning rate linearly at each step, to 0 after the last step."""

    def __init__(self, n_steps: int, n_done: int = 0, n_planned: int | None = None) -> None:
        self.n_steps = n_steps
        self.n_done = n_done
        self.n_planned = n_planned  # planned steps of a resumed training; None is n_steps

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start, or resume with the learning rate of the new plan."""
        self.steps_ = self.n_done
        if not self.n_done or self.n_planned in (None, self.n_steps):
            return  # the same plan must give the same bits
        new, old = (1 - (self.n_done - 1) / n_steps for n_steps in (self.n_steps, self.n_planned))
        for group in net.optimizer_.param_groups:
            group["lr"] *= new / old

    def on_batch_begin(self, net: Any, training: bool | None = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        if not training:
            return
        if self.steps_:
            left = self.n_steps - self.steps_
            for group in net.optimizer_.param_groups:
                group["lr"] *= left / (left + 1)
        self.steps_ += 1


class Warmup(Callback):  # type: ignore[misc]  # skorch has no types
    """Increase the learning rate linearly to its full value over the first steps."""

    def __init__(self, n_steps: int, n_done: int = 0) -> None:
        self.n_steps = n_steps
        self.n_done = n_done

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Start, or resume."""
        self.steps_ = self.n_done

    def on_batch_begin(self, net: Any, training: bool | None = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        if not training or self.steps_ >= self.n_steps:
            return
        factor = (self.steps_ + 1) / self.steps_ if self.steps_ else 1 / self.n_steps
        for group in net.optimizer_.param_groups:
            group["lr"] *= factor
        self.steps_ += 1


class ReduceOnPlateau(Callback):  # type: ignore[misc]  # skorch has no types
    """Multiply the learning rate by a factor when a validation metric has not improved for some epochs."""

    def __init__(
        self, patience: int, factor: float, monitor: str = "valid_loss", first_epoch: int | None = None
    ) -> None:
        self.patience = patience
        self.factor = factor
        self.monitor = monitor
        self.first_epoch = first_epoch  # first epoch of a resumed training; None is the next epoch

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Set the first epoch."""
        self._first = len(net.history) if self.first_epoch is None else self.first_epoch

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Check all epochs so far; without further state, training can be resumed."""
        net.history.record("lr", net.optimizer_.param_groups[0]["lr"])
        best, waited = math.inf, 0
        for entry in net.history[self._first :]:
            loss = entry[self.monitor] if lower_is_better(self.monitor) else -entry[self.monitor]
            waited = 0 if waited >= self.patience else waited
            waited = 0 if loss < best else waited + 1
            best = min(best, loss)
        if waited >= self.patience:
            for group in net.optimizer_.param_groups:
                group["lr"] *= self.factor


def lower_is_better(monitor: str) -> bool:
    """Return whether lower values of a metric are better."""
    return monitor == "valid_loss"
