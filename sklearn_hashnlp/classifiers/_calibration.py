"""Temperature scaling: a temperature from the scores of rows that the net was not trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.training._batches import Dataset
from sklearn_hashnlp.training._settings import TrainingSettings

_MAX_ROWS = 10_000  # that an inverse temperature is fitted on
_MAX_SCORES = 2**22
_MAX_INVERSE_TEMPERATURE = 1e3
_MIN_ROWS = 200  # with fewer a temperature from out-of-batch scores is too uncertain
_SHARE, _MAX_OUT_OF_BATCH = 0.25, 1000
_N_TO_COMPARE = 250
_TINY = np.finfo(np.float64).tiny


class _Snapshot(NamedTuple):
    """Scores within the first epoch, of rows that the net was not trained on yet, and of others."""

    unseen: Dataset
    unseen_scores: NDArray[np.float64]
    seen: Dataset
    seen_scores: NDArray[np.float64]


class OutOfBatchScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of the last rows of the first epoch, just before the net is trained on them for the first time.

    Scores grow with further training. How much is measured on other training rows, without their labels: the final
    temperature is that of the out-of-batch scores times the growth.
    """

    def __init__(self, rows: Dataset, settings: TrainingSettings) -> None:
        self.rows, self.order = rows, _first_order(rows, settings)
        self.n_out_of_batch = min(int(_SHARE * len(rows)), _MAX_OUT_OF_BATCH)

    @classmethod
    def of(cls, rows: Dataset, settings: TrainingSettings) -> OutOfBatchScores | None:
        """Return the callback; or None where the last rows are too few, or may be of other classes than the first."""
        return cls(rows, settings) if settings.shuffle and len(rows) >= _MIN_ROWS else None

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Count the rows from the start."""
        self.n_seen = 0
        self.snapshot: _Snapshot | None = None

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the rows when all others have been trained on."""
        if not training or self.snapshot is not None:
            return
        if max(1, len(self.rows) - self.n_out_of_batch) <= self.n_seen < len(self.rows):
            limit = max(1, _MAX_SCORES // net.architecture()["num_classes"])
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
            fitted = _inverse_temperature(loss, snapshot.unseen_scores, snapshot.unseen, n_uniform=1) / growth
            loss.inverse_temperature = float(np.clip(fitted, 1 / _MAX_INVERSE_TEMPERATURE, _MAX_INVERSE_TEMPERATURE))
        return bool(growth > 0)


def fit_temperature(
    net: ClassifierNet,
    valid_rows: Dataset | None,
    out_of_batch: OutOfBatchScores | ProgressiveScores | None,
    cross_validated: tuple[NDArray[np.float64], Dataset] | None = None,
) -> bool:
    """Fit the temperature of a trained net's loss, by validation rows if there are any; return whether it was fitted.

    ``cross_validated`` are scores of training rows by nets that were not trained on them, and these rows.
    """
    if valid_rows is not None:
        some = _sample(net, valid_rows)
        cross_validated = net.score_rows(some), some
    if cross_validated is None:
        return isinstance(out_of_batch, OutOfBatchScores) and out_of_batch.fit_temperature(net)
    net.criterion_.inverse_temperature = _inverse_temperature(net.criterion_, *cross_validated, n_uniform=1)
    return True


class ProgressiveScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of rows just before the net is trained on them, of a training that continues.

    They tell how confident the model may be, where training rows would make it overconfident.
    """

    def __init__(self, rows: Dataset, settings: TrainingSettings) -> None:
        self.rows, self.order = rows, _first_order(rows, settings)
        self.scores: list[NDArray[np.float64]] = []
        self.n_seen = 0

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the batch, in the first epoch."""
        limit = min(len(self.rows), _MAX_ROWS, max(1, _MAX_SCORES // net.architecture()["num_classes"]))
        if training and self.n_seen < limit:
            part = self.order[self.n_seen : self.n_seen + len(batch[0])]
            self.scores.append(net.score_unseen(self.rows.select(part)))
            self.n_seen += len(part)

    def update_temperature(self, net: ClassifierNet, known: float, n_known: int) -> None:
        """Fit the temperature of a net's loss to the scores; the previous one counts as much as its rows."""
        if self.scores:
            rows, scores = self.rows.select(self.order[: self.n_seen]), np.concatenate(self.scores)
            options = {"known": known, "known_rows": min(n_known, _MAX_ROWS)}
            net.criterion_.inverse_temperature = _inverse_temperature(
                net.criterion_, scores, rows, n_uniform=1, **options
            )
        del self.rows, self.order, self.scores  # the data do not outlive the training


def update_temperature(net: ClassifierNet, rows: Dataset, known: float, n_known: int) -> None:
    """Fit the temperature of a net's loss on training rows; the previous one counts as much as its rows."""
    some, n_known = _sample(net, rows), min(n_known, _MAX_ROWS)
    net.criterion_.inverse_temperature = _inverse_temperature(
        net.criterion_,
        net.score_rows(some),
        some,
        # Nearly all training rows are predicted correctly, so that they are smoothed more, by a row per class.
        n_uniform=net.architecture()["num_classes"],
        known=known if n_known else 1.0,
        known_rows=n_known,
    )


def _first_order(rows: Dataset, settings: TrainingSettings) -> NDArray[np.int64]:
    """Return the order of the rows in the first epoch."""
    order = np.arange(len(rows))
    if settings.shuffle:
        np.random.default_rng(settings.seed).shuffle(order)
    return order


def _sample(net: ClassifierNet, rows: Dataset) -> Dataset:
    n_classes = net.architecture()["num_classes"]
    step = max(-(-len(rows) // _MAX_ROWS), -(-len(rows) * n_classes // _MAX_SCORES))
    return rows.select(np.arange(len(rows))[::step])


def _centered(loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logits less what does not change the probabilities of a row with one label."""
    logits = loss.linked(scores)
    return logits if loss.multilabel else logits - logits.mean(axis=1, keepdims=True)


def _are_informative(loss: Loss, scores: NDArray[np.float64], targets: NDArray[Any]) -> bool:
    """Return whether the scores of the rows' own labels are high by more than two standard errors."""
    logits = _centered(loss, scores)
    own = (logits * (2 * targets - 1)).ravel() if loss.multilabel else logits[np.arange(len(logits)), targets]
    return bool(own.mean() * np.sqrt(len(own)) > 2 * own.std())


def _inverse_temperature(loss: Loss, scores: NDArray[np.float64], rows: Dataset, **options: Any) -> float:
    logits, targets, weights = loss.linked(scores), rows.targets, rows.row_weights
    if loss.multilabel:  # each label is a decision between the logits 0 and s
        weights = None if weights is None else np.repeat(weights, logits.shape[1])
        targets = targets.ravel().astype(np.int64)
        logits = np.stack([np.zeros(logits.size), logits.ravel()], axis=1)
    return fit_inverse_temperature(logits, targets, weights, **options)


def fit_inverse_temperature(
    scores: NDArray[np.float64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    *,
    n_uniform: int,
    known: float = 1.0,
    known_rows: int = 0,
) -> float:
    """Compute the inverse temperature of the scores that maximizes the likelihood of the targets.

    The targets are smoothed as by ``n_uniform`` more rows of uniformly distributed classes: with all rows correct the
    optimum is finite. The previous inverse temperature, ``known``, counts as much as ``known_rows`` rows with targets
    drawn from its probabilities.
    """
    n_rows, n_classes = scores.shape
    if weights is not None and not weights.any():
        weights = None
    own = scores[np.arange(n_rows), targets]
    other = n_uniform / (n_classes * (n_rows + known_rows + n_uniform))
    expected = (softmax(known * scores, axis=1) * scores).sum(axis=1)
    target = (1 - n_classes * other) * own + other * scores.sum(axis=1)
    share = n_rows / (n_rows + known_rows)
    target = share * target + (1 - share) * expected

    def loss(log_inverse_temperature: float) -> float:
        factor = np.exp(log_inverse_temperature)
        normalizer = factor * scores[:, 0] - log_softmax(factor * scores, axis=1)[:, 0]
        return float(np.average(normalizer - factor * target, weights=weights))

    limit = np.log(_MAX_INVERSE_TEMPERATURE)
    bounds = np.clip(np.log(known) + np.array([-limit, limit]) * share, -limit, limit)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
