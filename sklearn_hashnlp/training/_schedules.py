"""The schedule of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from skorch.callbacks import Callback


class LearningRateSchedule(Callback):  # type: ignore[misc]  # skorch has no types
    """Multiply the learning rates at each step: a linear warmup, a linear decay, and a factor on a plateau."""

    def __init__(
        self,
        n_steps: int,
        *,
        n_done: int,  # steps before an interruption
        n_planned: int,  # steps that were planned before the interruption
        n_warmup: int,  # steps over which the rate rises to its full value
        decays: bool,  # whether it decreases to 0 after the last step
        plateau: Sequence[float] | None,  # epochs without improvement, and the factor after them
        monitor: str,
        first_epoch: int,  # of the training, in the history of the net
    ) -> None:
        self.n_steps = n_steps
        self.n_done = n_done
        self.n_planned = n_planned
        self.n_warmup = n_warmup
        self.decays = decays
        self.plateau = plateau
        self.monitor = monitor
        self.first_epoch = first_epoch

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start, or resume with the learning rate of the new plan."""
        self.steps_ = self.n_done
        if not self.decays or not self.n_done or self.n_planned == self.n_steps:
            return  # the same plan must give the same bits
        new, old = (1 - (self.n_done - 1) / n_steps for n_steps in (self.n_steps, self.n_planned))
        _multiply_rates(net, new / old)

    def on_batch_begin(self, net: Any, training: bool | None = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        if not training:
            return
        done = self.steps_
        if done < self.n_warmup:
            _multiply_rates(net, (done + 1) / done if done else 1 / self.n_warmup)
        if done and self.decays:
            left = self.n_steps - done
            _multiply_rates(net, left / (left + 1))
        self.steps_ += 1

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Check all epochs so far for a plateau; without further state, training can be resumed."""
        if self.plateau is None:
            return
        net.history.record("lr", net.optimizer_.param_groups[0]["lr"])
        (patience, factor), best, waited = self.plateau, math.inf, 0
        for entry in net.history[self.first_epoch :]:
            loss = entry[self.monitor] if lower_is_better(self.monitor) else -entry[self.monitor]
            waited = 0 if waited >= patience else waited
            waited = 0 if loss < best else waited + 1
            best = min(best, loss)
        if waited >= patience:
            _multiply_rates(net, factor)


def _multiply_rates(net: Any, factor: float) -> None:
    for group in net.optimizer_.param_groups:
        group["lr"] *= factor


def lower_is_better(monitor: str) -> bool:
    """Return whether lower values of a metric are better."""
    return monitor == "valid_loss"
