"""A skorch net whose loop costs little beside its batches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar

import torch
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import Tensor

MEASURED_EVERY = {"cpu": 1, "cuda": 100}  # batches: asking CUDA for a loss means waiting for it


class Net(NeuralNet):  # type: ignore[misc]  # skorch has no types
    """A skorch net for batches that take less time than what skorch does around each."""

    # The time, by :func:`time.perf_counter`, at which training ends as if a callback had ended it. The epoch is cut
    # short after the batch in which the time comes, and closed
    deadline: float | None = None
    measures: ClassVar[tuple[str, ...]] = ("loss",)  # what a step measures beside ``y_pred``: goes into the history
    last_measure: ClassVar[str] = "valid_loss"  # what the end of an epoch with validation records last
    # What to tell when a loss is infinite or not a number
    divergence: ClassVar[str] = "The training diverged: the loss is infinite or not a number."

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call a method of every callback."""
        if method_name != "on_epoch_end":
            super().notify(method_name, **cb_kwargs)
            return
        stop = None
        self.on_epoch_end(self, **cb_kwargs)
        for _, callback in self.callbacks_:
            try:
                callback.on_epoch_end(self, **cb_kwargs)
            except KeyboardInterrupt as interrupt:
                stop = interrupt  # the last line is yet to be printed
        if self._time_is_over():
            stop = KeyboardInterrupt()
        if stop is not None:
            self._ended_by_callback = True
            raise stop

    def fit_loop(self, *args: Any, **kwargs: Any) -> Net:
        """Train, and leave no epoch in the history that was not finished."""
        self.interrupted_ = self._ended_by_callback = False
        try:
            super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt:
            self.interrupted_ = not self._ended_by_callback
            last = "train_loss" if self.train_split is None else self.last_measure
            if self.history and last not in self.history[-1]:
                del self.history[-1]
            raise
        return self

    def run_single_epoch(
        self, iterator: Any, training: bool, prefix: str, step_fn: Callable[..., dict[str, Any]], **fit_params: Any
    ) -> None:
        """Go through the batches once."""
        if iterator is None:
            return
        before, after = self.hooks("on_batch_begin"), self.hooks("on_batch_end")
        # Who is called after a batch may want its loss.
        measured_every = 1 if after else MEASURED_EVERY[torch.device(self.device).type]
        records: list[dict[str, Any]] = self.history[-1]["batches"]
        n_batches, waiting = 0, []
        for batch, take_step in self.steps(iterator, training, partial(step_fn, **fit_params)):
            records.append({f"{prefix}_batch_size": self.n_rows(batch)})
            for hook in before:
                hook(self, batch=batch, training=training)
            step = take_step()
            n_batches += 1
            waiting.append({f"{prefix}_{name}": step[name].detach() for name in self.measures if name in step})
            if len(waiting) == measured_every:
                self._record(records, waiting, training)
                waiting = []
            for hook in after:
                hook(self, batch=batch, training=training, **step)
            if training and self._time_is_over():
                break
        self._record(records, waiting, training)
        self.history.record(f"{prefix}_batch_count", n_batches)

    def n_rows(self, batch: Any) -> int:
        """Return how much a batch counts in the means of an epoch."""
        return len(batch[0])

    def steps(
        self, iterator: Any, training: bool, step_fn: Callable[[Any], dict[str, Any]]
    ) -> Iterable[tuple[Any, Callable[[], dict[str, Any]]]]:
        """Return each batch together with what is to be done with it."""
        return ((batch, partial(step_fn, batch)) for batch in iterator)

    def hooks(self, name: str) -> list[Callable[..., None]]:
        """Return the methods of that name of those callbacks that do something there."""
        methods = (getattr(callback, name) for _, callback in self.callbacks_)
        return [method for method in methods if getattr(method, "__func__", None) is not getattr(Callback, name)]

    def _time_is_over(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def _record(self, records: list[dict[str, Any]], waiting: list[dict[str, Tensor]], training: bool) -> None:
        if not waiting:
            return
        names = list(waiting[0])
        values = torch.stack([measures[name] for measures in waiting for name in names]).tolist()
        for place, record in enumerate(records[-len(waiting) :]):
            record.update(zip(names, values[place * len(names) :], strict=False))
        if training and not all(map(math.isfinite, values)):
            raise ValueError(self.divergence)
