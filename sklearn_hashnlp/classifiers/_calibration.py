"""Temperature scaling in training: scores of rows that the net was not trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.classifiers._temperature import (
    MAX_INVERSE_TEMPERATURE,
    MAX_ROWS,
    MAX_SCORES,
    inverse_temperature,
    sample,
)
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._validation_split import Samples

_MIN_ROWS = 200  # with fewer a temperature from out-of-batch scores is too uncertain
_SHARE, _MAX_OUT_OF_BATCH = 0.25, 1000
_N_TO_COMPARE = 250
_TINY = np.finfo(np.float64).tiny


class _Snapshot(NamedTuple):
    """Scores within the first epoch, of rows that the net was not trained on yet, and of others."""

    unseen: Samples
    unseen_scores: NDArray[np.float64]
    seen: Samples
    seen_scores: NDArray[np.float64]


class OutOfBatchScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of the last rows of the first epoch before the net is trained on them, scaled by the growth of others."""

    def __init__(self, rows: Samples, settings: TrainingSettings) -> None:
        self.rows, self.order = rows, _first_order(rows, settings)
        self.n_out_of_batch = min(int(_SHARE * len(rows)), _MAX_OUT_OF_BATCH)

    @classmethod
    def of(cls, rows: Samples, settings: TrainingSettings) -> OutOfBatchScores | None:
        """Return the callback; None if rows are few, or not shuffled and perhaps sorted by class."""
        return cls(rows, settings) if settings.schedule.shuffle and len(rows) >= _MIN_ROWS else None

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Count the rows from the start."""
        self.n_seen = 0
        self.snapshot: _Snapshot | None = None

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the rows when all others have been trained on."""
        if not training or self.snapshot is not None:
            return
        if max(1, len(self.rows) - self.n_out_of_batch) <= self.n_seen < len(self.rows):
            limit = max(1, MAX_SCORES // net.architecture()["num_classes"])
            unseen = self.rows.select(self.order[self.n_seen :][:limit])
            seen = self.rows.select(self.order[: min(self.n_seen, _N_TO_COMPARE)])
            self.snapshot = _Snapshot(unseen, net.score_unseen(unseen), seen, net.score_rows(seen))
        self.n_seen += len(batch[0])

    def fit_temperature(self, net: ClassifierNet) -> bool:
        """Fit the temperature of a trained net's loss, if the scores allow it, and return whether it was fitted."""
        loss, snapshot = net.criterion_, self.snapshot
        del self.rows, self.order, self.snapshot  # the data do not outlive the training
        if snapshot is None or not _are_informative(loss, snapshot.unseen_scores, snapshot.unseen.targets):
            return False
        before, after = (_centered(loss, scores) for scores in (snapshot.seen_scores, net.score_rows(snapshot.seen)))
        growth = (before * after).sum() / max((before**2).sum(), _TINY)
        if growth > 0:
            fitted = inverse_temperature(loss, snapshot.unseen_scores, snapshot.unseen, n_uniform=1) / growth
            loss.inverse_temperature = float(np.clip(fitted, 1 / MAX_INVERSE_TEMPERATURE, MAX_INVERSE_TEMPERATURE))
        return bool(growth > 0)


def fit_temperature(
    net: ClassifierNet, valid_rows: Samples | None, out_of_batch: OutOfBatchScores | ProgressiveScores | None
) -> bool:
    """Fit the temperature of a trained net's loss, by validation rows if there are any; return whether it is."""
    if valid_rows is None:
        return isinstance(out_of_batch, OutOfBatchScores) and out_of_batch.fit_temperature(net)
    some, loss = sample(valid_rows, net.architecture()["num_classes"]), net.criterion_
    loss.inverse_temperature = inverse_temperature(loss, net.score_rows(some), some, n_uniform=1)
    return True


class ProgressiveScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of rows just before the net is trained on them, when training continues."""

    def __init__(self, rows: Samples, settings: TrainingSettings) -> None:
        self.rows, self.order = rows, _first_order(rows, settings)
        self.scores: list[NDArray[np.float64]] = []
        self.n_seen = 0

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the batch, in the first epoch."""
        limit = min(len(self.rows), MAX_ROWS, max(1, MAX_SCORES // net.architecture()["num_classes"]))
        if training and self.n_seen < limit:
            part = self.order[self.n_seen : self.n_seen + len(batch[0])]
            self.scores.append(net.score_unseen(self.rows.select(part)))
            self.n_seen += len(part)

    def update_temperature(self, net: ClassifierNet, known: float, n_known: int) -> None:
        """Fit the temperature of a net's loss to the scores; the previous one counts as much as its rows."""
        if self.scores:
            rows, scores = self.rows.select(self.order[: self.n_seen]), np.concatenate(self.scores)
            options = {"known": known, "known_rows": min(n_known, MAX_ROWS)}
            net.criterion_.inverse_temperature = inverse_temperature(
                net.criterion_, scores, rows, n_uniform=1, **options
            )
        del self.rows, self.order, self.scores  # the data do not outlive the training


def _first_order(rows: Samples, settings: TrainingSettings) -> NDArray[np.int64]:
    """Return the order of the rows in the first epoch."""
    order = np.arange(len(rows))
    if settings.schedule.shuffle:
        np.random.default_rng(settings.seed).shuffle(order)
    return order


def _centered(loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logits, centered unless they are multilabel; the probabilities are the same."""
    logits = loss.linked(scores)
    return logits if loss.multilabel else logits - logits.mean(axis=1, keepdims=True)


def _are_informative(loss: Loss, scores: NDArray[np.float64], targets: NDArray[Any]) -> bool:
    """Return whether the scores of the rows' own labels are high by more than two standard errors."""
    logits = _centered(loss, scores)
    if loss.multilabel:
        own = (logits * (2 * targets - 1)).ravel()
    else:
        own = (logits * targets).sum(axis=1) if targets.ndim == 2 else logits[np.arange(len(logits)), targets]
    return bool(own.mean() * np.sqrt(len(own)) > 2 * own.std())
