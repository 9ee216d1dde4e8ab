"""Scores of rows, and of crops of them, that a net was not trained on yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers._calibration import MAX_ROWS, Calibration, Numbers, Scored, fit_calibration
from sklearn_hashnlp.classifiers._losses import Calibrate, Loss
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._validation_split import Samples

_MIN_ROWS = 200  # with fewer a temperature from out-of-batch scores is too uncertain
_SHARE, _MAX_OUT_OF_BATCH = 0.25, 1000
_N_TO_COMPARE = 250
_ROWS_OF_A_CROP = 16  # when training continues
_TINY = np.finfo(np.float64).tiny


class UnseenScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of rows before the net is trained on them."""

    def __init__(
        self, rows: Samples, settings: TrainingSettings, calibration: Calibration, *, calibrate: Calibrate
    ) -> None:
        self.rows, self.calibration, self.order = rows, calibration, _first_order(rows, settings)
        self.is_shuffled, self.crops = settings.schedule.shuffle, calibrate == "auto"
        self.n_seen = 0
        self.bag: Any = None  # of the net
        self.parts: list[Scored] = []

    def scored(self, net: ClassifierNet) -> Scored | None:
        """Return the scores, as large as of the trained net, if there are some; the data are released."""
        parts = self.parts
        del self.rows, self.order, self.parts, self.bag  # the data do not outlive the training
        return Scored.joined(parts) if parts else None


class OutOfBatchScores(UnseenScores):
    """Scores of the last rows of the first epoch before the net is trained on them, scaled by the growth of others."""

    seen: tuple[Samples, NDArray[np.float64]] | None = None  # rows that were trained on, and their scores

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the rows when all others have been trained on."""
        if not training or self.parts or len(self.rows) < _MIN_ROWS or not self.is_shuffled:  # or sorted by class
            return
        n_out_of_batch = min(int(_SHARE * len(self.rows)), _MAX_OUT_OF_BATCH)
        if max(1, len(self.rows) - n_out_of_batch) <= self.n_seen < len(self.rows):
            rows = self.order[self.n_seen :]
            cropped = rows if self.crops else rows[:0]
            self.parts.append(net.scored(self.rows, rows, self.calibration, cropped, unseen=True))
            seen = self.rows.select(self.order[: min(self.n_seen, _N_TO_COMPARE)])
            self.seen = seen, net.score_rows(seen)
        self.n_seen += len(batch[0])

    def scored(self, net: ClassifierNet) -> Scored | None:
        """Return the scores, if they say something; the data are released."""
        scored, seen, loss = super().scored(net), self.seen, net.criterion_
        self.seen = None
        if scored is None or seen is None or not _are_informative(loss, scored.select(~scored.is_crop)):
            return None
        before, after = (_centered(loss, scores) for scores in (seen[1], net.score_rows(seen[0])))
        growth = (before * after).sum() / max((before**2).sum(), _TINY)
        return scored._replace(scores=growth * scored.scores) if growth > 0 else None


class ProgressiveScores(UnseenScores):
    """Scores of rows just before the net is trained on them, when training continues."""

    def on_batch_begin(self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any) -> None:
        """Score the batch, in the first epoch."""
        if training and self.n_seen < min(len(self.rows), MAX_ROWS):
            self.bag = net.host_bag() if self.n_seen == 0 else self.bag
            part = self.order[self.n_seen : self.n_seen + len(batch[0])]
            scored = net.scored(self.rows, part, self.calibration, self._cropped(net), unseen=True, bag=self.bag)
            self.parts.append(scored)
            self.n_seen += len(part)

    def _cropped(self, net: ClassifierNet) -> NDArray[np.int64]:
        """Return the rows to crop: some of many, or all rows of one in some calls, since each crop takes time."""
        n_rows = len(self.rows)
        if not self.crops or self.n_seen:
            return self.order[:0]
        if n_rows >= _MIN_ROWS:
            return self.order[: n_rows // _ROWS_OF_A_CROP]
        return self.order if len(net.history) % _ROWS_OF_A_CROP == 0 else self.order[:0]


def calibrate_net(
    net: ClassifierNet,
    calibration: Calibration,
    rows: Samples,
    valid_rows: Samples | None,
    unseen: UnseenScores | None,  # None if scores need no calibration, or there are validation rows
    *,
    calibrate: Calibrate,
    earlier: Calibration | None,  # of a training that was continued
) -> None:
    """Fit the probabilities of a trained net, on rows that it was not trained on if there are any."""
    loss, scored, options = net.criterion_, None, dict[str, Any]()
    if earlier is not None:
        options["earlier"] = Numbers(loss.inverse_temperature, earlier.half)
        options["n_earlier"] = min(earlier.n_rows, MAX_ROWS)
    if calibrate:
        scored = None if unseen is None else unseen.scored(net)
        if valid_rows is not None:
            some = np.arange(len(valid_rows))
            scored = net.scored(valid_rows, some, calibration, some if calibrate == "auto" else some[:0])
    if scored is not None:
        fit_calibration(loss, calibration, scored, **options)
    elif calibrate or loss.needs_temperature:
        rows = rows if valid_rows is None else valid_rows
        some = np.arange(len(rows))
        scored = net.scored(rows, some, calibration, some if calibrate == "auto" else some[:0])
        # Nearly all training rows are predicted correctly: smooth more, by a row per class.
        options |= {"n_uniform": calibration.n_classes, "keeps_temperature": not loss.needs_temperature}
        fit_calibration(loss, calibration, scored, **options)


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


def _are_informative(loss: Loss, scored: Scored) -> bool:
    """Return whether the scores of the rows' own labels are high by more than two standard errors."""
    logits, targets = _centered(loss, scored.scores), scored.targets
    if loss.multilabel:
        own = (logits * (2 * targets - 1)).ravel()
    else:
        own = (logits * targets).sum(axis=1) if targets.ndim == 2 else logits[np.arange(len(logits)), targets]
    return bool(own.mean() * np.sqrt(len(own)) > 2 * own.std())
