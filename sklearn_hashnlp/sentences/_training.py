"""Training a sentence encoder's net, with scores, checkpoints and a way back to the best weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.sentences._net import EpochsOfParagraphs, SentenceNet
from sklearn_hashnlp.sentences._objective import SentenceObjective


@dataclass
class TrainingState:
    """Where a training is: what a checkpoint holds beside weights and optimiser."""

    epoch: int = 0
    batch: int = 0
    losses: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    best_score: float | None = None  # of what ``monitor`` said so far
    best_weights: dict[str, Tensor] = field(default_factory=dict)  # with it

    def note(self, score: float, net: SentenceNet) -> None:
        """Keep the weights if no score was as good; one that is not a number is none."""
        if not math.isnan(score) and (self.best_score is None or score > self.best_score):
            self.best_score, self.best_weights = score, trained_weights(net)


@dataclass(frozen=True)
class SentencePlan:
    """How to train."""

    objective: SentenceObjective  # what to learn by
    learning_rate: float  # step size
    decays: bool  # whether it falls linearly to zero
    max_epochs: int  # passes, those before an interruption among them
    max_time: float | None  # seconds after which to end
    log_every: int | None  # steps after which the loss, and the monitor's score, are noted
    monitor: Callable[[], float] | None  # gives the score of the model as it is
    checkpoint: Callable[[], None] | None  # saves the model as it is
    checkpoint_every: float  # seconds between checkpoints
    callbacks: tuple[Any, ...]  # more skorch callbacks
    verbose: int  # 0 is silent


def train_sentences(
    net: SentenceNet,
    paragraphs: EpochsOfParagraphs,
    plan: SentencePlan,
    course: TrainingState,
    log: list[dict[str, Any]],
) -> None:
    """Train a net, and leave nothing on it that only training needs but the optimiser and the callbacks."""
    started = time.perf_counter()
    net.lr, net.verbose, net.decays = plan.learning_rate, plan.verbose, plan.decays
    net.max_epochs, net.n_epochs = plan.max_epochs - course.epoch, plan.max_epochs
    net.objective, net.paragraphs = plan.objective, paragraphs
    net.callbacks = [("course", Checkpointer(course, plan, log)), *plan.callbacks]
    net.initialize_callbacks()
    net.deadline = None if plan.max_time is None else started + plan.max_time
    try:
        net.partial_fit(paragraphs)
    finally:
        net.deadline = None
        del net.objective, net.paragraphs  # the text is not to outlive its training
    if course.best_weights:
        load_trained_weights(net, course.best_weights)
    net.module_.eval()


class Checkpointer(Callback):  # type: ignore[misc]  # skorch has no types
    """Note where the training is, score it, and save it from time to time."""

    def __init__(self, course: TrainingState, plan: SentencePlan, log: list[dict[str, Any]]) -> None:
        self.course = course
        self.plan = plan
        self.log = log

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Begin to count the seconds."""
        self._saved = time.perf_counter()

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Remember the batches before an interruption."""
        for loss, size in zip(self.course.losses, self.course.sizes, strict=True):
            net.history[-1]["batches"].append({"train_loss": loss, "train_batch_size": size})

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Note a step."""
        course, done = self.course, net.history[-1]["batches"][-1]
        course.losses.append(done["train_loss"])
        course.sizes.append(done["train_batch_size"])
        course.batch = batch.number + 1
        if self.plan.log_every is not None and course.batch % self.plan.log_every == 0:
            self._note(net)
        if self.plan.checkpoint is not None and time.perf_counter() - self._saved >= self.plan.checkpoint_every:
            self._save()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Turn to the next epoch."""
        course = self.course
        if self.plan.log_every is None or course.batch % self.plan.log_every:
            self._note(net)
        if course.batch < net.paragraphs.n_batches:
            return  # the time was over
        course.epoch, course.batch, course.losses, course.sizes = course.epoch + 1, 0, [], []
        if self.plan.checkpoint is not None:
            self._save()

    def _save(self) -> None:
        assert self.plan.checkpoint is not None
        self.plan.checkpoint()
        self._saved = time.perf_counter()

    def _note(self, net: SentenceNet) -> None:
        course, every = self.course, self.plan.log_every or len(self.course.losses)
        recent = slice(-((course.batch - 1) % every + 1), None)
        losses, sizes = course.losses[recent], course.sizes[recent]
        mean = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
        entry: dict[str, Any] = {"stage": "sentences", "epoch": course.epoch + 1, "step": course.batch}
        entry["train_loss"] = mean
        if self.plan.monitor is not None:
            net.module_.eval()
            entry["score"] = self.plan.monitor()
            course.note(entry["score"], net)
        self.log.append(entry)
        if self.plan.verbose > 1:
            print(", ".join(f"{key} {value:.5g}" if key != "stage" else value for key, value in entry.items()))


def score_of(estimator: Any) -> float:
    """Ask an encoder's monitor for the encoder's score."""
    score = estimator.monitor(estimator)
    try:
        return float(score)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{type(estimator).__name__}: monitor must return a number, higher is better; got {score!r:.60} "
            f"({type(score).__name__})."
        ) from error


def trained_weights(net: SentenceNet) -> dict[str, Tensor]:
    """Copy what training changes."""
    return {name: value.detach().clone() for name, value in net.module_.named_parameters() if value.requires_grad}


def load_trained_weights(net: SentenceNet, weights: dict[str, Tensor]) -> None:
    """Put back what :func:`trained_weights` gave."""
    parameters = dict(net.module_.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)
