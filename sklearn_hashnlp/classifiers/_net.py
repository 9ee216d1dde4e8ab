"""ClassifierNet: the skorch net of the classifiers, and calibration on rows not trained on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, PassthroughScoring
from torch import Tensor, nn

from sklearn_hashnlp.classifiers._calibration import (
    MAX_ROWS,
    Calibration,
    Numbers,
    Scored,
    evenly_chosen,
    fit_calibration,
)
from sklearn_hashnlp.classifiers._losses import Calibrate, Loss, SoftmaxLoss
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.training._batches import Batches
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._validation_split import Samples

PREDICT_ROWS = 1024
_ROWS_TO_CHECK = 32
_HIDDEN_FACTOR = 0.1  # of the learning rate of hidden and output layers above tables, with AdaGrad
_MIN_ROWS = 200  # with fewer a temperature from out-of-batch scores is too uncertain
_SHARE, _MAX_OUT_OF_BATCH = 0.25, 1000
_N_TO_COMPARE = 250
_ROWS_OF_A_CROP = 16  # when training continues
_TINY = np.finfo(np.float64).tiny


class ClassifierNet(Net, NeuralNetClassifier):  # type: ignore[misc]  # skorch has no types
    """A skorch classifier of encoded labels, with one kind of :class:`Dataset`."""

    criterion_: Loss
    measures: ClassVar[tuple[str, ...]] = ("loss", "acc")
    # Whether rows have lengths, so that parts of them can be scored: sparse rows have
    has_lengths: ClassVar[bool] = False
    eps: ClassVar[float] = 1e-4  # damps the first steps of rare n-grams, whose gradients are small

    @classmethod
    def untrained(
        cls,
        module: type[nn.Module],
        architecture: dict[str, Any],
        *,
        batches: type[Batches],
        device: str,
        **options: Any,
    ) -> Self:
        """Build a net that is not initialized yet, with the settings for prediction only."""
        return cls(
            module,
            classes=list(range(architecture["num_classes"])),
            **{f"module__{name}": value for name, value in architecture.items()},
            criterion=SoftmaxLoss,
            optimizer=RowwiseAdagrad,
            iterator_train=batches,
            iterator_valid=batches,
            iterator_valid__batch_size=PREDICT_ROWS,
            train_split=None,
            verbose=0,
            device=device,
            **options,
        )

    validation: ClassVar[str] = "Set early_stopping='valid_acc'."

    def _metric_callbacks(self) -> list[tuple[str, Any]]:
        return [("valid_acc", PassthroughScoring("valid_acc", lower_is_better=False))]

    def architecture(self) -> dict[str, Any]:
        """Return the module's arguments, except the tree."""
        return {
            name: value for name, value in self.get_params_for("module").items() if name != "tree"
        }

    @abstractmethod
    def score_rows(self, rows: Any) -> NDArray[np.float64]:
        """Compute the scores of all rows of a dataset, independent of the other rows of a batch."""

    def host_bag(self) -> Any:
        """Return the source of row lengths in the CPU's memory; None for rows without lengths."""
        return None

    def scores_and_lengths(
        self, rows: Any, calibration: Calibration, *, unseen: bool = False, bag: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the scores and lengths of rows; ``unseen`` takes untrained columns as unknown.

        Give the result of :meth:`host_bag` for several calls: it is a copy if the net is on another
        device.
        """
        return self.score_rows(rows), np.full(len(rows), np.inf)

    def summary(
        self,
        rows: Any,
        left_out: Any,
        probabilities: NDArray[np.float64],
        calibration: Calibration,
        *,
        in_training: bool,
    ) -> TrainingSummary | None:
        """Summarize left-out rows with their probabilities; None for rows without lengths."""
        return None

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, for skorch's callbacks."""
        scores = [
            self.criterion_.scores(outputs).detach().cpu().numpy()
            for outputs in self.forward_iter(X)
        ]
        return self.criterion_.probabilities(np.concatenate(scores).astype(np.float64))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the encoded labels of rows, for skorch's callbacks."""
        probabilities = self.predict_proba(X)
        predicted = (
            probabilities > 0.5 if self.criterion_.multilabel else probabilities.argmax(axis=1)
        )
        return np.asarray(predicted, dtype=np.int64)

    def batch_loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of a batch, and the outputs that callbacks see."""
        for layer in self.module_.head:
            if isinstance(layer, nn.BatchNorm1d):
                # a single row has no variance: use the running statistics
                layer.train(len(batch[0]) > 1)
        return super().batch_loss(batch)

    def get_loss(
        self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False
    ) -> Tensor:
        """Compute the mean over the rows of loss times weight."""
        losses: Tensor = self.criterion_(y_pred, y_true.to(y_pred.device))
        if X.row_weights is not None:
            losses = losses * X.row_weights.to(y_pred.device)
        return losses.mean()

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Compute outputs, loss and accuracy of a batch."""
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        correct = self.criterion_.correct(step["y_pred"], batch[1].to(step["y_pred"].device))
        return step | {"acc": correct.double().mean()}

    def check_scores(self, rows: Samples) -> None:
        """Check that scores are finite after the last training step."""
        if not np.isfinite(
            self.score_rows(rows.select(np.arange(min(_ROWS_TO_CHECK, len(rows)))))
        ).all():
            raise ValueError(self.divergence)

    def parameter_groups(
        self, name: OptimizerName, learning_rate: float, eps: float, factors: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Return the tables and the head as parameter groups."""
        tables = self.table_groups(learning_rate, eps)
        groups = [*tables, {"params": list(self.module_.head.parameters())}]
        if name == "adagrad":
            if tables and len(self.module_.head) > 1:
                groups[-1]["lr"] = learning_rate * _HIDDEN_FACTOR
            # eps fits accumulated gradients
            if isinstance(self.optimizer_, RowwiseAdagrad) and self.optimizer_.state:
                for group, trained in zip(groups, self.optimizer_.param_groups, strict=True):
                    group["eps"] = trained["eps"]
        return groups

    def table_groups(self, learning_rate: float, eps: float) -> list[dict[str, Any]]:
        """Return the parameter groups of the tables."""
        names = self.tables()
        tables = [parameter for key, parameter in self.module_.named_parameters() if key in names]
        return [{"params": tables}] if tables else []


class UnseenScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Scores of rows before the net is trained on them."""

    def __init__(
        self,
        rows: Samples,
        settings: TrainingSettings,
        calibration: Calibration,
        *,
        calibrate: Calibrate,
    ) -> None:
        self.rows = rows
        self.calibration = calibration
        self.order = np.arange(len(rows))
        self.is_shuffled, self.crops = settings.schedule.shuffle, calibrate == "auto"
        if self.is_shuffled:  # as the rows are in the first epoch
            np.random.default_rng(settings.seed).shuffle(self.order)
        self.n_seen = 0
        self.bag: Any = None  # of the net
        self.parts: list[Scored] = []
        self.left_out: list[NDArray[np.int64]] = []  # indices of the scored rows, without crops

    def _score(
        self, net: ClassifierNet, rows: NDArray[np.int64], cropped: NDArray[np.int64]
    ) -> None:
        """Keep the scores of some rows, and of crops of some."""
        score = partial(
            net.scores_and_lengths, calibration=self.calibration, unseen=True, bag=self.bag
        )
        cropped = cropped if net.has_lengths else cropped[:0]
        self.left_out.append(evenly_chosen(rows, self.calibration.n_classes))
        self.parts.append(
            Scored.by(score, self.rows, rows, cropped, self.calibration, len(net.history))
        )

    def scored(self, net: ClassifierNet) -> Scored | None:
        """Return the scores, as large as the trained net's, if there are some; release the data."""
        parts = self.parts
        del self.rows, self.order, self.parts, self.bag  # the data do not outlive the training
        return Scored.joined(parts) if parts else None


class OutOfBatchScores(UnseenScores):
    """Scores of the first epoch's last rows before training on them, scaled by others' growth."""

    # rows that were trained on, and their scores
    seen: tuple[Samples, NDArray[np.float64]] | None = None

    def on_batch_begin(
        self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any
    ) -> None:
        """Score the rows when all others have been trained on."""
        # Rows that are not shuffled may be sorted by class, and too few say little.
        if not training or self.parts or len(self.rows) < _MIN_ROWS or not self.is_shuffled:
            return
        n_out_of_batch = min(int(_SHARE * len(self.rows)), _MAX_OUT_OF_BATCH)
        if max(1, len(self.rows) - n_out_of_batch) <= self.n_seen < len(self.rows):
            rows = self.order[self.n_seen :]
            self._score(net, rows, rows if self.crops else rows[:0])
            seen = self.rows.select(self.order[: min(self.n_seen, _N_TO_COMPARE)])
            self.seen = seen, net.score_rows(seen)
        self.n_seen += len(batch[0])

    def scored(self, net: ClassifierNet) -> Scored | None:
        """Return the scores, if they say something; the data are released."""
        scored = super().scored(net)
        seen = self.seen
        loss = net.criterion_
        self.seen = None
        if (
            scored is None
            or seen is None
            or not _are_informative(loss, scored.select(~scored.is_crop))
        ):
            return None
        before, after = (_centered(loss, scores) for scores in (seen[1], net.score_rows(seen[0])))
        growth = (before * after).sum() / max((before**2).sum(), _TINY)
        return scored._replace(scores=growth * scored.scores) if growth > 0 else None


class ProgressiveScores(UnseenScores):
    """Scores of rows just before the net is trained on them, when training continues."""

    def on_batch_begin(
        self, net: ClassifierNet, batch: Any = None, training: bool | None = None, **_: Any
    ) -> None:
        """Score the batch, in the first epoch."""
        if training and self.n_seen < min(len(self.rows), MAX_ROWS):
            self.bag = net.host_bag() if self.n_seen == 0 else self.bag
            part = self.order[self.n_seen : self.n_seen + len(batch[0])]
            self._score(net, part, self._cropped(net))
            self.n_seen += len(part)

    def _cropped(self, net: ClassifierNet) -> NDArray[np.int64]:
        """Return the rows to crop: a share of many rows, or all of few rows in some epochs."""
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
    remembers: bool,  # whether to start a summary of these rows; an earlier one is continued
) -> None:
    """Fit the probabilities of a trained net, if possible on rows that it was not trained on."""
    loss, options = net.criterion_, dict[str, Any]()
    if earlier is not None:
        options["earlier"] = Numbers(loss.inverse_temperature, earlier.half)
        options["n_earlier"] = min(earlier.n_rows, MAX_ROWS)
    scored = None if unseen is None else unseen.scored(net)
    left_out = None
    remembers = remembers or calibration.summary is not None
    if remembers and unseen is not None and scored is not None:
        left_out = rows.select(np.concatenate(unseen.left_out))
    if scored is None and (calibrate or loss.needs_temperature):
        if not calibrate or valid_rows is None:
            # Nearly all training rows are predicted correctly: smooth more, by a row per class.
            options |= {
                "n_uniform": calibration.n_classes,
                "keeps_temperature": not loss.needs_temperature,
            }
        scored_rows = rows if valid_rows is None else valid_rows
        some = np.arange(len(scored_rows))
        cropped = some if calibrate == "auto" and net.has_lengths else some[:0]
        score = partial(net.scores_and_lengths, calibration=calibration)
        scored = Scored.by(score, scored_rows, some, cropped, calibration, len(net.history))
        if calibrate and valid_rows is not None:
            left_out = valid_rows.select(evenly_chosen(some, calibration.n_classes))
    if scored is None:
        return
    fit_calibration(loss, calibration, scored, **options)
    if left_out is not None and remembers:
        whole = scored.select(~scored.is_crop)
        scores = calibration.shifted(loss, whole.scores, whole.lengths)
        in_training = valid_rows is None
        calibration.summary = net.summary(
            rows, left_out, loss.probabilities(scores), calibration, in_training=in_training
        )


def _centered(loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logits, centered unless they are multilabel; the probabilities are the same."""
    logits = loss.linked(scores)
    return logits if loss.multilabel else logits - logits.mean(axis=1, keepdims=True)


def _are_informative(loss: Loss, scored: Scored) -> bool:
    """Return whether the rows' labels have scores high by more than two standard errors."""
    logits, targets = _centered(loss, scored.scores), scored.targets
    if loss.multilabel:
        own = (logits * (2 * targets - 1)).ravel()
    else:
        own = (
            (logits * targets).sum(axis=1)
            if targets.ndim == 2
            else logits[np.arange(len(logits)), targets]
        )
    return bool(own.mean() * np.sqrt(len(own)) > 2 * own.std())
