"""Callbacks that record the steps of a training, or stop it."""

import signal

from skorch.callbacks import Callback


class RecordSteps(Callback):
    """Record each step."""

    def __init__(self):
        self.learning_rates = []
        self.sizes = []
        self.losses = []
        self.training_modes = []
        self.numbers = []

    def on_epoch_begin(self, net, dataset_train=None, **kwargs):
        self.epochs = dataset_train

    def on_grad_computed(self, net, **kwargs):
        self.training_modes.append(net.module_.training)

    def on_batch_end(self, net, batch=None, loss=None, **kwargs):
        self.learning_rates.append([group["lr"] for group in net.optimizer_.param_groups])
        self.sizes.append(len(batch.blocks))
        self.losses.append(loss.item())
        self.numbers.append((batch.epoch, batch.number, self.epochs.n_batches))


class StopError(Exception):
    """The error of a callback that stops a training, as a crash would."""


class StopAfter(Callback):
    """Stop after a number of steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def on_batch_end(self, net, **kwargs):
        self.n_steps -= 1
        if self.n_steps == 0:
            raise StopError


class InterruptAfter(StopAfter):
    """Press Ctrl-C after a number of steps."""

    def on_batch_end(self, net, **kwargs):
        self.n_steps -= 1
        if self.n_steps == 0:
            signal.raise_signal(signal.SIGINT)


class StopAtEnd(Callback):
    """Stop at the end of the second epoch, before the last checkpoint or after it."""

    def __init__(self, method):
        self.method = method

    def __getattribute__(self, name):
        if name in {"on_epoch_end", "on_train_end"} and name == object.__getattribute__(
            self, "method"
        ):
            return self.stop
        return object.__getattribute__(self, name)

    def stop(self, net, **kwargs):
        if len(net.history) == 2:
            raise StopError
